"""Arguments in one form, and rules about them: tests/vectors/rules.json, and spellings made up."""

from __future__ import annotations

import json
import random
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from server.tools import argument_forms
from server.tools.argument_forms import (
    ADDRESS,
    COMMAND,
    PATH,
    allows,
    denies,
    formats_of,
    in_one_form,
    normal_address,
    normal_path,
)
from server.tools.shell_commands import RUNNERS

VECTORS: Any = json.loads((Path(__file__).parents[1] / "vectors/rules.json").read_text("utf-8"))


class Vectors(unittest.TestCase):
    def test_forms(self) -> None:
        tables: list[tuple[str, Callable[[str], str]]] = [
            ("paths", normal_path),
            ("addresses", normal_address),
        ]
        for name, form in tables:
            for text, wanted in VECTORS[name]:
                with self.subTest(text):
                    if wanted is None:
                        self.assertRaises(ValueError, form, text)
                    else:
                        self.assertEqual(form(text), wanted)
                        self.assertEqual(form(wanted), wanted, "it is a form")

    def test_rules(self) -> None:
        for name, holds in (("allows", allows), ("denies", denies)):
            for kind, rows in VECTORS[name].items():
                for text, pattern, wanted in rows:
                    with self.subTest(name, text=text, pattern=pattern):
                        self.assertEqual(holds(text, pattern, kind), wanted)

    def test_programs_that_run_others(self) -> None:
        """A wildcard never stands for one of these."""
        self.assertEqual(VECTORS["runners"].split(), sorted(RUNNERS))
        for program in RUNNERS:
            with self.subTest(program):
                self.assertFalse(allows(f"/bin/{program} a", "* a", COMMAND))
                self.assertTrue(allows(f"{program} a b", f"{program} a *", COMMAND))


class Spellings(unittest.TestCase):
    """Other spellings of the same are compared alike: a generator, with a fixed seed."""

    def setUp(self) -> None:
        self.chance = random.Random(32)

    def test_of_paths(self) -> None:
        noise = ("./", "/", "x/../", "a/b/../../", "././/", "../workspace/")
        for _ in range(2_000):
            parts = self.chance.choices(("src", "app", ".env", "a b", ".git", "é"), k=3)
            spelt = self.chance.choice(("", "/workspace/", "//workspace/./", "./"))
            for at, part in enumerate(parts):
                choice = self.chance.choice(noise[: 6 if at == 0 else 5])
                if not (spelt == "" and choice == "/") and not spelt.endswith("b/../../"):
                    spelt += choice
                spelt += f"{part}/"
            spelt = spelt if self.chance.random() < 0.5 else spelt[:-1]
            with self.subTest(spelt):
                self.assertEqual(normal_path(spelt), "/".join(parts))

    def test_no_spelling_leaves_what_a_pattern_covers(self) -> None:
        pieces = ("..", ".", "", "src", "app", "x", "workspace")
        for _ in range(5_000):
            text = "src/app/" + "/".join(self.chance.choices(pieces, k=self.chance.randrange(7)))
            args, error = in_one_form({"path": text}, {"path": PATH})
            if error or not allows(args["path"], "src/app/*", PATH):
                continue
            with self.subTest(text):
                self.assertTrue(args["path"].startswith("src/app/"))
                self.assertNotIn("..", args["path"].split("/"))

    def test_of_addresses(self) -> None:
        for _ in range(1_000):
            host, path = "example.org", "/a/b.c"
            spelt = "".join(self.chance.choice((c, c.upper())) for c in f"https://{host}")
            spelt += self.chance.choice(("", ".")) + self.chance.choice(("", ":443", ":0443", ":"))
            for char in path:
                escape = char != "/" and self.chance.random() < 0.3
                spelt += f"%{ord(char):02x}" if escape else char
                spelt += self.chance.choice(("", "./", "x/../")) if char == "/" else ""
            spelt += self.chance.choice(("", "#x", "#"))
            with self.subTest(spelt):
                self.assertEqual(normal_address(spelt), f"https://{host}{path}")
        self.assertEqual(normal_address("https://a.b/" + quote("ü x")), "https://a.b/%C3%BC%20x")

    def test_of_chains(self) -> None:
        """A pattern for one command covers it with no other behind, before or in it."""
        others: tuple[str, ...] = (
            "; {}",
            "&& {}",
            "|| {}",
            "| {}",
            "& {}",
            "\n{}",
            "$({})",
            "`{}`",
            '"$({})"',
        )
        others += ("<({})", ">({})", "> {}", "'a'; {}", '"a"; {}', "\\\\; {}", "a\\\n; {}")
        for other in others:
            for inner in ("rm x", "'rm' x", "git log"):
                for space in ("", " ", "  ", "\t"):
                    text = f"git log -1{space}{other.format(inner)}"
                    with self.subTest(text):
                        for pattern in ("git log *", "git *", "*", "git log -1*", "g?t *"):
                            self.assertFalse(allows(text, pattern, COMMAND), pattern)
                        self.assertTrue(allows(text, _literal(text), COMMAND), "this very text")

    def test_of_denied_commands(self) -> None:
        """However often it is wrapped and quoted, a denied program is seen."""
        wraps: tuple[str, ...] = (
            "sudo {}",
            "env A=1 {}",
            "A=1 {}",
            "({})",
            "{{ {}; }}",
            "true && {}",
            "cd x; {}",
        )
        wraps += ("nohup {}", "timeout 5 {}", "if true; then {}; fi", "! {}", "{} | cat")
        around = ('echo "$( {})"', "sh -c '{}'", "bash -ec '{}'", "echo `{}`", "eval '{}'")
        programs = ("rm", "'rm'", '"rm"', "\\rm", "r''m", "/bin/rm", "$'rm'")
        for _ in range(1_000):
            text = f"{self.chance.choice(programs)} -rf x"
            for wrap in self.chance.choices(wraps, k=self.chance.randrange(4)):
                if not (wrap[0] in "se" + "nt" and text[0] in "({!iA"):
                    text = wrap.format(text)
            if "'" not in text and "\\" not in text:
                text = self.chance.choice(around).format(text)
            with self.subTest(text):
                self.assertTrue(denies(text, "rm *", COMMAND))


class Arguments(unittest.TestCase):
    def test_formats_come_from_the_parameters(self) -> None:
        members = {
            "path": {"type": "string", "format": PATH},
            "url": {"type": "string", "format": ADDRESS},
            "when": {"type": "string", "format": "date"},
            "any": True,
        }
        self.assertEqual(formats_of({"properties": members}), {"path": PATH, "url": ADDRESS})
        self.assertEqual(formats_of({}), {})

    def test_only_what_is_named_changes(self) -> None:
        args = {"path": "./a", "other": "./a", "n": 1}
        self.assertEqual(in_one_form(args, {"path": PATH, "n": PATH}), ({**args, "path": "a"}, ""))
        same = {"path": "a"}
        self.assertIs(in_one_form(same, {"path": PATH})[0], same)
        found, error = in_one_form({"path": "/etc/passwd"}, {"path": PATH})
        self.assertEqual((found, error[:5]), ({}, "path:"))
        self.assertIn("outside of the session's folder", error)

    def test_a_long_command_is_read_in_bounded_time(self) -> None:
        for text in ("$(" * 50_000, "sudo " * 20_000, "`" * 99_999, "x" * 200_000, "(" * 99_999):
            self.assertTrue(denies(text, "x*", COMMAND) or not denies(text, "y*", COMMAND))
        self.assertEqual(set(argument_forms.COST), {COMMAND})


def _literal(text: str) -> str:
    return "".join(f"[{char}]" if char in "*?[" else char for char in text)


if __name__ == "__main__":
    unittest.main()
