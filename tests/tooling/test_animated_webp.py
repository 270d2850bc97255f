"""Moving pictures are put together from stills, and taken apart again."""

from __future__ import annotations

import unittest

from .animated_webp import Frame, animate, chunks, frames
from .pictures import webp

LOSSY, LOSSLESS = webp(30, 20), webp(4, 4, "lossless")


class Animate(unittest.TestCase):
    def test_frames_come_back(self) -> None:
        given = [Frame(0, 0, 30, 20, 400, LOSSY), Frame(6, 2, 4, 4, 70, LOSSLESS)]
        file = animate(30, 20, given)
        self.assertEqual(len(file), int.from_bytes(file[4:8], "little") + 8)
        self.assertEqual([name for name, _ in chunks(file)], [b"VP8X", b"ANIM", b"ANMF", b"ANMF"])
        self.assertEqual(file[24:30], bytes([29, 0, 0, 19, 0, 0]))
        back = frames(file)
        self.assertEqual([frame[:5] for frame in back], [frame[:5] for frame in given])
        for frame, still in zip(back, (LOSSY, LOSSLESS), strict=True):
            ((name, pixels),) = chunks(still)
            self.assertEqual(frame.still[:4], name)
            self.assertEqual(frame.still[8 : 8 + len(pixels)], pixels)

    def test_what_cannot_be_a_frame(self) -> None:
        for words, frame in (
            ("at \\(1, 0\\)", Frame(1, 0, 4, 4, 10, LOSSLESS)),
            ("at \\(0, 3\\)", Frame(0, 3, 4, 4, 10, LOSSLESS)),
            ("for 0 ms", Frame(0, 0, 4, 4, 0, LOSSLESS)),
            ("beyond 30 x 20", Frame(28, 0, 4, 4, 10, LOSSLESS)),
            ("beyond 30 x 20", Frame(0, 18, 4, 4, 10, LOSSLESS)),
            ("not all of it", Frame(0, 0, 4, 4, 10, LOSSLESS[:-1])),
            ("no WebP", Frame(0, 0, 4, 4, 10, b"\x89PNG\r\n\x1a\n")),
            ("no WebP", Frame(0, 0, 4, 4, 10, b"")),
            ("without pixels", Frame(0, 0, 4, 4, 10, b"RIFF\x04\0\0\0WEBP")),
        ):
            with self.subTest(words), self.assertRaisesRegex(ValueError, words):
                animate(30, 20, [frame])
        with self.assertRaisesRegex(ValueError, "no frame"):
            animate(30, 20, [])


if __name__ == "__main__":
    unittest.main()
