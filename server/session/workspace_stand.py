"""Tell which tree of files a session document stands at. Pure.

A tree is the recorded state of the files of a workspace, named by a SHA-256. The result of a call
that may have written says which tree it left, so the messages of a document say how its files are;
client/js/core/workspace-stand.js is the same (tests/vectors/workspace_stand.json).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..json_types import Session, SessionWorkspace
from ..lib.strict_json import as_object

TREE = re.compile(r"[0-9a-f]{64}")


def is_tree(value: Any) -> bool:
    """Return whether a value is the id of a tree: 64 lowercase hexadecimal digits."""
    return isinstance(value, str) and TREE.fullmatch(value) is not None


def stand_of(session: Session) -> str | None:
    """Return the tree that the files have to be at, None if nothing was recorded.

    It is `workspace.tree` if no message behind `workspace.message` has a tree; else the tree of the
    last message that has one, be it a result or a user's; else `workspace.start`. So a document
    without its last messages stands where it stood before them.
    """
    workspace = as_object(session.get("workspace"))
    at, tree, start = (workspace.get(name) for name in ("message", "tree", "start"))
    if not is_tree(tree) or not isinstance(at, str):
        at = tree = None
    for message in reversed(session.get("messages") or ()):
        if at and isinstance(message, dict) and at == message.get("id"):
            return str(tree)
        if (left := tree_of(message)) is not None:
            return left
    if at == "":
        return str(tree)
    return str(start) if is_tree(start) else None


def stand_at(session: Session, tree: str) -> None:
    """Let a session stand at the tree that a client left which changed files after its messages."""
    if tree == stand_of(session):
        return
    messages: list[Any] = [*session.get("messages", [])]
    last = str(messages[-1].get("id") or "") if messages else ""
    known: SessionWorkspace = session.get("workspace") or {}
    session["workspace"] = {"start": tree, **known, "tree": tree, "message": last}


def tree_for_message(session: Session) -> str | None:
    """Return the tree that belongs to the next user's message, None if its session says enough.

    It is the one that a client left since the last call: whoever goes back to the message finds it.
    """
    start = session.get("workspace", {}).get("start", "")
    stand = stand_of(session)
    alone: Any = {**session, "workspace": {"start": start}}
    return None if stand == stand_of(alone) else stand


def tree_of(message: Any, side: str = "after") -> str | None:
    """Return the tree of a tool's result or a user's message, None without one.

    `side`: `after` or `before` the call of a result. A user's message has the one that a client
    left which changed files since the message before.
    """
    known: Mapping[str, Any] = message if isinstance(message, dict) else {}
    result = known.get("result") if known.get("role") == "tool" else None
    tree = as_object(as_object(result).get("tree")).get(side)
    if known.get("role") == "user" and side == "after":
        tree = known.get("tree")
    return str(tree) if is_tree(tree) else None


def first_tree(session: Session, known: int = 0) -> str | None:
    """Return the tree before the first call that was recorded, None if none was.

    `known`: so many first messages are not looked at.
    """
    messages = (session.get("messages") or [])[known:]
    results = [each for each in messages if isinstance(each, dict) and "result" in each]
    return next(filter(None, (tree_of(each, "before") for each in results)), None)
