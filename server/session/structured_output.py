"""Structured output: an answer that is one JSON value of a given schema. Pure.

The model sends it as the arguments of `finish`, so an invalid one gets an error result with every
problem, as for any tool. If a model answers with text instead, the text is accepted if it is the
value; otherwise the model gets the errors.
"""

from __future__ import annotations

import re
from typing import Any

from ..schema.convert import error_text
from ..schema.inline import inline
from ..schema.validate import validate
from ..strict_json import JSONError, loads
from .modes import FINISH, answers

Session = dict[str, Any]

TRIES = 3  # consecutive answers that do not fit the schema; the last one fails the run
VALUE = "output"  # the argument for a value that is not an object

_FENCED = re.compile(r"\s*```[a-zA-Z]*\s*\n(.*)\n\s*```\s*", re.DOTALL)


def schema_of(session: Session) -> dict[str, Any] | None:
    """Return the schema of the session's answer: its own, else its agent's, else None."""
    own = session["config"]["yaa"].get("output_schema")
    agents = (session["config"].get("agent") or {}).get("output_schema")
    found: dict[str, Any] | None = agents if own is None else own
    return found


def parameters(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of `finish`'s arguments: the output's, wrapped unless it is an object."""
    if schema.get("type") == "object":
        return schema
    return {
        "type": "object",
        "properties": {VALUE: inline(schema)},
        "required": [VALUE],
        "additionalProperties": False,
    }


def unwrapped(schema: dict[str, Any], args: dict[str, Any]) -> Any:
    """Return the output that arguments of `finish` contain."""
    return args if schema.get("type") == "object" else args[VALUE]


def read(text: Any, schema: dict[str, Any]) -> tuple[Any, str]:
    """Return (value of an answer in text, "" or the error); (None, error) if it is not JSON."""
    text = text if isinstance(text, str) else ""
    fenced = _FENCED.fullmatch(text)
    try:
        value = loads((fenced[1] if fenced else text).strip())
    except JSONError as error:
        return None, f"it is no JSON value: {error.message}"
    misfits = validate(value, schema)
    return value, error_text(misfits) if misfits else ""


def misses(session: Session) -> int:
    """Count the latest consecutive answers that should have ended the run and did not fit."""
    results = {m["tool_call_id"]: m for m in session["messages"] if m["role"] == "tool"}
    count = 0
    for message in answers(session):
        calls = message.get("tool_calls") or ()
        ends = [call for call in calls if call["function"]["name"] == FINISH]
        said = [(results.get(c["id"], {}).get("result") or {}).get("status") for c in ends]
        if calls and "invalid_arguments" not in said:
            break
        if message["id"] != session["run"].get("summary"):
            count += 1
    return count
