"""The last runs of a process."""

from __future__ import annotations

import unittest

from server.telemetry.recent_runs import RecentRuns


class Runs(unittest.TestCase):
    def test_the_last_come_first_and_the_first_go(self) -> None:
        now = iter(range(10))
        runs = RecentRuns(3, lambda: float(next(now)))
        self.assertEqual(runs.listing(), [])
        for number in range(5):
            runs.add({"run": f"run_{number}", "status": "completed"})
        found = [(each["at"], each["run"]) for each in runs.listing()]
        self.assertEqual(found, [(4_000, "run_4"), (3_000, "run_3"), (2_000, "run_2")])

    def test_what_is_given_is_copied(self) -> None:
        runs, line = RecentRuns(), {"run": "a"}
        runs.add(line)
        line["run"] = "b"
        runs.listing()[0]["run"] = "c"
        self.assertEqual(runs.listing()[0]["run"], "a")


if __name__ == "__main__":
    unittest.main()
