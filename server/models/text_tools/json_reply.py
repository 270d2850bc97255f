"""Read the streamed answer of a model under a JSON schema.

In tool mode json_schema the decoder sends the text through `JsonReply`: `{"answer": "…"}` becomes
text, `{"tool": "f", "arguments": {…}}` a call, both while they stream. Anything else, from models
that ignore the schema, is passed on as text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from ...strict_json import JSONError, dumps, loads
from .prose import read_call

Piece = tuple[str, str]

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
            out.append(("call", _unquoted(match[1])))
            self._held = self._held[match.end() :]
            self._step = self._arguments
        elif not _undecided(self._held):
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


def _undecided(text: str) -> bool:
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


def _unquoted(text: str) -> str:
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
