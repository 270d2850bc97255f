"""Decide when a session runs next by its schedule. Pure: no clock is read."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, time, timedelta
from typing import Any, NamedTuple

from ...json_types import Json
from ...lib.strict_json import as_object
from .schedule import Schedule, read_time

LATE = timedelta(minutes=5)  # by which a run may be late without being one that was missed
COUNTS = ("runs", "tokens", "cost_micro")


class Decision(NamedTuple):
    """What a schedule wants now.

    act     run: now · wait: until `at` · wait_for_end: until the session is not busy · stop: for
            nothing, until the session is changed
    at      when to decide again
    reason  why it does not run: paused, ended, missed, budget, busy; "" if it is just not due
    record  what to store in the session before anything else is done, see `decide`
    """

    act: str
    record: Json
    at: datetime | None = None
    reason: str = ""


def decide(
    keys: Mapping[str, Any],
    schedule: Schedule,
    record: Mapping[str, Any],
    now: datetime,
    *,
    busy: bool,
) -> Decision:
    """Return what to do now.

    keys      the schedule of the session (session_keys.py)
    schedule  its moments
    record    `{last, queued, day, runs, tokens, cost_micro}`: up to when it was decided, whether a
              run waits for the end of another, and what the runs of a local day came to; {} is a
              schedule that has just been set
    busy      a run goes on, or has asked something that nobody has answered yet
    """
    counted = _of_today(schedule, record, now)
    last = _last(record, now)
    if keys.get("paused"):
        return Decision("stop", counted, reason="paused")
    due = schedule.after(last)
    settled = {**counted, "last": now.isoformat()}
    settled.pop("queued", None)
    if not record.get("queued"):
        if due is None:
            return Decision("stop", counted, reason="ended")
        if due > now:
            return Decision("wait", {**counted, "last": last.isoformat()}, due)
        recent = schedule.after(max(last, now - LATE))
        is_missed = recent is None or recent > now
        if is_missed and keys.get("catch_up", "none") == "none":
            return _wait(schedule, settled, now, "missed")
    budget = as_object(keys.get("budget"))
    if any(counted.get(name, 0) >= limit for name, limit in budget.items()):
        tomorrow = now.astimezone(schedule.zone).date() + timedelta(days=1)
        midnight = datetime.combine(tomorrow, time(), schedule.zone).astimezone(UTC)
        return _wait(schedule, settled, midnight - timedelta(seconds=1), "budget")
    if busy and keys.get("overlap") == "queue":
        return Decision("wait_for_end", {**settled, "queued": True}, reason="busy")
    if busy:
        return _wait(schedule, settled, now, "busy")
    return Decision("run", {**settled, "runs": counted.get("runs", 0) + 1}, now)


def count_run(
    schedule: Schedule,
    record: Mapping[str, Any],
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    now: datetime,
) -> Json:
    """Return the record with what a run has used. `before`, `after`: the session's `usage`."""
    counted = _of_today(schedule, record, now)
    for name, total in (("tokens", "total_tokens"), ("cost_micro", "cost_micro")):
        used = after.get(total, 0) - before.get(total, 0)
        counted[name] = counted.get(name, 0) + max(used, 0)
    return counted


def scheduled_message(keys: Mapping[str, Any], moment: datetime) -> Json:
    """Return the message with which a run begins. Its id is that of the moment."""
    at = moment.astimezone(UTC).isoformat(timespec="seconds")
    meta = {"from": {"schedule": at}}
    return {"id": f"schedule-{at}", "role": "user", "content": keys["say"], "meta": meta}


def _wait(schedule: Schedule, record: Json, moment: datetime, reason: str) -> Decision:
    at = schedule.after(moment)
    return Decision("wait" if at else "stop", record, at, reason)


def _of_today(schedule: Schedule, record: Mapping[str, Any], now: datetime) -> Json:
    """Return the record, without the counts of another day."""
    today = now.astimezone(schedule.zone).date().isoformat()
    kept = {"last", "queued"} if record.get("day") != today else {"last", "queued", *COUNTS}
    return {name: value for name, value in record.items() if name in kept} | {"day": today}


def _last(record: Mapping[str, Any], now: datetime) -> datetime:
    """Return up to when it was decided: now, if that is not known or was a wrong clock's."""
    return min(read_time(record.get("last")) or now, now)
