"""What the system prompt says of skills, and of the instructions of a folder (AGENTS.md). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..json_types import Json, Session
from ..lib.strict_json import as_object

NESTED = 50  # paths of further instructions that are named


def skills_of(session: Mapping[str, Any]) -> Json:
    """Return `session.skills`, {} without one."""
    return as_object(session.get("skills"))


def listing(listed: Iterable[Mapping[str, str]]) -> str:
    """Return the lines of the prompt."""
    return "\n".join(f"- {each['name']}: {each['description']}" for each in listed)


def prompt_listing(session: Session) -> str:
    """Return the list of skills for the system prompt, "" if none is offered."""
    about = skills_of(session)
    more = about.get("more") or 0
    rest = f"\n- and {more} more; call skill with a word of the task to find one" if more else ""
    return listing(about.get("offered") or ()) + rest


def instructions_text(session: Mapping[str, Any]) -> str:
    """Return what the prompt says of the folder's instructions, "" if there are none."""
    about = as_object(session.get("instructions"))
    parts = []
    if path := about.get("path"):
        cut = f"\n(The rest of {path} is left out; read it there.)" if about.get("cut") else ""
        parts.append(f"<{path}>\n{str(about.get('text', '')).strip()}{cut}\n</{path}>")
    if nested := about.get("nested"):
        more = (about.get("nested_count") or 0) - len(nested[:NESTED])
        rest = f", and {more} more" if more > 0 else ""
        parts.append(
            "Folders below have their own, and for a file the nearest ones hold. Read them before"
            f" you change files there: {', '.join(map(str, nested[:NESTED]))}{rest}."
        )
    return "\n".join(parts)
