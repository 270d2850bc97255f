"""Export finished spans: OTLP over HTTP as JSON, or lines of the same JSON in a file.

parts.py adds spans, a task of the exporter sends them in batches. A run never waits for
it and never fails because of it. A span that does not fit the queue, or is not accepted in three
attempts, is dropped, counted and logged. https://opentelemetry.io/docs/specs/otlp/#otlphttp
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from contextvars import Context
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ...lib import strict_json
from ...lib.http.client import Client, ClientError, Timeouts
from ...telemetry import log
from ...telemetry.log import RotatingFile, Rotation
from ...telemetry.redact import mask, mask_all
from .spans import Span, otlp

BATCH = 512
INTERVAL_S = 1.0  # the longest time that a span waits for others
ATTEMPTS = 3
PAUSES_S = (1.0, 4.0)
LAST_S = 5.0  # to send the rest of the queue when the server stops
TIMEOUTS = Timeouts(connect=5, first_byte=10, idle=10, total=10)
AGAIN = (429, 502, 503, 504)  # OTLP: retryable
MAX_ANSWER = 65_536
LONGEST = 65_536  # characters of one attribute

logger = log.get("tracing")


class Exporter:
    """A queue of spans and the task that sends them.

    `config` is `server.tracing`; the exporter is off if that has neither a URL nor a file.
    `folder`: of that file. `sent` and `dropped` count spans.
    """

    def __init__(
        self,
        config: Mapping[str, Any],
        folder: Path,
        rotation: Rotation,
        client: Client,
        version: str,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        last_s: float = LAST_S,
    ) -> None:
        self._url = address(config["url"])
        self._file = RotatingFile(folder / config["file"], rotation) if config["file"] else None
        self.on = bool(self._url or self._file)
        self._headers = {"content-type": "application/json", **config["headers"]}
        self._resource = {"service.name": config["service_name"], "service.version": version}
        self._most: int = config["max_queue"]
        self.content: bool = config["content"]
        self._client, self._sleep, self._last_s = client, sleep, last_s
        self._queue: deque[Span] = deque()
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.sent = self.dropped = 0
        self._failing = self._unfiled = False
        self._filed = 0  # spans at the head of the queue that are, or will be, in the file
        self._filing: asyncio.Future[str] | None = None  # the write of them, and why it failed

    def open(self) -> None:
        """Start the task, unless it runs."""
        if self._task is None:
            # Not in the context of the run that begins it
            self._task = asyncio.create_task(self._pump(), context=Context())

    def add(self, span: Span) -> None:
        """Queue a span, or drop it if the queue is full. Never waits."""
        if len(self._queue) >= self._most:
            self._drop(1, "the queue is full")
            return
        self._queue.append(span)
        if len(self._queue) >= BATCH:
            self._wake.set()

    async def close(self) -> None:
        """Stop the task and send what is left, for LAST_S at most."""
        if self._task is None:
            return
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        self._task = None
        with suppress(TimeoutError):
            async with asyncio.timeout(self._last_s):
                while self._queue:
                    await self._send_next()
        if self._queue:
            self._drop(len(self._queue), "the server stops")
        if self._file:
            self._file.close()

    def info(self) -> dict[str, Any]:
        """Return the exporter's part of `/info`."""
        return {"on": self.on, "content": self.content, "sent": self.sent, "dropped": self.dropped}

    async def _pump(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(INTERVAL_S):
                    await self._wake.wait()
            self._wake.clear()
            while self._queue:
                await self._send_next()

    async def _send_next(self) -> None:
        size = self._filed or min(BATCH, len(self._queue))
        batch = [self._queue.popleft() for _ in range(size)]
        try:
            await self._send(batch)
        except asyncio.CancelledError:
            self._queue.extendleft(reversed(batch))  # `close` sends them or counts them as dropped
            raise

    async def _send(self, batch: list[Span]) -> None:
        body = await asyncio.to_thread(encode, batch, self._resource)
        why = ""
        if self._file:
            if self._filing is None:
                writing = asyncio.to_thread(_append, self._file, body + b"\n")
                self._filed, self._filing = len(batch), asyncio.ensure_future(writing)
            # Shielded: a write that no thread has begun would be cancelled with this
            why = await asyncio.shield(self._filing)
        if self._url:
            if why and not self._unfiled:
                logger.warning("traces are sent and not filed: %s", why)
            self._unfiled = bool(why)
            why = await self._post(body, len(batch))
        self._filed, self._filing = 0, None
        if why:
            self._drop(len(batch), why)
        else:
            self.sent += len(batch)
            self._failing = False

    async def _post(self, body: bytes, size: int) -> str:
        """Send a batch of `size` spans. Returns why none was accepted, else ""."""
        why = ""
        for attempt in range(ATTEMPTS):
            if attempt:
                await self._sleep(PAUSES_S[attempt - 1])
            try:
                response = await self._client.request(
                    "POST", self._url, self._headers, body, timeouts=TIMEOUTS, resendable=True
                )
                said = await response.read(MAX_ANSWER)
            except ClientError as error:
                why = error.message
                continue
            if 200 <= response.status < 300:
                return self._rejected(said, size)
            why = f"{urlsplit(self._url).hostname} answers {response.status}"
            if response.status not in AGAIN:
                break
        return why

    def _rejected(self, said: bytes, size: int) -> str:
        """Count the spans that a partial success rejected.

        Returns why if it rejected all, else "".
        """
        with suppress(strict_json.JSONError, AttributeError, TypeError, ValueError):
            partial = strict_json.loads(said).get("partialSuccess") or {}
            count = min(int(partial.get("rejectedSpans") or 0), size)
            why = str(partial.get("errorMessage"))[:200]
            if count == size:
                return why
            if count > 0:
                self._drop(count, why)
                self.sent -= count  # the caller counts the whole batch as sent
        return ""

    def _drop(self, count: int, why: str) -> None:
        self.dropped += count
        if not self._failing:  # one warning until a batch is sent again
            logger.warning("%d spans are lost: %s (%d so far)", count, why, self.dropped)
        self._failing = True


def address(url: str) -> str:
    """Return the URL for traces: the usual path is added to a collector's base URL."""
    return url.rstrip("/") + "/v1/traces" if url and urlsplit(url).path in ("", "/") else url


def encode(batch: list[Span], resource: Mapping[str, Any]) -> bytes:
    """Encode a batch as the body of one request, with secrets masked. Changes the spans."""
    for span in batch:
        span.name, span.error = mask(span.name), mask(span.error)
        span.attributes = {key: _safe(value) for key, value in span.attributes.items()}
    return strict_json.dumps(otlp(batch, resource, resource["service.version"])).encode(
        "utf-8", "replace"
    )


def _safe(value: Any) -> Any:
    """Return an attribute with secrets masked; nested values become JSON, long texts are cut."""
    value = mask_all(value)
    if isinstance(value, dict) or (isinstance(value, list) and any(map(_is_open, value))):
        value = strict_json.dumps(value)
    if isinstance(value, str) and len(value) > LONGEST:
        return f"{value[:LONGEST]}… ({len(value)} characters)"
    return value


def _is_open(value: Any) -> bool:
    return isinstance(value, dict | list)


def _append(file: RotatingFile, line: bytes) -> str:
    try:
        file.write(line)
    except OSError as error:
        return f"{file.path.name}: {error.strerror}"
    return ""
