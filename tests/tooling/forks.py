"""Starts of `python3 -m server` that need no new interpreter: a process with its modules forks.
So does the model server of the tests.

Loading the server takes three quarters of the processor time of a start. In a suite, and in modules
of tests with `setUpModule = forks.use`, one process loads it, and each start is a fork of it with
streams, variables and a folder of its own, which then runs `server/__main__.py`. A command that is
not this one, or whose variables the interpreter reads itself, is started as ever: `-u` asks for it.

Most of the rest of a start proves the sandbox. The first fork does that for each configuration of
it, and the others use its proof (tests/proofs.py).
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import io
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from . import source, tools

OF_PYTHON = ("PYTHON", "LC_", "LANG", "LD_", "MALLOC_")  # an interpreter reads these at its start
UNBUFFERED = "PYTHONUNBUFFERED"
READ_HERE = (UNBUFFERED, "PYTHONPATH")  # of them, what a fork heeds
# Flags of an interpreter that a fork can be like.
FLAGS: tuple[list[str], ...] = ([], ["-W", "error"], ["-W", "error", "-P"])
REQUEST_BYTES = 1 << 20
STATUS_BYTES = 64
PROGRAMS = ("server", "tests.bench.provider")  # of this checkout


def use() -> None:
    """Fork what can be forked until the end of the module of tests that runs now."""
    if sys.platform == "linux":
        use_server(_shared())


def use_always() -> None:
    """Fork what can be forked as long as this process runs."""
    global _always
    _always = sys.platform == "linux"


def use_server(server: Server) -> None:
    """Fork from this one until the end of the module of tests that runs now."""
    _servers.append(server)
    unittest.addModuleCleanup(_servers.remove, server)


def can_fork(command: Sequence[str], env: Mapping[str, str], cwd: Path) -> bool:
    """Tell whether a command starts one of PROGRAMS in an interpreter like ours."""
    begins = ([sys.executable, *flags, "-m", each] for flags in FLAGS for each in PROGRAMS)
    like_ours = any([*command][: len(begin)] == begin for begin in begins)
    finds_it = cwd == tools.ROOT or env.get("PYTHONPATH") == str(tools.ROOT)
    if not (like_ours and finds_it and (_servers or _always)):
        return False
    return _server().of_python == _of_python(env)


def _of_python(env: Mapping[str, str]) -> dict[str, str]:
    names = (name for name in env if name.startswith(OF_PYTHON) and name not in READ_HERE)
    return {name: env[name] for name in names}


class Fork:
    """A process that was forked for a command, with the methods of subprocess.Popen that tests use.

    Standard input is a pipe if `keep_input`, else empty. Standard output is one, and so is
    standard error unless it is `joined` to it.
    """

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str],
        *,
        keep_input: bool = False,
        joined: bool = False,
        cwd: Path = tools.ROOT,
        new_session: bool = False,
        text: bool = False,
    ) -> None:
        self.args = list(command)
        self.returncode: int | None = None
        self.stdin: IO[Any] | None = None
        self._waiting = threading.Lock()
        give, give_end = os.pipe() if keep_input else (os.open(os.devnull, os.O_RDONLY), -1)
        out_end, out = os.pipe()
        err_end, err = (-1, os.dup(out)) if joined else os.pipe()
        self._status, status = os.pipe()
        about: dict[str, Any] = {"command": self.args, "env": dict(env), "cwd": str(cwd)}
        about["new_session"] = new_session
        theirs = [give, out, err, status]
        sys.audit("os.fork")  # suite.py notes who starts programs
        try:
            self.pid = _server().ask(about, theirs)
        finally:
            for each in theirs:
                os.close(each)
        kind, errors = ("", "replace") if text else ("b", None)
        if keep_input:
            self.stdin = os.fdopen(give_end, "w" + kind, errors=errors)
        self.stdout = os.fdopen(out_end, "r" + kind, errors=errors)
        self.stderr = None if joined else os.fdopen(err_end, "r" + kind, errors=errors)

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit code when it has ended. Raises subprocess.TimeoutExpired."""
        with self._waiting:
            if self.returncode is None:
                if not select.select([self._status], [], [], timeout)[0]:
                    raise subprocess.TimeoutExpired(self.args, timeout or 0)
                text = os.read(self._status, STATUS_BYTES)
                os.close(self._status)
                if not text:
                    raise RuntimeError("the process that forks has ended")
                self.returncode = int(text)
            return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def communicate(self, give: bytes = b"", timeout: float | None = None) -> tuple[bytes, bytes]:
        """Write `give`, read both streams to their ends and wait for the process."""
        got: dict[str, bytes] = {}

        def read(name: str, stream: IO[Any] | None) -> None:
            """Read a stream to its end."""
            if stream is not None:
                with stream:
                    got[name] = stream.read()

        def write() -> None:
            """Give it the input; it may leave before it has read all."""
            if self.stdin is not None:
                with contextlib.suppress(BrokenPipeError), self.stdin as stream:
                    stream.write(give)

        threads = [threading.Thread(target=write)]
        for name in ("stdout", "stderr"):
            threads.append(threading.Thread(target=read, args=(name, getattr(self, name))))
        for thread in threads:
            thread.start()
        try:
            self.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        finally:
            for thread in threads:
                thread.join()
        return got["stdout"], got.get("stderr", b"")


def popen(
    command: Sequence[str], env: Mapping[str, str], cwd: Path = tools.ROOT
) -> subprocess.Popen[bytes] | Fork:
    """Start a command with pipes for its three streams."""
    if can_fork(command, env, cwd):
        return Fork(command, env, keep_input=True, cwd=cwd)
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=cwd, env=env, stdin=pipe, stdout=pipe, stderr=pipe)


def run(
    command: Sequence[str],
    env: Mapping[str, str],
    give: str | bytes = b"",
    *,
    cwd: Path = tools.ROOT,
    timeout: float,
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, as subprocess.run with captured output does."""
    with contextlib.ExitStack() as stack:
        process = popen(command, env, cwd)
        stack.callback(process.wait)
        stack.callback(process.kill)
        given = give.encode() if isinstance(give, str) else give
        out, err = (part.decode() for part in process.communicate(given, timeout))
        return subprocess.CompletedProcess(process.args, process.wait(), out, err)


# -- the process that forks -----------------------------------------------------------------------

_servers: list[Server] = []  # of the module of tests that runs now
_always = False


def _server() -> Server:
    return _servers[-1] if _servers else _shared()


@cache
def _shared() -> Server:
    """Return the one of all modules that this process runs."""
    server = Server()
    atexit.register(server.close)
    return server


class Server:
    """Our end of the process that forks. It ends when this one does."""

    def __init__(self) -> None:
        self.of_python = _of_python(os.environ)
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for each in (self._ours, theirs):
            each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, REQUEST_BYTES)
        self._asking = threading.Lock()
        self._proofs = tempfile.TemporaryDirectory(prefix="yaa-proofs-")
        with theirs:
            told = f"{theirs.fileno()}, {self._proofs.name!r}"
            code = f"from tests.tooling import forks; forks.serve({told})"
            self._process = subprocess.Popen(
                [sys.executable, "-c", code],
                cwd=tools.ROOT,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )

    def ask(self, about: dict[str, Any], descriptors: list[int]) -> int:
        with self._asking:
            socket.send_fds(self._ours, [json.dumps(about).encode()], descriptors)
            return int(self._ours.recv(STATUS_BYTES))

    def close(self) -> None:
        self._ours.close()
        self._process.wait()
        self._proofs.cleanup()


def serve(descriptor: int, proofs: str) -> None:
    """Fork for each request that comes on a socket; returns at its end, or runs in a fork.

    `proofs`: a folder for what forks have proven of the sandbox.
    """
    for name in source.paths():  # those of the extensions too: a third of a start loads them
        import_module(name)
    import_module(PROGRAMS[1])
    import_module("tests.proofs").share(Path(proofs))
    _warm_up()
    for name in ("server.__main__", PROGRAMS[1]):  # a fork runs one of them
        del sys.modules[name]
    gc.collect()
    gc.freeze()
    woken, wakes = os.pipe()
    os.set_blocking(wakes, False)
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(wakes, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # a fork gets it when it is ready
    statuses: dict[int, int] = {}
    with socket.socket(fileno=descriptor) as asked:
        while True:
            ready = select.select([descriptor, woken], [], [])[0]
            if woken in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(woken, REQUEST_BYTES)
                _reap(statuses)
            if descriptor not in ready:
                continue
            text, descriptors, _, _ = socket.recv_fds(asked, REQUEST_BYTES, 4)
            if not text:
                return
            about = json.loads(text)
            pid = os.fork()
            if not pid:
                if about["new_session"]:  # before anybody knows the pid, and may signal its group
                    os.setsid()
                asked.send(str(os.getpid()).encode())
                break
            *streams, statuses[pid] = descriptors
            for each in streams:
                os.close(each)
    _become(about, descriptors)


def _warm_up() -> None:
    """Make the parts of a server once: schemas and expressions that it keeps are kept for all."""
    with tempfile.TemporaryDirectory(prefix="yaa-warm-") as home:
        config = import_module("server.config").load(Path(home), None, {}, {})
        app = import_module("server.app")
        app.routes(app.App(config, {}), app.Keys([], required=False))


def _reap(statuses: dict[int, int]) -> None:
    """Tell the exit code of each fork that has ended."""
    for pid in [*statuses]:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            with contextlib.suppress(BrokenPipeError):
                os.write(statuses[pid], str(os.waitstatus_to_exitcode(status)).encode())
            os.close(statuses.pop(pid))


def _become(about: dict[str, Any], descriptors: list[int]) -> None:
    """Run the command in this process, as an interpreter that was started for it would."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    for number, each in enumerate(descriptors[:3]):
        os.dup2(each, number)
    os.closerange(3, 1 + max(int(each.name) for each in Path("/proc/self/fd").iterdir()))
    os.environ.clear()
    os.environ.update(about["env"])
    time.tzset()
    os.chdir(about["cwd"])
    command = about["command"]
    # "" stands there for the code of this process; server/__init__.py removes what is elsewhere.
    sys.path[:1] = [str(tools.ROOT)] if about["cwd"] == str(tools.ROOT) else []
    at = command.index("-m")
    if "error" in command[:at]:
        sys.warnoptions.append("error")
        warnings.simplefilter("error")
    if UNBUFFERED in os.environ:
        for number, name in ((1, "stdout"), (2, "stderr")):
            raw = io.FileIO(number, "w", closefd=False)
            setattr(sys, name, io.TextIOWrapper(raw, write_through=True))
    sys.orig_argv = [*command]
    sys.argv = ["-m", *command[at + 2 :]]
    try:
        runpy.run_module(command[at + 1], run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if not isinstance(end.code, int):
            raise
        _leave(end.code)


def _leave(code: int) -> None:
    """End as an interpreter does, but for taking apart what was loaded before the fork, which
    copies its pages: a quarter of the processor time of a short command."""
    vars(threading)["_shutdown"]()
    atexit._run_exitfuncs()
    gc.collect()  # warns of what was left open
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
