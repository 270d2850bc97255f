"""What decoders of all APIs have in common: how they are read, and an answer of every part, cut
everywhere. Import this module and not its class, or unittest takes it for a test of yours.
"""

from __future__ import annotations

import unittest
from typing import Any

from server.json_types import Event
from server.models.decoder import StreamReader

from .fakes import APIS, check_brackets, message, options, provider
from .speakers import Part, Speaker

PARTS: list[Part] = [
    ("think", ["First ", "I think. ☃"], "c2lnMQ=="),
    ("text", ["Then ", "I say 🙂."]),
    ("think", ["And ", "again."], "c2lnMg=="),
    ("call", "call_1", "f", ['{"a"', ':"é"}']),
    ("call", "call_2", "g", []),
]


def read(api: str, *chunks: bytes, **changes: Any) -> list[Event]:
    """The events of a stream that comes in these pieces."""
    source = provider(api=api, **changes)
    decoder = APIS[api].decoder(source, options())
    reader = StreamReader(decoder, source)
    found: list[Event] = []
    for chunk in chunks:
        found += () if decoder.ended else reader.feed(chunk)
    return [*found, *reader.finish(100)]


class Whole(unittest.TestCase):
    api: str
    speaker: Speaker

    def check(self, *chunks: bytes) -> Any:
        found = read(self.api, *chunks)
        self.assertEqual(check_brackets(found), [])
        made = message(found)
        self.assertEqual(made["content"], "Then I say 🙂.")
        self.assertEqual(made["reasoning"]["text"], "First I think. ☃\n\nAnd again.")
        details = made["reasoning"]["details"]
        self.assertEqual([each["at"] for each in details], [[0, 0], [13, 0]])
        self.assertEqual(
            [(c["id"], c["function"]) for c in made["tool_calls"]],
            [
                ("call_new1", {"name": "f", "arguments": '{"a":"é"}'}),
                ("call_new2", {"name": "g", "arguments": "{}"}),
            ],
        )
        self.assertEqual(made["meta"]["finish_reason"], "tool_calls")
        return made

    def test_byte_by_byte_and_cut_everywhere(self) -> None:
        stream = self.speaker.stream(PARTS)
        self.check(stream)
        self.check(*(stream[i : i + 1] for i in range(len(stream))))
        for place in range(0, len(stream), 7):
            found = read(self.api, stream[:place], stream[place:])
            self.assertEqual(message(found)["content"], "Then I say 🙂.")
        self.check(stream.replace(b"\n", b"\r\n"))

    def test_each_delta_is_an_event_of_its_own(self) -> None:
        """And what an API tells again, as text, part, item and response, is not heard again."""
        found = read(self.api, self.speaker.stream(PARTS))
        self.assertEqual(
            [event["delta"] for event in found if "delta" in event],
            ["First ", "I think. ☃", "Then ", "I say 🙂.", "\n\nAnd ", "again."]
            + ['{"a"', ':"é"}', "{}"],
        )
