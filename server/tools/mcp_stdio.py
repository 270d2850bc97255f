"""An MCP server that is a process of ours: one JSON message a line, over its standard streams.

In the walk: mcp_peer.py asks, this carries. The process leads a group of its own and gets only the
few variables every program needs, beside those configured. The rule of the file: whatever the
process does (dies, floods, talks nonsense), every request ends, and nothing it started survives.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .. import log
from .mcp_message import MAX_MESSAGE, Hear, LinkError, Message, is_progress, parsed, reply_to

GRACE_S = 2.0  # for the end of its input to be noticed, and again for SIGTERM
INHERITED = (
    *("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"),  # as the official clients do
    *("LANG", "LC_ALL", "TZ", "TMPDIR"),
)

logger = log.get("mcp")


@dataclass(frozen=True)
class Launch:
    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None


class StdioLink:
    """`restart` starts the process; `request` may be called many times at once."""

    def __init__(self, name: str, launch: Launch) -> None:
        self.name, self.launch = name, launch
        self.modern, self.version = True, ""
        self._process: asyncio.subprocess.Process | None = None
        self._readers: list[asyncio.Task[None]] = []
        self._waiting: dict[int, asyncio.Future[Message]] = {}
        self._hearing: dict[int, Hear] = {}
        self._end = "it is not running"  # why there is no process
        self._last_words = ""

    @property
    def alive(self) -> bool:
        return self._process is not None and not self._end

    async def restart(self) -> None:
        """A fresh process. Raises LinkError."""
        await self.close()
        launch = self.launch
        kept = {key: os.environ[key] for key in INHERITED if key in os.environ}
        try:
            self._process = await asyncio.create_subprocess_exec(
                launch.command,
                *launch.args,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env={**kept, **launch.env},
                cwd=launch.cwd,
                start_new_session=True,
                limit=MAX_MESSAGE,
            )
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "not a usable command"
            raise LinkError(f"{launch.command} cannot be started: {why}") from None
        self._end = self._last_words = ""
        self._readers = [
            asyncio.create_task(self._read(self._process)),
            asyncio.create_task(self._overhear(self._process)),
        ]

    async def request(
        self, message: Message, hear: Hear | None = None, headers: Mapping[str, str] | None = None
    ) -> Message:
        """The answer to a request. Cancelling it tells the server so. Raises LinkError."""
        request_id = message["id"]
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = answer
        if hear is not None:
            self._hearing[request_id] = hear
        try:
            await self.send(message)
            return await answer
        except asyncio.CancelledError:
            self._write(_cancelled(request_id))
            raise
        finally:
            self._waiting.pop(request_id, None)
            self._hearing.pop(request_id, None)

    async def send(self, message: Message) -> None:
        """A message that has no answer. Raises LinkError."""
        if not self.alive or self._process is None or self._process.stdin is None:
            raise LinkError(self._end or "it is not running")
        self._write(message)
        try:
            await self._process.stdin.drain()
        except OSError:
            raise LinkError(self._end or "it closed its input") from None

    async def close(self) -> None:
        """End of input, then SIGTERM, then SIGKILL; the last for all of its group."""
        process, self._process = self._process, None
        if process is None:
            return
        self._fail("it was stopped")
        try:
            if process.stdin is not None:
                process.stdin.close()
            if not await _ended(process):
                _signal(process, signal.SIGTERM)
                await _ended(process)
        finally:
            _signal(process, signal.SIGKILL)  # what the leader left behind, too
            for reader in self._readers:
                reader.cancel()
        await process.wait()
        await asyncio.gather(*self._readers, return_exceptions=True)

    def _write(self, message: Message) -> None:
        stdin = self._process.stdin if self._process is not None else None
        if stdin is not None and not stdin.is_closing():
            stdin.write(json.dumps(message).encode() + b"\n")

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        """Every line of its output, until it ends."""
        assert process.stdout is not None
        try:
            while line := await process.stdout.readline():
                if (message := parsed(line)) is not None:
                    self._take(message)
                elif line.strip():
                    logger.debug("%s: not a message: %.200r", self.name, line[:200])
        except ValueError:  # from readline: a line longer than the limit
            self._fail(f"it sent a line of more than {MAX_MESSAGE} bytes")
            _signal(process, signal.SIGKILL)
            return
        except OSError:
            pass
        ended = await _ended(process)
        code = f"exit {process.returncode}" if ended else "its output ended"
        words = f": {self._last_words}" if self._last_words else ""
        self._fail(f"its process ended ({code}){words}")
        _signal(process, signal.SIGKILL)

    def _take(self, message: Message) -> None:
        if "method" not in message:
            answer = self._waiting.get(message["id"]) if _is_ours(message.get("id")) else None
            if answer is not None and not answer.done():
                answer.set_result(message)
        elif "id" in message:
            self._write(reply_to(message))
        else:
            for request_id, hear in tuple(self._hearing.items()):
                if is_progress(message, request_id):
                    hear(message["params"])

    async def _overhear(self, process: asyncio.subprocess.Process) -> None:
        """Its log: free text. The last line is kept, to say what a dying server said."""
        assert process.stderr is not None
        rest = b""
        with contextlib.suppress(OSError):
            while data := await process.stderr.read(65_536):
                *lines, rest = (rest + data)[-65_536:].split(b"\n")
                for line in filter(None, map(bytes.strip, lines)):
                    self._last_words = log.mask(line[:200].decode("utf-8", "replace"))
                    logger.debug("%s says: %s", self.name, self._last_words)

    def _fail(self, why: str) -> None:
        """No answer will come any more."""
        self._end = self._end or why
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(LinkError(self._end))


async def _ended(process: asyncio.subprocess.Process) -> bool:
    try:
        await asyncio.wait_for(process.wait(), GRACE_S)
    except TimeoutError:
        return False
    return True


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    """To the whole group, which outlives its leader as long as it has a member."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _is_ours(request_id: Any) -> bool:
    return isinstance(request_id, int) and not isinstance(request_id, bool)


def _cancelled(request_id: int) -> Message:
    params = {"requestId": request_id, "reason": "the client does not wait any longer"}
    return {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
