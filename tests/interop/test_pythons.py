"""What differs between supported Pythons, on each that this machine has.

`ipaddress` and `urllib.parse`, which keep strangers out of the local network, have changed their
minds between releases, and within them; so have asyncio's servers, TLS, and annotations. All else:
`PYTHON -W error -m unittest discover -t . -s tests`.
"""

from __future__ import annotations

import subprocess
import sys
import unittest

from ..tooling import patience, tools, turns

GUARDS = ("tests.http.test_ssrf", "tests.tools.test_fetch.Guarded")
DIFFERS = (
    *GUARDS,
    "tests.http.test_tls",
    "tests.http.test_listener",
    "tests.schema.test_convert",
    "tests.models.test_http_model",
    "tests.agent.test_loop",
)


class Pythons(unittest.TestCase):
    def check(self, version: str) -> None:
        """The guards, and in turns what else differs; most machines run all tests with 3.11."""
        modules = DIFFERS if version in turns.share(("3.12", "3.13", "3.14"), 3) else GUARDS
        python = tools.interpreter(version)
        if python.path is None:
            self.skipTest(python.why)
        done = subprocess.run(
            [str(python.path), "-W", "error", "-m", "unittest", *modules],
            cwd=tools.ROOT,
            capture_output=True,
            text=True,
            timeout=patience.seconds(300),
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

    def test_older_ones_are_told_what_is_needed(self) -> None:
        olds = [tools.interpreter(f"3.{minor}") for minor in range(6, 11)]
        found = [old.path for old in olds if old.path is not None]
        if not found:
            self.skipTest("no Python older than 3.11 is on the PATH or in pyenv")
        for path in found:
            for module in ("server", "tests"):
                with self.subTest(path=path, module=module):
                    done = subprocess.run(
                        [str(path), "-B", "-m", module],
                        cwd=tools.ROOT,
                        capture_output=True,
                        text=True,
                        timeout=patience.seconds(30),
                        check=False,
                    )
                    self.assertRegex(done.stderr, r"^yaa: needs Python 3\.11 or newer[^\n]+\n$")
                    self.assertEqual((done.stdout, done.returncode), ("", 2))

    def test_windows_is_told_too(self) -> None:
        code = "import sys; sys.platform = 'win32'; import server"
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=tools.ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertRegex(done.stderr, r"^yaa: needs Linux or macOS;[^\n]+WSL[^\n]+\n$")
        self.assertEqual((done.stdout, done.returncode), ("", 2))

    def test_3_14(self) -> None:
        self.check("3.14")


if __name__ == "__main__":
    unittest.main()
