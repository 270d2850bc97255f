"""Bytes of strangers: requests, answers and event streams, broken, and cut in every way.

What must hold: only ProtocolError (or EventTooLarge) ever leaves a parser; what it says does not
depend on how the bytes were cut; nothing is kept beyond the limits.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from server.lib.http.parser import (
    Body,
    Buffer,
    MessageLimits,
    ProtocolError,
    TruncatedError,
    advance,
    parse_request,
    parse_response,
)
from server.lib.http.sse import Decoder, EventTooLarge

from ..http.test_parser import BAD_RESPONSES, REFUSED, REQUESTS, RESPONSES, SMALL, TRUNCATED
from ..http.test_sse import STREAMS
from .mutate import broken_bytes, cut

ASKED = [
    *(case.raw for case in REQUESTS.values()),
    *(raw for raw, _ in REFUSED.values() if len(raw) < 2000),
    *TRUNCATED.values(),
]
ANSWERED = [
    *(case[0] for case in RESPONSES.values()),
    *(raw for raw, _ in BAD_RESPONSES.values() if len(raw) < 2000),
]
STREAMED = [raw for raw, _ in STREAMS.values()]
BYTEWISE = 4000  # bytes up to which an input is also fed one at a time
MOST_EVENT = 200

Outcome = list[Any]


def trial(chance: random.Random) -> str:
    """One broken input, judged whole, in pieces and byte by byte. Returns what became of it."""
    kind = chance.choices((requests, responses, events), (6, 2, 2))[0]
    seeds: list[bytes] = {requests: ASKED, responses: ANSWERED, events: STREAMED}[kind]
    raw = broken_bytes(chance.choice(seeds), seeds, chance)
    if kind is requests and chance.random() < 0.3:
        raw += chance.choice(seeds)
    limits = chance.choice((SMALL, MessageLimits()))
    return judged(kind, raw, limits, chance)


def judged(
    kind: Callable[[Iterable[bytes], MessageLimits], Outcome],
    raw: bytes,
    limits: MessageLimits,
    chance: random.Random,
) -> str:
    """The last word on `raw`. Raises AssertionError, with the bytes, where two cuts disagree."""
    expected = kind([raw], limits)
    cuttings = [cut(raw, chance) for _ in range(4)]
    if len(raw) <= BYTEWISE:
        cuttings.append([raw[i : i + 1] for i in range(len(raw))])
    for pieces in cuttings:
        found = kind(pieces, limits)
        assert found == expected, (
            f"{kind.__name__} of {raw!r}: {found!r:.300} in {len(pieces)} pieces, "
            f"{expected!r:.300} whole"
        )
    return f"{kind.__name__}: {expected[-1] if isinstance(expected[-1], int | str) else 'read'}"


def requests(pieces: Iterable[bytes], limits: MessageLimits) -> Outcome:
    """Every request of a connection and what was wrong in the end."""
    buffer, rest, found = Buffer(), iter(pieces), Outcome()
    try:
        while True:
            steps = parse_request(buffer, limits)
            while (head := advance(steps)) is None:
                held(buffer, max(limits.line, limits.head) + 2)
                more(buffer, rest)
            found += [head, read(Body(buffer, head.framing, limits), buffer, rest, limits)]
    except TruncatedError:
        return [*found, "cut"]
    except ProtocolError as error:
        return [*found, error.status]


def responses(pieces: Iterable[bytes], limits: MessageLimits) -> Outcome:
    """One answer, or what was wrong with it."""
    buffer, rest = Buffer(), iter(pieces)
    steps = parse_response(buffer, "GET", limits)
    try:
        while (head := advance(steps)) is None:
            held(buffer, max(limits.line, limits.head) + 2)
            more(buffer, rest)
        return [head, read(Body(buffer, head.framing, limits), buffer, rest, limits)]
    except TruncatedError:
        return ["cut"]
    except ProtocolError as error:
        return [error.status]


def read(body: Body, buffer: Buffer, rest: Iterator[bytes], limits: MessageLimits) -> bytes:
    content = body.pull()
    while not body.done:
        held(buffer, max(limits.chunk_line, limits.trailers) + 2)
        more(buffer, rest)
        content += body.pull()
    assert len(content) <= limits.body, "more of a body than is allowed"
    return content


def events(pieces: Iterable[bytes], limits: MessageLimits) -> Outcome:
    """All events of a stream, also the unfinished one."""
    decoder, found = Decoder(), Outcome()
    for piece in pieces:
        found += decoder.feed(piece)
    found += decoder.end()
    bounded(pieces)
    return [*found, decoder.retry, len(found)]


def bounded(pieces: Iterable[bytes]) -> None:
    """With a small limit: no more is kept than that and the read it came in."""
    decoder, pieces = Decoder(MOST_EVENT), list(pieces)
    longest = max(map(len, pieces), default=0)
    for piece in pieces:
        try:
            decoder.feed(piece)
        except EventTooLarge:
            return
        kept = len(decoder._tail)
        assert kept <= MOST_EVENT + 1 + longest, f"{kept} bytes are kept of {pieces!r}"


def held(buffer: Buffer, most: int) -> None:
    assert len(buffer.data) <= most, f"{len(buffer.data)} bytes are kept, {most} are allowed"


def more(buffer: Buffer, rest: Iterator[bytes]) -> None:
    piece = next(rest, None)
    if piece is None:
        buffer.feed_eof()
    else:
        buffer.feed(piece)
