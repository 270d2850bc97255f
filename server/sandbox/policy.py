"""The policy of workers as one value, made by the server once and sent to its zygote. Pure.

Sessions and tools cannot change it. The limits of a call come with the call
(tools/policy.narrowed).
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from . import syscalls

TIERS = ("none", "C", "B", "A")  # weakest first

# What programs need of the system. Symlinks among these are recreated as symlinks.
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

WORKSPACE = "/workspace"  # the path of the session's folder in tier A
SCRATCH = ("/tmp", "/dev/shm")  # in tier A: in memory, and counted as memory
SCRATCH_MB = 64  # each, independent of memory_mb
SCRATCH_FILES = 65_536  # each: an empty file takes 1 KB of kernel memory

PROXY_PORT = 3128  # of netproxy.py, in the call's own network, where no other port is in use
PROXY_BACKLOG = 64  # connections that wait to be accepted


@dataclass(frozen=True)
class SandboxPolicy:
    """What workers restrict.

    tier        A: namespaces, a root of its own, Landlock if the kernel has it, and a filter;
                B: Landlock and a filter; C: limits only
    network     off, proxy or full (network_policy.py), unless a call has another
    run_as      the user id of tools if the server is root
    read        what else a tool may read: the interpreter and the tools' own code
    workspaces  the folder that contains the sessions' folders
    """

    tier: str
    network: str = "off"
    run_as: int = 0
    read: tuple[str, ...] = ()
    workspaces: str = ""

    def rules(self) -> list[tuple[str, int]]:
        """Return Landlock's rules as (path, rights), without that for the session's folder.

        In tier A the root contains only what may be read, so one rule covers reading.
        """
        devices = [(path, syscalls.DEVICE) for path in DEVICES]
        if self.tier == "A":
            scratch = [(path, syscalls.CHANGE) for path in SCRATCH]
            return [("/", syscalls.READ_RUN), *devices, *scratch]
        return [
            *((path, syscalls.READ_RUN) for path in (*SYSTEM, *self.read)),
            *((path, syscalls.READ) for path in (*SETTINGS, "/proc")),
            *devices,
        ]


def code_folders() -> tuple[str, ...]:
    """Return the folders of the interpreter and of this server that SYSTEM does not contain."""
    server = Path(__file__).resolve().parents[1]
    places = [Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable).resolve(), server]
    return outermost_folders(places)


def outermost_folders(places: Iterable[Path]) -> tuple[str, ...]:
    """Return the existing places that are neither in SYSTEM nor in another of the places."""
    found: list[Path] = []
    for place in sorted({place.resolve() for place in places}):
        inside = [Path(path) for path in SYSTEM] + found
        if place.exists() and not any(place.is_relative_to(folder) for folder in inside):
            found.append(place)
    return tuple(map(str, found))
