"""The stream of a legacy server over HTTP for what belongs to no request of ours."""

from __future__ import annotations

import asyncio
import json
import unittest
from typing import Any

from server.extensions.mcp.peer import MAX_MESSAGE
from server.tools.base import ToolQuestion

from ...tooling import patience
from .test_http import LIMITS, Case, Json, Peer, whole
from .test_servers import eventually

FORM = {"type": "object", "properties": {"name": {"type": "string"}}}
ASK: Json = {
    "jsonrpc": "2.0",
    "id": 1,  # as one of ours
    "method": "elicitation/create",
    "params": {"message": "Your name?", "requestedSchema": FORM},
}


class Server(Peer):
    """Answers calls when the test says so. `streams`: those that are listened to, in order."""

    def __init__(self, *, offered: bool = True) -> None:
        super().__init__(self.answer)
        self.offered = offered
        self.streams: list[asyncio.StreamWriter] = []
        self.calls: dict[int, asyncio.StreamWriter] = {}
        self.replies: list[Json] = []

    def answer(self, method: str, headers: Json, message: Json) -> Any:
        match message.get("method"):
            case "initialize":
                result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
                return whole(message, result, "Mcp-Session-Id: s1\r\n")
            case "tools/list":
                tools = [{"name": "t", "inputSchema": {"type": "object"}}]
                return whole(message, {"tools": tools})
            case None if "id" in message:
                self.replies.append(message)
        return 202, "", b""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        lines = head.lower().split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines[1:] if line)
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        message = json.loads(body) if body else {}
        self.seen.append((lines[0].split()[0], headers, message))
        if lines[0].startswith("get"):
            if not self.offered:
                await self.reply((405, "", b""), writer)
                return writer.close()
            writer.write(b"HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\n\r\n")
            self.streams.append(writer)
            return None
        if message.get("method") == "tools/call":
            self.calls[message["id"]] = writer
            return None
        await self.reply(self.answer("", headers, message), writer)
        return writer.close()

    def tell(self, message: Any, event_id: str = "") -> None:
        """Send a message, or a line of text, over the latest stream."""
        text = message if isinstance(message, str) else json.dumps(message)
        beginning = f"id: {event_id}\n" if event_id else ""
        self.streams[-1].write(f"{beginning}data: {text}\n\n".encode())

    async def end(self, text: str) -> None:
        """Answer the call that is under way."""
        [(request_id, writer)] = self.calls.items()
        result = {"content": [{"type": "text", "text": text}]}
        await self.reply(whole({"id": request_id}, result), writer)
        writer.close()

    def gets(self) -> list[Json]:
        return [headers for method, headers, _ in self.seen if method == "get"]

    def close(self) -> None:
        for writer in (*self.streams, *self.calls.values()):
            writer.close()


class Listening(Case):
    async def begin(self, **how: Any) -> tuple[Server, Any, Any]:
        server = Server(**how)
        self.addCleanup(server.close)
        self.servers_, [tool] = await self.servers(server, era="legacy")
        await eventually(lambda: bool(server.gets()))
        [known] = self.servers_.all()
        return server, tool, known.peer

    async def test_a_question_and_progress(self) -> None:
        server, tool, _ = await self.begin()
        live: list[Any] = []
        call = asyncio.create_task(self.servers_.call(tool, {}, None, LIMITS, live.append))
        await eventually(lambda: bool(server.calls))
        [token] = server.calls
        progress = {"progressToken": token, "progress": 1, "total": 2}
        server.tell({"jsonrpc": "2.0", "method": "notifications/progress", "params": progress})
        server.tell(ASK)
        asked = await call
        assert isinstance(asked, ToolQuestion)
        self.assertEqual((asked.input["message"], live), ("Your name?", ["1/2\n"]))
        answered = {**asked.input, "answer": {"name": "Ann"}}
        call = asyncio.create_task(self.servers_.call(tool, {}, answered, LIMITS, live.append))
        await eventually(lambda: bool(server.replies))
        content = {"action": "accept", "content": {"name": "Ann"}}
        self.assertEqual(server.replies, [{"jsonrpc": "2.0", "id": 1, "result": content}])
        await server.end("hello")
        done: Any = await call
        self.assertEqual(done.text, "hello")

    async def test_nothing_is_asked_before_the_stream_is_there(self) -> None:
        """A server drops what it says to nobody, as its question during the first call."""
        server, _, _ = await self.begin()
        methods = [message.get("method") or method for method, _, message in server.seen]
        wanted = ["initialize", "notifications/initialized", "get", "tools/list"]
        self.assertEqual(methods, wanted)

    async def test_lists_that_changed(self) -> None:
        server, _, peer = await self.begin()
        self.assertFalse(peer.is_due())
        server.tell({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        await eventually(peer.is_due)

    async def test_a_stream_that_ends_is_opened_again_where_it_was(self) -> None:
        server, _, peer = await self.begin()
        await eventually(lambda: bool(server.streams))
        change = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
        server.tell(change, "e7")
        await eventually(peer.is_due)
        server.streams[-1].close()
        await eventually(lambda: len(server.gets()) == 2)
        self.assertEqual(server.gets()[1]["last-event-id"], "e7")
        self.assertEqual(server.gets()[1]["mcp-session-id"], "s1")

    async def test_one_that_is_not_offered_is_not_asked_for_again(self) -> None:
        server, tool, peer = await self.begin(offered=False)
        listening = peer.link._listening
        await asyncio.wait_for(listening, patience.seconds(10))
        call = asyncio.create_task(self.servers_.call(tool, {}, None, LIMITS, lambda _: None))
        await eventually(lambda: bool(server.calls))
        await server.end("fine")
        done: Any = await call
        self.assertEqual((done.text, len(server.gets())), ("fine", 1))

    async def test_what_is_no_message_harms_no_call(self) -> None:
        server, tool, peer = await self.begin()
        call = asyncio.create_task(self.servers_.call(tool, {}, None, LIMITS, lambda _: None))
        await eventually(lambda: bool(server.calls))
        odd: list[Any] = ["not JSON", "[1]", "{}", {"id": 1, "result": {"content": []}}, {"id": 99}]
        for message in [*odd, {"jsonrpc": "2.0", "id": 5, "method": "roots/list"}]:
            server.tell(message)
        await eventually(lambda: bool(server.replies))
        self.assertEqual(server.replies[-1]["error"]["code"], -32601)
        server.tell("x" * (MAX_MESSAGE + 1))  # the stream is given up, the call is not
        await server.end("fine")
        done: Any = await call
        self.assertEqual(done.text, "fine")


if __name__ == "__main__":
    unittest.main()
