"""Pictures, sounds and documents of AG-UI as parts of Chat Completions."""

from __future__ import annotations

import unittest
from typing import Any

from server.extensions.agui.request import content_of

DATA = {"type": "data", "value": "aGk="}
URL = {"type": "url", "value": "https://x/y"}
FILE = {"type": "file", "value": "file-1", "provider": "openai"}


class Contents(unittest.TestCase):
    def test_text(self) -> None:
        for content, wanted in (("ü", "ü"), ("", ""), (None, ""), ([], [])):
            self.assertEqual(content_of(content), wanted)

    def test_parts(self) -> None:
        picture = {**DATA, "mimeType": "image/png"}
        report = {"type": "document", "source": {**DATA, "mimeType": "application/pdf"}}
        inline = "data:application/pdf;base64,aGk="
        for part, wanted in (
            ({"type": "text", "text": "a"},) * 2,
            (
                {"type": "image", "source": picture},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
            ),
            (
                {"type": "image", "source": URL},
                {"type": "image_url", "image_url": {"url": "https://x/y"}},
            ),
            ({"type": "image", "source": FILE}, {"type": "file", "file": {"file_id": "file-1"}}),
            (
                {"type": "audio", "source": {**DATA, "mimeType": "audio/mpeg"}},
                {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "mp3"}},
            ),
            (
                {"type": "audio", "source": {**DATA, "mimeType": "audio/x-wav; rate=8000"}},
                {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}},
            ),
            (
                {"type": "audio", "source": URL},
                {"type": "audio_url", "audio_url": {"url": "https://x/y"}},
            ),
            (
                {"type": "video", "source": {**DATA, "mimeType": "video/mp4"}},
                {"type": "video_url", "video_url": {"url": "data:video/mp4;base64,aGk="}},
            ),
            (report, file("document", inline)),
            (report | {"metadata": {"filename": "a.pdf"}}, file("a.pdf", inline)),
            (report | {"metadata": []}, file("document", inline)),
            (
                {"type": "document", "source": DATA},
                file("document", "data:application/octet-stream;base64,aGk="),
            ),
        ):
            with self.subTest(part=part):
                self.assertEqual(content_of([part]), [wanted])

    def test_the_protocol_before_1_0(self) -> None:
        for part, wanted in (
            (
                {"mimeType": "image/png", "data": "aGk="},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
            ),
            (
                {"mimeType": "image/png", "url": "https://x/y"},
                {"type": "image_url", "image_url": {"url": "https://x/y"}},
            ),
            ({"mimeType": "image/png", "id": "f"}, {"type": "file", "file": {"file_id": "f"}}),
            (
                {"mimeType": "text/csv", "data": "aGk=", "filename": "a.csv"},
                file("a.csv", "data:text/csv;base64,aGk="),
            ),
        ):
            with self.subTest(part=part):
                self.assertEqual(content_of([{"type": "binary", **part}]), [wanted])

    def test_what_is_not_understood_is_passed_on(self) -> None:
        for part in (
            {"type": "hologram", "source": DATA},
            {"type": "image"},
            {"type": "image", "source": "x"},
            {"type": "image", "source": {"type": "data"}},
            {"type": "image", "source": {**DATA, "mimeType": 1}},
            {"type": "binary"},
            {"type": "image_url", "image_url": {"url": "u"}},
        ):
            with self.subTest(part=part):
                self.assertEqual(content_of([part]), [part])


def file(name: str, address: str) -> dict[str, Any]:
    return {"type": "file", "file": {"filename": name, "file_data": address}}


if __name__ == "__main__":
    unittest.main()
