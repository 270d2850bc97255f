"""Sessions exported, opened, continued, imported and found again, from disk, in two browsers."""

from __future__ import annotations

import base64
import io
import json
import tempfile
import unittest
import zipfile

from tests.tooling import tools
from tests.tooling.child import Yaa

from .walks import NEEDED, walk

PAGE = tools.ROOT / "client" / "index.html"
# A page from disk asks at the usual port before it is told another; a wrong key is refused.
REQUEST_FAILED = ("Failed to load resource", "NetworkError", "Cross-Origin Request Blocked")
MAY_FAIL = {
    "open",
    "what is written is there after a reload",
    "and goes on",
    "what is said while its server is away is not lost",
    "and stays, when it is told to",
}


def export() -> str:
    """What ChatGPT hands out, with one conversation in it."""
    said = {"author": {"role": "user"}, "content": {"parts": ["Is this packed?"]}}
    mapping = {"a": {"parent": None, "message": said}}
    talk = [{"title": "Out of a ZIP file", "mapping": mapping, "current_node": "a"}]
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("user.json", "{}")
        packed.writestr("conversations-000.json", json.dumps(talk))
        packed.writestr("chat.html", "<p>")
    return base64.b64encode(file.getvalue()).decode()


class Moving(unittest.TestCase):
    maxDiff = None

    def check(self, browser: str) -> None:
        with Yaa({"server": {"discover": False}}) as yaa, tempfile.TemporaryDirectory() as folder:
            job = {
                "url": PAGE.as_uri(),
                "server": yaa.url,
                "key": yaa.key,
                "folder": folder,
                "zip": export(),
                "label": f"{browser}-moving",
            }
            walked = walk("moving.mjs", browser, job, {})
        self.assertEqual(walked.error, "", walked.complaints)
        loud = [
            one
            for one in walked.complaints
            if one["step"] not in MAY_FAIL
            or not any(words in one["text"] for words in REQUEST_FAILED)
        ]
        self.assertEqual(loud, [], "the console is quiet")

    @tools.needs(*NEEDED, tools.package("axe-core"), tools.browser("chromium"))
    def test_chromium(self) -> None:
        self.check("chromium")

    @tools.needs(*NEEDED, tools.package("axe-core"), tools.browser("firefox"))
    def test_firefox(self) -> None:
        self.check("firefox")


if __name__ == "__main__":
    unittest.main()
