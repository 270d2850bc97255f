"""Expand Responses requests that refer to earlier answers.

    previous_response_id   the whole conversation up to an answer comes before `input`
    item_reference         one item of an earlier answer is inserted at this place

The stored value of an answer is its own input as it was sent, its output, and the id of the answer
before it, so that a conversation is stored once. An item's id contains the answer's (`item_id`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from .fields import Json, Place, items, misfit, needed, shown, take

# (id, most bytes) -> (stored value, its bytes); {} if it is larger, None if it is not stored.
Earlier = Callable[[str, int], tuple[Json, int] | None]

BY_ID = "previous_response_id"
REFERENCE = "item_reference"
MAX_BYTES = 8 << 20  # of all answers that one request refers to
LARGE = f"the answers that are named have more than {MAX_BYTES >> 20} MiB; send what is needed"
MISSING = "is not kept here, or no longer; send the whole conversation as input (with store: false)"
_ITEM = re.compile(r"(?:msg|rs|fc)_([0-9a-f]{1,64})_[0-9]{1,9}")


def response_id(run: str) -> str:
    """Return the id of a run's answer. `run`: the run's id without the prefix `run_`."""
    return f"resp_{run}"


def item_id(kind: str, run: str, number: int) -> str:
    """Return the id of an item of a run's answer; `kind` is msg, rs or fc."""
    return f"{kind}_{run}_{number}"


def kept(body: Json, output: list[Json]) -> Json:
    """Return the value that `Earlier` must return for the answer to this body."""
    return {BY_ID: body.get(BY_ID), "input": _given(body), "output": output}


def conversation(body: Json, earlier: Earlier) -> Iterator[tuple[Place, Json]]:
    """Yield (place in the body, item) for the whole conversation.

    Raises Problem if an answer or item that is referred to is not kept.
    """
    library = Library(earlier)
    name = take(body, str, BY_ID)
    for item in library.before(name) if name else ():
        yield (BY_ID,), library.whole(item, (BY_ID,))
    for place, item in items(_given(body), "input"):
        yield place, library.whole(item, place)


def _given(body: Json) -> list[Any]:
    given = body.get("input")
    if isinstance(given, str):
        return [{"role": "user", "content": given}]
    if not isinstance(given, list) or not given:
        raise misfit(("input",), f"expected a string or at least one item, got {shown(given)}")
    return given


class Library:
    """The earlier answers that one request refers to. Each is fetched once."""

    def __init__(self, earlier: Earlier) -> None:
        self._earlier = earlier
        self._fetched: dict[str, Json | None] = {}
        self._left = MAX_BYTES
        self._items: dict[str, dict[str, Json]] = {}  # answer -> id -> item
        self._used: set[str] = set()  # items already referred to; a second reference is refused

    def before(self, name: str) -> list[Json]:
        """Return the items of the conversation up to this answer. Raises Problem."""
        answers: list[Json] = []
        seen: set[str] = set()
        following: str | None = name
        while following is not None:
            found = None if following in seen else self._answer(following, (BY_ID,))
            if found is None:
                raise misfit((BY_ID,), f"{shown(following)} {MISSING}")
            seen.add(following)
            answers.append(found)
            following = found.get(BY_ID)
        return [
            item for answer in reversed(answers) for item in (*answer["input"], *answer["output"])
        ]

    def whole(self, item: Json, place: Place) -> Json:
        """Return `item`, or the item that it refers to. Raises Problem."""
        bare = item.get("type") is None and "id" in item and "role" not in item
        if not bare and item.get("type") != REFERENCE:
            return item
        name = needed(item, str, *place, "id")
        if name in self._used:
            raise misfit(place, f"the item {shown(name)} is there already")
        self._used.add(name)
        named = _ITEM.fullmatch(name)
        found = self._of(response_id(named[1]), place).get(name) if named else None
        if found is None:
            raise misfit(place, f"{shown(name)} {MISSING}")
        return found

    def _of(self, answer: str, place: Place) -> dict[str, Json]:
        if answer not in self._items:
            output = (self._answer(answer, place) or {}).get("output", ())
            self._items[answer] = {item["id"]: item for item in output}
        return self._items[answer]

    def _answer(self, name: str, place: Place) -> Json | None:
        if name not in self._fetched:
            found = self._earlier(name, self._left)
            self._fetched[name] = found[0] if found else None
            self._left -= found[1] if found else 0
            if self._left < 0:
                raise misfit(place, LARGE)
        return self._fetched[name]
