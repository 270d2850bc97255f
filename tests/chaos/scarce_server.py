"""A server whose calls for one kind of resource can be made to fail: `python3 -m
tests.chaos.scarce_server CONTROL ARGUMENTS…` is `python3 -m server ARGUMENTS…`.

Whoever connects to the socket CONTROL writes one line, `KIND NUMBER FIRST COUNT`: from now on the
FIRST call of that kind and the COUNT - 1 after it fail with the error of that number. It reads a
line back once that is so, closes its half to end it, and reads how many calls there were.

Only calls of the server's own process are counted, since those that it starts are programs of
their own. `memory` are the calls of Python functions in its event loop. It ends with its parent.
"""

from __future__ import annotations

import _io
import _socket
import asyncio
import builtins
import io
import logging
import os
import select
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from server.__main__ import main
from server.lib.runtime.event_loop import Loop
from server.lib.sandbox import syscalls

RESOURCES: dict[str, tuple[tuple[Any, str], ...]] = {
    "accept": ((socket.socket, "_accept"),),
    "descriptor": (
        *((os, name) for name in ("open", "pipe", "dup", "scandir", "memfd_create", "pidfd_open")),
        *((builtins, "open"), (io, "open"), (_io, "open_code"), (select, "epoll")),
        *((socket, "socketpair"), (socket.socket, "__init__")),
    ),
    "disk": tuple((os, name) for name in ("write", "mkdir", "replace", "rename", "link", "open")),
    "thread": ((threading, "_start_new_thread"),),
    "process": ((os, "fork"), (os, "posix_spawn"), (subprocess, "_fork_exec")),
    # A connection that was accepted, then what logs that it failed, then the record of that.
    "handler": (
        (socket.socket, "__init__"),
        (asyncio.BaseEventLoop, "default_exception_handler"),
        (logging.Logger, "makeRecord"),
    ),
}
# Calls of these and by these are not failed: that Python calls a function needs no memory, but what
# it does.
LASTING: set[Any] = {each.__code__ for each in (Loop.call_soon, asyncio.Handle._run)}
WRITES = os.O_WRONLY | os.O_RDWR


class Fault:
    """Which calls fail: of this kind, from the `first` on, `count` of them."""

    kind, number, first, count, calls, where = "", 0, 0, 0, 0, ""
    pairs: ClassVar[dict[Any, int]] = {}  # a function and its caller -> number

    def take(self, kind: str) -> None:
        """Count a call. Raises what it shall fail with."""
        if kind != self.kind:
            return
        self.calls += 1
        if self.first <= self.calls < self.first + self.count:
            self.where = self.where or callers(sys._getframe(2))
            if kind == "thread":
                raise RuntimeError("can't start new thread")
            if kind == "handler":
                raise MemoryError
            raise OSError(self.number, os.strerror(self.number))

    def take_memory(self, frame: Any) -> None:
        """Count a call of a function by its caller, and fail the first of the one to fail."""
        pair = frame.f_code, frame.f_back and frame.f_back.f_code
        number = self.pairs.setdefault(pair, len(self.pairs) + 1)
        self.calls = len(self.pairs)
        if number == self.first and not LASTING & set(pair):
            self.where = callers(frame)
            print("no memory at", self.where, file=sys.stderr)
            raise MemoryError  # Python then ends the counting


def callers(frame: Any) -> str:
    """Return the calls that led to a frame, the last first."""
    names: list[str] = []
    while frame is not None and len(names) < 8:
        names.append(f"{Path(frame.f_code.co_filename).stem}.{frame.f_code.co_name}")
        frame = frame.f_back
    return " < ".join(names)


fault = Fault()


def wrap(owner: Any, name: str, kind: str) -> None:
    if not hasattr(owner, name):
        return
    real: Callable[..., Any] = getattr(owner, name)

    def call(*args: Any, **kwargs: Any) -> Any:
        if kind != fault.kind or "fileno" in kwargs or not asks(kind, name, args):
            return real(*args, **kwargs)
        fault.take(kind)
        return real(*args, **kwargs)

    setattr(owner, name, call)


def asks(kind: str, name: str, args: tuple[Any, ...]) -> bool:
    """Whether that call asks for the resource."""
    if kind != "disk":
        accepted = name == "__init__" and len(args) > 4 and args[4] is not None
        return accepted == (kind == "handler") or name != "__init__"
    if name == "write":
        return stat.S_ISREG(os.fstat(args[0]).st_mode)
    return name != "open" or bool(args[1] & WRITES)


def count_calls(frame: Any, event: str, _argument: Any) -> None:
    if event == "call" and frame.f_code is not switch_profile.__code__:
        fault.take_memory(frame)


def listen(control: str) -> None:
    """Answer orders. By the calls of the system alone, which are not wrapped."""
    door: Any = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    door.bind(control)
    door.listen(8)
    main_thread = threading.main_thread().ident or 0
    while True:
        caller = _socket.socket(fileno=door._accept()[0])
        kind, number, first, count = caller.recv(100).decode().split()
        fault.number, fault.first, fault.count, fault.calls = int(number), int(first), int(count), 0
        fault.kind, fault.where = kind, ""
        if kind == "memory":
            signal.pthread_kill(main_thread, signal.SIGUSR1)
        caller.send(b"ready\n")
        caller.recv(1)
        fault.kind = ""
        if kind == "memory":
            signal.pthread_kill(main_thread, signal.SIGUSR1)
        caller.send(f"{fault.calls} {fault.where}\n".encode())
        caller.close()


def switch_profile(*_: Any) -> None:
    """In the thread of the event loop: count its calls, or do so no more."""
    sys.setprofile(count_calls if fault.kind == "memory" else None)


if __name__ == "__main__":
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
    for each, places in RESOURCES.items():
        for place, attribute in places:
            wrap(place, attribute, each)
    signal.signal(signal.SIGUSR1, switch_profile)
    threading.Thread(target=listen, args=(sys.argv.pop(1),), daemon=True).start()
    sys.exit(main())
