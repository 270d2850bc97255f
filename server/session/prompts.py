"""Build the system prompt, for every model call; it is never stored in a session.

A prompt is a list of sections. The session (`config.prompt`) or else its agent (`prompt`) may
replace the template of a section. A pure function of the session, with the same bytes as long as
the facts it contains do not change, so that providers can cache it.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ..json_types import Message, RunWarning, Session
from ..strict_json import dumps
from .guidance import instructions_text, prompt_listing
from .modes import mode_of
from .outcome import schema_of
from .template import fill, placeholders_in

# Section name -> template, in the order of the prompt.
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
    "skills": (
        "For some tasks there are instructions of their own, called skills. Before you do such a"
        " task, load its skill with the tool skill, and follow it.\n{skills}"
    ),
    "instructions": (
        "The folder that you work on has instructions of its own. What the user says comes before"
        " them.\n{instructions}"
    ),
    "host": "The server's tools run on {host}.",
    "date": "The current date is {date}.",
    "environment": "Facts about the user's environment:\n{environment}",
    "language": "Answer in this language: {language}.",
    "append": "{append}",
}
_OPTIONAL_FACTS = (
    *("agent", "mode", "skills", "instructions", "host", "environment", "language", "append"),
)
# Section name -> the fact without which it is left out.
OPTIONAL = {
    **{name: name for name in _OPTIONAL_FACTS},
    "output": "output_schema",
}
MODE_RULES = {
    "plain": "You may use one tool, once. Then answer.",
    "react": "Use one tool at a time, look at its result, and go on until you can answer.",
    "plan_execute": (
        "Begin with plan_set: work out the goal of the task first, then the tasks that lead to it,"
        " in order. Say with plan_update when"
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
# Section name -> template for models without function calling (models/text_tools/history.py), and
# below, the placeholders of each.
PROTOCOL: dict[str, str] = {
    "tools": """\
You can use tools. To use one, write its name as a tag and each parameter as a tag inside it:
{call}
Write values as they are, without escaping. Use one tool at a time and stop after the closing tag:
its result comes in the next message. To answer the user, write plain text without these tags.

Tools:
{tools}""",
    "call": "<{name}>\n{parameters}\n</{name}>",
    "result": "Result of {name}:\n{result}",
    "error": "Result of {name}:\n{result}",
}
PROTOCOL_FACTS: dict[str, tuple[str, ...]] = {
    "tools": ("tools", "call"),
    "call": ("name", "parameters", "arguments"),
    "result": ("name", "result"),
    "error": ("name", "result"),
}
# Keys of `config.prompt` and of an agent's `prompt` -> description for people.
ABOUT: dict[str, str] = {
    "persona": "Who the agent is.",
    "agent": "What the agent of the session is told.",
    "rules": "How to work with tools.",
    "mode": "The rules of the mode.",
    "output": "How to give an answer that has a schema.",
    "skills": "The skills that can be loaded.",
    "instructions": "What AGENTS.md of a trusted folder says.",
    "host": "What the server's tools run on.",
    "date": "The date on which the run began.",
    "environment": "Facts of the user's environment.",
    "language": "The answer language.",
    "append": "Whatever is to stand at the end.",
    "system": "The whole system prompt, instead of all the sections above.",
    "title": "How to name a session, for the extra call that does it.",
    "tools": "Text tool mode: how to call tools, and which there are.",
    "call": "Text tool mode: how a call is written.",
    "result": "Text tool mode: how the result of a call is shown.",
    "error": "Text tool mode: how a result that is an error is shown.",
}
NAMES = tuple(ABOUT)
FACTS = ("character", "output_schema", "date", *_OPTIONAL_FACTS)
# Codes of entries of `run.warnings` about templates.
UNKNOWN_SECTION, UNKNOWN_PLACEHOLDER = "prompt_section_unknown", "prompt_placeholder_unknown"
UNREADABLE_CALL = "prompt_call_unreadable"

MOST_NAMED, MAX_NAME = 20, 100  # placeholders in a remark, characters of a name in it


def system(session: Session) -> str:
    """Return the system prompt of a session.

    `system` replaces everything, the name of a section replaces that section, and `append` is added
    at the end. Unknown placeholders stay as they are; `remarks` reports them.
    """
    own = custom(session["config"])
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
        "date": datetime.fromtimestamp(started, UTC).strftime("%Y-%m-%d"),
        "environment": "\n".join(f"- {fact}" for fact in session.get("environment") or ()),
        "language": session["config"]["yaa"].get("language") or "",
        "append": own.get("append", ""),
    }


def remarks(templates: Mapping[str, Any]) -> list[RunWarning]:
    """Return warnings about unknown sections and placeholders, which are kept as they are.

    Each is {code, message, section, known, …}, so that a client can translate it.
    """
    found: list[RunWarning] = []
    for name, text in templates.items():
        if name not in (*NAMES, "systemPrompt"):
            name = name[:MAX_NAME]
            said = f"prompt.{name} is no section; there are {', '.join(NAMES)}"
            found.append(
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
                found.append(
                    {
                        "code": UNKNOWN_PLACEHOLDER,
                        "message": said,
                        "section": name,
                        "placeholders": placeholders,
                        "known": list(known),
                    }
                )
    return found


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
