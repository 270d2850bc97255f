"""Paths, addresses and command lines in a call's arguments: one form of each, and rules about it.

A tool says with `format` in its parameters which of its arguments are `workspace-path`, `url` or
`shell-command` (docs/reference/tools.md). The toolbox brings paths and addresses to one form before
anything looks at them, so what is compared, shown and approved is what runs. Patterns are brought
to the same form. client/js/core/grant-patterns.js is the same; tests/vectors/rules.json. Pure.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote

from ..json_types import Json
from ..session.agent_definition import fits
from . import shell_commands

PATH, ADDRESS, COMMAND = "workspace-path", "url", "shell-command"
ROOT = "/workspace"  # as tools see the session's folder


def formats_of(parameters: Mapping[str, Any]) -> dict[str, str]:
    """Return argument -> format of the arguments that are paths, addresses or command lines."""
    members = parameters.get("properties")
    return {
        name: schema["format"]
        for name, schema in (members.items() if isinstance(members, dict) else ())
        if isinstance(schema, dict) and schema.get("format") in (PATH, ADDRESS, COMMAND)
    }


def in_one_form(args: Json, formats: Mapping[str, str]) -> tuple[Json, str]:
    """Return (arguments with paths and addresses in one form, an error text or "")."""
    changed: Json = {}
    for name, kind in formats.items():
        text = args.get(name)
        if not isinstance(text, str) or kind == COMMAND:
            continue
        try:
            form = normal_path(text) if kind == PATH else normal_address(text)
        except ValueError as error:
            return {}, f"{name}: {error}"
        if form != text:
            changed[name] = form
    return {**args, **changed} if changed else args, ""


# -- forms ----------------------------------------------------------------------------------------

_ODD = re.compile(r"(?:^|/)\.{0,2}(?:/|$)")  # a part of a path that is empty, `.` or `..`
_HTTP = re.compile(r"(https?)://([^/?#\\]*)([^?#]*)(\?[^#]*)?(?:#.*)?", re.I | re.S)
_PLACE = re.compile(r"(\[[^\]]*\]|[^:\[\]]*)(?::(\d{0,5}))?")
_NUMERIC = re.compile(r"(0x[0-9a-f]+|\d+)(\.(0x[0-9a-f]+|\d+)){0,3}")
_PERCENT = re.compile(r"%([0-9a-fA-F]{2})")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")
_PORTS = {"http": "80", "https": "443"}


def normal_path(text: str) -> str:
    """Return a path relative to the session's folder, without `.`, `..`, `//` and a last slash.

    An empty text stays. Raises ValueError if it leads out.
    """
    if not text or not _ODD.search(text):
        return text
    parts = _resolved((text if text.startswith("/") else f"{ROOT}/{text}").split("/"))
    if parts[:1] != [ROOT[1:]]:
        raise ValueError(f"{text[:200]} lies outside of the session's folder")
    return "/".join(parts[1:]) or "."


def normal_address(text: str) -> str:
    """Return an http or https address with a lower-case host and without what means nothing.

    That are a default port, a last dot of the host, `.` and `..`, escapes of plain characters, and
    the fragment. Other texts stay. Raises ValueError if it is no address.
    """
    match = _HTTP.fullmatch(text.strip())
    if match is None:
        return text
    scheme, authority, path, query = match[1].lower(), match[2], match[3], match[4] or ""
    user, at, place = authority.rpartition("@")
    parts = _PLACE.fullmatch(place)
    if parts is None or _CONTROLS.search(match[0]) or "\\" in path or not parts[1]:
        raise ValueError(f"{text[:200]!r} is no address")
    port = str(int(parts[2])) if parts[2] else ""
    port = f":{port}" if port and port != _PORTS[scheme] else ""
    path = _without_dots(_plain_escapes(path)) or "/"
    return f"{scheme}://{user}{at}{_host(parts[1])}{port}{path}{_plain_escapes(query)}"


def _host(text: str) -> str:
    host = unquote(text).lower().removesuffix(".")
    if not host.isascii():
        try:
            host = host.encode("idna").decode()
        except UnicodeError:
            raise ValueError(f"{text[:200]!r} is no name of a host") from None
    if _NUMERIC.fullmatch(host):  # 127.1 is 127.0.0.1
        try:
            return socket.inet_ntoa(socket.inet_aton(host))
        except OSError:
            return host
    return host


def _plain_escapes(text: str) -> str:
    """Return a part of an address with escapes of unreserved characters undone."""

    def undo(match: re.Match[str]) -> str:
        """Return the character of an escape, or the escape in upper case."""
        char = chr(int(match[1], 16))
        return char if _UNRESERVED.fullmatch(char) else match[0].upper()

    return _PERCENT.sub(undo, text)


def _without_dots(path: str) -> str:
    """Return the path of an address without `.` and `..` (RFC 3986, 5.2.4)."""
    if "/." not in path:
        return path
    found: list[str] = []
    parts = path.split("/")[1:]
    for part in parts:
        if part == "..":
            del found[-1:]
        elif part != ".":
            found.append(part)
    if parts[-1] in (".", ".."):
        found.append("")
    return "/" + "/".join(found)


def _resolved(parts: list[str]) -> list[str]:
    found: list[str] = []
    for part in parts:
        if part == "..":
            del found[-1:]
        elif part not in ("", "."):
            found.append(part)
    return found


# -- patterns -------------------------------------------------------------------------------------

_SLASH_IN_SET = re.compile(r"\[[^\]]*/")
_SPECIAL = re.compile(r"[*?\[]")
_ADDRESS_PATTERN = re.compile(r"([^/:]*)://([^/?]*)(.*)", re.S)


def path_pattern(pattern: str) -> str:
    """Return a pattern for paths in the form that paths have."""
    if _SLASH_IN_SET.search(pattern):
        return pattern
    found: list[str] = []
    for part in pattern.split("/"):
        if part == ".." and found and not _SPECIAL.search(found[-1]):
            del found[-1:]
        elif part not in ("", "."):
            found.append(part)
    if pattern.startswith("/"):
        if found[:1] != [ROOT[1:]]:
            return pattern
        found = found[1:]
    return "/".join(found) or ("." if pattern else "")


def fits_path(text: str, pattern: str) -> bool:
    """Return whether a path in its one form matches a pattern."""
    return fits(text or ".", path_pattern(pattern))


def fits_address(text: str, pattern: str, *, allows: bool = True) -> bool:
    """Return whether an address in its one form matches a pattern.

    Scheme and host are compared apart from the rest, so that `*` in a host ends with it. A user
    before the host counts only for a pattern that denies if it names one.
    """
    address, wanted = _ADDRESS_PATTERN.fullmatch(text), _ADDRESS_PATTERN.fullmatch(pattern)
    if address is None or wanted is None:
        return fits(text, pattern) and (not allows or address is None or not pattern.strip("*"))
    scheme, host, rest = wanted[1].lower(), wanted[2], wanted[3] or "/"
    user, at, place = address[2].rpartition("@")
    if at and "@" not in host:
        if allows:
            return False
        user = at = ""
    name, colon, port = host.rpartition(":")
    if colon and port == _PORTS.get(scheme):
        host = name
    return (
        fits(address[1], scheme)
        and fits(user + at + place, _lower_host(host))
        and fits(address[3], rest)
    )


def _lower_host(host: str) -> str:
    user, at, name = host.rpartition("@")
    return user + at + name.lower().removesuffix(".")


def allows(text: str, pattern: str, kind: str) -> bool:
    """Return whether a pattern that allows covers an argument in its one form."""
    return _ALLOWS.get(kind, fits)(text, pattern)


def denies(text: str, pattern: str, kind: str) -> bool:
    """Return whether a pattern that denies covers an argument in its one form.

    A command line counts if any simple command in it does, or if they cannot be told.
    """
    if kind == ADDRESS:
        return fits_address(text, pattern, allows=False)
    if kind != COMMAND:
        return allows(text, pattern, kind)
    try:
        forms = shell_commands.forms(text)
    except shell_commands.Unreadable:
        return True
    return any(fits(form, each) for each in command_patterns(pattern) for form in forms)


def command_patterns(pattern: str) -> set[str]:
    """Return a pattern for commands as it is, and without the folder of its program."""
    first, blank, rest = pattern.partition(" ")
    return {pattern, first.rpartition("/")[2] + blank + rest}


COST = {COMMAND: 20}  # how much longer it takes to compare these
_ALLOWS: dict[str, Callable[[str, str], bool]] = {
    PATH: fits_path,
    ADDRESS: fits_address,
    COMMAND: shell_commands.covers,
}
