"""Find tool calls that a model server has left in the text of an answer. Pure.

Used at the end of an answer without a call.
A call must name an offered tool and be whole; it must be the whole answer or, behind a model's
own mark, everything up to its end. Quotes do not count: a mark counts at the beginning of a line
and outside of fenced blocks.

Whole answers are JSON, {"name": "f", "arguments": {…}}, one or several, bare, fenced or in a list
(small models, xLAM, Llama), or [f(a=1), g()] as Llama 4, LFM2 and Gemma write them. FORMATS has
the calls behind a mark.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from ...json_types import Json
from ...lib.strict_json import JSONError, dumps, loads
from .parser import (
    Found,
    LinePosition,
    properties,
    read_call,
    typed_value,
)

_MOST = 256 * 1024  # characters of the longest answer that is searched
_MARKS = 20  # marks that are tried as the beginning of the calls: a text may mention some


class Format(NamedTuple):
    """How a model writes a call: its mark, its name, what is between name and arguments, its end.

    Without a name the arguments are JSON that holds it. `parameter` matches one argument and its
    value; without it they are a JSON object.
    """

    mark: str
    name: str
    before: str = ""
    end: str = ""
    parameter: str = ""


_NAME = r"(?:functions\.)?([\w./-]+)"
_IN_TAGS = r"<function=", r"([^<>\n]+)>", "", r"\s*</function>"
_INVOKE = r"<(?:｜DSML｜)?invoke name=", r'"([^"<>]+)"\s*>', "", r"\s*</(?:｜DSML｜)?invoke>"
FORMATS = (
    # Qwen, where the opening tag is missing in one of five (ollama issues 16686, 18530, 17742)
    Format(
        *_IN_TAGS,
        r"\s*<parameter=([^<>\n]+)>(.*?)</parameter>(?=\s*(?:<parameter=|</function>))",
    ),
    Format(*_IN_TAGS),  # Llama 3
    Format(  # MiniMax M2, DeepSeek V3.2, Claude's of old
        *_INVOKE,
        r'\s*<(?:｜DSML｜)?parameter name="([^"<>]+)"[^<>]*>(.*?)</(?:｜DSML｜)?parameter>'
        r"(?=\s*<(?:｜DSML｜|/)*(?:parameter name|invoke))",
    ),
    Format(  # GLM 4.5
        *(r"<tool_call>", r"\s*([\w.-]+)", r"\s*(?=<)", r"\s*(?=</tool_call>|\Z)"),
        r"\s*<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>(?=\s*<[/a])",
    ),
    # DeepSeek V3 and V3.1, Kimi K2, gpt-oss, ReAct, Mistral (OpenAI-DotNet issue 477)
    Format(
        r"<｜tool▁call▁begin｜>(?:function<｜tool▁sep｜>)?",
        *(_NAME, r"(?:<｜tool▁sep｜>|\n```json)\s*", r"\s*(?:```)?<｜tool▁call▁end｜>"),
    ),
    Format(
        r"<\|tool_call_begin\|>",
        *(_NAME, r"(?::\d+)?\s*<\|tool_call_argument_begin\|>\s*", r"\s*<\|tool_call_end\|>"),
    ),
    Format(
        r"(?:<\|start\|>assistant)?<\|channel\|>\w+ to=",
        *(_NAME, r"\s*(?:<\|constrain\|>\w*\s*)?<\|message\|>\s*", r"\s*(?:<\|call\|>)?"),
    ),
    Format(r"Action:[ \t]*", _NAME, r"\s*\n\s*Action Input:\s*"),
    Format(
        r"\[TOOL_CALLS\]\s*",
        *(r"([^\s\[\]{}]+)", r"\s*(?:\[CALL_ID\]\s*\w*\s*)?(?:\[ARGS\])?\s*"),
    ),
    # Hermes, Mistral (tabbyAPI issue 314), Granite, Llama 3.1, InternLM, Phi 4, Command R
    Format(
        r"<tool_call>|\[TOOL_CALLS\]|<\|tool_call\|>|<\|python_tag\|>|functools(?=\[)"
        r"|<\|action_start\|>\s*<\|plugin\|>|Action:\s*```json|;(?=\s*\{)",
        *("", r"\s*(?=[\[{])", r"\s*(?:<\|action_end\|>|```)?"),
    ),
)
_READERS = [
    (re.compile(f"(?:{each.mark}){each.name}{each.before}"), re.compile(each.end))
    + (each.parameter and re.compile(each.parameter, re.DOTALL), each.name)
    for each in FORMATS
]
# Marks around the calls of one answer
_AROUND = re.compile(
    r"(?:\s|<tool_call>(?=\s*<function=)|</tool_call>|</?(?:｜DSML｜)?function_calls>"
    r"|</?minimax:tool_call>|<｜tool▁calls▁(?:begin|end)｜>"
    r"|<\|tool_calls_section_(?:begin|end)\|>)*"
)
_MARK = re.compile(
    "|".join(each.mark for each in FORMATS)
    + r"|<(?:｜DSML｜)?function_calls>|<minimax:tool_call>|<｜tool▁calls▁begin｜>"
    r"|<\|tool_calls_section_begin\|>"
)
# Marks that no prose has: a text with one is a call that was not read.
MAX_MARK = 20  # characters of it that are shown
CALL_MARK = re.compile(
    r"<｜(?:tool▁calls?▁begin|DSML)｜|<\|(?:tool_call|python_tag|action_start)|\[TOOL_CALLS\]"
    r"|<\|channel\|>\w+ to=|<minimax:tool_call>|^<tool_call>\s*[\w{<]",
    re.MULTILINE,
)
_BETWEEN = re.compile(r"(?:\s|;|```[a-zA-Z_]*[ \t\r]*(?:\n|\Z))*")
_CODE = re.compile(r"\s*(?:```(?:tool_code|python)\s*\n(.*)```|(\[.*\]))\s*", re.DOTALL)
_MOST_CODE = 20_000  # characters of calls in Python's form
_scan = json.JSONDecoder().raw_decode


def rescue(text: str, tools: Mapping[str, Mapping[str, Any]]) -> list[Found]:
    """Return the calls in an answer as (name, arguments).

    `tools`: by name, the schemas of their parameters.
    """
    if not may_end_in_call(text):
        return []
    if calls := _whole(text, tools) or _python(text, tools):
        return calls
    passed = 0  # end of the last call: marks before it are inside of it
    for at in islice(_marks(_MARK, text), _MARKS):
        if at >= passed:
            calls, passed = _calls(text, at, tools)
            if passed == len(text):
                return calls
    return []


def finder(tools: list[Json], spelled: Callable[[str], str]) -> Callable[[str], list[Found]]:
    """Return what finds calls in the whole text of an answer.

    `spelled` returns the name that the model was told.
    """

    def find(text: str) -> list[Found]:
        """Return the calls found in the text of an answer; without a name: the mark of one."""
        if not tools:
            return []
        if may_end_in_call(text):
            names = {spelled(tool["function"]["name"]): properties(tool) for tool in tools}
            if calls := rescue(text, names):
                return calls
        unread = next(_marks(CALL_MARK, text[:_MOST]), None)
        return [] if unread is None else [("", text[unread : unread + MAX_MARK])]

    return find


def may_end_in_call(text: str) -> bool:
    """Return whether `rescue` would look for calls in this text; most answers end in prose."""
    return len(text) <= _MOST and text.rstrip()[-1:] in tuple("}]>`")


def _marks(pattern: re.Pattern[str], text: str) -> Iterator[int]:
    """Yield the offsets of marks at the beginning of a line, outside of fenced blocks."""
    lines, seen = LinePosition(), 0
    for mark in pattern.finditer(text):
        lines.go(text[seen : mark.start()])
        seen = mark.start()
        if lines.free:
            yield seen


def _calls(text: str, at: int, tools: Mapping[str, Mapping[str, Any]]) -> tuple[list[Found], int]:
    """Return the calls from `at` on, and the offset behind the last one."""
    found: list[Found] = []
    at = _past(_AROUND, text, at)
    while at < len(text):
        read = _read_call(text, at, tools)
        if read is None:
            break
        calls, at = read
        found += calls
        at = _past(_AROUND, text, at)
    return found, at


def _past(pattern: re.Pattern[str], text: str, at: int) -> int:
    matched = pattern.match(text, at)
    return matched.end() if matched else at


def _read_call(
    text: str, at: int, tools: Mapping[str, Mapping[str, Any]]
) -> tuple[list[Found], int] | None:
    """Return the calls of the first format that fits at `at`, and the offset behind them."""
    for begin, end, parameter, named in _READERS:
        begun = begin.match(text, at)
        if begun is None or (named and begun[1].strip() not in tools):
            continue
        name, place = begun[1].strip() if named else "", begun.end()
        values: Any = {}
        if parameter:
            while one := parameter.match(text, place):
                key = one[1].strip()
                values[key] = typed_value(one[2], tools[name].get(key))
                place = one.end()
        elif (scanned := _scan_json(text, place)) is not None:
            values, place = scanned
        else:
            continue
        calls = [(name, dumps(values))] if named else _calls_of(values, tools)
        if not isinstance(values, dict if named else dict | list) or not calls:
            continue
        if closed := end.match(text, place):
            return calls, closed.end()
    return None


def _scan_json(text: str, at: int) -> tuple[Any, int] | None:
    try:
        _, end = _scan(text, at)
        return loads(text[at:end]), end
    except (ValueError, RecursionError, JSONError):
        return None


def _calls_of(value: Any, names: Collection[str]) -> list[Found]:
    """Return the calls of a JSON object or list, none unless all of it is calls."""
    calls = [read_call(each, names) for each in (value if isinstance(value, list) else [value])]
    return [call for call in calls if call] if all(calls) else []


def _whole(text: str, names: Collection[str]) -> list[Found]:
    """Return the calls of a text that is nothing but JSON calls, bare or fenced."""
    found: list[Found] = []
    at = _past(_BETWEEN, text, 0)
    while at < len(text):
        scanned = _scan_json(text, at)
        calls = _calls_of(scanned[0], names) if scanned else []
        if scanned is None or not calls:
            return []
        found += calls
        at = _past(_BETWEEN, text, scanned[1])
    return found


def _python(text: str, names: Collection[str]) -> list[Found]:
    """Return the calls of a text that is nothing but calls in Python's form, with literals."""
    code = _CODE.fullmatch(text) if len(text) <= _MOST_CODE else None
    if code is None:
        return []
    try:
        nodes: list[Any] = [each for each in ast.parse(code[1] or code[2]).body]
        nodes = [getattr(each, "value", None) for each in nodes]
        nodes = nodes[0].elts if len(nodes) == 1 and isinstance(nodes[0], ast.List) else nodes
        found = []
        for node in nodes:
            if not isinstance(node, ast.Call) or node.args or ast.unparse(node.func) not in names:
                return []
            values = {each.arg or "": ast.literal_eval(each.value) for each in node.keywords}
            found.append((ast.unparse(node.func), dumps(values)))
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return []
    return found
