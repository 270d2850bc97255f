"""The attack battery and the ordinary work (battery.py), at each tier, as this user and, where
this is root, as a normal one. What is let through is what docs/design/security.md lists."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import unittest
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from server.lib.sandbox.policy import code_folders
from server.lib.sandbox.probe import closed_to_others

from ..tooling import turns

ROOT = Path(__file__).resolve().parents[2]
STRANGER = 4321
SECONDS = 600  # of one battery, beside another: 30 on an idle machine

# It takes as long as tier A, and what it shows depends on the attempts, not on the server.
CONTROL = "tests.sandbox.test_battery, control"

SECURITY = ROOT / "docs" / "design" / "security.md"
SEEN = {
    *("metadata stat secret", "metadata chdir outside", "metadata server cmdline"),
    "metadata host name",
}
HOSTS = {"metadata hosts file"}  # where the machine's own has its name
OWN_FILES = {"metadata chmod secret", "metadata utime secret"}

# Attempts that may come to nothing even without a sandbox: what they need is not on every machine
# (a kernel's options, sudo, a right that containers take from root), or a plain child lacks it too.
NOT_EVERYWHERE = {
    *("read secret by proc root", "read kernel memory", "read kcore", "read disk"),
    *("read kernel log", "write sysrq", "write cgroup", "write sysctl", "write hostname"),
    *("change device", "change memory device", "change xattr program", "change openat2"),
    *("metadata fanotify", "metadata directory notify", "metadata hosts file"),
    "metadata folders in command lines",
    *("process raise own cpu", "process raise own files", "process perf", "process kcmp"),
    *("socket alg", "socket bluetooth", "socket can", "socket tipc", "socket key", "socket xdp"),
    *("socket vsock", "socket packet", "socket raw", "socket tcp6", "socket multipath"),
    *("socket fast open", "ipc memfd secret", "kernel module", "kernel kexec", "kernel x32"),
    *("kernel bpf", "kernel terminal", "kernel newest", "kernel lsm", "kernel quota"),
    *("kernel io_uring", "kernel userfaultfd", "kernel syslog", "kernel statmount"),
    *("kernel listmount", "kernel accounting", "rights sudo", "rights su", "rights no filter"),
    *("rights privileges to come", "rights another filter"),
    *("each device", "kernel console", "kernel ports", "kernel local table", "hold aio"),
    *("hold huge page", "hold core", "hold futex table", "hold rule set"),
    *("hold policy of memory", "hold policy of a range", "hold queued signals"),
    *("process namespace by pidfd", "process release memory"),
    "old_system_calls",
}
# And those for which the control needs namespaces of its own, so as not to harm the machine.
APART = {
    *("kernel unshare user", "kernel unshare mount", "kernel unshare network"),
    *("kernel clone user", "kernel clone3", "kernel setns", "kernel mount", "kernel bind"),
    *("kernel remount", "kernel umount", "kernel move mount", "kernel open tree"),
    *("kernel fsopen", "kernel mount setattr", "kernel pivot root", "kernel chroot"),
    *("kernel hostname", "kernel domain name"),
}


def reachable_python() -> str | None:
    """An interpreter that other users can start: the system's, where ours is closed to them."""
    if not closed_to_others(code_folders(), ROOT):
        return sys.executable
    found = shutil.which("python3", path="/usr/local/bin:/usr/bin")
    old = "import sys; sys.exit(sys.version_info < (3, 11))"
    return found if found and not subprocess.run([found, "-c", old]).returncode else None


Run = tuple[str, int | None]  # a tier, and as whom: None for this user


def battery(python: str, tier: str, user: int | None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [python, "-B", "-m", "tests.sandbox.battery", tier],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "HOME": "/tmp"},
        user=user,
        group=user,
        extra_groups=None if user is None else [],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=SECONDS,
        start_new_session=True,  # an attempt goes at the whole group of its server
    )


@unittest.skipUnless(sys.platform == "linux", "the sandbox is Linux's")
class Battery(unittest.TestCase):
    """Every run is a program of its own that goes only at its own server's things, so they run
    side by side, as many at a time as there are processors. Root and a normal user take turns."""

    users: Sequence[int | None]
    runs: dict[Run, Future[subprocess.CompletedProcess[bytes]]]

    @classmethod
    def setUpClass(cls) -> None:
        pool = ThreadPoolExecutor(os.cpu_count() or 1, "battery")
        cls.addClassCleanup(pool.shutdown, cancel_futures=True)
        root = os.geteuid() == 0
        pythons: dict[int | None, str | None] = {None: sys.executable}
        pythons |= {STRANGER: reachable_python()} if root else {}
        cls.users = turns.share(pythons, 2)
        tiers = ("A", "B", "none") if turns.plays(CONTROL, 3) else ("A", "B")
        runs = [(tier, user) for user in cls.users for tier in tiers]
        cls.runs = {}
        for tier, user in runs:
            # Below tier A a server that is root needs what its tools' user can read.
            python = reachable_python() if tier == "B" and root else pythons[user]
            if python is not None and not closed_to_others((), ROOT):
                cls.runs[tier, user] = pool.submit(battery, python, tier, user)

    def found(self, tier: str, user: int | None = None) -> dict[str, Any]:
        if user not in self.users:
            self.skipTest(turns.ELSEWHEN)
        if (tier, user) not in self.runs:
            self.skipTest("no interpreter or checkout that another user can read")
        done = self.runs[tier, user].result()
        self.assertEqual(done.returncode, 0, done.stderr.decode()[-2000:])
        found: dict[str, Any] = json.loads(done.stdout)
        if found["sandbox"]["tier"] != tier:
            self.skipTest(f"tier {tier} does not exist here: {found['sandbox']['tried']}")
        self.assertGreaterEqual(len(found["through"]) + len(found["stopped"]), 200)
        self.assertGreaterEqual(found["controls"], 20)
        return found

    def check(self, tier: str, user: int | None = None) -> None:
        found = self.found(tier, user)
        allowed: set[str] = set()
        if tier == "B":  # a file of another user is only looked at
            allowed = SEEN | HOSTS | (OWN_FILES if found["uid"] else set())
        through = {name: came for name, came in found["through"].items() if name not in allowed}
        self.assertEqual(through, {})
        broken = {n: why for n, why in found["broken"].items() if (tier, n) != ("B", "pool")}
        self.assertEqual(broken, {})

    def test_tier_a(self) -> None:
        self.check("A")

    def test_tier_b(self) -> None:
        self.check("B")

    @unittest.skipIf(os.name != "posix" or os.geteuid(), "only root can become somebody else")
    def test_tier_a_as_a_normal_user(self) -> None:
        self.check("A", STRANGER)

    @unittest.skipIf(os.name != "posix" or os.geteuid(), "only root can become somebody else")
    def test_tier_b_as_a_normal_user(self) -> None:
        self.check("B", STRANGER)

    def test_without_a_sandbox(self) -> None:
        """The control: the same attempts get through where there are no layers, so that it is a
        layer that stops them elsewhere."""
        if not turns.plays(CONTROL, 3):
            self.skipTest(turns.ELSEWHEN)
        stopped: set[str] = set()
        for user in [user for tier, user in self.runs if tier == "none"] or self.users:
            found = self.found("none", user)
            self.assertGreaterEqual(len(found["through"]), 100, found["stopped"])
            self.assertEqual(found["broken"], {})
            self.assertLessEqual(SEEN | OWN_FILES, set(found["through"]))
            stopped = stopped & set(found["stopped"]) if stopped else set(found["stopped"])
        if os.geteuid() == 0 and None in self.users:  # a normal user may do little to begin with
            self.assertLessEqual(stopped, NOT_EVERYWHERE | APART)


class Documented(unittest.TestCase):
    def test_what_tier_b_leaves_open(self) -> None:
        """The list of the documentation is the list that is let through here."""
        rows = re.findall(
            r"^\| `([a-z ]+)` \|.*\| (yes|no) \| (yes|no) \|$", SECURITY.read_text(), re.M
        )
        as_root = {name for name, root, _ in rows if root == "yes"}
        as_user = {name for name, _, user in rows if user == "yes"}
        self.assertEqual((as_root, as_user), (SEEN, SEEN | OWN_FILES))


if __name__ == "__main__":
    unittest.main()
