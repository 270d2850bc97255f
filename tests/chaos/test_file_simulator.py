"""A part of the stories of folders: see file_simulator/.

Taking one of the mechanisms out of server/workspace makes it fail;
`python3 -m tests.chaos.file_simulator` plays other stories.
"""

from __future__ import annotations

import unittest
from collections import Counter

from ..tooling import turns
from .file_simulator.disk import Row, ignored_paths
from .file_simulator.oracle import tracked_paths
from .file_simulator.steps import MODES, story
from .file_simulator.stories import Count, play_many

# Each seed is a story in each mode; the last ones lay an overlay over what its base left out, or
# remove from one what it ignores by then, or write a file by a name that rules ignore or that is
# gone, or discard one that the folder ignores, or meet rules that ignore their own file.
SEEDS = (
    *(*map(str, range(1, 41)), "69", "74", "88", "5043", "10112", "30164", "30380", "90122"),
    *("90339", "91046", "91144", "91706", "93067", "93961", "96919", "96991"),
)
PLAYED = ("record", "restore", "refresh", "apply", "discard", "write", "remove", "status", "cut")


class Part(unittest.TestCase):
    def test_no_byte_is_lost_and_no_answer_lies(self) -> None:
        seeds = turns.share(SEEDS, 3)
        count = play_many(seeds)
        self.assertEqual(count.wrong_stories, 0, "\n".join([*count.shown, str(count)]))
        self.assertEqual(count.stories, len(seeds) * len(MODES))
        for name in PLAYED:
            self.assertGreaterEqual(count.done[name], 5 if turns.whole() else 1, name)


class Report(unittest.TestCase):
    def test_losses_stand_apart_from_wrong_words(self) -> None:
        count = Count(stories=9, wrong_stories=4, wrong=Counter(lost=1, status=2, stale=1))
        self.assertIn("(losses: lost 1; words: stale 1, status 2; deeds: 0)", str(count))


class Steps(unittest.TestCase):
    def test_a_seed_is_one_story(self) -> None:
        for mode in MODES:
            self.assertEqual(story("7", mode), story("7", mode))
            self.assertNotEqual(story("7", mode), story("8", mode))


class Rules(unittest.TestCase):
    """What the oracle takes for ignored, in the forms that stories use."""

    def test_ignored(self) -> None:
        folders = ("d", "d/sub", "build")
        files = (".env", "a.txt", "c.log", "build/out", "d/e.txt", "d/f.log", "d/sub/g.txt")
        for rules, wanted in (
            (".env", {".env"}),
            ("*.log", {"c.log", "d/f.log"}),
            ("build/ *.log", {"build", "build/out", "c.log", "d/f.log"}),
            ("*.txt !a.txt", {"d/e.txt", "d/sub/g.txt"}),
            ("/d/", {"d", "d/e.txt", "d/f.log", "d/sub", "d/sub/g.txt"}),
            ("d/*", {"d/e.txt", "d/f.log", "d/sub", "d/sub/g.txt"}),
            ("sub/", {"d/sub", "d/sub/g.txt"}),
            ("a.txt/", set()),
        ):
            disk = {path: Row("d", 0o755) for path in folders}
            disk |= {path: Row("f", 0o644, path.encode()) for path in files}
            disk[".gitignore"] = Row("f", 0o644, "\n".join(rules.split()).encode())
            self.assertEqual(ignored_paths(disk, set()), wanted, rules)
            kept = {"d/e.txt", "c.log"}
            self.assertEqual(ignored_paths(disk, kept), wanted - kept - {"d"}, rules)

    def test_tracked(self) -> None:
        entry = bytes(62)
        names = b"".join(
            (entry + name).ljust((62 + len(name) + 8) // 8 * 8, b"\0")
            for name in (b"a.txt", b"sub/longer")
        )
        index = b"DIRC" + (2).to_bytes(4, "big") + (2).to_bytes(4, "big") + names + bytes(20)
        disk = {"d": Row("d", 0o755), "d/.git": Row("d", 0o755), "d/.git/index": Row("f", 0, index)}
        self.assertEqual(tracked_paths(disk), {"d/a.txt", "d/sub/longer"})


if __name__ == "__main__":
    unittest.main()
