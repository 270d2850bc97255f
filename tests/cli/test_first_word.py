"""What a first word that is no command means."""

from __future__ import annotations

import unittest

from server.cli.first_word import with_command

COMMANDS = ("run", "chat", "here", "doctor", "sessions")


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
        ):
            with self.subTest(typed):
                self.assertEqual(with_command(typed, COMMANDS, at_terminal=True), (wanted, ""))
        asked = with_command(["what is it"], COMMANDS, at_terminal=False)
        self.assertEqual(asked, (["run", "what is it"], ""))

    def test_a_mistake_names_the_nearest(self) -> None:
        for typed, near in (
            (["seve"], "serve"),
            (["chta"], "chat"),
            (["--home", "x", "docter"], "doctor"),
            (["session"], "sessions"),
            (["xyz"], ""),
        ):
            _, problem = with_command(typed, COMMANDS, at_terminal=True)
            with self.subTest(typed):
                self.assertIn(f"no command {typed[-1]!r}", problem)
                self.assertEqual("did you mean" in problem, bool(near))
                self.assertIn(near, problem)


if __name__ == "__main__":
    unittest.main()
