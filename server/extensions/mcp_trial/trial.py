"""Try an MCP server before it is used: start it, list its tools, end it.

Nothing of the running servers is touched. A server that wants a sign-in says so; one that this home
folder is signed in at already is asked with its tokens.
"""

from __future__ import annotations

import asyncio
import shutil
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

from ...json_types import Json
from ...lib.http.client import Client
from ...lib.json_schema.validate import SchemaError, Schemas
from ...lib.runtime.secret_filter import remove_texts
from ...lib.strict_json import browser_safe
from ...tools.catalog import tool_validator
from ...tools.result import shorten_text
from ..mcp.links import FOLDERS, make_private
from ..mcp.servers import MAX_PROBLEMS, McpServers, McpTool

URL_S, COMMAND_S = 25.0, 120.0  # a process may be downloaded first (npx, uvx)
MAX_SHOWN = 300  # characters of a description


async def try_server(name: str, entry: Json, client: Client, home: Path) -> Json:
    """Return {ok, tools: [{name, description}], sign_in, problem?, remarks?} of an entry.

    `problem`: {code, detail}, why there are no tools; `remarks`: what is wrong with some of them.
    `entry`: one of `server.mcpServers`, tried even if it is `disabled`. Never raises for a server
    that is broken, slow or lying.
    """
    most_s = COMMAND_S if "command" in entry else URL_S
    tried: Json = {key: value for key, value in entry.items() if key != "disabled"}
    given = tried.get("start_timeout", most_s)
    if isinstance(given, int | float) and not isinstance(given, bool) and given > 0:
        tried["start_timeout"] = min(given, most_s)  # what else it is, is reported
    found: list[McpTool] | None = None
    unusable: list[str] = []

    def take(_server: str, tools: list[McpTool]) -> None:
        """Keep the tools that were listed and can be used."""
        nonlocal found
        schemas, found = Schemas(), []
        for tool in tools:
            try:
                tool_validator(tool, schemas)
                found.append(tool)
            except SchemaError as error:
                unusable.append(f"{tool.listed_name}: {error}")

    folder = home / FOLDERS / f".{token_hex(8)}"  # a server of this name may run in its own
    if "command" in tried and tried.get("cwd", ".") == ".":
        with suppress(OSError):  # what is wrong with the disk is reported when it is started
            make_private(folder)
            tried["cwd"] = str(folder)
    servers = McpServers({name: tried}, client, patience_s=most_s + 5, home=home)
    try:
        await servers.load(take)
        sign_in = any(each["state"] == "needed" for each in servers.accounts.info())
        secrets = [text for server in servers.all() for text in server.credentials()]
        problems = servers.problems
    finally:
        await servers.close()
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
    result: Json = {"ok": found is not None, "tools": _shown(found or []), "sign_in": sign_in}
    if found is None:
        text = problems[0] if problems else "it did not list its tools"
        code = "sign_in_needed" if sign_in else "mcp_failed"
        result["problem"] = {"code": code, "detail": text.removeprefix(f"mcpServers.{name}: ")}
    elif remarks := [text.removeprefix(f"mcpServers.{name}: ") for text in problems] + unusable:
        result["remarks"] = [shorten_text(text, MAX_SHOWN) for text in remarks[:MAX_PROBLEMS]]
    cleaned: Json = browser_safe(remove_texts(result, secrets))
    return cleaned


def _shown(tools: list[McpTool]) -> list[dict[str, Any]]:
    return [
        {"name": tool.listed_name, "description": shorten_text(tool.description, MAX_SHOWN)}
        for tool in tools
    ]
