"""HTTP APIs in the settings."""
