"""This server's MCP client as a program, for the official conformance tests: it lists the tools of
the server at the address given and calls each of them once, answering every question it is asked.

    python -m tests.interop.mcp_client <url>
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

from server.http.client import Client
from server.tools.base import ToolQuestion
from server.tools.mcp.servers import McpServers, McpTool
from server.tools.runner import Outcome

LIMITS = {"wall_s": 20.0, "output_kb": 256.0}
SAMPLES: dict[str, Any] = {
    "string": "text",
    "integer": 2,
    "number": 2,
    "boolean": True,
    "array": [],
    "object": {},
    "null": None,
}


async def main(url: str) -> int:
    client = Client()
    servers = McpServers({"peer": {"url": url}}, client)
    try:
        tools: list[McpTool] = []
        await servers.load(lambda _, listed: tools.extend(listed))
        print("problems", servers.problems)
        for tool in tools:
            for args in wanted(tool, tools):
                print(tool.name, args, await settle(servers, tool, args))
    finally:
        await servers.close()
        await client.close()
    return 0


def wanted(tool: McpTool, tools: list[McpTool]) -> list[dict[str, Any]]:
    """What the scenario says of this tool, or something for every property. The echo tool of one
    scenario gets the schema of the other tool, as we have it."""
    if tool.listed_name == "json_schema_echo":
        return [{"schema": other.parameters} for other in tools if other is not tool]
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    calls = context.get("toolCalls") or []
    told = [call.get("arguments", {}) for call in calls if call["name"] == tool.listed_name]
    properties = tool.parameters.get("properties") or {}
    return told or [{name: sample(part) for name, part in properties.items()}]


def sample(schema: Any) -> Any:
    kind = schema.get("type") if isinstance(schema, dict) else None
    if isinstance(schema, dict) and "default" in schema:
        return schema["default"]
    if isinstance(schema, dict) and schema.get("enum"):
        return schema["enum"][0]
    return SAMPLES.get(kind if isinstance(kind, str) else "", "text")


async def settle(servers: McpServers, tool: McpTool, args: dict[str, Any]) -> Outcome | None:
    question: dict[str, Any] | None = None
    for _ in range(5):
        found = await servers.call(tool, args, question, LIMITS, lambda _: None)
        if not isinstance(found, ToolQuestion):
            return found if isinstance(found, Outcome) else None
        properties = found.input["response_schema"].get("properties", {})
        answer = {name: sample(part) for name, part in properties.items()}
        question = {**found.input, "answer": answer}
    return None


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[-1])))
