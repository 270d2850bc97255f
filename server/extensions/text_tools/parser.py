"""Read tool calls that a model writes as text: in XML-like tags, as JSON, or within prose.

Each scanner gets the text of a stream piece by piece, whatever the cuts,
and passes the rest on as text. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from typing import Any

from ...json_types import Json
from ...lib.strict_json import JSONError, dumps, loads

# -- marks ----------------------------------------------------------------------------------------
# Tags that some prompts make a model put around parts of its answer: <THINK>, <ASK>, <ANSWER>, ….
#
# Used by `xml` in tool mode text. A mark counts at the beginning of a line and outside of fenced
# blocks, so that an answer may mention such tags.

THOUGHT, ANSWER, QUESTION = "thought", "answer", "question"
# An <OBSERVE> by the model is an invented tool result, so it is shown as reasoning.
MARKS = {
    "think": THOUGHT,
    "observe": THOUGHT,
    "answer": ANSWER,
    "done": ANSWER,
    "ask": QUESTION,
}
ASK_USER = "ask_user"  # a question becomes a call of this tool
LONGEST = max(map(len, MARKS)) + 3
_FENCES = ("```", "~~~")
_ENOUGH = 200  # characters of a line that are kept, to see how it begins


class LinePosition:
    """Position in a streamed text: at the beginning of a line or not, in a fenced block or not."""

    def __init__(self) -> None:
        self._line = ""  # how the line begins
        self._fenced = False

    @property
    def free(self) -> bool:
        """Return whether only white space precedes on this line, outside of any fenced block."""
        return not self._fenced and not self._line.strip()

    def go(self, text: str) -> None:
        """Move past `text`."""
        first, *more = text.split("\n")
        self._begin(self._line + first)
        for line in more:
            if self._line.lstrip().startswith(_FENCES):
                self._fenced = not self._fenced
            self._begin(line)

    def restart(self) -> None:
        """Treat what follows as the beginning of a line, after a call or a mark."""
        self._line = ""

    def _begin(self, line: str) -> None:
        self._line = line[:_ENOUGH]


# -- xml ------------------------------------------------------------------------------------------
# Find tool calls written as tags in a stream: `<tool><parameter>value</parameter></tool>`.
#
# In tool mode text the decoder sends the text through `TagScanner`. A call begins where the tag of
# an offered tool is followed by one of its parameters, its end or a JSON object, so a mere mention
# of `<shell>` stays text. Only text that may still become a call is held back; everything else is
# passed on at once, before, between and after calls.
#
# `<tool_call>{"name": …, "arguments": {…}}</tool_call>` and `<action>` with the same content
# (Hermes models, AutoAi prompts) are calls too, and the marks of such prompts are read
# (see MARKS).

Piece = tuple[str, str]

_JSON_TAGS = ("tool_call", "action")
_ANY_PARAMETER = re.compile(r"<([\w.-]+)>(.*?)</\1>", re.DOTALL)


class TagScanner:
    """Scanner for calls in tags and for marks; see decoder.Scanner."""

    def __init__(self, tools: list[Json]) -> None:
        self._schemas = {tool["function"]["name"]: properties(tool) for tool in tools}
        self._openers = {f"<{name}>".lower(): name for name in (*self._schemas, *_JSON_TAGS)}
        self._marks = {f"<{name}>": name for name in MARKS if f"<{name}>" not in self._openers}
        keys = [key for schema in self._schemas.values() for key in schema]
        self._longest = max(map(len, (*self._openers, *keys)), default=LONGEST) + 8
        self._held = ""
        self._name = ""  # tag of the open call
        self._opened = ""
        self._searched = 0
        self._mark = ""  # the open mark, if any
        self._lines = LinePosition()

    def feed(self, text: str) -> list[Piece]:
        """Return the pieces that are certain after `text`."""
        out: list[Piece] = []
        self._held += text
        while self._held and self._step(out):
            pass
        return out

    def _step(self, out: list[Piece]) -> bool:
        """Read one part of the held text. Returns whether to go on."""
        if self._name:
            return self._body(out)
        return self._prose(out) if self._kind in ("", ANSWER) else self._read_mark(out)

    @property
    def _kind(self) -> str:
        """Return the meaning of the open mark, "" without one.

        A question is an answer where the tool ask_user is not offered.
        """
        kind = MARKS.get(self._mark, "")
        return ANSWER if kind == QUESTION and ASK_USER not in self._schemas else kind

    def end(self) -> list[Piece]:
        """Return what was held back: text, or an open call, which ends here if it is whole."""
        held, self._held = self._held, ""
        name, self._name = self._name, ""
        if not name:
            return self._mark_pieces(held)
        if name in _JSON_TAGS:
            call = read_whole_call(
                held, self._schemas
            )  # a whole call, though its tag was never closed
            return _call(*call) if call else [("text", self._opened + held)]
        arguments = self._arguments(name, held)
        if not arguments or self._open_parameter(name, held):
            return [("args", dumps({"incomplete": held})[:-1])]  # invalid JSON, so it never runs
        return [("args", dumps(arguments)), ("end", "")]

    def _prose(self, out: list[Piece]) -> bool:
        """Pass text on up to a tag that is, or may be, a tool's. Returns whether to go on."""
        start = self._held.find("<")
        if start != 0:
            return self._pass_text(out, start if start > 0 else len(self._held))
        close = self._held.find(">", 0, self._longest)
        head = self._held[: close + 1 if close > 0 else self._longest].lower()
        name = self._openers.get(head)
        marks = self._marks_here()
        if head in marks:
            self._mark, self._held = marks[head], self._held[close + 1 :]
            self._searched = 0
            self._lines.restart()
            return bool(self._held)
        waits = (*self._openers, *marks)
        if name is None and close < 0 and any(each.startswith(head) for each in waits):
            return False
        begins = self._begins(name, self._held[close + 1 :]) if name else False
        if begins is None:
            return False
        if begins and name:
            self._name, self._searched = name, 0
            self._opened = self._held[: close + 1]  # kept in case this turns out to be text
            self._held = self._held[close + 1 :]
            if name not in _JSON_TAGS:
                out.append(("call", name))
            return True
        next_tag = self._held.find("<", 1)
        return self._pass_text(out, next_tag if next_tag > 0 else len(self._held))

    def _pass_text(self, out: list[Piece], end: int) -> bool:
        """Pass text on up to `end`. Returns whether more is held."""
        text, self._held = self._held[:end], self._held[end:]
        self._lines.go(text)
        out.append(("text", text))
        return bool(self._held)

    # -- marks ------------------------------------------------------------------------------------

    def _marks_here(self) -> dict[str, str]:
        """Return the tags of marks that count at this place, each with the mark it opens or ""."""
        closing = {f"</{self._mark}>": ""} if self._mark else {}
        return {**self._marks, **closing} if self._lines.free else closing

    def _read_mark(self, out: list[Piece]) -> bool:
        """Pass reasoning on as it comes, a question when it is whole.

        Returns whether to go on behind it.
        """
        closing = f"</{self._mark}>"
        end = re.compile(closing, re.IGNORECASE | re.ASCII)
        match = end.search(self._held, max(self._searched - len(closing), 0))
        if match is not None:
            body, self._held = self._held[: match.start()], self._held[match.end() :]
            out += self._mark_pieces(body)
            self._mark, self._searched = "", 0
            self._lines.restart()
            return bool(self._held)
        self._searched = len(self._held)
        if self._kind == THOUGHT:
            last = self._held.rfind("<", -len(closing))
            keep = last if last >= 0 and closing.startswith(self._held[last:].lower()) else None
            out += self._mark_pieces(self._held[:keep])
            self._held = "" if keep is None else self._held[keep:]
            self._searched = 0
        return False

    def _mark_pieces(self, text: str) -> list[Piece]:
        """Return the pieces of a text under the open mark."""
        if self._kind == QUESTION:
            question = text.strip()
            return _call(ASK_USER, dumps({"question": question})) if question else []
        return [("think" if self._kind == THOUGHT else "text", text)] if text else []

    # -- calls ------------------------------------------------------------------------------------

    def _begins(self, name: str, after: str) -> bool | None:
        """Return whether the text after a tool's tag makes it a call, None if more is needed."""
        after = after.lstrip()
        if name in _JSON_TAGS:
            return after.startswith("{") if after else None
        signs = [f"</{name}>", "{", *(f"<{key}>" for key in self._schemas[name])]
        if any(after.startswith(sign) for sign in signs):
            return True
        return None if any(sign.startswith(after) for sign in signs) else False

    def _body(self, out: list[Piece]) -> bool:
        """Look for the end of the call. Returns whether to go on behind it."""
        name, held = self._name, self._held
        closing = f"</{name}>"
        end = re.compile(re.escape(closing), re.IGNORECASE)
        match = end.search(held, max(self._searched - len(closing), 0))
        while match and self._inside_value(name, held[: match.start()]):
            match = end.search(held, match.end())
        if match is None:
            self._searched = len(held)
            return False
        body, self._held, self._name = held[: match.start()], held[match.end() :], ""
        self._lines.restart()
        if name not in _JSON_TAGS:
            out += [("args", dumps(self._arguments(name, body))), ("end", "")]
        elif call := read_whole_call(body, self._schemas):
            out += _call(*call)
        else:
            out.append(("text", self._opened + body + match[0]))
        return True

    def _inside_value(self, name: str, body: str) -> bool:
        """Return whether a closing tag behind `body` is part of a parameter's value."""
        end = body[-self._longest :].rstrip()
        closed = end.endswith(tuple(f"</{key}>" for key in self._schemas.get(name, ())))
        return not closed and self._open_parameter(name, body)

    def _open_parameter(self, name: str, body: str) -> bool:
        keys = self._schemas.get(name, ())
        return any(body.rfind(f"<{key}>") > body.rfind(f"</{key}>") for key in keys)

    def _arguments(self, name: str, body: str) -> dict[str, Any]:
        """Return the arguments in a call's body.

        A value may hold any text, its own closing tag too, unless that is followed by the next
        parameter or the end.
        """
        schemas = self._schemas[name]
        found: dict[str, Any] = {}
        if body.strip().startswith("{"):
            try:
                value = json.loads(body)
            except (ValueError, RecursionError):
                value = None
            if isinstance(value, dict):
                return value
        keys = "|".join(map(re.escape, schemas))
        after = rf"(?=\s*(?:<(?:{keys})>|$))"
        known = re.compile(rf"<({keys})>(.*?)</\1>{after}", re.DOTALL) if keys else None
        matches = known.findall(body) if known else []
        for key, text in matches or _ANY_PARAMETER.findall(body):
            value = typed_value(text, schemas.get(key))
            wants_list = isinstance(schemas.get(key), dict) and schemas[key].get("type")
            if key in found and wants_list == "array":
                before = found[key] if isinstance(found[key], list) else [found[key]]
                found[key] = [*before, *(value if isinstance(value, list) else [value])]
            else:
                found[key] = value
        return found


def _call(name: str, arguments: str) -> list[Piece]:
    return [("call", name), ("args", arguments), ("end", "")]


# -- prose ----------------------------------------------------------------------------------------
# JSON and values in the text of an answer.

Found = tuple[str, str]  # name and arguments

_FENCE = re.compile(r"```[a-zA-Z_]*[ \t\r]*\n")
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


def read_whole_call(text: str, names: Collection[str]) -> Found | None:
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


def properties(tool: Json) -> dict[str, Any]:
    """Return the schemas of a tool's parameters, by name."""
    schema = tool["function"].get("parameters")
    found = schema.get("properties") if isinstance(schema, dict) else None
    return found if isinstance(found, dict) else {}


def typed_value(text: str, schema: Any) -> Any:
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


# -- json reply -----------------------------------------------------------------------------------
# Read the streamed answer of a model under a JSON schema.
#
# In tool mode json_schema the decoder sends the text through `JsonReply`: `{"answer": "…"}` becomes
# text, `{"tool": "f", "arguments": {…}}` a call, both while they stream. Anything else, from models
# that ignore the schema, is passed on as text.

_ANSWER = re.compile(r'\s*\{\s*"answer"\s*:\s*(?=\S)')
_CALL = re.compile(r'\s*\{\s*"tool"\s*:\s*"((?:[^"\\]|\\.)*)"\s*,\s*"arguments"\s*:\s*(?=\S)')
_NAMED = re.compile(r'\{"tool":"(?:[^"\\]|\\.)*"')
_LONGEST_NAME = 256
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "\\": "\\", "/": "/"}
_PLAIN = re.compile(r'[^"\\]+')


class JsonReply:
    """Scanner for replies under the schema of `history.response_format`.

    `names`: the offered tools.
    """

    def __init__(self, names: Collection[str]) -> None:
        self._names = names
        self._held = ""
        self._step: Callable[[list[Piece]], None] = self._begin
        self._depth = 0
        self._in_string = self._escaped = False
        self._spoke = False  # an object was read: white space behind it is dropped

    def feed(self, text: str) -> list[Piece]:
        """Return the pieces that are certain after `text`; see decoder.Scanner."""
        out: list[Piece] = []
        self._held += text
        step: Callable[[list[Piece]], None] | None = None
        while step != self._step:  # a step reads as far as it can and may set the next one
            step = self._step
            step(out)
        return out

    def end(self) -> list[Piece]:
        """Return what was held back: an object in another spelling, or plain text."""
        held, self._held = self._held, ""
        if self._step == self._whole:
            return _read(held, self._names)
        if self._spoke and not held.strip():
            return []
        if self._step in (self._text, self._begin) or self._step == self._plain:
            return [("text", held)] if held else []
        return []

    # -- steps ------------------------------------------------------------------------------------

    def _begin(self, out: list[Piece]) -> None:
        if match := _ANSWER.match(self._held):
            self._held = self._held[match.end() :]
            self._step = self._text if self._held[0] == '"' else self._raw
            if self._held[0] == '"':
                self._held = self._held[1:]
        elif match := _CALL.match(self._held):
            out.append(("call", _unquote(match[1])))
            self._held = self._held[match.end() :]
            self._step = self._arguments
        elif not _may_become_reply(self._held):
            self._step = self._whole if self._held.lstrip().startswith("{") else self._plain

    def _text(self, out: list[Piece]) -> None:
        """Unescape the answer's string as far as it is received."""
        held, position, said = self._held, 0, ""
        while position < len(held):
            if plain := _PLAIN.match(held, position):
                said += plain[0]
                position = plain.end()
            elif held[position] == '"':
                self._step = self._rest
                position += 1
                break
            else:
                character, size = _unescape(held, position)
                if not size:
                    break
                said += character
                position += size
        self._held = held[position:]
        if said:
            out.append(("text", said))

    def _arguments(self, out: list[Piece]) -> None:
        self._value(out, "args")

    def _raw(self, out: list[Piece]) -> None:
        self._value(out, "text")

    def _value(self, out: list[Piece], kind: str) -> None:
        """Pass one JSON value on as it is written, up to its end."""
        end = self._end("},")
        if piece := self._held[:end]:
            out.append((kind, piece))
        self._held = self._held[len(piece) :]
        if end is not None:
            if kind == "args":
                out.append(("end", ""))
            self._step = self._rest

    def _end(self, closers: str, *, own: bool = True) -> int | None:
        """Return the offset at which the current JSON value ends, None if more input is needed.

        It ends before a delimiter of the enclosing value (`closers`) or, if `own`, after its own
        closing bracket.
        """
        for position, character in enumerate(self._held):
            if self._in_string:
                self._in_string = character != '"' or self._escaped
                self._escaped = character == "\\" and not self._escaped
            elif character == '"':
                self._in_string = True
            elif not self._depth and character in closers:
                return position
            elif character in "{[":
                self._depth += 1
            elif character in "}]":
                self._depth = max(self._depth - 1, 0)
                if own and not self._depth:
                    return position + 1
        return None

    def _plain(self, out: list[Piece]) -> None:
        if self._held:
            out.append(("text", self._held))
            self._held = ""

    def _whole(self, out: list[Piece]) -> None:
        """Wait for the end of an object of another shape."""

    def _rest(self, out: list[Piece]) -> None:
        """Skip to the brace that closes the object; other members are ignored.

        Another object may follow, or text.
        """
        end = self._end("}", own=False)
        self._held = "" if end is None else self._held[end + 1 :]
        if end is not None:
            self._spoke = True
            self._step = self._begin


def _may_become_reply(text: str) -> bool:
    """Return whether `text` may still become the start of an answer or of a call."""
    compact = "".join(text.split())
    if '{"answer":'.startswith(compact) or '{"tool":"'.startswith(compact):
        return True
    if named := _NAMED.match(compact):
        return ',"arguments":'.startswith(compact[named.end() :])
    return compact.startswith('{"tool":"') and len(compact) < _LONGEST_NAME


def _unescape(text: str, at: int) -> tuple[str, int]:
    """Return the character of the escape at `at` and its length; length 0 if it is incomplete."""
    if len(text) < at + 2:
        return "", 0
    if text[at + 1] != "u":
        return _ESCAPES.get(text[at + 1], text[at + 1]), 2
    digits = text[at + 2 : at + 6]
    if len(digits) < 4:
        return "", 0
    try:
        return chr(int(digits, 16)), 6  # surrogate pairs are joined later, by Halves
    except ValueError:
        return "\ufffd", 6


def _unquote(text: str) -> str:
    try:
        return str(loads(f'"{text}"'))
    except JSONError:
        return text


def _read(text: str, names: Collection[str]) -> list[Piece]:
    """Return the pieces of an object whose keys are in another order or of another kind."""
    try:
        value = loads(text)
    except JSONError:
        return [("text", text)] if text else []
    if call := read_call(value, names):
        return [("call", call[0]), ("args", call[1]), ("end", "")]
    if isinstance(value, dict) and "answer" in value:
        answer = value["answer"]
        return [("text", answer if isinstance(answer, str) else dumps(answer))]
    return [("text", text)]
