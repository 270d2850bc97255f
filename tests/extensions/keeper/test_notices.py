"""A notice says no more than its owner wants, and arrives in the form that each receiver reads."""

from __future__ import annotations

import asyncio
import hmac
import json
import unittest
from typing import Any

from server.extensions.keeper.notices import (
    TITLES,
    Notice,
    Occurrence,
    occurrence_of,
    render,
    webhook_body,
)
from server.extensions.keeper.senders import (
    BURST,
    PAUSE_S,
    Notifier,
    Ntfy,
    Sender,
    SendError,
    Webhook,
)
from server.lib.http.client import Client

from ...models.fakes import FakeTime, Peer, Server, answer, serving

SECRET = "canary-5f1c"
ASKS = Occurrence("asks", f"Title {SECRET}", "shell", f"curl -H 'key: {SECRET}'", "https://y/l?t=1")
NOTICE = Notice("asks", "A session asks", "Tool: shell\nrm -r build", "https://yaa.example/l?t=x")
OK = answer(b"{}", kind="application/json")


class Rendered(unittest.TestCase):
    def test_short_has_nothing_of_the_session(self) -> None:
        notice = render(ASKS)
        self.assertEqual(notice, Notice("asks", TITLES["asks"], "Tool: shell", ASKS.link))
        for kind in TITLES:
            with self.subTest(kind):
                self.assertNotIn(SECRET, str(render(ASKS._replace(kind=kind))))
                self.assertTrue(render(Occurrence(kind)).text)

    def test_full_has_title_and_command(self) -> None:
        notice = render(ASKS, "full")
        self.assertEqual(notice.title, f"{TITLES['asks']}: Title {SECRET}")
        self.assertEqual(notice.text, f"Tool: shell\ncurl -H 'key: {SECRET}'")

    def test_it_is_bounded_one_line_and_hides_nothing(self) -> None:
        notice = render(
            Occurrence("asks", "a\r\nBcc: b\u202e" * 99, "t\n" * 99, "x\u200b" * 9999), "full"
        )
        self.assertNotIn("\n", notice.title)
        self.assertLess(len(notice.title), 150)
        self.assertLess(len(notice.text), 1_200)
        self.assertIn(r"x\u{200b}x", notice.text)
        self.assertEqual(notice.text.count("\n"), 1)

    def test_what_a_question_is_to_a_person(self) -> None:
        for question, detail in (
            ({"tool": "shell", "args": {"command": "ls", "x": 1}}, "ls"),
            ({"tool": "fetch", "args": {"url": "u"}}, '{"url": "u"}'),
            ({"reason": "input_required", "message": "Which one?"}, "Which one?"),
            ({"tool": "t", "args": ["x"]}, '["x"]'),
            ({}, ""),
        ):
            with self.subTest(question):
                self.assertEqual(occurrence_of(question, "T", "l").detail, detail)

    def test_a_template_of_a_webhook(self) -> None:
        notice = NOTICE._replace(title='a"b\\', text="{link} {0.__class__}")
        template = {
            "text": "*{title}* {text}",
            "blocks": [{"n": 1, "u": "{link}"}],
            "{title}": "{no} {kind.__class__}",
        }
        self.assertEqual(
            json.loads(webhook_body(notice, template)),
            {
                "text": '*a"b\\* {link} {0.__class__}',
                "blocks": [{"n": 1, "u": NOTICE.link}],
                "{title}": "{no} {kind.__class__}",
            },
        )
        self.assertEqual(json.loads(webhook_body(NOTICE)), NOTICE._asdict())


class Sent(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.client = Client()
        self.addAsyncCleanup(self.client.close)

    async def serve(self, *replies: Any) -> Server:
        return await self.enterAsyncContext(serving(*replies))

    async def test_ntfy_as_its_documentation_has_it(self) -> None:
        """docs.ntfy.sh/publish, "Publish as JSON": POST to the root, the topic in the body."""
        server = await self.serve(OK)
        root = server.url.removesuffix("/v1")
        await Ntfy(self.client, f"{root}/my%20topic", "tk_1").send(NOTICE)
        (request,) = server.requests
        self.assertEqual(request.line, "POST / HTTP/1.1")
        self.assertEqual(request.headers["authorization"], "Bearer tk_1")
        self.assertEqual(request.headers["content-type"], "application/json")
        self.assertEqual(
            json.loads(request.body),
            {
                "topic": "my topic",
                "title": "A session asks",
                "message": "Tool: shell\nrm -r build",
                "priority": 4,
                "tags": ["question"],
                "click": NOTICE.link,
                "actions": [{"action": "view", "label": "Open", "url": NOTICE.link, "clear": True}],
            },
        )
        await Ntfy(self.client, f"{root}/below/t").send(NOTICE._replace(kind="ended", link=""))
        last = server.requests[-1]
        self.assertEqual(last.line, "POST /below/ HTTP/1.1")
        self.assertNotIn("authorization", last.headers)
        body = json.loads(last.body)
        self.assertEqual(body.keys(), {"topic", "title", "message", "priority", "tags"})
        self.assertEqual(body["priority"], 3)

    async def test_a_webhook_is_signed_over_what_arrives(self) -> None:
        server = await self.serve(OK)
        await Webhook(self.client, f"{server.url}/in", "s" * 20, {"text": "é {title}"}).send(NOTICE)
        (request,) = server.requests
        digest = hmac.digest(b"s" * 20, bytes(request.body), "sha256").hex()
        self.assertEqual(request.headers["x-hub-signature-256"], f"sha256={digest}")
        self.assertEqual(json.loads(request.body), {"text": "é A session asks"})
        self.assertTrue(request.headers["x-yaa-delivery"])
        await Webhook(self.client, f"{server.url}/in").send(NOTICE)
        self.assertNotIn("x-hub-signature-256", server.requests[-1].headers)

    async def test_what_is_no_address_is_refused(self) -> None:
        for url in ("https://ntfy.sh", "https://ntfy.sh/", "ftp://ntfy.sh/t", "ntfy.sh/t", "/t"):
            with self.subTest(url), self.assertRaises(ValueError):
                Ntfy(self.client, url)
        with self.assertRaises(ValueError):
            Webhook(self.client, "file:///etc/passwd")

    async def test_a_redirect_is_a_failure_and_is_not_followed(self) -> None:
        other = await self.serve(OK)
        moved = f"HTTP/1.1 307 X\r\nLocation: {other.url}\r\nContent-Length: 0\r\n\r\n".encode()
        server = await self.serve(moved)
        with self.assertRaises(SendError) as caught:
            await Ntfy(self.client, f"{server.url}/{SECRET}", SECRET).send(NOTICE)
        self.assertEqual(str(caught.exception), "it answered 307")
        self.assertEqual(other.requests, [])

    async def test_no_failure_names_a_topic_or_a_token(self) -> None:
        async def hang_up(peer: Peer) -> None:
            peer.writer.close()

        server = await self.serve(hang_up)
        refused = await self.serve(
            answer(SECRET.encode(), kind="text/plain", status="403 Forbidden")
        )
        for url in (server.url, refused.url, "http://localhost:1"):
            for way in (
                Ntfy(self.client, f"{url}/{SECRET}", SECRET),
                Webhook(self.client, f"{url}/{SECRET}", SECRET * 3),
            ):
                with self.subTest(url, way=way), self.assertRaises(SendError) as caught:
                    await way.send(NOTICE)
                self.assertNotIn(SECRET, str(caught.exception))
                self.assertNotIn("rm -r", str(caught.exception))


class Flaky(Sender):
    """A way that fails so many times."""

    def __init__(self, failures: int = 0) -> None:
        self.failures, self.sent = failures, 0

    async def send(self, notice: Notice) -> None:
        self.sent += 1
        if self.sent <= self.failures:
            raise SendError("it answered 500")


class Notified(unittest.IsolatedAsyncioTestCase):
    async def send(self, *ways: Sender, times: int = 1, person: str = "ann") -> list[list[str]]:
        self.clock = FakeTime()
        named = {f"way{number}": way for number, way in enumerate(ways)}
        notifier = Notifier({"ann": named}, self.clock.sleep)
        return [await notifier.send(person, NOTICE) for _ in range(times)]

    async def test_it_is_tried_once_more_after_a_pause(self) -> None:
        way = Flaky(1)
        self.assertEqual(await self.send(way), [[]])
        self.assertEqual((way.sent, self.clock.slept), (2, [PAUSE_S]))

    async def test_a_failure_is_said_and_costs_the_others_nothing(self) -> None:
        broken, well = Flaky(9), Flaky()
        with self.assertLogs("yaa", "WARNING") as logs:
            ((text,),) = await self.send(broken, well)
        self.assertEqual(text, "The notice by way0 was not sent: it answered 500")
        self.assertIn(text, logs.output[0])
        self.assertEqual((broken.sent, well.sent), (2, 1))

    async def test_a_rate_for_each_way(self) -> None:
        way = Flaky()
        with self.assertLogs("yaa", "WARNING"):
            said = await self.send(way, times=BURST + 2)
        self.assertEqual(said[:BURST], [[]] * BURST)
        self.assertIn(f"more than {BURST} notices", said[-1][0])
        self.assertEqual(way.sent, BURST)
        self.assertEqual(await self.send(Flaky(), Flaky(), times=BURST), [[]] * BURST)

    async def test_who_has_no_way_is_sent_nothing(self) -> None:
        way = Flaky()
        self.assertEqual(await self.send(way, person="bob"), [[]])
        self.assertEqual(way.sent, 0)

    async def test_one_that_waits_can_be_cancelled(self) -> None:
        forever = asyncio.Event()
        notifier = Notifier({"ann": {"w": Flaky(9)}}, lambda _: forever.wait())
        task = asyncio.create_task(notifier.send("ann", NOTICE))
        await asyncio.sleep(0)
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task


if __name__ == "__main__":
    unittest.main()
