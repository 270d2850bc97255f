"""What keeps strangers out of the local network, on every supported Python: `ipaddress` and
`urllib.parse` have changed their minds between releases, and within them."""

from __future__ import annotations

import subprocess
import unittest

from tests.tooling import tools

GUARDS = ("tests.wire.test_ssrf", "tests.tools.test_fetch.Guarded")


class Pythons(unittest.TestCase):
    def check(self, version: str) -> None:
        python = tools.interpreter(version)
        if python.path is None:
            self.skipTest(python.why)
        done = subprocess.run(
            [str(python.path), "-W", "error", "-m", "unittest", *GUARDS],
            cwd=tools.ROOT,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        self.assertNotIn("skipped", done.stderr)

    def test_3_11(self) -> None:
        self.check("3.11")

    def test_3_12(self) -> None:
        self.check("3.12")

    def test_3_13(self) -> None:
        self.check("3.13")


if __name__ == "__main__":
    unittest.main()
