"""Draws the icons of the installed page: `python3 -m tests.tooling.icons`.

The sign is that of client/index.html, on a grid of 32 units. Equal programs draw equal bytes.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

from .pictures import chunk
from .tools import ROOT

FOLDER = ROOT / "client" / "icons"
UNITS = 32.0
GROUND, SIGN = (0x15, 0x63, 0x7A), (0xFF, 0xFF, 0xFF)
LINES = (((9.0, 9.0), (16.0, 17.0)), ((16.0, 17.0), (23.0, 9.0)), ((16.0, 17.0), (16.0, 24.0)))
STROKE = 3.0
CORNER = 8.0

SVG = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8"\
 fill="#15637a"/><path d="M9 9l7 8 7-8M16 17v7" fill="none" stroke="#fff" stroke-width="3"\
 stroke-linecap="round" stroke-linejoin="round"/></svg>
"""

Point = tuple[float, float]


def files() -> dict[str, bytes]:
    """The icons by name. What a system cuts to a shape of its own has no corners: a maskable one
    keeps its sign within the middle four fifths."""
    return {
        "icon.svg": SVG.encode(),
        "icon-192.png": png(192, CORNER, 1.0),
        "icon-512.png": png(512, CORNER, 1.0),
        "maskable-512.png": png(512, 0.0, 0.8),
        "apple-touch-icon.png": png(180, 0.0, 0.9),
    }


def png(size: int, corner: float, scale: float) -> bytes:
    """A square of `size` pixels with corners of `corner` units; `scale`: of the sign."""
    unit = UNITS / size
    rows = bytearray()
    for y in range(size):
        rows.append(0)
        for x in range(size):
            point = ((x + 0.5) * unit, (y + 0.5) * unit)
            inside = _covered(_outside(point, corner), unit)
            sign = _covered(_beside(point, scale), unit)
            mixed = (a + (b - a) * sign for a, b in zip(GROUND, SIGN, strict=True))
            rows += bytes((*map(round, mixed), round(255 * inside)))
    head = struct.pack(">IIBBBBB", size, size, 8, 6, 0, 0, 0)
    parts = (chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(bytes(rows), 9)))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts) + chunk(b"IEND", b"")


def _covered(distance: float, unit: float) -> float:
    """How much of a pixel lies within an edge that is `distance` units away."""
    return min(1.0, max(0.0, 0.5 - distance / unit))


def _outside(point: Point, corner: float) -> float:
    """Units to the edge of the square; negative inside."""
    half = UNITS / 2
    x, y = (abs(part - half) - half + corner for part in point)
    return float((max(x, 0.0) ** 2 + max(y, 0.0) ** 2) ** 0.5 + min(max(x, y), 0.0) - corner)


def _beside(point: Point, scale: float) -> float:
    """Units to the edge of the sign; negative on it."""
    half = UNITS / 2
    x, y = ((part - half) / scale + half for part in point)
    return (min(_to_line((x, y), *line) for line in LINES) - STROKE / 2) * scale


def _to_line(point: Point, start: Point, end: Point) -> float:
    (x, y), (x1, y1), (x2, y2) = point, start, end
    length = (x2 - x1) ** 2 + (y2 - y1) ** 2
    along = min(1.0, max(0.0, ((x - x1) * (x2 - x1) + (y - y1) * (y2 - y1)) / length))
    return float(((x - x1 - along * (x2 - x1)) ** 2 + (y - y1 - along * (y2 - y1)) ** 2) ** 0.5)


def write(folder: Path = FOLDER) -> None:
    folder.mkdir(exist_ok=True)
    for name, body in files().items():
        (folder / name).write_bytes(body)


if __name__ == "__main__":
    write()
