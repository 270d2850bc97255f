"""JSON Schemas of the answers to interrupts, one for each reason. Pure.

An interrupt carries the schema (`response_schema`), and `accept` checks the answer with the same
one. `input_required` carries a schema of its own.
"""

from __future__ import annotations

from ..json_types import Json
from .limits import MOST
from .schema import MAX_PATTERN

OF_FILES = ("workspace_restore", "workspace_missing")  # reasons that workspace_run.py reads
_text = {"type": "string"}
ANSWERS: dict[str, Json] = {
    "tool_call": {
        "type": "object",
        "properties": {
            "approved": {"type": "boolean"},
            "edited_args": {"type": "object"},
            "remember": {"enum": ["once", "session"]},
            "match": {
                "type": "object",
                "additionalProperties": {"type": "string", "maxLength": MAX_PATTERN},
                "maxProperties": MOST["grants/*/match"],
            },
            "policy": {
                "type": "object",
                "properties": {
                    "network": {"enum": ["off", "proxy"]},
                    "hosts": {"type": "array", "items": _text},
                },
                "additionalProperties": False,
            },
            "reason": _text,
        },
        "required": ["approved"],
    },
    "client_tool": {
        "type": "object",
        "properties": {"content": {}, "is_error": {"type": "boolean"}},
        "required": ["content"],
    },
    "indeterminate": {
        "type": "object",
        "properties": {"action": {"enum": ["retry", "skip", "result"]}, "content": _text},
        "required": ["action"],
    },
    "limit": {
        "type": "object",
        "properties": {
            "continue": {"type": "boolean"},
            "extend": {
                "type": "object",
                "additionalProperties": {"type": "number", "exclusiveMinimum": 0},
            },
        },
        "required": ["continue"],
    },
    "model_error": {
        "type": "object",
        "properties": {"retry": {"type": "boolean"}},
        "required": ["retry"],
    },
    "mcp_sign_in": {
        "type": "object",
        "properties": {"action": {"enum": ["retry"]}},
        "required": ["action"],
    },
    "workspace_restore": {
        "type": "object",
        "properties": {"action": {"enum": ["restore", "keep"]}},
        "required": ["action"],
    },
    "workspace_missing": {
        "type": "object",
        "properties": {"action": {"enum": ["uploaded", "go_on"]}},
        "required": ["action"],
    },
}
