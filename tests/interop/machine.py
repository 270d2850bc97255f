"""A machine made of this one: its files, of which a copy is written to, and processes of its own.

An overlay over the root in a mount namespace of its own, with fresh /proc, /run and /tmp, and
without a network: what is installed there is gone at the end, and nobody else sees it. `Booted` is
one in which systemd is process 1, as on a machine that was switched on. Needs root.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self
from unittest import SkipTest

from ..tooling.child import Child

SYSTEMD = Path("/lib/systemd/systemd")
CGROUPS = Path("/sys/fs/cgroup")
V2 = (CGROUPS / "cgroup.controllers").exists()
BOOT_S, END_S = 60.0, 10.0

# $1: an empty folder; $2: what will be found under /opt/from. What follows runs in the new root.
INTO_A_COPY = """
set -e
mount --make-rprivate /
mount -t tmpfs -o mode=755 none "$1"
mkdir "$1/upper" "$1/work" "$1/made"
mount -t overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" none "$1/made"
mkdir -p "$1/made/old"
cp -r "$2" "$1/made/opt/from"
cd "$1/made"
mount -t proc none proc
mount --rbind /dev dev
mount -t tmpfs -o mode=755 none run
mount -t tmpfs -o mode=1777 none tmp
mount -t sysfs none sys
mount -t tmpfs -o mode=755 none sys/fs/cgroup
pivot_root . old
umount -l old
cd /
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
"""
CGROUPS_FOR_SYSTEMD = (
    "mount -t cgroup2 none /sys/fs/cgroup\n"
    if V2
    else "mkdir /sys/fs/cgroup/systemd\n"
    "mount -t cgroup -o none,name=systemd none /sys/fs/cgroup/systemd\n"
)
BOOT = """
: > /etc/machine-id
ln -sf /dev/null /etc/systemd/system/timers.target
exec env -i container=test PATH="$PATH" /lib/systemd/systemd --system --unit=sysinit.target \\
    --log-target=console --show-status=0
"""
NAMESPACES = ("--pid", "--mount", "--uts", "--ipc", "--net", "--cgroup")
PROGRAMS = ("unshare", "nsenter", "setpriv", "pivot_root", "ip")


def needed() -> None:
    """Raises SkipTest where no such machine can be made, with what is missing."""
    if os.geteuid():
        raise SkipTest("needs root")
    if missing := [name for name in PROGRAMS if not shutil.which(name)]:
        raise SkipTest(f"needs {', '.join(missing)}")
    if why := _tried():
        raise SkipTest(f"no copy of this machine can be made: {why}")


@functools.cache
def _tried() -> str:
    """Why it does not work."""
    with tempfile.TemporaryDirectory() as scratch, tempfile.TemporaryDirectory() as files:
        try:
            with Machine(Path(scratch), Path(files), "echo made; sleep 60") as made:
                made.child.wait_for("^made$", BOOT_S)
        except RuntimeError as error:
            return str(error)[-500:]
    return ""


class Machine:
    """`with Machine(scratch, files, then) as machine: machine.run("…")`.

    scratch  an empty folder
    files    what is found there under /opt/from
    then     the script that makes it what it is, as its process 1
    """

    def __init__(
        self, scratch: Path, files: Path, then: str, *, before: Sequence[str] = ()
    ) -> None:
        there = ["unshare", "--fork", "--kill-child", *NAMESPACES, "sh", "-c", INTO_A_COPY + then]
        self.child = Child([*before, *there, "sh", str(scratch), str(files)])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.child.kill()

    @property
    def pid(self) -> int:
        """Its process 1, as it is called here; 0 as long as there is none."""
        unshare = self.child.process.pid
        try:
            children = Path(f"/proc/{unshare}/task/{unshare}/children").read_text().split()
        except OSError:
            return 0
        return int(children[0]) if children else 0

    def run(self, script: str) -> str:
        """What a shell there prints. Raises RuntimeError where it fails."""
        done = self.enter("sh", "-e", "-c", script)
        if done.returncode:
            raise RuntimeError(f"{script}: {done.stdout}{done.stderr}")
        return done.stdout

    def enter(self, *command: str) -> subprocess.CompletedProcess[str]:
        into = ["nsenter", "--target", str(self.pid), *("-m", "-u", "-i", "-n", "-p", "-C")]
        return subprocess.run(
            [*into, *command], capture_output=True, text=True, timeout=120, check=False
        )


class Booted(Machine):
    """One with systemd."""

    def __init__(self, scratch: Path, files: Path) -> None:
        where = CGROUPS if V2 else CGROUPS / "systemd"
        self._group = where / f"yaa-test-{os.getpid()}"
        self._group.mkdir()
        # systemd wants a tree of control groups in which it is the root.
        joined = ["sh", "-c", 'echo $$ > "$0/cgroup.procs"; exec "$@"', str(self._group)]
        super().__init__(scratch, files, CGROUPS_FOR_SYSTEMD + BOOT, before=joined)

    def __enter__(self) -> Self:
        """Waits until it is up. Raises RuntimeError, and ends it, if it never is."""
        until = time.monotonic() + BOOT_S
        told = "nothing"
        while time.monotonic() < until and self.child.process.poll() is None:
            if self.pid and Path(f"/proc/{self.pid}/exe").resolve() == SYSTEMD.resolve():
                done = self.enter("systemctl", "is-system-running", "--wait")
                told = (done.stdout + done.stderr).strip()
                if told in ("running", "degraded"):
                    return self
            time.sleep(0.1)
        self.__exit__(None, None, None)
        raise RuntimeError(f"it says {told!r}: {self.child.output}")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        super().__exit__(kind, error, trace)
        for folder, _, _ in sorted(os.walk(self._group), reverse=True):
            until = time.monotonic() + END_S
            while Path(folder).exists():  # who has just been killed may still be in it
                try:
                    Path(folder).rmdir()
                except OSError:
                    if time.monotonic() > until:
                        raise
                    time.sleep(0.05)
