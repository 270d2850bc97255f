"""Real clients and servers of MCP."""
