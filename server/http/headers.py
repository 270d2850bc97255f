"""Parse and write HTTP/1.1 header fields, and derive the framing of a message from them.

Used by `parser` for field lines and framing, by `listener` for the Host check. Input that RFC 9110
and 9112 do not allow is refused with a status, never repaired: two readers that repair a message
differently make request smuggling possible.

ProtocolError           the peer broke HTTP; `.status` is the status to answer with
└ Truncated             the peer closed the connection inside a message
"""

from __future__ import annotations

import ipaddress
import re
import time
from collections.abc import Collection, Mapping
from functools import lru_cache
from http import HTTPStatus
from typing import Literal, NamedTuple

# Equal names share one string. Not `sys.intern`: Python 3.12.0 to 3.12.4 never free interned
# strings (gh-113993), and the names come from peers.
_shared = lru_cache(maxsize=256)(str)

TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"  # RFC 9110 section 5.6.2
TEXT = rb"[\t\x20-\x7e\x80-\xff]*"  # field values, reasons, extensions: no CR, LF, NUL or control

_FIELD = re.compile(rb"(" + TOKEN + rb"):[ \t]*(" + TEXT + rb")")
_NAME = re.compile(TOKEN.decode())
_VALUE = re.compile(TEXT.decode("latin-1"))
_DIGITS = re.compile(r"[0-9]+", re.ASCII)
_AUTHORITY = re.compile(r"([A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{0,5}))?", re.ASCII)
_MAX_LENGTH_DIGITS = 18  # below 2**63; int() of 4,300 digits would raise on its own

PHRASES = {status.value: status.phrase for status in HTTPStatus}
_DAYS = "Mon Tue Wed Thu Fri Sat Sun".split()
_MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


class ProtocolError(Exception):
    """A violation of HTTP or of a limit. `status` is the status to answer with."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class Truncated(ProtocolError):
    """The peer closed the connection before the message was complete."""


class Framing(NamedTuple):
    """How a body ends: after `length` bytes, with the last chunk, or when the peer closes."""

    kind: Literal["length", "chunked", "close"]
    length: int = 0


NO_BODY = Framing("length", 0)
CHUNKED = Framing("chunked")
UNTIL_CLOSE = Framing("close")


def add_field(fields: dict[str, str], line: bytes) -> None:
    """Add one field line. Names become lower case; repeats are joined (RFC 9110 section 5.3).

    Raises ProtocolError for an invalid line and for a second Host.
    """
    match = _FIELD.fullmatch(line)
    if match is None:
        if line[:1] in (b" ", b"\t"):
            raise ProtocolError("a header line may not be folded")
        raise ProtocolError("a header line is not valid")
    name = _shared(match[1].decode("ascii").lower())
    value = match[2].rstrip(b" \t").decode("latin-1")
    if name not in fields:
        fields[name] = value
    elif name == "host":
        raise ProtocolError("Host appears twice")
    else:
        fields[name] = f"{fields[name]}, {value}"


def request_framing(fields: Mapping[str, str], version: str) -> Framing:
    """Return the framing of a request's body (RFC 9112 section 6.3).

    Raises ProtocolError for ambiguous framing.
    """
    if "transfer-encoding" in fields:
        if "content-length" in fields:
            raise ProtocolError("Content-Length and Transfer-Encoding exclude each other")
        if version == "1.0":
            raise ProtocolError("HTTP/1.0 has no Transfer-Encoding")
        return _chunked_only(fields["transfer-encoding"])
    if "content-length" in fields:
        return Framing("length", _content_length(fields["content-length"]))
    return NO_BODY


def response_framing(
    fields: Mapping[str, str], version: str, status: int, method: str
) -> tuple[Framing, bool]:
    """Return the framing of a response's body, and whether the connection may be used again.

    If both are present, Transfer-Encoding overrides Content-Length and the connection is closed
    afterwards (RFC 9112 section 6.3): some gateways send both, and a client cannot be used for
    smuggling. Raises ProtocolError.
    """
    reusable = keeps_alive(fields, version)
    if method == "HEAD" or status in (204, 304):
        return NO_BODY, reusable
    if "transfer-encoding" in fields:
        if version == "1.0":
            raise ProtocolError("HTTP/1.0 has no Transfer-Encoding")
        framing = _chunked_only(fields["transfer-encoding"])
        return framing, reusable and "content-length" not in fields
    if "content-length" in fields:
        return Framing("length", _content_length(fields["content-length"])), reusable
    return UNTIL_CLOSE, False


def keeps_alive(fields: Mapping[str, str], version: str) -> bool:
    """Return whether the sender keeps the connection after this message (RFC 9112 section 9.3)."""
    if "connection" not in fields:
        return version != "1.0"
    options = [option.strip().lower() for option in fields["connection"].split(",")]
    return "close" not in options and (version != "1.0" or "keep-alive" in options)


def _chunked_only(value: str) -> Framing:
    codings = [coding.strip().lower() for coding in value.split(",")]
    if codings == ["chunked"]:
        return CHUNKED
    if codings[-1] != "chunked" or codings.count("chunked") > 1:
        raise ProtocolError("Transfer-Encoding must end in exactly one chunked")
    raise ProtocolError("chunked is the only Transfer-Encoding here", 501)


def _content_length(value: str) -> int:
    lengths = {length.strip(" \t") for length in value.split(",")}
    length = lengths.pop()
    if lengths or not _DIGITS.fullmatch(length):
        raise ProtocolError("Content-Length is not one number")
    if len(length.lstrip("0")) > _MAX_LENGTH_DIGITS:
        raise ProtocolError("Content-Length is beyond any limit", 413)
    return int(length)


def split_authority(authority: str) -> tuple[str, int | None]:
    """Split `host[:port]` into (lower-case host without brackets, port or None).

    Raises ProtocolError.
    """
    match = _AUTHORITY.fullmatch(authority)
    if match is None or len(match[1]) > 255:
        raise ProtocolError("Host is not valid")
    host = match[1].lower()
    if host.startswith("["):
        host = host[1:-1]
        if _address(host) is None:
            raise ProtocolError("Host is not valid")
    port = int(match[2]) if match[2] else None
    if port is not None and port > 65535:
        raise ProtocolError("Host is not valid")
    return host, port


def host_allowed(authority: str, *, loopback: bool, names: Collection[str] = ()) -> bool:
    """Return whether a Host header may be served; protects against DNS rebinding.

    `loopback`: all our sockets are bound to loopback addresses. Then only loopback names and the
    configured `names` are allowed. Otherwise any valid host is, unless `names` are configured: then
    those, loopback names and IP addresses (rebinding needs a name). Raises ProtocolError.
    """
    host, _ = split_authority(authority)
    host = host.removesuffix(".")
    if host in {name.lower() for name in names} or is_loopback(host):
        return True
    return not loopback and (not names or _address(host) is not None)


@lru_cache(maxsize=256)  # called for each request, incoming and outgoing
def is_loopback(host: str) -> bool:
    """Return whether a host name or address (without brackets or port) is this machine's own."""
    if host == "localhost" or host.endswith(".localhost"):  # RFC 6761 section 6.3
        return True
    address = _address(host)
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return address is not None and address.is_loopback


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def serialize_request(method: str, target: str, fields: Mapping[str, str]) -> bytes:
    """Return a request head as bytes. Raises ValueError for characters that allow injection."""
    if not _NAME.fullmatch(method) or not re.fullmatch(r"[\x21-\x7e]+", target):
        raise ValueError("the address holds what none can, such as a space")  # it may hold a key
    return _serialize(f"{method} {target} HTTP/1.1\r\n", fields)


def serialize_response(status: int, fields: Mapping[str, str]) -> bytes:
    """Return a response head as bytes. Raises ValueError for characters that allow injection."""
    return _serialize(f"HTTP/1.1 {status:03d} {PHRASES.get(status, '')}\r\n", fields)


def http_date(now: int) -> str:
    """Format Unix seconds as an HTTP date (RFC 9110 section 5.6.7), independent of the locale.

    `email.utils.formatdate` does the same, but its import takes 5 ms.
    """
    at = time.gmtime(now)
    day, month = _DAYS[at.tm_wday], _MONTHS[at.tm_mon - 1]
    return f"{day}, {at.tm_mday:02} {month} {at.tm_year} {time.strftime('%H:%M:%S', at)} GMT"


def _serialize(start: str, fields: Mapping[str, str]) -> bytes:
    lines = [start]
    for name, value in fields.items():
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            what = f"the header {name[:80]!r} holds what none can, such as a line break or a “…”"
            raise ValueError(what)  # without the value, which may be a secret
        lines.append(f"{name}: {value}\r\n")
    lines.append("\r\n")
    return "".join(lines).encode("latin-1")
