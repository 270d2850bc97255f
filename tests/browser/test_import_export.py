"""Sessions exported, opened, continued, imported and found again, from disk, in two browsers."""

from __future__ import annotations

import base64
import io
import json
import tempfile
import unittest
import zipfile

from server.session.media import wave

from ..tooling import pictures
from ..tooling.child import Yaa
from . import walks

USUAL = "http://127.0.0.1:12345/"  # a page from disk asks there, when it is idle, until it is told
# A wrong key is refused, and what went away does not answer.
MAY_FAIL = {
    "open",
    "what a model made is shown and heard, after a reload too",
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


class ImportExport(walks.Both):
    def check(self, browser: str) -> None:
        with (
            Yaa({"server": {"discover": False}}, at_once=True) as yaa,
            tempfile.TemporaryDirectory() as folder,
        ):
            job = {
                "url": walks.PAGE.as_uri(),
                "server": yaa.url,
                "key": yaa.key,
                "folder": folder,
                "zip": export(),
                "picture": base64.b64encode(pictures.png(64, 48)).decode(),
                "flac": base64.b64encode(pictures.flac()).decode(),
                "sound": base64.b64encode(wave(b"\0\20" * 1_000)).decode(),
            }
            self.walk("import-export", browser, job, expected=may_fail)


def may_fail(complaint: walks.Complaint) -> bool:
    expected = complaint["step"] in MAY_FAIL or USUAL in complaint["text"]
    return expected and walks.failed(complaint)


if __name__ == "__main__":
    unittest.main()
