"""Show the pictures of results to a model, or words in their place. Pure.

A result keeps its pictures in the envelope, and its content stays a text. Only when a request is
built do they become parts of the content, which each API's module puts where its API takes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..json_types import Json, Message
from ..lib.strict_json import dumps
from ..session import media

MOST = 20  # pictures in one request: beyond that Anthropic takes only small ones
FEWER = 10  # of the oldest are left out at once, so that the cached prefix changes rarely
AGAIN = "[The {what} is the same as in an earlier result.]"


def has_media(message: Mapping[str, Any]) -> bool:
    """Return whether a message carries anything but text."""
    return bool(media.of_message(message)) or any(media.parts_of(message.get("content")))


def shown_media(messages: list[Message]) -> list[Message]:
    """Return messages in which the media of results are parts of the content.

    A picture that an earlier message has is named and not sent again. Of more than MOST, the oldest
    become words. Unchanged messages are the same objects.
    """
    carrying = [
        place
        for place, message in enumerate(messages)
        if ("result" in message or "media" in message or type(message.get("content")) is list)
        and has_media(message)
    ]
    if not carrying:
        return messages
    count = sum(map(_count, (messages[place] for place in carrying)))
    late = -(-max(count - MOST, 0) // FEWER) * FEWER  # so many come first and are left out
    found, seen = messages[:], set[str]()
    for place in carrying:
        message = found[place]
        if late > 0:
            late -= _count(message)
            found[place] = in_words(message)
        elif items := media.of_message(message):
            parts = _parts(message, items, seen)
            found[place] = {**without_media(message), "content": parts}
    return found


def _count(message: Message) -> int:
    return len(media.of_message(message)) + sum(1 for _ in media.parts_of(message.get("content")))


def _parts(message: Message, items: list[Json], seen: set[str]) -> Any:
    text = message.get("content")
    parts: list[Any] = (
        [{"type": "text", "text": text}] if isinstance(text, str) else [*(text or ())]
    )
    if message["role"] == "assistant":  # the words of what it said are there
        items = [item for item in items if item["media_type"] in media.PICTURES]
    for item in items:
        if item["data"] in seen:
            told = AGAIN.format(what=media.describe(item))
            parts.append({"type": "text", "text": told})
        else:
            seen.add(item["data"])
            parts.append(media.part_of(item))
    return parts


def in_words(message: Message) -> Message:
    """Return a message with words in place of its media; the same object if it has none.

    The words say how the model gets them again.
    """
    content, items = message.get("content"), media.of_message(message)
    if items:
        how = "" if message["role"] == "assistant" else " Call the tool again to see it."
        notes = [f"[{media.describe(item)}; left out here.{_again(item) or how}]" for item in items]
        if not isinstance(content, str):
            content = [*(content or ()), *({"type": "text", "text": note} for note in notes)]
        else:
            content = "\n".join((content, *notes))
        return {**without_media(message), "content": content}
    if not isinstance(content, list) or not any(media.parts_of(content)):
        return message
    return {**message, "content": [_in_words(part) for part in content]}


def without_media(message: Message) -> Message:
    """Return a message that has no media, nor its result; the same object if it has none."""
    if not media.of_message(message):
        return message
    if message["role"] == "assistant":
        return {k: v for k, v in message.items() if k != "media"}  # type: ignore[return-value]
    rest: Any = {k: v for k, v in (message.get("result") or {}).items() if k != "media"}
    return {**message, "result": rest}


def _in_words(part: Any) -> Any:
    if not isinstance(part, dict) or isinstance(part.get("text"), str):
        return part
    kind, size = str(part.get("type")).removesuffix("_url"), media.size_of_part(part)
    pixels = f" of {size[0]} x {size[1]} pixels" if size else ""
    note = f"[{kind[:40]}{pixels}; left out here. Ask for it if you need to see it again.]"
    return {"type": "text", "text": note}


def _again(item: Json) -> str:
    path = item.get("path")
    return f" read_file({dumps(path)}) shows it again." if path else ""
