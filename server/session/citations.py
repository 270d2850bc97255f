"""What a text of an answer cites, as `url_citation`s of OpenAI's APIs. Pure.

`[^s2.1]` names a source in the `sources` of a result's envelope (tools/sources.py); what a
provider's own search cites is in `meta.citations` of the message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..json_types import Json, Session
from ..lib.strict_json import as_object, as_text
from .json_patch import parse_pointer

_MARK = re.compile(r"\[\^(s\d{1,6}\.\d{1,4})\]")


def url_citations(session: Session, text: str, message_id: str = "") -> list[Json]:
    """Return {start_index, end_index, url, title} of each citation, by their places in the text.

    `message_id`: of the message that the text ends with. A mark that names no source of the session
    is no citation.
    """
    marks = list(_MARK.finditer(text))
    sources = _sources(session) if marks else {}
    found = [
        {"start_index": mark.start(), "end_index": mark.end(), **sources[mark[1]]}
        for mark in marks
        if mark[1] in sources
    ]
    found += _of_provider(session, text, message_id)
    return sorted(found, key=lambda each: (each["start_index"], each["end_index"]))


def _sources(session: Session) -> dict[str, Json]:
    """Return id -> {url, title} of all sources, of each id the first."""
    found: dict[str, Json] = {}
    for message in session.get("messages", ()):
        result: Any = message.get("result") if message.get("role") == "tool" else None
        for name, pointer in as_object(as_object(result).get("sources")).items():
            place = [] if pointer == "" else parse_pointer(pointer)  # "": the result itself
            if name not in found and place is not None:
                if about := _about(_inner(result.get("result"), place)):
                    found[name] = about
    return found


def _inner(value: Any, place: list[str]) -> Any:
    for part in place:
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value


def _about(value: Any) -> Json | None:
    url = as_object(value).get("url")
    if not isinstance(url, str) or not url.lower().startswith(("https://", "http://")):
        return None
    return {"url": url, "title": as_text(value.get("title"))}


def _of_provider(session: Session, text: str, message_id: str) -> Iterator[Json]:
    for message in session.get("messages", ()) if message_id else ():
        all_cited = as_object(message.get("meta")).get("citations")
        content: Any = message.get("content")
        if message.get("id") != message_id or not isinstance(all_cited, list):
            continue
        if not isinstance(content, str) or not text.endswith(content):
            continue
        before = len(text) - len(content)
        for cited in all_cited:
            if (about := _about(cited)) is None:
                continue
            start, end = cited.get("start"), cited.get("end")
            placed = type(start) is int and type(end) is int
            places = (start, end) if placed else (len(content), len(content))
            yield {
                "start_index": before + places[0],
                "end_index": before + places[1],
                **about,
            }
