"""Read the body of a request as one JSON object, plain or compressed with gzip.

Used by every handler that takes a document. Errors that the head shows are raised before the body
is read.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

from ..errors import Problem, refuse
from ..lib import strict_json
from ..lib.json_schema.validate import validate
from ..lib.runtime.offload import LARGE, offload
from ..lib.strict_json import PER_VALUE, pointer
from .router import RequestContext

GZIP = ("gzip", "x-gzip")  # the same (RFC 9110 section 8.4.1.3)
FREE = 1 << 20  # bytes that gzip data may always expand to
RATIO = 200  # highest ratio beyond FREE; sessions reach 5 to 50, empty data 1,000
PIECE = 1 << 18  # bytes that are unpacked at once
WIDEST = tuple(bytes((lead,)) for lead in range(0xF0, 0xF5))  # begin characters of 4 bytes
SURROGATES = (b"\\ud", b"\\uD")  # begin the escapes of these
PLAIN = 8  # how many times as fast a plain text is decoded and counted than parsed: 1 ms/MB


class BodyLimits(NamedTuple):
    """Limits of a body: `max_request_size` (bytes) and `max_values` (JSON values)."""

    bytes: int
    values: int

    @classmethod
    def of(cls, limits: Mapping[str, Any]) -> BodyLimits:
        """Return the sizes of `server.limits`."""
        return cls(limits["max_request_size"], limits.get("max_values", strict_json.MAX_VALUES))


async def read_object(
    call: RequestContext, sizes: BodyLimits, code: str = "session_invalid"
) -> dict[str, Any]:
    """Return the body as a JSON object of at most `sizes`.

    Raises Problem (with `code` if the body is not an object), JSONError or ProtocolError.
    """
    headers = call.request.headers
    _check_type(headers.get("content-type", ""))
    coding = headers.get("content-encoding", "identity").strip().lower()
    if coding not in ("identity", *GZIP):
        raise Problem(
            "unsupported_media_type",
            "Content-Encoding: gzip, or none at all",
            headers={"Accept-Encoding": "gzip"},  # RFC 9110 section 15.5.16
        )
    sent = await read_bytes(call, partial(_check_size, sizes))
    data: bytes | bytearray = sent
    if coding in GZIP:
        most = min(sizes.bytes, max(FREE, RATIO * len(sent)))
        call.exchange.hold(len(sent) + most + most // 8)  # what grows has some in reserve
        data = await offload(most, inflate, sent, most)
    size = len(data)
    text_size = _text_size(data)
    call.exchange.hold(size + text_size)
    work = size if text_size > 3 * size else size // PLAIN  # strings with wide ones are looked up
    text, seen, strings = await offload(work, _decode_counting, data, sizes.values)
    if seen > sizes.values:
        detail = f"The body has {seen} JSON values; server.limits.max_values is {sizes.values}"
        raise Problem("body_too_large", detail)
    call.values = seen
    kept = size + strings + PER_VALUE * seen
    del data  # of one without gzip the exchange keeps the bytes until it answers
    call.exchange.hold(kept + sys.getsizeof(text))
    # One pattern of a schema may take as long to compile as all of a large document.
    call.size = max(len(text), LARGE) if '"pattern' in text else len(text)
    value = await offload(len(text), strict_json.loads, text, max_values=len(text))
    del text
    call.exchange.hold(kept)
    if not isinstance(value, dict):
        raise Problem(
            code,
            "The body must be one JSON object",
            errors=[{"pointer": pointer(), "detail": "wanted an object"}],
        )
    return value


async def read_bytes(call: RequestContext, check: Callable[[int], object]) -> bytes:
    """Return the body as it was sent. `check` refuses its size, which it says before it is read."""
    length = call.request.headers.get("content-length", "")
    check(int(length) if length.isdigit() else 0)
    data = await call.exchange.body()
    check(len(data))
    return data


async def read_fields(
    call: RequestContext, sizes: BodyLimits, schema: dict[str, Any]
) -> dict[str, Any]:
    """Return the body as an object that fits the schema. Raises Problem, as `read_object` does."""
    body = await read_object(call, sizes, "request_invalid")
    check_fields(body, schema)
    return body


def check_fields(body: dict[str, Any], schema: dict[str, Any]) -> None:
    """Refuse a body that does not fit the schema. Raises Problem with every field that is wrong."""
    refuse("request_invalid", [each.error() for each in validate(body, schema)], status=400)


def misfit(place: tuple[str, ...], detail: str) -> Problem:
    """Return the refusal of a body for what is at `place` in it."""
    where = pointer(*place)
    errors = [{"pointer": where, "detail": detail}]
    return Problem("request_invalid", f"{where}: {detail}", errors=errors)


def _check_size(sizes: BodyLimits, size: int) -> None:
    if size > sizes.bytes:
        detail = f"The body has {size} bytes; this key may send {sizes.bytes} (max_request_size)"
        raise Problem("body_too_large", detail)


def _text_size(data: bytes | bytearray) -> int:
    """Return the most bytes of memory that decoding UTF-8 takes.

    The rarest character decides how wide all are, and what was decoded before it is copied.
    """
    if data.isascii():
        return len(data)
    return len(data) * (5 if any(lead in data for lead in WIDEST) else 3)


def _decode_counting(data: bytes | bytearray, max_values: int) -> tuple[str, int, int]:
    """Return the text of a body, its number of JSON values, and the most bytes of its strings.

    The number is exact if above `max_values`.
    """
    text = strict_json.decode(data)
    return text, strict_json.count_values(text, max_values), strings_size(data, text)


def strings_size(data: bytes | bytearray, text: str) -> int:
    """Return the most bytes that the strings of a JSON text take, with its numbers.

    The widest character of a string decides whether each takes 1, 2 or 4 bytes. Strings with one
    of 4, also one that is escaped, are looked up, since most texts have such a one somewhere.
    """
    escapes = [each for each in SURROGATES if each in data]
    width = max(sys.getsizeof(text) // max(1, len(text)), 4 if escapes else 2 * (b"\\u" in data))
    total = len(text) * min(2, width)
    if width > 2:
        data = data.replace(b'\\"', b"__")
        for lead in (*WIDEST, *escapes):
            at = data.find(lead)
            while at >= 0:
                end = data.find(b'"', at)
                total += 2 * (end - data.rfind(b'"', 0, at))
                at = data.find(lead, end) if end >= 0 else end
    return min(total, width * len(text))


def inflate(data: bytes, limit: int) -> bytearray:
    """Return decompressed gzip data, at most `limit` bytes. Raises Problem.

    Exactly one gzip member is accepted: a chain of empty ones would cost time without output. It is
    unpacked in pieces, since zlib needs twice the memory of what it unpacks at once.
    """
    decoder, plain = zlib.decompressobj(wbits=31), bytearray()
    try:
        for start in range(0, len(data), PIECE):
            if decoder.eof:
                break
            rest = data[start : start + PIECE]
            while len(plain) <= limit and (piece := decoder.decompress(rest, PIECE)):
                plain += piece
                rest = decoder.unconsumed_tail
    except zlib.error:
        raise Problem("bad_request", "The body is not valid gzip") from None
    if len(plain) > limit:
        allowed = f"server.limits.max_request_size, and {RATIO} times what was sent or {FREE} bytes"
        detail = f"Unpacked, the body is larger than {limit} bytes: at most {allowed}"
        raise Problem("body_too_large", detail)
    if not decoder.eof or decoder.unused_data or len(data) - start > PIECE:
        raise Problem("bad_request", "The body must be exactly one gzip stream")
    return plain


def _check_type(content_type: str) -> None:
    """Refuse other types than application/json in UTF-8. Raises Problem.

    Foreign pages may send text/plain and forms without a preflight (CSRF). Parameters other than
    charset are ignored, since some clients send them (RFC 8259 section 11 defines none).
    """
    kind, *parameters = content_type.split(";")
    named = (each.partition("=") for each in parameters)
    codings = {
        value.strip(' "').lower()
        for name, _, value in named
        if name.strip(" ").lower() == "charset"
    }
    if kind.strip().lower() != "application/json" or not codings <= {"utf-8", "utf8"}:
        raise Problem("unsupported_media_type", "Send Content-Type: application/json in UTF-8")
