"""Assemble tool calls that arrive in fragments, and give their events.

The decoders pass fragments to `ToolCallAssembler`. Vendors number fragments in different ways, so
the call of a fragment is decided from id, index, name and whether the arguments so far are
complete. A fragment becomes an event at once, and an opened call is always closed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..json_types import Event
from ..lib.strict_json import browser_safe, depth_exceeds, dumps
from ..session.events import tool_args, tool_end, tool_start
from ..session.limits import MOST
from ..session.schema import MAX_ID
from .failure import Failure

UNNAMED = "unnamed_tool"  # name of a call without one; its result is an error
MAX_OPAQUE_DEPTH = 32
MAX_OPAQUE = 64_000  # characters of one member of a provider's
MOST_CALLS = MOST["messages/*/tool_calls"]  # a session with more is refused

_READ = ("id", "index", "type", "function", "name", "arguments")  # members of a call
_SURROGATE = re.compile("[\ud800-\udfff]")


class SurrogateJoiner:
    """Joins surrogate pairs cut in two: "\\ud83d" in one delta, "\\ude00" in the next."""

    __slots__ = ("_half",)

    def __init__(self) -> None:
        self._half = ""

    def join(self, text: str) -> str:
        """Return `text` with surrogate pairs joined. A first half at its end is held back."""
        if self._half:
            text, self._half = self._half + text, ""
        elif text.isascii():
            return text
        if not _SURROGATE.search(text):
            return text
        if "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

    def end(self) -> str:
        """Return U+FFFD for a half whose other half never came, else ""."""
        half, self._half = self._half, ""
        return "\ufffd" if half else ""


@dataclass(slots=True, eq=False)
class PartialCall:
    """One tool call being received. `pieces` are its arguments so far, of `size` characters."""

    id: str = ""  # yaa's own, set when the call is opened
    name: str = ""
    index: int | None = None
    provider_ids: dict[str, None] = field(default_factory=dict)  # ids the provider used, in order
    pieces: list[str] = field(default_factory=list)
    size: int = 0
    blank: str = ""  # arguments that came first: all of them, or a placeholder for what follows
    opened: bool = False
    closed: bool = False
    extra: dict[str, Any] = field(default_factory=dict)
    halves: SurrogateJoiner = field(default_factory=SurrogateJoiner)

    def text_so_far(self) -> str:
        """Return the arguments received so far, as one string."""
        self.pieces = ["".join(self.pieces)]
        return self.pieces[0]

    def arguments(self) -> str:
        """Return the arguments so far, or the "{}" that came first if nothing followed."""
        return self.text_so_far() or self.blank

    def complete(self) -> bool:
        """Return whether the arguments so far are one whole JSON object."""
        return is_object(self.arguments())

    def new_part(self, piece: str) -> str:
        """Return the new part of a fragment of arguments.

        Some vendors repeat all arguments so far in each fragment, or send them whole once more at
        the end (hermes-agent issue 35718, opencode issue 12425), and some begin with an empty
        object (llama-stack issue 5464). No JSON is lost: an object may follow only where a value
        may. Only a fragment that is as long as all before it, or whole, can be a repetition; for
        others the earlier pieces are not joined, to save time.
        """
        if piece[:1] != "{" or (len(piece) < self.size and not is_object(piece)):
            return piece
        if not self.size and piece.strip() == "{}":
            self.blank = piece
            return ""
        before = self.text_so_far()
        if before[:1] == "{" and before.rstrip()[-1] not in ":[,":
            if piece.startswith(before):
                return piece[len(before) :]
            if is_object(before) and is_object(piece) and json.loads(before) == json.loads(piece):
                return ""
        return piece


class ToolCallAssembler:
    """The tool calls of one message.

    `restore` maps a provider-safe tool name back to the tool's own.
    """

    def __init__(
        self,
        message_id: str,
        new_id: Callable[[str], str],
        restore: Callable[[str], str],
    ) -> None:
        self.all: list[PartialCall] = []
        self.too_large: set[str] = set()  # members of the provider's own that are not kept
        self._message_id, self._new_id = message_id, new_id
        self._restore = restore

    def feed(self, fragment: Any) -> list[Event]:
        """Return the events of one element of `tool_calls`."""
        if not isinstance(fragment, dict):
            return []
        function = fragment.get("function")
        function = function if isinstance(function, dict) else fragment
        theirs, index = _text(fragment.get("id")), fragment.get("index")
        index = index if isinstance(index, int) and not isinstance(index, bool) else None
        name, piece = _text(function.get("name")), _arguments(function.get("arguments"))
        call, repeated = self._find(theirs, index, name, piece)
        events: list[Event] = []
        if call is None:
            events += self._close_complete()
            call = PartialCall(index=index)
            self.all.append(call)
        if theirs:
            call.provider_ids[theirs] = None
            call.extra["id"] = theirs  # Kimi reads the tool's name in it, gateways put more there
        call.name = call.name or name
        call.extra |= {k: v for k, v in fragment.items() if k not in _READ and is_structure(v)}
        return events if repeated else events + self.add(call, call.new_part(piece))

    def begin(self, name: str, theirs: str = "") -> tuple[PartialCall, list[Event]]:
        """Begin a call found in text, or one that the provider delimits itself.

        Returns the call and its first events.
        """
        events = self._close_complete()
        call = PartialCall(name=name, provider_ids={theirs: None} if theirs else {})
        self.all.append(call)
        return call, events + self.add(call, "")

    def add(self, call: PartialCall, piece: str) -> list[Event]:
        """Add a piece of arguments and return its events.

        Opens the call as soon as it has a name.
        """
        call.pieces.append(piece)
        call.size += len(piece)
        if call.closed:
            return []  # blank or garbage after a complete object
        if call.opened:
            piece = call.halves.join(piece)
            return [tool_args(call.id, piece)] if piece else []
        return self._open(call) if call.name else []

    def close(self, call: PartialCall, *, cut: bool = False) -> list[Event]:
        """Close a call and return its last events.

        Missing arguments become "{}", unless the answer was `cut` there.
        """
        if call.closed:
            return []
        events = [] if call.opened else self._open(call)
        if half := call.halves.end():
            events.append(tool_args(call.id, half))
        if not call.text_so_far().strip() and (call.blank or not cut):
            events.append(tool_args(call.id, call.blank or "{}"))
        call.closed = True
        return [*events, tool_end(call.id, self.limit_sizes(call.extra) or None)]

    def limit_sizes(self, value: dict[str, Any]) -> dict[str, Any]:
        """Return a provider's own members as `opaque` does, without those that are very large."""
        self.too_large |= {k for k, v in value.items() if len(dumps(browser_safe(v))) > MAX_OPAQUE}
        return {k: opaque(v) for k, v in value.items() if k not in self.too_large}

    def finish(self, *, cut: bool) -> list[Event]:
        """Close all open calls, drop nameless ones without arguments, and return the events.

        `cut`: the answer ended at a limit, so the last call may be incomplete.
        """
        self.all = [call for call in self.all if call.name or call.arguments().strip()]
        last = self.all[-1] if self.all else None
        return [e for call in self.all for e in self.close(call, cut=cut and call is last)]

    def _open(self, call: PartialCall) -> list[Event]:
        if len(self.all) > MOST_CALLS:
            text = f"The model asked for more than {MOST_CALLS} calls in one answer"
            raise Failure("upstream_error", text, retryable=False)
        # Cut, since sessions with longer names are refused; no tool has such a name anyway.
        call.name = str(browser_safe(self._restore(call.name)))[:MAX_ID] or UNNAMED
        call.id = self._new_id("call")  # providers' ids repeat: some count call_0, call_1
        call.opened = True
        events = [tool_start(call.id, call.name, self._message_id)]
        if before := call.halves.join(call.text_so_far()):
            events.append(tool_args(call.id, before))
        return events

    def _close_complete(self) -> list[Event]:
        """Close the calls that are whole when a new one begins. Others may go on in parallel."""
        return [
            event
            for call in self.all
            if call.opened and not call.closed and call.complete()
            for event in self.close(call)
        ]

    def _find(
        self, theirs: str, index: int | None, name: str, piece: str
    ) -> tuple[PartialCall | None, bool]:
        """Return (call, repeated) of a fragment. `call` is None for a new one."""
        last = self.all[-1] if self.all else None
        known = self._last(lambda call: theirs in call.provider_ids) if theirs else None
        at_index = self._last(lambda call: call.index == index) if index is not None else None
        if known is not None:
            return self._same_id(known, index, name, piece)
        if theirs and at_index is not None:  # a new id on a used index
            another = name and at_index.name
            return (None if another or at_index.complete() and (name or piece) else at_index), False
        if theirs and index is None and not name and last is not None:
            return (None if piece.strip() and last.complete() else last), False
        if theirs or (index is not None and at_index is None):
            return None, False
        candidate = at_index if index is not None else last
        if candidate is None or not name:
            return candidate, False
        if candidate.complete():  # named again: another call, or the same one repeated
            same = self._is_name(candidate, name)
            if same and (piece == candidate.arguments() or not piece):
                return candidate, True
            whole = is_object(piece) or not same
            return (None if index is None or whole else candidate), False
        if not candidate.name or (
            self._is_name(candidate, name) and (index is not None or candidate.size)
        ):
            return candidate, False
        return None, False

    def _same_id(
        self, call: PartialCall, index: int | None, name: str, piece: str
    ) -> tuple[PartialCall | None, bool]:
        if not name or not piece or not call.size or not call.complete():
            return call, False
        if piece == call.arguments() and index in (None, call.index):
            return call, True
        # One id for two calls: the function's name as id, or call_0 at each index.
        return (None if is_object(piece) or index != call.index else call), False

    def _is_name(self, call: PartialCall, name: str) -> bool:
        return call.name in (name, self._restore(name))

    def _last(self, test: Callable[[PartialCall], bool]) -> PartialCall | None:
        return next((call for call in reversed(self.all) if test(call)), None)


def is_object(text: str) -> bool:
    """Return whether `text` is one whole JSON object.

    Checks both ends before it parses: at each fragment of a long call, parsing would take quadratic
    time.
    """
    if not text.rstrip().endswith("}") or not text.lstrip().startswith("{"):
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def opaque(value: Any) -> Any:
    """Return a provider's own data, made safe for a session; {} if it is nested too deeply."""
    return {} if depth_exceeds(value, MAX_OPAQUE_DEPTH) else browser_safe(value)


def is_structure(value: Any) -> bool:
    """Return whether a provider's member is an object or a list that holds something.

    Such members are the provider's own (signatures, thinking blocks) and go back to the same model.
    """
    return isinstance(value, dict | list) and bool(value)


def _text(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) else ""


def _arguments(value: Any) -> str:
    if isinstance(value, str) or value is None:
        return value or ""
    return "{}" if depth_exceeds(value, MAX_OPAQUE_DEPTH) else dumps(browser_safe(value))
