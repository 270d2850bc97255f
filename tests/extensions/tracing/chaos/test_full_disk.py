"""No room on the server's disk for the file of traces."""

from __future__ import annotations

import unittest

from ....chaos.test_full_disk import SmallDisks, asked


class Full(SmallDisks):
    def test_spans_are_lost_and_runs_are_not(self) -> None:
        self.disk("logs", "size=4k")
        api = self.serve(tracing={"file": "traces.jsonl"})
        for number in range(30):
            self.assertEqual(api.run(asked(number))["status"], "completed")
        assert self.yaa.child is not None
        self.yaa.child.stop()
        said = self.yaa.child.output
        self.assertEqual(said.count("traces.jsonl: No space left on device"), 1)


if __name__ == "__main__":
    unittest.main()
