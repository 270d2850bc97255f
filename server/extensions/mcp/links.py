"""Connections to MCP servers: to a process by its pipes, and to an address by HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import time
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from ...json_types import Json
from ...lib.http.client import Client, ClientError, Response, Timeouts
from ...lib.http.sse import Decoder, EventTooLarge
from ...lib.runtime import programs
from ...lib.runtime.start_folder import NEUTRAL
from ...lib.sandbox.process import open_pipe
from ...telemetry import log, redact
from .inbox import INVALID_PARAMS, METHOD_NOT_FOUND, Inbox
from .oauth.access import Access
from .peer import (
    MAX_MESSAGE,
    LinkError,
    answered_id,
    cancel_notification,
    header_value,
    parse_messages,
)

# -- stdio ----------------------------------------------------------------------------------------
# The MCP transport stdio: a child process that exchanges one JSON message per line.
#
# Used by mcp/peer.py. The process leads a process group of its own, and its environment has only a
# few basic variables besides those configured. Whatever the process does, every request ends, and
# nothing that it started in its group survives.

GRACE_S = 2.0  # to exit after the end of its input, and again after SIGTERM
CHUNK = 64 * 1024
MAX_NOISE = 16 * 1024 * 1024  # bytes of output without an answer
INPUT_CLOSED = "it closed its input"
LINE_COST = 64  # extra bytes that each line counts for, as it costs time
INHERITED = (
    *("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"),  # as in the official clients
    *("LANG", "LC_ALL", "TZ", "TMPDIR"),
)

FOLDERS = "mcp"  # in the home: the folders that servers are started in

logger = log.get("mcp")


def make_private(folder: Path) -> None:
    """Make a folder of the home for a server, if it is missing. Raises OSError."""
    home = folder.parents[1]
    for each in (home, folder.parent, folder):
        each.mkdir(mode=0o700, parents=each is home, exist_ok=True)


@dataclass(frozen=True)
class Launch:
    """The command of a server: arguments, added environment, working directory.

    `own`: whether that is a folder of the home, which is made when it is missing.
    """

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = NEUTRAL
    own: bool = False


class StdioLink:
    """A connection to a child process. Requests may run concurrently."""

    def __init__(self, name: str, launch: Launch) -> None:
        self.name, self.launch = name, launch
        self.modern, self.version = True, ""
        self.inbox = Inbox(name)
        self._process: asyncio.subprocess.Process | None = None
        self._pipes = contextlib.ExitStack()
        self._readers: list[asyncio.Task[None]] = []
        self._stopping: asyncio.Task[None] | None = None
        self._waiting: dict[int, asyncio.Future[Json]] = {}
        self._end = "it is not running"  # why there is no process
        self._last_words = ""

    @property
    def last_words(self) -> str:
        """Return the beginning of the latest output that is not a message."""
        return self._last_words

    @property
    def alive(self) -> bool:
        """Return whether the process runs and takes requests.

        One that closed its input may run on, and answer what it has read, but takes no more.
        """
        if self._process is None or self._process.stdin is None or self._end:
            return False
        return not self._process.stdin.is_closing()

    async def restart(self) -> None:
        """End the old process, if any, and start a new one. Raises LinkError."""
        await self.close()
        launch = self.launch
        try:
            if launch.own:
                make_private(Path(launch.cwd))
            with contextlib.ExitStack() as theirs:
                stdout, output, _ = await open_pipe(theirs, self._pipes, CHUNK)
                stderr, words, _ = await open_pipe(theirs, self._pipes, CHUNK)
                self._process = await programs.start_async(
                    (launch.command, *launch.args),
                    launch.cwd,
                    {**programs.variables(INHERITED), **launch.env},
                    stdin=asyncio.subprocess.PIPE,
                    stdout=stdout,
                    stderr=stderr,
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
            asyncio.create_task(self._watch_input(self._process)),
        ]

    async def listen(self) -> None:
        """Do nothing: the output of the process is read anyway."""

    async def request(self, message: Json, headers: Mapping[str, str] | None = None) -> Json:
        """Return the answer to a request. Cancelling it notifies the server. Raises LinkError."""
        request_id = message["id"]
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._waiting[request_id] = answer
        try:
            await self.send(message)
            return await answer
        except asyncio.CancelledError:
            self._write(cancel_notification(request_id))
            raise
        finally:
            self._waiting.pop(request_id, None)

    async def send(self, message: Json) -> None:
        """Send a message that has no answer. Raises LinkError."""
        stdin = self._process.stdin if self._process is not None and self.alive else None
        with contextlib.suppress(OSError):
            if stdin is not None:
                if stdin.transport.get_write_buffer_size() > MAX_MESSAGE:
                    raise LinkError("it does not read what it is sent")
                self._write(message)
                return await stdin.drain()
        if not self._end and self._process is not None and await _has_ended(self._process):
            await asyncio.wait(self._readers[:1], timeout=GRACE_S)  # for what it said at last
        raise LinkError(self._end or INPUT_CLOSED)

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

    async def _watch_input(self, process: asyncio.subprocess.Process) -> None:
        """End a process that closed its input before it was given all that was sent.

        If it ends by itself, what it said at last is the better reason.
        """
        assert process.stdin is not None
        try:
            await process.stdin.wait_closed()
        except OSError:
            if not await _has_ended(process):
                self._end_it(process, INPUT_CLOSED)

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
        if reply := self.inbox.take(message, self._write):
            self._write(reply)
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
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), GRACE_S)
    return process.returncode is not None


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    """Send a signal to the process group, which may outlive its leader."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _words(line: bytes) -> str:
    return redact.mask(line.strip()[:200].decode("utf-8", "replace"))


# -- http -----------------------------------------------------------------------------------------
# The MCP transport Streamable HTTP: each message is a POST of its own.
#
# Used by mcp/peer.py. An answer is JSON, or a stream of events that ends with it; closing the
# stream cancels the call. The legacy era adds a session id and streams that can be resumed. No
# redirect leads to another host, and errors name the host, not the URL, which may contain a key.

ACCEPT = "application/json, text/event-stream"
MAX_ERROR = 64 * 1024  # bytes of an error response
MAX_RESUMES = 5
MAX_RETRY_MS = 10_000
MAX_MOVES = 3
BYE_S = 2.0  # time limit for messages whose answer does not matter
WHY = {
    **dict.fromkeys(
        (301, 302, 303, 307, 308), "it redirects to another address: configure that one"
    ),
    **dict.fromkeys((401, 403), "the credentials in its `headers` are missing or wrong"),
    404: "there is nothing at this address",
    405: "this address does not speak Streamable HTTP",
    429: "it is asked too often",
}
NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
LISTEN_S = 3.0  # for the answer to a request to listen; some servers answer with the first event
DOUBTS = 2  # errors in a row after which the session of a legacy server is given up,
DOUBT_S = 60.0  # at most once in so many seconds
REST_S = (1.0, 5.0, 30.0, 60.0)  # before listening again, by streams in a row that brought nothing


class HttpLink:
    """A connection over HTTP. Its peer sets `modern` and `version`, which decide the headers.

    `access`: the tokens of a server with a sign-in; None if `headers` has all credentials.
    """

    def __init__(
        self, client: Client, url: str, headers: Mapping[str, str], access: Access | None = None
    ) -> None:
        self._client, self._url, self._own = client, url, dict(headers)
        self.access = access
        self.host = urlsplit(url).netloc.rpartition("@")[2]
        self.modern, self.version = True, ""
        self.inbox = Inbox(self.host)
        self._session = ""
        self._leaving: set[asyncio.Task[None]] = set()
        self._listening: asyncio.Task[None] | None = None
        self.last_words = ""
        self.alive = True
        self._errors, self._doubted_at = 0, -DOUBT_S

    async def restart(self) -> None:
        """Forget the legacy session; there is no process to start."""
        self._stop_listening()
        self._session, self.version, self.alive = "", "", True

    def abort(self) -> None:
        """Do nothing: there is no process to end."""

    async def close(self) -> None:
        """End the legacy session on the server, if there is one."""
        self._stop_listening()
        await asyncio.gather(*self._leaving)
        if self._session and not self.modern:
            with contextlib.suppress(ClientError, LinkError, TimeoutError):
                async with asyncio.timeout(BYE_S):
                    await (await self._ask("DELETE", {})).close()
        if self.access is not None:
            await self.access.close()
        self._session, self.alive = "", False

    async def listen(self) -> None:
        """Begin to read the stream of a legacy server for what belongs to no request of ours.

        Returns when the server has answered, since it may drop what it says before that, or after
        LISTEN_S.
        """
        self._stop_listening()
        answered = asyncio.Event()
        self._listening = asyncio.create_task(self._listen(answered))
        self._listening.add_done_callback(lambda _: answered.set())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LISTEN_S):
                await answered.wait()

    def _stop_listening(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
            self._listening = None

    async def request(self, message: Json, headers: Mapping[str, str] | None = None) -> Json:
        """Return the answer to a request. Raises LinkError."""
        try:
            response = await self._post(message, headers or {})
            async with response:
                if answer := await self._refusal(response):
                    return answer
                if response.headers.get("content-type", "").lower().startswith("text/event-stream"):
                    return await self._read_stream(response, message["id"])
                return self._whole(await response.read(MAX_MESSAGE), message["id"])
        except (ClientError, EventTooLarge) as error:
            raise LinkError(str(error)) from None
        except asyncio.CancelledError:
            if not self.modern and self.version:  # in the modern era closing the stream suffices
                self._send_aside(cancel_notification(message["id"]))
            raise

    async def send(self, message: Json) -> None:
        """Send a message that has no answer. Raises LinkError."""
        try:
            response = await self._post(message, {})
            await response.close()
        except ClientError as error:
            raise LinkError(str(error)) from None

    def _send_aside(self, message: Json) -> None:
        """Send a message that nobody waits for."""

        async def attempt() -> None:
            """Send it, within a time limit."""
            with contextlib.suppress(LinkError, TimeoutError):
                async with asyncio.timeout(BYE_S):
                    await self.send(message)

        task = asyncio.create_task(attempt())
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def _post(self, message: Json, more: Mapping[str, str]) -> Response:
        fields = {"Content-Type": "application/json", "Accept": ACCEPT, **more}
        if self.modern and "method" in message:
            fields |= {"Mcp-Method": message["method"]}
            if named := NAMED.get(message["method"]):
                fields["Mcp-Name"] = header_value(message["params"][named])
        response = await self._ask("POST", fields, json.dumps(message).encode())
        if not self.modern and (session := response.headers.get("mcp-session-id")):
            self._session = session
        return response

    async def _ask(self, method: str, fields: Mapping[str, str], body: bytes = b"") -> Response:
        fields = {**self._own, **fields}
        if self.version:
            fields["MCP-Protocol-Version"] = self.version
        if self._session:
            fields["Mcp-Session-Id"] = self._session
        wait, first = Timeouts(connect=10), None
        for _ in range(MAX_MOVES):
            token = await self.access.headers() if self.access else {}
            first = token.get("Authorization", "") if first is None else first
            response = await self._client.request(
                method, self._url, {**fields, **token}, body, timeouts=wait, resendable=False
            )
            if response.status in (307, 308):
                if not self._follow_redirect(response):
                    break
            elif self.access is None or response.status not in (401, 403):
                break
            else:
                again = token.get("Authorization", "") != first
                try:
                    if not await self.access.renew(response, token, again=again):
                        break
                except LinkError:
                    await response.close()
                    raise
            await response.close()
        return response

    def _follow_redirect(self, response: Response) -> bool:
        """Follow a redirect within the host and return whether there was one.

        Many servers redirect to the same URL with a trailing slash. Requests never go to another
        host, as their `headers` hold credentials.
        """
        try:
            url = urljoin(self._url, response.headers.get("location", "")).partition("#")[0]
            same = urlsplit(url)[:2] == urlsplit(self._url)[:2] and url != self._url
            same = same and (self.access is None or self.access.covers(url))
        except ValueError:
            return False
        self._url = url if same else self._url
        return same

    async def _refusal(self, response: Response) -> Json | None:
        """Return the JSON-RPC error of an error response; None for a 2xx status.

        Raises LinkError for an error without one.
        """
        if 200 <= response.status < 300:
            self._errors = 0
            return None
        said = await response.read(MAX_ERROR) if response.status >= 400 else b""
        expired = bool(self._session) and _is_session_unknown(response.status, said)
        for message in () if expired else parse_messages(said):
            if isinstance(error := message.get("error"), dict):
                self._doubt(error.get("code"))
                return message
        self._doubt()
        text = f"{self.host} answered {response.status}"
        if why := WHY.get(response.status):
            text += f" ({why})"
        raise LinkError(text, expired=expired)

    def _doubt(self, code: Any = None) -> None:
        """Have the next request begin a new session, after errors in a row of any status.

        A server that was restarted may say so in any way. What it has looked at and refused counts
        for nothing, as it still knows the session.
        """
        if code in (METHOD_NOT_FOUND, INVALID_PARAMS) or not self._session:
            return
        self._errors += 1
        if self._errors >= DOUBTS and time.monotonic() - self._doubted_at >= DOUBT_S:
            self._errors, self._doubted_at, self.alive = 0, time.monotonic(), False

    async def _read_stream(self, response: Response, request_id: Any) -> Json:
        """Return the answer from a stream of events, resumed if a legacy server allows it.

        Raises LinkError.
        """
        last_id, retry = "", 1000
        for _ in range(MAX_RESUMES + 1):
            decoder = Decoder(MAX_MESSAGE)
            async with aclosing(response.chunks()) as chunks:
                with contextlib.suppress(ClientError):  # a broken stream may be resumed too
                    async for data in chunks:
                        for event in decoder.feed(data):
                            last_id = event.id or last_id
                            if answer := await self._handle_event(event.data, request_id):
                                response.release()
                                return answer
            retry = retry if decoder.retry is None else min(decoder.retry, MAX_RETRY_MS)
            if self.modern or not last_id:
                break
            await asyncio.sleep(retry / 1000)
            response = await self._ask(
                "GET", {"Accept": "text/event-stream", "Last-Event-ID": last_id}
            )
            if response.status != 200:
                await response.close()
                break
        raise LinkError(f"{self.host} ended its stream without an answer")

    async def _listen(self, answered: asyncio.Event) -> None:
        """Read the stream of a legacy server as long as it offers one.

        `answered` is set when the first one has begun, or has failed.
        """
        last_id, empty = "", 0
        while True:
            fields = {"Accept": "text/event-stream"} | (
                {"Last-Event-ID": last_id} if last_id else {}
            )
            decoder, retry = Decoder(MAX_MESSAGE), REST_S[min(empty, len(REST_S) - 1)]
            empty += 1
            with contextlib.suppress(ClientError, EventTooLarge, LinkError):
                async with await self._ask("GET", fields) as response:
                    answered.set()
                    kind = response.headers.get("content-type", "").lower()
                    if response.status != 200 or not kind.startswith("text/event-stream"):
                        return
                    async with aclosing(response.chunks()) as chunks:
                        async for data in chunks:
                            for event in decoder.feed(data):
                                last_id, empty = event.id or last_id, 0
                                await self._handle_event(event.data, None)
            answered.set()
            if decoder.retry is not None:
                retry = max(retry, min(decoder.retry, MAX_RETRY_MS) / 1000)
            await asyncio.sleep(retry)

    async def _handle_event(self, data: str, request_id: Any) -> Json | None:
        """Handle the messages of one event and return the answer, if it is among them."""
        answer = None
        for message in parse_messages(data):
            if "method" not in message:
                answer = message if answered_id(message) == request_id else answer
            elif reply := self.inbox.take(message, self._send_aside, request_id):
                await self.send(reply)
        return answer

    def _whole(self, body: bytes, request_id: Any) -> Json:
        if not (messages := parse_messages(body)):
            raise LinkError(f"{self.host} sent an answer that is not a JSON object")
        for message in messages:
            if answered_id(message) == request_id or "error" in message:
                return message
        raise LinkError(f"{self.host} answered a request that was not made")


def _is_session_unknown(status: int, said: bytes) -> bool:
    """Return whether a response means that the server does not know our session id.

    That is 404 by the specification. Early examples, and servers copied from them, send 400 with a
    text about the session.
    """
    return status == 404 or (status == 400 and b"session" in said.lower())
