"""Keep in memory what runs ended with, so that a client may send only what it has added since.

`base: {messages: n, digest}` in a POST stands for the first n messages and the call log entries of
their calls (docs/reference/http.md). The digest names exactly these, so that a session is never
continued from messages that its client does not have. No answer depends on what is kept: without it
the client sends everything. Pure.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..errors import Problem, refuse
from ..json_types import Json, LedgerEntry, Message, Session
from ..lib.json_schema import field_types
from ..lib.strict_json import (
    LARGEST_COUNT,
    PER_VALUE,
    canonical,
    count_values,
    dumps,
    dumps_in_pieces,
)
from .quoted_texts import SentTexts
from .schema import NO_IDS, KnownIds

BASE = "base"  # member of a POST
DIGITS = 32  # hex digits of a digest: 128 bits
MEGABYTE = 1_000_000
PER_MESSAGE = 1_000  # bytes in memory of a message with all its members, beside their text

_BASE = field_types.object_of(
    {
        "messages": field_types.number(
            "a number of messages, 1 or more", 1, LARGEST_COUNT, whole=True
        ),
        "digest": field_types.text("a digest of messages"),
    },
    ("messages", "digest"),
)


@dataclass
class KeptSession:
    """The messages of a session and the log entries of calls, which nobody changes any more.

    owner       of the API key (api.auth.Key)
    session_id  the session's
    messages    each message as a run left it
    calls       the call log; entries of calls of other messages may be among them
    size        bytes of JSON of the messages and entries, estimated
    digests     of the first message, the first two, …; as many as were asked for
    texts       JSON of what the messages say, as far as models were sent it more than once
    values      number of JSON values of the messages and entries, estimated
    """

    owner: str
    session_id: str
    messages: list[Message]
    calls: dict[str, LedgerEntry]
    size: int = 0
    digests: list[str] = field(default_factory=list)
    texts: SentTexts = field(default_factory=SentTexts)
    values: int = 0

    @cached_property
    def known_ids(self) -> KnownIds:
        """Return the ids in the messages."""
        return NO_IDS.plus(self.messages)

    @property
    def weight(self) -> int:
        """Return the estimated bytes in memory."""
        objects = max(PER_MESSAGE * len(self.messages), PER_VALUE * self.values)
        return 3 * self.size + objects  # also if there are no texts yet

    def digest(self, count: int) -> str:
        """Return the digest of the first `count` messages, "" if there are fewer, or none.

        Linear in the messages that were not asked for before; may run in a thread.
        """
        if not 0 < count <= len(self.messages):
            return ""
        digests = self.digests[:]
        for message in self.messages[len(digests) : count]:
            before = digests[-1] if digests else ""
            digests.append(chained_digest(before, message, self.calls))
        if len(digests) > len(self.digests):
            self.digests = digests
        return digests[count - 1]

    def first_if(self, count: int, digest: str) -> KeptSession | None:
        """Return the first `count` messages, None unless this is their digest."""
        found = self.digest(count)
        return self.first(count) if found and found == digest else None

    def first(self, count: int) -> KeptSession:
        """Return the first `count` messages with the entries of their calls, in new lists.

        Linear in the JSON of the others; may run in a thread.
        """
        size, values = self.size, self.values
        if gone := self.messages[count:]:
            text = dumps_in_pieces(gone)
            size, values = max(0, size - len(text)), max(0, values - count_values(text, len(text)))
        found = KeptSession(
            *(self.owner, self.session_id, self.messages[:count], {}, size),
            *(self.digests[:count], self.texts, values),
        )
        found.known_ids = self.known_ids.minus(gone, found.messages) if gone else self.known_ids
        own = found.known_ids.calls
        found.calls = {call_id: each for call_id, each in self.calls.items() if call_id in own}
        return found

    def after(self, session: Session, since: int, brought: int, size: int) -> KeptSession:
        """Return what a run has left of a session that began with these messages.

        Without the messages from one on whose calls lack a log entry: the next run adds those.
        `since`: of `Folder`. `brought` messages and `size` bytes of JSON came to the run.
        """
        messages, calls = session["messages"], session["calls"]
        known, count = min(len(self.messages), since), len(messages)
        first, size = (known, self.size) if self.messages else (brought, size)
        made = list[str]()
        for index in range(first, count):
            message = messages[index]
            ids = [call["id"] for call in message.get("tool_calls") or ()]
            if not message.get("open") and not calls.keys() >= set(ids):
                count = index
                break
            made += ids
        entries = {each: calls[each] for each in made if each in calls}
        text = dumps([messages[first:count], entries])
        size, values = size + len(text), self.values + count_values(text, len(text))
        if self.messages:  # a document's entries of no message are in no size
            calls = {each: calls[each] for each in (*self.calls, *made) if each in calls}
        left = KeptSession(
            *(self.owner, self.session_id, messages[:count], calls, size),
            *(self.digests[:known], self._texts_of(messages, size), values),
        )
        if self.messages and known == len(self.messages):
            left.known_ids = self.known_ids.plus(messages[known:count])
        return left

    def _texts_of(self, messages: list[Message], size: int) -> SentTexts:
        """Return the texts without those of no message, if these are many or long.

        `size`: of the JSON of the messages. Of no message is, for instance, a system prompt.
        """
        if self.texts.count <= 2 * len(messages) and self.texts.size <= size:
            return self.texts
        contents = (message.get("content") for message in messages)
        return self.texts.only({content for content in contents if isinstance(content, str)})


def chained_digest(before: str, message: Message, calls: Mapping[str, LedgerEntry]) -> str:
    """Return the digest of messages up to this one, given that of all before it, "" for none.

    SHA-256 over the digest before and the canonical JSON of [message, {call id: log entry}], with
    the entries of the message's calls.
    """
    ids = [call["id"] for call in message.get("tool_calls") or ()]
    text = before + canonical([message, {each: calls[each] for each in ids if each in calls}])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:DIGITS]


class KeptSessions:
    """The kept sessions of a process: the most recently used ones, up to `megabytes` of memory."""

    def __init__(self, megabytes: float = 0) -> None:
        self._most, self._used = int(megabytes * MEGABYTE), 0  # bytes
        self._sessions: OrderedDict[tuple[str, str], KeptSession] = OrderedDict()

    def find(self, owner: str, session_id: Any) -> KeptSession | None:
        """Return what is kept of a session, None if there is nothing. The id may be any value."""
        if not isinstance(session_id, str) or (owner, session_id) not in self._sessions:
            return None
        self._sessions.move_to_end((owner, session_id))
        return self._sessions[owner, session_id]

    def keep(self, kept: KeptSession) -> None:
        """Keep a session in place of its earlier state; forget others if there is no room."""
        name = (kept.owner, kept.session_id)
        if (earlier := self._sessions.pop(name, None)) is not None:
            self._used -= earlier.weight
        if kept.weight > self._most:
            return
        self._sessions[name] = kept
        self._used += kept.weight
        while self._used > self._most:
            _, oldest = self._sessions.popitem(last=False)
            self._used -= oldest.weight


def take_base(document: Json) -> tuple[int, str] | None:
    """Remove the base from the body of a POST; return its number of messages and its digest.

    None if it has none. Raises Problem if it has not the right shape.
    """
    if BASE not in document:
        return None
    base = document.pop(BASE)
    misfits = field_types.misfits(base, _BASE)
    refuse(
        "session_invalid",
        [each._replace(place=(BASE, *each.place)).error() for each in misfits],
    )
    return base["messages"], base["digest"]


def unknown_base() -> Problem:
    """Return the refusal of a base that is not kept, or not as the client has it."""
    text = "These messages are not kept here, or not as you have them. Send the whole session."
    return Problem("base_unknown", text, headers={"x-should-retry": "false"})
