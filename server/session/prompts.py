"""The system prompt: derived for every model call, never stored in a session.

A prompt is a list of sections, each a template that the session (`config.prompt`) or else its agent
(`prompt`) may replace by name. It is a pure function of the session, byte-stable while nothing it
names changes, so providers can cache it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ..jsontext import dumps
from .modes import mode_of
from .output import schema_of

Session = dict[str, Any]
Remark = dict[str, Any]

# Section name -> template, in the order in which they stand.
SECTIONS: dict[str, str] = {
    "persona": "{character}",
    "agent": "{agent}",
    "rules": (
        "Work step by step. Use a tool when it gives a better answer than memory, one purpose per"
        " call. A tool result that reports an error is information: read it and try differently."
        " When a call was denied, do not repeat it. When the task is done, answer in plain words."
    ),
    "mode": "{mode}",
    "output": (
        "Give your final answer by calling finish with arguments that fit this JSON Schema, and"
        " only when you are done:\n{output_schema}"
    ),
    "host": "The server's tools run on {host}.",
    "date": "The current date is {date}.",
    "environment": "Facts about the user's environment:\n{environment}",
    "language": "Answer in this language: {language}.",
    "append": "{append}",
}
_OPTIONAL_FACTS = ("agent", "mode", "host", "environment", "language", "append")
# The fact without which a section is left out.
OPTIONAL = {
    **{name: name for name in _OPTIONAL_FACTS},
    "output": "output_schema",
}
MODE_RULES = {
    "plain": "You may use one tool, once. Then answer.",
    "react": "Use one tool at a time, look at its result, and go on until you can answer.",
    "plan_execute": (
        "Begin with plan_set: the tasks that lead to the goal, in order. Say with plan_update when"
        " you begin a task and when it is completed, failed or cancelled, and what came of it."
        " Tools you call together run one after another; an argument that is {{tool.field}} takes"
        " what an earlier one gave. Mark a task failed only when the goal cannot be reached any"
        " more: that ends the run."
    ),
}
TITLE = (
    "Write a title of at most six words for this conversation, in its language."
    " Answer with the title alone."
)
# What `config.prompt` and an agent's `prompt` may hold, and what each is, for a person.
ABOUT: dict[str, str] = {
    "persona": "Who the agent is.",
    "agent": "What the agent of the session is told.",
    "rules": "How to work with tools.",
    "mode": "The rules of the mode.",
    "output": "How to give an answer that has a schema.",
    "host": "What the server's tools run on.",
    "date": "The date on which the run began.",
    "environment": "Facts of the user's environment.",
    "language": "The answer language.",
    "append": "Whatever is to stand at the end.",
    "system": "The whole system prompt, instead of all the sections above.",
    "title": "How to name a session, for the extra call that does it.",
}
NAMES = tuple(ABOUT)
FACTS = ("character", "output_schema", "date", *_OPTIONAL_FACTS)
# Codes of what `run.warnings` of a session says of its templates.
UNKNOWN_SECTION, UNKNOWN_PLACEHOLDER = "prompt_section_unknown", "prompt_placeholder_unknown"

MOST_NAMED, MAX_NAME = 20, 100  # placeholders of a remark, and characters of a name in it

_PLACEHOLDER = re.compile(r"(?<!\{)\{([a-z_]+)\}(?!\})")


def system(session: Session) -> str:
    """The system prompt of a session.

    `system` replaces everything, any section's name replaces that section, and `append` is added
    at the end. Unknown placeholders stay as they are and `remarks` names them.
    """
    own = custom(session)
    facts = values(session, own)
    if "system" in own:
        return fill(own["system"], facts)
    parts = []
    for name, template in SECTIONS.items():
        if name in OPTIONAL and not facts[OPTIONAL[name]]:
            continue
        template = template if name == "append" else own.get(name, template)
        parts.append(fill(template, facts).strip())
    return "\n\n".join(part for part in parts if part)


def default(name: str) -> str:
    """Return the template of a section that nobody has replaced; "" where there is none."""
    return TITLE if name == "title" else "" if name == "append" else SECTIONS.get(name, "")


def named(name: str) -> tuple[str, ...]:
    """Return the placeholders that a section may name."""
    return () if name in ("append", "title") else FACTS


def custom(session: Session) -> dict[str, str]:
    """The templates of the session, and of its agent where the session has none."""
    agents = (session["config"].get("agent") or {}).get("prompt", {})
    both = {**agents, **session["config"].get("prompt", {})}
    return {name: text for name, text in both.items() if isinstance(text, str)}


def values(session: Session, own: Mapping[str, str]) -> dict[str, str]:
    """What a template may name."""
    agent = session["config"].get("agent") or {}
    schema = schema_of(session)
    started = session["run"]["started_at"] // 1000
    return {
        "character": session.get("character") or "",
        "agent": agent.get("systemPrompt", "").strip(),
        "mode": MODE_RULES.get(mode_of(session).name, ""),
        "output_schema": "" if schema is None else dumps(schema),
        "host": session["run"].get("host", ""),
        "date": datetime.fromtimestamp(started, UTC).strftime("%Y-%m-%d"),
        "environment": "\n".join(f"- {fact}" for fact in session.get("environment") or ()),
        "language": session["config"]["yaa"].get("language") or "",
        "append": own.get("append", ""),
    }


def fill(template: str, facts: Mapping[str, str]) -> str:
    """One pass: what a fact holds is never read as a template itself. `{{x}}` is no placeholder,
    it is how a call names an earlier result."""
    if "{" not in template:  # most sections
        return template
    return _PLACEHOLDER.sub(lambda match: facts.get(match[1], match[0]), template)


def remarks(templates: Mapping[str, Any]) -> list[Remark]:
    """What is odd about templates: a section that does not exist, or a placeholder that does not.
    Both are left as they are. Each remark is {code, message, section, known, …}, so that a client
    can word it in its own language."""
    found: list[Remark] = []
    for name, text in templates.items():
        if name not in (*NAMES, "systemPrompt"):
            name = name[:MAX_NAME]
            said = f"prompt.{name} is no section; there are {', '.join(NAMES)}"
            about = {"section": name, "known": list(NAMES)}
            found.append({"code": UNKNOWN_SECTION, "message": said, **about})
        elif isinstance(text, str) and name not in ("append", "systemPrompt"):
            named = sorted(set(_PLACEHOLDER.findall(text)) - set(FACTS))[:MOST_NAMED]
            if placeholders := [f"{{{each[:MAX_NAME]}}}" for each in named]:
                listed = ", ".join(placeholders)
                said = (
                    f"prompt.{name} names {listed}, which means nothing; known: {', '.join(FACTS)}"
                )
                about = {"section": name, "placeholders": placeholders, "known": list(FACTS)}
                found.append({"code": UNKNOWN_PLACEHOLDER, "message": said, **about})
    return found


def title_request(session: Session, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages of the extra call that names a session."""
    lines = [
        f"{message['role']}: {message['content'][:2000]}"
        for message in messages
        if message["role"] in ("user", "assistant") and isinstance(message.get("content"), str)
    ]
    return [
        {"role": "system", "content": custom(session).get("title", TITLE)},
        {"role": "user", "content": "\n\n".join(lines[:4])},
    ]
