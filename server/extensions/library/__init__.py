"""yaa in a program of one's own (docs/reference/extension-library.md)."""
