"""Markup and diagrams in answers."""

from __future__ import annotations

import unittest

from . import test_parallel_runs


class Markup(test_parallel_runs.ParallelRuns):
    name, one_engine = "markup", True


if __name__ == "__main__":
    unittest.main()
