"""What is told of one kept session to those who follow it: its last events, and when it changed.

An event is told only once it is on the disk. Who comes back names the last event that they have; if
that is not among those that are kept here, they get the whole document first. Nothing is kept here
until somebody has followed.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from ...json_types import Event, Json
from ...lib.http import sse
from ...session.events import alias, dumps

MOST_EVENTS, MOST_BYTES = 5_000, 4 << 20  # that are kept for those who come back
MOST_PLACES = 1_000
KEPT = "yaa.kept"  # CUSTOM name: whether it runs, who follows; for display only
AT_REST = "kept"  # begins the id of a frame after which nothing has changed

Place = tuple[str, int]  # the digest of a file, and how many bytes of events follow it


class Entry(NamedTuple):
    """One event. `kind`: its dotted name."""

    number: int
    id: str
    kind: str
    text: str

    def frame(self) -> bytes:
        """Return it as a frame of a stream."""
        return sse.encode(self.text, self.kind, self.id)


class Feed:
    """The last events of a session, the newest one `number`."""

    def __init__(self) -> None:
        self.number, self.followers = 0, 0
        self.followed = False  # by anybody, by now
        self.changes = 0  # of the document that no event tells of
        self._first = 0  # the number after the last of them
        self.ended = False  # who follows has to come again
        self.state: Json = {"running": False}
        self._name = secrets.token_hex(4)
        self._entries: deque[Entry] = deque()
        self._bytes = 0
        self._rests: dict[str, int] = {}  # numbers of those after which nothing ran, by id
        self._places: deque[tuple[Place, int]] = deque(maxlen=MOST_PLACES)
        self._waiting: set[asyncio.Future[None]] = set()

    def push(self, *events: Event, event_id: str = "") -> None:
        """Tell events, which are on the disk."""
        if not self.followed:
            self.number += len(events)
            return
        for event in events:
            self.number += 1
            if event_id:
                self._rests[event_id] = self.number
            name = event_id or f"{self._name}/{self.number}"
            entry = Entry(self.number, name, alias(event), dumps(event))
            self._entries.append(entry)
            self._bytes += len(entry.text)
        while len(self._entries) > MOST_EVENTS or self._bytes > MOST_BYTES:
            oldest = self._entries.popleft()
            self._bytes -= len(oldest.text)
            self._rests.pop(oldest.id, None)
        self.wake()

    def mark(self, place: Place) -> None:
        """Note what is on the disk after the newest event."""
        self._places.append((place, self.number))

    def tell_state(self, at_rest: str = "", **changes: object) -> None:
        """Tell whether it runs. `at_rest`: the revision, if nothing does."""
        self.state |= changes
        if self.followed:  # else no place may lie before an event that is not kept
            self.push(self.state_event(), event_id=f"{AT_REST}/{at_rest}" if at_rest else "")

    def state_event(self) -> Event:
        """Return the event that says whether it runs, and how many follow it."""
        return {
            "type": "CUSTOM",
            "name": KEPT,
            "value": {**self.state, "followers": self.followers},
        }

    def change(self) -> None:
        """Note that the document is another one."""
        self.changes += 1
        self.number += 1
        self._first = self.number
        self.wake()

    def end(self) -> None:
        """Let those who follow come again."""
        self.ended = True
        self.wake()

    def end_for_new(self) -> Feed:
        """End. Return a feed of the same run, for those who come again."""
        self.end()
        feed = Feed()
        feed.state = self.state
        if self._places:
            feed.mark(self._places[-1][0])
        return feed

    def number_of(self, event_id: str) -> int | None:
        """Return the number of an event that was told, None if it is of another feed.

        None also if it is older than the last change, which no event tells of.
        """
        name, _, text = event_id.partition("/")
        number = self._rests.get(event_id, -1)
        if name == self._name and text.isdecimal() and len(text) < 20:
            number = int(text)
        return number if self._first <= number <= self.number else None

    def number_at(self, place: Place) -> int | None:
        """Return after which event this was on the disk, None if that is not known."""
        return next((number for at, number in reversed(self._places) if at == place), None)

    def id_of(self, number: int) -> str:
        """Return the id of the frame after which this number was the newest."""
        last = self._entries[-1] if self._entries else None
        return last.id if last and last.number == number else f"{self._name}/{number}"

    def after(self, number: int) -> Iterator[Entry] | None:
        """Return the events after one, None if not all of them are kept."""
        first = self._entries[0].number if self._entries else self.number + 1
        if number + 1 < first:
            return None
        return (each for each in [*self._entries] if each.number > number)

    async def wait(self, seconds: float) -> None:
        """Wait for something new, so long at most."""
        turn = asyncio.get_running_loop().create_future()
        self._waiting.add(turn)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await turn
        finally:
            self._waiting.discard(turn)

    def wake(self) -> None:
        """Wake those who wait."""
        for turn in self._waiting:
            if not turn.done():
                turn.set_result(None)
