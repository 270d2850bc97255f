"""`python -m tests.sandbox.limits TIER CASES`: limits of a call, breached, of a JSON list of names.
Prints one JSON object: case → the outcome. A program, so that it can be run as another user."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from server.tools.runner import Job, ToolRunner

from ..tooling import patience
from .battery import LIMITS, SHELL

ALL = ("none", "B", "A")
SANDBOXED = ("B", "A")


@dataclass(frozen=True)
class Case:
    """What goes over `limit` when it is `allowed`. An owner's tool is called where `command` is
    its name. `said`: how the result tells of it: an error, or a word in the shell's result."""

    limit: str
    allowed: float
    command: str
    said: str = "error"
    tiers: tuple[str, ...] = ALL


HUNGRY = "python3 -c 'x = bytearray({}); x[::4096] = x[::4096]; input()' < /dev/zero"
HOARD = "python3 -c 'x = [open(\"/dev/null\") for _ in range(99)]'"
# Files that no listing shows: open, or only mapped.
NAMELESS = """python3 -c '
import os, time
held = [open(str(n), "wb", 0) for n in range(6)]
for file in held:
    os.unlink(file.name)
    file.write(bytes(4_000_000))
time.sleep(600)'"""
MAPPED = """python3 -c '
import ctypes, os, time
c, size = ctypes.CDLL(None), ctypes.c_size_t(4_000_000)
c.mmap.restype = ctypes.c_void_p
for n in range(6):
    file = os.open(str(n), os.O_CREAT | os.O_RDWR)
    os.truncate(file, size.value)
    place = c.mmap(None, size, 3, 1, file, ctypes.c_long(0))
    os.close(file)
    os.unlink(str(n))
    ctypes.memset(ctypes.c_void_p(place), 1, size)
time.sleep(600)'"""
# Memory that is only read takes none, but for the kernel's tables of its pages.
TABLES = """python3 -c '
import mmap, time
m = mmap.mmap(-1, 1 << 40, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ)
for at in range(0, 200 << 30, 2 << 20):
    m[at]
time.sleep(600)'"""
# What the kernel knows of memory takes memory, too, and no process has it.
AREAS = """python3 -c '
import ctypes, os, time
c, size = ctypes.CDLL(None), ctypes.c_size_t
c.mmap.restype = ctypes.c_void_p
for n in range(3): os.fork()
start = c.mmap(None, size(66000 * 4096), 0, 0x4022, -1, ctypes.c_long(0))
for at in range(0, 64000, 2): c.mprotect(ctypes.c_void_p(start + at * 4096), size(4096), 1)
time.sleep(600)'"""
SOCKETS = """python3 -c '
import os, socket, time
for n in range(3): os.fork()
held = [socket.socketpair() for _ in range(120)]
time.sleep(600)'"""
NO_BYTES = """python3 -c '
import time
for n in range(60000): open(f"/tmp/{n:0200}", "x").close()
time.sleep(600)'"""
# Of a process that is not to be dumped, nobody of its own user reads what it shares.
HIDDEN = HUNGRY.format(5 * 10**8).replace("'x", "'import ctypes; ctypes.CDLL(None).prctl(4, 0); x")
CASES = {
    "wall": Case("wall_s", 2, "echo begun; sleep 60"),  # in which even a busy machine says it
    "wall, deaf to signals": Case("wall_s", 0.4, "trap '' TERM INT; while :; do sleep 0.1; done"),
    "processor": Case("cpu_s", 1, "while :; do :; done"),
    "processor, a tool": Case("cpu_s", 1, "spin"),
    "processor, several programs": Case(
        "cpu_s",
        1,
        'python3 -c "import time\nwhile time.process_time() < 0.4: pass"; ' * 9,
        tiers=SANDBOXED,
    ),
    "memory": Case("memory_mb", 100, f"{HUNGRY.format(10**9)}; sleep 600"),
    "memory, several programs": Case(
        "memory_mb", 100, " ".join(f"{HUNGRY.format(4 * 10**7)} &" for _ in range(4)) + " wait"
    ),
    "memory, a tool": Case("memory_mb", 100, "grow"),
    "memory, asked for at once": Case("memory_mb", 100, "ask", tiers=SANDBOXED),
    "memory, files in it": Case(
        "memory_mb",
        100,
        "head -c 60000000 /dev/zero > /tmp/x; head -c 60000000 /dev/zero > /dev/shm/x; sleep 600",
        tiers=("A",),
    ),
    "memory, of the kernel's tables": Case("memory_mb", 100, TABLES, tiers=SANDBOXED),
    "memory, of mapped areas": Case("memory_mb", 100, AREAS, tiers=SANDBOXED),
    "memory, of sockets": Case("memory_mb", 150, SOCKETS, tiers=("A",)),
    "memory, of files without a byte": Case("memory_mb", 60, NO_BYTES, tiers=("A",)),
    "memory, of a program that hides": Case(
        "memory_mb", 100, f"{HIDDEN}; sleep 600", tiers=SANDBOXED
    ),
    "disk, files without a name": Case("disk_mb", 16, NAMELESS, tiers=SANDBOXED),
    "disk, files that are only mapped": Case("disk_mb", 16, MAPPED, tiers=SANDBOXED),
    "disk": Case(
        "disk_mb",
        16,
        "for i in 1 2 3 4 5 6; do head -c 4000000 /dev/zero > f$i; done; sleep 600",
        tiers=SANDBOXED,
    ),
    "file": Case("file_mb", 1, "echo begun; head -c 9000000 /dev/zero > big"),
    "file, in between": Case(
        "file_mb", 1, "head -c 9000000 /dev/zero > big; echo on; exit 3", "result"
    ),
    "file, a program that is told": Case(
        "file_mb", 1, 'python3 -c \'open("big", "wb").write(b"x" * 9000000)\'', "result"
    ),
    "file, a tool": Case("file_mb", 1, "fill"),
    "output, a tool": Case("output_kb", 32, "talk"),
    "processes": Case("processes", 12, "for i in $(seq 40); do sleep 30 & done; wait"),
    "open files": Case("open_files", 32, HOARD, "result"),
    "open files, a tool": Case("open_files", 32, "hoard"),
}
TOOLS = """
from yaa import tool
@tool
def spin():
    while True: pass
@tool
def grow():
    x = []
    while True: x.append(b"x" * 1000000)
@tool
def ask():
    x = bytearray(10**11)
@tool
def fill(): open("big", "wb").write(b"x" * 3000000)
@tool
def hoard(): x = [open("/dev/null") for _ in range(99)]
@tool
def talk():
    while True: print("x" * 1000)
"""
NAMES = ("spin", "grow", "ask", "fill", "hoard", "talk")


async def breached(runner: ToolRunner, home: Path, name: str, case: Case) -> dict[str, Any]:
    limits = {**LIMITS, "wall_s": patience.seconds(60), case.limit: case.allowed}
    file = home / "tools.py"
    file.write_text(TOOLS)
    where, args = SHELL, {"command": f"rm -rf * && {case.command}"}
    if case.command in NAMES:
        where, args = ("file", str(file), case.command), {}
    return dataclasses.asdict(await runner.run(Job(where, args, name, limits)))


async def main(tier: str, names: list[str]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="yaa-") as name:
        home = Path(name)
        home.chmod(0o711)
        (home / "workspaces").mkdir(mode=0o711)
        runner = ToolRunner(home)
        if tier != "none":
            await runner.open({"network": "off", "run_as": 61321, "idle_s": 300}, tier)
        found: dict[str, Any] = {"sandbox": runner.sandbox}
        try:
            if runner.sandbox["tier"] == tier:
                for case_name in names:
                    found[case_name] = await breached(runner, home, case_name, CASES[case_name])
        finally:
            runner.close()
        return found


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1], json.loads(sys.argv[2])))))
