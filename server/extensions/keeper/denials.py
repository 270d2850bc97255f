"""Deny questions that nobody answers, where a session says so: `ext.keeper.unanswered`. Pure."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from ...json_types import Session
from ...lib.strict_json import as_list, as_object
from .answers import with_answers
from .schedule import read_time
from .session_keys import keeper_keys, with_keeper_keys

ASKED = "asked"  # in `ext.keeper`: id of a question -> since when the session waits with it


def _denial(reason: str, why: str) -> Any:
    """Return the answer that denies a question of this reason; {} if nobody but a person can."""
    payload = {"reason": why}
    if reason == "tool_call":
        return {"status": "resolved", "payload": {"approved": False, **payload}}
    return {"status": "cancelled", "payload": payload} if reason == "input_required" else {}


def deny_unanswered(session: Session, now: datetime) -> tuple[Session, bool, datetime | None]:
    """Return the session, whether a question of it was denied, and when the next one will be.

    A question counts from when the session was first seen to wait with it. Raises Problem.
    """
    keys = keeper_keys(session)
    if not (rule := as_object(keys.get("unanswered"))):
        return session, False, None
    hours = rule["deny_after_h"]
    known, asked, entries = as_object(keys.get(ASKED)), dict[str, str](), list[Any]()
    at: datetime | None = None
    for question in as_list(session.get("interrupts")):
        answer = _denial(question["reason"], f"nobody answered in {hours:g} h")
        if "answer" in question or not answer:
            continue
        since = min(read_time(known.get(question["id"])) or now, now)
        if (due := since + timedelta(hours=hours)) <= now:
            entries.append({"id": question["id"], "answer": answer})
            continue
        asked[question["id"]] = since.isoformat()
        at = min(at or due, due)
    if asked != known:
        session = with_keeper_keys(session, {**keys, ASKED: asked})
    return with_answers(session, entries) if entries else session, bool(entries), at
