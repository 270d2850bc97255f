"""Messages in pieces, as the Responses and the Messages API want them.

In the walk: `responses` and `anthropic` ask here what is in a session's message, and say how
their API spells it. The rule of the file: what comes out is known to be well formed, whatever a
client has put into the document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from . import Message
from .chat_request import plain_text
from .vendors import Provider

Piece = tuple[str, Any]

_DATA_URL = re.compile(r"data:([^;,]*)(?:;[^,]*)?;base64,(.*)", re.DOTALL)


def of_answer(message: Message, provider: Provider) -> list[Piece]:
    """("item", …) what a provider wants back as it came, ("text", str) and ("call", …) of an
    assistant message, in the order they were made; of another model's nothing goes back but the
    text and the calls. No item is last: both APIs refuse thoughts that nothing follows."""
    text, calls = plain_text(message.get("content")), message.get("tool_calls") or []
    found: list[Piece] = []
    said = called = 0
    for chars, number, item in _kept(message, provider):
        if chars > said and text[said:chars]:
            found.append(("text", text[said:chars]))
        found += (("call", call) for call in calls[called:number])
        said, called = max(said, chars), max(called, number)
        found.append(("item", item))
    if text[said:]:
        found.append(("text", text[said:]))
    found += (("call", call) for call in calls[called:])
    while found and found[-1][0] == "item":
        found.pop()
    return found


def _kept(message: Message, provider: Provider) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """(characters before it, calls before it, item); see Answer."""
    reasoning = message.get("reasoning") or {}
    details = reasoning.get("details")
    if (message.get("meta") or {}).get("model") != provider.model or not isinstance(details, list):
        return
    for each in details:
        at, item = (each.get("at"), each.get("item")) if isinstance(each, dict) else (None, None)
        if isinstance(item, dict) and isinstance(at, list) and len(at) == 2:
            chars, number = at
            if type(chars) is int and type(number) is int and min(at) >= 0:
                yield chars, number, item


def of_content(content: Any) -> Iterator[Piece]:
    """("text", str), ("image", address) and ("file", (address, name)) of what a person or a tool
    gave; what no API takes is said in words. Empty texts are left out."""
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    for part in content if isinstance(content, list) else ():
        if not isinstance(part, dict):
            continue
        kind = part.get("type")
        text, image, file = part.get("text"), part.get("image_url"), part.get("file")
        url = image.get("url") if isinstance(image, dict) else image
        data = file.get("file_data") if isinstance(file, dict) else None
        if isinstance(text, str):
            if text:
                yield "text", text
        elif isinstance(url, str):
            yield "image", url
        elif isinstance(data, str) and isinstance(file, dict):
            yield "file", (data, str(file.get("filename") or "file"))
        else:
            yield "text", f"[{kind!s:.40}: this model cannot be given it]"


def of_data_url(url: str) -> tuple[str, str] | None:
    """(media type, base64) of a data URL, None for any other address."""
    found = _DATA_URL.fullmatch(url)
    return (found[1].lower(), found[2]) if found else None
