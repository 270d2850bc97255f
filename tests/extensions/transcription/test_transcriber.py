"""Speech to text: what a provider is sent, over real sockets, and what may come back."""

from __future__ import annotations

import asyncio
import json
import re
import unittest
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any

from server.extensions.transcription.transcriber import (
    KINDS,
    MAX_ANSWER,
    USUAL,
    Transcriber,
    find_transcriber,
    multipart,
)
from server.lib.http.client import Client, Timeouts
from server.models.failure import Failure
from server.models.registry import Models

from ...models.fakes import CHUNKED, KEY, Peer, Reply, Server, answer, chunk, error, serving

SOUND = b"\x1aE\xdf\xa3 \r\n--not a boundary--\r\n\x00\xff" * 50


def said(value: Any, status: str = "200 OK") -> bytes:
    return answer(json.dumps(value).encode(), status, kind="application/json")


def parts_of(content_type: str, body: bytes) -> dict[str, Any]:
    """The parts of a form by name, read by another program than the one that wrote it."""
    head = f"Content-Type: {content_type}\r\n\r\n".encode()
    message = BytesParser(policy=HTTP).parsebytes(head + body)
    return {str(part.get_param("name", header="content-disposition")): part
            for part in message.iter_parts()}  # fmt: skip


class Case(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.client = Client()
        self.addAsyncCleanup(self.client.close)

    def find(self, *entries: dict[str, Any], env: Any = None, **server: Any) -> Transcriber | None:
        providers = {f"p{number}": entry for number, entry in enumerate(entries)}
        models = Models({"providers": providers, **server}, self.client, env or {})
        return find_transcriber(models, self.client)

    def found(self, url: str, **more: Any) -> Transcriber:
        made = self.find({"api_url": url, "api_key": KEY, "transcription": "whisper-1", **more})
        assert made is not None
        return made

    async def ask(
        self, *replies: Reply, patience: Timeouts | None = None, **more: Any
    ) -> tuple[str, Server]:
        async with serving(*replies) as server:
            transcriber = self.found(server.url, **more)
            given = {} if patience is None else {"patience": patience}
            return await transcriber.transcribe(SOUND, "audio/webm", **given), server

    async def fails(self, *replies: Reply, **more: Any) -> Failure:
        with self.assertRaises(Failure) as caught:
            await self.ask(*replies, **more)
        self.assertNotIn(KEY, caught.exception.message)
        return caught.exception


class Who(Case):
    async def test_the_owners_setting_then_the_vendors_own_model(self) -> None:
        own = {"api_url": "http://127.0.0.1:9/v1", "transcription": "small"}
        silent = {"api_url": "http://127.0.0.1:8/v1", "api_key": KEY}
        openai = {"preset": "openai", "api_key": KEY}
        for entries, wanted in (
            ([], None),
            ([silent], None),
            ([own], ("p0", "small", "http://127.0.0.1:9/v1/audio/transcriptions")),
            ([silent, own], ("p1", "small", "http://127.0.0.1:9/v1/audio/transcriptions")),
            ([{**own, "api_url": "http://127.0.0.1:9"}],
             ("p0", "small", "http://127.0.0.1:9/v1/audio/transcriptions")),
            ([{**own, "api_url": "http://127.0.0.1:9/v1/chat/completions?v=2"}],
             ("p0", "small", "http://127.0.0.1:9/v1/audio/transcriptions?v=2")),
            ([openai], ("p0", USUAL["api.openai.com"],
                        "https://api.openai.com/v1/audio/transcriptions")),
            ([{"preset": "openai"}], None),
            ([{**openai, "transcription": ""}], None),
            ([{**openai, "transcription": ""}, own],
             ("p1", "small", "http://127.0.0.1:9/v1/audio/transcriptions")),
            ([{**openai, "api_url": "https://proxy.example/v1"}], None),
            ([{"api_url": "https://api.groq.com/openai/v1", "api_key": KEY}],
             ("p0", USUAL["api.groq.com"],
              "https://api.groq.com/openai/v1/audio/transcriptions")),
            ([{"preset": "deepseek", "api_key": KEY}], None),
        ):  # fmt: skip
            with self.subTest(entries):
                made = self.find(*entries)
                self.assertEqual(made and (made.name, made.model, made.url), wanted)

    async def test_the_default_provider_comes_first(self) -> None:
        entries = [{"api_url": f"http://127.0.0.1:{n}/v1", "transcription": "w"} for n in (7, 8)]
        made = self.find(*entries, default_provider="p1")
        self.assertEqual(made and made.name, "p1")
        self.assertEqual(made and made.info(), {"provider": "p1", "model": "w"})

    async def test_a_key_is_in_no_text_of_it(self) -> None:
        made = self.found("http://127.0.0.1:9/v1", headers={"x-own": KEY})
        self.assertNotIn(KEY, repr(made))


class Sent(Case):
    async def test_the_form(self) -> None:
        for model in ("whisper-1", "声音-β 🎤", 'a"b\r\nc'):
            text, server = await self.ask(said({"text": " Hello. "}), transcription=model)
            asked = server.requests[0]
            parts = parts_of(asked.headers["content-type"], asked.body)
            with self.subTest(model):
                self.assertEqual(text, "Hello.")
                self.assertEqual(asked.line, "POST /v1/audio/transcriptions HTTP/1.1")
                self.assertEqual(asked.headers["authorization"], f"Bearer {KEY}")
                self.assertEqual([*parts], ["model", "response_format", "file"])
                self.assertEqual(parts["model"].get_payload(decode=True).decode(), model)
                self.assertEqual(parts["file"].get_payload(decode=True), SOUND)
                self.assertEqual(parts["file"].get_filename(), "speech.webm")
                self.assertEqual(parts["file"].get_content_type(), "audio/webm")

    def test_every_type_has_an_ending_and_each_form_another_boundary(self) -> None:
        seen = set()
        for kind, ending in KINDS.items():
            content_type, body = multipart("m", SOUND, kind)
            part = parts_of(content_type, body)["file"]
            self.assertEqual(part.get_filename(), f"speech.{ending}")
            self.assertEqual(part.get_content_type(), kind)
            seen.add(content_type)
        self.assertEqual(len(seen), len(KINDS))

    async def test_no_key_no_header_and_the_owners_headers_go_along(self) -> None:
        more: dict[str, Any] = {
            "api_key": "",
            "headers": {"Api-Version": "3", "Content-Type": "text/plain"},
        }
        _, server = await self.ask(said({"text": "x"}), **more)
        headers = server.requests[0].headers
        self.assertNotIn("authorization", headers)
        self.assertEqual(headers["api-version"], "3")
        self.assertTrue(headers["content-type"].startswith("multipart/form-data; boundary="))


class Answers(Case):
    async def test_texts(self) -> None:
        for value, wanted in (
            ({"text": ""}, ""),
            ({"text": " \n "}, ""),
            ({"text": "说 \U0001f3a4"}, "说 \U0001f3a4"),
            ({"text": "x", "usage": {"type": "tokens"}, "words": [1]}, "x"),
        ):
            with self.subTest(value):
                text, _ = await self.ask(said(value))
                self.assertEqual(text, wanted)
                text.encode()

    async def test_what_is_no_text(self) -> None:
        for reply in (
            said({}), said([]), said({"text": None}), said({"text": {"a": 1}}), said("text"),
            said({"text": "a\ud800b"}),
            answer(b""), answer(b"<html>hello"), answer(b"\xff\xfe\x00"), answer(b'{"text": "a'),
        ):  # fmt: skip
            with self.subTest(reply[-20:]):
                self.assertIn("without a text", (await self.fails(reply)).message)

    async def test_refusals_are_told_in_the_providers_words(self) -> None:
        for reply, code, words in (
            (error("400 Bad Request", "Audio file is too short"), "upstream_error", "too short"),
            (error("401 Unauthorized", f"no such key {KEY}"), "upstream_auth", "no such key"),
            (error("413 Payload Too Large", "25 MB at most"), "context_overflow", "25 MB"),
            (error("429 Too Many", "slow down"), "upstream_rate_limit", "slow down"),
            (answer(b"", "404 Not Found"), "upstream_error", "api_url"),
        ):
            failure = await self.fails(reply)
            with self.subTest(words):
                self.assertEqual(failure.code, code)
                self.assertIn(words, failure.message)

    async def test_a_redirect_is_not_followed_with_the_key(self) -> None:
        async with serving(said({"text": "stolen"})) as thief:
            to = f"location: {thief.url}/audio/transcriptions"
            for status in ("301 Moved", "302 Found", "307 Temporary", "308 Permanent"):
                failure = await self.fails(answer(b"", status, to))
                self.assertIn("redirect", failure.message)
            self.assertEqual((thief.requests, thief.connections), ([], 0))

    async def test_answers_that_die_lie_or_have_no_end(self) -> None:
        async def hangs_up(peer: Peer) -> None:
            peer.writer.close()

        async def in_the_middle(peer: Peer) -> None:
            await peer.send(b'HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{"text": "half')

        async def endless(peer: Peer) -> None:
            await peer.send(CHUNKED + chunk(b'{"text": "'))
            for _ in range(MAX_ANSWER // 65536 + 2):
                await peer.send(chunk(b"x" * 65536))
            await peer.gone()

        async def no_http(peer: Peer) -> None:
            await peer.send(b"hello\r\n\r\n")

        async def endless_refusal(peer: Peer) -> None:
            await peer.send(CHUNKED.replace(b"200 OK", b"500 Oops") + chunk(b"no " * 30_000))
            await peer.gone()

        for script in (hangs_up, in_the_middle, endless, no_http, endless_refusal):
            with self.subTest(script.__name__):
                failure = await self.fails(script)
                self.assertIn("p0", failure.message)
                self.assertLess(len(failure.message), 600)

    async def test_a_slow_one_is_given_up_and_its_connection_closed(self) -> None:
        gone = asyncio.Event()

        async def silent(peer: Peer) -> None:
            await peer.gone()
            gone.set()

        failure = await self.fails(silent, patience=Timeouts(total=0.05, first_byte=None))
        self.assertTrue(re.search(r"0\.05|time", failure.message), failure.message)

        async def drip(peer: Peer) -> None:
            await peer.send(CHUNKED + chunk(b'{"text": "'))
            await peer.gone()
            gone.set()

        await self.fails(drip, patience=Timeouts(total=0.05))

    async def test_who_hangs_up_closes_the_connection_to_the_provider(self) -> None:
        gone = asyncio.Event()

        async def silent(peer: Peer) -> None:
            await peer.gone()
            gone.set()

        async with serving(silent) as server:
            task = asyncio.create_task(self.found(server.url).transcribe(SOUND, "audio/webm"))
            await server.asked.wait()
            task.cancel()
            await gone.wait()
            with self.assertRaises(asyncio.CancelledError):
                await task


if __name__ == "__main__":
    unittest.main()
