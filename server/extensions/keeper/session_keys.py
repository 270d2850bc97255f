"""Check what a session asks of the keeper: its schedule and its webhooks, in `ext.keeper`. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from ...errors import refuse
from ...json_types import Json, Session
from ...lib.json_schema import field_types
from ...lib.json_schema.field_types import COUNT, FLAG, TEXT, Misfit, Misfits, Place
from ...lib.strict_json import as_list, as_object
from .cron import parse_cron
from .rrule import parse_rrule
from .schedule import Schedule, find_zone, read_time

NAME = "keeper"
PLACE = ("ext", NAME)
MOST_WEBHOOKS = 20
MAX_ERRORS = 20
SECRET = (0, *range(16, 201))  # characters; 0: there is none


def read_schedule(keys: Mapping[str, Any], start: datetime) -> Schedule:
    """Return the moments of a schedule. `start`: from which on a rule counts. Raises ValueError."""
    zone = find_zone(keys.get("zone", "UTC"))
    if "rrule" in keys:
        times, last = parse_rrule(keys["rrule"], zone, start)
        return Schedule(zone, times, last=last)
    times, by_elapsed = parse_cron(keys["cron"].strip())
    return Schedule(zone, times, by_elapsed)


def start_of(session: Mapping[str, Any]) -> datetime:
    """Return when a session began, in UTC; 1970 if it does not say so."""
    return read_time(session.get("start_time")) or datetime.fromtimestamp(0, UTC)


def keeper_keys(session: Mapping[str, Any]) -> Json:
    """Return what a session has for the keeper, {} if it has nothing."""
    return as_object(as_object(session.get("ext")).get(NAME))


def with_keeper_keys(session: Session, keys: Json) -> Session:
    """Return the session with these keys for the keeper."""
    return {**session, "ext": {**session.get("ext", {}), NAME: keys}}


def webhooks_of(session: Mapping[str, Any]) -> dict[str, Json]:
    """Return the webhooks of a session that was checked, by name."""
    webhooks = as_list(keeper_keys(session).get("webhooks"))
    return {each["name"]: each for each in webhooks}


def check_keys(session: Mapping[str, Any]) -> None:
    """Check what a session asks of the keeper. Raises Problem session_invalid with each place."""
    keys = as_object(session.get("ext")).get(NAME, {})
    misfits = [*field_types.misfits(keys, KEYS, MAX_ERRORS)]
    if not misfits and "schedule" in keys:
        misfits += _unreadable(keys["schedule"], start_of(session))
    if not misfits and len(webhooks_of(session)) < len(keys.get("webhooks", ())):
        misfits.append(Misfit(("webhooks",), "expected webhooks with different names"))
    refuse(
        "session_invalid",
        [each._replace(place=(*PLACE, *each.place)).error() for each in misfits],
    )


def _unreadable(schedule: Json, start: datetime) -> Iterator[Misfit]:
    try:
        if read_schedule(schedule, start).after(start) is None:
            yield Misfit(("schedule",), f"it is never due after {start:%Y-%m-%d %H:%M} UTC")
    except ValueError as error:
        yield Misfit(("schedule",), str(error))


def _exactly_one(*names: str) -> field_types.More:
    def check(value: Any, place: Place, misfits: Misfits) -> None:
        """Append a misfit unless it has one of the keys."""
        if len({*names} & value.keys()) != 1:
            misfits.append(Misfit(place, f"expected exactly one of the keys {' and '.join(names)}"))

    return check


def _usable_secret(value: Any, place: Place, misfits: Misfits) -> None:
    _exactly_one("secret", "token_sha256")(value, place, misfits)
    if len(str(value.get("secret", ""))) not in SECRET:  # which no message repeats
        misfits.append(Misfit((*place, "secret"), "expected a secret of 16 to 200 characters"))


_COUNTS = {"runs": COUNT, "tokens": COUNT, "cost_micro": COUNT}
SCHEDULE = field_types.object_of(
    {
        "cron": field_types.text("a cron line", 1, 200),
        "rrule": field_types.text("a rule as RFC 5545 has it", 1, 1_000),
        "zone": field_types.text("a time zone, as Europe/Berlin", 1, 64),
        "say": field_types.text("a text of 1 to 20,000 characters", 1, 20_000),
        "overlap": field_types.one_of("skip", "queue"),
        "catch_up": field_types.one_of("none", "one"),
        "budget": field_types.object_of(_COUNTS, closed=True),
        "paused": FLAG,
    },
    ("say",),
    closed=True,
    more=_exactly_one("cron", "rrule"),
)
WEBHOOK = field_types.object_of(
    {
        "name": field_types.text_like("[a-z0-9][a-z0-9-]{0,39}", "a name of a-z, 0-9 and -"),
        "secret": TEXT,
        "token_sha256": field_types.text_like("[0-9a-f]{64}", "the SHA-256 of a token, in hex"),
        "say": field_types.text("a text of 1 to 20,000 characters", 1, 20_000),
    },
    ("name",),
    closed=True,
    more=_usable_secret,
)
WEBHOOKS = field_types.with_limit(field_types.list_of(WEBHOOK), MOST_WEBHOOKS)
# What became of the schedule so far (next_run.py).
_USAGE = field_types.object_of({"total_tokens": COUNT, "cost_micro": COUNT})
SCHEDULED = field_types.object_of({**_COUNTS, "usage": _USAGE})
# Deliveries of webhooks: ids of the last ones, and messages of those that wait (webhooks.py).
WAITING = field_types.list_of(field_types.object_of({"id": TEXT, "content": TEXT}))
# What becomes of a question that nobody answers: without it, the session waits.
UNANSWERED = field_types.object_of(
    {"deny_after_h": field_types.number("a number of hours, from 0.1 to 8,760", 0.1, 8_760)},
    ("deny_after_h",),
    closed=True,
)
# Further keys are the keeper's own.
KEYS = field_types.object_of(
    {
        "schedule": SCHEDULE,
        "scheduled": SCHEDULED,
        "webhooks": WEBHOOKS,
        "delivered": field_types.TEXTS,
        "waiting": WAITING,
        "unanswered": UNANSWERED,
        "asked": field_types.object_of(each=TEXT),
    }
)
