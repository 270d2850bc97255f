"""What takes part in a run beside the loop: one RunPart for each that asks for one."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

from ..json_types import Event, Json, Message, Session

# (session, {run, model, key_name, owner, preset?, url?}) -> the part in this run, None for none.
# `preset`, `url`: of a model's provider
MakePart = Callable[[Session, Mapping[str, str]], "RunPart | None"]


class RunPart:
    """A part of one run. `watched`: the types of the events that `see` is called with."""

    watched: tuple[str, ...] = ()

    def start(self) -> None:
        """Take note that the run begins."""

    async def opening(self) -> AsyncGenerator[Event, None]:
        """Yield the events with which the run begins, before the first step."""
        return
        yield

    def see(self, event: Event) -> None:
        """Take note of an event that the session has folded."""

    def request(self, stage: str, messages: Sequence[Message], tools: Sequence[Json]) -> None:
        """Take note of a request to the model, before it is sent. `stage`: the name of its step."""

    def model_error(self, error: Event) -> None:
        """Take note of a RUN_ERROR of the model, after which the run may go on."""

    @contextmanager
    def side_call(self, messages: Sequence[Message]) -> Iterator[Callable[[Event], object]]:
        """Take part in a model call beside the conversation. Yields what takes its events."""
        yield lambda event: None

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

    def request(self, stage: str, messages: Sequence[Message], tools: Sequence[Json]) -> None:
        """Show a request to all."""
        for part in self._parts:
            part.request(stage, messages, tools)

    def model_error(self, error: Event) -> None:
        """Show an error of the model to all."""
        for part in self._parts:
            part.model_error(error)

    @contextmanager
    def side_call(self, messages: Sequence[Message]) -> Iterator[Callable[[Event], object]]:
        """Let all take part in a call beside the conversation. Yields what takes its events."""
        with ExitStack() as stack:
            takers = [stack.enter_context(part.side_call(messages)) for part in self._parts]
            yield lambda event: [take(event) for take in takers]

    def end(self, seconds: float) -> None:
        """End all."""
        for part in self._parts:
            part.end(seconds)
