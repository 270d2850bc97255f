"""The supervisor of a call: measures what the tool's processes use, and ends them all.

It runs in the process above the tool's, out of the tool's reach in a sandbox. The kernel's limits
are for one process each; these are for the whole tree.
"""

from __future__ import annotations

import os
import resource
import select
import signal
import time
from collections.abc import Iterable
from typing import NamedTuple

# -- usage ----------------------------------------------------------------------------------------
# Measure what the processes of a call use together, and the size of its folder.
#
# Used by supervisor.py. A process that ends while it is measured counts as 0 and causes
# no error. In a pid namespace everything but the supervisor belongs to the call.

TICKS = os.sysconf("SC_CLK_TCK")
MOST_FILES = 200_000  # counted for one sum; more are over any limit
TOO_MANY = 1 << 62  # the size that stands for more than MOST_FILES
TABLES = b"VmPTE:"  # page tables: they also grow for mapped memory that is only read
COUNTED = 20  # checks between two sums of a folder that does not seem to grow
LITTLE = 1 << 20  # bytes that a call may add without a sum at its end
PER_FILE = 4096  # bytes that an empty file counts as

# Memory of the kernel's own that no process has, measured on Linux 6.18 for x86_64.
AREA_BYTES = 320  # of one line in /proc/PID/maps: 203, and up to 96 for a name
HIDDEN_AREAS = 65_536  # at most, of a process whose lines cannot be read
SOCKET_KB = 208  # that may wait in one: net.core.wmem_default
FREE_SOCKETS = 256  # of a call, which do not count


class Use(NamedTuple):
    """The use of all living processes of a call: their number, processor seconds, memory in KiB."""

    processes: int
    cpu_s: float
    memory_kb: int

    def peak(self, other: Use) -> Use:
        """Return the larger of each value."""
        return Use(
            max(self.processes, other.processes),
            max(self.cpu_s, other.cpu_s),
            max(self.memory_kb, other.memory_kb),
        )


def measure(root: int, scratch: Iterable[str] = ()) -> Use:
    """Return the use of all processes below `root`, with the processor time of those it reaped.

    Files in the folders `scratch` are in memory and count as memory.
    """
    below = descendants(root)
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    ticks = own = shared = alive = 0
    for pid in below:
        fields = stat_of(pid)
        if not fields or fields[0] == b"Z":
            continue
        alive += 1
        ticks += sum(map(int, fields[11:15]))  # utime stime cutime cstime
        mine, ours = resident_kb(pid)
        own, shared = own + mine, shared + ours
    cpu_s = spent.ru_utime + spent.ru_stime + ticks / TICKS
    return Use(alive, cpu_s, own + max(shared, scratch_kb(scratch)))


def shared_fairly(root: int, scratch: Iterable[str] = ()) -> int:
    """Return memory in KiB, with each shared page divided among its users.

    Slower than `measure`, but decisive: there the pages that forks share count many times.
    """
    own = shared = 0
    for pid in descendants(root):
        rollup = f"/proc/{pid}/smaps_rollup"
        mine, ours = sum_fields(rollup, (b"Pss_Anon:", b"SwapPss:"), (b"Pss_Shmem:",))
        if mine + ours:
            mine += sum_fields(f"/proc/{pid}/status", (TABLES,))[0]
        else:  # a process may deny access to that: then nothing is divided
            mine, ours = resident_kb(pid)
        own, shared = own + mine, shared + ours
    return own + max(shared, scratch_kb(scratch))


def resident_kb(pid: int) -> list[int]:
    """Return KiB of [the process's own memory, memory that it may share].

    A process cannot hide these numbers.
    """
    return sum_fields(f"/proc/{pid}/status", (b"RssAnon:", b"VmSwap:", TABLES), (b"RssShmem:",))


def scratch_kb(scratch: Iterable[str]) -> int:
    """Return KiB of files in memory, with 1.25 for each file itself.

    Some may be mapped and so be among the shared memory of processes. The callers use the larger of
    both numbers, so that nothing counts twice.
    """
    total = 0
    for folder in scratch:
        disk = os.statvfs(folder)
        total += (disk.f_blocks - disk.f_bfree) * disk.f_frsize
        total += (disk.f_files - disk.f_ffree) * 1280
    return total // 1024


def areas_kb(root: int) -> int:
    """Return KiB that the kernel needs to know of the mapped areas of all processes below `root`.

    Slow for many areas, so it is not part of `measure`.
    """
    return sum(map(area_count, descendants(root))) * AREA_BYTES // 1024


def area_count(pid: int) -> int:
    """Return the number of a process's mapped areas; an upper bound if it hides them."""
    count = 0
    try:
        with open(f"/proc/{pid}/maps", "rb", buffering=0) as file:  # noqa: PTH123
            while part := file.read(65_536):
                count += part.count(b"\n")
    except OSError:
        size_kb = sum_fields(f"/proc/{pid}/status", (b"VmSize:",))[0]
        return min(size_kb // 4, HIDDEN_AREAS)
    return count


def sockets_kb() -> int:
    """Return KiB that may wait in the sockets of this network namespace, beyond FREE_SOCKETS."""
    try:
        with open("/proc/self/net/sockstat", "rb") as file:  # noqa: PTH123
            used = int(file.readline().split()[2])  # sockets: used 4
    except (OSError, ValueError, IndexError):
        return 0
    return max(0, used - FREE_SOCKETS) * SOCKET_KB


def sum_fields(path: str, *groups: tuple[bytes, ...]) -> list[int]:
    """Return, for each group of names, the sum of the numbers on the lines that begin with them."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            lines = [line.split(None, 2) for line in file.read().splitlines()]
    except OSError:
        return [0] * len(groups)
    return [sum(int(line[1]) for line in lines if line[0] in names) for names in groups]


def descendants(root: int) -> list[int]:
    """Return the pids of all processes below `root`, parents first; [] without /proc."""
    children: dict[int, list[int]] = {}
    try:
        names = os.listdir("/proc")  # noqa: PTH208
    except OSError:
        return []
    for name in names:
        if name.isdigit() and (fields := stat_of(int(name))):
            children.setdefault(int(fields[1]), []).append(int(name))
    below = list(children.get(root, ()))
    for pid in below:
        below += children.get(pid, ())
    return below


def stat_of(pid: int) -> list[bytes]:
    """Return the fields of /proc/<pid>/stat from the state on; [] if the process is gone.

    The name before the state is cut off, because it may contain any character.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            return file.read().rpartition(b")")[2].split()
    except OSError:
        return []


def free_space(folder: str) -> int:
    """Return the free bytes of a folder's file system, plus PER_FILE for each free inode.

    This is cheap; a smaller value suggests that the folder has grown.
    """
    disk = os.statvfs(folder)
    return disk.f_bfree * disk.f_frsize + disk.f_ffree * PER_FILE


def size_of(folder: str) -> int:
    """Return the bytes on disk of all files below a folder; TOO_MANY above MOST_FILES files.

    Links are not followed. A file with several names counts once.
    """
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


def deleted_size(root: int, folder: str) -> int:
    """Return the bytes of a folder's deleted files that processes below `root` still hold.

    Open and mapped files count. They take space until they are closed, and no listing shows them.
    """
    opened: dict[int, int] = {}
    mapped: dict[int, int] = {}
    for pid in descendants(root):
        for place in descriptors(pid):
            try:
                if is_deleted(os.readlink(place), folder):  # noqa: PTH115
                    about = os.stat(place)  # noqa: PTH116
                    opened[about.st_ino] = about.st_blocks * 512
            except OSError:
                continue
        for inode, size in deleted_maps(pid, folder).items():
            mapped[inode] = max(size, mapped.get(inode, 0))
    return sum(opened.values()) + sum(mapped[inode] for inode in mapped.keys() - opened.keys())


def descriptors(pid: int) -> list[str]:
    """Return the paths in /proc of a process's open descriptors; [] if they cannot be read."""
    try:
        return [f"/proc/{pid}/fd/{number}" for number in os.listdir(f"/proc/{pid}/fd")]  # noqa: PTH208
    except OSError:
        return []


def deleted_maps(pid: int, folder: str) -> dict[int, int]:
    """Return inode → mapped bytes of a folder's deleted files in one process (proc_pid_maps(5))."""
    found: dict[int, int] = {}
    try:
        with open(f"/proc/{pid}/maps", errors="replace") as file:  # noqa: PTH123
            lines = [line.rstrip("\n").split(None, 5) for line in file]
    except OSError:
        return found
    for line in lines:
        if len(line) == 6 and is_deleted(line[5], folder):
            first, _, end = line[0].partition("-")
            found[int(line[4])] = found.get(int(line[4]), 0) + int(end, 16) - int(first, 16)
    return found


def is_deleted(path: str, folder: str) -> bool:
    """Return whether a path is that of a deleted file of the folder, as d_path marks it."""
    return path.endswith(" (deleted)") and path.startswith(f"{folder}/")


def process_count() -> int:
    """Return about how many processes the system has; 0 without /proc."""
    try:
        return len(os.listdir("/proc"))  # noqa: PTH208
    except OSError:
        return 0


def user_task_count(uid: int) -> int:
    """Return the number of a user's tasks: RLIMIT_NPROC counts by user, not by call."""
    total = 0
    for name in os.listdir("/proc"):  # noqa: PTH208
        try:
            if name.isdigit() and os.stat(f"/proc/{name}").st_uid == uid:  # noqa: PTH116
                total += int(stat_of(int(name))[17])
        except (OSError, IndexError):
            continue
    return total


class Disk:
    """The size of the workspace.

    Its file system's free space is checked often, because that is cheap. The exact sum is taken
    when that shrinks, and now and then in case something else frees space meanwhile. Deleted files
    count as long as a process below this one holds them.
    """

    def __init__(self, folder: str, limit_mb: float, *, adds: bool = False) -> None:
        """`adds`: the limit is for what the call adds; the folder may be larger, as real ones are.

        Then a sum is taken only when the file system has lost space, and what it has lost by then
        counts as added.
        """
        self.folder, self.looks, self._adds = os.path.realpath(folder), 0, adds
        self.limit = int(limit_mb * 1024 * 1024)
        self.much = self.limit // 8  # what may be added between two sums
        self.room = self.left()
        self.size = TOO_MANY  # of the last sum

    def left(self) -> int:
        """Return the free space, see `room_left`."""
        return free_space(self.folder)

    def sum(self) -> int:
        """Return the exact size in bytes, deleted files included."""
        return size_of(self.folder) + self.held_size()

    def held_size(self) -> int:
        """Return the bytes of deleted files that the call holds; it has added all of them."""
        return deleted_size(os.getpid(), self.folder)

    def over(self, *, ended: bool = False) -> int | None:
        """Return the bytes used, if over the limit and growing; else None.

        A call that only shrinks an over-full workspace is not ended. `ended`: this is the last
        check.
        """
        self.looks += 1
        shrunk = self.room - self.left()
        if self._adds and (ended or shrunk < self.much):
            return None
        if self._adds:
            self._adds = False
            self.limit += max(0, self.sum() - shrunk)
        grows = shrunk >= (LITTLE if ended else self.much)
        if not grows and (ended or self.looks % COUNTED):
            return None
        self.room -= max(0, shrunk)
        before, self.size = self.size, self.sum()
        if self.size <= self.limit:
            return None
        return self.size if grows or self.size > before or self.held_size() > self.limit else None


# -- supervisor -----------------------------------------------------------------------------------

# Between two measurements of the call (1 ms of work each). The first comes when a short call has
# ended, then they become rarer, but stay frequent while memory is near its limit.
FIRST_LOOK_S, NEAR_S, LOOK_S = 0.01, 0.005, 0.05
AREAS_S = 1.0  # between two counts of mapped areas
ENDING_S = 2.0  # for a tool that checks Context.cancelled, after the server ended the call
GRACE_S = 2.0  # after the deadline: normally the server has ended the call before

Breach = dict[str, object]  # the limit, what it allows and what was observed


class Supervisor:
    """The state of one call.

    tool      the process of the tool, a child of this one and the leader of its group
    lifeline  a descriptor that becomes readable when the server ends the call or dies
    disks     its folders whose size is limited
    scratch   folders in memory, which count as memory
    network   whether the network namespace holds only this call
    """

    def __init__(
        self,
        tool: int,
        lifeline: int,
        limits: dict[str, float],
        disks: Iterable[Disk] = (),
        scratch: tuple[str, ...] = (),
        *,
        network: bool = False,
    ) -> None:
        self._tool, self._lifeline = tool, lifeline
        self._limits, self._disks, self._scratch = limits, tuple(disks), scratch
        self._network = network
        self._me, self._started = os.getpid(), time.monotonic()
        self._areas_kb, self._areas_at = 0, self._started + AREAS_S
        # All processes of the call if this one is pid 1; else most of them.
        self._group = -1 if self._me == 1 else -tool
        self._poll = select.poll()
        self._pause = FIRST_LOOK_S
        self._crowd = process_count() + limits["processes"]
        self._kill_at: float | None = None  # set when the server has ended the call
        self._status: int | None = None  # the wait status of the tool
        self._breach: Breach | None = None
        self._peak = Use(0, 0, 0)

    def run(self) -> dict[str, object]:
        """Wait for the tool within its limits, end what is left, return how it ended.

        The result has `code`, `cpu_ms`, `max_rss_kb`, `processes`, and `breach` if a limit was
        passed.
        """
        self._poll.register(self._lifeline, select.POLLIN)
        if hasattr(os, "pidfd_open"):  # Linux
            self._poll.register(os.pidfd_open(self._tool), select.POLLIN)
        while self._status is None and self._breach is None and not self._overdue():
            ready = [descriptor for descriptor, _ in self._poll.poll(self._pause * 1000)]
            self._reap()
            if self._lifeline in ready:  # nothing is written after the call: the server closed it
                self._cancel()
            if self._status is None and not ready:
                self._look()
        self._end_all()
        return self._report()

    def breach_of(self, use: Use) -> Breach | None:
        """Return the first limit that the call has passed, None if none; cheap checks first."""
        limits = self._limits
        if use.processes > limits["processes"]:
            return self._breach_at("processes", use.processes)
        if use.memory_kb // 1024 > limits["memory_mb"]:
            fair = (shared_fairly(self._me, self._scratch) + self._kernel_kb()) // 1024
            if fair > limits["memory_mb"]:
                return self._breach_at("memory_mb", fair)
        if use.cpu_s > limits["cpu_s"] + 0.5:  # a single process gets SIGXCPU before
            return self._breach_at("cpu_s", round(use.cpu_s, 2))
        if breach := self._full_disk():
            return breach
        if (passed := time.monotonic() - self._started) > limits["wall_s"] + GRACE_S:
            return self._breach_at("wall_s", round(passed, 2))
        return None

    def _full_disk(self, *, ended: bool = False) -> Breach | None:
        for disk in self._disks:
            if (size := disk.over(ended=ended)) is not None:
                many = f"more than {MOST_FILES} files"
                return self._breach_at("disk_mb", many if size >= TOO_MANY else size >> 20)
        return None

    def _breach_at(self, limit: str, observed: float | str) -> Breach:
        return {"limit": limit, "allowed": self._limits[limit], "observed": observed}

    # -- while it runs

    def _overdue(self) -> bool:
        return self._kill_at is not None and time.monotonic() >= self._kill_at

    def _cancel(self) -> None:
        """Let the tool end by itself, see Context.cancelled."""
        self._poll.unregister(self._lifeline)
        send_signal(self._tool, signal.SIGTERM)
        self._kill_at = time.monotonic() + ENDING_S

    def _look(self) -> None:
        """Measure the call, and store a breach if it has passed a limit."""
        # Beside a hundred forking processes a measurement takes seconds, a count does not: stop
        # them while measuring.
        count = process_count()
        if crowded := count > self._crowd:
            send_signal(self._group, signal.SIGSTOP)
        if time.monotonic() >= self._areas_at:
            self._areas_kb = areas_kb(self._me)
            self._areas_at = time.monotonic() + AREAS_S
        use = measure(self._me, self._scratch)
        use = use._replace(memory_kb=use.memory_kb + self._kernel_kb())
        self._peak = self._peak.peak(use)
        self._breach = self.breach_of(use)
        if self._breach is None and crowded:  # by zombies, or by processes of others
            send_signal(self._group, signal.SIGCONT)
            self._crowd = count + self._limits["processes"]
        # Memory can grow by gigabytes a second: measure often while much of it is used.
        near = use.memory_kb > self._limits["memory_mb"] * 512
        self._pause = NEAR_S if near else min(self._pause * 1.5, LOOK_S)

    def _kernel_kb(self) -> int:
        """Return KiB of the kernel's own memory for the call, the areas as last counted."""
        return self._areas_kb + (sockets_kb() if self._network else 0)

    def _reap(self) -> None:
        """Reap all ended children."""
        while self._wait(os.WNOHANG) > 0:
            pass

    def _wait(self, options: int) -> int:
        """Wait for a child. Returns its pid, 0 if none has ended, -1 if there is none."""
        try:
            pid, status = os.waitpid(-1, options)
        except ChildProcessError:
            return -1
        if pid == self._tool:
            self._status = status
        return pid

    # -- when it has ended, or has to

    def _end_all(self) -> None:
        """Kill whatever is left, and wait for it."""
        alone = self._me == 1  # so that every process is one of the call
        send_signal(self._group, signal.SIGKILL)
        if self._status is None:
            send_signal(self._tool, signal.SIGKILL)
        while self._wait(0 if alone else os.WNOHANG) >= 0:
            if alone:
                send_signal(-1, signal.SIGKILL)
                continue
            # Stopped processes cannot fork during the search for the others.
            for number in (signal.SIGSTOP, signal.SIGKILL):
                for pid in descendants(self._me):
                    send_signal(pid, number)

    def _report(self) -> dict[str, object]:
        status = signal.SIGKILL if self._status is None else self._status
        spent = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu_s = spent.ru_utime + spent.ru_stime
        if (
            self._breach is None
            and os.WIFSIGNALED(status)
            and os.WTERMSIG(status) == signal.SIGXCPU
        ):
            # The kernel's own count may be ahead of the times that getrusage returns.
            self._breach = self._breach_at("cpu_s", max(round(cpu_s, 2), self._limits["cpu_s"]))
        end: dict[str, object] = {
            "code": os.waitstatus_to_exitcode(status),
            "cpu_ms": round(cpu_s * 1000),
            "max_rss_kb": max(self._peak.memory_kb, spent.ru_maxrss),
            "processes": self._peak.processes,
        }
        breach = self._breach or self._full_disk(ended=True)
        return {**end, "breach": breach} if breach else end


def send_signal(pid: int, number: int) -> None:
    """Send a signal, unless the process has just ended."""
    try:
        os.kill(pid, number)
    except OSError:  # it has just ended
        pass
