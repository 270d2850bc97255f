"""The system prompt: derived for every model call, never stored in a session.

A prompt is a list of sections, each a template that `config.prompt` may replace by name. It is a
pure function of the session, byte-stable while nothing it names changes, so providers can cache
it.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

Session = dict[str, Any]

# Section name -> template, in the order in which they stand. A section whose only placeholder is
# empty is left out.
SECTIONS: dict[str, str] = {
    "persona": "{character}",
    "rules": (
        "Work step by step. Use a tool when it gives a better answer than memory, one purpose per"
        " call. A tool result that reports an error is information: read it and try differently."
        " When a call was denied, do not repeat it. When the task is done, answer in plain words."
    ),
    "date": "The current date is {date}.",
    "environment": "Facts about the user's environment:\n{environment}",
    "language": "Answer in this language: {language}.",
    "append": "{append}",
}
OPTIONAL = {"environment", "language", "append"}
TITLE = (
    "Write a title of at most six words for this conversation, in its language."
    " Answer with the title alone."
)

_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


def system(session: Session) -> str:
    """The system prompt of a session.

    `config.prompt`: `system` replaces everything, any section's name replaces that section, and
    `append` is added at the end. Unknown placeholders stay as they are and `unknown_placeholders`
    names them.
    """
    custom = session["config"].get("prompt", {})
    facts = values(session)
    if isinstance(whole := custom.get("system"), str):
        return fill(whole, facts)
    parts = []
    for name, template in SECTIONS.items():
        own = custom.get(name) if name != "append" else None
        if name in OPTIONAL and not facts[name]:
            continue
        parts.append(fill(own if isinstance(own, str) else template, facts).strip())
    return "\n\n".join(part for part in parts if part)


def values(session: Session) -> dict[str, str]:
    """What a template may name."""
    custom = session["config"].get("prompt", {})
    started = session["run"]["started_at"] // 1000
    return {
        "character": session.get("character") or "",
        "language": session["config"]["yaa"].get("language") or "",
        "environment": "\n".join(f"- {fact}" for fact in session.get("environment") or ()),
        "date": datetime.fromtimestamp(started, UTC).strftime("%Y-%m-%d"),
        "append": custom["append"] if isinstance(custom.get("append"), str) else "",
    }


def fill(template: str, facts: dict[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda match: facts.get(match[1], match[0]), template)


def unknown_placeholders(session: Session) -> list[str]:
    """Placeholders in the session's own templates that mean nothing, for a log line."""
    facts = values(session)
    custom = session["config"].get("prompt", {})
    texts = [text for name, text in custom.items() if isinstance(text, str) and name != "append"]
    return sorted({name for text in texts for name in _PLACEHOLDER.findall(text)} - facts.keys())


def title_request(session: Session, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages of the extra call that names a session."""
    lines = [
        f"{message['role']}: {message['content'][:2000]}"
        for message in messages
        if message["role"] in ("user", "assistant") and isinstance(message.get("content"), str)
    ]
    return [
        {"role": "system", "content": TITLE},
        {"role": "user", "content": "\n\n".join(lines[:4])},
    ]
