"""The command `pack` (docs/reference/extension-pack.md)."""
