"""JSON Schemas of the answers to interrupts, one for each reason.

An interrupt carries the schema (`response_schema`), and `accept` checks the answer with the same
one. `input_required` carries a schema of its own. Pure.
"""

from __future__ import annotations

from typing import Any

from .fields import MAX_PATTERN, MOST

_text = {"type": "string"}
ANSWERS: dict[str, dict[str, Any]] = {
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
}
