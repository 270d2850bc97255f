"""The commands `kept` and `objects` (docs/reference/extension-kept.md)."""
