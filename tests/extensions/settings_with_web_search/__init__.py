"""The search in the settings."""
