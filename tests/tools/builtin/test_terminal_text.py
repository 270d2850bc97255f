"""Output of programs as a terminal shows it at last, with its beginning and end."""

from __future__ import annotations

import unittest

from server.tools.builtin.terminal_text import MAX_LINE, TerminalText, screen_text

BAR = b"".join(b"\r%3d %%" % n for n in range(101)) + b"\ndone\n"


def text_of(data: bytes, piece: int, keep: int = 48_000) -> tuple[bytes, int]:
    text = TerminalText(keep)
    for start in range(0, len(data), piece):
        text.feed(data[start : start + piece])
    return text.end(), text.gap_size


class Shown(unittest.TestCase):
    def test_each_way_to_write_over_a_line(self) -> None:
        for data, wanted in (
            (b"plain\n", b"plain\n"),
            (BAR, b"100 %\ndone\n"),
            (b"abcdef\rxy\n", b"xycdef\n"),
            (b"abcdef\r\x1b[Kxy\n", b"xy\n"),
            (b"\x1b[31mred\x1b[0m \x1b[?25lx\x1b]0;title\x07y\n", b"red xy\n"),
            (b"dos\r\nfile\r\n", b"dos\r\nfile\r\n"),
            (b"a\x1b", b"a"),
            (b"\r\r\r", b"\r"),
            ("ä\rö\n".encode(), "ö\n".encode()),
        ):
            with self.subTest(data):
                self.assertEqual(screen_text(data), wanted)
                for piece in (1, 2, 3, 1000):
                    self.assertEqual(text_of(data, piece), (wanted, 0), piece)

    def test_beginning_and_end_of_what_is_long(self) -> None:
        data = b"".join(b"line %d\n" % n for n in range(10_000))
        for piece in (7, 65_536):
            found, dropped = text_of(data, piece, 200)
            self.assertEqual(dropped, len(data) - 200)
            self.assertTrue(found.startswith(data[:100]) and found.endswith(data[-100:]))
            self.assertIn(f"… {dropped} bytes left out …".encode(), found)

    def test_a_progress_bar_of_any_length_costs_one_line(self) -> None:
        steps = b"".join(b"\r%07d of 3000000" % n for n in range(30_000))
        found = text_of(b"begin\n" + steps + b"\nend\n", 4_097, 2_000)
        self.assertEqual(found, (b"begin\n0029999 of 3000000\nend\n", 0))

    def test_a_line_without_an_end_is_not_held(self) -> None:
        text = TerminalText(1_000)
        for _ in range(100):
            text.feed(b"x" * MAX_LINE)
            self.assertLessEqual(len(text._line), MAX_LINE)
        text.end()
        self.assertEqual(text.gap_size, 100 * MAX_LINE - 1_000)


if __name__ == "__main__":
    unittest.main()
