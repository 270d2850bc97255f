"""The policy of workers as one value, made by the server once and sent to its zygote. Pure.

Sessions and tools cannot change it. The limits of a call come with the call
(tools/policy.narrowed).
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from . import syscalls

TIERS = ("none", "C", "B", "A")  # weakest first
CONFINING = ("A", "B")  # that keep programs in the folders of their call

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
KERNEL = ("/proc", "/sys", "/dev")  # these tell more of the host than a tool may know
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")

# Where a call finds its folders in tier A: the current one; the session's own, if the current one
# is a real folder; the files of used skills; and for the operations on workspaces their state,
# objects, and the real folder.
WORKSPACE, SESSION, SKILLS, STATE, OBJECTS, FOLDER = (
    "/workspace",
    "/session",
    "/skills",
    "/state",
    "/objects",
    "/folder",
)
PLACES = (WORKSPACE, SESSION, SKILLS, STATE, OBJECTS, FOLDER)
SCRATCH = ("/tmp", "/dev/shm")  # in tier A: in memory, and counted as memory
SCRATCH_NAME = ".tmp"  # in the other tiers: of the home of programs
SCRATCH_MB = 64  # each, independent of memory_mb
SCRATCH_FILES = 65_536  # each: an empty file takes 1 KB of kernel memory

MOST_LINKS = 100  # on the way to the interpreter: against a circle of them

PROXY_PORT = 3128  # of netproxy.py, in the call's own network, where no other port is in use
PROXY_BACKLOG = 64  # connections that wait to be accepted

PRELOAD = b"preload"  # to the zygote: import what tools need; else the name of a network


@dataclass(frozen=True)
class Mount:
    """A folder that a call gets: at `at` in tier A, below it at its own path.

    path      absolute, without links
    own       the server made it; else it is a real folder of the owner
    protected places in it that the owner's programs run, which calls must not change
              (host_programs.py), those at the top besides; None: calls may change all
    """

    at: str
    path: str
    writable: bool = True
    own: bool = False
    protected: tuple[str, ...] | None = None

    def request(self) -> dict[str, Any]:
        """Return the part of a worker's request, with the folder's identity. Raises OSError."""
        about = os.lstat(self.path)
        return {**asdict(self), "identity": [about.st_dev, about.st_ino]}


@dataclass(frozen=True)
class SandboxPolicy:
    """What workers restrict.

    tier        A: namespaces, a root of its own, Landlock if the kernel has it, and a filter;
                B: Landlock and a filter; C: limits only
    network     off, proxy or full (network_policy.py), unless a call has another
    run_as      the user id of tools if the server is root
    read        what else a tool may read: the interpreter and the tools' own code
    staged      the folders that hold all that calls may get: each is one of them or holds some
    links       links on the way to the interpreter, which tier A has too: (path, target)
    preload     modules that calls import, loaded once and not in each; the proof does without
    """

    tier: str
    network: str = "off"
    run_as: int = 0
    read: tuple[str, ...] = ()
    staged: tuple[str, ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    preload: tuple[str, ...] = ()

    @classmethod
    def of(cls, options: dict[str, Any]) -> SandboxPolicy:
        """Return the policy of its fields, as JSON has them."""
        lists = {name: tuple(options[name]) for name in ("read", "staged", "preload")}
        links = tuple((path, target) for path, target in options["links"])
        return cls(**{**options, **lists, "links": links})

    def visible_path(self, path: str) -> str:
        """Return what calls can use of the server's PATH; the rest names folders of the host."""
        return path if self.tier == "C" else _entries_in(path, (*SYSTEM, *self.read))

    def rules(self) -> list[tuple[str, int]]:
        """Return Landlock's rules as (path, rights), without those for the call's folders.

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


@functools.cache  # a millisecond for each call otherwise
def _entries_in(path: str, places: tuple[str, ...]) -> str:
    """Return the entries of a PATH that are below one of these places."""
    entries = [(each, Path(os.path.normpath(each))) for each in path.split(os.pathsep)]
    visible = [each for each, at in entries if any(at.is_relative_to(place) for place in places)]
    return os.pathsep.join(visible) or os.defpath


def code_folders() -> tuple[str, ...]:
    """Return the folders of the interpreter and of this server that SYSTEM does not contain."""
    server = Path(__file__).resolve().parents[len(__name__.split(".")) - 2]
    places = [Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable).resolve(), server]
    return outermost_folders(places)


def links_to(*places: str) -> tuple[tuple[str, str], ...]:
    """Return the links on the way to these places as (path, target); no path goes through a link.

    A program is found by the path it was started with, such as that of a virtual environment in a
    folder that is a link, and its own `bin/python` is a link again.
    """
    found: dict[str, str] = {}
    for place in places:
        at, waiting, left = "", place.split("/")[::-1], MOST_LINKS
        while waiting and left:
            part = waiting.pop()
            path = os.path.normpath(f"{at}/{part}")
            try:
                target = os.readlink(path)  # noqa: PTH115
            except OSError:  # no link
                at = path.rstrip("/")
                continue
            found[path], left = target, left - 1
            at = "" if target.startswith("/") else at
            waiting += target.split("/")[::-1]
    return tuple(found.items())


def configured_paths(options: Mapping[str, Any]) -> list[Path]:
    """Return the paths that the owner lets tools read besides. `options`: server.sandbox."""
    return [Path(os.path.realpath(Path(each).expanduser())) for each in options.get("read", ())]


def read_mistakes(options: Mapping[str, Any], home: Path) -> Iterator[str]:
    """Yield the mistakes in `server.sandbox.read` with which the server must not start."""
    own = Path(os.path.realpath(home))
    for path_text in options.get("read", ()):
        place = f"server.sandbox.read: {path_text}"
        if not path_text.startswith(("/", "~")) or "\0" in path_text:
            yield f"{place!r} is no path that begins with / or ~"
            continue
        try:
            (path,) = configured_paths({"read": [path_text]})
        except RuntimeError:
            yield f"{place}: there is no such home folder here"
            continue
        if not path.exists():
            yield f"{place} is not there"
        elif path.is_relative_to(own) or own.is_relative_to(path):
            yield f"{place} holds the home folder {own} or lies in it, where keys are"
        elif any(path.is_relative_to(each) for each in KERNEL):
            yield f"{place} is the kernel's: tools have their own"


def outermost_folders(places: Iterable[Path]) -> tuple[str, ...]:
    """Return the existing places that are neither in SYSTEM nor in another of the places."""
    folders: list[Path] = []
    for place in sorted({place.resolve() for place in places}):
        inside = [Path(path) for path in SYSTEM] + folders
        if place.exists() and not any(place.is_relative_to(folder) for folder in inside):
            folders.append(place)
    return tuple(map(str, folders))
