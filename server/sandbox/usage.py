"""What the processes of a call use together, and its folder, looked at by their supervisor.

The rule of the file: a process that ends while it is looked at counts for nothing and disturbs
nothing. In a pid namespace everything but the supervisor belongs to the call.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Iterable
from dataclasses import dataclass

TICKS = os.sysconf("SC_CLK_TCK")
MOST_FILES = 200_000  # looked at for one sum; more is over any limit ...
TOO_MANY = 1 << 62  # ... and said by this size
TABLES = b"VmPTE:"  # the kernel's own, for memory that is looked at and so takes none itself
COUNTED = 20  # looks between two sums of a folder that does not seem to grow
LITTLE = 1 << 20  # bytes that a call may add without a sum at its end
PER_FILE = 4096  # what a file without a byte is taken for


@dataclass(frozen=True)
class Use:
    """Of all living processes of a call: how many, processor seconds, memory in KiB."""

    processes: int
    cpu_s: float
    memory_kb: int

    def peak(self, other: Use) -> Use:
        return Use(
            max(self.processes, other.processes),
            max(self.cpu_s, other.cpu_s),
            max(self.memory_kb, other.memory_kb),
        )


def measure(root: int, scratch: Iterable[str] = ()) -> Use:
    """Everything below process `root`, and the processor time of what it has reaped. Files in the
    folders `scratch` are memory, too."""
    below = tree(root)
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    ticks = own = shared = alive = 0
    for pid in below:
        fields = stat_of(pid)
        if not fields or fields[0] == b"Z":
            continue
        alive += 1
        ticks += sum(map(int, fields[11:15]))  # utime stime cutime cstime
        mine, ours = resident(pid)
        own, shared = own + mine, shared + ours
    cpu_s = spent.ru_utime + spent.ru_stime + ticks / TICKS
    return Use(alive, cpu_s, own + max(shared, used(scratch)))


def shared_fairly(root: int, scratch: Iterable[str] = ()) -> int:
    """Memory in KiB with every shared page divided among its users: slower, and the last word.
    Forks of one process would otherwise count its pages many times."""
    own = shared = 0
    for pid in tree(root):
        rollup = f"/proc/{pid}/smaps_rollup"
        mine, ours = sums(rollup, (b"Pss_Anon:", b"SwapPss:"), (b"Pss_Shmem:",))
        if mine + ours:
            mine += sums(f"/proc/{pid}/status", (TABLES,))[0]
        else:  # a process may close that to others: then it shares with nobody
            mine, ours = resident(pid)
        own, shared = own + mine, shared + ours
    return own + max(shared, used(scratch))


def resident(pid: int) -> list[int]:
    """KiB of a process's own memory, and of what it may share; nothing can close these numbers."""
    return sums(f"/proc/{pid}/status", (b"RssAnon:", b"VmSwap:", TABLES), (b"RssShmem:",))


def used(scratch: Iterable[str]) -> int:
    """KiB of files in memory. Some may be mapped, and so be among what processes share: the larger
    of both counts, and nothing twice."""
    total = 0
    for folder in scratch:
        found = os.statvfs(folder)
        total += (found.f_blocks - found.f_bfree) * found.f_frsize
    return total // 1024


def sums(path: str, *groups: tuple[bytes, ...]) -> list[int]:
    """For each group of names, the sum of the numbers on the lines that begin with one of them."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            lines = [line.split(None, 2) for line in file.read().splitlines()]
    except OSError:
        return [0] * len(groups)
    return [sum(int(line[1]) for line in lines if line[0] in names) for names in groups]


def tree(root: int) -> list[int]:
    """Every process below `root`, parents first, by the parents that /proc names."""
    children: dict[int, list[int]] = {}
    try:
        names = os.listdir("/proc")  # noqa: PTH208
    except OSError:
        return []
    for name in names:
        if name.isdigit() and (fields := stat_of(int(name))):
            children.setdefault(int(fields[1]), []).append(int(name))
    found = list(children.get(root, ()))
    for pid in found:
        found += children.get(pid, ())
    return found


def stat_of(pid: int) -> list[bytes]:
    """Fields of /proc/<pid>/stat from the state on; the name before it may hold anything."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return []


def room_left(folder: str) -> int:
    """Free bytes of the file system of a folder, and PER_FILE for each file that may still be made:
    cheap to ask, and a hint that there is more in the folder."""
    found = os.statvfs(folder)
    return found.f_bfree * found.f_frsize + found.f_ffree * PER_FILE


def size_of(folder: str) -> int:
    """Bytes on disk of all files below a folder; links are not followed, and a file with several
    names counts once. TOO_MANY where there are more than MOST_FILES."""
    total = seen = 0
    several: set[int] = set()
    waiting = [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    seen += 1
                    about = entry.stat(follow_symlinks=False)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif about.st_nlink > 1:
                        if about.st_ino in several:
                            continue
                        several.add(about.st_ino)
                    total += about.st_blocks * 512
        except OSError:
            continue
        if seen > MOST_FILES:
            return TOO_MANY
    return total


def nameless(root: int, folder: str) -> int:
    """Bytes of files of a folder that were deleted, and that processes below `root` hold open or
    mapped: they take room until they are let go, and no listing shows them."""
    opened: dict[int, int] = {}
    mapped: dict[int, int] = {}
    for pid in tree(root):
        for place in descriptors(pid):
            try:
                if is_gone(os.readlink(place), folder):  # noqa: PTH115
                    found = os.stat(place)  # noqa: PTH116
                    opened[found.st_ino] = found.st_blocks * 512
            except OSError:
                continue
        for inode, size in gone_maps(pid, folder).items():
            mapped[inode] = max(size, mapped.get(inode, 0))
    return sum(opened.values()) + sum(mapped[inode] for inode in mapped.keys() - opened.keys())


def descriptors(pid: int) -> list[str]:
    try:
        return [f"/proc/{pid}/fd/{number}" for number in os.listdir(f"/proc/{pid}/fd")]  # noqa: PTH208
    except OSError:
        return []


def gone_maps(pid: int, folder: str) -> dict[int, int]:
    """Inode → mapped bytes of each deleted file of a folder, in one process (proc_pid_maps(5))."""
    found: dict[int, int] = {}
    try:
        with open(f"/proc/{pid}/maps", errors="replace") as file:  # noqa: PTH123
            lines = [line.rstrip("\n").split(None, 5) for line in file]
    except OSError:
        return found
    for line in lines:
        if len(line) == 6 and is_gone(line[5], folder):
            first, _, end = line[0].partition("-")
            found[int(line[4])] = found.get(int(line[4]), 0) + int(end, 16) - int(first, 16)
    return found


def is_gone(path: str, folder: str) -> bool:
    """As the kernel names what has no name any more (d_path)."""
    return path.endswith(" (deleted)") and path.startswith(f"{folder}/")


def users_tasks(uid: int) -> int:
    """How many tasks a user has: the kernel counts processes of a user, not of a call."""
    total = 0
    for name in os.listdir("/proc"):  # noqa: PTH208
        try:
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == uid:  # noqa: PTH116
                total += int(stat_of(int(name))[17])
        except (OSError, IndexError):
            continue
    return total


class Disk:
    """Watches the size of the workspace: cheaply by the room that is left on its file system,
    exactly when that shrinks, and now and then in case something else frees room meanwhile.
    Deleted files count as long as a process below this one holds them."""

    def __init__(self, folder: str, limits: dict[str, float]) -> None:
        self.folder, self.looks = os.path.realpath(folder), 0
        self.limit = int(limits["disk_mb"] * 1024 * 1024) if "disk_mb" in limits else None
        self.room = self.left()
        self.size = TOO_MANY  # by the last sum

    def left(self) -> int:
        return room_left(self.folder)

    def sum(self) -> int:
        return size_of(self.folder) + nameless(os.getpid(), self.folder)

    def over(self, *, ended: bool = False) -> int | None:
        """The size in bytes, where that is more than allowed, and grows: what was there before is
        no fault of a call that deletes some of it. `ended`: no other look will follow."""
        if self.limit is None:
            return None
        self.looks += 1
        shrunk = self.room - self.left()
        grows = shrunk >= (LITTLE if ended else self.limit // 8)
        if not grows and (ended or self.looks % COUNTED):
            return None
        self.room -= max(0, shrunk)
        before, self.size = self.size, self.sum()
        return self.size if self.size > self.limit and (grows or self.size > before) else None
