"""Answers of lying model servers: streams of three APIs, broken in their bytes and in their JSON.

What must hold: what a stream says does not depend on how it was cut; all that ever comes of it is
events and one Failure; whole answers are well bracketed; and the message that they make, whole or
not, may be POSTed again.
"""

from __future__ import annotations

import functools
import json
import random
from collections.abc import Callable
from typing import Any

from server.json_types import Event
from server.lib.strict_json import canonical
from server.models.decoder import StreamDecoder, StreamReader
from server.models.failure import Failure
from server.models.tool_mode import NO_CALLS, Readers
from server.session.schema import check

from ..extensions import rows_for
from ..models.fakes import APIS, check_brackets, fold, options, provider
from ..models.speakers import SPEAKERS
from ..models.test_chat_decoder import SENT, VECTORS, decoder_of, wire
from .mutate import broken_bytes, broken_json, cut

PARTS: list[list[tuple[Any, ...]]] = [
    [("think", ["Let ", "me ", "see"], "seal"), ("text", ["I ", "look: ", "漢🦆"])],
    [("text", ["now"]), ("call", "c1", "add", ['{"a":', " 7}"]), ("call", "c2", "add", ["{}"])],
    [("text", ["<think>hm</think>", '{"name":"add","arguments":{}}', "```"])],
]
BYTEWISE = 3000
READERS: dict[str, Callable[[], Readers]] = {"native": lambda: NO_CALLS}
for added in rows_for("READERS"):
    READERS |= added
Heard = tuple[list[Event], str]


def trial(chance: random.Random) -> str:
    api = chance.choice(list(streams()))
    found = streams()[api]
    raw = broken_frames(chance.choice(found), chance)
    if chance.random() < 0.4:
        raw = broken_bytes(raw, found, chance)
    vector, mode = chance.choice(VECTORS), chance.choice(list(READERS))
    make = functools.partial(decoder, api, vector, mode)
    expected = heard(make(), [raw])
    cuttings = [cut(raw, chance) for _ in range(3)]
    if len(raw) <= BYTEWISE:
        cuttings.append([raw[i : i + 1] for i in range(len(raw))])
    for pieces in cuttings:
        seen = told(heard(make(), pieces))
        assert seen == told(expected), f"{api} {mode} of {raw!r:.3000}: {seen} {told(expected)}"
    return f"{api}: {judged(expected, raw)}"


def judged(found: Heard, raw: bytes) -> str:
    events, failure = found
    assert failure or check_brackets(events) == [], f"{check_brackets(events)} in {raw!r:.3000}"
    made = fold(events)
    assert check(made) == [], f"{check(made)} in {raw!r:.3000}"
    canonical(made).encode()  # no half surrogates
    return failure or "read"


def heard(reader: StreamReader, pieces: list[bytes]) -> Heard:
    """The events, and the code of the failure that ended them."""
    events: list[Event] = []
    try:
        for piece in pieces:
            for event in reader.feed(piece):
                events.append(event)
            if reader.decoder.ended:
                break
        events.extend(reader.finish(SENT))
    except Failure as failure:
        return events, failure.code
    return events, ""


def told(found: Heard) -> tuple[list[Any], str]:
    """What was said, however many deltas it came in. What a failure cuts off may be one more or
    less: the last piece is held until it is known to be no tag."""
    joined: list[Any] = []
    for event in found[0]:
        delta = event.get("delta")
        if isinstance(delta, str) and joined and joined[-1][0] == event["type"]:
            joined[-1][1] += delta
        else:
            joined.append([event["type"], delta, canonical({**event, "delta": None})])
    return joined, found[1]


def decoder(api: str, vector: dict[str, Any], mode: str) -> StreamReader:
    source = provider()
    readers = READERS[mode]()
    made: StreamDecoder = decoder_of(vector, readers)
    if api != "chat":
        made = APIS[api].decoder(source, options(), str, *readers)
    return StreamReader(made, source)


def broken_frames(raw: bytes, chance: random.Random) -> bytes:
    """One or two of a stream's events, with another JSON in them."""
    frames = raw.split(b"\n\n")
    for _ in range(chance.choice((0, 1, 1, 2))):
        number = chance.randrange(len(frames))
        head, found, data = frames[number].partition(b"data: ")
        try:
            value = json.loads(data)
        except ValueError:
            continue
        broken = json.dumps(broken_json(value, [value], chance))
        frames[number] = head + found + broken.encode()
        if chance.random() < 0.2:
            frames.insert(number, frames[chance.randrange(len(frames))])
    return b"\n\n".join(frames)


@functools.cache
def streams() -> dict[str, list[bytes]]:
    """Valid ones, by the API they are of."""
    found = {api: [wire(vector) for vector in VECTORS] if api == "chat" else [] for api in APIS}
    for speaker in SPEAKERS:
        found[speaker.api] += [speaker.stream(parts) for parts in PARTS]
        found[speaker.api] += [speaker.stream(PARTS[0], "length")]
    return found
