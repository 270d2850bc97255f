"""Rows of kernel tests' tables, for what this extension adds."""

EMPTY_DEFAULTS = {"server.tool_modules": {"a": {"modules": ["b"]}}}
