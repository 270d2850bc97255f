"""An HTTP/1.1 client with streaming responses, connection reuse and limits on time and size.

`models` sends its requests to providers with it, `tools` those to HTTP APIs and MCP servers. Each
phase has a time limit. Cancelling the reading task closes the socket at once. Redirects are never
followed, since they could send a key to an address that is not configured. With `public_only` no
request can reach the local network.
"""

from __future__ import annotations

import asyncio
import base64
import ipaddress
import socket
import ssl
import zlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, suppress
from contextvars import Context
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import quote, unquote, urlsplit

from .connection_pool import (
    ClientConnection,
    ClientError,
    ClientExchange,
    ConnectionPool,
    Timeouts,
    plain,
)
from .parser import MessageLimits, is_loopback, serialize_request

# -- ssrf -----------------------------------------------------------------------------------------
# Protection against server-side request forgery: only public addresses are allowed.
#
# `client` uses it for URLs from sessions and for fetched pages. A name is resolved once and the
# connection goes to the checked address, so DNS rebinding between check and use has no effect.

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], Awaitable[list[str]]]  # (host, port) → addresses

# An IPv6 range that embeds IPv4 addresses and that `ipaddress` calls global.
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
# Special ranges that `ipaddress` calls global in some supported Pythons. The position of the IPv4
# address inside 64:ff9b:1::/48 depends on the local network (RFC 8215), so all of it is refused.
_SPECIAL = tuple(
    map(
        ipaddress.ip_network,
        ("192.0.0.0/24", "192.88.99.0/24", "fec0::/10", "2001::/23", "3fff::/20", "5f00::/16")
        + ("64:ff9b:1::/48",),
    )
)
# A public address that reaches the host's own services inside Azure: DNS and agents
# (learn.microsoft.com, "What is IP address 168.63.129.16?"). Those of other clouds are link-local,
# unique local or in the shared range 100.64.0.0/10, which are not global anyway.
_NOT_PUBLIC = (*_SPECIAL, ipaddress.ip_network("168.63.129.16/32"))
_IPV4_COMPATIBLE = ipaddress.IPv6Network("::/96")


def is_public(text: str) -> bool:
    """Return whether `text` is an address of the public internet; False for a name.

    IPv6 addresses that embed an IPv4 address are judged by that one.
    """
    address = address_of(text)
    if address is None:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        inner = _embedded(address)
        if inner is not None:
            return is_public(str(inner))
    special = address.is_multicast or address.is_reserved or address.is_unspecified
    return address.is_global and not special and not any(address in net for net in _NOT_PUBLIC)


@lru_cache(maxsize=256)
def address_of(text: str) -> Address | None:
    """Parse an address and drop its zone; None for a name."""
    try:
        return ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None


async def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a host, in the system's order. Raises OSError."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


async def resolve_public(host: str, port: int, ask: Resolve = resolve) -> list[str]:
    """Return the addresses of a host if all are public, else []. Raises OSError."""
    addresses = await ask(host, port)
    return addresses if all(map(is_public, addresses)) else []


def _embedded(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    if address.ipv4_mapped:
        return address.ipv4_mapped
    if address.sixtofour:
        return address.sixtofour
    if address.teredo:
        return address.teredo[1]
    if any(address in network for network in (_NAT64, _IPV4_COMPATIBLE)):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return None


# -- client ---------------------------------------------------------------------------------------

# -- decompress -----------------------------------------------------------------------------------
# Decompress response bodies (gzip and deflate), with a limit on the output.
#
# `client` requests uncompressed responses, but some gateways compress anyway. A few kilobytes can
# expand to gigabytes, so the output comes in pieces and is limited.

PIECE = 64 * 1024  # bytes
_GZIP = 16 + zlib.MAX_WBITS  # `wbits` that select gzip in zlib


class Inflater:
    """A decompressor of one body. `coding`: its Content-Encoding. `limit`: most bytes of output."""

    def __init__(self, coding: str, limit: int) -> None:
        self._coding, self._left = coding, limit
        self._decoder: zlib._Decompress | None = None

    @property
    def is_broken_off(self) -> bool:
        """Return whether the compressed data has begun and is not complete."""
        return self._decoder is not None and not self._decoder.eof

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the decompressed bytes of `data`, in pieces of at most PIECE bytes.

        Raises ValueError for invalid data, an unsupported coding, or output beyond the limit.
        """
        decoder = self._decoder = self._decoder or self._new_decompressor(data)
        piece = bytes(PIECE)
        while len(piece) == PIECE and not decoder.eof:
            try:
                piece = decoder.decompress(data, PIECE)
            except zlib.error:
                raise ValueError(f"sent what is not {self._coding:.20}") from None
            data = decoder.unconsumed_tail
            self._left -= len(piece)
            if self._left < 0:
                raise ValueError("sent too much, compressed")
            if piece:
                yield piece

    def _new_decompressor(self, data: bytes) -> zlib._Decompress:
        if self._coding in ("gzip", "x-gzip"):
            return zlib.decompressobj(_GZIP)
        if self._coding != "deflate":
            raise ValueError(f"compressed its answer ({self._coding:.20})")
        # With a zlib header (RFC 9110 section 8.4.1.2) or, from some servers, without.
        has_header = data[0] & 15 == zlib.DEFLATED
        return zlib.decompressobj(zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS)


# -- proxy ----------------------------------------------------------------------------------------
# Proxies from the environment: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY, in either case.
#
# Used by `client`. Loopback hosts are never reached through a proxy, and no message holds a proxy's
# password.


@dataclass(frozen=True)
class Proxy:
    """An HTTP proxy. `authorization` is the value of Proxy-Authorization, or ""."""

    scheme: str
    host: str
    port: int
    authorization: str = field(default="", repr=False)


def proxy_for(scheme: str, host: str, port: int, env: Mapping[str, str]) -> Proxy | None:
    """Return the proxy for an origin, or None. Raises ValueError for an unusable proxy URL."""
    if is_loopback(host) or _excepted(host, port, _setting(env, "no_proxy")):
        return None
    url = _setting(env, f"{scheme}_proxy") or _setting(env, "all_proxy")
    if not url:
        return None
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        its_port = parts.port or (443 if parts.scheme == "https" else 80)
        if "@" in parts.path + parts.query + parts.fragment:
            raise ValueError
    except ValueError:  # its text may quote the password: in "me:pa#ss@host" the port is "pa"
        text = f"the proxy for {scheme} is no address such as http://name:3128"
        raise ValueError(f"{text}; in a password # / ? are written %23 %2F %3F") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"the {parts.scheme} proxy for {scheme} is not an HTTP one")
    authorization = ""
    if parts.username:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = "Basic " + base64.b64encode(pair.encode()).decode()
    return Proxy(parts.scheme, parts.hostname, its_port, authorization)


def _setting(env: Mapping[str, str], name: str) -> str:
    return (env.get(name) or env.get(name.upper()) or "").strip()


def _excepted(host: str, port: int, exceptions: str) -> bool:
    """Return whether NO_PROXY excludes a host: names with subdomains, addresses, ranges, ports.

    The syntax is that of curl and Go.
    """
    host = host.lower().rstrip(".")
    for entry in exceptions.lower().replace(",", " ").split():
        name, colon, number = entry.rpartition(":")
        if colon and number.isdecimal() and ":" not in name:
            if int(number) != port:
                continue
            entry = name
        suffix = entry.removeprefix("*").removeprefix(".")
        if entry == "*" or host == suffix or (suffix and host.endswith(f".{suffix}")):
            return True
        if "/" in entry and _in_range(host, entry):
            return True
    return False


def _in_range(host: str, network: str) -> bool:
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


# -- client ---------------------------------------------------------------------------------------

__all__ = ["Client", "ClientError", "Response", "Timeouts"]

MAX_RESPONSE = 100 * 1024 * 1024  # bytes
MAX_IDLE_PER_ORIGIN = 64  # as many as runs at once, by default
IDLE_S = 30.0  # most servers close an idle connection after 60-75 s
ATTEMPT_S = 0.25  # head start of one address family over the other (RFC 8305 section 5)
RESENDABLE = frozenset({"GET", "HEAD", "PUT", "DELETE", "OPTIONS"})  # RFC 9110 section 9.2.2

_SAFE = "/%:@!$&'()*+,;=~-._?"


@dataclass(frozen=True)
class Origin:
    """The server of a URL and how to reach it. Connections are reused per origin."""

    scheme: str
    host: str
    port: int
    public_only: bool
    proxy: Proxy | None

    @property
    def where(self) -> str:
        """Return `host[:port]`, without the default port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = self.port == (443 if self.scheme == "https" else 80)
        return host if usual else f"{host}:{self.port}"

    @property
    def tunnels(self) -> bool:
        """Return whether the proxy is used through CONNECT."""
        return self.proxy is not None and (self.scheme == "https" or self.public_only)


class Response:
    """A response whose body may still be arriving. Header names are lower-case.

    `limit`: most bytes of a decompressed body.
    """

    def __init__(self, exchange: ClientExchange, limit: int) -> None:
        assert exchange.head is not None
        self.status: int = exchange.head.status
        self.headers: dict[str, str] = exchange.head.headers
        coding = self.headers.get("content-encoding", "").lower()
        self._inflater = None if coding in ("identity", "") else Inflater(coding, limit)
        self._exchange = exchange

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        """Yield the pieces of the body as they arrive. Raises ClientError.

        Leaving the loop early, or being cancelled in it, closes the connection.
        """
        exchange = self._exchange
        try:
            while True:
                if exchange.pieces and self._inflater is None:
                    yield exchange.take()
                elif exchange.pieces:
                    for piece in self._inflate(exchange.take()):
                        yield piece
                elif exchange.error is not None:
                    raise ClientError(exchange.error.kind, exchange.error.message)
                elif exchange.done:
                    self._check_end()
                    return
                else:
                    await exchange.wait()
        finally:
            await self.close()

    def _inflate(self, data: bytes) -> Iterator[bytes]:
        """Yield decompressed data, for servers that ignore `Accept-Encoding: identity`."""
        assert self._inflater is not None
        try:
            yield from self._inflater.feed(data)
        except ValueError as error:
            if self.status < 400:  # for an error the status is enough
                where = self._exchange.connection.where
                raise ClientError("protocol", f"{where} {error}") from None

    def _check_end(self) -> None:
        if self._inflater is not None and self._inflater.is_broken_off and self.status < 400:
            text = f"{self._exchange.connection.where} broke off in what it compressed"
            raise ClientError("closed", text)

    async def read(self, max_bytes: int) -> bytes:
        """Return the whole body. Raises ClientError, also beyond `max_bytes`."""
        body = bytearray()
        async for piece in self.chunks():
            body += piece
            if len(body) > max_bytes:
                await self.close()
                where = self._exchange.connection.where
                raise ClientError("protocol", f"{where} sent more than {max_bytes} bytes")
        return bytes(body)

    async def read_prefix(self, max_bytes: int) -> bytes:
        """Return the first bytes of the body, at most `max_bytes`. A broken connection ends it."""
        body = bytearray()
        with suppress(ClientError):
            async with aclosing(self.chunks()) as pieces:
                async for piece in pieces:
                    body += piece
                    if len(body) >= max_bytes:
                        break
        return bytes(body[:max_bytes])

    def release(self) -> None:
        """Discard the rest of the body, and keep the connection if the rest is short.

        Servers send an end mark after the last event. Call this before leaving `chunks`.
        """
        self._exchange.release()

    def limit_time(self, seconds: float) -> None:
        """Limit the time for the rest of the body to `seconds` from now."""
        self._exchange.limit_time(seconds)

    def limit_idle(self, seconds: float | None) -> None:
        """Replace the limit of silence between two reads; None: no limit."""
        self._exchange.limit_idle(seconds)

    async def close(self) -> None:
        """Close the connection, unless the body is complete: then it is reused."""
        self._exchange.abort(ClientError("closed", "closed here"))

    async def __aenter__(self) -> Response:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class Client:
    """An HTTP client for many servers, bound to one event loop.

    `env`: environment variables, for the proxies. `max_response`: bytes of a body. Tests replace
    the system's trusted certificates with `tls` and its name resolution with `resolve`.
    """

    def __init__(
        self,
        env: Mapping[str, str] | None = None,
        *,
        tls: ssl.SSLContext | None = None,
        max_response: int = MAX_RESPONSE,
        resolve: Resolve = resolve,
    ) -> None:
        self._env = dict(env or {})
        self._tls, self._resolve = tls, resolve
        self._limits = MessageLimits(body=max_response)
        self._pool = ConnectionPool(MAX_IDLE_PER_ORIGIN, IDLE_S)
        self._place = lru_cache(maxsize=128)(self._locate)  # most requests go to a few URLs

    async def request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        *,
        timeouts: Timeouts | None = None,
        public_only: bool = False,
        resendable: bool | None = None,
    ) -> Response:
        """Send a request and return the response once its head has arrived. Raises ClientError.

        `public_only` refuses hosts outside the public internet. `resendable` (by default: whether
        the method is idempotent) allows a second try on a new connection if a kept one turns out to
        be closed before any byte of the response.
        """
        timeouts = timeouts or Timeouts()
        started = asyncio.get_running_loop().time()
        origin, target = self._place(url, public_only)
        message = self._message(method, origin, target, headers or {}, body)
        again = method in RESENDABLE if resendable is None else resendable
        kept = self._pool.take(origin)
        if kept is not None:
            # It may be dead: a router dropped it, or this machine was asleep. A request that can be
            # sent again waits no longer than a new connection may take.
            kept.expect_confirmation(timeouts.connect if again else None)
        while True:
            connection = kept or await self._connect(origin, timeouts, started)
            exchange = connection.start(method, message, self._limits, timeouts, started)
            if not await self._head(exchange, may_be_stale=kept is not None and again):
                return Response(exchange, self._limits.body)
            kept = None

    async def is_public(self, url: str) -> bool:
        """Return whether the host of a URL is of the public internet, or unknown."""
        try:
            host = urlsplit(url).hostname or ""
            return is_public(host) or bool(await resolve_public(host, 0, self._resolve))
        except (OSError, ValueError):
            return True

    async def close(self) -> None:
        """Close every connection. A response that is still being read ends in a ClientError."""
        self._pool.close()

    def _locate(self, url: str, public_only: bool) -> tuple[Origin, str]:
        try:
            parts = urlsplit(url)
            host, port = (parts.hostname or "").encode("idna").decode() or "", parts.port
            scheme = parts.scheme.lower()
            if scheme not in ("http", "https") or not host or parts.username is not None:
                raise ValueError
            port = port or (443 if scheme == "https" else 80)
        except ValueError:  # its text may quote a password, so it is not shown
            text = "an address is http:// or https://, a host and maybe a port, without a password"
            raise ClientError("refused", text) from None
        try:
            proxy = proxy_for(scheme, host, port, self._env)
        except ValueError as error:
            raise ClientError("refused", str(error)) from None
        target = quote(parts.path or "/", safe=_SAFE)
        if parts.query:
            target += "?" + quote(parts.query, safe=_SAFE + "[]")
        return Origin(scheme, host, port, public_only, proxy), target

    def _message(
        self, method: str, origin: Origin, target: str, headers: Mapping[str, str], body: bytes
    ) -> bytes:
        fields = {"host": origin.where, "accept-encoding": "identity"}
        fields |= {name.lower(): value for name, value in headers.items()}
        if body or method in ("POST", "PUT", "PATCH"):
            fields["content-length"] = str(len(body))
        if origin.proxy and not origin.tunnels:  # RFC 9112 section 3.2.2
            target = f"{origin.scheme}://{origin.where}{target}"
            if origin.proxy.authorization:
                fields["proxy-authorization"] = origin.proxy.authorization
        try:
            return serialize_request(method, target, fields) + body
        except ValueError as error:
            raise ClientError("refused", f"nothing was sent: {error}") from None

    async def _head(self, exchange: ClientExchange, *, may_be_stale: bool) -> bool:
        """Wait for the head. Return True if a kept connection was closed before any answer."""
        try:
            while exchange.head is None and exchange.error is None:
                await exchange.wait()
        except asyncio.CancelledError:
            exchange.abort(ClientError("closed", "cancelled"))
            raise
        if exchange.error is None or exchange.head is not None:
            return False
        if may_be_stale and exchange.error.kind == "closed" and not exchange.touched:
            return True
        raise ClientError(exchange.error.kind, exchange.error.message)

    # -- connecting -------------------------------------------------------------------------------

    async def _connect(
        self, origin: Origin, timeouts: Timeouts, started: float
    ) -> ClientConnection:
        limits = [each for each in (timeouts.connect, timeouts.total) if each is not None]
        limit = min(limits, default=None)
        where = origin.where
        if (hop := origin.proxy) is not None:  # the error may come from either of the two
            where += f" (through the proxy {hop.host}:{hop.port})"
        try:
            async with asyncio.timeout(limit):
                return await self._open(origin)
        except TimeoutError:
            text = f"{where} could not be reached within {limit:g} s"
            raise ClientError("timeout", text) from None
        except ssl.SSLCertVerificationError as error:
            text = f"the certificate of {where} is not trusted: {error.verify_message}"
            raise ClientError("tls", text) from None
        except ssl.SSLError as error:
            text = f"no secure connection to {where}: {plain(error)}"
            raise ClientError("tls", text) from None
        except (OSError, UnicodeError) as error:
            reason = plain(error) if isinstance(error, OSError) else "not a valid name"
            raise ClientError("connect", f"{where} cannot be reached: {reason}") from None

    async def _open(self, origin: Origin) -> ClientConnection:
        addresses = [origin.host]
        if origin.public_only:
            addresses = await resolve_public(origin.host, origin.port, self._resolve)
            if not addresses:
                text = f"{origin.where} is not on the public internet"
                raise ClientError("refused", text)
        if origin.proxy is not None:
            hop = origin.proxy
            connection = await self._dial(origin, [hop.host], hop.port, hop.scheme, hop.host)
            if origin.tunnels:
                await self._tunnel(connection, origin, addresses[0])
            return connection
        return await self._dial(origin, addresses, origin.port, origin.scheme, origin.host)

    async def _dial(
        self, origin: Origin, hosts: list[str], port: int, scheme: str, name: str
    ) -> ClientConnection:
        loop = asyncio.get_running_loop()
        tls = self._context() if scheme == "https" else None
        races = hosts == [name] and address_of(name) is None  # a name may have several addresses
        for host in hosts:
            connection = ClientConnection(origin.where, origin, self._pool)
            try:
                opening = loop.create_connection(
                    lambda conn=connection: conn,
                    host,
                    port,
                    ssl=tls,
                    server_hostname=name if tls else None,
                    happy_eyeballs_delay=ATTEMPT_S if races else None,
                )
                # An idle connection would keep the context of a run, and with it the session.
                await loop.create_task(opening, context=Context())
            except OSError:
                if host == hosts[-1]:
                    raise
            else:
                return connection
        raise AssertionError("no address")

    async def _tunnel(self, connection: ClientConnection, origin: Origin, address: str) -> None:
        """Open a CONNECT tunnel, with TLS inside for https (RFC 9110 section 9.3.6)."""
        host = f"[{address}]" if ":" in address else address
        authority = f"{host}:{origin.port}"
        fields = {"host": authority}
        if origin.proxy is not None and origin.proxy.authorization:
            fields["proxy-authorization"] = origin.proxy.authorization
        request = serialize_request("CONNECT", authority, fields)
        now = connection.loop.time()
        exchange = connection.start("CONNECT", request, MessageLimits(), Timeouts(), now)
        open_for_good = False
        try:
            await self._head(exchange, may_be_stale=False)
            assert exchange.head is not None
            if not 200 <= exchange.head.status < 300:
                text = f"the proxy refused to connect to {origin.where}: {exchange.head.status}"
                raise ClientError("refused", text)
            connection.exchange = None
            if origin.scheme == "https":
                upgraded = await connection.loop.start_tls(
                    connection.transport,
                    connection,
                    self._context(),
                    server_hostname=origin.host,
                )
                assert upgraded is not None
                connection.adopt(upgraded)
            open_for_good = True
        finally:
            if not open_for_good:
                connection.abort()

    def _context(self) -> ssl.SSLContext:
        """Return the TLS context, created at first use: the system's certificates take 25 ms."""
        if self._tls is None:
            self._tls = ssl.create_default_context()
            self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls
