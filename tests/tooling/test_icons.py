"""The icons in the client are those that the program draws, and the manifest names them rightly."""

from __future__ import annotations

import json
import re
import struct
import unittest
import zlib

from . import icons
from .tools import ROOT


def pixels(png: bytes) -> tuple[bytes, bytes]:
    """The head of a picture and its rows: packed, they differ from one zlib to the next."""
    size = struct.unpack(">I", png[33:37])[0]
    return png[16:29], zlib.decompress(png[41 : 41 + size])


class Icons(unittest.TestCase):
    def test_they_are_as_drawn(self) -> None:
        kept = (icons.FOLDER / "icon-192.png").read_bytes()
        self.assertEqual(pixels(kept), pixels(icons.png(192, icons.CORNER, 1.0)))
        self.assertEqual((icons.FOLDER / "icon.svg").read_text(), icons.SVG)
        page = (ROOT / "client" / "index.html").read_text()
        path = re.search(r'<path (d="[^"]+")', icons.SVG)
        assert path is not None
        self.assertIn(path[1].replace('"', "'"), page, "the sign of the tab")

    def test_the_manifest_names_them(self) -> None:
        folder = ROOT / "client"
        manifest = json.loads((folder / "manifest.webmanifest").read_text())
        for icon in manifest["icons"]:
            body = (folder / icon["src"]).read_bytes()
            if icon["type"] == "image/png":
                width, height = struct.unpack(">II", body[16:24])
                self.assertEqual(icon["sizes"], f"{width}x{height}", icon)
        named = {icon["src"].removeprefix("icons/") for icon in manifest["icons"]}
        present = {path.name for path in icons.FOLDER.iterdir()}
        self.assertEqual(present - named, {"apple-touch-icon.png"})
        # Relative, since a proxy may serve the page below a prefix.
        self.assertEqual([manifest[key] for key in ("id", "start_url", "scope")], ["./"] * 3)
        self.assertEqual(manifest["share_target"]["action"], "share")


if __name__ == "__main__":
    unittest.main()
