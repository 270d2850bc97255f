"""The promise of the context: what is sent stays cached, costs little, and nothing is lost."""

from __future__ import annotations

import statistics
import unittest

from ..tooling import turns
from .context import POLICIES, Day, Outcome, common, play, render, true_tokens

SEEDS = [seed for pair in turns.share(((0, 1), (2, 3), (4, 5)), 3) for seed in pair]


class Promise(unittest.TestCase):
    """No time is judged: the day is played by a seed, so the figures are the same everywhere."""

    def outcomes(self, name: str) -> list[Outcome]:
        return [play(POLICIES[name], seed, 60) for seed in SEEDS]

    def test_the_figures_of_the_document(self) -> None:
        ours, theirs = self.outcomes("yaa"), self.outcomes("summaries only")
        cached = sum(sum(each.cached) for each in ours) / sum(sum(each.sizes) for each in ours)
        self.assertGreaterEqual(cached, 0.95)
        ratio = statistics.mean(each.cost for each in ours) / statistics.mean(
            each.cost for each in theirs
        )
        self.assertLessEqual(ratio, 1.2)
        self.assertEqual([each.lost for each in ours], [0] * len(SEEDS))
        self.assertTrue(all(each.within_reach > 50 for each in ours), "enough was left out to tell")
        self.assertTrue(all(each.lost > 50 for each in theirs), "the search finds what is lost")
        self.assertIn("yaa", render({"yaa": ours}))


class Arithmetic(unittest.TestCase):
    def test_a_request_that_goes_on_is_common_as_far_as_it_goes(self) -> None:
        day = Day(1, {})
        for _ in day.calls(2):
            pass
        messages = day.messages
        whole = sum(map(true_tokens, messages[:4]))
        self.assertEqual(common(messages[:4], messages[:6]), whole)
        changed = [messages[0], {**messages[1], "content": "other"}, *messages[2:]]
        self.assertEqual(common(messages, changed), true_tokens(messages[0]))


if __name__ == "__main__":
    unittest.main()
