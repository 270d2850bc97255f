"""Processes of stateful toolkits: one for each session and toolkit, kept between calls.

runner.py passes jobs with `stateful`, and a function that starts a process. A process is reused
only if the session still stands where the process does: each result names the process and how many
calls it has answered. If the session's last result differs (it was branched, rewound, or continued
elsewhere), or the process is gone, a new process is started and the result says so.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from ..sandbox.parent import Child, Job, Outcome, message_of, request_of, write_all
from ..types import Session

LIFE_S = 24 * 3600.0  # wall-clock time limit of a process
LIFE_CPU_S = 3600.0  # CPU time limit of a process
MOST_WHYS = 1_000  # ended processes for which the reason is kept

Key = tuple[str, str, str]  # owner, session, toolkit
Start = Callable[[Job], Awaitable[Child]]


@dataclass(eq=False)
class Held:
    """A kept process. `stamp`: identifies its code, network and limits."""

    child: Child
    stamp: str
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    calls: int = 0
    busy: bool = False
    used: float = field(default_factory=time.monotonic)
    idle: asyncio.TimerHandle | None = None

    def end(self) -> None:
        """Kill the process."""
        if self.idle is not None:
            self.idle.cancel()
        self.child.kill()


@dataclass(eq=False)
class Turn:
    """The queue for one process. `wanted`: calls that run or wait."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    wanted: int = 0


class Processes:
    """The kept processes: at most `most`, each ended after `idle_s` seconds without a call."""

    def __init__(self, most: int, idle_s: float) -> None:
        self._most, self._idle_s = most, idle_s
        self._held: dict[Key, Held] = {}
        self._why: dict[str, str] = {}  # process id -> why it was ended
        self._turns: dict[Key, Turn] = {}

    async def run(self, job: Job, code: str, start: Start) -> AsyncGenerator[str | Outcome, None]:
        """Run one call in the session's process, and yield its output and Outcome.

        `code`: identifies the toolkit's code. Closing the generator ends the process, whose state
        would be that of half a call. Raises what `start` raises.
        """
        key = (job.owner, job.session_id or "", job.stateful)
        turn = self._turns.setdefault(key, Turn())
        turn.wanted += 1
        try:
            async with turn.lock, aclosing(self._run(key, job, code, start)) as items:
                async for item in items:
                    yield item
        finally:
            turn.wanted -= 1
            if not turn.wanted:
                del self._turns[key]

    async def _run(
        self, key: Key, job: Job, code: str, start: Start
    ) -> AsyncGenerator[str | Outcome, None]:
        held, restarted = await self._for(key, job, _stamp(job, code), start)
        if held is None:
            yield Outcome("error", error={"type": "error", "message": restarted})
            return
        held.busy = True
        call = Call(job, held.child)
        try:
            await call.ask()
            async for text in call.output():
                yield text
            found = await call.outcome()
            held.calls += 1
            about: dict[str, Any] = {"of": job.stateful, "id": held.id, "calls": held.calls}
            if restarted:
                about["restarted"] = restarted
            if not call.answered:
                self._end(key, f"it ended: {found.error.get('message', '')}"[:200])
            yield replace(found, process=about)
        finally:
            held.busy, held.used = False, time.monotonic()
            if not call.answered:
                self._end(key, "a call was cut")
            elif self._held.get(key) is held:
                why = f"it had no call for {self._idle_s:g} s"
                loop = asyncio.get_running_loop()
                held.idle = loop.call_later(self._idle_s, self._end, key, why)

    async def _for(self, key: Key, job: Job, stamp: str, start: Start) -> tuple[Held | None, str]:
        """Return (process, reason).

        The reason is empty, or says why a process that the session had was replaced. The process is
        None if there can be none; then the reason says why.
        """
        held, before = self._held.get(key), job.before
        if held is not None and held.idle is not None:
            held.idle.cancel()
        if held is not None:
            here = {"id": held.id, "calls": held.calls}
            if before is None or any(before.get(name) != here[name] for name in here):
                self._end(key, "the session went on from another place")
            elif held.stamp != stamp:
                self._end(key, "its code, its limits or its network have changed")
            elif not held.child.runs:
                self._end(key, "its process ended between two calls")
            else:
                return held, ""
        why = ""
        if before is not None:
            why = self._why.get(str(before.get("id")), "it is not on this server any more")
        while len(self._held) >= self._most:
            waiting = [(h.used, k) for k, h in self._held.items() if not h.busy]
            if not waiting:
                return None, (
                    f"all {self._most} processes for stateful toolkits are in use"
                    " (server.limits.stateful_processes); try again in a moment"
                )
            self._end(min(waiting)[1], "others needed its place")
        limits = {**job.limits, "wall_s": LIFE_S, "cpu_s": LIFE_CPU_S}
        child = await start(replace(job, args={}, limits=limits))
        self._held[key] = held = Held(child, stamp)
        return held, why

    def _end(self, key: Key, why: str) -> None:
        if held := self._held.pop(key, None):
            self._why[held.id] = why
            while len(self._why) > MOST_WHYS:
                del self._why[next(iter(self._why))]
            held.end()

    def close(self) -> None:
        """End all processes."""
        for key in [*self._held]:
            self._end(key, "the server was stopped")


class Call(Child):
    """One call in a kept process: a Child whose output and results end with the call."""

    def __init__(self, job: Job, process: Child) -> None:
        super().__init__(job, None, -1)
        self.tier, self._of = process.tier, process
        self.answered = False
        self._took: dict[str, Any] = {}
        self._mark = f"\0{secrets.token_hex(16)}\0"
        self._output = Until(process._output, self._mark.encode())  # type: ignore[assignment]
        self._results = Answers(self, process._results)  # type: ignore[assignment]
        self._transports = process._transports

    async def ask(self) -> None:
        """Send the call to the process."""
        data = json.dumps({**request_of(self.job), "mark": self._mark}).encode() + b"\n"
        assert self._of._asks is not None
        with suppress(OSError, ValueError):  # the process ended; reading its answer shows that
            await asyncio.shield(asyncio.to_thread(write_all, self._of._asks, data, last=False))

    def ends_with(self, line: bytes) -> bool:
        """Return whether a line of results is the process's mark for the end of this call."""
        message = message_of(line)
        if message.get("done") != self._mark:
            return False
        took = message.get("took")
        if isinstance(took, dict) and all(type(value) is int for value in took.values()):
            self._took = took
        self.answered = True
        return True

    async def _end_of(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        if self.answered:
            return self._took
        self._of._messages += self._messages
        end = await self._of._end_of(messages)
        if isinstance(breach := end.get("breach"), dict) and breach.get("limit") == "cpu_s":
            allowed = self.job.limits["cpu_s"]  # the breach reports the limit of the process
            end = {**end, "breach": {**breach, "allowed": allowed, "observed": f"over {allowed:g}"}}
        return end

    def _judged(
        self, said: dict[str, Any] | None, end: dict[str, Any], logs: tuple[str, ...]
    ) -> Outcome:
        if self._breach is not None:  # a breach ends the process, even after an answer
            self.answered = False
        elif not self.answered and not end.get("breach"):
            return self._of._judged(said, end, logs)  # only the process tells whether it started
        return replace(super()._judged(said, end, logs), **self._of.network())

    def _cut_lifeline(self) -> None:
        self._of._cut_lifeline()

    def _give_up(self) -> None:
        self._of._give_up()

    def kill(self) -> None:
        """Kill the process."""
        self._of.kill()


class Until:
    """A stream that ends before a mark. Output between two calls may be lost."""

    def __init__(self, stream: asyncio.StreamReader, mark: bytes) -> None:
        self._stream, self._mark = stream, mark
        self._held, self._over = b"", False

    async def read(self, most: int) -> bytes:
        """Return up to about `most` bytes; b"" at the mark or the end of the stream."""
        while not self._over:
            data = await self._stream.read(most)
            self._held += data
            before, mark, _ = self._held.partition(self._mark)
            self._over = bool(mark) or not data
            keep = 0 if self._over else _overlap(before, self._mark)
            found, self._held = before[: len(before) - keep], before[len(before) - keep :]
            if found:
                return found
        return b""


class Answers:
    """The result lines of one call."""

    def __init__(self, call: Call, stream: asyncio.StreamReader) -> None:
        self._call, self._stream, self._over = call, stream, False

    async def readline(self) -> bytes:
        """Return the next line; b"" after the end of the call."""
        if self._over:
            return b""
        line = await self._stream.readline()
        self._over = not line or self._call.ends_with(line)
        return b"" if self._over else line


def last_process(session: Session, of: str) -> dict[str, Any] | None:
    """Return {of, id, calls} from the session's last result of this toolkit, or None."""
    for message in reversed(session.get("messages", ())):
        result = message.get("result")
        said = result.get("process") if isinstance(result, dict) else None
        if isinstance(said, dict) and said.get("of") == of:
            return said
    return None


def _stamp(job: Job, code: str) -> str:
    """Return what must be unchanged for a process to be reused: its code, network and limits.

    Limits that are enforced for each call are left out.
    """
    own = ("wall_s", "cpu_s", "output_kb")  # enforced for each call
    limits = {name: value for name, value in job.limits.items() if name not in own}
    return json.dumps([code, job.reach, limits])


def _overlap(data: bytes, mark: bytes) -> int:
    """Return how many bytes at the end of `data` may be the beginning of the mark."""
    most = min(len(data), len(mark) - 1)
    return next((n for n in range(most, 0, -1) if data.endswith(mark[:n])), 0)
