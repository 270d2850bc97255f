"""The short reply of a run: what it has added to its session (`config.yaa.reply: delta`). Pure."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any


def delta_reply(
    session: Mapping[str, Any],
    before: Mapping[str, Any],
    first: int = 0,
    known: Container[str] = (),
) -> dict[str, Any]:
    """Return the reply of `config.yaa.reply: delta`: new messages and the usage of this run.

    `before`: the session before the run. Its message objects are compared by identity, since new
    messages need not be the last ones: a tool result is inserted after its call, even if a user
    message follows. If splitting content blocks has replaced all messages, those from index `first`
    on are new. `known`: ids of the messages of a base, which are copied before they change.
    """
    there = {id(message) for message in before["messages"]}  # the fold changes messages in place
    messages = [
        message
        for message in session["messages"]
        if id(message) not in there and message["id"] not in known
    ]
    if there and len(messages) == len(session["messages"]):
        messages = messages[first:]
    spent = before.get("usage") or {}
    usage = {
        name: value - spent.get(name, 0) if isinstance(value, int) else value
        for name, value in session.get("usage", {}).items()
    }
    reply = {key: session.get(key) for key in ("id", "title", "start_time", "finish_reason")}
    return reply | {"messages": messages, "usage": usage}
