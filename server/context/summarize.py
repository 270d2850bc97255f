"""Summarize earlier turns without a model.

The summary has, as far as they fit: user messages up to a length, the first words of answers, tool
calls with short arguments and their status, lines of results that name errors, and the paths and
addresses in results. It also stays if a model's summary fails. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from ..strict_json import JSONError, loads
from ..types import Message, ToolCall
from .ops import RELOAD, text_of

MOST_OF_USER = 1_200  # characters of one user message
MOST_OF_ANSWER = 400
MOST_OF_ARGUMENT = 80
MOST_NAMES = 40  # paths, addresses and identifiers of the whole range
MOST_ERRORS = 12
READ = 20_000  # characters of one result that are searched

_ERROR = re.compile(r"error|exception|failed|fatal|denied|not found|traceback|refused", re.I)
_NAME = re.compile(
    r"https?://[^\s<>\"')\]]{3,200}"
    r"|(?<![\w/.])(?:~|\.{1,2})?/[\w.@+-]+(?:/[\w.@+-]+)*"  # /a/b, ./a, ~/a
    r"|(?<![\w/.])[\w@+-]+(?:/[\w.@+-]+)+"  # a/b.c
    r"|\b[\w-]{1,60}\.(?:py|js|ts|md|json|ya?ml|toml|txt|csv|html|css|c|h|rs|go|java|sh|sql|log)\b"
    r"|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"  # RFC 9562
    r"|\b[A-Z][A-Z0-9]+-\d+\b"  # ABC-123
)


def extract(messages: list[tuple[int, Message]], room: int) -> str:
    """Return the text of a fold, about `room` characters.

    `messages`: (index in the session, message), oldest first.
    """
    first, last = messages[0][0], messages[-1][0]
    lines, looked_at = _newest(messages, room)
    errors, names = _errors(looked_at), _names(looked_at)
    if errors:
        lines += ["Errors on the way:", *(f"- {line}" for line in errors[-MOST_ERRORS:])]
    said = "\n".join(lines)
    newest = islice(reversed(names.items()), MOST_NAMES * 10)
    unsaid = (f"{name} (m{place})" for name, place in newest if name not in said)
    if fresh := list(islice(unsaid, MOST_NAMES)):
        lines.append(_cut("Also seen: " + ", ".join(fresh), room // 4))
    lines.append(f'All of it is kept: {RELOAD}(handle="m{first}") to {RELOAD}(handle="m{last}").')
    return "\n".join(lines)


def transcript(messages: list[tuple[int, Message]], most: int = 60_000) -> str:
    """Return a part of a conversation for a model to sum up, about `most` characters.

    Long messages are cut, and the oldest ones are left out if there are too many.
    """
    lines: list[str] = []
    for place, message in reversed(messages):
        if message["role"] == "error" or message.get("open"):
            continue
        said = _cut(text_of(message.get("content")), 2_000)
        calls = [
            f"{call['function']['name']}({_cut(str(call['function']['arguments']), 500)})"
            for call in message.get("tool_calls") or ()
        ]
        lines.append("\n".join([f"m{place} {message['role']}: {said}", *calls]))
        most -= len(lines[-1])
        if most < 0:
            break
    return "\n\n".join(reversed(lines))


def _newest(
    messages: list[tuple[int, Message]], room: int
) -> tuple[list[str], list[tuple[int, Message]]]:
    """Return the newest lines that fit, and the messages to search for errors and names.

    Half of the room is for user messages. The messages to search are limited, so that the cost does
    not grow with the session.
    """
    kept: list[str] = []
    looked_at: list[tuple[int, Message]] = []
    left = {True: room // 2, False: room // 2}
    for place, message in reversed(messages):
        user = message["role"] == "user"
        if left[user] > 0:
            for line in reversed(list(_lines(place, message))):
                kept.append(line)
                left[user] -= len(line) + 1
            if not user:
                looked_at.append((place, message))
        elif max(left.values()) <= 0:
            kept.append("[…]")
            break
    return kept[::-1], looked_at[::-1]


def _lines(place: int, message: Message) -> Iterator[str]:
    role, text = message["role"], text_of(message.get("content")).strip()
    if role == "user":
        yield f"m{place} user: {_cut(text, MOST_OF_USER)}"
    elif role == "assistant" and not message.get("open"):
        if text:
            yield f"m{place} assistant: {_cut(text, MOST_OF_ANSWER)}"
        for call in message.get("tool_calls") or ():
            yield f"m{place} called {call['function']['name']}({_arguments(call)})"
    elif role == "tool":
        status = (message.get("result") or {}).get("status")
        state = status or ("error" if message.get("is_error") else "ok")
        yield f"m{place} {message.get('name', 'tool')}: {state}, {len(text):,} characters"


def _arguments(call: ToolCall) -> str:
    try:
        value = loads(call["function"]["arguments"])
    except (JSONError, TypeError):
        return "…"
    if not isinstance(value, dict):
        return "…"
    return ", ".join(f"{key}={_cut(str(item), MOST_OF_ARGUMENT)}" for key, item in value.items())


def _errors(messages: list[tuple[int, Message]]) -> list[str]:
    found: dict[str, int] = {}
    for place, message in messages:
        if message["role"] == "tool":
            text = text_of(message.get("content"))[:READ]
            lines = [line.strip() for line in text.splitlines() if _ERROR.search(line)]
            if not lines and message.get("is_error"):
                lines = [text]
            for line in dict.fromkeys(_cut(line, 200) for line in lines[:3]):
                found.setdefault(line, place)
    return [f"m{place}: {line}" for line, place in found.items()]


def _names(messages: list[tuple[int, Message]]) -> dict[str, int]:
    """Map names to the index of the last message with them, least recent first."""
    names: dict[str, int] = {}
    for place, message in messages:
        if message["role"] == "tool":
            for name in _NAME.findall(text_of(message.get("content"))[:READ]):
                names.pop(name, None)
                names[name] = place
    return names


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most].rstrip()} […]"
