"""A request of /v1 that is sent a second time: known again, and gone on with instead of begun anew.

In the walk: `protocols/openai/routes` asks here what a request is called, keeps its run under that
name from the first call on, and begins a repetition with what was kept. Both official SDKs repeat a
POST by themselves when the connection breaks before the answer, and say so in a header; any caller
can say it with an `Idempotency-Key`. The rule of the file: the body of a repetition is the same, so
only what came after it is kept.
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
    """name       what the request's run is kept under
    keyed      the caller has named it, and may come back to it when it is answered, too
    repeated   it may have come before
    """

    name: str
    keyed: bool
    repeated: bool


def named(
    headers: Mapping[str, str], who: str, path: str, body: bytes, *, streams: bool
) -> Again | None:
    """None for a request that would not be known again. `who`: the owner of the API key."""
    key, count = headers.get(KEY, ""), headers.get(COUNT, "")
    if not key and (streams or not count.isdecimal()):  # SDKs repeat no stream that has begun
        return None
    told = "\0".join((who, path, key, "")).encode("utf-8", "surrogatepass")
    name = hashlib.sha256(told + body).hexdigest()
    return Again(name, bool(key), bool(key) or count.strip("0") != "")


def kept(session: Json, first: int) -> Json:
    """What a repetition needs of a session whose request has `first` messages."""
    found = {key: value for key, value in session.items() if key not in OF_THE_REQUEST}
    return found | {"messages": session["messages"][first:]}


def resumed(document: Json, found: Json) -> Json:
    """The session of a repetition: the request's own part, and what became of it before."""
    asked = document["messages"]
    last: Json = next((each for each in reversed(asked) if each["role"] == "user"), {})
    if message := found.get("run", {}).get("message"):
        last.setdefault("id", message)  # what was spent on it stays spent
    own = {key: value for key, value in found.items() if key not in OF_THE_REQUEST}
    return {**document, **own, "messages": [*asked, *found["messages"]]}


def retold(messages: Iterable[Json]) -> Iterator[Event]:
    """What earlier runs of the request said, as the events by which an answer tells it."""
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
