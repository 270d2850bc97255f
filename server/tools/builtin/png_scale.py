"""Make a large PNG smaller, in a tool's process: the standard library reads no pictures.

Pixels are averaged in squares; those of a palette are picked. Only what programs usually write is
read: 8 bits a channel, not interlaced. Some 5 MB of pixels take a second.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from operator import add

CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}  # by the kind of colour
PALETTE = 3
MAX_PIXELS = 100_000_000  # bytes of them, against a small file that unpacks to gigabytes
KEPT = (b"PLTE", b"tRNS")
SIGNATURE = b"\x89PNG\r\n\x1a\n"


class ScaleError(ValueError):
    """A picture cannot be made smaller here; the text says why."""


def made_smaller(data: bytes, side: int) -> bytes:
    """Return a PNG whose sides have at most `side` pixels. Raises ScaleError."""
    try:
        return _scaled(data, side)
    except (zlib.error, struct.error, IndexError, StopIteration, RuntimeError) as error:
        raise ScaleError(f"it is broken ({type(error).__name__})") from None


def _scaled(data: bytes, side: int) -> bytes:
    chunks = list(_chunks(data))
    width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", chunks[0][1])
    channels = CHANNELS.get(colour, 0)
    if depth != 8 or interlaced or not channels:
        raise ScaleError("only a PNG of 8 bits a channel, not interlaced, can be made smaller")
    if not 0 < width * height * channels <= MAX_PIXELS:
        raise ScaleError(f"{width} x {height} pixels are too many to be made smaller")
    step = -(-max(width, height) // side)
    packed = b"".join(body for kind, body in chunks if kind == b"IDAT")
    rows = _rows(packed, width * channels, height, channels)
    wide, high = width // step, height // step
    if not wide or not high:
        raise ScaleError(f"{width} x {height} pixels are too narrow to be made smaller")
    made = bytearray()
    for _ in range(high):
        block = [next(rows) for _ in range(step)]
        made.append(0)
        made += _row(block[:1] if colour == PALETTE else block, wide, step, channels)
    head = struct.pack(">IIBBBBB", wide, high, 8, colour, 0, 0, 0)
    kept = [(kind, body) for kind, body in chunks if kind in KEPT]
    parts = [(b"IHDR", head), *kept, (b"IDAT", zlib.compress(bytes(made), 6)), (b"IEND", b"")]
    return SIGNATURE + b"".join(_chunk(kind, body) for kind, body in parts)


def _row(block: list[bytearray], wide: int, step: int, channels: int) -> bytearray:
    """Return one row of averages of some rows; of a single row the first pixel of each square."""
    made = bytearray(wide * channels)
    stride, across = step * channels, 1 if len(block) == 1 else step
    count = len(block) * across
    for channel in range(channels):
        sums = [count // 2] * wide
        for row in block:
            for place in range(across):
                sums = list(map(add, sums, row[channel + place * channels :: stride]))
        made[channel::channels] = bytes(each // count for each in sums)
    return made


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(SIGNATURE)
    while at + 8 <= len(data):
        length, kind = struct.unpack_from(">I4s", data, at)
        yield kind, data[at + 8 : at + 8 + length]
        at += 12 + length


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _rows(packed: bytes, size: int, height: int, channels: int) -> Iterator[bytearray]:
    """Yield the rows of pixels, each of `size` bytes, without their filters."""
    unpacker = zlib.decompressobj()
    held, before = bytearray(), bytearray(size)
    for _ in range(height):
        while len(held) <= size:
            more = unpacker.decompress(packed, 1 << 20)
            packed = unpacker.unconsumed_tail
            if not more:
                raise IndexError
            held += more
        row = held[1 : size + 1]
        _unfilter(held[0], row, before, channels)
        del held[: size + 1]
        yield row
        before = row


def _unfilter(kind: int, row: bytearray, before: bytearray, step: int) -> None:
    """Undo the filter of a row in place: RFC 2083, section 6. `before`: the row above."""
    if kind == 2:
        row[:] = bytes(map((255).__and__, map(add, row, before)))
    elif kind == 1:
        for at in range(step, len(row)):
            row[at] = (row[at] + row[at - step]) & 255
    elif kind == 3:
        for at, above in enumerate(before):
            left = row[at - step] if at >= step else 0
            row[at] = (row[at] + (left + above) // 2) & 255
    elif kind == 4:
        for at, above in enumerate(before):
            left, corner = (row[at - step], before[at - step]) if at >= step else (0, 0)
            by_left, by_above = abs(above - corner), abs(left - corner)
            by_corner = abs(left + above - 2 * corner)
            if by_left <= by_above and by_left <= by_corner:
                nearest = left
            else:
                nearest = above if by_above <= by_corner else corner
            row[at] = (row[at] + nearest) & 255
    elif kind:
        raise IndexError
