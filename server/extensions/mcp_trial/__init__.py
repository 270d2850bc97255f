"""Try an MCP server before it is used (docs/reference/extension-mcp-trial.md)."""
