"""What a schedule wants: overlap, catching up, the budget of a day, pause, wrong clocks."""

from __future__ import annotations

import unittest
from datetime import UTC, datetime, timedelta
from typing import Any

from server.errors import Problem
from server.extensions.keeper.next_run import count_run, decide, scheduled_message
from server.extensions.keeper.session_keys import check_keys, read_schedule, webhooks_of

NOW = datetime(2026, 11, 30, 7, 0, 20, tzinfo=UTC)
DAILY = {"cron": "0 7 * * *", "say": "Read the news"}


def at(text: str) -> datetime:
    return datetime.fromisoformat(f"{text}+00:00")


def decided(
    keys: Any = None, record: Any = None, now: datetime = NOW, *, busy: bool = False
) -> tuple[str, Any, str, Any]:
    keys = DAILY | (keys or {})
    record = {"last": "2026-11-30T06:00:00+00:00"} if record is None else record
    found = decide(keys, read_schedule(keys, NOW), record, now, busy=busy)
    when = found.at and found.at.isoformat(timespec="minutes")[:16]
    return found.act, when, found.reason, found.record


class Decide(unittest.TestCase):
    def assert_decided(self, wanted: tuple[str, Any, str], *given: Any, **more: Any) -> Any:
        *found, record = decided(*given, **more)
        self.assertEqual(tuple(found), wanted)
        return record

    def test_a_schedule_that_was_just_set_waits_for_its_next_moment(self) -> None:
        record = self.assert_decided(("wait", "2026-12-01T07:00", ""), record={})
        self.assertEqual(record["last"], NOW.isoformat())

    def test_it_runs_when_it_is_due_and_once(self) -> None:
        record = self.assert_decided(("run", "2026-11-30T07:00", ""))
        self.assertEqual((record["runs"], record["day"]), (1, "2026-11-30"))
        self.assert_decided(("wait", "2026-12-01T07:00", ""), record=record)

    def test_not_yet(self) -> None:
        early = at("2026-11-30T06:59:59")
        self.assert_decided(("wait", "2026-11-30T07:00", ""), now=early)

    def test_what_was_missed_while_nothing_ran(self) -> None:
        slept = {"last": "2026-11-20T06:00:00+00:00"}
        late = at("2026-11-30T12:00:00")
        next_one = ("wait", "2026-12-01T07:00", "missed")
        record = self.assert_decided(next_one, record=slept, now=late)
        self.assert_decided(("wait", "2026-12-01T07:00", ""), record=record, now=late)
        once = {"catch_up": "one"}
        record = self.assert_decided(("run", "2026-11-30T12:00", ""), once, slept, late)
        self.assert_decided(("wait", "2026-12-01T07:00", ""), once, record, late)
        # One that is due now is none of those that were missed.
        self.assert_decided(("run", "2026-11-30T07:00", ""), record=slept)
        some_late = at("2026-11-30T07:04:59")
        self.assert_decided(("run", "2026-11-30T07:04", ""), now=some_late)

    def test_overlap(self) -> None:
        skipped = ("wait", "2026-12-01T07:00", "busy")
        record = self.assert_decided(skipped, busy=True)
        self.assert_decided(("wait", "2026-12-01T07:00", ""), record=record)
        queue = {"overlap": "queue"}
        record = self.assert_decided(("wait_for_end", None, "busy"), queue, busy=True)
        later = at("2026-12-03T10:00:00")
        again = self.assert_decided(("wait_for_end", None, "busy"), queue, record, later, busy=True)
        self.assertEqual(again["queued"], True)
        record = self.assert_decided(("run", "2026-12-03T10:00", ""), queue, again, later)
        self.assertNotIn("queued", record)
        self.assert_decided(("wait", "2026-12-04T07:00", ""), queue, record, later)

    def test_a_budget_is_of_a_day_of_the_zone(self) -> None:
        often = {"cron": "0 * * * *", "zone": "Asia/Shanghai"}  # there it is 15:00
        for name, limit in (("runs", 3), ("tokens", 1_000), ("cost_micro", 5)):
            with self.subTest(name):
                keys = {**often, "budget": {name: limit}}
                record = {"last": "2026-11-30T06:30:00+00:00", "day": "2026-11-30", name: limit}
                spent = self.assert_decided(("wait", "2026-11-30T16:00", "budget"), keys, record)
                midnight = at("2026-11-30T16:00:01")
                new = self.assert_decided(("run", "2026-11-30T16:00", ""), keys, spent, midnight)
                self.assertEqual((new["runs"], new["day"]), (1, "2026-12-01"))
                self.assertEqual(decided(keys, {**record, name: limit - 1})[0], "run")
                self.assertEqual(decided(keys, {**record, "day": "2026-11-29"})[0], "run")
        third = decided(often, {"day": "2026-11-30", "runs": 2, "last": "2026-11-30T06:30:00"})[3]
        self.assertEqual(third["runs"], 3)
        keys = {**often, "budget": {"runs": 0}}
        self.assertEqual(decided(keys)[2], "budget")

    def test_pause_and_end(self) -> None:
        self.assert_decided(("stop", None, "paused"), {"paused": True})
        over = {"rrule": "FREQ=DAILY;UNTIL=20261129"}
        keys = {name: each for name, each in DAILY.items() if name != "cron"} | over
        found = decide(keys, read_schedule(keys, NOW - timedelta(days=9)), {}, NOW, busy=False)
        self.assertEqual((found.act, found.reason), ("stop", "ended"))

    def test_a_pause_that_ends_brings_nothing_back(self) -> None:
        record = decided({"paused": True}, {"last": "2026-11-20T00:00:00+00:00"})[3]
        later = at("2026-11-30T09:00:00")
        wanted = ("wait", "2026-12-01T07:00", "missed")
        self.assert_decided(wanted, {"paused": False}, record, later)

    def test_a_time_to_come_counts_as_now(self) -> None:
        """A clock that was wrong by years does not silence a schedule."""
        record = {"last": "2093-01-01T00:00:00+00:00"}
        self.assert_decided(("wait", "2026-12-01T07:00", ""), record=record)

    def test_nothing_in_a_record_breaks_it(self) -> None:
        for last in (None, 7, "", "yesterday", "0001-01-01", "9999-12-31T23:59:59Z"):
            with self.subTest(last):
                self.assertEqual(decided(record={"last": last})[0], "wait")

    def test_what_a_run_used_is_counted(self) -> None:
        schedule = read_schedule(DAILY, NOW)
        record = {"day": "2026-11-30", "runs": 1, "tokens": 10}
        before = {"total_tokens": 100, "cost_micro": 5}
        after = {"total_tokens": 150, "cost_micro": 7}
        counted = count_run(schedule, record, before, after, NOW)
        self.assertEqual(counted, record | {"tokens": 60, "cost_micro": 2})
        tomorrow = count_run(schedule, record, before, after, NOW + timedelta(days=1))
        self.assertEqual(tomorrow, {"day": "2026-12-01", "tokens": 50, "cost_micro": 2})

    def test_the_message_has_the_id_of_its_moment(self) -> None:
        message = scheduled_message(DAILY, NOW)
        self.assertEqual(message["id"], "schedule-2026-11-30T07:00:20+00:00")
        self.assertEqual((message["role"], message["content"]), ("user", "Read the news"))


HASH = "a" * 64
WRONG: tuple[tuple[Any, str, str], ...] = (  # (ext.keeper, place, words)
    ({"schedule": []}, "/schedule", "an object"),
    ({"schedule": {"cron": "0 7 * * *"}}, "/schedule/say", "a text"),
    ({"schedule": {"say": "x"}}, "/schedule", "exactly one of the keys cron and rrule"),
    ({"schedule": {**DAILY, "rrule": "FREQ=DAILY"}}, "/schedule", "exactly one"),
    ({"schedule": {**DAILY, "cron": "0 25 * * *"}}, "/schedule", "the hour is '25'"),
    ({"schedule": {**DAILY, "cron": "0 0 30 2 *"}}, "/schedule", "never due"),
    ({"schedule": {**DAILY, "zone": "Mars"}}, "/schedule", "the time zone 'Mars'"),
    ({"schedule": {**DAILY, "overlap": "all"}}, "/schedule/overlap", "one of skip, queue"),
    ({"schedule": {**DAILY, "catch_up": "all"}}, "/schedule/catch_up", "one of none, one"),
    ({"schedule": {**DAILY, "budget": {"money": 3}}}, "/schedule/budget/money", "no such key"),
    ({"schedule": {**DAILY, "budget": {"runs": -1}}}, "/schedule/budget/runs", "a whole number"),
    ({"schedule": {**DAILY, "when": 3}}, "/schedule/when", "no such key"),
    ({"scheduled": {"runs": "many"}}, "/scheduled/runs", "a whole number"),
    ({"webhooks": {}}, "/webhooks", "an array"),
    ({"webhooks": [{"token_sha256": HASH}]}, "/webhooks/0/name", "a name of a-z"),
    ({"webhooks": [{"name": "../x", "token_sha256": HASH}]}, "/webhooks/0/name", "a name of a-z"),
    ({"webhooks": [{"name": "x"}]}, "/webhooks/0", "exactly one of the keys secret and token"),
    ({"webhooks": [{"name": "x", "secret": "short"}]}, "/webhooks/0/secret", "16 to 200"),
    ({"webhooks": [{"name": "x", "secret": 7}]}, "/webhooks/0/secret", "a string"),
    ({"webhooks": [7]}, "/webhooks/0", "an object"),
    ({"webhooks": [{"name": "x", "token_sha256": "abc"}]}, "/webhooks/0/token_sha256", "SHA-256"),
    ({"webhooks": [{"name": "x", "token_sha256": HASH}] * 2}, "/webhooks", "different names"),
    ({"webhooks": [{"name": "x", "token_sha256": HASH}] * 21}, "/webhooks", "at most 20"),
)  # fmt: skip


class Keys(unittest.TestCase):
    def test_what_is_refused_is_said_with_its_place(self) -> None:
        for keys, place, words in WRONG:
            with self.subTest(place, words=words), self.assertRaises(Problem) as caught:
                check_keys({"ext": {"keeper": keys}})
            (error, *_) = caught.exception.errors
            self.assertEqual(
                (error["pointer"], caught.exception.code),
                (f"/ext/keeper{place}", "session_invalid"),
            )
            self.assertIn(words, error["detail"])
            self.assertNotIn("short", error["detail"])

    def test_what_is_right(self) -> None:
        webhooks = [{"name": "build", "secret": "s" * 16}, {"name": "mail", "token_sha256": HASH}]
        for session in (
            {},
            {"ext": {"keeper": {"webhooks": webhooks, "schedule": DAILY, "mine": 3}}},
            {"ext": {"keeper": {"schedule": DAILY, "scheduled": {"last": "x", "runs": 3}}}},
            {"ext": {"keeper": {"schedule": DAILY}}, "start_time": "0001-01-01T00:00:00"},
        ):
            with self.subTest(session=session):
                check_keys(session)
        named = webhooks_of({"ext": {"keeper": {"webhooks": webhooks}}})
        self.assertEqual([*named], ["build", "mail"])


if __name__ == "__main__":
    unittest.main()
