"""Find the places of tool calls and results among the messages, once for a stream of events.

The fold inserts each result behind its call's message and that message's earlier results. To search
for that place from the end of the list takes linear time for each result. Pure.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from typing import Any

from ..json_types import Message, ToolCall


class Places:
    """Index of the calls and results in one list of messages.

    Valid as long as calls and results are added through it alone; `of` checks that no other message
    was added or removed.
    """

    def __init__(self, messages: list[Message]) -> None:
        self._messages, self._length = messages, len(messages)
        self._owners: dict[str, int] = {}  # call id -> index of its message, before any `put`
        self._end = len(messages)
        self._blocks: dict[int, tuple[int, set[Any]]] = {}  # index of a message -> see `_block`
        self._put: list[int] = []  # sorted original indexes before which results were put
        for place, message in enumerate(messages):
            if isinstance(message, dict) and message.get("tool_calls"):  # few have any
                for call in calls_of(message):
                    if isinstance(call.get("id"), str):
                        self._owners[call["id"]] = place

    def of(self, messages: list[Message]) -> bool:
        """Return whether the index is valid for this list."""
        return messages is self._messages and len(messages) == self._length

    def __contains__(self, call_id: object) -> bool:
        return call_id in self._owners

    def add(self, call_id: str, message: Message) -> None:
        """Add a call that was appended to a message of the list."""
        at = len(self._messages) - 1
        while self._messages[at] is not message:
            at -= 1
        self._owners[call_id] = self._before(at)

    def owner(self, call_id: str) -> int | None:
        """Return the present index of the message that makes a call, None if there is none."""
        place = self._owners.get(call_id)
        return None if place is None else self._now(place)

    def put(self, call_id: str, result: Message) -> bool:
        """Insert a result behind its call's message and the results there.

        Return False if there is no such call, or if it already has a result there.
        """
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
        """Return the present index of a message, given its index before any `put`."""
        return place + bisect_right(self._put, place)

    def _before(self, at: int) -> int:
        """Return the index that a message, or the end, had before any `put`."""
        return bisect_left(range(self._end + 1), at, key=self._now)

    def _block(self, place: int) -> tuple[int, set[Any]]:
        """Return the end of the results behind a message, and the ids of their calls.

        The end is an index as before any `put`.
        """
        if place not in self._blocks:
            at = start = self._now(place) + 1
            while at < len(self._messages) and role_is_tool(self._messages[at]):
                at += 1
            ids = (message.get("tool_call_id") for message in self._messages[start:at])
            call_ids = {each for each in ids if isinstance(each, str)}
            self._blocks[place] = self._before(at), call_ids
        return self._blocks[place]


def calls_of(message: Any) -> list[ToolCall]:
    """Return the tool calls of a message that are objects; [] for anything else."""
    calls = message.get("tool_calls") if isinstance(message, dict) else None
    return [call for call in calls if is_object(call)] if isinstance(calls, list) else []


def is_object(value: Any) -> bool:
    """Return whether a value is a JSON object. No type guard: a message stays a `Message`."""
    return isinstance(value, dict)


def role_is_tool(message: Any) -> bool:
    """Return whether a value is a message of role `tool`."""
    return isinstance(message, dict) and message.get("role") == "tool"
