"""Small files of every kind that a model may be shown, and a program that draws one."""

from __future__ import annotations

import struct
import zlib


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int = 3, height: int = 2, extra: bytes = b"", noise: bytes = b"") -> bytes:
    """A grey PNG. `extra`: whole chunks before its end. `noise`: bytes of a chunk of comments."""
    rows = b"".join(b"\0" + b"\x80" * min(width, 500) for _ in range(min(height, 50)))
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = [chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(rows))]
    if noise:
        parts.append(chunk(b"tEXt", noise))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts) + extra + chunk(b"IEND", b"")


def jpeg(width: int = 3, height: int = 2) -> bytes:
    """A progressive JPEG's markers: tables, two scans and stuffed bytes, no real picture."""
    app = b"\xff\xe0\x00\x04JF" + b"\xff\xfe\x00\x06\xff\xd9ab"  # an end mark in a comment
    frame = b"\xff\xc2\x00\x0b\x08" + struct.pack(">HH", height, width) + b"\x01\x01\x11\x00"
    scan = b"\xff\xda\x00\x08\x01\x01\x00\x00\x3f\x00" + b"\x12\xff\x00\x34\xff\xd0\x56"
    return b"\xff\xd8" + app + frame + scan + b"\xff\xc4\x00\x03\x00" + scan + b"\xff\xd9"


def gif(width: int = 3, height: int = 2) -> bytes:
    head = b"GIF89a" + struct.pack("<HH", width, height) + b"\x80\x00\x00" + b"\0" * 6
    control = b"\x21\xf9\x04\x00\x00\x00\x00\x00"
    image = b"\x2c" + struct.pack("<HHHH", 0, 0, width, height) + b"\x00\x02\x02\x4c\x01\x00"
    return head + control + image + b"\x3b"


def webp(width: int = 3, height: int = 2, kind: str = "lossy") -> bytes:
    if kind == "lossless":
        bits = (width - 1) | (height - 1) << 14
        body = b"VP8L" + struct.pack("<I", 5) + b"\x2f" + struct.pack("<I", bits) + b"\0"
    elif kind == "extended":
        size = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
        body = b"VP8X" + struct.pack("<I", 10) + b"\0\0\0\0" + size
    else:
        frame = b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width, height)
        body = b"VP8 " + struct.pack("<I", len(frame)) + frame
    return b"RIFF" + struct.pack("<I", len(body) + 4) + b"WEBP" + body


def wav() -> bytes:
    return b"RIFF" + struct.pack("<I", 36) + b"WAVEfmt " + b"\0" * 28


PDF = b"%PDF-1.4\n1 0 obj<<>>endobj\ntrailer<<>>\n%%EOF\n"

# Python code with which a model draws; the same bytes as png(64, 48).
DRAWS = """
import struct, zlib
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
rows = b"".join(b"\\0" + b"\\x80" * 64 for _ in range(48))
head = struct.pack(">IIBBBBB", 64, 48, 8, 0, 0, 0, 0)
with open("plot.png", "wb") as file:
    file.write(b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
"""


def flac(frames: int = 8) -> bytes:
    """Silence of 4,096 samples a frame, 44.1 kHz, one channel."""
    about = 44_100 << 44 | 15 << 36 | 4_096 * frames
    head = struct.pack(">HH6xQ16x", 4_096, 4_096, about)
    found = b"fLaC\x80" + len(head).to_bytes(3, "big") + head
    for number in range(frames):
        frame = bytes((0xFF, 0xF8, 0xC9, 0x08, number))
        frame += _checksum(frame, 8, 0x07) + b"\0\0\0"
        found += frame + _checksum(frame, 16, 0x8005)
    return found


def _checksum(data: bytes, bits: int, polynomial: int) -> bytes:
    value = 0
    for byte in data:
        value ^= byte << bits - 8
        for _ in range(8):
            value = (value << 1 ^ polynomial if value >> bits - 1 else value << 1) & (1 << bits) - 1
    return value.to_bytes(bits // 8, "big")
