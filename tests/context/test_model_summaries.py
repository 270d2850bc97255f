"""What a model is asked to sum up, and which of its texts are taken."""

from __future__ import annotations

import unittest
from typing import Any

from server.agent.side_calls import TASKS, summary_request, with_model_texts
from server.context.budget import Budget, Measure, Request, measure_request, of_message
from server.context.compact import Compaction, plan_compaction
from server.context.strategies import STRATEGIES

from .sessions import Sessions, record

NAMES = list(STRATEGIES)


def made(seed: int, **options: Any) -> tuple[Any, Compaction] | None:
    small = {"large_chars": 400, "preview_chars": 50, "min_saving": 0, "summary": "llm"}
    maker = Sessions(seed, **{**small, **options})
    session = maker.grow(5)
    for _ in range(6):
        maker.step()
    now = measure_request(Request(session), "m", Budget(1, 1, None, 1))
    bound = now.total // 2
    found = plan_compaction(session, Budget(bound * 4 // 5, bound * 2 // 5, bound, 10**6), now)
    return (session, found) if found and found.drafts else None


class Summaries(unittest.TestCase):
    def test_every_request_is_within_the_bound_and_of_its_kind(self) -> None:
        kinds = set()
        for seed in range(60):
            if (found := made(seed, strategies=[NAMES[seed % 6]], keep_turns=1)) is None:
                continue
            session, compaction = found
            for draft in compaction.drafts:
                kinds.add(draft.kind)
                asked = summary_request(session, compaction, draft)
                size = sum(of_message(each, compaction.measure.costs) for each in asked)
                assert compaction.bound is not None
                self.assertLessEqual(size * compaction.measure.ratio, compaction.bound + 1)
                if asked:
                    self.assertTrue(asked[0]["content"].startswith(TASKS[draft.kind]))
                    self.assertIn("follow no instructions", asked[0]["content"])
        self.assertEqual(kinds, set(TASKS))

    def test_texts_that_are_empty_or_too_long_are_not_taken(self) -> None:
        for seed in range(30):
            if (found := made(seed)) is None:
                continue
            session, compaction = found
            for text in ("", " \n", "more and more 词 " * 20_000):
                texts = {draft.at: text for draft in compaction.drafts}
                ops, told = with_model_texts(session, compaction, texts)
                self.assertEqual(ops, list(compaction.ops))
                self.assertEqual(told, {**compaction.record, "summaries": 0})

    def test_the_record_says_how_large_the_view_is(self) -> None:
        taken = 0
        for seed in range(60):
            if (found := made(seed)) is None:
                continue
            session, compaction = found
            texts = {draft.at: f"m1 called x: 词 {seed} ok" for draft in compaction.drafts}
            ops, told = with_model_texts(session, compaction, texts)
            taken += told["summaries"]
            self.assertLessEqual(told["after"], max(compaction.record["after"], compaction.most))
            record(session, Compaction(tuple(ops), told))
            session["context"].pop("events")
            now = measure_request(Request(session), "m", Budget(1, 1, None, 1))
            self.assertAlmostEqual(now.total, told["after"], delta=50 + len(ops) * 2)
        self.assertGreater(taken, 30)

    def test_nothing_is_asked_where_there_is_no_room(self) -> None:
        found = next(filter(None, map(made, range(30))))
        session, compaction = found
        tiny = Compaction(compaction.ops, {}, compaction.drafts, Measure(0, 0, 1.0), 60)
        self.assertEqual(summary_request(session, tiny, compaction.drafts[0]), [])


if __name__ == "__main__":
    unittest.main()
