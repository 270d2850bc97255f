"""The tools with which a model manages its history: reload what was left out, keep or drop results.

They read the session alone, so any server can run them. What they return is paged and expires soon,
so that reloading does not fill the window again. Pure.
"""

from __future__ import annotations

import re
from typing import Any

from ..strict_json import dumps
from .ops import text_of

Session = dict[str, Any]

PAGE = 6_000  # characters of one answer
MATCHES = 40
ACTIONS = ("keep", "pin", "drop", "auto")
_HANDLE = re.compile(r"\[?m(\d{1,9})\]?")


class NoSuchMessage(Exception):
    """An unknown handle; the text is for the model."""


def reload(
    session: Session, handle: str, offset: int = 0, limit: int = PAGE, grep: str = ""
) -> dict[str, Any]:
    """Return one message in full, from character `offset` on.

    {handle, role, name?, text, offset, next_offset?, total}, at most PAGE characters of text. With
    `grep`: {handle, role, name?, lines, matches, total}, the lines that contain it with their
    numbers.
    """
    place, message = found(session, handle)
    text = whole(message)
    about = {"handle": f"m{place}", "role": message["role"]}
    if message.get("name"):
        about["name"] = message["name"]
    if grep:
        hits = [
            f"{number}: {line[:400]}"
            for number, line in enumerate(text.splitlines(), 1)
            if grep.casefold() in line.casefold()
        ]
        return {**about, "lines": hits[:MATCHES], "matches": len(hits), "total": len(text)}
    start = min(max(offset, 0), len(text))
    end = min(start + min(max(limit, 1), PAGE), len(text))
    page = {**about, "text": text[start:end], "offset": start, "total": len(text)}
    return {**page, "next_offset": end} if end < len(text) else page


def told(found: dict[str, Any]) -> str:
    """Return the text of a `reload` result for the model."""
    who = f"{found['handle']}, {found.get('name', found['role'])}"
    if "lines" in found:
        return "\n".join([f"[{who}: {found['matches']} lines]", *found["lines"]])
    start = found["offset"]
    end = start + len(found["text"])
    more = f"; offset={end} goes on" if "next_offset" in found else ""
    return f"[{who}: characters {start} to {end} of {found['total']}{more}]\n{found['text']}"


def retain(session: Session, handles: list[str], action: str, turns: int = 5) -> dict[str, Any]:
    """Return the result of `context_retain`: {action, ids, turns?, handles}.

    compact.py reads it from the session. Raises NoSuchMessage.
    """
    places = [found(session, handle) for handle in handles]
    about: dict[str, Any] = {"action": action, "ids": [message["id"] for _, message in places]}
    if action == "keep":
        about["turns"] = max(turns, 0)
    return {**about, "handles": [f"m{place}" for place, _ in places]}


def found(session: Session, handle: str) -> tuple[int, dict[str, Any]]:
    """Return (index in the session, message) of a handle. Raises NoSuchMessage."""
    messages = session["messages"]
    match = _HANDLE.fullmatch(handle.strip())
    if match is None or int(match[1]) >= len(messages):
        last = len(messages) - 1
        raise NoSuchMessage(f"there is no message {handle[:40]!r}; handles are m0 to m{last}")
    return int(match[1]), messages[int(match[1])]


def whole(message: dict[str, Any]) -> str:
    """Return the full text of a message, its calls included."""
    parts = [text_of(message.get("content"))]
    for call in message.get("tool_calls") or ():
        function = call["function"]
        arguments = function["arguments"]
        text = arguments if isinstance(arguments, str) else dumps(arguments)
        parts.append(f"{function['name']}({text})")
    return "\n".join(part for part in parts if part)
