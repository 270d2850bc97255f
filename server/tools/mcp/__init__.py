"""MCP servers as tools: connections, messages, results."""
