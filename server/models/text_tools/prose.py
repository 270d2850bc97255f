"""Find tool calls that a model server has left in the text of an answer.

Used at the end of an answer without a call, and by `xml` and `json_reply` for JSON in their text.
A call must name an offered tool and be whole; it must be the whole answer or, behind a model's own
mark, everything up to its end. Quotes do not count: a mark counts at the beginning of a line and
outside of fenced blocks.

JSON      {"name": "f", "arguments": {…}}, bare or fenced: small models
Hermes    <tool_call>{"name": "f", "arguments": {…}}</tool_call>
Qwen      <tool_call> <function=f> <parameter=a>1</parameter> </function> </tool_call>, where the
          opening tag is missing in one of five (ollama issues 16686, 18530, 17742)
Mistral   [TOOL_CALLS]f{…}, with [CALL_ID]… and [ARGS] in front of the object, or a list of JSON
          (OpenAI-DotNet issue 477, tabbyAPI issue 314)
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import Any

from ...strict_json import JSONError, dumps, loads
from .. import Tool
from .marks import Lines

Found = tuple[str, str]  # name and arguments

_FENCE = re.compile(r"```[a-zA-Z_]*[ \t\r]*\n")
_MOST = 256 * 1024  # characters of the longest answer that is searched
_MARK = re.compile(r"<tool_call>|<function=|\[TOOL_CALLS\]")
_MARKS = 20  # marks that are tried as the beginning of the calls: a text may mention some
_TAGS = re.compile(r"(?:<tool_call>\s*)?<function=([^<>\n]+)>")
_PARAMETER = re.compile(
    r"\s*<parameter=([^<>\n]+)>(.*?)</parameter>(?=\s*(?:<parameter=|</function>))", re.DOTALL
)
_TAGS_END = re.compile(r"\s*</function>")
_JSON = re.compile(
    r"(?:<tool_call>|\[TOOL_CALLS\]\s*(?:([^\s\[\]{}]+)\s*(?:\[CALL_ID\]\s*\w*\s*)?(?:\[ARGS\])?)?)\s*"
)
_CLOSED = re.compile(r"\s*(?:</tool_call>\s*)?")
_scan = json.JSONDecoder().raw_decode

_CDATA = re.compile(r"\s*<!\[CDATA\[(.*)\]\]>\s*", re.DOTALL)
_NAME_KEYS = ("name", "tool", "tool_name", "function")
_ARGUMENT_KEYS = ("arguments", "parameters", "args", "input")
_WORDS_FOR_TYPES: dict[str, tuple[type, ...]] = {
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}


def rescue(text: str, tools: Mapping[str, Mapping[str, Any]]) -> list[Found]:
    """Return the calls in an answer as (name, arguments).

    `tools`: by name, the schemas of their parameters.
    """
    if len(text) > _MOST or text.rstrip()[-1:] not in tuple("}]>`"):
        return []
    if call := written(text, tools):
        return [call]
    passed = 0  # end of the last call: marks before it are inside of it
    for at in islice(_marks(text), _MARKS):
        if at >= passed:
            calls, passed = _calls(text, at, tools)
            if passed == len(text):
                return calls
    return []


def written(text: str, names: Collection[str]) -> Found | None:
    """Return the call of a text that is exactly one JSON call, bare or fenced, else None."""
    text = text.strip()
    if (fence := _FENCE.match(text)) and text.endswith("\n```"):
        text = text[fence.end() : -3].strip()
    try:
        value = loads(text)
    except JSONError:
        return None
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return read_call(value, names)


def read_call(value: Any, names: Collection[str]) -> tuple[str, str] | None:
    """Return (name, arguments) of an object that is a call, else None.

    All its keys must be those of a call.
    """
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("function"), dict):
        return read_call(value["function"], names)
    name = next((value[key] for key in _NAME_KEYS if isinstance(value.get(key), str)), None)
    keys = [key for key in _ARGUMENT_KEYS if key in value]
    known = {*_NAME_KEYS, *_ARGUMENT_KEYS, "type", "id", "description"}
    if (
        name not in names
        or len(keys) > 1
        or not set(value) <= known
        or not (keys or len(value) == 1)
    ):
        return None
    arguments = value[keys[0]] if keys else {}
    if isinstance(arguments, str):
        return str(name), arguments
    return (str(name), dumps(arguments)) if isinstance(arguments, dict) else None


def properties(tool: Tool) -> dict[str, Any]:
    """Return the schemas of a tool's parameters, by name."""
    schema = tool["function"].get("parameters")
    found = schema.get("properties") if isinstance(schema, dict) else None
    return found if isinstance(found, dict) else {}


def typed(text: str, schema: Any) -> Any:
    """Return a parameter's text as a value of its schema's type, or as text if it does not fit."""
    if cdata := _CDATA.fullmatch(text):
        return cdata[1]
    if text.startswith("\n") and text.endswith("\n") and len(text) > 1:
        text = text[1:-1]  # tags on lines of their own
    wanted = schema.get("type") if isinstance(schema, dict) else None
    types = [wanted] if isinstance(wanted, str) else wanted if isinstance(wanted, list) else []
    if "string" in types:
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text.strip() if types else text
    fits = tuple(kind for each in types for kind in _WORDS_FOR_TYPES.get(each, ()))
    if not types:
        return value if isinstance(value, dict | list) else text
    if isinstance(value, bool) and bool not in fits:
        return text.strip()
    return value if isinstance(value, fits) else text.strip()


def _marks(text: str) -> Iterator[int]:
    """Yield the offsets at which calls may begin."""
    lines, seen = Lines(), 0
    for mark in _MARK.finditer(text):
        lines.go(text[seen : mark.start()])
        seen = mark.start()
        if lines.free:
            yield seen


def _calls(text: str, at: int, tools: Mapping[str, Mapping[str, Any]]) -> tuple[list[Found], int]:
    """Return the calls from `at` on, and the offset behind the last one."""
    found: list[Found] = []
    while at < len(text):
        read = _tags(text, at, tools) if _TAGS.match(text, at) else _json(text, at, tools)
        if read is None:
            break
        calls, at = read
        found += calls
        if closed := _CLOSED.match(text, at):
            at = closed.end()
    return found, at


def _tags(
    text: str, at: int, tools: Mapping[str, Mapping[str, Any]]
) -> tuple[list[Found], int] | None:
    """Return a call in tags and the offset of its end, None if there is none."""
    begun = _TAGS.match(text, at)
    if begun is None or (name := begun[1].strip()) not in tools:
        return None
    at, values = begun.end(), {}
    while parameter := _PARAMETER.match(text, at):
        key = parameter[1].strip()
        values[key] = typed(parameter[2], tools[name].get(key))
        at = parameter.end()
    end = _TAGS_END.match(text, at)
    return ([(name, dumps(values))], end.end()) if end else None


def _json(text: str, at: int, names: Collection[str]) -> tuple[list[Found], int] | None:
    """Return the calls in a JSON object or list and the offset of its end, else None."""
    begun = _JSON.match(text, at)
    if begun is None:
        return None
    try:
        _, at = _scan(text, begun.end())
        value = loads(text[begun.end() : at])
    except (ValueError, RecursionError, JSONError):
        return None
    if begun[1]:
        value = {"name": begun[1], "arguments": value}
    calls = [read_call(each, names) for each in (value if isinstance(value, list) else [value])]
    return ([call for call in calls if call], at) if all(calls) else None
