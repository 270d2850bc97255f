"""The one-file build, with the Pythons and folders of a machine."""
