"""Where the calls of a session stand among its messages: found once for a stream of events.

The fold puts each result behind its call's message and that message's earlier results. Looking for
that place from the end of the list takes as long as the list, for each result. Pure.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from typing import Any

Message = dict[str, Any]


class Places:
    """Of one list of messages, as long as calls and results are only put into it by this. `of` says
    whether no other message has come or gone."""

    def __init__(self, messages: list[Message]) -> None:
        self._messages, self._length = messages, len(messages)
        self._owners: dict[str, int] = {}  # call id -> place of its message, before any `put`
        self._end = len(messages)
        self._blocks: dict[int, tuple[int, set[Any]]] = {}  # place -> see `_block`
        self._put: list[int] = []  # before which of those messages results were put, in order
        for place, message in enumerate(messages):
            if isinstance(message, dict) and message.get("tool_calls"):  # few have any
                for call in calls_of(message):
                    if isinstance(call.get("id"), str):
                        self._owners[call["id"]] = place

    def of(self, messages: list[Message]) -> bool:
        return messages is self._messages and len(messages) == self._length

    def __contains__(self, call_id: object) -> bool:
        return call_id in self._owners

    def add(self, call_id: str, message: Message) -> None:
        """Say that a message has got another call."""
        at = len(self._messages) - 1
        while self._messages[at] is not message:
            at -= 1
        self._owners[call_id] = self._before(at)

    def put(self, call_id: str, result: Message) -> bool:
        """Put a result behind its call's message and the results there; False if there is no such
        call, or if it has a result there already."""
        place = self._owners.get(call_id)
        if place is None:
            return False
        behind, answered = self._block(place)
        if call_id in answered:
            return False
        self._messages.insert(self._now(behind), result)
        self._length += 1
        answered.add(call_id)
        insort(self._put, behind)
        return True

    def _now(self, place: int) -> int:
        """Where a message is by now."""
        return place + bisect_right(self._put, place)

    def _before(self, at: int) -> int:
        """Where a message, or the end, was before any `put`."""
        return bisect_left(range(self._end + 1), at, key=self._now)

    def _block(self, place: int) -> tuple[int, set[Any]]:
        """Of the results behind a message: the place of what follows them, before any `put`, and
        the ids of their calls."""
        if place not in self._blocks:
            at = start = self._now(place) + 1
            while at < len(self._messages) and role_is_tool(self._messages[at]):
                at += 1
            ids = (message.get("tool_call_id") for message in self._messages[start:at])
            found = {each for each in ids if isinstance(each, str)}
            self._blocks[place] = self._before(at), found
        return self._blocks[place]


def calls_of(message: Any) -> list[dict[str, Any]]:
    calls = message.get("tool_calls") if isinstance(message, dict) else None
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def role_is_tool(message: Any) -> bool:
    return isinstance(message, dict) and message.get("role") == "tool"
