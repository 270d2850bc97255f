"""Each command of the README does what the README says of it.

Short ones run here as they stand. Long ones are run by another test at a small size, which the
table below names; that they take the options that the README gives them is tried here.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
import tempfile
import unittest
from pathlib import Path

from ..test_docs import ROOT, fenced, tables
from ..tooling import builds, release
from ..tooling.child import Yaa

README = (ROOT / "README.md").read_text()
COMMAND = r"(?:python3|pip|pipx|uvx) [^`]+"
SERVE = "python3 -m server"
# Command of the README: the test that runs it at a small size, or what it becomes.
RUN_BY = {
    SERVE: "tests.interop.test_first_start.FirstStart.test_checkout",
    "python3 -m server chat": "tests.test_main.Chatting",
    "python3 -m tests": "tests.tooling.test_lanes",
    "python3 -m tests.chaos": "tests.chaos.test_soak",
    "python3 -m tests.chaos.cuts": "tests.chaos.test_cuts",
    "python3 -m tests.chaos.files": "tests.chaos.test_files",
    "pip install .": "tests.interop.test_wheel",
    "pipx install .": "tests.interop.test_wheel",
    "uvx --from . yaa": "tests.interop.test_wheel",
}
HERE = {
    "python3 -m server doctor",
    'python3 -S -m server run --text --say "calc 6*7"',
    "python3 -m server pack yaa.pyz",
    "python3 yaa.pyz --version",
}


def commands() -> list[str]:
    """Return the commands of the README: those in the text, and those after a dollar sign."""
    shown = [line for _, block in fenced(README, "console") for line in block.splitlines()]
    text = re.sub(r"```.*?```", "", README, flags=re.S)
    return [
        *(line.removeprefix("$ ") for line in shown if re.match(rf"\$ {COMMAND}", line)),
        *(" ".join(found.split()) for found in re.findall(rf"`({COMMAND})`", text)),
    ]


def without_options(command: str) -> str:
    return re.sub(r" --(?:runs|seed|cuts|stories) \d+", "", command)


def tests_in(name: str) -> int:
    """Return how many tests have this name. A module that cannot be imported counts as none."""
    found = unittest.defaultTestLoader.loadTestsFromName(name)
    return 0 if unittest.defaultTestLoader.errors else found.countTestCases()


class Commands(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="yaa-readme-")))
        self.env = {"HOME": str(self.folder), **release.ALONE}

    def test_each_is_run_by_a_test(self) -> None:
        suites = {command for command in commands() if " -m unittest " in command}
        short = {without_options(command) for command in {*commands()} - suites}
        self.assertEqual(short, {*RUN_BY, *HERE})
        for name in (*RUN_BY.values(), *(each.split()[-1] for each in suites)):
            with self.subTest(name):
                self.assertGreater(tests_in(name), 0)

    def test_each_row_has_a_command(self) -> None:
        (table,) = [rows for rows in tables(README) if rows[0][1].startswith("The command")]
        self.assertGreaterEqual(len(table), 8)
        for claim, command in table[1:]:
            with self.subTest(claim):
                self.assertRegex(command, rf"^`{COMMAND}`$")
                self.assertIn(command.strip("`"), commands())

    def test_long_ones_take_their_options(self) -> None:
        for command in commands():
            given = re.findall(r"--(?:runs|seed|cuts|stories)", command)
            if not given:
                continue
            with self.subTest(command):
                module = shlex.split(command)[2]
                said = builds.run([sys.executable, "-m", module, "--help"], ROOT)
                self.assertEqual([option for option in given if option not in said], [])

    def test_nothing_beside_the_standard_library(self) -> None:
        said = self.run_shell('python3 -S -m server run --text --say "calc 6*7"')
        self.assertIn("42", said)

    def test_doctor_says_what_the_sandbox_is(self) -> None:
        self.env |= release.PROVIDER
        self.assertRegex(self.run_shell("python3 -m server doctor"), r"(?m)^  \w+ +sandbox  ")

    def test_one_file(self) -> None:
        self.run_shell(f"python3 -m server pack {self.folder}/yaa.pyz")
        said = self.run_shell("python3 yaa.pyz --version", self.folder)
        self.assertRegex(said, r"^yaa \d")

    def test_use_it_from_anything(self) -> None:
        (command,) = [
            block.removeprefix("$ ") for _, block in fenced(README, "console") if "curl" in block
        ]
        home = self.folder / ".yaa"
        with Yaa({"server": {"discover": False}}, home=home) as yaa:
            self.run_shell(command.replace("http://127.0.0.1:12345", yaa.url), self.folder)
        session = json.loads((self.folder / "session.json").read_text())
        self.assertEqual(session["messages"][0]["content"], "What is 6 * 7?")
        self.assertIn(session["status"], ("completed", "interrupted"))

    def run_shell(self, command: str, cwd: Path = ROOT) -> str:
        """Run a command as it stands, with this Python as python3, and return what it prints."""
        words = f'python3() {{ {shlex.quote(sys.executable)} "$@"; }}\n{command}'
        return builds.run(["sh", "-c", words], cwd, self.env)


class Words(unittest.TestCase):
    def test_it_is_short(self) -> None:
        self.assertLess(len(README.splitlines()), 120)

    def test_the_first_lines_say_what_it_is_and_how_to_run_it(self) -> None:
        self.assertEqual(README.splitlines()[0], "# yaa")
        self.assertLess(README.index(SERVE), 400)

    def test_figures_of_kills_are_the_commands_own(self) -> None:
        """A number without the command and the seed that gave it is no claim."""
        rows = re.findall(r"^\|[^|]*\d\d[^|]*\|.*$", README, re.M)
        self.assertGreater(len(rows), 1)
        for row in rows:
            self.assertRegex(row, r"--seed \d+`")


if __name__ == "__main__":
    unittest.main()
