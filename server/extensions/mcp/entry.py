"""Read one entry of `server.mcpServers`, in the spelling of yaa or of other programs.

mcp/servers.py passes every entry through `normalize_entry` before it starts anything. Keys of
other programs with the same meaning are translated. Keys without effect on security or function
are ignored. Any other key is an error that says what to write instead. Pure.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from urllib.parse import quote, urlsplit

from ...json_types import Json
from ...lib.json_schema.field_types import ANY, FLAG, TEXT, list_of, object_of, one_of
from ...lib.strict_json import canonical
from ...settings.schema import ADDRESS, COMMAND, COMMANDS, PATH, POSITIVE, problems
from ...tools.decorators import ToolError
from ..declaration import EntryRules, allow, opening
from .oauth.metadata import OAuthError
from .oauth.settings import SETTINGS, OAuthSettings, normalize_settings, read_settings

KINDS = {
    **dict.fromkeys(("stdio", "local"), "command"),
    **dict.fromkeys(("http", "remote", "streamable-http", "streamableHttp"), "url"),
    "streamable_http": "url",
}
SSE = (
    "the type 'sse' is the transport of 2024, which is not spoken here; most servers have"
    " Streamable HTTP at another address, often /mcp in place of /sse: ask for that one"
)
_TEXTS = list_of(TEXT, "a list")
_TABLE = object_of(each=TEXT)
ENTRY = object_of(
    {
        "command": COMMAND,
        "args": COMMANDS,
        "cwd": PATH,
        "env": opening("command", _TABLE),
        "url": ADDRESS,
        "headers": _TABLE,
        **dict.fromkeys(("allowedTools", "disabledTools", "skills"), _TEXTS),
        **dict.fromkeys(("trust", "disabled"), FLAG),
        "type": ANY,  # see _check_kind
        "oauth": ANY,  # see oauth/settings.py
        "era": one_of("modern", "legacy"),
        **dict.fromkeys(("timeout", "probe_timeout", "start_timeout"), POSITIVE),
    }
)
ALIASES = {
    "transport": "type",
    "transportType": "type",
    "serverUrl": "url",
    "httpUrl": "url",
    "tools": "allowedTools",
    "includeTools": "allowedTools",
    "excludeTools": "disabledTools",
    "auth": "oauth",
}
# Other programs use these keys to skip approvals or to describe servers; here only `trust` decides
# what may run without asking.
PASSED_OVER = frozenset("autoApprove alwaysAllow description name icon version gallery".split())
INSTEAD = {
    "envFile": "name its variables in `env`",
    "headersHelper": "put the header into `headers`, with ${NAME} for its secret",
}
MAX_FOLDER = 100  # characters of a folder's name; systems allow 255
FOREIGN = re.compile(r"\$\{(?:(?:input|command|config):[^}]*|workspaceFolder[^}]*|userHome)\}")


def normalize_entry(written: Json) -> Json:
    """Return the entry with yaa's own keys. Raises ToolError if it cannot be used."""
    entry: Json = {}
    for key, value in written.items():
        own = ALIASES.get(key, key)
        if own in entry:
            raise ToolError(f"{key} says what another key says already: keep one of them")
        if own in ENTRY.fields:
            entry[own] = value
        elif key not in PASSED_OVER:
            more = INSTEAD.get(key) or f"known are {', '.join(sorted(ENTRY.fields))}"
            raise ToolError(f"unknown key {key[:60]}; {more}")
    for line in problems(entry, ENTRY):
        raise ToolError(line)
    _normalize_kind(entry)
    for text in _texts(entry):
        if found := FOREIGN.search(text):
            raise ToolError(f"{found[0]} is an editor's; write ${{NAME}} and set that variable")
    return entry


# Over the network nothing may be changed that starts a program or reads a file here.
RULES = EntryRules(
    normalize_entry,
    allow(
        "type headers allowedTools disabledTools skills trust disabled era timeout probe_timeout"
        " start_timeout".split(),
        ("url",),
        oauth=allow(
            "enabled clientId clientSecret scope grant tokenAuthMethod callbackPort".split(),
            ("issuer", "clientMetadataUrl"),
            identityProvider=allow(("clientId",), ("tokenEndpoint",)),
        ),
    ),
    {"": ENTRY, "oauth": SETTINGS},
)


def is_allowed(name: str, entry: Json) -> bool:
    """Return whether the entry allows a tool, by shell patterns; `disabledTools` wins."""
    wanted, unwanted = entry.get("allowedTools"), entry.get("disabledTools", ())
    if any(fnmatchcase(name, pattern) for pattern in unwanted):
        return False
    return wanted is None or any(fnmatchcase(name, pattern) for pattern in wanted)


def folder_name(name: str) -> str:
    """Return the name of the folder of the home that the server `name` is started in."""
    quoted = quote(name.encode("utf-8", "replace"), safe="").replace(".", "%2E")
    if len(quoted) <= MAX_FOLDER:
        return quoted or "%"
    return f"{quoted[:MAX_FOLDER]}-{hashlib.sha256(quoted.encode()).hexdigest()[:16]}"


def identity(entry: Json) -> str:
    """Return a key that is equal for entries that can share a process or connection."""
    keys = ("command", "args", "env", "cwd", "url", "headers", "oauth", "era")
    return canonical({key: entry[key] for key in keys if key in entry})


def _normalize_kind(entry: Json) -> None:
    kind = entry.get("type")
    if kind == "sse":
        raise ToolError(SSE)
    if ("command" in entry) == ("url" in entry):
        raise ToolError("wanted either a `command` (a process) or a `url` (HTTP)")
    if kind is not None and (not isinstance(kind, str) or KINDS.get(kind) not in entry):
        raise ToolError(f"the type {str(kind)[:40]!r} does not fit; known are {', '.join(KINDS)}")
    if not entry.get("command", entry.get("url")):
        raise ToolError("its command or url is empty")
    command = entry.get("command", "")
    whole = command.startswith("/") or entry.get("cwd", "").startswith("/")
    if "/" in command and not whole:
        raise ToolError(
            f"its command is {command[:60]!r}, which no folder is known for; write its whole path,"
            " or that of the folder as `cwd`"
        )
    try:
        urlsplit(entry.get("url", ""))
        read_settings(entry.get("oauth", True))
        if isinstance(entry.get("oauth"), dict):
            entry["oauth"] = normalize_settings(entry["oauth"])
    except ValueError as error:
        raise ToolError(f"its url cannot be read: {error}") from None
    except OAuthError as error:
        raise ToolError(str(error)) from None
    if "oauth" in entry and "url" not in entry:
        raise ToolError("oauth is for servers with a `url`")


def oauth_of(entry: Json) -> OAuthSettings | None:
    """Return how to sign in at a server; None for a process and if `headers` has a credential."""
    names = {name.lower() for name in entry.get("headers", ())}
    if "url" not in entry or (names & {"authorization", "proxy-authorization"}):
        return None
    return read_settings(entry.get("oauth", True))


def _texts(entry: Json) -> Iterator[str]:
    yield from (entry.get(key, "") for key in ("command", "url", "cwd"))
    yield from entry.get("args", ())
    yield from (*entry.get("env", {}).values(), *entry.get("headers", {}).values())
