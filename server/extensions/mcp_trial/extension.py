"""Try an MCP server in the settings, before it is used."""

from ..declaration import Extension

EXTENSION = Extension(requires=("mcp", "settings"), parts="routes:McpTrialParts")
