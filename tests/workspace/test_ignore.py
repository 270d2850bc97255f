"""Rules of ignoring, beside what git says of the same paths."""

from __future__ import annotations

import random
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from server.workspace.ignore import Budget, Rules, is_ignored, leaves_out, subjects

# rules, path (a trailing slash: a folder), whether it is ignored
CASES = [
    (b"*.o", b"a.o", True),
    (b"*.o", b"d/a.o", True),
    (b"*.o\n!keep.o", b"keep.o", False),
    (b"/a", b"a", True),
    (b"/a", b"d/a", False),
    (b"d/a", b"x/d/a", False),
    (b"build/", b"build", False),
    (b"build/", b"build/", True),
    (b"build/\n!build/x", b"build/x", True),  # not below an ignored folder
    (b"build/*\n!build/x", b"build/x", False),
    (b"**/x", b"a/b/x", True),
    (b"a/**/x", b"a/x", True),
    (b"a/**", b"a/", False),
    (b"a/**", b"a/b", True),
    (b"#a", b"#a", False),
    (b"\\#a", b"#a", True),
    (b"\\!a", b"!a", True),
    (b"a ", b"a", True),
    (b"a\\ ", b"a ", True),
    (b"a\r\nb", b"a", True),
    (b"\xef\xbb\xbfa", b"a", True),
    (b"[a-c]x", b"bx", True),
    (b"[!a-c]x", b"bx", False),
    (b"[[:digit:]]", b"7", True),
    (b"[a", b"[a", False),
    (b"a\\", b"a\\", False),
    (b"?", "é".encode(), False),  # bytes, as git
    (b"\xff*", b"\xfff", True),
    (b"a\nb", b"b", True),
    (b"", b"a", False),
    (b"/", b"a", False),
    (b"a**/b", b"a/x/b", True),
]
TOKENS = (
    "a|b|*|**|/|?|[ab]|[!a]|\\a|\\*|[[:alpha:]]|[a-c]|.|c|a/|**/|/**|***|[|[]|\\| |[^]b]|!|[a/b]"
    "|[[:x:]]|[a\\-z]|#"
).split("|")
NAMES = "a b c ab ba a.c abc .a * - ] [ aa !a #a a-".split()
PATHS = [
    *(f"{name}" for name in NAMES),
    *(f"{one}/{name}" for one in ("a", "b", "ab", "c") for name in NAMES),
    *(f"{one}/{two}/{name}" for one in "abc" for two in "abc" for name in NAMES),
]


class Ignoring(unittest.TestCase):
    def test_cases(self) -> None:
        for text, path, expected in CASES:
            with self.subTest(rules=text, path=path):
                self.assertEqual(is_left_out(rules(text), path), expected)

    def test_deeper_files_decide(self) -> None:
        stack = [(0, rules(b"*.o")), (1, rules(b"!x.o\n/y"))]
        for path, expected in (
            (b"d/x.o", False),
            (b"d/z.o", True),
            (b"d/y", True),
            (b"d/e/y", False),
        ):
            self.assertEqual(is_ignored(stack, path.split(b"/"), False, Budget()), expected, path)

    def test_no_name_that_a_rule_matches_is_passed_over(self) -> None:
        chance = random.Random(2)
        for text in ["a**/b", "a/**", "/b", "c/?", *(pattern(chance) for _ in range(300))]:
            stack = ((1, rules(text.removeprefix("!").encode())),)
            for path in PATHS:
                steps = ["top", *path.split("/")]
                if any(
                    leaves_out(stack, steps, is_folder, Budget()) for is_folder in (True, False)
                ):
                    found = subjects(stack, steps[:-1], ["other", steps[-1]], Budget())
                    self.assertIn(steps[-1], found, (text, path))

    @unittest.skipUnless(shutil.which("git"), "needs git")
    def test_as_git(self) -> None:
        chance = random.Random(1)
        top = self.enterContext(tempfile.TemporaryDirectory())
        subprocess.run(["git", "init", "-q", top], check=True)
        command = ["git", "-C", top, "-c", "core.excludesFile=/dev/null"]
        command += ["check-ignore", "--no-index", "-z", "--stdin"]
        asked = "".join(f"{path}\0" for path in PATHS)
        for _ in range(150):
            text = "\n".join(pattern(chance) for _ in range(chance.randint(1, 4)))
            (Path(top) / ".gitignore").write_text(text)
            done = subprocess.run(command, input=asked, capture_output=True, text=True, check=False)
            theirs = set(done.stdout.split("\0")) - {""}
            ours = rules(text.encode())
            mine = {path for path in PATHS if is_left_out(ours, path.encode())}
            self.assertEqual(mine, theirs, repr(text))

    def test_a_hostile_pattern_costs_little(self) -> None:
        """Beside a pattern of the same length that needs no search at all."""
        name = b"a" * 250
        hard, easy = rules(b"a*" * 60 + b"b"), rules(b"?" * 120 + b"b")
        self.assertLess(cost(hard, name), 1000 * cost(easy, name))
        steps = b"/".join([b"a"] * 60)
        deep, flat = rules(b"**/a/" * 40 + b"b"), rules(b"?/" * 60 + b"b")
        self.assertLess(cost(deep, steps), 1000 * cost(flat, steps))


def is_left_out(rules: Rules, path: bytes) -> bool:
    """Ask for each folder on the way, as a scan does."""
    steps = path.rstrip(b"/").split(b"/")
    stack = [(0, rules)]
    return any(
        is_ignored(stack, steps[:end], end < len(steps) or path.endswith(b"/"), Budget())
        for end in range(1, len(steps) + 1)
    )


def rules(text: bytes) -> Rules:
    return Rules(text, Budget())


def pattern(chance: random.Random) -> str:
    text = "".join(chance.choice(TOKENS) for _ in range(chance.randint(1, 6)))
    text = ("!" if chance.random() < 0.3 else "") + ("/" if chance.random() < 0.2 else "") + text
    return text + ("/" if chance.random() < 0.2 else "")


def cost(rules: Rules, path: bytes) -> float:
    steps = path.split(b"/")
    used = []
    for _ in range(3):
        start = time.process_time()
        for _ in range(100):
            rules.verdict(steps, False, Budget())
        used.append(time.process_time() - start)
    return max(min(used), 1e-5)


if __name__ == "__main__":
    unittest.main()
