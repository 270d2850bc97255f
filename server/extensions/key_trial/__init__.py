"""Try a pasted key before it is used (docs/reference/extension-key-trial.md)."""
