"""Find where to sign in: fetch the metadata of an MCP server and its authorization server.

The addresses come from strangers, so a server of the public internet cannot send this client to
machines of the local network, redirects stay on their origin, and documents are bounded.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urljoin, urlsplit

from ....json_types import Json
from ....lib.http.client import Client, ClientError, Response, Timeouts
from .metadata import (
    UNREACHABLE,
    UNSAFE,
    Issuer,
    OAuthError,
    Resource,
    early_issuer,
    is_same_issuer,
    issuer_addresses,
    origin_of,
    read_issuer,
    read_resource,
    resource_addresses,
    safe_url,
)

MAX_DOCUMENT = 256 * 1024  # bytes
MAX_MOVES = 3  # redirects
WAIT_S = 30.0  # for one document or token
MOVED = (301, 302, 303, 307, 308)


class Web:
    """Requests on behalf of the MCP server at `url`. `trusted`: addresses of the configuration."""

    def __init__(self, client: Client, url: str, *trusted: str) -> None:
        self._client = client
        self._url = url
        self._hosts = {urlsplit(each).hostname for each in (url, *trusted) if each}
        self._limited: bool | None = None  # whether other hosts must be public

    async def get(self, url: str) -> Json | None:
        """Return the JSON object at an address; None if there is none. Raises OAuthError."""
        headers = {"Accept": "application/json", "MCP-Protocol-Version": "2026-07-28"}
        for _ in range(MAX_MOVES + 1):
            status, document, moved = await self._ask("GET", url, headers)
            if not moved:
                break
            target = urljoin(url, moved)
            if origin_of(target) != origin_of(url) or target == url:
                raise OAuthError(f"{origin_of(url)} redirects to another origin", UNSAFE)
            url = safe_url(target, "redirect")
        else:
            raise OAuthError(f"{origin_of(url)} redirects more than {MAX_MOVES} times")
        return document if status == 200 else None

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> tuple[int, Json]:
        """Return status and document of the answer to a POST; {} for what is not JSON.

        A redirect is an error, as the body has secrets. Raises OAuthError.
        """
        status, document, _ = await self._ask("POST", url, headers, body)
        if status in MOVED:
            raise OAuthError(
                f"{origin_of(url)} redirects what may hold a secret; it is not sent", UNSAFE
            )
        return status, document or {}

    async def challenge(self, url: str, headers: Mapping[str, str], body: bytes) -> str:
        """Return WWW-Authenticate of the answer to a POST. Raises OAuthError."""
        try:
            async with asyncio.timeout(WAIT_S):
                response = await self._client.request("POST", url, headers, body, resendable=False)
                async with response:
                    return response.headers.get("www-authenticate", "")
        except TimeoutError:
            raise OAuthError(_silent(url), UNREACHABLE) from None
        except ClientError as error:
            raise OAuthError(error.message, UNREACHABLE) from None

    async def _ask(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b""
    ) -> tuple[int, Json | None, str]:
        """Return (status, JSON object, redirect target). Raises OAuthError for a broken server."""
        public = await self._is_limited(urlsplit(url).hostname or "")
        try:
            async with asyncio.timeout(WAIT_S):
                response = await self._client.request(
                    *(method, url, headers, body),
                    timeouts=Timeouts(connect=10),
                    public_only=public,
                    resendable=False,
                )
                async with response:
                    moved = response.status in MOVED and response.headers.get("location", "")
                    document = None if moved else await _object_of(response)
                    status = response.status
        except TimeoutError:
            raise OAuthError(_silent(url), UNREACHABLE) from None
        except ClientError as error:
            raise OAuthError(error.message, UNREACHABLE) from None
        if status >= 500 or status == 429:
            raise OAuthError(f"{origin_of(url)} answered {status}", UNREACHABLE)
        return status, document, moved or ""

    async def _is_limited(self, host: str) -> bool:
        """Return whether this host must be of the public internet."""
        if host in self._hosts:
            return False
        if self._limited is None:
            self._limited = await self._client.is_public(self._url)
        return self._limited


async def _object_of(response: Response) -> Json | None:
    """Return the JSON object in a body; None for anything else. Raises ClientError if too large."""
    body = await response.read(MAX_DOCUMENT)
    try:
        found: Any = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


async def find_resource(web: Web, url: str, challenge: Mapping[str, str]) -> Resource | None:
    """Return the metadata of the MCP server at `url`; None if it has none. Raises OAuthError."""
    if told := challenge.get("resource_metadata"):
        document = await web.get(safe_url(told, "resource_metadata"))
        if document is None:
            raise OAuthError("there is no document at the address of its resource_metadata")
        return read_resource(document, url)
    for address in resource_addresses(url):
        if document := await web.get(address):
            return read_resource(document, url)
    return None


async def find_issuer(web: Web, issuer: str, *, interactive: bool) -> Issuer:
    """Return the metadata of an authorization server. Raises OAuthError."""
    for address in issuer_addresses(issuer):
        if document := await web.get(address):
            return read_issuer(document, issuer, interactive=interactive)
    raise OAuthError(f"the authorization server {issuer} has no metadata")


async def find_early_issuer(web: Web, url: str) -> Issuer:
    """Return the authorization server that an MCP server of 2025-03-26 is itself.

    Raises OAuthError.
    """
    early = early_issuer(url)
    document = await web.get(issuer_addresses(early.issuer)[0])
    if document is None:
        return early
    told = document.get("issuer")
    if isinstance(told, str) and not is_same_issuer(told, early.issuer):
        if origin_of(told) != early.issuer:
            raise OAuthError(f"{early.issuer} calls itself {told[:200]!r}", UNSAFE)
        return read_issuer(document, told)
    return read_issuer(document, early.issuer)


def _silent(url: str) -> str:
    return f"{origin_of(url)} did not answer within {WAIT_S:g} s"
