"""The server's side of one tool call: start a child, pass its output on, end it at its limits.

`Child` is the process without a sandbox (tier `none`): the server's user, files and network.
sandbox/sandboxed.py has the sandboxed one. Messages of a child are untrusted input; an invalid one
can fail only its own call.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

from ..telemetry import log
from .child import MAX_RESULT
from .network_policy import Reach
from .packages import Package
from .secret_filter import Veil

KEEPER_S = 5.0  # for the keeper to end the remaining processes
CHUNK = 64 * 1024
MAX_ERROR = 4_000  # characters of a child's error text
LAST_WORDS = 2_000  # characters of the output quoted in the error of a breach

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = __package__ or "server.tools"
BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]);"
    " import importlib; child = importlib.import_module(sys.argv[2] + '.child');"
    " child.main(*map(int, sys.argv[3:]))"
)

_Piped = tuple[asyncio.StreamReader, int]

logger = log.get("tools")


@dataclass(frozen=True)
class Job:
    """One call.

    `where` and `args` as in tools/tool.BaseTool, `limits` as in server.limits.tool, `reach`: the
    network of the call. It runs in the folder of the session `session_id` of `owner`
    (api.auth.Key). With None as `session_id`, for calls of the server itself, it gets an empty
    folder that is removed afterwards.
    """

    where: tuple[str, str, str]
    args: dict[str, Any]
    session_id: str | None
    limits: dict[str, float]
    state: dict[str, Any] = field(default_factory=dict)
    reach: Reach | None = None  # None: the server's own
    owner: str = ""
    package: Package | None = None  # of the code, unless it is a file or part of the server
    stateful: str = ""  # the toolkit with one process for each session; "": one for each call
    before: dict[str, Any] | None = None  # the last known state of that process


@dataclass(frozen=True)
class Outcome:
    """How a call ended.

    `status`: ok, error, timeout, limit, sandbox_unavailable, or broken if the child died. `text`:
    shown to the model in place of the result. `refused`: the hosts that the sandbox's network
    refused. `process`: state of a stateful toolkit's process, see tools/stateful.py.
    """

    status: str
    result: Any = None
    error: dict[str, Any] = field(default_factory=dict)
    attachments: tuple[dict[str, Any], ...] = ()
    keep: int | None = None
    logs: tuple[str, ...] = ()
    usage: dict[str, Any] = field(default_factory=dict)
    tier: str = "none"
    text: str = ""
    network: str = ""
    refused: tuple[str, ...] = ()
    process: dict[str, Any] | None = None


class Child:
    """One child process and the pipes to it."""

    tier = "none"
    lost = False  # set with the outcome: the process ended before the tool ran

    def __init__(self, job: Job, process: subprocess.Popen[bytes] | None, lifeline: int) -> None:
        self.job = job
        self._process, self._lifeline = process, lifeline
        self._started = time.monotonic()
        self._messages = bytearray()
        self._breach: dict[str, Any] | None = None
        self._given_up = False
        self._last_words = ""
        self._veil = Veil(job.package.secrets if job.package else ())
        self._asks: BinaryIO | None = None  # the pipe for further calls, if stateful
        self._output: asyncio.StreamReader
        self._results: asyncio.StreamReader
        self._transports: list[asyncio.BaseTransport] = []

    @classmethod
    async def start(cls, job: Job, folder: Path) -> Child:
        """Start the child in `folder` and send it the call. Raises OSError."""
        ends: list[int] = []
        try:
            for _ in range(3):
                ends += os.pipe()
            requests, ask, tell, results, lifeline, hold = ends
            # Popen leaks its own descriptor of it if it cannot make its pipe (Python 3.11.2).
            nothing = os.open(os.devnull, os.O_RDONLY)
            ends.append(nothing)
            process = subprocess.Popen(
                [job.package.interpreter if job.package else sys.executable]
                + ["-I", "-S", "-c", BOOT, str(ROOT), PACKAGE]
                + [str(requests), str(results), str(lifeline)],
                stdin=nothing,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=(requests, results, lifeline),
                start_new_session=True,
                env=environment(folder, job.package),
            )
        except OSError:
            for end in ends:
                os.close(end)
            raise
        for end in (requests, results, lifeline, nothing):
            os.close(end)
        child = cls(job, process, hold)
        assert process.stdout is not None
        said = os.fdopen(tell, "rb", buffering=0)
        request = {**request_of(job), "folder": str(folder)}
        asks = os.fdopen(ask, "wb")
        try:
            child._output = await child._reader(process.stdout, CHUNK)
            child._results = await child._reader(said, MAX_RESULT)
        except BaseException:
            asks.close()
            child.kill()
            said.close()
            process.stdout.close()
            raise
        data = json.dumps(request).encode() + b"\n"
        if job.stateful:
            child._asks = asks
        try:
            await asyncio.shield(asyncio.to_thread(write_all, asks, data, last=not job.stateful))
        except BaseException:
            child.kill()
            raise
        return child

    async def output(self) -> AsyncGenerator[str, None]:
        """Yield what the tool prints and logs, as it arrives.

        Ends the call at its deadline and at `output_kb`.
        """
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        most = self.job.limits["output_kb"] * 1024
        printed = 0
        reading = asyncio.ensure_future(self._output.read(CHUNK))
        telling = asyncio.ensure_future(self._results.readline())
        pending: set[asyncio.Future[bytes]] = {reading, telling}
        deadline = self._started + self.job.limits["wall_s"]
        try:
            while pending and not self._given_up:
                left = deadline - time.monotonic()
                done, pending = await asyncio.wait(
                    pending, timeout=max(0, left), return_when=asyncio.FIRST_COMPLETED
                )
                if not done:
                    deadline = self._deadline_passed()
                if reading in done and (data := reading.result()):
                    printed += len(data)
                    text = self._veil.passing(decoder.decode(data))
                    self._last_words = (self._last_words + text)[-LAST_WORDS:]
                    yield text
                    if printed <= most:
                        reading = asyncio.ensure_future(self._output.read(CHUNK))
                        pending.add(reading)
                    else:  # stop reading: the call may print on while it ends
                        self._transports[0].close()
                        if self._breach is None:
                            self._end("output_kb", self.job.limits["output_kb"], printed // 1024)
                if telling in done and (line := self._line(telling)):
                    if text := self._told(line):
                        yield text
                    telling = asyncio.ensure_future(self._results.readline())
                    pending.add(telling)
        finally:
            for waiting in (reading, telling):
                waiting.cancel()
        if rest := self._veil.rest():
            self._last_words = (self._last_words + rest)[-LAST_WORDS:]
            yield rest

    async def outcome(self) -> Outcome:
        """Return how the call ended, with secrets masked. Call it when `output` is exhausted."""
        messages = [message_of(line) for line in self._messages.splitlines()]
        logs = tuple(message["log"] for message in messages if "log" in message)
        said = next((m for m in messages if "result" in m or "error" in m), None)
        end = await self._end_of(messages)
        found, shown = self._judged(said, end, logs), self._veil.whole
        return replace(
            found,
            tier=self.tier,
            result=shown(found.result),
            error=shown(found.error),
            logs=shown(found.logs),
            attachments=shown(found.attachments),
        )

    async def _end_of(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the keeper's last `end` message, {} if there is none.

        The tool may have written earlier ones.
        """
        return next((m["end"] for m in reversed(messages) if isinstance(m.get("end"), dict)), {})

    def _judged(
        self, said: dict[str, Any] | None, end: dict[str, Any], logs: tuple[str, ...]
    ) -> Outcome:
        usage = {
            "wall_ms": round((time.monotonic() - self._started) * 1000),
            "cpu_ms": end.get("cpu_ms", 0),
            "max_rss_kb": end.get("max_rss_kb", 0),
        }
        if breach := self._breach or end.get("breach"):
            return Outcome(*limit_error(breach, self._last_words), logs=logs, usage=usage)
        if said is None:
            text = f"the tool's process ended without a result (exit {end.get('code', 'unknown')})"
            return Outcome(
                "error", error={"type": "error", "message": text}, logs=logs, usage=usage
            )
        outcome = Outcome(
            "ok",
            said.get("result"),
            attachments=tuple(said.get("attachments", ())),
            keep=said.get("keep"),
            logs=logs,
            usage=usage,
        )
        if "error" not in said:
            return outcome
        if "trace" in said:
            logger.debug("a tool failed: %s", self._veil.whole(said["trace"]))
        if (name := said["error"].pop("limit", None)) in self.job.limits:
            allowed = self.job.limits[name]
            breach = {"limit": name, "allowed": allowed, "observed": f"over {allowed:g}"}
            return Outcome(*limit_error(breach, self._last_words), logs=logs, usage=usage)
        return replace(outcome, status="error", result=None, error=said["error"])

    @property
    def runs(self) -> bool:
        """Return whether the process is there for further calls."""
        return self._process is not None and self._process.poll() is None

    def network(self) -> dict[str, Any]:
        """Return the fields `network` and `refused` of an Outcome, {} without a sandbox."""
        return {}

    def kill(self) -> None:
        """End everything that the call started: the keeper does so when its lifeline closes."""
        self._cut_lifeline()
        for transport in self._transports:
            transport.close()
        if self._asks is not None:
            with contextlib.suppress(OSError):  # a buffered call that was never read
                self._asks.close()
        if self._process is not None:
            asyncio.get_running_loop().run_in_executor(None, _bury, self._process)

    def _line(self, told: asyncio.Future[bytes]) -> bytes:
        """Return a line from the child.

        A line longer than MAX_RESULT ends the call at once: it is not read on, so the writer would
        block until the deadline.
        """
        try:
            return told.result()
        except ValueError:
            if self._breach is None:
                self._end("output_kb", MAX_RESULT // 1024, f"over {MAX_RESULT // 1024}")
            return b""

    def _told(self, line: bytes) -> str:
        """Store one message of the child. Returns the text of a log line, else ""."""
        if len(self._messages) + len(line) > MAX_RESULT:
            if self._breach is None:
                self._end(
                    "output_kb", MAX_RESULT // 1024, (len(self._messages) + len(line)) // 1024
                )
            return ""
        self._messages += line
        message = message_of(line)
        return str(self._veil.whole(message["log"])) + "\n" if "log" in message else ""

    def _deadline_passed(self) -> float:
        if self._breach is None:
            wall = self.job.limits["wall_s"]
            self._end("wall_s", wall, round(time.monotonic() - self._started, 2))
        else:  # the keeper did not end it in time
            self._give_up()
        return time.monotonic() + KEEPER_S

    def _give_up(self) -> None:
        """Kill the keeper: the call did not end within KEEPER_S."""
        if self._process is not None:
            self._process.kill()

    def _end(self, limit: str, allowed: float, observed: float | str) -> None:
        self._breach = {"limit": limit, "allowed": allowed, "observed": observed}
        self._cut_lifeline()

    def _cut_lifeline(self) -> None:
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1

    async def _piped(self, theirs: contextlib.ExitStack, limit: int) -> _Piped:
        """Make a pipe. Returns (its reader here, the child's end, closed with `theirs`)."""
        ours, end = os.pipe()
        theirs.callback(os.close, end)
        return await self._reader(os.fdopen(ours, "rb", buffering=0), limit), end

    async def _reader(self, pipe: Any, limit: int) -> asyncio.StreamReader:
        reader = asyncio.StreamReader(limit=limit)
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), pipe
        )
        self._transports.append(transport)
        return reader


def request_of(job: Job) -> dict[str, Any]:
    """Return the part of a call's request that every kind of child gets."""
    return {
        "where": job.where,
        "args": job.args,
        "limits": job.limits,
        "state": job.state,
        "paths": job.package.paths if job.package else None,
        "stateful": bool(job.stateful),
    }


def environment(folder: Path, package: Package | None = None) -> dict[str, str]:
    """Return the whole environment of a tool.

    PATH and the language of the server, the tool's own folder as HOME, and its package's variables.
    """
    kept = {
        name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "TZ") if name in os.environ
    }
    kept.setdefault("PATH", os.defpath)
    kept.setdefault("LANG", "C.UTF-8")
    own = package.env if package else {}
    return {**kept, "TERM": "dumb", **own, "HOME": str(folder), "TMPDIR": "/tmp"}


def message_of(line: bytes | bytearray) -> dict[str, Any]:
    """Parse a message of a child; {} if it is invalid, since the tool may have written it itself.

    Of an error only the texts are kept, cut to MAX_ERROR. `keep` is dropped if it is not a count.
    """
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(message, dict) or not isinstance(message.get("log", ""), str):
        return {}
    error, attachments = message.get("error", {}), message.get("attachments", [])
    if not isinstance(error, dict) or not isinstance(attachments, list):
        return {}
    texts = {name: error[name] for name in ("type", "message", "limit") if name in error}
    if not all(isinstance(text, str) for text in texts.values()):
        return {}
    if not all(isinstance(item, dict) for item in attachments):
        return {}
    if "error" in message:
        message["error"] = {name: text[:MAX_ERROR] for name, text in texts.items()}
    keep = message.get("keep")
    if type(keep) is not int or not 0 <= keep < 2**53:
        message.pop("keep", None)
    return message


def limit_error(breach: dict[str, Any], printed: str = "") -> tuple[str, None, dict[str, Any]]:
    """Return (status, None, error) of a call that was stopped at a limit.

    The error names the limit, what it allows, what was observed, and the end of the output
    `printed`.
    """
    name, allowed, observed = breach["limit"], breach["allowed"], breach["observed"]
    text = f"stopped at the limit {name}: allowed {allowed:g}, observed {observed}"
    status = "timeout" if name == "wall_s" else "limit"
    if printed:
        text += f"\nIts output ended with:\n{printed}"
    return status, None, {"type": status, "message": text, "details": breach}


def write_all(pipe: BinaryIO, data: bytes, *, last: bool) -> None:
    """Write a request, which may be larger than the pipe; a child that has ended is ignored.

    `last`: close the pipe afterwards.
    """
    with contextlib.suppress(BrokenPipeError):
        try:
            pipe.write(data)
            pipe.flush()
        finally:
            if last:
                pipe.close()


def _bury(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(KEEPER_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
