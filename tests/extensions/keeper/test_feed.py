"""What is kept for those who follow a kept session and come back."""

from __future__ import annotations

import json
import unittest

from server.extensions.keeper.feed import MOST_EVENTS, MOST_PLACES, Feed
from server.session.events import text_delta


def texts(feed: Feed, number: int) -> list[str] | None:
    entries = feed.after(number)
    return None if entries is None else [each.text for each in entries]


class Window(unittest.TestCase):
    def test_nothing_is_kept_until_somebody_follows(self) -> None:
        feed = Feed()
        feed.push(text_delta("m", "one"), text_delta("m", "two"))
        feed.mark(("digest", 10))
        self.assertEqual((feed.number, feed.number_at(("digest", 10))), (2, 2))
        self.assertIsNone(feed.after(0))
        self.assertEqual(texts(feed, 2), [])
        feed.followed = True
        feed.push(text_delta("m", "three"))
        found = texts(feed, 2)
        assert found
        self.assertIn("three", found[0])
        self.assertIsNone(feed.after(1))
        self.assertEqual([feed.number_of(feed.id_of(each)) for each in (2, 3, 4)], [2, 3, None])
        self.assertIsNone(feed.number_of("other/3"))
        self.assertIsNone(feed.number_of(feed.id_of(3) + "0" * 5000))
        self.assertIsNone(feed.number_of(f"{feed.id_of(3)}x"))

    def test_who_comes_back_from_before_a_change_gets_the_document(self) -> None:
        feed = Feed()
        feed.followed = True
        feed.push(text_delta("m", "one"))
        feed.tell_state("before", running=False)
        told = ["kept/before", feed.id_of(1), feed.id_of(2)]
        self.assertEqual([feed.number_of(each) for each in told], [2, 1, 2])
        feed.change()
        self.assertEqual([feed.number_of(each) for each in told], [None, None, None])
        now = feed.id_of(feed.number)
        feed.push(text_delta("m", "two"))
        number = feed.number_of(now)
        assert number is not None
        self.assertEqual([json.loads(each)["delta"] for each in texts(feed, number) or []], ["two"])

    def test_bounds(self) -> None:
        feed = Feed()
        feed.followed = True
        for number in range(MOST_EVENTS + 1):
            feed.push(text_delta("m", str(number)))
            feed.mark(("digest", number))
        self.assertIsNone(feed.after(0))
        self.assertEqual(len(texts(feed, 1) or []), MOST_EVENTS)
        self.assertIsNone(feed.number_at(("digest", MOST_EVENTS - MOST_PLACES)))
        self.assertEqual(feed.number_at(("digest", MOST_EVENTS)), MOST_EVENTS + 1)


if __name__ == "__main__":
    unittest.main()
