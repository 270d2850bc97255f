"""Processes that run a tool, as the server sees them: plain ones, and workers of a sandbox.

A process gets its job through `start`, and then has two streams: the text that the tool prints, and
lines of JSON with its log and result. `stop` makes its supervisor end the call, `kill` ends
everything at once and closes everything that was opened for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from ..runtime import programs
from ..runtime.start_folder import NEUTRAL
from .child import MAX_RESULT
from .netproxy import ENV, NetProxy
from .network_policy import NetworkPolicy
from .package import Package
from .policy import SESSION, Mount
from .worker_pool import PACKAGE, ROOT, WATCHES, WorkerPool, reap

# -- job ------------------------------------------------------------------------------------------
# One tool call as values: the job, its outcome, and the messages of the process that runs it.
#
# Messages of a process are untrusted input; an invalid one can fail only its own call.

MAX_ERROR = 4_000  # characters of a process's error text


# A folder may belong to another user than tools run as, and `git status` alone changes no file.
GIT = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "safe.directory",
    "GIT_CONFIG_VALUE_0": "*",
}


@dataclass(frozen=True)
class Job:
    """One call.

    where   ("module", its name, a function of it), or what `calls` knows
    calls   the name of a module: `call(request, context)` for what is no module's function,
            `enter_environment(folder, paths)` before any call in an environment, `attachment` and
            `shown_file` for files that a tool hands out
    reach   the network of the call
    It runs in the real folder named `folder`, or with "" in that of the session `session_id` of
    `owner`. With None as `session_id`, for calls of the server itself, it gets an empty folder that
    is removed afterwards.
    """

    where: tuple[str, str, str]
    args: dict[str, Any]
    session_id: str | None
    limits: dict[str, float]
    state: dict[str, Any] = field(default_factory=dict)
    reach: NetworkPolicy | None = None  # None: the server's own
    owner: str = ""
    folder: str = ""
    package: Package | None = None  # of the code, or the environment that the code uses
    stateful: str = ""  # the toolkit with one process for each session; "": one for each call
    before: dict[str, Any] | None = None  # the last known state of that process
    watches: bool = False  # it may use inotify, which tells what happens in its folders
    skills: Sequence[tuple[str, str]] = ()  # (name, hash) of those whose files it may read
    nice: int = 0  # how far its processes stand back behind others (nice(2))
    calls: str = ""

    def request(self) -> dict[str, Any]:
        """Return the part of the request that every kind of process gets."""
        return {
            "where": self.where,
            "calls": self.calls,
            "args": self.args,
            "limits": self.limits,
            "state": self.state,
            "paths": self.package.paths if self.package else None,
            "environment": self.package.environment if self.package else "",
            "stateful": bool(self.stateful),
            "umask": UMASK,
            "nice": self.nice,
        }


@dataclass(frozen=True)
class Outcome:
    """How a call ended.

    `status`: ok, error, timeout, limit, sandbox_unavailable, or broken if the child died. `text`:
    shown to the model in place of the result. `media`: {data, name, path?} of files to show to the
    model, as a program sent them. `refused`: the hosts that the sandbox's network refused.
    `process`: state of a stateful toolkit's process, see kept_processes.py. `sources`: see
    tools/sources.py.
    """

    status: str
    result: Any = None
    error: dict[str, Any] = field(default_factory=dict)
    attachments: tuple[dict[str, Any], ...] = ()
    media: tuple[dict[str, Any], ...] = ()
    keep: int | None = None
    logs: tuple[str, ...] = ()
    usage: dict[str, Any] = field(default_factory=dict)
    tier: str = "none"
    text: str = ""
    network: str = ""
    refused: tuple[str, ...] = ()
    process: dict[str, Any] | None = None
    sources: dict[str, str] = field(default_factory=dict)


def parse_message(line: bytes | bytearray) -> dict[str, Any]:
    """Parse a message of a process; {} if it is invalid, since the tool may have written it itself.

    Of an error only the texts are kept, cut to MAX_ERROR. `keep` is dropped if it is not a count.
    """
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(message, dict) or not isinstance(message.get("log", ""), str):
        return {}
    error, attachments = message.get("error", {}), message.get("attachments", [])
    files = message.get("media", [])
    if not all(isinstance(each, list) for each in (attachments, files)):
        return {}
    if not isinstance(error, dict):
        return {}
    texts = {name: error[name] for name in ("type", "message", "limit") if name in error}
    if not all(isinstance(text, str) for text in texts.values()):
        return {}
    if not all(isinstance(item, dict) for item in (*attachments, *files)):
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


# -- process --------------------------------------------------------------------------------------

STOP_S = 5.0  # for a supervisor to end what is left of a call
CHUNK = 64 * 1024
BOOT = (
    "import sys; sys.path.insert(0, sys.argv[1]);"
    " import importlib; child = importlib.import_module(sys.argv[2] + '.child');"
    " child.main(*map(int, sys.argv[3:]))"
)


class Process(ABC):
    """One process and the pipes to it.

    output, results  its streams, there after `start`
    requests         the pipe for further calls; None if it takes one call only
    tier, network    of its sandbox; network is "" without one
    began            False if it ended before the tool ran, known after `end`
    unavailable      why there was no sandbox, known after `end`; "" if there was one
    """

    network = unavailable = ""
    began = True

    output: asyncio.StreamReader
    results: asyncio.StreamReader
    _output_pipe: asyncio.ReadTransport

    def __init__(self, job: Job, mounts: tuple[Mount, ...], tier: str) -> None:
        """`mounts`: the folders of the call, the current one first."""
        self.job, self.mounts, self.tier = job, mounts, tier
        self.folder = mounts[0].path
        self.is_guarded = mounts[0].protected is not None
        self.home = next((mount.path for mount in mounts if mount.at == SESSION), self.folder)
        self.requests: BinaryIO | None = None
        self.started = time.monotonic()
        self._ours = ExitStack()  # closed by `kill`

    async def start(self) -> None:
        """Start it and send it the job. Raises OSError; then nothing of it is left."""
        try:
            with ExitStack() as theirs:
                output, self.output, self._output_pipe = await open_pipe(theirs, self._ours, CHUNK)
                results, self.results, _ = await open_pipe(theirs, self._ours, MAX_RESULT)
                await self._begin(theirs, output, results)
        except BaseException:
            self.kill()
            raise

    @abstractmethod
    async def _begin(self, theirs: ExitStack, output: int, results: int) -> None:
        """Start the process with these descriptors and send it the job. Raises OSError.

        `theirs` closes the process's ends of pipes.
        """

    @property
    @abstractmethod
    def is_running(self) -> bool:
        """Return whether it is there for further calls."""

    @property
    def refused_hosts(self) -> tuple[str, ...]:
        """Return the hosts that its network refused."""
        return ()

    def close_output(self) -> None:
        """Read no more of what the tool prints."""
        self._output_pipe.close()

    @abstractmethod
    def stop(self) -> None:
        """Tell its supervisor to end the call."""

    @abstractmethod
    async def end(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        """Return how it ended, as its supervisor reports it; {} without a report.

        `messages`: all that came through `results`.
        """

    def kill(self) -> None:
        """End everything that it started, and close what was opened for it. May be repeated."""
        self.stop()
        self._ours.close()

    def _write_to(self, theirs: ExitStack) -> int:
        """Make the pipe `requests`. Returns the process's end."""
        end, ours = os.pipe()
        theirs.callback(os.close, end)
        self.requests = os.fdopen(ours, "wb")
        self._ours.callback(self._close_requests)
        return end

    def _close_requests(self) -> None:
        if self.requests is not None:
            with contextlib.suppress(OSError):  # a buffered call that was never read
                self.requests.close()


class PlainProcess(Process):
    """A process without a sandbox: the server's user, files and network (tier `none`).

    Its supervisor is in child.py, and ends it when its lifeline closes.
    """

    def __init__(self, job: Job, mounts: tuple[Mount, ...]) -> None:
        super().__init__(job, mounts, "none")
        self._process: subprocess.Popen[bytes] | None = None
        self._lifeline = -1

    async def _begin(self, theirs: ExitStack, output: int, results: int) -> None:
        requests = self._write_to(theirs)
        lifeline, self._lifeline = os.pipe()
        theirs.callback(os.close, lifeline)
        package = self.job.package
        self._process = programs.start(
            [package.interpreter if package else sys.executable]
            + ["-I", "-S", "-c", BOOT, str(ROOT), PACKAGE]
            + [str(requests), str(results), str(lifeline)],
            NEUTRAL,  # the call's process goes to its own folder
            environment(self.home, package),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            pass_fds=(requests, results, lifeline),
            start_new_session=True,
        )
        self._ours.callback(self._reap_later, self._process)
        theirs.close()  # so that writing to a process that has ended fails
        about = {**self.job.request(), "folder": self.folder, "guarded": self.is_guarded}
        data = json.dumps(about).encode() + b"\n"
        pipe, last = self.requests, not self.job.stateful
        assert pipe is not None
        if last:
            self.requests = None  # the thread closes it
        await asyncio.shield(asyncio.to_thread(write_all, pipe, data, last=last))

    @property
    def is_running(self) -> bool:
        """Return whether it is there for further calls."""
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        """Close the lifeline."""
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1

    async def end(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        """Return the last `end` message: the tool may have written earlier ones."""
        return next((m["end"] for m in reversed(messages) if isinstance(m.get("end"), dict)), {})

    @staticmethod
    def _reap_later(process: subprocess.Popen[bytes]) -> None:
        asyncio.get_running_loop().run_in_executor(None, reap, process)


class SandboxedProcess(Process):
    """A worker of worker_pool.py.

    The control socket is the lifeline and carries the messages of the supervisor in worker.py:
    ready or failed, taken, and how the call ended. The tool has no descriptor of it, so none of
    these can be forged. With the network `proxy` the listening socket of its proxy comes with
    `ready`.
    """

    def __init__(
        self,
        job: Job,
        mounts: tuple[Mount, ...],
        source: str | None,
        pool: WorkerPool,
        reach: NetworkPolicy,
    ) -> None:
        """Take a worker of `pool` with the network `reach`. Raises OSError.

        `source`: the text of the tool's file, None for others.
        """
        super().__init__(job, mounts, pool.policy.tier)
        self._policy = pool.policy
        self._source, self._reach, self.network = source, reach, reach.network
        control = pool.take(reach.network + (WATCHES if job.watches else ""))
        self._control: socket.socket | asyncio.Transport = control
        self._ours.callback(pool.forget, control)
        self._ours.callback(lambda: self._control.close())
        self._messages = ControlMessages()
        self._proxy: NetProxy | None = None

    async def _begin(self, theirs: ExitStack, output: int, results: int) -> None:
        control = self._control
        assert isinstance(control, socket.socket)
        filtered = self.network == "proxy"
        env = environment(self.home, self.job.package, self._policy.visible_path)
        request = {
            **self.job.request(),
            "mounts": [mount.request() for mount in self.mounts],
            "guarded": self.is_guarded,
            "env": {**env, **(ENV if filtered else {})},
            "source": self._source,
        }
        data = json.dumps(request).encode()
        calls = [self._write_to(theirs)] if self.job.stateful else []
        if filtered:
            await self._open_proxy(control)
        # A worker that failed has sent the reason before it closed the socket.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            header = len(data).to_bytes(8, "big")
            socket.send_fds(control, [header], [output, results, *calls])
            if len(data) < 64 * 1024:
                control.sendall(data)
            else:
                await asyncio.to_thread(control.sendall, data)
        theirs.close()
        self._control, _ = await asyncio.get_running_loop().create_connection(
            lambda: self._messages, sock=control
        )

    async def _open_proxy(self, control: socket.socket) -> None:
        """Receive the socket that listens in the worker's network, and serve on it."""
        control.settimeout(STOP_S)
        data, descriptors, _, _ = await asyncio.to_thread(socket.recv_fds, control, 4096, 1)
        control.settimeout(None)
        self._messages.data_received(data)
        for descriptor in descriptors:
            listener = socket.socket(fileno=descriptor)
            listener.setblocking(False)
            self._proxy = NetProxy(listener, self._reach)
            self._ours.callback(self._proxy.close)
            await self._proxy.open()

    @property
    def is_running(self) -> bool:
        """Return whether it is there for further calls."""
        return not self._messages.ended.done()

    @property
    def refused_hosts(self) -> tuple[str, ...]:
        """Return the hosts that the proxy refused."""
        return tuple(self._proxy.refused) if self._proxy else ()

    def stop(self) -> None:
        """Close the socket for writing; the supervisor's last message can still arrive."""
        if isinstance(self._control, asyncio.Transport):
            with contextlib.suppress(OSError):
                self._control.write_eof()

    async def end(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        """Wait for the last message, which is sent when no process of the call is left."""
        await asyncio.wait([self._messages.ended], timeout=STOP_S)
        received = self._messages.received
        self.unavailable = str(received.get("failed", ""))
        self.began = "taken" in received
        end = received.get("end")
        return end if isinstance(end, dict) else {}


class ControlMessages(asyncio.Protocol):
    """Collects a supervisor's messages in `received` until the connection ends.

    A StreamReader would drop them: when the supervisor exits with a call unread, its socket is
    reset after its last message.
    """

    def __init__(self) -> None:
        self.received: dict[str, Any] = {}
        self.ended = asyncio.get_running_loop().create_future()
        self._line = b""

    def data_received(self, data: bytes) -> None:
        """Store the messages; `end` is the last one."""
        *lines, self._line = (self._line + data).split(b"\n")
        for line in lines:
            self.received.update(parse_message(line))
        if "end" in self.received:
            self.connection_lost(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Resolve `ended`."""
        if not self.ended.done():
            self.ended.set_result(None)


async def open_pipe(
    theirs: ExitStack, ours: ExitStack, limit: int
) -> tuple[int, asyncio.StreamReader, asyncio.ReadTransport]:
    """Make a pipe from a process. Returns (the process's end, its reader, transport).

    `theirs` closes the process's end, `ours` the other. Pipes of asyncio's own subprocesses cannot
    be closed before the last writer has closed them, and a writer may outlive its process group.
    """
    end_here, end = os.pipe()
    theirs.callback(os.close, end)
    reader = asyncio.StreamReader(limit=limit)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(end_here, "rb", buffering=0)
    )
    ours.callback(transport.close)
    return end, reader, transport


def environment(
    folder: str, package: Package | None = None, visible: Callable[[str], str] = str
) -> dict[str, str]:
    """Return the whole environment of a tool.

    PATH, of which only the `visible` part, and the language of the server, the tool's own folder as
    HOME, and its package's variables.
    """
    kept = programs.variables(("PATH", "LANG", "LC_ALL", "TZ"))
    kept["PATH"] = visible(kept.get("PATH", os.defpath))
    kept.setdefault("LANG", "C.UTF-8")
    own = package.env if package else {}
    return {**kept, **GIT, "TERM": "dumb", **own, "HOME": folder, "TMPDIR": "/tmp"}


def _umask() -> int:
    """Return the mask of new files that this process has: what tools make is readable to whom
    the owner's own files are."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("Umask:"):
                return int(line.split()[1], 8)
    return 0o077


UMASK = _umask()


def write_all(pipe: BinaryIO, data: bytes, *, last: bool) -> None:
    """Write a request, which may be larger than the pipe; a process that has ended is ignored.

    `last`: close the pipe afterwards.
    """
    with contextlib.suppress(BrokenPipeError, ValueError):  # ValueError: it was closed meanwhile
        try:
            pipe.write(data)
            pipe.flush()
        finally:
            if last:
                pipe.close()
