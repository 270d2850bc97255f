"""Lines of a real terminal: pastes whole, and keys typed ahead, in pieces of any size."""

from __future__ import annotations

import io
import os
import pty
import termios
import unittest

from server.cli.line_input import BEGIN, END, MARK_S, QUIET_S, LineInput, comes

PASTE = f"{BEGIN}please list\ny\nthanks 你👩‍💻{END}"
LONGEST_S = 20.0  # for what was written to arrive


class Lines(unittest.TestCase):
    def setUp(self) -> None:
        self.open_terminal()

    def open_terminal(self) -> None:
        """Open a terminal in which nothing is on its way."""
        self.keys, theirs = pty.openpty()
        self.addCleanup(os.close, self.keys)
        self.terminal = self.enterContext(os.fdopen(theirs, encoding="utf-8"))
        self.pieces: list[bytes] = []
        self.waited: list[float] = []

    def wait(self, descriptor: int, seconds: float) -> bool:
        """A clock that stands: the next piece comes just before the time is over."""
        self.waited.append(seconds)
        if not self.pieces:
            return False
        os.write(self.keys, self.pieces.pop(0))
        return comes(descriptor, LONGEST_S)

    def lines(self) -> LineInput:
        return LineInput(self.terminal, io.StringIO(), marks=True, wait=self.wait)

    def typed(self, text: str) -> None:
        os.write(self.keys, text.encode())

    def test_a_paste_is_one_text(self) -> None:
        for text, wanted in (
            (f"{PASTE}\n", "please list\ny\nthanks 你👩‍💻"),
            (f"before {PASTE} after\n", "before please list\ny\nthanks 你👩‍💻 after"),
            (f"{BEGIN}{END}\n", ""),
            (f"{BEGIN}a\n{END}{BEGIN}\nb{END}\n", "a\n\nb"),
            ("no paste\n", "no paste"),
        ):
            with self.subTest(text):
                self.typed(text)
                self.assertEqual(self.lines().read("> "), wanted)

    def test_lines_that_come_at_once_are_one_message(self) -> None:
        self.pieces = [b"y\n", b"thanks\n"]
        self.typed("please list\n")
        self.assertEqual(self.lines().read_message("> "), "please list\ny\nthanks")
        for command in ("/clear\n", "\n"):
            self.pieces = [b"y\n"]
            self.typed(command)
            self.assertEqual(self.lines().read_message("> "), command.strip())

    def test_what_was_typed_ahead_is_discarded_wherever_it_is_cut(self) -> None:
        for text in (PASTE.encode(), b"y\n", b"y", b"\x1b", b"\x1b[A", f"y\n{PASTE}y".encode()):
            for cut in range(len(text)):
                self.pieces = [piece for piece in (text[:cut], text[cut:]) if piece]
                with self.subTest(text, cut=cut):
                    self.assertTrue(self.lines().discard())
                    self.assertEqual(self.pieces, [])
            self.pieces = [bytes([byte]) for byte in text]
            self.assertTrue(self.lines().discard())
        self.assertFalse(self.lines().discard(), "nothing was typed")
        self.typed("n\n")
        self.assertEqual(self.lines().read("? "), "n", "only what came after is an answer")

    def test_the_end_of_a_paste_is_waited_for(self) -> None:
        mark = BEGIN.encode()
        for pieces, last in (
            ([mark], MARK_S),
            ([mark[:3]], MARK_S),
            ([mark[:3], b"x"], QUIET_S),
            ([mark + b"y\n" * 5_000], MARK_S),
            ([mark + b"y\n", END.encode()], QUIET_S),
            ([b"y\n"], QUIET_S),
        ):
            self.open_terminal()
            self.pieces = list(pieces)
            self.lines().discard()
            with self.subTest(pieces[0][:20]):
                self.assertEqual(self.waited[-1], last)

    def test_the_terminal_is_as_before(self) -> None:
        before = termios.tcgetattr(self.terminal)
        out = io.StringIO()
        lines = LineInput(self.terminal, out, marks=True, wait=self.wait)
        self.typed("a\n")
        lines.read_message("> ")
        lines.discard()
        lines.close()
        self.assertEqual(termios.tcgetattr(self.terminal), before)
        self.assertEqual(out.getvalue(), "> ", "no marks where nothing but text may be written")

    def test_no_terminal_at_all(self) -> None:
        read, write = os.pipe()
        os.write(write, b"a\ny\n")
        os.close(write)
        with os.fdopen(read, encoding="utf-8") as source:
            lines = LineInput(source, io.StringIO(), marks=True, wait=self.wait)
            self.assertFalse(lines.discard())
            self.assertEqual([lines.read_message("> "), lines.read("> ")], ["a", "y"])
            self.assertRaises(EOFError, lines.read, "> ")


if __name__ == "__main__":
    unittest.main()
