"""Recognize a repeated request of /v1 and continue its first run.

`protocols/openai/routes` stores the run under the request's name from before the first tool
execution on, and begins a repetition with the stored part. Both official SDKs repeat a POST when
the connection breaks before the answer, and mark it with a header; any caller can send an
`Idempotency-Key`. The body of a repetition is the same, so only what the run added is stored.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ...session import events
from ...session.events import Event
from .fields import Json

KEY = "idempotency-key"
COUNT = "x-stainless-retry-count"  # of the SDKs: how often they have sent this request before
OF_THE_REQUEST = ("agent", "config", "environment", "ext", "messages", "tools")


@dataclass(frozen=True)
class Again:
    """A request that can be recognized when it is repeated.

    name       the key under which its run is stored
    keyed      it has an Idempotency-Key, and may be repeated after it was answered, too
    repeated   it may be a repetition
    """

    name: str
    keyed: bool
    repeated: bool


def named(
    headers: Mapping[str, str], who: str, path: str, body: bytes, *, streams: bool
) -> Again | None:
    """Return the name of a request; None if a repetition could not be recognized.

    `who`: the owner of the API key.
    """
    key, count = headers.get(KEY, ""), headers.get(COUNT, "")
    if not key and (streams or not count.isdecimal()):  # SDKs do not repeat a stream that has begun
        return None
    told = "\0".join((who, path, key, "")).encode("utf-8", "surrogatepass")
    name = hashlib.sha256(told + body).hexdigest()
    return Again(name, bool(key), bool(key) or count.strip("0") != "")


def kept(session: Json, first: int) -> Json:
    """Return the part of a session that a repetition needs; the request has `first` messages."""
    found = {key: value for key, value in session.items() if key not in OF_THE_REQUEST}
    return found | {"messages": session["messages"][first:]}


def resumed(document: Json, found: Json) -> Json:
    """Return the session of a repetition: the request's own part and what earlier runs added."""
    asked = document["messages"]
    last: Json = next((each for each in reversed(asked) if each["role"] == "user"), {})
    if message := found.get("run", {}).get("message"):
        last.setdefault("id", message)  # so that the spent budget still counts for it
    own = {key: value for key, value in found.items() if key not in OF_THE_REQUEST}
    return {**document, **own, "messages": [*asked, *found["messages"]]}


def retold(messages: Iterable[Json]) -> Iterator[Event]:
    """Yield the events of the texts and thoughts that earlier runs of the request produced."""
    for message in messages:
        if message["role"] != "assistant" or message.get("open"):
            continue
        reasoning = message.get("reasoning") or {}
        if thought := reasoning.get("text"):
            yield events.think_delta(f"{message['id']}-thought", thought)
            yield events.think_end(f"{message['id']}-thought")[0]
        if message["content"]:
            yield events.text_delta(message["id"], message["content"])
            yield events.text_end(message["id"], {}, 0)
