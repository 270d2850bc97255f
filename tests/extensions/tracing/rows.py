"""Rows of kernel tests' tables, for what this extension adds."""

from __future__ import annotations

EMPTY_DEFAULTS = {"server.tracing.headers": {"x-key": "v"}}  # what such a key takes
KEY_VALUES = {"server.tracing.url": "http://192.0.2.7:4318"}  # another value of a key
