"""Escapes that a sandbox must stop, tried from inside as a tool call; probe.py judges the results.

Each attempt raises OSError if it is stopped. All are harmless if they succeed, as some do below
tier A.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import secrets
import socket
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import syscalls
from .policy import OBJECTS, SESSION, STATE
from .syscalls import NUMBERS

KEPT = "kept"  # a file, and its content


def attempts(_context: object, facts: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Try all escapes and controls. Returns {"escapes": {name: result}, "works": {name: result}}.

    A result is "" if the attempt failed. `facts`: secret, a file outside; port, a TCP port of the
    server's host; server, the server's pid; name, an abstract socket; kept, a folder that may only
    be read; tier.
    """
    escapes = {name: try_attempt(attempt, facts) for name, attempt in ESCAPES.items()}
    return {"escapes": escapes, "works": {n: try_attempt(c, facts) for n, c in CONTROLS.items()}}


def folder_access(_context: object, mode: str) -> str:
    """Return what is missing for the use of the current folder in a mode; "" for nothing.

    A folder that may be written is not written to, only its permissions are asked for.
    """
    try:
        os.listdir()  # noqa: PTH208
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if mode != "read" and not os.access(".", os.W_OK | os.X_OK):
        text = "may not be written"
        return text if mode == "write" else f"{text}, so changes to its copy could not be applied"
    if mode == "read":
        canary = Path(f".yaa-{secrets.token_hex(8)}")
        with contextlib.suppress(OSError):
            canary.touch()
            canary.unlink()
            return "could be written, although it may only be read"
    return ""


def try_attempt(attempt: Callable[[dict[str, Any]], object], facts: dict[str, Any]) -> str:
    """Return the result of one attempt as text, "" if it failed."""
    try:
        result = attempt(facts)
        return "" if result == "" else str(result or "done")[:80]
    except (OSError, subprocess.SubprocessError, ValueError, RuntimeError):
        return ""


def read_outside(facts: dict[str, Any]) -> object:
    """Read the server's file."""
    return len(Path(facts["secret"]).read_bytes())


def write_outside(facts: dict[str, Any]) -> object:
    """Open the server's file for writing."""
    with open(facts["secret"], "ab"):  # noqa: PTH123
        return "opened for writing"


def truncate_outside(facts: dict[str, Any]) -> None:
    """Truncate the server's file to its own size."""
    os.truncate(facts["secret"], os.stat(facts["secret"]).st_size)  # noqa: PTH116


def make_outside(facts: dict[str, Any]) -> None:
    """Create a file beside the server's."""
    Path(facts["secret"] + ".planted").touch()


def servers_environment(facts: dict[str, Any]) -> object:
    """Read the server's environment."""
    return len(Path(f"/proc/{facts['server']}/environ").read_bytes())


def servers_memory(facts: dict[str, Any]) -> object:
    """Open the server's memory."""
    with open(f"/proc/{facts['server']}/mem", "rb"):  # noqa: PTH123
        return "opened"


def signal_server(facts: dict[str, Any]) -> None:
    """Send signal 0 to the server."""
    if Path("/proc/self").readlink().name == str(facts["server"]):
        raise OSError("another process of that number")
    os.kill(facts["server"], 0)


def limit_server(facts: dict[str, Any]) -> None:
    """Read a resource limit of the server."""
    resource.prlimit(facts["server"], resource.RLIMIT_CPU)


def tcp(facts: dict[str, Any]) -> None:
    """Connect to the server's TCP port."""
    socket.create_connection(("127.0.0.1", facts["port"]), 2).close()


def udp(facts: dict[str, Any]) -> None:
    """Send a datagram to the server's port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", ("127.0.0.1", facts["port"]))


def unix(facts: dict[str, Any]) -> None:
    """Connect to the server's abstract Unix socket."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect("\0" + facts["name"])


def netlink(_: dict[str, Any]) -> None:
    """Open a netlink socket."""
    socket.socket(16, socket.SOCK_RAW, 0).close()


def namespaces(_: dict[str, Any]) -> None:
    """Make a user namespace."""
    syscalls.unshare(syscalls.NEWUSER)


def mounts(_: dict[str, Any]) -> None:
    """Mount a file system."""
    syscalls.mount("tmpfs", ".", 0)


def trace(facts: dict[str, Any]) -> None:
    """Attach to the server with ptrace(2) and detach."""
    syscalls.syscall("ptrace", NUMBERS[syscalls.arch()]["ptrace"], 16, facts["server"], 0, 0)
    syscalls.syscall("ptrace", NUMBERS[syscalls.arch()]["ptrace"], 17, facts["server"], 0, 0)


def io_uring(_: dict[str, Any]) -> None:
    """Set up an io_uring."""
    parameters = ctypes.create_string_buffer(120)
    os.close(syscalls.syscall("io_uring_setup", 425, 1, ctypes.addressof(parameters)))


def asynchronous_io(_: dict[str, Any]) -> None:
    """Take one of the machine's requests of asynchronous I/O, and give it back."""
    known, place = NUMBERS[syscalls.arch()], ctypes.c_ulong()
    syscalls.syscall("io_setup", known["io_setup"], 1, ctypes.addressof(place))
    syscalls.syscall("io_destroy", known["io_destroy"], place.value)


def rule_set(_: dict[str, Any]) -> None:
    """Make a rule set of Landlock, which is kernel memory."""
    os.close(syscalls.landlock([], network=True))


def hold_page(_: dict[str, Any]) -> None:
    """Hold the page of a file in a pipe."""
    number = NUMBERS[syscalls.arch()]["splice"]
    reader, writer = os.pipe()
    try:
        with open("page", "wb+") as file:  # noqa: PTH123
            os.unlink("page")  # noqa: PTH108
            file.write(b"page")
            file.seek(0)
            syscalls.syscall("splice", number, file.fileno(), None, writer, None, 1, 0)
    finally:
        os.close(reader)
        os.close(writer)


def superuser(_: dict[str, Any]) -> None:
    """Become root, or remain it."""
    if os.geteuid() != 0:
        os.setresuid(0, 0, 0)


def change_kept(facts: dict[str, Any]) -> object:
    """Change a folder that the call may only read."""
    kept = Path(facts["kept"])
    for attempt in (
        lambda: (kept / KEPT).write_text(KEPT),
        lambda: (kept / KEPT).rename(kept / "moved"),
        lambda: (kept / "made").touch(),
        lambda: (kept / "folder").mkdir(),
        lambda: (kept / "link").symlink_to("/"),
    ):
        with contextlib.suppress(OSError):
            return attempt() or "changed"
    return ""


def other_places(facts: dict[str, Any]) -> object:
    """See what calls of other kinds have, in a root of this one's own."""
    if facts["tier"] != "A":
        raise OSError("there are no such places")
    files = [name for place in (SESSION, STATE, OBJECTS) for name in Path(place).iterdir()]
    return len(files) or ""


def beside(facts: dict[str, Any]) -> object:
    """List the folders that hold all workspaces, their state and the objects."""
    files = []
    for name in ("workspaces", "workspace_state", "objects"):
        with contextlib.suppress(OSError):
            files += [*Path(facts["secret"]).with_name(name).iterdir()]
    return len(files) or ""


def read_kept(facts: dict[str, Any]) -> object:
    """Read a folder that the call may only read."""
    return Path(facts["kept"], KEPT).read_text() == KEPT


def own_folder(_: dict[str, Any]) -> object:
    """Write, read and remove a file in the session's folder."""
    Path("canary").write_text("sings")
    text = Path("canary").read_text()
    Path("canary").unlink()
    return text


def programs(_: dict[str, Any]) -> object:
    """Run a shell."""
    echo = subprocess.run(["/bin/sh", "-c", "echo $((6 * 7))"], capture_output=True, check=True)
    return echo.stdout.decode().strip() == "42" or None


def scratch(_: dict[str, Any]) -> None:
    """Create and remove a temporary file."""
    # Below tier A the folder is shared, and a fixed name could be taken.
    place = Path(os.environ["TMPDIR"], f"canary-{secrets.token_hex(8)}")
    place.touch()
    place.unlink()


def threads(_: dict[str, Any]) -> None:
    """Start a thread."""
    one = threading.Thread(target=os.getpid)
    one.start()
    one.join()


def own_limits(_: dict[str, Any]) -> object:
    """Read the own CPU limit."""
    return resource.getrlimit(resource.RLIMIT_CPU)[1] > 0


ESCAPES = {
    attempt.__name__: attempt
    for attempt in (
        read_outside,
        write_outside,
        truncate_outside,
        make_outside,
        servers_environment,
        servers_memory,
        signal_server,
        limit_server,
        tcp,
        udp,
        unix,
        netlink,
        namespaces,
        mounts,
        trace,
        io_uring,
        asynchronous_io,
        rule_set,
        hold_page,
        superuser,
        change_kept,
        other_places,
        beside,
    )
}
CONTROLS = {
    control.__name__: control
    for control in (own_folder, read_kept, programs, scratch, threads, own_limits)
}
