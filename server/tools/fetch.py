"""The tool `fetch_url`: the server fetches a page, a child reads it.

Each hop, redirects included, goes to a public address that is resolved once (http/client.py), or to
one that the owner listed. No credentials or cookies are sent.
"""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Annotated, Any
from urllib.parse import urljoin, urlsplit

from ..lib.http.client import Client, ClientError, Response, Timeouts, address_of
from . import builtin
from .base import Emit, Invocation, Tool, failure
from .decorators import ADDRESS, Context, ToolError, tool
from .foreign_text import without_citations, without_unseen
from .runner import Job, Outcome, ToolRunner
from .sources import ABOUT, source_id

READER = ("module", f"{builtin.__name__}.html", "readable")  # reads the page in the child
MAX_CHARS = 20_000
MAX_REDIRECTS = 5
MAX_BYTES = 2 * 1024 * 1024
REDIRECTS = (301, 302, 303, 307, 308)
HEADERS = {
    "user-agent": "yaa (self-hosted agent)",
    "accept": "text/html, text/*;q=0.9, application/json;q=0.9, application/xml;q=0.8, */*;q=0.1",
}
TEXTS = ("text/", "application/json", "application/xml", "application/javascript")


@dataclass(frozen=True)
class FetchResponse:
    """A response. `url`: after redirects; `whole`: whether `body` is complete."""

    url: str
    status: int
    content_type: str
    body: bytes
    whole: bool


@tool(destructive=False, idempotent=True, parallel_safe=True)
def fetch_url(
    ctx: Context,
    url: Annotated[str, "Address, http:// or https://", {"maxLength": 4096}, ADDRESS],
    offset: Annotated[int, "First character of the text to return", {"minimum": 0}] = 0,
    max_chars: Annotated[int, "How much text", {"minimum": 100, "maximum": MAX_CHARS}] = 10_000,
) -> dict[str, Any]:
    """Fetch a page or a text from the public web and return it as readable text with its links."""
    raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class FetchTool(Tool):
    """The tool `fetch_url`. `allowed`: hosts on private networks that may be fetched."""

    client: Client = field(compare=False)
    runner: ToolRunner = field(compare=False)
    allowed: Iterable[str] = field(compare=False)

    async def run(self, call: Invocation, emit: Emit) -> Outcome:
        """Fetch a page here and have a child read it."""
        started = time.monotonic()
        try:
            found = await fetch(self.client, call.args["url"], self.allowed, call.limits["wall_s"])
        except ToolError as error:
            wall_ms = round((time.monotonic() - started) * 1000)
            return replace(failure(str(error)), usage={"wall_ms": wall_ms})
        args = {
            "body": found.body.decode("latin-1"),
            "content_type": found.content_type,
            "url": found.url,
            "offset": call.args.get("offset", 0),
            "max_chars": call.args.get("max_chars", 10_000),
        }
        state = call.session.get("ext", {})
        job = Job(READER, args, call.session["id"], call.limits, state, owner=call.owner)
        name = source_id(call.session, call.call_id, 1)
        return _page_outcome(found, await self.runner.run(job), name)


def _page_outcome(found: FetchResponse, outcome: Outcome, name: str) -> Outcome:
    """Return the child's text with the page's URL and status; an error for statuses from 400.

    `name`: the id by which an answer cites the page.
    """
    if outcome.status != "ok":
        return outcome
    told = {"about": ABOUT.format(name), "id": name, "url": found.url, "status": found.status}
    said = {key: _harmless(value) for key, value in outcome.result.items()}
    result = {**told, **said}
    if not found.whole:
        result["cut_after_bytes"] = MAX_BYTES
    if found.status < 400:
        return replace(outcome, result=result, sources={name: ""})
    text = f"{found.url[:200]} answered {found.status}: {outcome.result['text'][:500]}"
    return replace(outcome, status="error", error={"type": "error", "message": text})


def _harmless(value: Any) -> Any:
    """Return a text of the page without unseen characters and marks of citations."""
    return without_citations(without_unseen(value)) if isinstance(value, str) else value


async def fetch(client: Client, url: str, allowed: Iterable[str], seconds: float) -> FetchResponse:
    """GET a page, at most MAX_BYTES of it, within `seconds`. Raises ToolError."""
    timeouts = Timeouts(connect=min(10.0, seconds), idle=min(20.0, seconds), total=seconds)
    for _ in range(MAX_REDIRECTS + 1):
        try:
            public_only = not is_listed(url, allowed)
            response = await client.request(
                "GET", url, HEADERS, timeouts=timeouts, public_only=public_only
            )
            async with response:
                target = response.headers.get("location", "")
                if response.status in REDIRECTS and target:
                    url = urljoin(url, target).partition("#")[0]
                    continue
                return await _read(response, url)
        except ClientError as error:
            raise ToolError(_explain(error)) from None
        except ValueError:
            raise ToolError(f"{url[:200]!r} is no address") from None
    raise ToolError(f"more than {MAX_REDIRECTS} redirects, the last to {url[:200]}")


def is_listed(url: str, allowed: Iterable[str]) -> bool:
    """Return whether the owner lists this host: by name, by `name:port`, or by its network."""
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    port = parts.port or (443 if parts.scheme == "https" else 80)
    address = address_of(host)
    for entry in allowed:
        if "/" in entry:
            network = ipaddress.ip_network(entry, strict=False)
            if address is not None and address.version == network.version and address in network:
                return True
        elif entry.lower() in (host, f"{host}:{port}"):
            return True
    return False


async def _read(response: Response, url: str) -> FetchResponse:
    content_type = response.headers.get("content-type", "")
    kind = content_type.partition(";")[0].strip().lower()
    if kind and not (kind.startswith(TEXTS) or kind.endswith(("+xml", "+json"))):
        size = response.headers.get("content-length", "an unknown number of")
        raise ToolError(f"{url[:200]} is {kind[:100]} ({size[:20]} bytes), which is no text")
    body = bytearray()
    async for piece in response.chunks():
        body += piece
        if len(body) > MAX_BYTES:
            break
    whole = len(body) <= MAX_BYTES
    return FetchResponse(url, response.status, content_type[:200], bytes(body[:MAX_BYTES]), whole)


def _explain(error: ClientError) -> str:
    if error.kind == "refused":
        return f"not fetched: {error.message}"
    return error.message
