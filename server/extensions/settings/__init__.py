"""The owner's settings over HTTP (docs/reference/extension-settings.md)."""
