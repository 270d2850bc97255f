"""JSON Schemas of the answers to interrupts, one for each reason. Pure.

An interrupt carries the schema (`response_schema`), and `accept` checks the answer with the same
one. `input_required` carries a schema of its own.
"""

from __future__ import annotations

from ..json_types import Json
from ..lib.json_schema.objects import object_schema
from .limits import MOST
from .schema import MAX_PATTERN

OF_FILES = ("workspace_restore", "workspace_missing")  # reasons that workspace_run.py reads
_TEXT, _FLAG = {"type": "string"}, {"type": "boolean"}
_HOSTS = {"type": "array", "items": _TEXT}
_POLICY = object_schema({"network": {"enum": ["off", "proxy"]}, "hosts": _HOSTS}, closed=True)
_MATCH = {
    "type": "object",
    "additionalProperties": {"type": "string", "maxLength": MAX_PATTERN},
    "maxProperties": MOST["grants/*/match"],
}
_NUMBERS = {"type": "object", "additionalProperties": {"type": "number", "exclusiveMinimum": 0}}


def _action(*names: str, **more: Json) -> Json:
    return object_schema({"action": {"enum": [*names]}, **more}, ("action",))


ANSWERS: dict[str, Json] = {
    "tool_call": object_schema(
        {
            "approved": _FLAG,
            "edited_args": {"type": "object"},
            "remember": {"enum": ["once", "session"]},
            "match": _MATCH,
            "policy": _POLICY,
            "reason": _TEXT,
        },
        ("approved",),
    ),
    "client_tool": object_schema({"content": {}, "is_error": _FLAG}, ("content",)),
    "indeterminate": _action("retry", "skip", "result", content=_TEXT),
    "limit": object_schema({"continue": _FLAG, "extend": _NUMBERS}, ("continue",)),
    "model_error": object_schema({"retry": _FLAG}, ("retry",)),
    "mcp_sign_in": _action("retry"),
    "workspace_restore": _action("restore", "keep"),
    "workspace_missing": _action("uploaded", "go_on"),
}
