"""Calls of MCP servers in traces."""
