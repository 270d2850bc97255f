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

from . import usage

# Between two measurements of the call (1 ms of work each). The first comes when a short call has
# ended, then they become rarer, but stay frequent while memory is near its limit.
FIRST_LOOK_S, NEAR_S, LOOK_S = 0.01, 0.005, 0.05
ENDING_S = 2.0  # for a tool that checks Context.cancelled, after the server ended the call
GRACE_S = 2.0  # after the deadline: normally the server has ended the call before

Breach = dict[str, object]  # the limit, what it allows and what was observed


class Supervisor:
    """The state of one call.

    tool      the process of the tool, a child of this one and the leader of its group
    lifeline  a descriptor that becomes readable when the server ends the call or dies
    disk      its folder, None if that may grow
    scratch   folders in memory, which count as memory
    """

    def __init__(
        self,
        tool: int,
        lifeline: int,
        limits: dict[str, float],
        disk: usage.Disk | None,
        scratch: tuple[str, ...] = (),
    ) -> None:
        self._tool, self._lifeline = tool, lifeline
        self._limits, self._disk, self._scratch = limits, disk, scratch
        self._me, self._started = os.getpid(), time.monotonic()
        # All processes of the call if this one is pid 1; else most of them.
        self._group = -1 if self._me == 1 else -tool
        self._poll = select.poll()
        self._pause = FIRST_LOOK_S
        self._crowd = usage.process_count() + limits["processes"]
        self._kill_at: float | None = None  # set when the server has ended the call
        self._status: int | None = None  # the wait status of the tool
        self._breach: Breach | None = None
        self._peak = usage.Use(0, 0, 0)

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

    def breach_of(self, use: usage.Use) -> Breach | None:
        """Return the first limit that the call has passed, None if none; cheap checks first."""
        limits = self._limits
        if use.processes > limits["processes"]:
            return self._breach_at("processes", use.processes)
        if use.memory_kb // 1024 > limits["memory_mb"]:
            fair = usage.shared_fairly(self._me, self._scratch) // 1024
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
        if self._disk is None or (size := self._disk.over(ended=ended)) is None:
            return None
        many = f"more than {usage.MOST_FILES} files"
        return self._breach_at("disk_mb", many if size >= usage.TOO_MANY else size >> 20)

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
        count = usage.process_count()
        if crowded := count > self._crowd:
            send_signal(self._group, signal.SIGSTOP)
        use = usage.measure(self._me, self._scratch)
        self._peak = self._peak.peak(use)
        self._breach = self.breach_of(use)
        if self._breach is None and crowded:  # by zombies, or by processes of others
            send_signal(self._group, signal.SIGCONT)
            self._crowd = count + self._limits["processes"]
        # Memory can grow by gigabytes a second: measure often while much of it is used.
        near = use.memory_kb > self._limits["memory_mb"] * 512
        self._pause = NEAR_S if near else min(self._pause * 1.5, LOOK_S)

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
                for pid in usage.descendants(self._me):
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
