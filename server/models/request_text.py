"""Write the body of a request as JSON, from texts that were written before where there are some.

`http_model` sends it, in a thread if it is large.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..json_types import Json
from ..lib.strict_json import ConstantList, dumps, dumps_in_pieces
from ..session.quoted_texts import SentTexts

LISTS = ("messages", "input")  # of messages: they and the tools stand behind all else


def body_text(body: Mapping[str, Any], texts: SentTexts | None = None) -> str:
    """Return the JSON text of a request body. Messages that are strings are JSON already.

    Messages are written in pieces, between which other threads run. `texts` has the JSON of what
    they say, as far as it was sent before. The stored text of constant tools is reused: they are
    the largest part of a short request.
    """
    rest = {name: each for name, each in body.items() if name not in (*LISTS, "tools")}
    members = [dumps(rest)[1:-1]]
    for name in LISTS:
        if listed := body.get(name):
            members.append(f'"{name}":[{",".join(_message_texts(listed, texts))}]')
    if tools := body.get("tools"):
        whole = tools if isinstance(tools, ConstantList) else ConstantList(tools)
        members.append(f'"tools":{whole.text}')
    return f"{{{','.join(filter(None, members))}}}"


def _message_texts(messages: list[Json | str], texts: SentTexts | None) -> list[str]:
    if texts is None and not [message for message in messages if isinstance(message, str)]:
        return [dumps_in_pieces(messages)[1:-1]]
    return [
        message if isinstance(message, str) else _message_text(message, texts)
        for message in messages
    ]


def _message_text(message: Json, texts: SentTexts | None) -> str:
    """Return the JSON of a message; a text at its end, such as a result, may have been written."""
    content = message.get("content")
    if texts is None or type(content) is not str or next(reversed(message)) != "content":
        return dumps(message)
    return f"{dumps({**message, 'content': 0})[:-2]}{texts.quoted[content]}}}"
