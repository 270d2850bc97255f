"""A clock that was a year ahead and is right: nothing is locked, lost, or valid for a year."""

from __future__ import annotations

import base64
import os
import time
import unittest
from pathlib import Path
from typing import Any

from server.agent import run_records
from server.agent.run_records import RunRecords, StopSignals
from server.models.retry import retry_after
from server.session.run_record import base_of
from server.workspace import uploads
from server.workspace.collection import collect_objects
from server.workspace.objects import ObjectStore

from .agent.test_run_records import session
from .fakes import user
from .workspace.made import Case

YEAR = 365 * 86_400.0


def ahead(*paths: Path) -> None:
    for path in paths:
        os.utime(path, (time.time() + YEAR,) * 2)


class Files(Case):
    """Those of the year to come."""

    def test_uploads_in_pieces_go_on(self) -> None:
        run, pieces = self.operations(), self.home / "state/pieces"
        data = base64.b64encode(b"12").decode()

        def send(upload: str, offset: int = 0) -> dict[str, Any]:
            piece = {"path": "a", "data": data, "offset": offset, "total": 6, "upload": upload}
            return run.perform("write", piece)

        for number in range(uploads.MOST):
            send(f"{number}")
        ahead(*pieces.iterdir())
        send("mine")
        send("another's")
        self.assertEqual(send("mine", 2), {"received": 4})

    def test_objects_that_nobody_needs_go(self) -> None:
        store = ObjectStore(self.home / "objects")
        unneeded, again = store.put(b"unneeded"), store.put(b"again")
        ahead(*(Path(store.path(sha256)) for sha256 in (unneeded, again)))
        store.put(b"again")  # it is needed from now on, as a tree will say
        self.assertEqual(collect_objects(self.home / "objects", [], clean=False)["useless"], 1)
        collect_objects(self.home / "objects", [], clean=True)
        self.assertEqual([store.has(unneeded), store.has(again)], [False, True])

    def test_the_newest_record_is_not_the_one_that_shrinks(self) -> None:
        self.addCleanup(setattr, run_records, "MAX_TOTAL", run_records.MAX_TOTAL)
        records = RunRecords(self.home / "runs", 3600)
        bases, files = [], []
        for order in ("ahead", "now"):
            bases.append(base_of([user(order)], 1))
            writer = records.writer(("", "s"), f"run_{order}")
            writer.ran["c1"] = "sha256:f"
            writer.append(session("a" * 1000, order=order))
            files.append(next((self.home / "runs").iterdir()) / bases[-1])
        ahead(files[0])
        run_records.MAX_TOTAL = files[1].stat().st_size
        records.sweep()
        left = [bool(records.find(("", "s"), base)[0].messages) for base in bases]
        self.assertEqual(left, [False, True])

    def test_requests_to_stop_go(self) -> None:
        signals = StopSignals(self.home / "stops")
        signals.send(("", "s"))
        ahead(*(self.home / "stops").iterdir())
        signals.sweep()
        self.assertEqual(list((self.home / "stops").iterdir()), [])


class Texts(unittest.TestCase):
    def test_a_provider_is_waited_for_by_its_own_clock(self) -> None:
        headers = {
            "date": "Sun, 06 Nov 1994 08:49:37 GMT",
            "retry-after": "Sun, 06 Nov 1994 08:50:07 GMT",
        }
        for now in (784111777.0, 784111777.0 - YEAR, 784111777.0 + YEAR):
            with self.subTest(now=now):
                self.assertEqual(retry_after(headers, now), 30)
        self.assertEqual(retry_after(headers | {"date": "today"}, 784111777.0), 30)


if __name__ == "__main__":
    unittest.main()
