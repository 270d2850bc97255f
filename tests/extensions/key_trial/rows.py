"""Rows of kernel tests' tables, for what this extension adds."""

SMALL = {"/settings/try/key"}  # nothing in its body is looked through
