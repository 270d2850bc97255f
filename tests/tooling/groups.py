"""Processor time by control group, on Linux: also of processes that nobody waited for.

A command gets a group below that of this process, where this process may make one.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import re
from pathlib import Path

# By the version of control groups: where they are mounted, and the file that counts.
MOUNTS = {
    1: ("/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup/cpu,cpuacct"),
    2: ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"),
}
FILES = {1: "cpuacct.usage", 2: "cpu.stat"}
NAME = r"tests-\d+-\d+"
ENTER = '{ echo $$ > "$0"; } 2> /dev/null; exec "$@"'
_numbers = itertools.count(1)
_left: set[Path] = set()


class Group:
    """A group of processes; one that could not be made counts nothing."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        for version, above in _own():
            folder = above / f"tests-{os.getpid()}-{next(_numbers)}"
            with contextlib.suppress(OSError):
                folder.mkdir()
                self._folder, self._version = folder, version
                return

    @classmethod
    def makes(cls) -> bool:
        """Whether this process may make one."""
        group = cls()
        group.close()
        return group._folder is not None

    def entering(self, command: list[str]) -> list[str]:
        """The command, which enters the group before it begins."""
        if self._folder is None:
            return command
        return ["sh", "-c", ENTER, str(self._folder / "cgroup.procs"), *command]

    def cpu_s(self) -> float:
        """What its processes took so far."""
        if self._folder is None:
            return 0.0
        return _taken_s(self._version, self._folder)

    def close(self) -> None:
        """Remove it; processes that are left in it go to the group above."""
        if self._folder is None:
            return
        with contextlib.suppress(OSError):
            above = self._folder.parent / "cgroup.procs"
            for pid in (self._folder / "cgroup.procs").read_text().split():
                with contextlib.suppress(OSError):  # it has ended
                    above.write_text(pid)
        _left.add(self._folder)
        _remove()


def around_s() -> float:
    """Processor time of the group that this process was started in; 0.0 without one."""
    for version, folder in _own():
        if re.fullmatch(NAME, folder.name):
            return _taken_s(version, folder)
    return 0.0


def _taken_s(version: int, folder: Path) -> float:
    text = (folder / FILES[version]).read_text()
    if version == 1:
        return int(text) / 1e9
    return int(text.partition("usage_usec ")[2].split()[0]) / 1e6


@atexit.register
def _remove() -> None:
    """Remove closed groups; one whose processes are still ending stays for the next time."""
    for folder in [*_left]:
        with contextlib.suppress(OSError):
            folder.rmdir()
            _left.discard(folder)


def _own() -> list[tuple[int, Path]]:
    """(version, folder) of this process's own groups that count."""
    found = []
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, names, path = line.split(":", 2)
            version = 1 if "cpuacct" in names.split(",") else 0 if names else 2
            for mount in MOUNTS.get(version, ()):
                folder = Path(mount + path)
                if (folder / FILES[version]).is_file():
                    found.append((version, folder))
                    break
    return sorted(found)
