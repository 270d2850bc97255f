"""Reader of one entry of `server.mcpServers`, in the spelling of yaa or of other programs.

mcp/servers.py passes every entry through `usable` before it starts anything. Keys of other programs
with the same meaning are translated. Keys without effect on security or function are ignored. Any
other key is an error that says what to write instead. Pure.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import urlsplit

from ...strict_json import canonical
from ..tool import ToolError

Json = dict[str, Any]

KINDS = {
    **dict.fromkeys(("stdio", "local"), "command"),
    **dict.fromkeys(("http", "remote", "streamable-http", "streamableHttp"), "url"),
    "streamable_http": "url",
}
SSE = (
    "the type 'sse' is the transport of 2024, which is not spoken here; most servers have"
    " Streamable HTTP at another address, often /mcp in place of /sse: ask for that one"
)
KEYS = frozenset(
    "command args env cwd type url headers disabled allowedTools disabledTools trust era"
    " timeout probe_timeout start_timeout".split()
)
ALIASES = {
    "transport": "type",
    "transportType": "type",
    "serverUrl": "url",
    "httpUrl": "url",
    "tools": "allowedTools",
    "includeTools": "allowedTools",
    "excludeTools": "disabledTools",
}
# Other programs use these keys to skip approvals or to describe servers; here only `trust` decides
# what may run without asking.
PASSED_OVER = frozenset("autoApprove alwaysAllow description name icon version gallery".split())
INSTEAD = {
    "envFile": "name its variables in `env`",
    "oauth": "OAuth is not offered; put a token into `headers`",
    "headersHelper": "put the header into `headers`, with ${NAME} for its secret",
}
FOREIGN = re.compile(r"\$\{(?:(?:input|command|config):[^}]*|workspaceFolder[^}]*|userHome)\}")


def usable(written: Json) -> Json:
    """Return the entry with yaa's own keys. Raises ToolError if it cannot be used."""
    entry: Json = {}
    for key, value in written.items():
        own = ALIASES.get(key, key)
        if own in entry:
            raise ToolError(f"{key} says what another key says already: keep one of them")
        if own in KEYS:
            entry[own] = value
        elif key not in PASSED_OVER:
            more = INSTEAD.get(key) or f"known are {', '.join(sorted(KEYS))}"
            raise ToolError(f"unknown key {key[:60]}; {more}")
    _check_shapes(entry)
    _check_kind(entry)
    for text in _texts(entry):
        if found := FOREIGN.search(text):
            raise ToolError(f"{found[0]} is an editor's; write ${{NAME}} and set that variable")
    return entry


def allowed(name: str, entry: Json) -> bool:
    """Return whether the entry allows a tool, by shell patterns; `disabledTools` wins."""
    wanted, unwanted = entry.get("allowedTools"), entry.get("disabledTools", ())
    if any(fnmatchcase(name, pattern) for pattern in unwanted):
        return False
    return wanted is None or any(fnmatchcase(name, pattern) for pattern in wanted)


def identity(entry: Json) -> str:
    """Return a key that is equal for entries that can share a process or connection."""
    keys = ("command", "args", "env", "cwd", "url", "headers", "era")
    return canonical({key: entry[key] for key in keys if key in entry})


def _check_kind(entry: Json) -> None:
    kind = entry.get("type")
    if kind == "sse":
        raise ToolError(SSE)
    if ("command" in entry) == ("url" in entry):
        raise ToolError("wanted either a `command` (a process) or a `url` (HTTP)")
    if kind is not None and (not isinstance(kind, str) or KINDS.get(kind) not in entry):
        raise ToolError(f"the type {str(kind)[:40]!r} does not fit; known are {', '.join(KINDS)}")
    if not entry.get("command", entry.get("url")):
        raise ToolError("its command or url is empty")
    try:
        urlsplit(entry.get("url", ""))
    except ValueError as error:
        raise ToolError(f"its url cannot be read: {error}") from None


def _check_shapes(entry: Json) -> None:
    for key in ("command", "url", "cwd"):
        if not isinstance(entry.get(key, ""), str):
            raise ToolError(f"{key} is no text")
    for key in ("args", "allowedTools", "disabledTools"):
        value = entry.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise ToolError(f"{key} is no list of texts")
    for key in ("env", "headers"):
        value = entry.get(key, {})
        if not isinstance(value, dict) or not all(isinstance(v, str) for v in value.values()):
            raise ToolError(f"{key} is no object whose values are texts")
    for key in ("trust", "disabled"):
        if not isinstance(entry.get(key, False), bool):
            raise ToolError(f"{key} is neither true nor false")
    if entry.get("era", "modern") not in ("modern", "legacy"):
        raise ToolError("era is neither modern nor legacy")
    for key in ("timeout", "probe_timeout", "start_timeout"):
        value = entry.get(key, 1)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not 0 < value < math.inf:
            raise ToolError(f"{key} is not a number of seconds")


def _texts(entry: Json) -> Iterator[str]:
    yield from (entry.get(key, "") for key in ("command", "url", "cwd"))
    yield from entry.get("args", ())
    yield from (*entry.get("env", {}).values(), *entry.get("headers", {}).values())
