"""The attack battery and the ordinary work (battery.py), at each tier, as this user and, where
this is root, as a normal one. What is let through is what docs/design/security.md lists."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any

from server.sandbox.policy import code
from server.sandbox.probe import closed_to_others

ROOT = Path(__file__).resolve().parents[2]
STRANGER = 4321
SECONDS = 300

SEEN = {"metadata stat secret", "metadata chdir outside", "metadata server cmdline"}
OWN_FILES = {"metadata chmod secret", "metadata utime secret"}


def reachable_python() -> str | None:
    """An interpreter that other users can start: the system's, where ours is closed to them."""
    if not closed_to_others(code(), ROOT):
        return sys.executable
    found = shutil.which("python3", path="/usr/local/bin:/usr/bin")
    old = "import sys; sys.exit(sys.version_info < (3, 11))"
    return found if found and not subprocess.run([found, "-c", old]).returncode else None


@unittest.skipUnless(sys.platform == "linux", "the sandbox is Linux's")
class Battery(unittest.TestCase):
    def run_battery(self, tier: str, user: int | None, python: str | None) -> dict[str, Any]:
        if python is None or closed_to_others((), ROOT):
            self.skipTest("no interpreter or checkout that another user can read")
        done = subprocess.run(
            [python, "-B", "-m", "tests.sandbox.battery", tier],
            cwd=ROOT,
            env={"PATH": "/usr/bin:/bin", "HOME": "/tmp"},
            user=user,
            group=user,
            extra_groups=None if user is None else [],
            capture_output=True,
            timeout=SECONDS,
        )
        self.assertEqual(done.returncode, 0, done.stderr.decode()[-2000:])
        found: dict[str, Any] = json.loads(done.stdout)
        if found["sandbox"]["tier"] != tier:
            self.skipTest(f"tier {tier} does not exist here: {found['sandbox']['tried']}")
        self.assertGreaterEqual(found["attempts"], 150)
        self.assertGreaterEqual(found["controls"], 20)
        return found

    def check(self, tier: str, user: int | None, python: str | None) -> None:
        found = self.run_battery(tier, user, python)
        allowed: set[str] = set()
        if tier == "B":  # a file of another user is only looked at
            allowed = SEEN | (OWN_FILES if found["uid"] else set())
        through = {name: came for name, came in found["through"].items() if name not in allowed}
        self.assertEqual(through, {})
        broken = {n: why for n, why in found["broken"].items() if (tier, n) != ("B", "pool")}
        self.assertEqual(broken, {})

    def test_tier_a(self) -> None:
        self.check("A", None, sys.executable)

    def test_tier_b(self) -> None:
        self.check("B", None, reachable_python() if os.geteuid() == 0 else sys.executable)

    @unittest.skipIf(os.name != "posix" or os.geteuid(), "only root can become somebody else")
    def test_tier_a_as_a_normal_user(self) -> None:
        self.check("A", STRANGER, reachable_python())

    @unittest.skipIf(os.name != "posix" or os.geteuid(), "only root can become somebody else")
    def test_tier_b_as_a_normal_user(self) -> None:
        self.check("B", STRANGER, reachable_python())


if __name__ == "__main__":
    unittest.main()
