"""A second tab shows the run of the first, stops it and answers for it."""

from __future__ import annotations

import unittest

from . import test_parallel_runs


class OtherTabs(test_parallel_runs.ParallelRuns):
    name = "other-tabs"


if __name__ == "__main__":
    unittest.main()
