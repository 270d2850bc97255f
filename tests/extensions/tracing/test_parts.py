"""The settings of traces: what is refused, and a file that cannot be written is a problem."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from server.app import App
from server.cli.serve import describe
from server.config import ConfigError, load


class Settings(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.home = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def test_an_address_that_is_none_is_refused_without_its_secrets(self) -> None:
        for url in ("ftp://me:canary-1@h", "http://[::1/x", "http://h:port"):
            with self.subTest(url), self.assertRaises(ConfigError) as caught:
                load(self.home, None, {}, {"server.tracing.url": url})
            (found,) = caught.exception.problems
            self.assertIn("server.tracing.url is ", found)
            self.assertIn("wanted an address such as", found)
            self.assertNotIn("canary-1", found)

    async def test_a_file_that_cannot_be_written_is_a_problem(self) -> None:
        flags = {"server.discover": False, "server.tracing.file": str(self.home)}
        async with App(load(self.home / "home", None, {}, flags), {}) as app:
            said, found = "\n".join(describe(app)), app.problems()
        text = f"server.tracing.file: {self.home}: Is a directory"
        self.assertIn(f"  problem  {text}", said)
        self.assertEqual(found["traces"], [text])
        flags["server.tracing.file"] = "fine"
        async with App(load(self.home / "home", None, {}, flags), {}) as app:
            self.assertEqual(app.problems()["traces"], [])
            told = app.facts("")["tracing"]
        self.assertEqual(told, {"on": True, "content": False, "sent": 0, "dropped": 0})


if __name__ == "__main__":
    unittest.main()
