"""What takes part in a run beside the loop: one RunPart for each that asks for one."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from typing import ClassVar

from ..json_types import Event, Session

# (session, {run, model, key_name, owner}) -> the part in this run, None for none
MakePart = Callable[[Session, Mapping[str, str]], "RunPart | None"]


class RunPart:
    """A part of one run. `watched`: the types of the events that `see` is called with."""

    watched: ClassVar[tuple[str, ...]] = ()

    def start(self) -> None:
        """Take note that the run begins."""

    async def opening(self) -> AsyncGenerator[Event, None]:
        """Yield the events with which the run begins, before the first step."""
        return
        yield

    def see(self, event: Event) -> None:
        """Take note of an event that the session has folded."""

    def end(self, seconds: float) -> None:
        """Take note that the run has ended, however it did, after this long."""


class RunParts:
    """All parts of one run. An event that nobody watches costs one look at a table."""

    def __init__(self, parts: Iterable[RunPart | None]) -> None:
        self._parts = [part for part in parts if part is not None]
        self._watchers: dict[str, list[RunPart]] = {}
        for part in self._parts:
            for kind in part.watched:
                self._watchers.setdefault(kind, []).append(part)

    def start(self) -> None:
        """Start all."""
        for part in self._parts:
            part.start()

    async def opening(self) -> AsyncGenerator[Event, None]:
        """Yield the opening events of all, in order."""
        for part in self._parts:
            if type(part).opening is not RunPart.opening:
                async for event in part.opening():
                    yield event

    def see(self, event: Event) -> None:
        """Show an event to those that watch its type."""
        for part in self._watchers.get(event["type"], ()):
            part.see(event)

    def end(self, seconds: float) -> None:
        """End all."""
        for part in self._parts:
            part.end(seconds)
