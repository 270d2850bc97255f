"""MCP over HTTP: servers on a socket of this process that say what a case wants said."""

from __future__ import annotations

import asyncio
import json
import logging
import unittest
from collections.abc import Callable
from functools import partial
from typing import Any

from server.extensions.mcp.servers import McpServers
from server.lib.http.client import Client
from server.tools.base import ToolQuestion
from server.tools.runner import Outcome

from ...fakes import call_server
from ...tooling import patience

LIMITS = {"wall_s": 10.0, "output_kb": 64.0}
Json = dict[str, Any]
Answer = tuple[int, str, bytes]  # status, header lines, body
HTML = "Content-Type: text/html\r\n"
SCHEMA: Json = {
    "type": "object",
    "properties": {"text": {"type": "string", "x-mcp-header": "Text"}},
}


class Peer:
    """One request a connection; `seen` holds (method, headers, message) of each."""

    def __init__(self, say: Callable[[str, Json, Json], Answer | None]) -> None:
        self.say = say
        self.seen: list[tuple[str, Json, Json]] = []
        self.left = asyncio.Event()  # the client closed a connection that was not answered

    async def start(self) -> str:
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        port = self.server.sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}/mcp?key=hidden"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        first, *lines = head.strip().split("\r\n")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        message = json.loads(body) if body else {}
        headers[":path"] = first.split()[1]
        self.seen.append((first.split()[0], headers, message))
        answer = self.say(first.split()[0], headers, message)
        if answer is None:
            await reader.read()
            self.left.set()
        else:
            await self.reply(answer, writer)
        writer.close()

    async def reply(self, answer: Answer, writer: asyncio.StreamWriter) -> None:
        status, more, body = answer
        writer.write(f"HTTP/1.1 {status} X\r\nConnection: close\r\n{more}\r\n".encode() + body)


def whole(message: Json, result: Json, more: str = "") -> Answer:
    body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
    return 200, f"Content-Type: application/json\r\n{more}Content-Length: {len(body)}\r\n", body


def stream(*messages: Json | str) -> Answer:
    frames = [m if isinstance(m, str) else f"data: {json.dumps(m)}\n\n" for m in messages]
    return 200, "Content-Type: text/event-stream\r\n", "".join(frames).encode()


def refused(message: Json, code: int, status: int) -> Answer:
    error = {"code": code, "message": "no such thing"}
    body = json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "error": error}).encode()
    return status, f"Content-Length: {len(body)}\r\n", body


def modern(call: Callable[[Json], Answer | None]) -> Callable[[str, Json, Json], Answer | None]:
    def say(_: str, _headers: Json, message: Json) -> Answer | None:
        match message.get("method"):
            case "server/discover":
                return whole(message, {"supportedVersions": ["2026-07-28"]})
            case "tools/list":
                bad = {"type": "object", "properties": {"a": {"x-mcp-header": "b c"}}}
                tools = [{"name": "t", "inputSchema": SCHEMA}, {"name": "b", "inputSchema": bad}]
                return whole(message, {"tools": tools})
        return call(message)

    return say


class Case(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        logging.disable(logging.CRITICAL)  # what is wrong with servers is read from `problems`
        self.addCleanup(logging.disable, logging.NOTSET)
        self.client = Client()
        self.addAsyncCleanup(self.client.close)

    async def servers(self, peer: Peer, **more: Any) -> tuple[McpServers, list[Any]]:
        url = await peer.start()
        self.addCleanup(peer.server.close)
        servers = McpServers({"s": {"url": url, "headers": {"X-Key": "k"}, **more}}, self.client)
        tools: list[Any] = []
        await servers.load(lambda _, listed: tools.extend(listed))
        self.addAsyncCleanup(servers.close)
        return servers, tools

    async def call(self, say: Callable[[Json], Answer | None], **limits: float) -> Any:
        """Everything that one call yields, and the peer."""
        peer = Peer(modern(say))
        servers, tools = await self.servers(peer)
        args = {"text": "smørrebrød"}
        found = await call_server(servers, tools[0], args, None, {**LIMITS, **limits})
        return found, peer


class Modern(Case):
    async def test_headers(self) -> None:
        found, peer = await self.call(lambda m: whole(m, {"content": []}))
        self.assertEqual(found[-1].status, "ok")
        _, headers, message = peer.seen[-1]
        self.assertEqual(headers["mcp-method"], "tools/call")
        self.assertEqual(headers["mcp-name"], "t")
        self.assertEqual(headers["mcp-protocol-version"], "2026-07-28")
        self.assertEqual(headers["mcp-param-text"], "=?base64?c23DuHJyZWJyw7hk?=")
        self.assertEqual(headers["x-key"], "k")
        about = message["params"]["_meta"]
        self.assertEqual(about["io.modelcontextprotocol/protocolVersion"], "2026-07-28")

    async def test_tools_with_unusable_annotations_are_left_out(self) -> None:
        servers, tools = await self.servers(Peer(modern(lambda m: None)))
        self.assertEqual([tool.name for tool in tools], ["mcp__s__t"])
        self.assertIn("x-mcp-header", "".join(servers.problems))

    async def test_a_stream_brings_progress_and_the_answer(self) -> None:
        def say(message: Json) -> Answer:
            token = message["params"]["_meta"]["progressToken"]
            progress = {"progressToken": token, "progress": 1, "message": "half"}
            other = {"progressToken": "x", "message": "not mine"}
            return stream(
                ": hello\n\n",
                "data: nonsense\n\n",
                {"method": "notifications/progress", "params": other},
                {"method": "notifications/progress", "params": progress},
                {"id": -5, "result": {}},
                {"id": message["id"], "result": {"content": [{"type": "text", "text": "end"}]}},
            )

        found, _ = await self.call(say)
        self.assertEqual(found[0], "1 half\n")
        self.assertEqual((len(found), found[1].text), (2, "end"))

    async def test_answers_in_a_batch_and_with_their_id_as_text(self) -> None:
        done: Json = {"content": [{"type": "text", "text": "fine"}]}

        def batch(message: Json) -> Answer:
            others: list[Json] = [{"method": "notifications/x"}, {"id": 999, "result": {}}]
            body = json.dumps([*others, {"id": message["id"], "result": done}]).encode()
            return 200, f"Content-Length: {len(body)}\r\n", body

        said = [
            batch,
            lambda m: whole({"id": str(m["id"])}, done),
            lambda m: stream("data: " + batch(m)[2].decode() + "\n\n"),
            lambda m: stream({"id": float(m["id"]), "result": done}),
        ]
        for number, say in enumerate(said):
            with self.subTest(number):
                found, _ = await self.call(say)
                self.assertEqual(found[-1].text, "fine", found)

    async def test_failures_are_results_and_name_the_host_only(self) -> None:
        cases: list[tuple[str, Callable[[Json], Answer], str]] = [
            ("cut", lambda m: stream(": hello\n\n"), "ended its stream"),
            ("cut in an event", lambda m: stream("data: {"), "ended its stream"),
            ("refused", lambda m: refused(m, -32602, 400), "no such thing"),
            ("no JSON", lambda m: (200, "Content-Length: 2\r\n", b"hi"), "not a JSON object"),
            (
                "moved",
                lambda m: (302, "Location: /x\r\nContent-Length: 0\r\n", b""),
                "302 (it redi",
            ),
            ("in a circle", lambda m: (307, "Location: /a\r\nContent-Length: 0\r\n", b""), "307"),
            ("nowhere", lambda m: (308, "Location: http://[\r\nContent-Length: 0\r\n", b""), "308"),
            ("no key", lambda m: (401, "Content-Length: 0\r\n", b""), "401 (the credentials in"),
            ("forbidden", lambda m: (403, "Content-Length: 0\r\n", b""), "403 (the credentials"),
            ("gone", lambda m: (404, "Content-Length: 0\r\n", b""), "404 (there is nothing"),
            ("often", lambda m: (429, "Content-Length: 0\r\n", b""), "429 (it is asked"),
            (
                "a page",
                lambda m: (200, f"{HTML}Content-Length: 4\r\n", b"<hr>"),
                "not a JSON object",
            ),
            ("a list", lambda m: (200, "Content-Length: 2\r\n", b"[]"), "not a JSON object"),
            ("empty", lambda m: (202, "Content-Length: 0\r\n", b""), "not a JSON object"),
            ("huge", lambda m: (200, f"Content-Length: {10**12}\r\n", b"{"), "127.0.0.1"),
            ("odd length", lambda m: (200, "Content-Length: -1\r\n", b"{}"), "127.0.0.1"),
            ("another's", lambda m: whole({"id": -7}, {}), "a request that was not made"),
            (
                "another's in a stream",
                lambda m: stream({"id": -7, "result": {}}),
                "ended its stream",
            ),
            ("a long event", lambda m: stream("data: " + "x" * 9_000_000), ""),
            ("packed", lambda m: (200, "Content-Encoding: br\r\n", b"x"), "compressed"),
            ("broken", lambda m: (500, "Content-Length: 2\r\n", b"no"), "answered 500"),
            ("no result", lambda m: whole(m, []), "without a result"),  # type: ignore[arg-type]
            ("deep", lambda m: whole(m, _deep(200)), "nested deeper"),
            ("large", lambda m: whole(m, {"a": "x" * 9_000_000}), "more than"),
            ("unknown", lambda m: whole(m, {"resultType": "new"}), "unknown kind"),
        ]
        for name, say, part in cases:
            with self.subTest(name):
                found, _ = await self.call(say)
                self.assertEqual(found[-1].status, "error")
                self.assertIn(part, found[-1].error["message"])
                self.assertNotIn("hidden", found[-1].error["message"])

    async def test_a_slow_answer_ends_at_the_limit_by_closing_the_stream(self) -> None:
        found, peer = await self.call(lambda m: None, wall_s=0.2)
        self.assertEqual(found[-1].status, "timeout")
        async with asyncio.timeout(patience.seconds(10)):
            await peer.left.wait()

    async def test_a_question(self) -> None:
        form = {"message": "Sure?", "requestedSchema": {"type": "object"}}
        asked = {"q": {"method": "elicitation/create", "params": form}}
        result = {"resultType": "input_required", "inputRequests": asked, "requestState": "s"}
        found, _ = await self.call(lambda m: whole(m, result))
        self.assertIsInstance(found[-1], ToolQuestion)
        self.assertEqual(found[-1].input["state"], "s")

    async def test_streams_that_never_end(self) -> None:
        for name, frame in (
            ("pings", b": ping\n\n"),
            ("notices", b'data: {"method": "notifications/message"}\n\n' * 200),
            ("fields", b"data: x\n"),
            ("one line", b"x" * 60_000),
        ):
            with self.subTest(name):
                endless = Endless(frame)
                servers, tools = await self.servers(endless)
                limits = {**LIMITS, "wall_s": 0.5}
                found = await call_server(servers, tools[0], {}, None, limits)
                assert isinstance(found[-1], Outcome)
                self.assertIn(found[-1].status, ("timeout", "error"))
                async with asyncio.timeout(patience.seconds(10)):
                    await endless.left.wait()

    async def test_nothing_of_ours_goes_to_another_host(self) -> None:
        trap = Peer(lambda *_: (200, "Content-Length: 0\r\n", b""))
        elsewhere = await trap.start()
        self.addCleanup(trap.server.close)
        for status in (301, 302, 303, 307, 308):
            for place in (elsewhere, elsewhere.replace("http:", ""), "https://127.0.0.1:1/"):
                with self.subTest(place, status=status):
                    lines = f"Location: {place}\r\nContent-Length: 0\r\n"
                    found, _ = await self.call(partial(_said, (status, lines, b"")))
                    self.assertIn("redirects to another", found[-1].error["message"])
                    self.assertNotIn("hidden", found[-1].error["message"])
        self.assertEqual(trap.seen, [])

    async def test_a_move_within_the_host_is_followed(self) -> None:
        def say(method: str, headers: Json, message: Json) -> Answer | None:
            if not headers[":path"].startswith("/mcp/"):
                return 307, "Location: /mcp/?key=hidden\r\nContent-Length: 0\r\n", b""
            return modern(lambda m: whole(m, {"content": []}))(method, headers, message)

        peer = Peer(say)
        servers, tools = await self.servers(peer)
        found = await call_server(servers, tools[0], {}, None, LIMITS)
        assert isinstance(found[-1], Outcome)
        self.assertEqual(found[-1].status, "ok")
        paths = [headers[":path"] for _, headers, _ in peer.seen]
        self.assertEqual(paths, ["/mcp?key=hidden", *["/mcp/?key=hidden"] * 3])
        self.assertEqual({headers["x-key"] for _, headers, _ in peer.seen}, {"k"})


class Endless(Peer):
    """Answers calls with the same bytes for ever."""

    def __init__(self, frame: bytes) -> None:
        super().__init__(modern(lambda m: (0, "", frame)))

    async def reply(self, answer: Answer, writer: asyncio.StreamWriter) -> None:
        status, _, frame = answer
        if status:
            return await super().reply(answer, writer)
        writer.write(b"HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\n\r\n")
        try:
            while True:
                writer.write(frame)
                await writer.drain()
                await asyncio.sleep(0)
        except OSError:
            self.left.set()


class Legacy(Case):
    sessions = 0
    forgotten: Answer = (404, "Content-Length: 0\r\n", b"")
    forget = False
    silent = False
    waiting = 0

    def say(self, http: str, headers: Json, message: Json) -> Answer | None:
        method = message.get("method")
        if http == "DELETE":
            return 200, "Content-Length: 0\r\n", b""
        if http == "GET":
            return self.resumed(headers)
        if method == "server/discover":
            return 400, "Content-Length: 4\r\n", b"what"
        if method == "initialize":
            self.sessions += 1
            result = {"protocolVersion": "2025-06-18", "capabilities": {}}
            return whole(message, result, f"Mcp-Session-Id: id{self.sessions}\r\n")
        if method in (None, "notifications/initialized", "notifications/cancelled"):
            return 202, "Content-Length: 0\r\n", b""
        if headers.get("mcp-session-id") != f"id{self.sessions}" or self.forget:
            self.forget = False
            return self.forgotten
        if method == "tools/list":
            return whole(message, {"tools": [{"name": "t", "inputSchema": SCHEMA}]})
        self.waiting = message["id"]
        if self.silent:
            return None
        return stream(f"id: e1\nretry: 10\ndata: {json.dumps({'id': 5, 'method': 'ping'})}\n\n")

    def resumed(self, headers: Json) -> Answer:
        self.assertEqual(headers["last-event-id"], "e1")
        self.assertEqual(headers["mcp-protocol-version"], "2025-06-18")
        return stream({"id": self.waiting, "result": {"structuredContent": {"n": 1}}})

    async def test_session_resume_and_a_session_that_is_forgotten(self) -> None:
        peer = Peer(self.say)
        servers, tools = await self.servers(peer)
        for sessions in (1, 2):
            found = await call_server(servers, tools[0], {}, None, LIMITS)
            last = found[-1]
            assert isinstance(last, Outcome), last
            self.assertEqual((last.status, last.result), ("ok", {"n": 1}))
            self.assertEqual(self.sessions, sessions)
            self.forget = True
        pongs = [m for _, _, m in peer.seen if m.get("id") == 5]
        self.assertEqual(pongs[0].get("result"), {})
        await servers.close()
        self.assertEqual(peer.seen[-1][0], "DELETE")

    async def test_every_way_to_say_that_a_session_is_forgotten(self) -> None:
        """A server that was started again: the official packages say it with 404 and an error, and
        their first examples, which many servers have copied, with 400."""
        for status, text in (
            (404, "Session not found"),
            (404, "Session has been terminated"),
            (400, "Bad Request: No valid session ID provided"),
        ):
            error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": text}}
            for body in (json.dumps(error).encode(), text.encode()):
                with self.subTest(text, body=body[:1]):
                    self.sessions, self.forget = 0, False
                    self.forgotten = (status, f"Content-Length: {len(body)}\r\n", body)
                    peer = Peer(self.say)
                    servers, tools = await self.servers(peer)
                    self.forget = True
                    last = (await call_server(servers, tools[0], {}, None, LIMITS))[-1]
                    assert isinstance(last, Outcome), last
                    self.assertEqual((last.status, last.result), ("ok", {"n": 1}))
                    self.assertEqual(self.sessions, 2)
                    for due in (1, 0):  # it may have other tools now
                        before = len(peer.seen)
                        await servers.load(lambda *_: None)
                        asked = [m.get("method") for _, _, m in peer.seen[before:]]
                        self.assertEqual(asked, ["tools/list"] * due)

    async def test_a_refusal_is_no_forgotten_session(self) -> None:
        """What a server has looked at and refused is not sent a second time."""
        body = json.dumps({"id": 1, "error": {"code": -32602, "message": "bad arguments"}}).encode()
        self.forgotten = (400, f"Content-Length: {len(body)}\r\n", body)
        peer = Peer(self.say)
        servers, tools = await self.servers(peer)
        self.forget = True
        last = (await call_server(servers, tools[0], {}, None, LIMITS))[-1]
        assert isinstance(last, Outcome), last
        self.assertIn("bad arguments", last.error["message"])
        self.assertEqual(self.sessions, 1)

    async def test_two_errors_in_a_row_of_any_status_begin_a_new_session(self) -> None:
        """The third call is answered; afterwards no further session is begun for a minute."""
        for status, body in ((503, b"down"), (500, b"oops"), (503, b'{"error":{"code":-32000}}')):
            with self.subTest(status=status, body=body):
                self.sessions, self.forget = 0, False
                self.forgotten = (status, f"Content-Length: {len(body)}\r\n", body)
                servers, tools = await self.servers(Peer(self.say))
                said = []
                for fails in (True, True, False, True, True, True):
                    self.forget = fails
                    last = (await call_server(servers, tools[0], {}, None, LIMITS))[-1]
                    assert isinstance(last, Outcome), last
                    said.append(last.status)
                self.assertEqual(said, ["error", "error", "ok", "error", "error", "error"])
                self.assertEqual(self.sessions, 2)

    async def test_a_call_that_is_given_up_is_cancelled_in_words(self) -> None:
        self.silent = True
        peer = Peer(self.say)
        servers, tools = await self.servers(peer)
        limits = {**LIMITS, "wall_s": 0.2}
        found = await call_server(servers, tools[0], {}, None, limits)
        assert isinstance(found[-1], Outcome)
        self.assertEqual(found[-1].status, "timeout")
        await servers.close()
        said = [m for _, _, m in peer.seen if m.get("method") == "notifications/cancelled"]
        self.assertEqual([m["params"]["requestId"] for m in said], [self.waiting])

    async def test_a_session_that_is_forgotten_for_ever(self) -> None:
        def say(http: str, headers: Json, message: Json) -> Answer | None:
            self.forget = message.get("method") == "tools/call"
            return self.say(http, headers, message)

        peer = Peer(say)
        servers, tools = await self.servers(peer)
        found = await call_server(servers, tools[0], {}, None, LIMITS)
        assert isinstance(found[-1], Outcome)
        self.assertIn("answered 404", found[-1].error["message"])
        calls = [m for _, _, m in peer.seen if m.get("method") == "tools/call"]
        self.assertEqual(len(calls), 2)


def _said(answer: Answer, _: Json) -> Answer:
    return answer


def _deep(levels: int) -> Json:
    value: Json = {}
    for _ in range(levels):
        value = {"a": value}
    return value


if __name__ == "__main__":
    unittest.main()
