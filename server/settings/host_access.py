"""What a change of the settings must not do: open this machine, or send a secret elsewhere.

What opens it are programs that start here, folders, the sandbox and code. An owner's key can change
them from this machine; over the network only if the configuration says so
(`server.remote_administration`): else a stolen key could start programs. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .secret_values import secrets_in

PARTS = (  # of the half `server`
    *("agents_dir", "auth_required", "cors_origins", "folders", "host", "hosts", "log"),
    *("remote_administration", "sandbox", "skills", "tls", "tool_modules", "tools", "tracing"),
)
COMMAND = ("command", "args", "env", "cwd")  # of an entry of server.mcpServers


def find_openings(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Yield the dotted names of such settings that differ between two server halves."""
    for part in PARTS:
        if before.get(part) != after.get(part):
            yield f"server.{part}"
    old, new = before.get("mcpServers", {}), after.get("mcpServers", {})
    for name, entry in new.items():
        known = old.get(name, {})
        if isinstance(entry, dict) and any(entry.get(k) != known.get(k) for k in COMMAND):
            yield f"server.mcpServers.{name}"
    rest = after.get("rest", {})
    for name, entry in rest.items() if isinstance(rest, dict) else ():
        known = before.get("rest", {}).get(name, {})
        if isinstance(entry, dict) and entry.get("openapi") != known.get("openapi"):
            yield f"server.rest.{name}"  # may be a file


# Where the requests of an entry go. A secret must stay with its destination: with another address
# beside it, the server would send its key there.
ENTRIES = ("providers", "mcpServers", "rest")  # maps of entries
SINGLE = ("search", "tracing")
TO = ("api", "api_url", "base_url", "preset", "provider", "url")


def find_redirects(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Yield the dotted names of entries that keep a secret, or name a variable, for a new address.

    Both are server halves as the file has them: `${NAME}` is a variable of the environment.
    """
    for name, old, new in _pairs(before, after):
        kept = {text for _, text in secrets_in(old) if text}
        if [*_places_to(old)] != [*_places_to(new)]:
            if any(text in kept or "${" in text for _, text in secrets_in(new)):
                yield name
        elif any("${" in text and text not in kept for _, text in secrets_in(new)):
            yield name


def _pairs(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    for part in ENTRIES:
        old, new = before.get(part), after.get(part)
        for name, entry in (new if isinstance(new, dict) else {}).items():
            known = old.get(name) if isinstance(old, dict) else None
            yield f"server.{part}.{name}", *_objects(known, entry)
    for part in SINGLE:
        yield f"server.{part}", *_objects(before.get(part), after.get(part))


def _objects(*values: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    old, new = (value if isinstance(value, dict) else {} for value in values)
    return old, new


def _places_to(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the addresses in an entry, also those of its models."""
    if isinstance(value, dict):
        for key, item in sorted(value.items()):
            if key in (*TO, *COMMAND) and not (key == "env" and isinstance(item, dict)):
                yield key, item
            else:
                yield from _places_to(item)
    elif isinstance(value, list):
        for item in value:
            yield from _places_to(item)
