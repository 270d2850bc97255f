"""Calls of MCP servers that wait for a person's answer while their request stays open.

A server of the legacy era asks in the middle of a call, and waits. The run of the session ends with
an interrupt meanwhile, so the request is held here until the next POST brings the answer. It may
bring it to another process of this host (held_files.py). After a restart, or at another server, the
call is gone, and since it may have done some of its work it is reported as cut and never sent
again.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from ...json_types import Json
from .held_files import POLL_S, HeldFile, HeldFiles
from .inbox import INVALID_PARAMS, Answer, Caller, Hear, result_reply

HOLD_S = 600.0  # for the answer
MAX_HELD = 64  # calls
MAX_QUEUED = 8  # questions of one call that wait


@dataclass(frozen=True)
class ServerQuestion:
    """A question of a server: its request, and how to answer it."""

    request: Json
    send: Answer

    def reply(self, result: Json) -> None:
        """Send the server its answer: {action, content?}."""
        self.send(result_reply(self.request["id"], result))

    def refuse(self, text: str) -> None:
        """Send the server an error: the question cannot be shown."""
        error = {"code": INVALID_PARAMS, "message": text[:500]}
        self.send({"jsonrpc": "2.0", "id": self.request["id"], "error": error})


GoOn = Callable[[Json], Awaitable[Json]]  # answers the question; returns what the call ended with


class OpenCall:
    """A call that is under way. `begin` makes its request from the Caller it is given.

    `hear` takes its progress; it is replaced when a later run goes on with the call.
    """

    def __init__(self, begin: Callable[[Caller], Coroutine[Any, Any, Json]], hear: Hear) -> None:
        self.hear = hear
        self._questions: deque[ServerQuestion] = deque()
        self._changed = asyncio.Event()
        caller = Caller(lambda params: self.hear(params), self._take)
        self._task = asyncio.create_task(begin(caller))
        self._task.add_done_callback(lambda _: self._changed.set())

    def _take(self, request: Json, send: Answer) -> None:
        asked = ServerQuestion(request, send)
        if len(self._questions) >= MAX_QUEUED:
            asked.reply({"action": "cancel"})
        else:
            self._questions.append(asked)
            self._changed.set()

    async def next(self) -> Json | ServerQuestion:
        """Return the next question, or the result of the call. Cancelling this cancels the call.

        Raises what the request raises.
        """
        try:
            while not self._questions and not self._task.done():
                self._changed.clear()
                await self._changed.wait()
        except asyncio.CancelledError:
            self.cancel()
            raise
        return self._task.result() if self._task.done() else self._questions.popleft()

    def cancel(self) -> None:
        """End the call; the server is told."""
        self._task.cancel()
        self._task.add_done_callback(_ignore)


def _ignore(task: asyncio.Task[Json]) -> None:
    if not task.cancelled():
        task.exception()  # else the event loop reports it as never retrieved


@dataclass
class _Held:
    whose: tuple[str, ...]
    call: OpenCall
    asked: ServerQuestion
    expiry: asyncio.TimerHandle
    file: HeldFile | None = None
    watch: asyncio.Task[None] | None = None

    def close(self) -> None:
        """Hold the call no longer; it goes on."""
        self.expiry.cancel()
        if self.watch is not None:
            self.watch.cancel()
        if self.file is not None:
            self.file.close()
            self.file = None


class HeldCalls:
    """The held calls of one process. `hold_s`: how long each waits for its answer, in seconds.

    `files`: through which other processes of this host may answer; None for no other.
    """

    def __init__(self, hold_s: float = HOLD_S, files: HeldFiles | None = None) -> None:
        self._hold_s, self._files = hold_s, files
        self._held: dict[str, _Held] = {}
        self._going: set[asyncio.Task[None]] = set()  # calls that other processes answered

    def hold(
        self, whose: tuple[str, ...], call: OpenCall, asked: ServerQuestion, go_on: GoOn
    ) -> str:
        """Hold a call that asked. Return the token to go on with it, "" if too many are held.

        `go_on` is called with an answer that another process got.
        """
        if len(self._held) >= MAX_HELD:
            return ""
        token = secrets.token_urlsafe(16)
        expiry = asyncio.get_running_loop().call_later(self._hold_s, self._expire, token)
        held = self._held[token] = _Held(whose, call, asked, expiry)
        held.file = self._files.hold(token, whose) if self._files else None
        if held.file is not None:
            held.watch = asyncio.create_task(self._watch(token, held, held.file, go_on))
        return token

    def release(self, whose: tuple[str, ...], token: Any) -> tuple[OpenCall, ServerQuestion] | None:
        """Return the held call and its question, and hold it no longer; None if there is none."""
        held = self._held.get(token) if isinstance(token, str) else None
        if held is None or held.whose != whose:
            return None
        del self._held[token]
        held.close()
        return held.call, held.asked

    async def forward(self, whose: tuple[str, ...], token: Any, answer: Json) -> Json | None:
        """Answer a call that another process holds, and return what it ended with.

        None if no process holds it.
        """
        if self._files is None or not isinstance(token, str):
            return None
        return await self._files.forward(token, whose, answer)

    async def _watch(self, token: str, held: _Held, file: HeldFile, go_on: GoOn) -> None:
        """Wait for an answer that another process got, and go on with the call."""
        while (answer := file.answer()) is None:
            await asyncio.sleep(POLL_S)
        del self._held[token]
        held.expiry.cancel()
        if held.watch is not None:
            self._going.add(held.watch)
            held.watch.add_done_callback(self._going.discard)
        going = asyncio.ensure_future(go_on(answer))
        try:
            while not (await asyncio.wait((going,), timeout=POLL_S))[0]:
                if file.is_stopped():
                    going.cancel()
            if not going.cancelled():
                file.settle(going.result())
        finally:
            going.cancel()
            file.close()

    def _expire(self, token: str) -> None:
        held = self._held.pop(token)
        held.close()
        held.asked.reply({"action": "cancel"})
        held.call.cancel()

    @property
    def pending(self) -> bool:
        """Return whether a call waits for its answer, or goes on with one from elsewhere."""
        return bool(self._held or self._going)

    def close(self) -> None:
        """End all held calls."""
        for held in self._held.values():
            held.close()
            held.call.cancel()
        self._held.clear()
        for task in self._going:
            task.cancel()
