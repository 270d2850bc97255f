"""The demo model (docs/reference/extension-demo.md)."""
