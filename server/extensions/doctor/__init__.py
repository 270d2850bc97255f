"""The command `doctor` (docs/reference/extension-doctor.md)."""
