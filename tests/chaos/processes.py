"""What runs, as /proc tells it: whose child is whose, and what somebody left behind."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from ..tooling.patience import LOOK_S, Allowance, slowness

PR_SET_CHILD_SUBREAPER = 36


def adopt() -> None:
    """Whatever loses its parent below this process becomes its child: prctl(2)."""
    if ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "PR_SET_CHILD_SUBREAPER")


def parents() -> dict[int, int]:
    """pid -> parent, of everything that is not a zombie."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
        except OSError:  # gone since
            continue
        if state not in "ZX":
            found[int(stat.parent.name)] = int(parent)
    return found


def below(pid: int) -> set[int]:
    """All descendants of a process."""
    tree, found, front = parents(), set[int](), {pid}
    while front:
        front = {child for child, parent in tree.items() if parent in front} - found
        found |= front
    return found


def ends_with(pid: int) -> set[int]:
    """A process and its descendants, without those of a namespace of pids that it makes: what is
    first there is to go on, as a worker does whose maker has ended."""
    family = below(pid)
    apart = {each for each in family if first(each)}
    return {pid} | family - apart.union(*map(below, apart))


def first(pid: int) -> bool:
    """Whether it is the first process of another namespace than this one's."""
    try:
        numbers = Path(f"/proc/{pid}/status").read_text().partition("NSpid:")[2].splitlines()[0]
    except (OSError, IndexError):
        return False
    return numbers.split()[1:][-1:] == ["1"]


def named(pid: int) -> str:
    try:
        return (
            Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        )
    except OSError:
        return ""


def began(pid: int) -> str:
    """When it began, in ticks since the machine did: with the pid, that is one process for ever."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def born(pids: Iterable[int]) -> set[tuple[int, str]]:
    return {(pid, began(pid)) for pid in pids}


def left(which: set[tuple[int, str]]) -> list[str]:
    """Those of them that still live, in words."""
    tree = parents()
    return [
        f"{pid} below {tree[pid]}: {named(pid)[:150]}"
        for pid, begin in sorted(which)
        if pid in tree and began(pid) == begin
    ]


def until(what: Callable[[], object], idle_s: float) -> bool:
    """Whether it came to that in time, which is longer where the machine is slow (patience.py)."""
    began = looked = time.monotonic()
    allowance = Allowance(idle_s, began)
    while not what():
        time.sleep(0.02)
        if (now := time.monotonic()) > min(looked + LOOK_S, began + idle_s):
            allowance.spend(now, slowness())
            looked = now
            if allowance.left_s <= 0:
                return False
    return True


def stood_s(pid: int) -> float:
    """How long it was ready to run and did not, in all: the second number of schedstat, in ns."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9


def kill(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
