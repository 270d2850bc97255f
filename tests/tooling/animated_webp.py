"""Put WebP stills together to a moving one: the container format alone, no pixel is touched.

A still becomes a frame at a place of the canvas and stays until another one is put over it. The
format is described at developers.google.com/speed/webp/docs/riff_container.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

ANIMATION = 1 << 1  # flag of VP8X
OVER = 1 << 1  # flag of ANMF: the frame replaces what is below it
PIXELS = {b"ALPH", b"VP8 ", b"VP8L"}
MOST_MS = (1 << 24) - 1


class Frame(NamedTuple):
    """A still of `width` x `height` pixels at (x, y), both even, shown for `ms` milliseconds."""

    x: int
    y: int
    width: int
    height: int
    ms: int
    still: bytes


def animate(width: int, height: int, frames: Iterable[Frame]) -> bytes:
    """Return a WebP file that repeats the frames for ever. Raises ValueError for what cannot be."""
    head = struct.pack("<I", ANIMATION) + _three(width - 1) + _three(height - 1)
    parts = [_chunk(b"VP8X", head), _chunk(b"ANIM", struct.pack("<IH", 0, 0))]
    for frame in frames:
        if frame.x % 2 or frame.y % 2 or not 0 < frame.ms <= MOST_MS:
            raise ValueError(f"a frame at ({frame.x}, {frame.y}) for {frame.ms} ms")
        if frame.x + frame.width > width or frame.y + frame.height > height:
            raise ValueError(f"a frame beyond {width} x {height}")
        place = _three(frame.x // 2) + _three(frame.y // 2)
        size = _three(frame.width - 1) + _three(frame.height - 1)
        pixels = b"".join(
            _chunk(name, data) for name, data in chunks(frame.still) if name in PIXELS
        )
        if not pixels:
            raise ValueError("a still without pixels")
        parts.append(_chunk(b"ANMF", place + size + _three(frame.ms) + bytes([OVER]) + pixels))
    if len(parts) == 2:
        raise ValueError("no frame")
    return _chunk(b"RIFF", b"WEBP" + b"".join(parts))


def chunks(file: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield (name, data) of the parts of a WebP file. Raises ValueError if it is none."""
    if file[:4] != b"RIFF" or file[8:12] != b"WEBP" or len(file) < _size(file, 4) + 8:
        raise ValueError("no WebP file, or not all of it")
    at = 12
    while at + 8 <= len(file):
        size = _size(file, at + 4)
        if at + 8 + size > len(file):
            raise ValueError("no WebP file, or not all of it")
        yield file[at : at + 4], file[at + 8 : at + 8 + size]
        at += 8 + size + size % 2


def frames(file: bytes) -> list[Frame]:
    """Return the frames of a moving WebP, whose stills are parts without a head."""
    found = []
    for name, data in chunks(file):
        if name == b"ANMF":
            x, y, width, height, ms = (
                int.from_bytes(data[i : i + 3], "little") for i in range(0, 15, 3)
            )
            found.append(Frame(2 * x, 2 * y, width + 1, height + 1, ms, data[16:]))
    return found


def _chunk(name: bytes, data: bytes) -> bytes:
    return name + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)


def _three(number: int) -> bytes:
    return number.to_bytes(3, "little")


def _size(file: bytes, at: int) -> int:
    return int.from_bytes(file[at : at + 4], "little")
