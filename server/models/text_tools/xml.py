"""Find tool calls written as tags in a stream: `<tool><parameter>value</parameter></tool>`.

In tool mode text the decoder sends the text through `TagScanner`. A call begins where the tag of an
offered tool is followed by one of its parameters, its end or a JSON object, so a mere mention of
`<shell>` stays text. Only text that may still become a call is held back; everything else is passed
on at once, before, between and after calls.

`<tool_call>{"name": …, "arguments": {…}}</tool_call>` and `<action>` with the same content
(Hermes models, AutoAi prompts) are calls too, and the marks of such prompts are read
(models/text_tools/marks.py).
"""

from __future__ import annotations

import json
import re
from typing import Any

from ...strict_json import dumps
from .. import Tool
from .marks import ANSWER, ASK_USER, LONGEST, MARKS, QUESTION, THOUGHT, Lines
from .prose import properties, typed, written

Piece = tuple[str, str]

_JSON_TAGS = ("tool_call", "action")
_ANY_PARAMETER = re.compile(r"<([\w.-]+)>(.*?)</\1>", re.DOTALL)


class TagScanner:
    """Scanner for calls in tags and for marks; see decoder.Scanner."""

    def __init__(self, tools: list[Tool]) -> None:
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
        self._lines = Lines()

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
        return self._prose(out) if self._kind in ("", ANSWER) else self._marked(out)

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
            return self._part(held)
        if name in _JSON_TAGS:
            call = written(held, self._schemas)  # a whole call, though its tag was never closed
            return _call(*call) if call else [("text", self._opened + held)]
        arguments = self._arguments(name, held)
        if not arguments or self._open_parameter(name, held):
            return [("args", dumps({"incomplete": held})[:-1])]  # invalid JSON, so it never runs
        return [("args", dumps(arguments)), ("end", "")]

    def _prose(self, out: list[Piece]) -> bool:
        """Pass text on up to a tag that is, or may be, a tool's. Returns whether to go on."""
        start = self._held.find("<")
        if start != 0:
            return self._say(out, start if start > 0 else len(self._held))
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
        return self._say(out, next_tag if next_tag > 0 else len(self._held))

    def _say(self, out: list[Piece], end: int) -> bool:
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

    def _marked(self, out: list[Piece]) -> bool:
        """Pass reasoning on as it comes, a question when it is whole.

        Returns whether to go on behind it.
        """
        closing = f"</{self._mark}>"
        end = re.compile(closing, re.IGNORECASE | re.ASCII)
        match = end.search(self._held, max(self._searched - len(closing), 0))
        if match is not None:
            body, self._held = self._held[: match.start()], self._held[match.end() :]
            out += self._part(body)
            self._mark, self._searched = "", 0
            self._lines.restart()
            return bool(self._held)
        self._searched = len(self._held)
        if self._kind == THOUGHT:
            last = self._held.rfind("<", -len(closing))
            keep = last if last >= 0 and closing.startswith(self._held[last:].lower()) else None
            out += self._part(self._held[:keep])
            self._held = "" if keep is None else self._held[keep:]
            self._searched = 0
        return False

    def _part(self, text: str) -> list[Piece]:
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
        elif call := written(body, self._schemas):
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
            value = typed(text, schemas.get(key))
            wants_list = isinstance(schemas.get(key), dict) and schemas[key].get("type")
            if key in found and wants_list == "array":
                before = found[key] if isinstance(found[key], list) else [found[key]]
                found[key] = [*before, *(value if isinstance(value, list) else [value])]
            else:
                found[key] = value
        return found


def _call(name: str, arguments: str) -> list[Piece]:
    return [("call", name), ("args", arguments), ("end", "")]
