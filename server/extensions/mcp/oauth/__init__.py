"""OAuth 2.1 for MCP servers behind an address: discovery, sign-in, tokens.

May import `http`, `telemetry` and what lies below; never shows a token, a code or a client secret.
"""
