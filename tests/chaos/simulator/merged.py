"""Play small worlds that go on alike only once.

What follows a disturbance is decided by the bytes of the home, by what the live servers hold, by
the client's document, by the time, and by what the client does next. What a server holds is a
function of what it was told, and when: `Process.past`. So two worlds that are equal in all this,
and in what the oracle looks at, end alike. Left out is the text of an incomplete message, which no
server reads, and nanoseconds.

Where nothing will happen by itself, a few seconds more change nothing, and a server that nobody
asks again may as well be killed.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from .client import Client
from .spec import Spec
from .worlds import has_keys, play

LATER = {"later": "again", "older-later": "older", "user-later": "user"}


class Reached(Exception):
    """The state after a disturbance is known."""


class State:
    """What decides how a world goes on.

    before     client and home
    servers    what the live servers hold
    is_idle    nothing will happen by itself
    """

    def __init__(self, client: Client, kept: Any, posted: Any) -> None:
        world = client.world
        self._client, self._documents = client, (kept, posted)
        self.is_idle = world.is_idle()
        due = client.spec.disturbances[0]
        judged = (client.killed, due.mode == "full", world.ran, client.spec.page)
        about = (round(world.loop.now, 6), judged, client.state(kept, posted))
        files = [(str(path.relative_to(world.home)), *more) for path, *more in _files(world.home)]
        self.before = _hash(repr((about, has_keys(client.spec), files)))
        self.servers = _hash(
            *(
                repr((each.process.name, each.process.past.hexdigest(), _left(each)))
                for each in world.hosts
                if not each.process.dead
            )
        )
        self.killed = client.killed
        self.any_dead = all(each.process.dead for each in world.hosts)

    def can(self, action: str) -> bool:
        """Return whether the client can do this."""
        return self._client.can(action, *self._documents)

    def key(self, action: str, place: str) -> tuple[str, ...]:
        """Return what is equal of worlds that go on alike."""
        if self.is_idle:
            action = LATER.get(action, action)
        if place == "restart" or self.any_dead or (place == "other" and self.is_idle):
            if action != "both":  # which asks the server that was left, too
                return (self.before, action, "fresh")
        return (self.before, self.servers, action, place)


def _left(host: Any) -> Any:
    """Return what a live server will still be told by its lines and its disk."""
    kill_at = host.process.kill_at - host.process.effects
    return max(kill_at, -1), [each.state() for each in host.lines]


def _files(home: Path) -> Iterator[tuple[Path, int, bytes]]:
    for place, folders, names in os.walk(home):
        folders.sort()
        for path in (Path(place, name) for name in sorted(names)):
            yield path, path.stat().st_mtime_ns, path.read_bytes()


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def state_of(spec: Spec, root: Path) -> State:
    """Return the state after the disturbance of a world."""
    states: list[State] = []

    def watch(client: Client, kept: Any, posted: Any) -> None:
        """Keep the state and end the world."""
        states.append(State(client, kept, posted))
        raise Reached

    with suppress(Reached):
        play(spec, root, watch=watch)
    return states[0]


class Merged:
    """Tells of small worlds which go on alike.

    first    the first world with each key
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self.first: dict[tuple[str, ...], Spec] = {}
        self.counts: Counter[str] = Counter()

    def distinct(self, specs: Iterable[Spec]) -> Iterator[Spec]:
        """Yield the worlds that go on unlike all before."""
        return (spec for spec, first in self.with_first(specs) if spec is first)

    def with_first(self, specs: Iterable[Spec]) -> Iterator[tuple[Spec, Spec]]:
        """Yield each world that is possible, and the first that goes on alike: mostly another one.

        `specs`: those of one disturbance follow one another.
        """
        for _, group in itertools.groupby(specs, place_of):
            states: dict[bool, State] = {}
            for spec in group:
                keys, action = has_keys(spec), spec.disturbances[0].action
                if keys not in states:
                    states[keys] = state_of(spec, self._root)
                self.counts["worlds"] += 1
                if states[keys].can(action):
                    first = self._first(states[keys], spec)
                    self.counts["possible"] += 1
                    self.counts["distinct"] += first is spec
                    yield spec, first

    def _first(self, state: State, spec: Spec) -> Spec:
        due = spec.disturbances[0]
        key = state.key(due.action, due.place)
        is_killed = due.place == "restart" or state.killed
        for each in (key, (*key, "killed"))[: 1 + is_killed]:  # who is killed may ask more
            if each in self.first:
                return self.first[each]
        self.first[(*key, "killed") if is_killed else key] = spec
        return spec


def place_of(spec: Spec) -> Any:
    """Return what worlds share that differ in what the client does next."""
    return spec[:-1], spec.disturbances[0][:3]
