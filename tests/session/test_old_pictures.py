"""Room for the pictures of a new result: which old ones go, and what is left of them."""

from __future__ import annotations

import base64
import copy
import hashlib
import unittest
from typing import Any

from server.session import events, media, old_pictures
from server.session.fold import Folder

MB = 1_000_000


def picture(size: int, sign: str = "A", **more: Any) -> dict[str, Any]:
    """An item with so many characters of base64."""
    return {"media_type": "image/png", "name": "a.png", "bytes": 9, "data": sign * size, **more}


def result(*items: Any, content: Any = "text") -> dict[str, Any]:
    return {"role": "tool", "content": content, "result": {"media": [*items]}}


ANSWER = {"role": "assistant", "content": "Seen."}


def places(messages: Any, needed: int) -> list[tuple[int, int]]:
    return [each[:2] for each in old_pictures.to_leave_out(messages, needed)]


def applied(messages: list[Any], needed: int) -> list[Any]:
    """The messages after the event."""
    going = old_pictures.to_leave_out(messages, needed)
    patch = old_pictures.changes(messages, going, old_pictures.in_words(going))
    session: Any = {"id": "s", "messages": copy.deepcopy(messages)}
    folder = Folder(session)
    folder.apply(events.messages_filled(patch))
    folder.flush()
    found: list[Any] = session["messages"]
    return found


class WhichGo(unittest.TestCase):
    def test_the_oldest_and_no_more_than_needed(self) -> None:
        five = [result(picture(3 * MB)) for _ in range(5)]
        full = [*five, ANSWER]
        cases: list[tuple[str, list[Any], int, list[tuple[int, int]]]] = [
            ("room for it", full, MB, []),
            ("4 MB at least go", full, MB + 1, [(0, 0)]),
            ("as many as are needed", full, 6 * MB, [(0, 0), (1, 0)]),
            ("of one result some", [result(*[picture(5 * MB)] * 3), ANSWER], 2 * MB, [(0, 0)]),
            ("none that is not seen yet", [ANSWER, *five], 2 * MB, []),
            ("some are seen", [*five[:1], ANSWER, *five[1:]], 2 * MB, [(0, 0)]),
            ("too little even without", [*five[:1], ANSWER, *five[1:]], 5 * MB, []),
            ("no answer of a model", five, 2 * MB, []),
            ("nothing there", [], 2 * MB, []),
        ]
        for name, messages, needed, going in cases:
            with self.subTest(name):
                self.assertEqual(places(messages, needed), going)

    def test_of_a_document_that_anybody_wrote(self) -> None:
        odd = [None, 5, {"data": 5}, {**picture(9), "media_type": "text/html"}, picture(15 * MB)]
        messages = [{"role": "tool"}, {"role": "tool", "result": 5}, result(*odd), ANSWER]
        self.assertEqual(places(messages, 2 * MB), [(2, 4)])
        after = applied(messages, 2 * MB)
        self.assertEqual(after[2]["result"]["media"][:4], odd[:4])


class WhatIsLeft(unittest.TestCase):
    def test_name_size_and_hash(self) -> None:
        data = base64.b64encode(b"\1" * 9 * MB).decode()
        messages = [
            result({**picture(0), "data": data, "path": "d/ü.png", "width": 3, "height": 2}),
            result(picture(4 * MB)),
            ANSWER,
        ]
        after = applied(messages, 2 * MB)
        [left] = after[0]["result"]["media"]
        digest = hashlib.sha256(b"\1" * 9 * MB).hexdigest()
        self.assertEqual((left["sha256"], left["left_out"]), (digest, True))
        self.assertNotIn("data", left)
        self.assertEqual(
            after[0]["content"],
            "text\n[picture a.png: image/png, 3 x 2 pixels, 9 bytes; left out of the session to"
            ' make room for later ones. read_file("d/ü.png") shows the file.]',
        )
        self.assertEqual(after[1:], messages[1:])
        self.assertEqual(media.of_message(after[0]), [], "it counts as no picture from now on")
        self.assertEqual(applied(after, 2 * MB), after, "and goes once")

    def test_content_that_is_no_text_and_data_that_is_no_base64(self) -> None:
        parts = [{"type": "text", "text": "x"}]
        messages = [result(picture(15 * MB, "%"), content=parts), ANSWER]
        after = applied(messages, 2 * MB)
        self.assertEqual(after[0]["content"], parts)
        self.assertNotIn("sha256", after[0]["result"]["media"][0])
        self.assertNotIn("data", after[0]["result"]["media"][0])


if __name__ == "__main__":
    unittest.main()
