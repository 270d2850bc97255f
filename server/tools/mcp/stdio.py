"""The MCP transport stdio: a child process that exchanges one JSON message per line.

Used by mcp/peer.py. The process leads a process group of its own, and its environment has only a
few basic variables besides those configured. Whatever the process does, every request ends, and
nothing that it started in its group survives.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field

from ...sandbox.process import open_pipe
from ...telemetry import log, redact
from ...types import Json
from .peer import (
    LIST_CHANGED,
    MAX_MESSAGE,
    Hear,
    LinkError,
    answered_id,
    cancel_notification,
    is_progress,
    parse_messages,
    reply_to,
)

GRACE_S = 2.0  # to exit after the end of its input, and again after SIGTERM
CHUNK = 64 * 1024
MAX_NOISE = 16 * 1024 * 1024  # bytes of output without an answer
LINE_COST = 64  # extra bytes that each line counts for, as it costs time
INHERITED = (
    *("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"),  # as in the official clients
    *("LANG", "LC_ALL", "TZ", "TMPDIR"),
)

logger = log.get("mcp")


@dataclass(frozen=True)
class Launch:
    """The command of a server: arguments, added environment, working directory (None: ours)."""

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None


class StdioLink:
    """A connection to a child process. Requests may run concurrently."""

    def __init__(self, name: str, launch: Launch) -> None:
        self.name, self.launch = name, launch
        self.modern, self.version = True, ""
        self.changed = False  # the server announced a changed list of tools
        self._process: asyncio.subprocess.Process | None = None
        self._pipes = contextlib.ExitStack()
        self._readers: list[asyncio.Task[None]] = []
        self._stopping: asyncio.Task[None] | None = None
        self._waiting: dict[int, asyncio.Future[Json]] = {}
        self._hearing: dict[int, Hear] = {}
        self._end = "it is not running"  # why there is no process
        self._last_words = ""

    @property
    def last_words(self) -> str:
        """Return the beginning of the latest output that is not a message."""
        return self._last_words

    @property
    def alive(self) -> bool:
        """Return whether the process runs and takes requests."""
        return self._process is not None and not self._end

    async def restart(self) -> None:
        """End the old process, if any, and start a new one. Raises LinkError."""
        await self.close()
        launch = self.launch
        kept = {key: os.environ[key] for key in INHERITED if key in os.environ}
        try:
            with contextlib.ExitStack() as theirs:
                stdout, output, _ = await open_pipe(theirs, self._pipes, CHUNK)
                stderr, words, _ = await open_pipe(theirs, self._pipes, CHUNK)
                self._process = await asyncio.create_subprocess_exec(
                    launch.command,
                    *launch.args,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=stdout,
                    stderr=stderr,
                    env={**kept, **launch.env},
                    cwd=launch.cwd,
                    start_new_session=True,
                )
        except (OSError, ValueError) as error:
            self._pipes.close()
            why = getattr(error, "strerror", None) or "not a usable command"
            raise LinkError(f"{launch.command} cannot be started: {why}") from None
        self._end = self._last_words = ""
        self._readers = [
            asyncio.create_task(self._read(self._process, output)),
            asyncio.create_task(self._read_stderr(words)),
        ]

    async def request(
        self, message: Json, hear: Hear | None = None, headers: Mapping[str, str] | None = None
    ) -> Json:
        """Return the answer to a request. Cancelling it notifies the server. Raises LinkError."""
        request_id = message["id"]
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = answer
        if hear is not None:
            self._hearing[request_id] = hear
        try:
            await self.send(message)
            return await answer
        except asyncio.CancelledError:
            self._write(cancel_notification(request_id))
            raise
        finally:
            self._waiting.pop(request_id, None)
            self._hearing.pop(request_id, None)

    async def send(self, message: Json) -> None:
        """Send a message that has no answer. Raises LinkError."""
        if not self.alive or self._process is None or self._process.stdin is None:
            raise LinkError(self._end or "it is not running")
        if self._process.stdin.transport.get_write_buffer_size() > MAX_MESSAGE:
            raise LinkError("it does not read what it is sent")
        self._write(message)
        try:
            await self._process.stdin.drain()
        except OSError:
            raise LinkError(self._end or "it closed its input") from None

    def abort(self) -> None:
        """Kill the process group at once."""
        if self._process is not None:
            self._end_it(self._process, "it was ended")

    async def close(self) -> None:
        """End the process: end of input, then SIGTERM, then SIGKILL for the whole group.

        If the wait is cancelled, the ending goes on; the next call waits for it.
        """
        process, self._process = self._process, None
        if process is not None:
            self._fail("it was stopped")
            self._stopping = asyncio.create_task(self._stop(process))
        if self._stopping is not None:
            await asyncio.shield(self._stopping)
        self._pipes.close()

    async def _stop(self, process: asyncio.subprocess.Process) -> None:
        try:
            if process.stdin is not None:
                process.stdin.close()
            if not await _has_ended(process):
                _signal(process, signal.SIGTERM)
                await _has_ended(process)
        finally:
            _signal(process, signal.SIGKILL)  # also ends children that the process left running
            for reader in self._readers:
                reader.cancel()
            self._pipes.close()
        await process.wait()
        await asyncio.gather(*self._readers, return_exceptions=True)

    def _write(self, message: Json) -> None:
        stdin = self._process.stdin if self._process is not None else None
        if stdin is not None and not stdin.is_closing():
            stdin.write(json.dumps(message).encode() + b"\n")

    async def _read(
        self, process: asyncio.subprocess.Process, output: asyncio.StreamReader
    ) -> None:
        """Read and handle the lines of the process until its output ends."""
        line, noise = bytearray(), 0
        with contextlib.suppress(OSError):
            while data := await output.read(CHUNK):
                await asyncio.sleep(0)  # a read of buffered data does not yield to other tasks
                head, *others = data.split(b"\n")
                line += head
                for following in others:
                    try:
                        noise = 0 if self._handle_line(bytes(line)) else noise
                    except LinkError as error:
                        return self._end_it(process, str(error))
                    line = bytearray(following)
                noise += len(data) + LINE_COST * len(others)
                if len(line) > MAX_MESSAGE:
                    return self._end_it(process, f"it sent a line of more than {MAX_MESSAGE} bytes")
                if noise > MAX_NOISE:
                    return self._end_it(process, "it sent too much that answers nothing")
            with contextlib.suppress(LinkError):
                self._handle_line(bytes(line))  # the last line may lack its line feed
        ended = await _has_ended(process)
        code = f"exit {process.returncode}" if ended else "its output ended"
        words = f": {self._last_words}" if self._last_words else ""
        return self._end_it(process, f"its process ended ({code}){words}")

    def _end_it(self, process: asyncio.subprocess.Process, why: str) -> None:
        self._fail(why)
        _signal(process, signal.SIGKILL)

    def _handle_line(self, line: bytes) -> bool:
        """Handle a line and return whether it answers a request of ours. Raises LinkError."""
        if messages := parse_messages(line):
            return any([self._take(message) for message in messages])
        if line.strip():
            self._last_words = self._last_words or _words(line)
            logger.debug("%s: not a message: %.200r", self.name, line[:200])
        return False

    def _take(self, message: Json) -> bool:
        if "method" not in message:
            request_id = answered_id(message)
            answer = None if request_id is None else self._waiting.get(request_id)
            if answer is None or answer.done():
                return False
            answer.set_result(message)
            return True
        if "id" in message:
            self._write(reply_to(message))
        elif message["method"] == LIST_CHANGED:
            self.changed = True
        else:
            for request_id, hear in tuple(self._hearing.items()):
                if is_progress(message, request_id):
                    hear(message["params"])
        return False

    async def _read_stderr(self, words: asyncio.StreamReader) -> None:
        """Log the process's standard error and keep its last line for error messages."""
        rest = b""
        with contextlib.suppress(OSError):
            while data := await words.read(CHUNK):
                await asyncio.sleep(0)
                *lines, rest = (rest + data)[-CHUNK:].split(b"\n")
                for line in filter(None, map(bytes.strip, lines)):
                    self._last_words = _words(line)
                    logger.debug("%s says: %s", self.name, self._last_words)

    def _fail(self, why: str) -> None:
        """Fail all waiting requests."""
        self._end = self._end or why
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(LinkError(self._end))


async def _has_ended(process: asyncio.subprocess.Process) -> bool:
    try:
        await asyncio.wait_for(process.wait(), GRACE_S)
    except TimeoutError:
        return False
    return True


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    """Send a signal to the process group, which may outlive its leader."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _words(line: bytes) -> str:
    return redact.mask(line.strip()[:200].decode("utf-8", "replace"))
