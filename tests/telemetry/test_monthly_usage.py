"""What each person has used in a month: the sums, the files, and what goes wrong with them."""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from server.lib.strict_json import LARGEST_COUNT
from server.telemetry.monthly_usage import KEPT, MOST_UNITS, PAUSE_S, MonthlyUsage

NOVEMBER, DECEMBER = 1_795_000_000.0, 1_797_000_000.0  # 2026-11-18, 2026-12-11
DOLLARS: dict[str, Any] = {"total_tokens": 10, "cost_micro": 500, "cost_unit": "USD"}
FREE: dict[str, Any] = {"total_tokens": 7, "cost_unit": None}


class Sums(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()), "usage")
        self.now = NOVEMBER
        self.usage = self.process()

    def process(self) -> MonthlyUsage:
        return MonthlyUsage(self.folder, clock=lambda: self.now)

    def people(self, month: int = 0) -> dict[str, Any]:
        """Return {person: (runs, tokens, money)} of a month, the last first."""
        return {
            each["person"]: (each["runs"], each["tokens"], each["cost_micro"])
            for each in self.usage.months()[month]["people"]
        }

    def test_runs_are_summed_by_person_month_and_unit(self) -> None:
        self.usage.add("ann", [DOLLARS, FREE])
        self.usage.add("ann", [DOLLARS | {"cost_unit": "EUR"}])
        self.usage.add("", [FREE])
        self.assertEqual(self.people(), {"ann": (2, 27, {"USD": 500, "EUR": 500}), "": (1, 7, {})})
        self.now = DECEMBER
        self.usage.add("ann", [DOLLARS])
        self.assertEqual(self.people(), {"ann": (1, 10, {"USD": 500})})
        self.assertEqual(self.people(1)["ann"][0], 2)
        months = [(each["month"], each["since"]) for each in self.usage.months()]
        wanted = [("2026-12", DECEMBER * 1000), ("2026-11", NOVEMBER * 1000)]
        self.assertEqual(months, wanted)

    def test_a_person_is_shown_nobody_else(self) -> None:
        self.usage.add("ann", [DOLLARS])
        self.usage.add("bob", [FREE])
        (month,) = self.usage.months("bob")
        self.assertEqual([each["person"] for each in month["people"]], ["bob"])

    def test_processes_add_to_one_file(self) -> None:
        processes = [self.process() for _ in range(8)]

        def run(process: MonthlyUsage) -> None:
            for _ in range(25):
                process.add("ann", [DOLLARS])

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(run, processes))
        for each in processes:
            each.write()  # what another one kept from being written at once
        self.assertEqual(self.people(), {"ann": (200, 2_000, {"USD": 100_000})})

    def test_who_is_writing_keeps_nobody_waiting(self) -> None:
        self.usage.add("ann", [DOLLARS])
        held = os.open(self.folder / "lock", os.O_RDWR)
        self.addCleanup(os.close, held)
        fcntl.flock(held, fcntl.LOCK_EX)
        self.usage.add("ann", [DOLLARS])
        self.assertEqual(self.people()["ann"][0], 1)
        fcntl.flock(held, fcntl.LOCK_UN)
        self.usage.add("ann", [DOLLARS])
        self.assertEqual(self.people()["ann"][0], 3)

    def test_a_disk_that_takes_nothing_loses_nothing(self) -> None:
        self.folder.write_text("")  # a file in the way: nothing can be written below it
        self.usage.add("ann", [DOLLARS])
        self.now = DECEMBER
        self.usage.add("ann", [DOLLARS])
        self.assertEqual(self.usage.months(), [])
        self.folder.unlink()
        self.usage.write()
        self.assertEqual([self.people(0)["ann"][0], self.people(1)["ann"][0]], [1, 1])

    def test_a_busy_server_writes_now_and_then(self) -> None:
        path = self.folder / "2026-11.json"
        for seconds, runs in ((0, 1), (1, 1), (PAUSE_S - 1, 1), (PAUSE_S, 4), (0, 5)):
            self.now = NOVEMBER + seconds
            self.usage.add("ann", [DOLLARS])
            self.assertEqual(json.loads(path.read_bytes())["people"]["ann"]["runs"], runs)
        self.usage.add("ann", [DOLLARS])
        self.assertEqual(self.people()["ann"][0], 6)  # who asks is told of each

    def test_thirteen_months_are_kept(self) -> None:
        for number in range(KEPT + 3):
            self.now = NOVEMBER + number * 31 * 86_400
            self.usage.add("ann", [FREE])
        months = [each["month"] for each in self.usage.months()]
        self.assertEqual((len(months), months[0]), (KEPT, "2028-02"))

    def test_a_file_of_something_else_is_begun_anew(self) -> None:
        self.folder.mkdir()
        path = self.folder / "2026-11.json"
        for content in ("", "[]", '{"since": 1}', '{"since": "x", "people": {}}', "[" * 200):
            with self.subTest(content=content):
                path.write_text(content)
                self.assertEqual(self.usage.months(), [])
                self.usage.add("ann", [FREE])
                self.assertEqual(self.people(), {"ann": (1, 7, {})})

    def test_what_a_session_names_has_a_bound(self) -> None:
        for number in range(MOST_UNITS * 3):
            unit = f"{number}-{'x' * 100}"
            self.usage.add("ann", [DOLLARS | {"cost_unit": unit, "cost_micro": LARGEST_COUNT}])
        runs, _, money = self.people()["ann"]
        self.assertEqual((runs, len(money)), (MOST_UNITS * 3, MOST_UNITS + 1))
        self.assertEqual({len(unit) for unit in money} - {0}, {16})
        self.assertEqual(money[""], LARGEST_COUNT)

    def test_files_are_the_owners_alone(self) -> None:
        self.usage.add("ann", [FREE])
        modes = {each.stat().st_mode & 0o777 for each in self.folder.iterdir()}
        self.assertEqual((self.folder.stat().st_mode & 0o777, modes), (0o700, {0o600}))
        self.assertNotIn("usage", json.loads((self.folder / "2026-11.json").read_text()))

    def test_without_a_folder_nothing_is_kept(self) -> None:
        none = MonthlyUsage()
        none.add("ann", [DOLLARS])
        none.write()
        self.assertEqual(none.months(), [])


if __name__ == "__main__":
    unittest.main()
