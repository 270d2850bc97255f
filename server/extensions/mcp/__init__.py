"""MCP servers as tool sources: connections, messages, results."""
