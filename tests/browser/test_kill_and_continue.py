"""The README's picture and its saved session: the run that they show, and the files themselves."""

from __future__ import annotations

import unittest

from ..extensions import needs
from ..tooling import tools
from ..tooling.animated_webp import chunks, frames
from . import kill_and_continue, walks

MOST_KB = 600


@needs("rest")
class Run(unittest.TestCase):
    @tools.needs(*walks.NEEDED, tools.browser("chromium"))
    def test_another_server_goes_on(self) -> None:
        walked, story = kill_and_continue.tell("chromium", 0.02)
        self.assertEqual(walked.error, "", walked.complaints[:5])
        self.assertEqual(walked.steps["another server goes on"]["bookings"], 1)
        self.assertEqual(story.bookings(), [kill_and_continue.CALL])
        self.assertEqual(story.outside.asked, 2, "the answer is asked for again")
        loud = [one for one in walked.complaints if not walks.failed(one)]
        self.assertEqual(loud, [])


class Pictures(unittest.TestCase):
    def test_they_move_and_are_small(self) -> None:
        for theme in ("light", "dark"):
            with self.subTest(theme):
                file = kill_and_continue.PICTURES / f"kill-and-continue-{theme}.webp"
                data = file.read_bytes()
                self.assertLess(len(data), MOST_KB << 10)
                found = frames(data)
                self.assertGreater(len(found), 40)
                self.assertLess(sum(frame.ms for frame in found), 30_000)
                self.assertEqual(next(chunks(data))[0], b"VP8X")


class SavedSession(walks.OneEngine):
    def check(self, browser: str) -> None:
        self.walk("saved-session", browser, {"url": kill_and_continue.PAGE.as_uri()})


if __name__ == "__main__":
    unittest.main()
