"""A short storm of cuts with two servers: see cuts.py."""

from __future__ import annotations

import asyncio
import unittest
from pathlib import Path

from ..extensions import needs
from .cuts import storm


@needs("rest")
@unittest.skipUnless(Path("/proc/self/fd").exists(), "servers are ended by what /proc tells")
class Storm(unittest.TestCase):
    def test_no_call_runs_twice_and_no_document_lies(self) -> None:
        held = asyncio.run(storm(50, "1400", count=2, at_once=16))
        self.assertEqual(held.stories, [], "\n\n".join(held.stories[:2]))
        self.assertGreaterEqual(held.cuts(), 50)


if __name__ == "__main__":
    unittest.main()
