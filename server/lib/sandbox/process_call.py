"""One tool call in a process: its output as it comes, its limits, and how it ended.

The limits here are those of time and output; the process's own supervisor has the others.
"""

from __future__ import annotations

import asyncio
import codecs
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from ..runtime.secret_filter import SecretFilter
from .child import MAX_RESULT
from .process import CHUNK, STOP_S, Job, Outcome, Process, limit_error, parse_message

QUOTED = 2_000  # characters of the output quoted in the error of a breach

logger = logging.getLogger("yaa.tools")

Emit = Callable[[str], object]  # is called with what a tool prints and logs, as it comes


class Stream(Protocol):
    """A stream of bytes, as asyncio.StreamReader."""

    async def read(self, n: int, /) -> bytes:
        """Return up to about `n` bytes; b"" at the end."""


class Lines(Protocol):
    """A stream of lines, as asyncio.StreamReader."""

    async def readline(self) -> bytes:
        """Return the next line; b"" at the end."""


class ProcessCall:
    """A call in a process: `run` it once.

    `started`: when its time began, by time.monotonic(); None: with the process.
    """

    def __init__(self, job: Job, process: Process, started: float | None = None) -> None:
        self.job, self.process = job, process
        self._output: Stream = process.output
        self._results: Lines = process.results
        self._started = process.started if started is None else started
        self._deadline = self._started + job.limits["wall_s"]
        self._printed = 0  # bytes
        self._shown = ""  # the end of the output
        self._lines = bytearray()  # of the results
        self._breach: dict[str, Any] | None = None
        self._abandoned = False  # it did not end in time after a breach
        self._filter = SecretFilter(job.package.secrets if job.package else ())

    async def run(self, emit: Emit) -> Outcome:
        """Pass on what the tool prints and logs; return how the call ended, with secrets masked.

        Ends the call at its deadline and at `output_kb`.
        """
        await self._read(emit)
        messages = [parse_message(line) for line in self._lines.splitlines()]
        end = await self._end(messages)
        ended, mask = self._judge(messages, end), self._filter.mask
        return replace(
            ended,
            tier=self.process.tier,
            result=mask(ended.result),
            error=mask(ended.error),
            logs=mask(ended.logs),
            attachments=mask(ended.attachments),
        )

    # -- while it runs

    async def _read(self, emit: Emit) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        output = asyncio.ensure_future(self._output.read(CHUNK))
        results = asyncio.ensure_future(self._results.readline())
        pending: set[asyncio.Future[bytes]] = {output, results}
        try:
            while pending and not self._abandoned:
                done, pending = await asyncio.wait(
                    pending,
                    timeout=max(0, self._deadline - time.monotonic()),
                    return_when=asyncio.FIRST_COMPLETED,
                )
                if not done:
                    self._pass_deadline()
                if output in done and (data := output.result()):
                    self._printed += len(data)
                    emit(self._show(self._filter.pass_on(decoder.decode(data))))
                    if self._may_print_on():
                        output = asyncio.ensure_future(self._output.read(CHUNK))
                        pending.add(output)
                if results in done and (line := self._line(results)):
                    if text := self._store(line):
                        emit(text)
                    results = asyncio.ensure_future(self._results.readline())
                    pending.add(results)
        finally:
            for reading in (output, results):
                reading.cancel()
        if rest := self._filter.end():
            emit(self._show(rest))

    def _show(self, text: str) -> str:
        self._shown = (self._shown + text)[-QUOTED:]
        return text

    def _may_print_on(self) -> bool:
        """Return False, and end the call, if it has printed more than `output_kb`."""
        allowed = self.job.limits["output_kb"]
        if self._printed <= allowed * 1024:
            return True
        self.process.close_output()  # it may print on while it ends
        self._end_at("output_kb", allowed, self._printed // 1024)
        return False

    def _line(self, results: asyncio.Future[bytes]) -> bytes:
        """Return a line of results.

        A line longer than MAX_RESULT ends the call at once: it is not read on, so the writer would
        block until the deadline.
        """
        try:
            return results.result()
        except ValueError:
            self._end_at("output_kb", MAX_RESULT // 1024, f"over {MAX_RESULT // 1024}")
            return b""

    def _store(self, line: bytes) -> str:
        """Store a line of results. Returns the text of a log line, else ""."""
        size = len(self._lines) + len(line)
        if size > MAX_RESULT:
            self._end_at("output_kb", MAX_RESULT // 1024, size // 1024)
            return ""
        self._lines += line
        message = parse_message(line)
        return str(self._filter.mask(message["log"])) + "\n" if "log" in message else ""

    def _pass_deadline(self) -> None:
        if self._breach is None:
            passed = round(time.monotonic() - self._started, 2)
            self._end_at("wall_s", self.job.limits["wall_s"], passed)
            self._deadline = time.monotonic() + STOP_S
        else:
            self._abandoned = True

    def _end_at(self, limit: str, allowed: float, observed: float | str) -> None:
        """End the call at a limit, unless it ends at one already."""
        if self._breach is None:
            self._breach = {"limit": limit, "allowed": allowed, "observed": observed}
            self.process.stop()

    # -- when it has ended

    async def _end(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the supervisor's report, see Process.end."""
        return await self.process.end(messages)

    def _judge(self, messages: list[dict[str, Any]], end: dict[str, Any]) -> Outcome:
        process = self.process
        if process.unavailable:
            text = f"the sandbox could not be made: {process.unavailable}"
            error = {"type": "sandbox_unavailable", "message": text}
            return Outcome("sandbox_unavailable", error=error)
        if not process.began and self._breach is None:
            text = "the sandbox's worker ended before the call began; nothing was run"
            return Outcome("error", error={"type": "error", "message": text})
        ended = Outcome(
            "ok",
            logs=tuple(message["log"] for message in messages if "log" in message),
            usage={
                "wall_ms": round((time.monotonic() - self._started) * 1000),
                "cpu_ms": end.get("cpu_ms", 0),
                "max_rss_kb": end.get("max_rss_kb", 0),
            },
            network=process.network,
            refused=process.refused_hosts,
        )
        if breach := self._breach or end.get("breach"):
            return self._at_limit(ended, breach)
        answer = next((m for m in messages if "result" in m or "error" in m), None)
        if answer is None:
            text = f"the tool's process ended without a result (exit {end.get('code', 'unknown')})"
            return replace(ended, status="error", error={"type": "error", "message": text})
        return self._answered(ended, answer)

    def _answered(self, ended: Outcome, answer: dict[str, Any]) -> Outcome:
        """Return the outcome of a call that sent its result or error."""
        ended = replace(
            ended,
            attachments=tuple(answer.get("attachments", ())),
            media=tuple(answer.get("media", ())),
            keep=answer.get("keep"),
        )
        if "error" not in answer:
            return replace(ended, result=answer["result"])
        if "trace" in answer:
            logger.debug("a tool failed: %s", self._filter.mask(answer["trace"]))
        if (name := answer["error"].pop("limit", None)) in self.job.limits:
            allowed = self.job.limits[name]
            breach = {"limit": name, "allowed": allowed, "observed": f"over {allowed:g}"}
            return self._at_limit(ended, breach)
        return replace(ended, status="error", error=answer["error"])

    def _at_limit(self, ended: Outcome, breach: dict[str, Any]) -> Outcome:
        status, _, error = limit_error(breach, self._shown)
        return replace(ended, status=status, error=error, attachments=(), media=(), keep=None)
