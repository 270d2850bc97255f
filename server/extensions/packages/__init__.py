"""Tools of the owner's own packages (docs/reference/extension-packages.md)."""
