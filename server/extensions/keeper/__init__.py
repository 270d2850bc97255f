"""Kept sessions: a folder of them, and what runs them (docs/reference/extension-keeper.md)."""
