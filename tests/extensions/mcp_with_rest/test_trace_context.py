"""Whoever a tool calls is told of the trace it is part of: REST APIs in a header, MCP in `_meta`.

Run by a real agent over real sockets and pipes.
"""

from __future__ import annotations

import copy
from contextlib import aclosing
from typing import Any

from server.agent.run_parts import MakePart
from server.config import Config
from server.extensions.rest.parts import RestSource
from server.lib.http.client import Client
from server.telemetry import trace_context

from ... import fakes
from ...models.fakes import answer, serving
from ..mcp.made import toolbox_of
from ..mcp.test_servers import Case

TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
HEADER = f"00-{TRACE}-{CALLER}-01"


def script(messages: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    if messages[-1]["role"] == "tool":
        return [("text", "done")]
    return [("call", "sky_day", "{}"), ("call", "mcp__s__echo", '{"text": "x"}')]


class Told(Case):
    async def told(self, header: str, *parts: MakePart) -> tuple[list[str], list[str]]:
        """The traceparents that the REST API and the MCP server got, in a run of a request that
        came with this one."""
        client = Client()
        self.addAsyncCleanup(client.close)
        self.notes.write_text("")
        async with serving(answer(b"{}", kind="application/json")) as api:
            server = copy.deepcopy(fakes.DEFAULTS["server"])
            server["mcpServers"] = {"s": self.entry("modern")}
            day = {"name": "day", "path": "/day"}
            server["rest"] = {"sky": {"base_url": api.url, "tools": [day]}}
            toolbox = toolbox_of(Config(server, fakes.DEFAULTS["session"], self.home), client)
            toolbox.add_source(RestSource(server["rest"], client, self.home))
            self.addAsyncCleanup(toolbox.close)
            await toolbox.load_owner_tools()
            trace_context.current.set(trace_context.begin(header))
            tools = {"sky_day": {"auto_approve": True}, "mcp__s__echo": {"auto_approve": True}}
            document = {"messages": [fakes.user("go")], "config": {"tool": tools}}
            host = fakes.agent(fakes.ScriptedModel(script), toolbox, parts=parts)  # type: ignore[arg-type]
            run = host.prepare(document)
            async with aclosing(run.events()) as source:
                found = [event async for event in source]
        results = [e for e in found if e["type"] == "TOOL_CALL_RESULT"]
        states = [e["metadata"]["yaa"]["state"] for e in results]
        self.assertEqual(states, ["done", "done"], results)
        lines = [line for line in self.notes.read_text().splitlines() if line.startswith("trace ")]
        heads = [r.headers["traceparent"] for r in api.requests if "traceparent" in r.headers]
        return heads, [line.removeprefix("trace ") for line in lines]


class Runs(Told):
    async def test_the_callers_trace_goes_on(self) -> None:
        """Without spans of our own, whoever is called hangs below our caller."""
        self.assertEqual(await self.told(HEADER), ([HEADER], [HEADER]))

    async def test_a_trace_that_nobody_follows_is_told_to_nobody(self) -> None:
        for header in ("", "00-zz-1-01", f"00-{'0' * 32}-{CALLER}-01"):
            with self.subTest(header):
                self.assertEqual(await self.told(header), ([], []))
