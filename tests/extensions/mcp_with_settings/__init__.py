"""Entries of MCP servers in the settings."""
