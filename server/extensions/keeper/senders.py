"""Send notices by ntfy, to a webhook, by e-mail (mail.py): to what the owner has named.

A failure is tried once more, then said: to the log, and to whoever called, for the session. No
address or token is in what is said, as the topic of ntfy is as good as a password.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit, urlunsplit

from ...lib.http.client import Client, ClientError, Timeouts
from ...telemetry import log
from .notices import Notice, ntfy_body, webhook_body
from .rate import Rate

PAUSE_S = 30.0  # before the second try
PATIENCE = Timeouts(connect=10, first_byte=20, idle=10, total=30)
EVERY_S, BURST = 60.0, 5  # of each way

logger = log.get("api")


class SendError(Exception):
    """A notice that did not arrive; its text has no secret."""


class Sender(Protocol):
    """A way to a person."""

    async def send(self, notice: Notice) -> None:
        """Send a notice. Raises SendError."""


class Ntfy:
    """A topic of a server of ntfy. `url`: server and topic; `token`: of a protected topic."""

    def __init__(self, client: Client, url: str, token: str = "") -> None:
        scheme, place, path, *_ = urlsplit(url)
        root, _, self._topic = path.rstrip("/").rpartition("/")
        self._url = urlunsplit((scheme, place, f"{root}/", "", ""))
        self._client, self._token = client, token
        if scheme not in ("http", "https") or not place or not self._topic:
            raise ValueError("the url of ntfy is a server and a topic: https://ntfy.sh/TOPIC")

    async def send(self, notice: Notice) -> None:
        """Send a notice. Raises SendError."""
        headers = {"authorization": f"Bearer {self._token}"} if self._token else {}
        body = ntfy_body(notice, unquote(self._topic))
        await _post(self._client, self._url, headers, body)


class Webhook:
    """An address that takes JSON. `secret`: signs as GitHub does; `template`: webhook_body."""

    def __init__(self, client: Client, url: str, secret: str = "", template: Any = None) -> None:
        self._client, self._url, self._secret, self._template = client, url, secret, template
        if urlsplit(url).scheme not in ("http", "https"):
            raise ValueError("the url of a webhook begins with https:// or http://")

    async def send(self, notice: Notice) -> None:
        """Send a notice. Raises SendError."""
        body = webhook_body(notice, self._template)
        headers = {"x-yaa-delivery": secrets.token_hex(16)}
        if self._secret:
            digest = hmac.digest(self._secret.encode(), body, "sha256").hex()
            headers["x-hub-signature-256"] = f"sha256={digest}"
        await _post(self._client, self._url, headers, body)


async def _post(client: Client, url: str, headers: Mapping[str, str], body: bytes) -> None:
    about = {"content-type": "application/json", "user-agent": "yaa", **headers}
    try:
        async with asyncio.timeout(PATIENCE.total):
            response = await client.request("POST", url, about, body, timeouts=PATIENCE)
            async with response:
                if not 200 <= response.status < 300:  # a redirect too: it could lead anywhere
                    raise SendError(f"it answered {response.status}")
    except ClientError as error:
        raise SendError(error.message) from None
    except TimeoutError:
        raise SendError(f"no answer within {PATIENCE.total:g} s") from None


class Notifier:
    """The ways to people. `senders`: person -> name of a way -> the way."""

    def __init__(
        self,
        senders: Mapping[str, Mapping[str, Sender]],
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        self._senders, self._sleep = senders, sleep
        self._rate = Rate(EVERY_S, BURST)

    async def send(self, person: str, notice: Notice) -> list[str]:
        """Send a notice by all ways to a person; return a sentence for each that failed."""
        ways = self._senders.get(person, {}).items()
        said = await asyncio.gather(*(self._send(person, *way, notice) for way in ways))
        return [text for text in said if text]

    async def _send(self, person: str, name: str, sender: Sender, notice: Notice) -> str:
        problem = f"more than {BURST} notices at once"
        if not self._rate.take((person, name)):
            for pause_s in (PAUSE_S, 0.0):
                try:
                    await sender.send(notice)
                    return ""
                except SendError as error:
                    problem = str(error)
                if pause_s:
                    await self._sleep(pause_s)
        text = f"The notice by {name} was not sent: {problem}"
        logger.warning("%s", text)
        return text
