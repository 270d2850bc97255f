"""Tool calls for models without function calling: as JSON under a schema, or as tags in text.

In the tool modes `json_schema` and `text` (modes.py) `transcript` makes plain turns of calls and
results. A scanner (parser.py) turns the calls of an answer back into native ones, so sessions have
the same shape in every mode. The texts of the mode text are sections of the prompt
(prompt_texts.PROTOCOL).

json_schema   {"tool": "add", "arguments": {"a": 1}}   or   {"answer": "text"}
text          <add><a>1</a></add>
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from ...json_types import Json, Message, RunWarning
from ...lib.json_schema.objects import object_schema
from ...lib.strict_json import dumps
from ...session.media import parts_of, plain_text
from ...session.prompt_texts import PROTOCOL
from ...session.prompts import UNREADABLE_CALL
from .parser import TagScanner

Templates = Mapping[str, str]
NOTHING: Templates = MappingProxyType({})

# llama.cpp refuses grammars with {0,2000} nested in an object (llama.cpp issue 25746); without a
# limit a small model fills a string until its tokens run out (measured: 2 of 20 calls).
MAX_STRING = 1500

_JSON_RULES = """\
You can use tools. Answer with one JSON object and nothing else:
{"tool": "<name>", "arguments": {…}} to use a tool, or {"answer": "<text>"} to answer the user.
After you have used a tool its result comes in the next message."""

_PLACEHOLDER = re.compile(r"\{([a-z]+)\}")  # names that a section does not define stay as text
_variant = partial(object_schema, required=None, closed=True)
_EXAMPLE = "<parameter>value</parameter>", '{"parameter": "value"}'


def response_format(
    tools: list[Json], wanted: dict[str, Any] | None = None, choice: str | None = None
) -> dict[str, Any]:
    """Return the response format that makes every reply either one valid call or an answer.

    `wanted`: the response format of the answer itself; `choice`: auto, required or a tool's name.
    """
    inner = ((wanted or {}).get("json_schema") or {}).get("schema")
    variants = [
        _variant({"tool": {"type": "string", "enum": [name]}, "arguments": _limit_strings(schema)})
        for name, _, schema in _tool_descriptions(tools)
        if choice in (None, "", "auto", "required", name)
    ]
    if choice in (None, "", "auto") or not variants:
        variants.append(_variant({"answer": inner or {"type": "string"}}))
    schema = {"name": "reply", "strict": True, "schema": {"anyOf": variants}}
    return {"type": "json_schema", "json_schema": schema}


def transcript(
    messages: list[Message], tools: list[Json], mode: str, own: Templates = NOTHING
) -> list[Message]:
    """Return the history as plain turns, with the rules of calling in the system message.

    `own`: sections of PROTOCOL that replace the default; `tools` and `call` apply to the mode text.
    Neighbouring turns of one role are joined, since templates of small models require
    them to alternate; turns of the assistant are not.
    """
    turns: list[Message] = []
    names: dict[str, str] = {}
    for message in messages:
        role, content = message.get("role"), message.get("content")
        if role == "assistant":
            content = _assistant_text(message, mode, own, with_rules=bool(tools))
            names |= {
                call["id"]: call["function"]["name"] for call in message.get("tool_calls") or ()
            }
        elif role == "tool":
            name = message.get("name") or names.get(message["tool_call_id"], "tool")
            section = "error" if message.get("is_error") else "result"
            facts = {"name": name, "result": plain_text(content)}
            pictures = [*parts_of(content)]
            role, content = "user", _fill_section(section, own, facts)
            if pictures:
                content = [{"type": "text", "text": content}, *pictures]
        turn: Message = {**message, "role": role, "content": content}
        turn.pop("tool_calls", None)
        turn.pop("tool_call_id", None)
        turn.pop("reasoning", None)
        last = turns[-1] if turns else None
        if last and last["role"] == role != "assistant" and _both_text(last, turn):
            turns[-1] = {**last, "content": f"{last['content']}\n\n{content}"}
        else:
            turns.append(turn)
    return _with_rules(turns, prompt(tools, mode, own)) if tools else turns


def prompt(tools: list[Json], mode: str, own: Templates = NOTHING) -> str:
    """Return the section of the system message that lists the tools and the syntax of calls."""
    listed = "\n".join(_lines(tools))
    if mode == "json_schema":
        return f"{_JSON_RULES}\n\nTools:\n{listed}"
    parameters, arguments = _EXAMPLE
    facts = {"name": "tool_name", "parameters": parameters, "arguments": arguments}
    return _fill_section("tools", own, {"tools": listed, "call": _fill_section("call", own, facts)})


def _lines(tools: list[Json]) -> Iterable[str]:
    for name, description, schema in _tool_descriptions(tools):
        yield f"- {name}: {description}".rstrip(": ")
        required = schema.get("required") or ()
        for key, parameter in (schema.get("properties") or {}).items():
            if parameter is False:  # a parameter that is not allowed
                continue
            parameter = {} if parameter is True else parameter
            shape = {k: v for k, v in parameter.items() if k not in ("description", "title")}
            says = parameter.get("description", "")
            need = "required" if key in required else "optional"
            yield f"    {key} ({need}, {dumps(shape)}): {says}".rstrip(": ")


def call_text(name: str, arguments: str, mode: str, own: Templates = NOTHING) -> str:
    """Return one call in the syntax of the mode."""
    try:
        values = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        values = None
    if mode == "json_schema":
        return dumps({"tool": name, "arguments": {} if values is None else values})
    lines = [arguments]
    if isinstance(values, dict):
        lines = [
            f"<{key}>{value if isinstance(value, str) else dumps(value)}</{key}>"
            for key, value in values.items()
        ]
    facts = {"name": name, "parameters": "\n".join(lines), "arguments": arguments or "{}"}
    return _fill_section("call", own, facts)


def remarks(own: Templates) -> list[RunWarning]:
    """Return `run.warnings` for a `call` section that the scanner does not read as a call."""
    if not isinstance(own.get("call"), str):
        return []
    wanted = {"text": "value"}
    properties = {"text": {"type": "string"}}
    probe = {"name": "probe", "parameters": {"type": "object", "properties": properties}}
    scanner = TagScanner([{"type": "function", "function": probe}])
    written = call_text("probe", dumps(wanted), "text", own)
    pieces = [*scanner.feed(written), *scanner.end()]
    names = [text for kind, text in pieces if kind == "call"]
    arguments = "".join(text for kind, text in pieces if kind == "args")
    if names == ["probe"] and arguments == dumps(wanted):
        return []
    said = (
        "prompt.call is not understood as a call when a model writes one so. Write"
        " <{name}>{parameters}</{name}>, or"
        ' <tool_call>{"name": "{name}", "arguments": {arguments}}</tool_call>'
    )
    return [{"code": UNREADABLE_CALL, "message": said, "section": "call"}]


def _fill_section(section: str, own: Templates, facts: dict[str, str]) -> str:
    """Return a section of the prompt with its facts filled in.

    Placeholders inside facts are not replaced. A call without parameters has no empty line for
    them.
    """
    template = own.get(section, PROTOCOL[section])
    if not facts.get("parameters", "-"):
        template = template.replace("{parameters}\n", "")
    return _PLACEHOLDER.sub(lambda match: facts.get(match[1], match[0]), template)


def _limit_strings(schema: Any) -> Any:
    """Return `schema` with a length limit on every free string."""
    if isinstance(schema, list):
        return [_limit_strings(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    bounded = {
        # Names of properties are not keywords, so their schemas are one level down.
        key: {name: _limit_strings(each) for name, each in value.items()}
        if key in ("properties", "$defs", "definitions") and isinstance(value, dict)
        else (
            _limit_strings(value) if key not in ("enum", "const", "default", "examples") else value
        )
        for key, value in schema.items()
    }
    free = bounded.get("type") == "string" and not bounded.keys() & {"enum", "const", "pattern"}
    if free and "format" not in bounded:
        limit = bounded.get("maxLength")
        bounded["maxLength"] = min(limit, MAX_STRING) if isinstance(limit, int) else MAX_STRING
    return bounded


def _tool_descriptions(tools: list[Json]) -> Iterable[tuple[str, str, dict[str, Any]]]:
    for tool in tools:
        function = tool["function"]
        schema = function.get("parameters") or {"type": "object", "properties": {}}
        yield function["name"], function.get("description") or "", schema


def _assistant_text(message: Message, mode: str, own: Templates, *, with_rules: bool) -> str:
    """Return an assistant message as text, calls included, in the syntax of the mode."""
    text = plain_text(message.get("content"))
    calls = [
        call_text(call["function"]["name"], call["function"].get("arguments") or "", mode, own)
        for call in message.get("tool_calls") or ()
    ]
    if mode == "json_schema" and not calls and with_rules:
        return dumps({"answer": text})
    if mode == "json_schema":
        return "\n".join(calls or [text])
    return "\n".join([text, *calls] if text else calls)


def _both_text(first: Message, second: Message) -> bool:
    return isinstance(first["content"], str) and isinstance(second["content"], str)


def _with_rules(turns: list[Message], rules: str) -> list[Message]:
    if turns and turns[0]["role"] == "system":
        text = f"{plain_text(turns[0]['content'])}\n\n{rules}"
        return [{**turns[0], "content": text}, *turns[1:]]
    return [{"role": "system", "content": rules}, *turns]
