"""MCP servers that lie: valid conversations over both ways, broken in their JSON and their bytes.

What must hold: listing and calling end in their time and raise nothing; a tool that is taken has a
name and a schema that every provider can be given; a call ends in one outcome or one question that
fits into a session; and no task, process or complaint of the event loop is left behind.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import re
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from server.extensions.mcp.servers import McpServers, McpTool
from server.lib.http.client import Client
from server.lib.json_schema.validate import SchemaError, Validator, check_schema
from server.lib.sandbox.process import Outcome
from server.lib.strict_json import browser_safe, canonical
from server.session import events
from server.session.fold import fold
from server.session.schema import check
from server.tools.base import ToolQuestion
from server.tools.result import envelope, text_for_model

from ...chaos import processes
from ...fakes import call_server
from ...fuzz.mutate import TOKENS, broken_bytes, broken_json, spelled
from .fuzz_liar import ID, Lies, written

Json = dict[str, Any]
Told = dict[bytes, list[bytes]]

LIAR = Path(__file__).with_name("fuzz_liar.py")
LIMITS = {"wall_s": 0.3, "output_kb": 64.0}
PATIENCE = {"start_timeout": 0.5, "probe_timeout": 0.2}
END_S = 30.0  # of a whole trial on a busy machine; far beyond what its limits add up to
MOST = 700_000  # characters that a call may add to a session
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")

SCHEMAS: list[Json] = [
    {"type": "object", "properties": {"a": {"type": "integer", "x-mcp-header": "A"}}},
    {"type": "object", "$defs": {"n": {"$ref": "#/$defs/n"}}, "additionalProperties": False},
    {"type": "object", "properties": {"a": {"enum": ["é", 1, None]}}, "required": ["a"]},
]
ABOUT = {"title": "T", "description": "Does 漢.", "annotations": {"readOnlyHint": True}}
TOOLS = [{"name": f"t{n}", "inputSchema": schema, **ABOUT} for n, schema in enumerate(SCHEMAS)]
ASKED = {
    "method": "elicitation/create",
    "params": {
        "mode": "form",
        "message": "Your name?",
        "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
    },
}
BLOCKS: list[Json] = [
    {"type": "text", "text": "fine 好", "annotations": {"audience": ["user"]}},
    {"type": "image", "data": "aGk=" * 3, "mimeType": "image/png"},
    {"type": "audio", "data": "aGk=" * 2000, "mimeType": "audio/wav"},
    {"type": "resource_link", "uri": "file:///a", "name": "a"},
    {"type": "resource", "resource": {"uri": "a", "text": "inside", "mimeType": "text/plain"}},
    {"type": "resource", "resource": {"uri": "a", "blob": "aGk=" * 2000}},
]
QUESTION = {"resultType": "input_required", "inputRequests": {"q": ASKED}, "requestState": "v1.x"}
RESULTS: list[Json] = [
    {"content": BLOCKS, "resultType": "complete"},
    {"content": [], "structuredContent": {"result": [1, 2.5, None]}, "isError": False},
    {"content": BLOCKS[:1], "isError": True},
    QUESTION,
    {**QUESTION, "inputRequests": {"q": ASKED, "r": ASKED}},
    {"resultType": "input_required", "requestState": "again"},
]
SAID: dict[bytes, list[Json]] = {
    b"server/discover": [
        {"result": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}},
        {"error": {"code": -32022, "message": "no", "data": {"supported": ["2026-07-28"]}}},
        {"error": {"code": -32601, "message": "Method not found"}},
    ],
    b"initialize": [
        {"result": {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {}}}
    ],
    b"tools/list": [{"result": {"tools": TOOLS, "ttlMs": 5}}],
    b"tools/call": [
        *({"result": result} for result in RESULTS),
        {"error": {"code": -32000, "message": "it broke", "data": {"a": 1}}},
    ],
}
OTHERS: list[Any] = [*RESULTS, *TOOLS, *SAID[b"server/discover"]]
NOISE: list[Json] = [
    {"method": "notifications/progress", "params": {"progressToken": ID.decode()[1:-1]}},
    {"method": "notifications/progress", "params": {"progressToken": 3, "progress": 1e400}},
    {"method": "notifications/tools/list_changed"},
    {"method": "notifications/message", "params": {"data": "x"}},
    {"id": 1, "method": "ping"},
    {"id": ["odd"], "method": "roots/list", "params": {}},
    {"id": 1_000_000, "result": {}},
    {"id": None, "error": {}},
]
WAYS = ("http", "http", "stdio")


def trial(chance: random.Random) -> str:
    logging.getLogger("yaa").setLevel(logging.CRITICAL)  # what is wrong with them is no news
    return asyncio.run(_trial(chance))


async def _trial(chance: random.Random) -> str:
    complaints: list[Any] = []
    before = processes.below(os.getpid())
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: complaints.append(context))
    way = chance.choice(WAYS)
    async with asyncio.timeout(END_S), AsyncExitStack() as stack:
        client = Client()
        stack.push_async_callback(client.close)
        told = lies(chance)
        open_ = process if way == "stdio" else address
        entry = await stack.enter_async_context(open_(told, chance))
        if chance.random() < 0.3:
            entry["era"] = chance.choice(("modern", "legacy"))
        servers = McpServers({"liar": {**entry, **PATIENCE}}, client)
        stack.push_async_callback(servers.close)
        outcome = await talked(servers, chance)
    left = asyncio.all_tasks() - {asyncio.current_task()}
    assert not complaints, f"{way}: {complaints}"
    assert not left, f"{way}: {left}"
    assert way == "http" or not processes.below(os.getpid()) - before, "a process is left"
    return f"{way}: {outcome}"


async def talked(servers: McpServers, chance: random.Random) -> str:
    tools: dict[str, McpTool] = {}
    await servers.load(lambda _, found: tools.update({tool.name: tool for tool in found}))
    canonical(browser_safe(servers.problems)).encode()
    usable = [tool for tool in tools.values() if taken(tool)]
    if not usable:
        return "no tools" if servers.problems else "no tools, and no word of it"
    tool, question = chance.choice(usable), None
    args: Json = {"a": chance.choice((1, "é\n", None, True, {"b": []}))}
    for _ in range(2):
        items = await call_server(servers, tool, args, question, LIMITS)
        assert all(isinstance(item, str) for item in items[:-1]), items
        outcome = judged(tool, items[-1])
        if not isinstance(items[-1], ToolQuestion):
            break
        question = {**items[-1].input, "answer": {"name": "Ann"}}
    return outcome


def taken(tool: McpTool) -> bool:
    """Whether the catalog would offer it to a model."""
    assert NAME.fullmatch(tool.name), tool.name
    assert len(tool.description) < 9_000
    try:
        Validator(tool.parameters)
    except SchemaError:
        return False
    canonical(browser_safe(tool.parameters)).encode()
    return True


def judged(tool: McpTool, found: Any) -> str:
    """What became of a call, once it is in a session that may be POSTed."""
    function = {"name": tool.name, "arguments": "{}"}
    call = {"id": "c", "type": "function", "function": function}
    answer = {"id": "m", "role": "assistant", "content": "", "tool_calls": [call]}
    entry: Json = {"name": tool.name, "state": "started", "attempt": 1}
    session: Any = {"id": "s", "messages": [answer], "calls": {"c": entry}, "interrupts": []}
    if isinstance(found, ToolQuestion):
        asked = browser_safe(found.input)
        session["calls"]["c"] = {**entry, "state": "waiting", "input": asked}
        assert not check_schema(asked["response_schema"]), asked
        outcome = "asks"
    else:
        assert isinstance(found, Outcome), found
        whole = envelope(found, [], None)
        text = text_for_model(whole, found.text)
        state = "done" if found.status == "ok" else "failed"
        fold(session, events.tool_result("c", tool.name, text, 1, state=state, result=whole))
        outcome = found.status
    assert check(session) == [], check(session)
    size = len(canonical(session).encode("utf-8", "strict"))
    assert size < MOST, f"{size} bytes"
    return outcome


# -- what is said ---------------------------------------------------------------------------------


def lies(chance: random.Random) -> Told:
    """A valid conversation in which one thing is wrong, or some, or none."""
    told: Told = {}
    wrong = chance.choice((*SAID, b"tools/call", b"tools/call"))
    for method, said in SAID.items():
        count = chance.choice((1, 1, 2, 3)) if method == b"tools/call" else 1
        answers = [chance.choice(said) for _ in range(count)]
        told[method] = [message(each, chance, bad=method == wrong) for each in answers]
    return told


def message(said: Json, chance: random.Random, *, bad: bool) -> bytes:
    value: Any = {"jsonrpc": "2.0", "id": ID.decode()[1:-1], **said}
    if not bad:
        return spelled_plainly(value)
    data = spelled(broken_json(value, OTHERS, chance), TOKENS, chance)
    if chance.random() < 0.15:
        data = broken_bytes(data, TOKENS, chance)
    lines = [noise(chance) for _ in range(chance.choice((0, 0, 1, 3)))] + [data]
    if chance.random() < 0.3:
        chance.shuffle(lines)
    if chance.random() < 0.01:
        lines.insert(0, b"x" * 9_000_000)
    end = chance.choice((b"\n", b"\n", b"\n", b"\r\n", b""))
    return b"\n".join(lines) + end


def noise(chance: random.Random) -> bytes:
    if chance.random() < 0.3:
        return chance.choice(TOKENS)
    value: Any = {"jsonrpc": "2.0", **chance.choice(NOISE)}
    value = broken_json(value, OTHERS, chance) if chance.random() < 0.5 else value
    return spelled(value, TOKENS, chance)


def spelled_plainly(value: Any) -> bytes:
    return canonical(value).encode() + b"\n"


# -- the two ways ---------------------------------------------------------------------------------


@asynccontextmanager
async def process(told: Told, chance: random.Random) -> AsyncIterator[Json]:
    with tempfile.NamedTemporaryFile(prefix="yaa-fuzz-") as file:
        file.write(written(told))
        file.flush()
        yield {"command": sys.executable, "args": ["-I", "-S", str(LIAR), file.name]}


@asynccontextmanager
async def address(told: Told, chance: random.Random) -> AsyncIterator[Json]:
    said = Lies(told)
    talks: set[asyncio.Task[Any]] = set()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        talks.add(task)
        try:
            while (head := await reader.readuntil(b"\r\n\r\n")) and not writer.is_closing():
                length = re.search(rb"(?i)content-length: (\d+)", head)
                body = await reader.readexactly(int(length[1])) if length else b""
                writer.write(reply(said.answer(body), chance))
                await writer.drain()
                if chance.random() < 0.06:
                    writer.close()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass  # the trial is over, and asyncio would complain of who is cancelled
        finally:
            writer.close()
            talks.discard(task)

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield {"url": f"http://127.0.0.1:{port}/mcp"}
    finally:
        server.close()
        for task in tuple(talks):
            task.cancel()
        await asyncio.gather(*talks, return_exceptions=True)


def reply(said: bytes, chance: random.Random) -> bytes:
    """An HTTP answer, whole or as a stream of events, now and then broken."""
    status, kind, more = b"200 OK", b"application/json", b""
    if not said:
        status = b"202 Accepted"
    elif chance.random() < 0.4:
        kind = b"text/event-stream"
        frames = [b"data: " + line + b"\n\n" for line in said.splitlines()]
        said = b"id: 1\nretry: 1\n" + b"".join(frames)
    if chance.random() < 0.04:
        status = chance.choice(STATUSES)
        more = b"Location: " + chance.choice((b"/mcp/", b"//b/", b"", b"/mcp")) + b"\r\n"
    if chance.random() < 0.2:
        more += b"Mcp-Session-Id: " + chance.choice((b"s1", b"", b"x" * 5000)) + b"\r\n"
    if chance.random() < 0.3:
        framing = b"Transfer-Encoding: chunked\r\n"
        said = b"%x\r\n%s\r\n0\r\n\r\n" % (len(said), said) if said else b"0\r\n\r\n"
    else:
        framing = b"Content-Length: %d\r\n" % len(said)
    head = b"HTTP/1.1 " + status + b"\r\nContent-Type: " + kind + b"\r\n" + more + framing
    whole = head + b"\r\n" + said
    return broken_bytes(whole, TOKENS, chance) if chance.random() < 0.04 else whole


STATUSES = (
    *(b"200 OK", b"202 Accepted", b"204 No Content", b"307 Temporary Redirect", b"302 Found"),
    *(b"400 Bad Request", b"404 Not Found", b"405 No", b"500 Broken", b"503 Busy", b"999 Odd"),
)
