"""What a first word that is no command means."""

from __future__ import annotations

import io
import unittest
from contextlib import chdir, redirect_stderr

from server.__main__ import main
from server.cli.unknown_command import with_command

COMMANDS = ("run", "chat", "here", "doctor", "sessions")
OPTIONS = {"--home": True, "--port": True, "--check": False, "-h": False}


class FirstWord(unittest.TestCase):
    def test_what_it_means(self) -> None:
        for typed, wanted in (
            ([], []),
            (["--port", "80"], ["--port", "80"]),
            (["run", "what is it"], ["run", "what is it"]),
            (["--home", "x", "chat"], ["--home", "x", "chat"]),
            (["serve", "--port", "80"], ["--port", "80"]),
            (["--home", "x", "serve"], ["--home", "x"]),
            (["help"], ["--help"]),
            (["help", "run"], ["run", "--help"]),
            (["what is 6*7"], ["chat", "what is 6*7"]),
            (["--home", "x", "why?"], ["--home", "x", "chat", "why?"]),
            (["你好"], ["chat", "你好"]),
            (["--home=x", "why?"], ["--home=x", "chat", "why?"]),
            (["--ho", "x", "why?"], ["--ho", "x", "chat", "why?"]),
            (["--check", "why?"], ["--check", "chat", "why?"]),
        ):
            with self.subTest(typed):
                self.assertEqual(
                    with_command(typed, COMMANDS, OPTIONS, at_terminal=True), (wanted, "")
                )
        asked = with_command(["what is it"], COMMANDS, OPTIONS, at_terminal=False)
        self.assertEqual(asked, (["run", "what is it"], ""))

    def test_a_mistake_names_the_nearest(self) -> None:
        for typed, near in (
            (["seve"], "serve"),
            (["chta"], "chat"),
            (["--home", "x", "docter"], "doctor"),
            (["session"], "sessions"),
            (["xyz"], ""),
        ):
            _, problem = with_command(typed, COMMANDS, OPTIONS, at_terminal=True)
            with self.subTest(typed):
                self.assertIn(f"no command {typed[-1]!r}", problem)
                self.assertEqual("did you mean" in problem, bool(near))
                self.assertIn(near, problem)

    def test_an_option_that_is_none_names_the_nearest(self) -> None:
        """Before a command and after one, with the options that its parser has."""
        for typed, near in (
            (["--prot", "80"], "--port"),
            (["--prot=80", "chat"], "--port"),
            (["--open-page", "run"], "--open"),
            (["run", "--evnts", "x"], "--events"),
            (["here", "--mode", "read", "--temporay"], "--temporary"),
            (["--zzz"], ""),
        ):
            out = io.StringIO()
            with (
                self.subTest(typed),
                redirect_stderr(out),
                chdir("."),  # the command leaves the current folder
                self.assertRaises(SystemExit) as ended,
            ):
                main(typed)
            self.assertEqual(ended.exception.code, 2)
            self.assertIn("there is no option --", out.getvalue())
            self.assertIn(f"did you mean {near}?" if near else "--zzz (--help", out.getvalue())


if __name__ == "__main__":
    unittest.main()
