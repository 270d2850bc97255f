"""Processes that are kept between calls: of stateful toolkits, one for each session and toolkit.

tools/runner.py passes jobs with `stateful`, and a function that starts a process. A process is
reused only if the session still stands where the process does: each result names the process and
how many calls it has answered. If the session's last result differs (it was branched, rewound, or
continued elsewhere), or the process is gone, a new process is started and the result says so.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakValueDictionary

from ..runtime.accounts import OWNER, Pool, niceness
from ..runtime.secret_filter import prefix_at_end
from .process import Job, Outcome, Process, parse_message, write_all
from .process_call import Emit, ProcessCall

LIFE_S = 24 * 3600.0  # wall-clock time limit of a process
LIFE_CPU_S = 3600.0  # CPU time limit of a process
MOST_WHYS = 1_000  # ended processes for which the reason is kept
WAIT_S = 20.0  # for one of the processes to be free

Key = tuple[str, str, str]  # owner, session, toolkit
Start = Callable[[Job], Awaitable[Process]]


@dataclass(eq=False)
class KeptProcess:
    """A kept process. `stamp`: identifies its code, network and limits."""

    process: Process
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
        self.process.kill()


class KeptProcesses:
    """The kept processes: at most `most`, each ended after `idle_s` seconds without a call."""

    full = (
        "no process for stateful toolkits is free (server.limits.stateful_processes: {most}, of"
        " which one person has at most {share}); try again in a moment"
    )
    busy = "error"  # the type of that error

    def __init__(self, most: int, idle_s: float) -> None:
        self._most, self._idle_s = most, idle_s
        self._turns, self._starting = Pool(most, OWNER), 0
        self._held: dict[Key, KeptProcess] = {}
        self._why: dict[str, str] = {}  # process id -> why it was ended
        self._locks: WeakValueDictionary[Key, asyncio.Lock] = WeakValueDictionary()

    async def run(self, job: Job, code: str, start: Start, emit: Emit = bool) -> Outcome:
        """Run one call in the session's process: pass its output to `emit`, return its Outcome.

        `code`: identifies the toolkit's code. Cancelling it ends the process, whose state would be
        that of half a call. Raises what `start` raises.
        """
        key = (job.owner, job.session_id or "", job.stateful)
        lock = self._locks.setdefault(key, asyncio.Lock())
        async with lock, AsyncExitStack() as turn:
            try:
                await turn.enter_async_context(self._turns.turn(job.owner, WAIT_S))
            except TimeoutError:
                share = max(1, self._most * OWNER // (1 + OWNER))
                text = self.full.format(most=self._most, share=share)
                return Outcome("error", error={"type": self.busy, "message": text})
            nice = max(job.nice, niceness(self._turns.of(job.owner)))
            return await self._run(key, replace(job, nice=nice), code, start, emit)

    async def _run(self, key: Key, job: Job, code: str, start: Start, emit: Emit) -> Outcome:
        held, restarted = await self._process_for(key, job, _identity(job, code), start)
        held.busy = True
        call = StatefulCall(job, held.process)
        try:
            await call.send()
            outcome = await call.run(emit)
            held.calls += 1
            about: dict[str, Any] = {"of": job.stateful, "id": held.id, "calls": held.calls}
            if restarted:
                about["restarted"] = restarted
            if not call.is_answered:
                self._end(key, f"it ended: {outcome.error.get('message', '')}"[:200])
            return replace(outcome, process=about)
        finally:
            held.busy, held.used = False, time.monotonic()
            if not call.is_answered:
                self._end(key, "a call was cut")
            elif self._held.get(key) is held:
                why = f"it had no call for {self._idle_s:g} s"
                loop = asyncio.get_running_loop()
                held.idle = loop.call_later(self._idle_s, self._end, key, why)

    async def _process_for(
        self, key: Key, job: Job, stamp: str, start: Start
    ) -> tuple[KeptProcess, str]:
        """Return (process, reason).

        The reason is empty, or says why a process that the session had was replaced.
        """
        held, before = self._held.get(key), job.before
        if held is not None and held.idle is not None:
            held.idle.cancel()
        if held is not None:
            if not self.is_at(held, job):
                self._end(key, "the session went on from another place")
            elif held.stamp != stamp:
                self._end(key, "its code, its limits or its network have changed")
            elif not held.process.is_running:
                self._end(key, "its process ended between two calls")
            else:
                return held, ""
        why = ""
        if before is not None:
            why = self._why.get(str(before.get("id")), "it is not on this server any more")
        while len(self._held) + self._starting >= self._most:
            # One is idle: no more calls have a turn than there may be processes.
            idle = [(h.used, k) for k, h in self._held.items() if not h.busy]
            self._end(min(idle)[1], "others needed its place")
        limits = {**job.limits, "wall_s": LIFE_S, "cpu_s": LIFE_CPU_S}
        self._starting += 1
        try:
            process = await start(replace(job, args={}, limits=limits))
        finally:
            self._starting -= 1
        self._held[key] = held = KeptProcess(process, stamp)
        return held, why

    def is_at(self, held: KeptProcess, job: Job) -> bool:
        """Return whether the process stands where the session of the job does."""
        here = {"id": held.id, "calls": held.calls}
        before = job.before or {}
        return all(before.get(name) == here[name] for name in here)

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


class StatefulCall(ProcessCall):
    """One call in a kept process. Its output and results end with a mark in the streams."""

    def __init__(self, job: Job, process: Process) -> None:
        super().__init__(job, process, time.monotonic())
        self._mark = f"\0{secrets.token_hex(16)}\0"
        self._output = CallOutput(process.output, self._mark.encode())
        self._results = self._answers = CallResults(process.results, self._mark)

    @property
    def is_answered(self) -> bool:
        """Return whether the process can be used again. A breach ends it, even after an answer."""
        return self._answers.answered and self._breach is None

    async def send(self) -> None:
        """Send the call to the process."""
        data = json.dumps({**self.job.request(), "mark": self._mark}).encode() + b"\n"
        assert self.process.requests is not None
        with suppress(OSError, ValueError):  # the process ended; reading its answer shows that
            await asyncio.shield(
                asyncio.to_thread(write_all, self.process.requests, data, last=False)
            )

    async def _end(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        if self._answers.answered:
            return self._answers.took
        end = await super()._end(messages)
        if isinstance(breach := end.get("breach"), dict) and breach.get("limit") == "cpu_s":
            allowed = self.job.limits["cpu_s"]  # the breach reports the limit of the process
            end = {**end, "breach": {**breach, "allowed": allowed, "observed": f"over {allowed:g}"}}
        return end


class CallOutput:
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
            keep = 0 if self._over else prefix_at_end(before, self._mark)
            output, self._held = before[: len(before) - keep], before[len(before) - keep :]
            if output:
                return output
        return b""


class CallResults:
    """The result lines of one call. It knows nothing of the call: a circle of the two would keep
    the lines, which may be megabytes, until the collector finds it.

    answered  whether the process has ended the call with its mark; `took`: what it says then
    """

    def __init__(self, stream: asyncio.StreamReader, mark: str) -> None:
        self._stream, self._mark, self._over = stream, mark, False
        self.answered = False
        self.took: dict[str, Any] = {}

    async def readline(self) -> bytes:
        """Return the next line; b"" after the end of the call."""
        if self._over:
            return b""
        line = await self._stream.readline()
        self._over = not line or self._ends(line)
        return b"" if self._over else line

    def _ends(self, line: bytes) -> bool:
        message = parse_message(line)
        if message.get("done") != self._mark:
            return False
        took = message.get("took")
        if isinstance(took, dict) and all(type(value) is int for value in took.values()):
            self.took = took
        self.answered = True
        return True


def _identity(job: Job, code: str) -> str:
    """Return what must be unchanged for a process to be reused: code, packages, network, limits.

    Limits that are enforced for each call are left out.
    """
    per_call = ("wall_s", "cpu_s", "output_kb")  # enforced for each call
    limits = {name: value for name, value in job.limits.items() if name not in per_call}
    packages = job.package.environment if job.package else ""
    return json.dumps([code, packages, job.reach, limits])
