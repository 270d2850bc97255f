"""Write what a person is told of a session: that it asks, ended, failed or was given up. Pure.

Short, a notice says what kind of thing has happened and names the tool; what the session is about,
and what a call would do, leaves the server only where its owner has set the full form.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ...lib.hidden_characters import written_out
from ...tools.foreign_text import clean_line

MAX_TITLE, MAX_DETAIL = 80, 1_000  # characters
TITLES = {
    "asks": "A session asks before it goes on",
    "ended": "A session has ended",
    "failed": "A session has failed",
    "gave_up": "A session could not go on",
}
_PLACEHOLDER = re.compile(r"\{(kind|title|text|link)\}")


class Occurrence(NamedTuple):
    """What has happened.

    kind    one of TITLES
    title   of the session
    tool    the tool of the call that asks
    detail  what the call would do, or why it did not go on
    link    where a person sees more of it, "" for nowhere
    """

    kind: str
    title: str = ""
    tool: str = ""
    detail: str = ""
    link: str = ""


class Notice(NamedTuple):
    """What a person is sent. `title` is one line; `link` is "" for none."""

    kind: str
    title: str
    text: str
    link: str = ""


def render(occurrence: Occurrence, detail: str = "short") -> Notice:
    """Return the notice of an occurrence. `detail`: short or full."""
    kind, lines = occurrence.kind, []
    if occurrence.tool:
        lines.append(f"Tool: {clean_line(occurrence.tool)[:MAX_TITLE]}")
    title = TITLES[kind]
    if detail == "full":
        name = written_out(clean_line(occurrence.title))
        title = f"{title}: {_cut(name, MAX_TITLE)}" if name else title
        if occurrence.detail:
            lines.append(_cut(written_out(occurrence.detail), MAX_DETAIL))
    return Notice(kind, title, "\n".join(lines) or title, occurrence.link)


def occurrence_of(question: Mapping[str, Any], title: str, link: str) -> Occurrence:
    """Return what an open question of a session (`interrupts`) is to its person."""
    args = question.get("args")
    detail = json.dumps(args, ensure_ascii=False) if args else question.get("message", "")
    if isinstance(args, dict) and isinstance(command := args.get("command"), str):
        detail = command
    return Occurrence("asks", title, question.get("tool", ""), detail, link)


def ntfy_body(notice: Notice, topic: str) -> bytes:
    """Return the JSON of a message to ntfy (docs.ntfy.sh/publish, "Publish as JSON")."""
    urgent = notice.kind == "asks"
    body: dict[str, Any] = {
        "topic": topic,
        "title": notice.title,
        "message": notice.text,
        "priority": 4 if urgent else 3,
        "tags": ["question" if urgent else "robot"],
    }
    if notice.link:  # looking comes before allowing, so no action of ntfy answers by itself
        body["click"] = notice.link
        body["actions"] = [{"action": "view", "label": "Open", "url": notice.link, "clear": True}]
    return json.dumps(body).encode()


def webhook_body(notice: Notice, template: Any = None) -> bytes:
    """Return the JSON for a webhook: the notice, or a template with `{title}`, … filled in.

    A template is any JSON value; a text in it stays one text, whatever is filled in.
    """
    values = notice._asdict()
    return json.dumps(values if template is None else _fill(template, values)).encode()


def _fill(template: Any, values: Mapping[str, str]) -> Any:
    if isinstance(template, str):
        return _PLACEHOLDER.sub(lambda match: values[match[1]], template)
    if isinstance(template, dict):
        return {name: _fill(each, values) for name, each in template.items()}
    if isinstance(template, list):
        return [_fill(each, values) for each in template]
    return template


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"
