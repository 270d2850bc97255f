"""Build the system prompt, for every model call; it is never stored in a session.

A prompt is a list of sections. The session (`config.prompt`) or else its agent (`prompt`) may
replace the template of a section. A pure function of the session, with the same bytes as long as
the facts it contains do not change, so that providers can cache it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from ..json_types import Message, RunWarning, Session
from ..lib.strict_json import dumps
from .guidance import instructions_text, prompt_listing
from .modes import mode_of
from .outcome import schema_of
from .prompt_texts import ABOUT, CHARACTER, MODE_RULES, PROTOCOL, PROTOCOL_FACTS, SECTIONS, TITLE

_OPTIONAL_FACTS = (
    *("agent", "mode", "skills", "instructions", "host", "place"),
    *("environment", "language", "append"),
)
# Section name -> the fact without which it is left out.
OPTIONAL = {
    **{name: name for name in _OPTIONAL_FACTS},
    "output": "output_schema",
}
NAMES = tuple(ABOUT)
FACTS = ("character", "output_schema", "date", *_OPTIONAL_FACTS)
# Codes of entries of `run.warnings` about templates.
UNKNOWN_SECTION, UNKNOWN_PLACEHOLDER = "prompt_section_unknown", "prompt_placeholder_unknown"
UNREADABLE_CALL = "prompt_call_unreadable"

MOST_NAMED, MAX_NAME = 20, 100  # placeholders in a remark, characters of a name in it

MOST_FILLED = 1_000  # placeholders of one template
MOST_REPEATED = 8

_PLACEHOLDER = re.compile(r"(?<!\{)\{([a-z_]+)\}(?!\})")


def system(session: Session) -> str:
    """Return the system prompt of a session.

    `system` replaces everything, the name of a section replaces that section, and `append` is added
    at the end. Unknown placeholders stay as they are; `remarks` reports them.
    """
    templates = custom(session["config"])
    facts = values(session, templates)
    if "system" in templates:
        return fill(templates["system"], facts)
    parts = []
    for name, template in SECTIONS.items():
        if name in OPTIONAL and not facts[OPTIONAL[name]]:
            continue
        if name == "persona" and name not in templates and _is_said_elsewhere(session, facts):
            continue
        template = template if name == "append" else templates.get(name, template)
        parts.append(fill(template, facts).strip())
    return "\n\n".join(part for part in parts if part)


def _is_said_elsewhere(session: Session, facts: Mapping[str, str]) -> bool:
    """Return whether `session.character` is the usual one, and another text says who the agent is.

    That is the agent's own prompt, or a system message at the beginning, as of OpenAI's clients.
    """
    first = session["messages"][0]["role"] if session["messages"] else ""
    return facts["character"] == CHARACTER and (bool(facts["agent"]) or first == "system")


def default(name: str) -> str:
    """Return the default template of a section, "" if it has none."""
    if name == "append":  # it has no default text
        return ""
    return {**SECTIONS, **PROTOCOL, "title": TITLE}.get(name, "")


def placeholders_of(name: str) -> tuple[str, ...]:
    """Return the placeholders that are allowed in a section."""
    return () if name in ("append", "title", "systemPrompt") else PROTOCOL_FACTS.get(name, FACTS)


def custom(config: Mapping[str, Any]) -> dict[str, str]:
    """Return section name -> template of the session's settings, else of its agent."""
    agents = (config.get("agent") or {}).get("prompt") or {}
    both = {**agents, **(config.get("prompt") or {})}
    return {name: text for name, text in both.items() if isinstance(text, str)}


def values(session: Session, own: Mapping[str, str]) -> dict[str, str]:
    """Return placeholder -> its value."""
    agent = session["config"].get("agent") or {}
    schema = schema_of(session)
    started = session["run"]["started_at"] // 1000
    return {
        "character": session.get("character") or "",
        "agent": agent.get("systemPrompt", "").strip(),
        "mode": MODE_RULES.get(mode_of(session).name, ""),
        "output_schema": "" if schema is None else dumps(schema),
        "skills": prompt_listing(session),
        "instructions": instructions_text(session),
        "host": session["run"].get("host", ""),
        "place": _place(session),
        "date": datetime.fromtimestamp(started, UTC).strftime("%Y-%m-%d"),
        "environment": "\n".join(f"- {fact}" for fact in session.get("environment") or ()),
        "language": session["config"]["yaa"].get("language") or "",
        "append": own.get("append", ""),
    }


def _place(session: Session) -> str:
    """Return where the server's tools work and what a call may take; "" where none can run."""
    if not (place := session["run"].get("place", "")):
        return ""
    limits = session["config"].get("limits", {}).get("tool", {})
    units = {"wall_s": "{:g} s", "memory_mb": "{:g} MB of memory"}
    per_call = [unit.format(limits[name]) for name, unit in units.items() if name in limits]
    return f"{place} One call has {' and '.join(per_call)}." if per_call else place


def remarks(templates: Mapping[str, Any]) -> list[RunWarning]:
    """Return warnings about unknown sections and placeholders, which are kept as they are.

    Each is {code, message, section, known, …}, so that a client can translate it.
    """
    remarks: list[RunWarning] = []
    for name, text in templates.items():
        if name not in (*NAMES, "systemPrompt"):
            name = name[:MAX_NAME]
            said = f"prompt.{name} is no section; there are {', '.join(NAMES)}"
            remarks.append(
                {
                    "code": UNKNOWN_SECTION,
                    "message": said,
                    "section": name,
                    "known": list(NAMES),
                }
            )
        elif isinstance(text, str) and (known := placeholders_of(name)):
            wrong = sorted(placeholders_in(text) - set(known))[:MOST_NAMED]
            if placeholders := [f"{{{each[:MAX_NAME]}}}" for each in wrong]:
                listed = ", ".join(placeholders)
                said = (
                    f"prompt.{name} names {listed}, which means nothing; known: {', '.join(known)}"
                )
                remarks.append(
                    {
                        "code": UNKNOWN_PLACEHOLDER,
                        "message": said,
                        "section": name,
                        "placeholders": placeholders,
                        "known": list(known),
                    }
                )
    return remarks


def title_request(session: Session, messages: list[Message]) -> list[Message]:
    """Return the messages of the extra model call that makes a session's title."""
    lines = [
        f"{message['role']}: {message['content'][:2000]}"
        for message in messages
        if message["role"] in ("user", "assistant") and isinstance(message.get("content"), str)
    ]
    return [
        {"role": "system", "content": custom(session["config"]).get("title", TITLE)},
        {"role": "user", "content": "\n\n".join(lines[:4])},
    ]


def fill(template: str, facts: Mapping[str, str]) -> str:
    """Replace the placeholders `{name}` of a template, in one pass: values are not templates.

    Templates come with sessions, so what one costs grows no faster than it is long.
    `{{x}}` is not a placeholder: tool calls refer to earlier results that way. Placeholders stay as
    they are after the first MOST_FILLED, and where the values together would become MOST_REPEATED
    times as long as they are.
    """
    if "{" not in template:  # most sections have none
        return template
    room = MOST_REPEATED * sum(map(len, facts.values()))

    def value(match: re.Match[str]) -> str:
        """Return the value of one placeholder, or itself."""
        nonlocal room
        text = facts.get(match[1])
        if text is None or len(text) > room:
            return match[0]
        room -= len(text)
        return text

    return _PLACEHOLDER.sub(value, template, count=MOST_FILLED)


def placeholders_in(template: str) -> set[str]:
    """Return the names of the placeholders that are filled in."""
    return {match[1] for match in islice(_PLACEHOLDER.finditer(template), MOST_FILLED)}
