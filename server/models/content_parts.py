"""Split session messages into typed pieces, for the Responses and the Messages API.

`responses` and `anthropic` convert the pieces to blocks of their API. All pieces are well formed,
also for a document that a client has written wrongly.
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
    """Return the pieces of an assistant message in their order.

    ("item", dict) is a provider's item to send back unchanged, ("text", str), ("call", dict).
    Another model's message gives texts and calls only. No item is last: both APIs refuse reasoning
    that nothing follows.
    """
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
    """Yield (characters before, calls before, item) of this model's items; see Answer._keep."""
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
    """Yield the pieces of a user's or a tool's content: ("text", str), ("image", URL), ("file", …).

    A file is (data URL, name). Empty texts are left out; parts of other kinds become a text that
    names them.
    """
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
    """Return (media type, base64) of a data URL, None for any other URL."""
    found = _DATA_URL.fullmatch(url)
    return (found[1].lower(), found[2]) if found else None
