"""What a provider's report changes: what is known of estimating, or a warning of the run."""

from __future__ import annotations

import unittest
from typing import Any

from server.context.budget import Measure
from server.context.compact import calibration_changes

WORDS = "a rule for the agent and what it may do " * 2_000  # about 18,000 tokens
SENT: tuple[list[dict[str, Any]], list[dict[str, Any]]] = (
    [{"role": "system", "content": WORDS}, {"role": "user", "content": "hi"}],
    [],
)


def session(*reports: int, warnings: Any = None) -> dict[str, Any]:
    messages: list[dict[str, Any]] = [{"id": "u", "role": "user", "content": "hi"}]
    for number, tokens in enumerate(reports):
        meta = {"usage": {"prompt_tokens": tokens, "completion_tokens": 1}}
        messages.append({"id": f"a{number}", "role": "assistant", "content": "x", "meta": meta})
    run = {} if warnings is None else {"warnings": warnings}
    return {"id": "s", "messages": messages, "context": {}, "run": run}


def changes(made: Any, usage: dict[str, Any], sent: Any = SENT) -> list[Any]:
    return calibration_changes(made, "m", Measure(0, 18_000, 1.0), usage, sent)


def paths(found: list[Any]) -> list[Any]:
    return [each["path"] for each in found]


class Cut(unittest.TestCase):
    def test_a_prompt_that_was_cut_in_silence(self) -> None:
        for reports in ((2_051,), (4_096, 4_096), (17_000, 2_051)):
            with self.subTest(reports):
                (change,) = changes(session(*reports), {"prompt_tokens": reports[-1]})
                (warning,) = change["value"]
                self.assertEqual(change["path"], "/yaa/run/warnings")
                self.assertEqual((warning["code"], warning["counted"]), ("prompt_cut", reports[-1]))
                self.assertGreater(warning["sent"], 15_000)
                self.assertIn(f"counted {reports[-1]} tokens", warning["message"])

    def test_it_is_said_once_and_beside_others(self) -> None:
        usage, other = {"prompt_tokens": 2_051}, {"code": "x", "message": "y"}
        (change,) = changes(session(2_051, warnings=[other]), usage)
        self.assertEqual(change["value"][0], other)
        self.assertEqual(changes(session(2_051, warnings=change["value"]), usage), [])
        (change,) = changes(session(2_051, warnings="of a stranger"), usage)
        self.assertEqual(len(change["value"]), 1)

    def test_what_was_not_cut_teaches(self) -> None:
        small: Any = ([{"role": "user", "content": "hi " * 500}], [])
        picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,"}}
        pictures = {"role": "user", "content": [{"type": "text", "text": "?"}, picture]}
        cases: list[tuple[tuple[int, ...], dict[str, Any], Any]] = [
            ((14_000,), {"prompt_tokens": 14_000}, SENT),
            ((4_000, 5_000), {"prompt_tokens": 5_000}, SENT),  # it grows: nothing is measured
            ((300,), {"prompt_tokens": 300}, small),
            ((1_000,), {"prompt_tokens": 1_000, "cached_tokens": 16_000}, SENT),  # beside it
            ((900,), {"prompt_tokens": 900}, SENT),  # no window is that small
            ((6_000,), {"prompt_tokens": 6_000}, ([*SENT[0], pictures], [])),
        ]
        for reports, usage, sent in cases:
            with self.subTest(reports):
                found = changes(session(*reports), usage, sent)
                self.assertEqual(paths(found), ["/yaa/context/calib"])
        for usage in ({}, {"prompt_tokens": 0}, {"prompt_tokens": 2_051, "estimated": True}):
            self.assertEqual(changes(session(2_051), usage), [])


if __name__ == "__main__":
    unittest.main()
