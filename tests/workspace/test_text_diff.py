"""Differences as text, beside what patch makes of them."""

from __future__ import annotations

import random
import shutil
import subprocess
import unittest

from server.workspace.differences import Difference
from server.workspace.objects import ObjectStore
from server.workspace.text_diff import MAX_TEXT, text_diff
from server.workspace.trees import Entry

from .made import Case


class Texts(Case):
    def diff(self, before: str, after: str) -> tuple[str, bool]:
        store = ObjectStore(self.home / "objects")
        rows: list[Entry] = []
        for text in (before, after):
            data = text.encode()
            rows.append(["f", 0o644, len(data), store.put(data)])
        return text_diff(store, Difference(("a",), *rows))

    @unittest.skipUnless(shutil.which("patch"), "needs patch")
    def test_patch_makes_the_one_of_the_other(self) -> None:
        chance = random.Random(1)
        cases = [("", "a\n"), ("a\n", ""), ("a", "a\n"), ("a\n", "a"), ("a\x0cb\u2028c\n", "a\n")]
        for size in (5, 20, 2000):
            for _ in range(6):
                before = [f"{chance.randint(0, 9)}\n" for _ in range(size)]
                after = before[:]
                for _ in range(chance.randint(1, 4)):
                    after[chance.randrange(size)] = "new\n"
                    del after[chance.randrange(1, 4) :: max(4, size // 3)]
                    after += [""] * (size - len(after))
                cases.append(("".join(before), "".join(after)))
        for one, other in cases:
            text, binary = self.diff(one, other)
            self.assertFalse(binary)
            (self.home / "a").write_text(one)
            command = ["patch", "-s", "-f", "-p1", "-d", str(self.home)]
            subprocess.run(command, input=text.encode(), check=True, capture_output=True)
            path = self.home / "a"
            self.assertEqual(path.read_text() if path.exists() else "", other, text)

    def test_what_is_huge_is_cut(self) -> None:
        lines = [f"{number}\n" for number in range(100_000)]
        text, _ = self.diff("".join(lines), "".join(reversed(lines)))
        self.assertLessEqual(len(text), MAX_TEXT)
