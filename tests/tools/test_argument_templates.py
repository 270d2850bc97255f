"""Templates in arguments: what they become, and what is said where they become nothing."""

from __future__ import annotations

import copy
import json
import unittest
from typing import Any

from server.tools.arguments import (
    LOOK_BACK,
    MAX_TEMPLATES,
    Pending,
    UnfilledTemplate,
    fill_templates,
)

CITY = {"date": "2026-02-28", "at": "2026-02-28T23:30:00+09:00", "days": [{"high": 7}], "n": 0}


def called(call_id: str, name: str, **args: Any) -> Any:
    function = {"name": name, "arguments": json.dumps(args)}
    return {"id": call_id, "type": "function", "function": function}


def result(call_id: str, name: str, value: Any, **more: Any) -> Any:
    envelope = {"status": "ok", "result": value}
    message = {"id": f"m{call_id}", "role": "tool", "tool_call_id": call_id, "name": name}
    return {**message, "content": json.dumps(value), "result": envelope, **more}


def asked(*calls: Any) -> Any:
    return {"id": f"a{calls[0]['id']}", "role": "assistant", "tool_calls": list(calls)}


class Filled(unittest.TestCase):
    def setUp(self) -> None:
        self.call = called("c9", "weather")
        self.session: Any = {
            "messages": [
                {"id": "u", "role": "user", "content": "go"},
                asked(called("c1", "city"), called("c2", "plain"), called("c3", "city")),
                result("c1", "city", {**CITY, "zone": "Asia/Tokyo"}),
                result("c2", "plain", "just words"),
                result("c3", "city", CITY),
                asked(self.call),
            ]
        }

    def fill(self, **args: Any) -> Any:
        before = copy.deepcopy((self.session, args))
        filled, _ = fill_templates(self.session, self.call, args)
        self.assertEqual((self.session, args), before)
        return filled

    def test_values(self) -> None:
        cases: list[tuple[Any, Any]] = [
            ("{{city.date}}", "2026-02-28"),
            ("{{city.date+1d}}", "2026-03-01"),
            ("{{city.date-59d}}", "2025-12-31"),
            ("{{city.at+1d}}", "2026-03-01T23:30:00+09:00"),
            ("{{city.days.0.high}}", 7),
            ("{{city.days}}", [{"high": 7}]),
            ("{{city.n}}", 0),
            ("{{city.zone}}", "Asia/Tokyo"),  # the latest result that has the field
            ("x {{city.date}}", "x {{city.date}}"),
            ("{{ city.date }}", "{{ city.date }}"),
            ("{{city}}", "{{city}}"),
            ("{{city.date}}\n", "{{city.date}}\n"),
            (["{{city.n}}", {"a": "{{city.date}}"}], [0, {"a": "2026-02-28"}]),
            (["{{city.n}}", "x {{city.n}}", "{{city.n}} x"], [0, "x {{city.n}}", "{{city.n}} x"]),
        ]
        for written, found in cases:
            with self.subTest(written):
                self.assertEqual(self.fill(value=written), {"value": found})

    def test_each_replacement_is_told(self) -> None:
        _, notes = fill_templates(self.session, self.call, {"a": ["{{city.date+1d}}"]})
        self.assertEqual(notes, ['/a/0: {{city.date+1d}} became "2026-03-01"'])
        self.assertEqual(fill_templates(self.session, self.call, {"a": 1})[1], [])

    def test_what_is_missing_is_named(self) -> None:
        cases = [
            ("{{nobody.date}}", "nobody has given no result yet; there are results of city, plain"),
            ("{{city.dat}}", "has the field dat; the latest has date, at, days, n"),
            ("{{city.days.1.high}}", "days.1.high"),
            ("{{city.days.x}}", "days.x"),
            ("{{plain.words}}", "no result of plain has the field words"),
            ("{{city.zone+1d}}", 'needs a date such as 2026-02-28, and it is "Asia/Tokyo"'),
            ("{{city.n+1d}}", "and it is 0"),
            ("{{city.date+999999d}}", None),
            ("{{city.date-999999d}}", "out of the calendar"),
        ]
        for written, wanted in cases:
            with self.subTest(written):
                if wanted is None:
                    self.assertEqual(self.fill(a=written), {"a": "4764-01-25"})
                    continue
                with self.assertRaises(UnfilledTemplate) as caught:
                    self.fill(a={"b/c": written})
                self.assertIn(wanted, str(caught.exception))
                self.assertIn("/a/b~1c", str(caught.exception))

    def test_failures_give_no_value(self) -> None:
        self.session["messages"][4]["is_error"] = True
        self.session["messages"][2]["is_error"] = True
        with self.assertRaises(UnfilledTemplate):
            self.fill(a="{{city.date}}")

    def test_texts_that_are_json_and_results_without_envelope(self) -> None:
        self.session["messages"][4]["result"]["result"] = '{"date": "2026-01-01"}'
        self.assertEqual(self.fill(a="{{city.date}}"), {"a": "2026-01-01"})
        del self.session["messages"][4]["result"]
        self.assertEqual(self.fill(a="{{city.date}}"), {"a": "2026-02-28"})

    def test_later_calls_change_nothing(self) -> None:
        self.session["messages"][5] = asked(called("c8", "city"), self.call, called("c10", "city"))
        with self.assertRaises(Pending):
            self.fill(a="{{city.date}}")
        self.session["messages"].append(result("c10", "city", {"date": "2000-01-01"}))
        with self.assertRaises(Pending):
            self.fill(a="{{city.date}}")
        self.session["messages"].append(result("c8", "city", {"date": "1999-01-01"}))
        self.assertEqual(self.fill(a="{{city.date}}"), {"a": "1999-01-01"})

    def test_so_many_values_and_so_far_back(self) -> None:
        with self.assertRaisesRegex(UnfilledTemplate, f"at most {MAX_TEMPLATES} values"):
            self.fill(a=["{{city.date}}"] * (MAX_TEMPLATES + 1))
        self.fill(a=["{{city.date}}"] * MAX_TEMPLATES)
        with self.assertRaisesRegex(UnfilledTemplate, "a path has at most"):
            self.fill(a="{{city." + "a" * 300 + "}}")
        later = [result(f"x{number}", "city", {}) for number in range(LOOK_BACK)]
        self.session["messages"][5:5] = later[1:]
        self.assertEqual(self.fill(a="{{city.date}}"), {"a": "2026-02-28"})
        self.session["messages"][5:5] = later[:1]
        with self.assertRaisesRegex(UnfilledTemplate, "no result of city has the field date"):
            self.fill(a="{{city.date}}")

    def test_dates_of_other_forms_are_no_dates(self) -> None:
        for text in ("20260228", "2026-W09-6", "2026-02-30", "2026-02-28T99:00", "tomorrow"):
            self.session["messages"][4] = result("c3", "city", {"date": text})
            with self.subTest(text), self.assertRaises(UnfilledTemplate):
                self.fill(a="{{city.date+1d}}")


if __name__ == "__main__":
    unittest.main()
