"""What a worker keeps a tool from, as one value: made by the server once, sent to its zygote.

The rule of the file: pure. Sessions and tools reach none of it; limits of a call come with the
call (tools/policy.narrowed).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from . import syscalls

TIERS = ("none", "C", "B", "A")  # weakest first

# What a program needs of the system. Links among these are made again as links.
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/lib32", "/opt")
SETTINGS = tuple(
    f"/etc/{name}"
    for name in (
        "ld.so.cache ld.so.conf ld.so.conf.d passwd group nsswitch.conf hosts resolv.conf localtime"
        " timezone ssl ca-certificates alternatives mime.types inputrc bash.bashrc profile"
        " profile.d terminfo host.conf services protocols gai.conf locale.alias os-release"
        " debian_version gitconfig python3 java-17-openjdk java-21-openjdk"
    ).split()
)
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")

WORKSPACE = "/workspace"  # where a tool of tier A finds its session's folder
SCRATCH = ("/tmp", "/dev/shm")  # of tier A: in memory, and counted as such
SCRATCH_MB = 64  # each, whatever memory_mb allows
SCRATCH_FILES = 65_536  # each: a file without a byte takes 1 KB of the kernel's memory


@dataclass(frozen=True)
class Policy:
    """tier: A namespaces, a built root, Landlock where there is one, and a filter; B Landlock and
    a filter; C limits only. network: off, proxy or full (network_policy.py), of a call that asks
    for no other. run_as: the user of tools when the server is root. read: what else a tool may
    read: the interpreter and the tools' own code. workspaces: the folder that holds the sessions'
    own."""

    tier: str
    network: str = "off"
    run_as: int = 0
    read: tuple[str, ...] = ()
    workspaces: str = ""

    def rules(self) -> list[tuple[str, int]]:
        """Landlock's, but for the session's folder. In tier A the root holds nothing else but what
        may be read."""
        devices = [(path, syscalls.DEVICE) for path in DEVICES]
        if self.tier == "A":
            scratch = [(path, syscalls.CHANGE) for path in SCRATCH]
            return [("/", syscalls.READ_RUN), *devices, *scratch]
        return [
            *((path, syscalls.READ_RUN) for path in (*SYSTEM, *self.read)),
            *((path, syscalls.READ) for path in (*SETTINGS, "/proc")),
            *devices,
        ]


def code() -> tuple[str, ...]:
    """Folders of the interpreter and of this server, where the system's do not hold them."""
    server = Path(__file__).resolve().parents[1]
    places = [Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable).resolve(), server]
    return outermost(places)


def outermost(places: Iterable[Path]) -> tuple[str, ...]:
    """Those of the places that are there, and in none of the system's or of the others."""
    found: list[Path] = []
    for place in sorted({place.resolve() for place in places}):
        inside = [Path(path) for path in SYSTEM] + found
        if place.exists() and not any(place.is_relative_to(folder) for folder in inside):
            found.append(place)
    return tuple(map(str, found))
