"""`POST /transcriptions`: a recording becomes text at the owner's provider, and nowhere else."""

from __future__ import annotations

import asyncio
import json
import logging
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.api.auth import Keys
from server.app import App, routes
from server.config import load
from server.extensions.transcription.parts import MAX_PARTS
from server.extensions.transcription.transcriber import KINDS, MAX_AUDIO

from ...api import fakes
from ...http import live
from ...models.fakes import KEY, Peer, Reply, Server, answer, error, serving

SPOKEN = "the secret words that were said"
SOUND = b"a secret sound" * 9


def text(value: str = SPOKEN) -> bytes:
    return answer(json.dumps({"text": value}).encode(), kind="application/json")


class Case(unittest.IsolatedAsyncioTestCase):
    async def start(self, reply: Reply, **more: Any) -> Server:
        server = await self.enterAsyncContext(serving(reply))
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        entry = {"api_url": server.url, "api_key": KEY, "transcription": "w", "model_name": "m"}
        given = {"server.discover": False, "server.sandbox.require": "none"}
        given |= {"server.providers": {"voice": entry}, **more}
        app = await self.enterAsyncContext(App(load(folder / "home", None, {}, given), {}))
        self.router = routes(app, Keys([], "k"))
        return server

    async def send(
        self, body: bytes = SOUND, kind: str = "audio/webm;codecs=opus", headers: Any = None
    ) -> fakes.Call:
        head = {"Content-Type": kind, "Authorization": "Bearer k", **(headers or {})}
        asked = fakes.Call("POST", "/transcriptions", head, body)
        await self.router(asked.exchange)
        return asked

    async def info(self) -> Any:
        asked = fakes.Call("GET", "/info", {"Authorization": "Bearer k"})
        await self.router(asked.exchange)
        return asked.json["transcription"]


class Route(Case):
    async def test_what_is_said_comes_back_and_the_log_has_nothing_of_it(self) -> None:
        server = await self.start(text())
        with self.assertLogs("yaa", logging.DEBUG) as logs:
            asked = await self.send()
        self.assertEqual((asked.status, asked.json), (200, {"text": SPOKEN}))
        self.assertIn(SOUND, server.requests[0].body)
        told = "\n".join(logs.output)
        for secret in (SPOKEN, "secret sound", KEY, "/audio/"):
            self.assertNotIn(secret, told)
        self.assertIn(f"voice transcribed {len(SOUND)} bytes", told)
        self.assertEqual(
            await self.info(), {"provider": "voice", "model": "w", "max_bytes": MAX_AUDIO}
        )

    async def test_every_type_that_a_browser_records(self) -> None:
        await self.start(text())
        for kind in (*KINDS, "Audio/OGG; codecs=opus", "audio/mp4;codecs=mp4a.40.2"):
            self.assertEqual((await self.send(kind=kind)).status, 200, kind)

    async def form(self, *parts: tuple[str, str, bytes], path: str) -> fakes.Call:
        whole = b"".join(
            f'--XyZ\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n'.encode()
            + value
            + b"\r\n"
            for name, more, value in parts
        )
        head = {"Content-Type": "multipart/form-data; boundary=XyZ", "Authorization": "Bearer k"}
        asked = fakes.Call("POST", path, head, whole + b"--XyZ--\r\n")
        await self.router(asked.exchange)
        return asked

    async def test_a_form_as_openais_clients_send_it(self) -> None:
        server = await self.start(text())
        model = ("model", "", b"whisper-1")
        webm = '; filename="a.webm"\r\nContent-Type: audio/webm'
        named = '; filename="a.mp3"\r\nContent-Type: application/octet-stream'
        for path in ("/v1/audio/transcriptions", "/transcriptions"):
            for more, ending in ((webm, b"speech.webm"), (named, b"speech.mp3")):
                with self.subTest(path, more=more):
                    asked = await self.form(model, ("file", more, SOUND), path=path)
                    self.assertEqual((asked.status, asked.json), (200, {"text": SPOKEN}))
                    sent = server.requests[-1].body
                    self.assertIn(ending, sent)
                    self.assertIn(b"\r\n\r\n" + SOUND + b"\r\n--", sent)
        path = "/v1/audio/transcriptions"
        asked = await self.form(*(MAX_PARTS - 1) * [model], ("file", webm, SOUND), path=path)
        self.assertEqual(asked.status, 200)
        known = len(server.requests)
        for parts, status in (
            ([model], 415),
            ([("file", '; filename="a.exe"', SOUND)], 415),
            ([("file", webm, b"")], 422),
            ([*MAX_PARTS * [model], ("file", webm, SOUND)], 422),
            ([("file", webm, SOUND), ("response_format", "", b"srt")], 422),
        ):
            with self.subTest(parts=parts):
                asked = await self.form(*parts, path=path)
                self.assertEqual(asked.status, status)
                self.assertTrue(asked.json["error"]["message"])
        self.assertEqual(len(server.requests), known)

    async def test_what_is_refused_is_not_sent_on(self) -> None:
        server = await self.start(text())
        for wanted, body, kind, headers in (
            (415, SOUND, "", {}),
            (415, SOUND, "application/json", {}),
            (415, SOUND, "audio/x-unknown", {}),
            (415, SOUND, 'audio/webm"\nX-Evil: 1', {}),
            (415, SOUND, "audio/webm", {"Content-Encoding": "gzip"}),
            (422, b"", "audio/webm", {}),
            (413, SOUND, "audio/webm", {"Content-Length": str(MAX_AUDIO + 1)}),
            (413, bytes(MAX_AUDIO + 1), "audio/webm", {}),
            (401, SOUND, "audio/webm", {"Authorization": "Bearer wrong"}),
        ):
            asked = await self.send(body, kind, headers)
            with self.subTest(wanted, kind=kind):
                self.assertEqual(asked.status, wanted)
        self.assertEqual(server.requests, [])

    async def test_a_caller_writes_no_part_of_the_form_and_no_header(self) -> None:
        """Nothing of its Content-Type, its query or its headers reaches the provider."""
        server = await self.start(text())
        kind = 'audio/webm; name="x"; filename="../../etc/passwd"; boundary=evil'
        await self.send(kind=kind, headers={"X-Api-Url": "http://evil.example", "Cookie": "a=b"})
        asked = server.requests[0]
        whole = asked.body.decode("latin-1") + json.dumps(asked.headers)
        for foreign in ("passwd", "evil", "a=b", 'Bearer k"'):
            self.assertNotIn(foreign, whole)
        self.assertEqual(whole.count("Content-Disposition"), 3)

    async def test_the_key_does_not_leave_whatever_the_provider_says(self) -> None:
        thief = await self.enterAsyncContext(serving(text("stolen")))
        for reply in (
            answer(b"", "307 Temporary", f"location: {thief.url}"),
            error("401 Unauthorized", f"your key {KEY} is wrong"),
            answer(f"<p>{KEY}".encode(), "500 Oops"),
            answer(json.dumps({"key": KEY}).encode(), kind="application/json"),
        ):
            await self.start(reply)
            with self.assertLogs("yaa", logging.DEBUG) as logs:
                asked = await self.send()
            self.assertEqual((asked.status, asked.json["code"]), (502, "transcription_failed"))
            self.assertNotIn(KEY, json.dumps(asked.json) + "\n".join(logs.output))
        self.assertEqual(thief.connections, 0)

    async def test_who_hangs_up_ends_the_request_to_the_provider(self) -> None:
        gone = asyncio.Event()

        async def silent(peer: Peer) -> None:
            await peer.gone()
            gone.set()

        server = await self.start(silent)
        body = live.post(
            SOUND, "/transcriptions", "Content-Type: audio/ogg", "Authorization: Bearer k"
        )
        async with live.serving(self.router) as here, live.connected(here) as client:
            await client.send(body)
            await live.soon(server.asked.wait())
            client.reset()
            await live.soon(gone.wait())

    async def test_without_a_provider_for_it_the_next_step_is_named(self) -> None:
        await self.start(text(), **{"server.providers": {}})
        asked = await self.send()
        self.assertEqual((asked.status, asked.json["code"]), (404, "not_found"))
        self.assertIn("server.providers.NAME.transcription", asked.json["detail"])
        self.assertIsNone(await self.info())

    async def test_the_limit_of_a_key_counts(self) -> None:
        await self.start(text(), **{"server.limits.max_request_size": 100})
        self.assertEqual((await self.send(bytes(101))).status, 413)
        self.assertEqual((await self.info())["max_bytes"], 100)


if __name__ == "__main__":
    unittest.main()
