"""Make room for the pictures of a new result: the oldest ones of the session become words. Pure.

Only those that a model has had a chance to see go. What is left of one is its name, size and hash,
in the envelope of its result, and a sentence for the model in the text; a file of the workspace
stays where it is.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..json_types import Json, Message, Patch
from ..lib.strict_json import dumps, pointer
from . import media

FREED = 4_000_000  # characters that are freed at least, so that the cached prefix breaks rarely


class Picture(NamedTuple):
    """A picture of a result: the index of its message, its own index there, and the item."""

    place: int
    number: int
    item: Json


def to_leave_out(messages: Sequence[Message], needed: int) -> list[Picture]:
    """Return the oldest pictures that have to go for `needed` characters of new ones.

    Empty if there is room, or if there would not be enough even without all that may go.
    """
    room = media.room_left(messages)
    if needed <= room:
        return []
    wanted = min(max(needed, FREED), media.MAX_SESSION)
    found: list[Picture] = []
    for place in range(_last_answer(messages)):
        for number, item in _items(messages[place]):
            if room < wanted:
                found.append(Picture(place, number, item))
                room += len(item["data"])
    return found if room >= needed else []


def room_for(messages: Sequence[Message], made: Iterable[Json]) -> Patch:
    """Return the operations on the messages that make room for what a model has made."""
    going = to_leave_out(messages, sum(len(item["data"]) for item in made))
    return changes(messages, going, in_words(going))


def size_of(shown: Iterable[Picture]) -> int:
    """Return how many characters these pictures leave to others."""
    return sum(len(each.item["data"]) for each in shown)


def in_words(shown: Iterable[Picture]) -> list[Json]:
    """Return what is left of each picture. Slow: some 4 ms a megabyte."""
    return [_without_data(each.item) for each in shown]


def changes(messages: Sequence[Message], shown: Sequence[Picture], left: Sequence[Json]) -> Patch:
    """Return the RFC 6902 operations on the messages that leave `left` of the pictures."""
    operations: Patch = []
    notes: dict[int, list[str]] = {}
    for each, item in zip(shown, left, strict=True):
        holder = () if messages[each.place].get("role") == "assistant" else ("result",)
        path = pointer(str(each.place), *holder, "media", str(each.number))
        operations.append({"op": "replace", "path": path, "value": item})
        notes.setdefault(each.place, []).append(_note(item))
    for place, lines in notes.items():
        content = messages[place].get("content")
        if isinstance(content, str):
            path = pointer(str(place), "content")
            value = "\n".join((content, *lines))
            operations.append({"op": "replace", "path": path, "value": value})
    return operations


def _items(message: Mapping[str, Any]) -> list[tuple[int, Json]]:
    """Return the usable items of a result with their indexes in its list."""
    usable = media.of_message(message)
    if not usable:
        return []
    listed = (message if message.get("role") == "assistant" else message["result"])["media"]
    return [(number, each) for number, each in enumerate(listed) if any(each is u for u in usable)]


def _last_answer(messages: Sequence[Mapping[str, Any]]) -> int:
    """Return the index of the last message of a model: it has not seen what comes behind."""
    for index in range(len(messages) - 1, -1, -1):
        if messages[index].get("role") == "assistant":
            return index
    return 0


def _without_data(item: Json) -> Json:
    left = {key: value for key, value in item.items() if key != "data"}
    try:
        data = base64.b64decode(item["data"], validate=True)
    except (binascii.Error, ValueError):  # anybody may have written it
        return {**left, "left_out": True}
    return {**left, "left_out": True, "sha256": hashlib.sha256(data).hexdigest()}


def _note(item: Json) -> str:
    path = item.get("path")
    again = f" read_file({dumps(path)}) shows the file." if isinstance(path, str) else ""
    return f"[{media.describe(item)}; left out of the session to make room for later ones.{again}]"
