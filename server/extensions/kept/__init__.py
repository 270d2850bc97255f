"""The command `kept` (docs/reference/extension-kept.md)."""
