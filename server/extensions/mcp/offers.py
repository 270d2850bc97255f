"""What an MCP server offers besides tools: resources, templates of their addresses, prompts.

Conversion from the server's words, none of which is trusted: entries that cannot be used are left
out and counted, everything is bounded, and characters that cannot be seen are removed from names.
Pure.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import Any

from ...json_types import Json
from .inbox import MAX_URI

MAX_NAME = 200  # characters of a name or title
MAX_ABOUT = 1_000  # of a description
MAX_TYPE = 100
MAX_ARGUMENTS = 50  # of one prompt
MAX_VALUES = 100  # completions of one argument
JOINERS = "\u200c\u200d"  # part of words in some scripts, and of emoji

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")
_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn")
_TYPE = re.compile(r"[!-~]+(?:; ?[!-~]+)*")

Reader = Callable[[Json], Json | None]


def one_line(value: Any, most: int) -> str:
    """Return a text as one line of at most `most` characters; "" for anything else.

    Characters that cannot be seen are removed: they could hide words from a person.
    """
    if not isinstance(value, str):
        return ""
    seen = (
        " " if each.isspace() else each
        for each in value[: 4 * most]
        if each.isspace() or each in JOINERS or unicodedata.category(each) not in _UNSEEN
    )
    line = " ".join("".join(seen).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def is_uri(value: Any) -> bool:
    """Return whether a value is an address that can be shown and sent: visible, with a scheme."""
    if not isinstance(value, str) or not len(value) <= MAX_URI or not _URI.fullmatch(value):
        return False
    return all(unicodedata.category(each) not in _UNSEEN for each in value)


def entries_of(listed: Iterable[Json], read: Reader, key: str, most: int) -> tuple[list[Json], int]:
    """Return the usable entries of a list, and how many were left out.

    `key`: the member that tells entries apart; of several that are equal the first is kept.
    """
    found: dict[str, Json] = {}
    seen = 0
    for about in listed:
        seen += 1
        entry = read(about)
        if entry is not None and len(found) < most:
            found.setdefault(entry[key], entry)
    return list(found.values()), seen - len(found)


def resource_of(listed: Json) -> Json | None:
    """Return a listed resource as {uri, name, title?, description?, mimeType?, size?}; None if it
    cannot be read."""
    uri: Any = listed.get("uri")
    size = listed.get("size")
    if not is_uri(uri):
        return None
    sized = isinstance(size, int) and not isinstance(size, bool) and 0 <= size < 2**53
    return {"uri": uri, **_words(listed, uri), **({"size": size} if sized else {})}


def template_of(listed: Json) -> Json | None:
    """Return a listed template as {uriTemplate, name, …}, like a resource; None if unusable."""
    template: Any = listed.get("uriTemplate")
    if not is_uri(template):
        return None
    return {"uriTemplate": template, **_words(listed, template)}


def prompt_of(listed: Json) -> Json | None:
    """Return a listed prompt as {name, title?, description?, arguments: [{name, description?,
    required}]}; None if it cannot be asked for."""
    name, arguments = listed.get("name"), listed.get("arguments") or []
    if not _is_name(name) or not isinstance(arguments, list) or len(arguments) > MAX_ARGUMENTS:
        return None
    taken = []
    for each in arguments:
        if not isinstance(each, dict) or not _is_name(each.get("name")):
            return None
        about = one_line(each.get("description"), MAX_ABOUT)
        told: Json = {"description": about} if about else {}
        taken.append({"name": each["name"], **told, "required": each.get("required") is True})
    return {**_words(listed, ""), "name": name, "arguments": taken}


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value) and one_line(value, MAX_NAME) == value


def _words(listed: Json, otherwise: str) -> Json:
    """Return {name, title?, description?, mimeType?} of an entry."""
    kind = media_type(listed.get("mimeType"))
    found = {
        "name": one_line(listed.get("name"), MAX_NAME) or otherwise[-MAX_NAME:],
        "title": one_line(listed.get("title"), MAX_NAME),
        "description": one_line(listed.get("description"), MAX_ABOUT),
        "mimeType": kind,
    }
    return {key: value for key, value in found.items() if value}


def media_type(value: Any) -> str:
    """Return a MIME type; "" for anything else."""
    usable = isinstance(value, str) and len(value) <= MAX_TYPE and _TYPE.fullmatch(value)
    return str(value) if usable else ""


def contents_of(result: Json, uri: str) -> list[Json]:
    """Return the contents of a read resource, each {uri, mimeType?, text | blob}."""
    contents = result.get("contents")
    found = []
    for each in contents if isinstance(contents, list) else ():
        if not isinstance(each, dict):
            continue
        kind = media_type(each.get("mimeType"))
        part: Json = {"uri": each["uri"] if is_uri(each.get("uri")) else uri}
        part |= {"mimeType": kind} if kind else {}
        if isinstance(each.get("text"), str):
            found.append({**part, "text": each["text"]})
        elif isinstance(each.get("blob"), str):
            found.append({**part, "blob": each["blob"]})
    return found


def completions_of(result: Json) -> Json:
    """Return the answer to `completion/complete` as {values, more}."""
    told = result.get("completion")
    told = told if isinstance(told, dict) else {}
    values = told.get("values")
    usable = [each for each in values if _is_name(each)] if isinstance(values, list) else []
    more = told.get("hasMore") is True or len(usable) > MAX_VALUES
    return {"values": usable[:MAX_VALUES], "more": more}
