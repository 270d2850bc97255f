"""How large a request is: anchors, ratios, windows."""

from __future__ import annotations

import copy
import unittest
from typing import Any

from server.context.budget import (
    EXACT,
    KEPT,
    UNREPORTED,
    Measure,
    Request,
    anchor,
    budget_of,
    estimate,
    measure_request,
    of_message,
    remembered,
    updated_calibration,
)
from server.context.view import view

from ..fakes import DEFAULTS


def session(*messages: dict[str, Any], **context: Any) -> Any:
    config = copy.deepcopy(DEFAULTS["session"]["config"])
    return {"id": "s", "messages": list(messages), "config": config, "context": context}


def said(text: str = "hello " * 40, **usage: int) -> dict[str, Any]:
    meta = {"meta": {"usage": usage}} if usage else {}
    return {"id": f"m{id(text)}", "role": "assistant", "content": text, **meta}


USER: Any = {"id": "u", "role": "user", "content": "what about " * 40}


SYSTEM = "system " * 30
MOST = 2**53 - 1


class Sizes(unittest.TestCase):
    def test_nothing_large_is_kept(self) -> None:
        """A prompt may be as long as a request, and is no other session's."""

        def asked(length: int) -> int:
            before = remembered.cache_info().misses
            measure_request(Request(session(USER), "é" * length), "m", EXACT)
            return remembered.cache_info().misses - before

        self.assertEqual([asked(KEPT), asked(KEPT + 1)], [1, 0])

    def test_budgets(self) -> None:
        """(max_context of the model, of the session, learned, max_tokens) → (high, window)"""
        cases = [
            ((None, None, None, None), (80_000, None)),
            ((8_000, None, None, None), (6_400, 8_000)),
            ((8_000, None, None, 1_000), (5_400, 8_000)),
            ((8_000, None, None, 10**9), (4_400, 8_000)),  # an answer has a quarter at most
            ((8_000, 4_000, None, None), (3_200, 4_000)),
            ((8_000, None, 2_000, None), (1_600, 2_000)),
            ((10**6, None, None, None), (80_000, 10**6)),
        ]
        for (own, wanted, refused, answer), expected in cases:
            with self.subTest(own=own, wanted=wanted, refused=refused, answer=answer):
                made = session(windows={"m": refused} if refused else {})
                made["config"]["yaa"]["max_context"] = wanted
                facts = {"max_context": own, "max_tokens": answer}
                found = budget_of(made, "m", facts)
                self.assertEqual((found.high, found.window), expected)
                self.assertEqual(found.low, found.high // 2)

    def test_without_a_report_everything_is_estimated(self) -> None:
        made = session(USER, said(), USER)
        parts = sum(map(of_message, made["messages"])) + estimate(SYSTEM)
        self.assertEqual(
            measure_request(Request(made, SYSTEM), "m", EXACT), Measure(0, parts, UNREPORTED)
        )

    def test_what_is_far_below_the_mark_is_not_measured(self) -> None:
        """Of 200,000 characters: 50,000 tokens at a mark of 80,000 are, 20,000 are not."""
        plan = budget_of(session(), "m", {})
        for text, measured in (("word and word. " * 13, True), ("." * 200, False)):
            made = session(*({**USER, "id": f"u{n}", "content": text} for n in range(1_000)))
            found = measure_request(Request(made, SYSTEM), "m", plan)
            self.assertEqual(found.total > 0, measured)

    def test_a_report_is_the_anchor(self) -> None:
        made = session(USER, said(prompt_tokens=1_000, completion_tokens=50), USER)
        found = measure_request(Request(made, SYSTEM), "m", EXACT)
        self.assertEqual((found.known, found.guessed), (1_050, of_message(USER)))

    def test_an_answer_that_the_user_stopped_counts(self) -> None:
        report = said(prompt_tokens=1_000, completion_tokens=50)
        stopped = {"id": "o", "role": "assistant", "content": "one " * 90, "open": True}
        (shown,) = (each for each in view(session(stopped, USER)) if each["role"] == "assistant")
        for messages, sent in (((stopped, USER), [shown, USER]), ((stopped,), [])):
            found = measure_request(Request(session(USER, report, *messages)), "m", EXACT)
            self.assertEqual(found.guessed, sum(map(of_message, sent)))

    def test_thoughts_are_not_sent_again(self) -> None:
        message = said(prompt_tokens=1_000, completion_tokens=500, reasoning_tokens=450)
        self.assertEqual(anchor(session(USER, message)), (1_050, 2))

    def test_estimated_reports_are_none(self) -> None:
        message = said(prompt_tokens=1_000)
        message["meta"]["usage"]["estimated"] = True
        self.assertEqual(anchor(session(USER, message)), (0, 0))

    def test_a_later_compaction_is_the_anchor(self) -> None:
        record = {"id": "c1", "at": 3, "after": 300}
        report = said(prompt_tokens=1_000, completion_tokens=50)
        self.assertEqual(anchor(session(USER, report, USER, USER, events=[record])), (300, 3))
        self.assertEqual(anchor(session(USER, USER, USER, report, events=[record])), (1_050, 4))

    def test_ratios_are_learned_and_bounded(self) -> None:
        cases = [
            ({}, Measure(0, 1_000, 1.15), 1_300, {"ratio": 1.3, "n": 1}),
            ({"ratio": 1.3, "n": 1}, Measure(0, 1_000, 1.3), 1_100, {"ratio": 1.2, "n": 2}),
            ({"ratio": 1.0, "n": 50}, Measure(500, 100, 1.0), 700, {"ratio": 1.15, "n": 51}),
            ({}, Measure(0, 1_000, 1.0), 10**6, {"ratio": 2.5, "n": 1}),
            ({}, Measure(1_000, 60, 1.0), 100, {"ratio": 0.5, "n": 1}),
            ({}, Measure(1_000, 10, 1.0), 1_020, None),
            # a document that counts as far as one may is not made one that is refused
            ({"ratio": 1.0, "n": MOST}, Measure(0, 100, 1.0), 100, {"ratio": 1.0, "n": MOST}),
        ]
        for known, before, reported, expected in cases:
            with self.subTest(before=before, reported=reported):
                self.assertEqual(updated_calibration(known, before, reported), expected)

    def test_the_next_request_is_foretold(self) -> None:
        """With an anchor and a ratio the error is a few percent, for a tokenizer that counts 40 %
        more than we do."""
        made = session(calib={})
        total, errors = 0, []
        for turn in range(60):
            made["messages"].append({**USER, "id": f"u{turn}"})
            guess = measure_request(Request(made), "m", EXACT)
            true = total + round(of_message(USER) * 1.4)
            errors.append(abs(guess.total - true) / true)
            fresh = updated_calibration(made["context"]["calib"].get("m", {}), guess, true)
            if fresh:
                made["context"]["calib"]["m"] = fresh
            made["messages"].append(said("ok " * 30, prompt_tokens=true, completion_tokens=40))
            total = true + 40
        self.assertLess(sum(errors[5:]) / len(errors[5:]), 0.02)
