"""Tests of skills that MCP servers offer: they go with either extension."""
