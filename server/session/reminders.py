"""Notes to the model beside the conversation, for one call: never stored, always the same. Pure.

A run may continue after an answer in text: after a summary at a limit, an answer that missed its
schema, or one with a call that could not be read. Providers expect a user message between two
answers, and the note is that message.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ..json_types import Message, Session
from . import outcome

GO_ON = "Go on."
CALL_UNREAD = "call_unread"  # code of a warning at a message
WRITE_JSON = (
    "The call in your last message could not be read, so it was not run. Write it as this JSON and"
    ' nothing else: {"name": "the tool", "arguments": {…}}'
)
SUM_UP = (
    "You have used all the steps of this run, and no tool can be called now. Say in a few sentences"
    " what is done, what you found, and what is still open."
)


def with_reminders(session: Session, messages: list[Message], note: str = "") -> list[Message]:
    """Return the messages with a note between consecutive answers, and `note` at the end."""
    seen: list[Message] = []
    before = ""
    for message in messages:
        if message["role"] == before == "assistant" and not seen[-1].get("tool_calls"):
            seen.append(_note(_behind(session, seen[-1])))
        seen.append(message)
        before = message["role"]
    if note:
        seen.append(_note(note))
    elif seen and seen[-1]["role"] == "assistant":
        seen.append(_note(_behind(session, seen[-1])))
    return seen


def progress(session: Session, limits: Mapping[str, Any]) -> str:
    """Return a note with the number of the step, "" unless `progress_hint` is set.

    It goes behind the results of a step, so that the text before it does not change and the
    provider's cache stays valid.
    """
    most, last = limits.get("max_steps"), session["messages"][-1:]
    wanted = session["config"]["yaa"].get("progress_hint")
    if not wanted or not most or not last or last[0]["role"] != "tool":
        return ""
    step = session["run"]["step"] + 1
    share = step / most
    advice = next(text for until, text in _ADVICE if share < until)
    return f"This is step {step} of {most:g}. {advice}".strip()


_ADVICE = (
    (0.3, ""),
    (0.7, "Keep to what the task needs."),
    (math.inf, "Few steps are left: finish with what you have."),
)


def asks_again(session: Session, message: Message) -> bool:
    """Return whether this answer has a call that could not be read, the first one of the run."""
    if not _has_unread_call(message):
        return False
    since = next((n for n, m in enumerate(reversed(session["messages"])) if m["role"] == "user"), 0)
    return sum(map(_has_unread_call, session["messages"][-since:] if since else ())) == 1


def _has_unread_call(message: Message) -> bool:
    warnings = message.get("meta", {}).get("warnings", ())
    return any(each.get("code") == CALL_UNREAD for each in warnings)


def _behind(session: Session, message: Message) -> str:
    if _has_unread_call(message):
        return WRITE_JSON
    schema = outcome.schema_of(session)
    if schema is None or message.get("id") in (None, session["run"].get("summary")):
        return GO_ON
    _, wrong = outcome.read_output(message.get("content"), schema)
    return f"This is not the output that is wanted: {wrong}\nCall finish with one that fits."


def _note(text: str) -> Message:
    return {"role": "user", "content": text}
