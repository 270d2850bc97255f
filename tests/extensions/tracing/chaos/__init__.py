"""A full disk, and secrets from all sides."""
