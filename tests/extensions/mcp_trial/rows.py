"""Rows of kernel tests' tables, for what this extension adds."""

SMALL = {"/settings/try/mcp"}  # nothing in its body is looked through
