"""The server's side of one tool call: start a child, pass its output on, end it at its limits.

`Child` is the process without a sandbox (tier `none`): the server's user, files and network.
sandbox/parent.py has the sandboxed one. Messages of a child are untrusted input; an invalid one
can fail only its own call.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

from ..telemetry import log, redact
from .child import MAX_RESULT
from .netproxy import ENV, NetProxy
from .network_policy import Reach
from .packages import Package

# -- secret filter --------------------------------------------------------------------------------
# Mask the secrets of a call in its output, both in whole values and in a stream of text.
#
# Only exact values are found. A secret in another form (reversed, as base64) is not masked; the
# tool's author has to prevent that.

SHORTEST_PART = 4  # characters of a secret at the end of a text that are masked


class Veil:
    """A filter for these secrets, given the longest first."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = tuple(secrets)
        self._held = ""

    def passing(self, text: str) -> str:
        """Return the part of a stream that may be shown.

        Its end is held back while it could be the beginning of a secret.
        """
        if not self._secrets:
            return text
        text = redact.cleared(self._held + text, self._secrets)
        keep = max((_begun(text, secret) for secret in self._secrets), default=0)
        self._held = text[len(text) - keep :]
        return text[: len(text) - keep]

    def rest(self) -> str:
        """Return what was held back, at the end of the stream."""
        held, self._held = self._held, ""
        return str(self.whole(held))

    def whole(self, value: Any) -> Any:
        """Return a copy of a JSON-shaped value with the secrets masked.

        Of a text that was cut within a secret, the part of the secret is masked too.
        """
        if not self._secrets:
            return value
        if isinstance(value, str):
            text: str = redact.cleared(value, self._secrets)
            part = max(_begun(text, secret) for secret in self._secrets)
            return text[: len(text) - part] + redact.MASK if part >= SHORTEST_PART else text
        if isinstance(value, dict):
            return {self.whole(key): self.whole(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(self.whole(item) for item in value)
        return value


def _begun(text: str, secret: str) -> int:
    """Return the length of the longest proper prefix of the secret that ends the text."""
    most = min(len(text), len(secret) - 1)
    return next((n for n in range(most, 0, -1) if text.endswith(secret[:n])), 0)


# -- parent ---------------------------------------------------------------------------------------

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


# -- sandboxed ------------------------------------------------------------------------------------
# A tool call in a sandboxed worker: the same pipes as in parent.py, with a process of the pool.
#
# The control socket is the lifeline and carries the supervisor's messages: ready or failed, and how
# the call ended. The tool has no descriptor of it, so none of these can be forged. If the call's
# network is `proxy`, the listening socket of its proxy came with `ready`.


class Words(asyncio.Protocol):
    """Collects the supervisor's messages in `said` until the connection ends.

    A StreamReader would drop them: when the supervisor exits with a call unread, its socket is
    reset after its last message.
    """

    def __init__(self, said: dict[str, Any]) -> None:
        self.said = said
        self.ended = asyncio.get_running_loop().create_future()
        self._line = b""

    def data_received(self, data: bytes) -> None:
        """Store the messages; `end` is the last one."""
        *lines, self._line = (self._line + data).split(b"\n")
        for line in lines:
            self.said.update(message_of(line))
        if "end" in self.said:
            self.connection_lost(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Resolve `ended`."""
        if not self.ended.done():
            self.ended.set_result(None)


class Confined(Child):
    """One call in a worker."""

    def __init__(self, job: Job, tier: str, reach: Reach) -> None:
        super().__init__(job, None, -1)
        self.tier, self._reach = tier, reach
        self._said: dict[str, Any] = {}  # by the supervisor
        self._proxy: NetProxy | None = None
        self._failed = ""
        self._control: asyncio.Transport | None = None
        self._words: Words

    @classmethod
    async def begin(
        cls,
        job: Job,
        folder: Path,
        source: str | None,
        worker: socket.socket,
        tier: str,
        reach: Reach,
    ) -> Confined:
        """Send the call to a worker of sandbox/worker_pool.py. Takes over the socket.

        `reach`: the network that the worker has. Raises OSError.
        """
        filtered = reach.network == "proxy"
        request = {
            **request_of(job),
            "folder": str(folder),
            "inode": folder.stat().st_ino,
            "env": {**environment(folder, job.package), **(ENV if filtered else {})},
            "source": source,
        }
        data = json.dumps(request).encode()
        child = cls(job, tier, reach)
        try:
            with contextlib.ExitStack() as theirs:
                child._output, output = await child._piped(theirs, CHUNK)
                child._results, said = await child._piped(theirs, MAX_RESULT)
                calls = child._to_come(theirs) if job.stateful else []
                if filtered:
                    await child._open_proxy(worker)
                # A worker that failed has sent the reason before it closed the socket.
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    socket.send_fds(worker, [len(data).to_bytes(8, "big")], [output, said, *calls])
                    if len(data) < 64 * 1024:
                        worker.sendall(data)
                    else:
                        await asyncio.to_thread(worker.sendall, data)
            child._control, child._words = await asyncio.get_running_loop().create_connection(
                lambda: Words(child._said), sock=worker
            )
        except BaseException:
            worker.close()
            child.kill()
            raise
        return child

    def _to_come(self, theirs: contextlib.ExitStack) -> list[int]:
        """Make the pipe for further calls. Returns the child's end, closed with `theirs`."""
        end, ours = os.pipe()
        theirs.callback(os.close, end)
        self._asks = os.fdopen(ours, "wb")
        return [end]

    async def _open_proxy(self, worker: socket.socket) -> None:
        """Receive the socket that listens in the worker's network, and serve on it."""
        worker.settimeout(KEEPER_S)
        said, descriptors, _, _ = await asyncio.to_thread(socket.recv_fds, worker, 4096, 1)
        worker.settimeout(None)
        for line in said.splitlines():
            self._said.update(message_of(line))
        for descriptor in descriptors:
            listener = socket.socket(fileno=descriptor)
            listener.setblocking(False)
            self._proxy = NetProxy(listener, self._reach)
            await self._proxy.open()

    async def _end_of(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        # Its last message is sent when no process of the call is left.
        await asyncio.wait([self._words.ended], timeout=KEEPER_S)
        self._failed = str(self._said.get("failed", ""))
        self.lost = "taken" not in self._said
        end = self._said.get("end")
        return end if isinstance(end, dict) else {}

    def _judged(
        self, said: dict[str, Any] | None, end: dict[str, Any], logs: tuple[str, ...]
    ) -> Outcome:
        if self._failed:
            text = f"the sandbox could not be made: {self._failed}"
            return Outcome(
                "sandbox_unavailable", error={"type": "sandbox_unavailable", "message": text}
            )
        if self.lost and self._breach is None:
            text = "the sandbox's worker ended before the call began; nothing was run"
            return Outcome("error", error={"type": "error", "message": text})
        return replace(super()._judged(said, end, logs), **self.network())

    @property
    def runs(self) -> bool:
        """Return whether the worker is there for further calls."""
        return not self._words.ended.done()

    def network(self) -> dict[str, Any]:
        """Return the fields `network` and `refused` of an Outcome."""
        refused = tuple(self._proxy.refused) if self._proxy else ()
        return {"network": self._reach.network, "refused": refused}

    def kill(self) -> None:
        """End the call, its proxy and the worker."""
        super().kill()
        if self._proxy is not None:
            self._proxy.close()
        if self._control is not None:
            self._control.close()

    def _cut_lifeline(self) -> None:
        """Close the socket for writing.

        The supervisor then ends the call; its last message can still arrive.
        """
        if self._control is not None:
            with contextlib.suppress(OSError):
                self._control.write_eof()

    def _give_up(self) -> None:
        """Stop reading output: the supervisor did not end the call in time."""
        self._given_up = True
