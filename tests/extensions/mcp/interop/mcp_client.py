"""This server's MCP client as a program, for the official conformance tests: it lists the tools of
the server at the address given and calls each of them once, answering every question it is asked.
It reads each resource and prompt as well, but no skill, unless the scenario is about how skills are
loaded.
Where a sign-in is wanted it follows the link as a browser would.

    python -m tests.extensions.mcp.interop.mcp_client <socket>

It starts once and goes through the scenarios in turn, as they come to the socket: see in_turn.py.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import socket
import sys
import tempfile
import traceback
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import Any

from server.errors import Problem
from server.extensions.mcp.library import McpLibrary
from server.extensions.mcp.servers import McpServers, McpTool
from server.lib.agent_skills.folder import SkillError
from server.lib.http.client import Client
from server.tools.base import ToolQuestion
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


REDIRECT = "http://127.0.0.1:33418/callback"  # nobody listens: the address alone is read
DOCUMENT = "https://conformance-test.local/client-metadata.json"
MOST_SIGN_INS = 3


async def main(url: str) -> int:
    client = Client()
    holder = tempfile.TemporaryDirectory()
    home = Path(holder.name)
    entry = {"url": url, "oauth": settings(home), "skills": ["*"]}
    servers = McpServers({"peer": entry}, client, home=home)
    library = McpLibrary(servers)
    try:
        tools: list[McpTool] = []
        await servers.load(lambda _, listed: tools.extend(listed))
        for _ in range(MOST_SIGN_INS):
            if servers.accounts.info()[0]["state"] != "needed":
                break
            await sign_in(servers, client)
            await servers.load(lambda _, listed: tools.extend(listed))
        print("problems", servers.problems)
        for tool in tools:
            for args in wanted(tool, tools):
                print(tool.name, args, await settle(servers, client, tool, args))
        scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
        if "-verify-" in scenario:
            await use_skills(library)
        if scenario == "http-standard-headers":
            await read_all(library)
    finally:
        await library.close()
        await client.close()
        holder.cleanup()
    return 0


async def read_all(library: McpLibrary) -> None:
    for about in await library.lists("resources"):
        for resource in about["resources"]:
            with suppress(Problem):  # some answer without a content
                print(await library.read(about["name"], resource["uri"]))
    for about in await library.lists("prompts"):
        for prompt in about["prompts"]:
            with suppress(Problem):
                print(await library.prompt(about["name"], prompt["name"], {}))


async def use_skills(library: McpLibrary) -> None:
    for name, skill in library.skills.found().items():
        try:
            found, about = await library.skills.load(skill)
            print("loaded", name, about.text)
            for path in found.files:
                print("read", path, await library.skills.read(found, path))
        except SkillError as error:
            print("refused", name, error)


def context() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    return found


def settings(folder: Path) -> dict[str, Any]:
    """The client that the scenario has registered, or none. Its tokens are files."""
    told, found = context(), {}
    if "client_id" not in told:
        return {"clientMetadataUrl": DOCUMENT}
    found["clientId"] = told["client_id"]
    if "client_secret" in told:
        found["clientSecret"] = told["client_secret"]
    for key, name in (
        ("valid_jwt", "assertionFile"),
        ("idp_id_token", "assertionFile"),
    ):
        if key in told:
            found[name] = str(folder / key)
            (folder / key).write_text(told[key])
    if "idp_token_endpoint" in told:
        provider = {"tokenEndpoint": told["idp_token_endpoint"], "clientId": told["idp_client_id"]}
        return {**found, "grant": "identity_assertion", "identityProvider": provider}
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    if "valid_jwt" in told:
        return {**found, "grant": "jwt_bearer"}
    return {**found, "grant": "client_credentials"} if "client-credentials" in scenario else found


async def sign_in(servers: McpServers, client: Client) -> None:
    begun = await servers.accounts.begin("peer", REDIRECT)
    print("link", begun.url)
    async with await client.request("GET", begun.url) as response:
        answer = response.headers.get("location", "")
    print("answer", response.status, answer)
    await servers.accounts.finish(answer)


def wanted(tool: McpTool, tools: list[McpTool]) -> list[dict[str, Any]]:
    """What the scenario says of this tool, or something for every property. The echo tool of one
    scenario gets the schema of the other tool, as we have it."""
    if tool.listed_name == "json_schema_echo":
        return [{"schema": other.parameters} for other in tools if other is not tool]
    calls = context().get("toolCalls") or []
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


async def settle(
    servers: McpServers, client: Client, tool: McpTool, args: dict[str, Any]
) -> Outcome | None:
    question: dict[str, Any] | None = None
    for _ in range(5):
        found = await servers.call(tool, args, question, LIMITS, lambda _: None)
        if not isinstance(found, ToolQuestion):
            return found if isinstance(found, Outcome) else None
        if "sign_in" in found.input:
            await sign_in(servers, client)
            question = {**found.input, "answer": {"action": "retry"}}
            continue
        properties = found.input["response_schema"].get("properties", {})
        answer = {name: sample(part) for name, part in properties.items()}
        question = {**found.input, "answer": answer}
    return None


def serve(place: str) -> None:
    """Go through one scenario after the other; a line of JSON begins each: [url, variables]."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(place)
        listener.listen(128)
        print("READY", flush=True)
        while True:
            line, _ = listener.accept()
            with line, line.makefile("rw") as asked:
                url, variables = json.loads(asked.readline())
                for name in [name for name in os.environ if name.startswith("MCP_")]:
                    del os.environ[name]
                os.environ.update(variables)
                said, code = io.StringIO(), 1
                with redirect_stdout(said):
                    try:
                        code = asyncio.run(main(url))
                    except Exception:
                        print(traceback.format_exc())
                with suppress(OSError):  # its scenario was given up
                    asked.write(f"{said.getvalue()}\n{code}\n")
                    asked.flush()


if __name__ == "__main__":
    serve(sys.argv[-1])
