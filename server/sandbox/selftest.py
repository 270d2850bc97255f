"""Escapes that a sandbox must stop, tried from inside as a tool call: probe.py reads what worked.

Each attempt raises OSError where it is stopped. The rule of the file: harmless where it succeeds,
since below tier A some do.
"""

from __future__ import annotations

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
from .syscall_numbers import NUMBERS

Facts = dict[str, Any]


def attempts(_context: object, facts: Facts) -> dict[str, dict[str, str]]:
    """`facts`: secret, a file outside; port, a TCP port of the server's host; server, its pid.
    Says of every attempt and of every control "" where it did not work out, else what came of it.
    """
    escapes = {name: tried(attempt, facts) for name, attempt in ESCAPES.items()}
    return {"escapes": escapes, "works": {n: tried(c, facts) for n, c in CONTROLS.items()}}


def tried(attempt: Callable[[Facts], object], facts: Facts) -> str:
    try:
        return str(attempt(facts) or "done")[:80]
    except (OSError, subprocess.SubprocessError, ValueError, RuntimeError):
        return ""


def read_outside(facts: Facts) -> object:
    return len(Path(facts["secret"]).read_bytes())


def write_outside(facts: Facts) -> object:
    with open(facts["secret"], "ab"):  # noqa: PTH123
        return "opened for writing"


def truncate_outside(facts: Facts) -> None:
    os.truncate(facts["secret"], os.stat(facts["secret"]).st_size)  # noqa: PTH116


def make_outside(facts: Facts) -> None:
    Path(facts["secret"] + ".planted").touch()


def servers_environment(facts: Facts) -> object:
    return len(Path(f"/proc/{facts['server']}/environ").read_bytes())


def servers_memory(facts: Facts) -> object:
    with open(f"/proc/{facts['server']}/mem", "rb"):  # noqa: PTH123
        return "opened"


def signal_server(facts: Facts) -> None:
    if Path("/proc/self").readlink().name == str(facts["server"]):
        raise OSError("another process of that number")
    os.kill(facts["server"], 0)


def limit_server(facts: Facts) -> None:
    resource.prlimit(facts["server"], resource.RLIMIT_CPU)


def tcp(facts: Facts) -> None:
    socket.create_connection(("127.0.0.1", facts["port"]), 2).close()


def udp(facts: Facts) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"x", ("127.0.0.1", facts["port"]))


def unix(facts: Facts) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect("\0" + facts["name"])


def netlink(_: Facts) -> None:
    socket.socket(16, socket.SOCK_RAW, 0).close()


def namespaces(_: Facts) -> None:
    syscalls.unshare(syscalls.NEWUSER)


def mounts(_: Facts) -> None:
    syscalls.mount("tmpfs", ".", 0)


def trace(facts: Facts) -> None:
    syscalls.syscall("ptrace", NUMBERS[syscalls.arch()]["ptrace"], 16, facts["server"], 0, 0)
    syscalls.syscall("ptrace", NUMBERS[syscalls.arch()]["ptrace"], 17, facts["server"], 0, 0)


def io_uring(_: Facts) -> None:
    parameters = ctypes.create_string_buffer(120)
    os.close(syscalls.syscall("io_uring_setup", 425, 1, ctypes.addressof(parameters)))


def superuser(_: Facts) -> None:
    if os.geteuid() != 0:
        os.setresuid(0, 0, 0)


def own_folder(_: Facts) -> object:
    Path("canary").write_text("sings")
    text = Path("canary").read_text()
    Path("canary").unlink()
    return text


def programs(_: Facts) -> object:
    found = subprocess.run(["/bin/sh", "-c", "echo $((6 * 7))"], capture_output=True, check=True)
    return found.stdout.decode().strip() == "42" or None


def scratch(_: Facts) -> None:
    # Below tier A the folder is everybody's, and a name of ours could be taken.
    place = Path(os.environ["TMPDIR"], f"canary-{secrets.token_hex(8)}")
    place.touch()
    place.unlink()


def threads(_: Facts) -> None:
    one = threading.Thread(target=os.getpid)
    one.start()
    one.join()


def own_limits(_: Facts) -> object:
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
        superuser,
    )
}
CONTROLS = {
    control.__name__: control for control in (own_folder, programs, scratch, threads, own_limits)
}
