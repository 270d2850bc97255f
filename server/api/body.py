"""The body of a request, as one JSON object, or what is wrong with it.

In the walk: first thing of every handler that takes a document. The rule of the file: what the
head alone gives away is refused before the body is asked for.
"""

from __future__ import annotations

import asyncio
import zlib
from typing import Any

from .. import jsontext
from ..errors import Problem
from .router import Call

BIG = 1 << 20  # bytes of JSON that are parsed beside the event loop: a megabyte takes 2-10 ms


async def read_object(call: Call, max_bytes: int, code: str = "session_invalid") -> dict[str, Any]:
    """The body, at most `max_bytes` of it plain; `code` is the Problem's where it is no object.

    Raises Problem, JSONError or ProtocolError.
    """
    headers = call.request.headers
    _check_type(headers.get("content-type", ""))
    coding = headers.get("content-encoding", "identity").strip().lower()
    if coding not in ("identity", "gzip"):
        raise Problem("unsupported_media_type", "Content-Encoding: gzip, or none at all")
    data = await call.exchange.body()
    if coding == "gzip":
        data = inflate(data, max_bytes)
    if len(data) > BIG:
        value = await asyncio.to_thread(jsontext.loads, data)
    else:
        value = jsontext.loads(data)
    if not isinstance(value, dict):
        raise Problem(
            code,
            "The body must be one JSON object",
            errors=[{"pointer": "", "detail": "wanted an object"}],
        )
    return value


def inflate(data: bytes, limit: int) -> bytes:
    """Gzip undone, never beyond `limit` bytes: a few kilobytes can hold gigabytes.

    One member, as every encoder makes it: a chain of empty ones costs time without any output.
    """
    decoder = zlib.decompressobj(wbits=31)
    try:
        plain = decoder.decompress(data, limit + 1)
    except zlib.error:
        raise Problem("bad_request", "The body is not valid gzip") from None
    if len(plain) > limit:
        raise Problem("body_too_large", f"Unpacked, the body is larger than {limit} bytes")
    if not decoder.eof or decoder.unused_data:
        raise Problem("bad_request", "The body must be exactly one gzip stream")
    return plain


def _check_type(content_type: str) -> None:
    """Only application/json: text/plain and forms are what any page may send unasked (CSRF). Other
    parameters than charset mean nothing to JSON (RFC 8259 section 11), and clients have them."""
    kind, *parameters = content_type.split(";")
    named = (each.partition("=") for each in parameters)
    codings = {
        value.strip(' "').lower()
        for name, _, value in named
        if name.strip(" ").lower() == "charset"
    }
    if kind.strip().lower() != "application/json" or not codings <= {"utf-8", "utf8"}:
        raise Problem("unsupported_media_type", "Send Content-Type: application/json in UTF-8")
