"""A short storm of cuts: see cuts.py."""

from __future__ import annotations

import asyncio
import unittest

from .cuts import storm


class Storm(unittest.TestCase):
    def test_no_call_runs_twice(self) -> None:
        told = asyncio.run(storm(300, seed=1400))
        self.assertGreater(told["calls"], 300)


if __name__ == "__main__":
    unittest.main()
