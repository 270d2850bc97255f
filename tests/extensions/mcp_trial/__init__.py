"""Trials of MCP servers."""
