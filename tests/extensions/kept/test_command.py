"""What is kept of sessions, as the command says it."""

from __future__ import annotations

import os
import unittest

from ...test_main import Case


class Kept(Case):
    def test_what_has_expired_is_said_and_removed(self) -> None:
        self.yaa("run", "--say", "calc 6*7")
        old = self.home / "workspaces" / ("c" * 32)
        old.mkdir(parents=True)
        os.utime(old, (0, 0))
        self.assertRegex(self.yaa("kept", "--days", "2").stdout, r"(?m)^  workspaces .* 1 expired$")
        done = self.yaa("kept", "--clean", "--days", "2")
        self.assertTrue(done.stdout.startswith(f"{self.home}\n\n"))
        self.assertRegex(done.stdout, r"(?m)^  workspaces .* 1 removed$")
        self.assertFalse(old.exists())

    def test_days_are_one_or_more(self) -> None:
        done = self.yaa("kept", "--days", "0")
        self.assertEqual(
            (done.returncode, done.stderr), (2, "yaa: --days is 0, wanted 1 or more\n")
        )


if __name__ == "__main__":
    unittest.main()
