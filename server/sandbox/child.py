"""The child's side of a tool call: the keeper, which owns all its processes, and the worker.

sandbox/process.py starts it as `python -I -S` with three inherited descriptors: requests, results,
and a lifeline whose other end only the server holds. The keeper forks the worker and watches the
limits that the kernel does not keep per call: memory and number of processes of the whole tree. At
the end, or when the lifeline closes because the server died, it kills whatever is left. As a
subreaper it inherits detached processes, so that none escapes (Linux; elsewhere the process group
is killed). Output cannot be taken for a result, because results have a descriptor of their own that
the tool's programs do not inherit.

This is not a sandbox: the worker has the server's user, files and network. A sandboxed worker
(sandbox/worker.py) ends in `work` too, with a `confine` of its own.
"""

from __future__ import annotations

import ctypes
import errno
import importlib
import json
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn

from .tool_context import Context, LimitReached

WATCH_S = 0.05  # between two measurements of memory and processes
ENDING_S = 2.0  # for a tool that checks Context.cancelled, after the server ended the call
PR_SET_CHILD_SUBREAPER = 36  # prctl(2)
MAX_RESULT = 8 * 1024 * 1024  # bytes of one result
PAGE_KB = resource.getpagesize() // 1024
LIMIT_ERRNOS = {errno.EFBIG: "file_mb", errno.EMFILE: "open_files", errno.EAGAIN: "processes"}


def main(requests: int, results: int, lifeline: int) -> NoReturn:
    """Serve the one call that waits in `requests`, or all calls if the first line is `stateful`."""
    source = open(requests, "rb", buffering=0)
    request = json.loads(source.readline())
    become_subreaper()
    worker = os.fork()
    if worker == 0:
        os.close(lifeline)
        work(request, results, confine, requests if request["stateful"] else -1)
    source.close()
    for output in (1, 2):  # left to the worker, so that they close with the last of its processes
        os.close(output)
    end = keep(worker, lifeline, request["limits"])
    send(results, {"end": end})
    os._exit(0)


def send(results: int, message: dict[str, Any]) -> None:
    """Write one message as a line of JSON."""
    write_all(results, json.dumps(message).encode() + b"\n")


def write_all(results: int, data: bytes) -> None:
    """Write all of `data` to a descriptor. Raises OSError."""
    while data:
        data = data[os.write(results, data) :]


# -- the keeper -----------------------------------------------------------------------------------


def keep(worker: int, lifeline: int, limits: dict[str, float]) -> dict[str, Any]:
    """Wait for the worker within its limits, kill what is left, return how it ended.

    The result has `code`, `cpu_ms`, `max_rss_kb`, and `breach` if a limit was passed.
    """
    breach: dict[str, Any] | None = None
    peak = 0
    status: int | None = None
    watch = os.pidfd_open(worker) if hasattr(os, "pidfd_open") else -1
    waiting = [lifeline] + ([watch] if watch >= 0 else [])
    over_at: float | None = None
    crowd = everyone() + limits["processes"]
    while status is None and (over_at is None or time.monotonic() < over_at):
        ready, _, _ = select.select(waiting, [], [], WATCH_S)
        if lifeline in ready:  # nothing is ever written to it: it was closed
            waiting.remove(lifeline)
            _kill(worker, signal.SIGTERM)  # Context.cancelled
            over_at = time.monotonic() + ENDING_S
        reaped, code = os.waitpid(worker, os.WNOHANG)
        status = code if reaped else None
        # Beside a hundred forking processes a measurement takes seconds, a count does not: stop
        # them while measuring.
        there = everyone()
        if crowded := there > crowd:
            _kill(-worker, signal.SIGSTOP)
        processes, memory_kb = measure()
        peak = max(peak, memory_kb)
        if status is None and (breach := over(limits, processes, memory_kb)):
            break
        if crowded:  # by zombies, or by processes of others
            _kill(-worker, signal.SIGCONT)
            crowd = there + limits["processes"]
    kill_all(worker)
    if status is None:
        _, status = os.waitpid(worker, 0)
    while reap():
        pass
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    found: dict[str, Any] = {
        "code": os.waitstatus_to_exitcode(status),
        "cpu_ms": round((usage.ru_utime + usage.ru_stime) * 1000),
        "max_rss_kb": max(peak, usage.ru_maxrss),
    }
    if breach is None and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU:
        observed = max(found["cpu_ms"] / 1000, limits["cpu_s"])
        breach = {"limit": "cpu_s", "allowed": limits["cpu_s"], "observed": observed}
    return {**found, "breach": breach} if breach else found


def over(limits: dict[str, float], processes: int, memory_kb: int) -> dict[str, Any] | None:
    """Return the breach of `memory_mb` or `processes`, None if there is none."""
    memory_mb = memory_kb // 1024
    if memory_mb > limits["memory_mb"]:
        return {"limit": "memory_mb", "allowed": limits["memory_mb"], "observed": memory_mb}
    if processes > limits["processes"]:
        return {"limit": "processes", "allowed": limits["processes"], "observed": processes}
    return None


def everyone() -> int:
    """Return about how many processes the system has; 0 without /proc."""
    try:
        return len(os.listdir("/proc"))  # noqa: PTH208
    except OSError:
        return 0


def measure() -> tuple[int, int]:
    """Return (number of processes below this one, their resident memory in KiB)."""
    processes = memory = 0
    for pid in descendants():
        try:
            with open(f"/proc/{pid}/statm", "rb") as file:  # noqa: PTH123
                memory += int(file.read().split()[1]) * PAGE_KB
            processes += 1
        except (OSError, IndexError):  # it just ended
            continue
    return processes, memory


def descendants() -> list[int]:
    """Return the pids of all processes below this one, from /proc; [] without /proc."""
    parents: dict[int, int] = {}
    try:
        names = [entry.name for entry in os.scandir("/proc")]
    except OSError:
        return []
    for name in names:
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                    # "pid (any name, spaces and brackets) state ppid ..."
                    state, parent = file.read().rpartition(b")")[2].split()[:2]
                if state != b"Z":  # not a zombie
                    parents[int(name)] = int(parent)
            except (OSError, IndexError, ValueError):
                continue
    ours = {os.getpid()}
    below: list[int] = []
    while found := [pid for pid, parent in parents.items() if parent in ours and pid not in ours]:
        ours.update(found)
        below += found
    return below


def kill_all(worker: int) -> None:
    """Kill until nothing is left: a process may fork during the search."""
    for group in (worker, os.getpgid(0)):
        if group != os.getpgid(0):
            _kill(-group)
    _kill(worker)
    for _ in range(1000):
        left = [pid for pid in descendants() if pid != worker]
        if not left:
            return
        for pid in left:
            _kill(pid)


def _kill(pid: int, number: int = signal.SIGKILL) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        pass


def reap() -> bool:
    """Reap one ended process, own or inherited. Returns whether there was one."""
    try:
        return os.waitpid(-1, os.WNOHANG)[0] > 0
    except ChildProcessError:
        return False


def become_subreaper() -> None:
    """Inherit the tool's orphans, so that they can be killed (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


# -- the worker -----------------------------------------------------------------------------------


def work(
    request: dict[str, Any],
    results: int,
    confine: Callable[[dict[str, Any]], None],
    calls: int = -1,
) -> NoReturn:
    """Run the tool and exit.

    With a descriptor `calls` the request holds what all calls have in common; the calls come there,
    one a line, until it closes.
    """
    os.setpgid(0, 0)
    os.set_inheritable(results, False)
    if calls < 0:
        data = answer(request, results, confine)
        flush()
    else:
        os.set_inheritable(calls, False)
        data = serve(request, calls, results, confine)
    try:
        write_all(results, data)
    except OSError:
        os._exit(1)
    os._exit(0)


def serve(
    own: dict[str, Any], calls: int, results: int, confine: Callable[[dict[str, Any]], None]
) -> bytes:
    """Answer calls until no more come. Returns what remains to be written to `results`.

    `own` holds for all calls. The output of each ends with its `mark`, which the server chose; its
    answer repeats the mark and has the resources that the call took.
    """
    try:
        confine(own)
    except OSError as error:
        return encoded(failure(error) | {"attachments": [], "keep": None})
    with open(calls, "rb") as source:
        for line in source:
            request = {**json.loads(line), "source": own.get("source")}
            before = allow_cpu(request["limits"]["cpu_s"])
            data = answer(request, results, lambda _: None)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            flush()
            write_all(1, request["mark"].encode())
            used = resource.getrusage(resource.RUSAGE_SELF)
            took = {"cpu_ms": round((used.ru_utime + used.ru_stime - before) * 1000)}
            end = {"done": request["mark"], "took": took | {"max_rss_kb": used.ru_maxrss}}
            write_all(results, data + json.dumps(end).encode() + b"\n")
    return b""


def allow_cpu(seconds: float) -> float:
    """Raise this process's soft RLIMIT_CPU by one call. Returns the seconds used so far.

    The supervisor has another limit for the life of the process.
    """
    used = resource.getrusage(resource.RUSAGE_SELF)
    spent = used.ru_utime + used.ru_stime
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    wanted = int(spent + seconds) + 1
    soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))
    return spent


def flush() -> None:
    """Flush stdout and stderr; errors are ignored."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            pass


def answer(
    request: dict[str, Any], results: int, confine: Callable[[dict[str, Any]], None]
) -> bytes:
    """Run one call and return its answer, a line of JSON. Exceptions become messages."""
    attached: dict[str, dict[str, Any]] = {}

    def write(message: dict[str, Any]) -> None:
        """Send a message of the tool's context; attachments are collected for the answer."""
        if "attach" in message:
            folder = importlib.import_module("..tools.workspace", __package__)
            found = folder.attachment(**message["attach"])
            attached[found["path"]] = found
        else:
            send(results, message)

    context = Context(request.get("state", {}), write, request["limits"])
    try:
        confine(request)
        message = {"result": call(request, context)}
    except MemoryError:
        error_text = {"type": "MemoryError", "message": "out of memory", "limit": "memory_mb"}
        message = {"error": error_text}
    except SystemExit as error:
        message = {"error": {"type": "SystemExit", "message": f"the tool exited with {error.code}"}}
    except BaseException as error:
        message = failure(error, request["where"][1])
    return encoded(message | {"attachments": list(attached.values()), "keep": context.keep})


def encoded(message: dict[str, Any]) -> bytes:
    """Encode a result as a line of JSON, or an error if it cannot be encoded or is too large."""
    try:
        if not isinstance(message["keep"], int | None):
            raise TypeError(f"ctx.keep is a number of model calls, not {message['keep']!r:.40}")
        data = json.dumps(message).encode() + b"\n"
        if len(data) > MAX_RESULT:
            raise ValueError(
                f"the result has {len(data)} bytes, and may have {MAX_RESULT}: return less of it,"
                " or write it to a file"
            )
        return data
    except (ValueError, TypeError, RecursionError) as error:
        return json.dumps(failure(error)).encode() + b"\n"


def confine(request: dict[str, Any]) -> None:
    """Set the limits that the kernel keeps and enter the folder. Raises OSError or ValueError."""
    limits = request["limits"]
    for kind, value in (
        (resource.RLIMIT_CPU, limits["cpu_s"]),
        (resource.RLIMIT_FSIZE, limits["file_mb"] * 1024 * 1024),
        (resource.RLIMIT_NOFILE, limits["open_files"]),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        wanted = int(value) if hard == resource.RLIM_INFINITY else min(int(value), hard)
        # CPU: SIGXCPU at the soft limit identifies the breach, SIGKILL follows if it is ignored.
        resource.setrlimit(kind, (wanted, wanted + 1 if kind == resource.RLIMIT_CPU else wanted))
    os.umask(0o077)
    os.chdir(request["folder"])


def call(request: dict[str, Any], context: Context) -> Any:
    """Call the function of the request and return its result.

    Built-in tools take JSON as it is: the server has checked their arguments. An owner's function
    needs its types, so tools/user_tools.py, which imports the schema package, is loaded for it
    alone.
    """
    kind, place, name = request["where"]
    source = request.get("source")
    if kind == "module":
        return getattr(importlib.import_module(place), name)(context, **request["args"])
    if kind in ("import", "survey"):
        imported = importlib.import_module("..tools.package_code", __package__)
        imported.enter(tuple(request["paths"] or ()))
        if kind == "survey":
            return getattr(imported, place)(**request["args"])
        return imported.call(place, name, request["args"], context)
    calling = importlib.import_module("..tools.user_tools", __package__)
    if kind == "describe":
        return calling.describe(place, source)
    return calling.call(place, name, request["args"], context, source)


def failure(error: BaseException, file: str = "") -> dict[str, Any]:
    """Return the error message for an exception: kind, text, and the limit behind it, if any.

    The text begins with the line in the owner's `file`. `trace` is for the server's log only.
    """
    if type(error).__name__ == "ToolError":
        return {"error": {"type": "error", "message": str(error)[:2000]}}
    traceback = importlib.import_module("traceback")  # takes 12 ms, needed for failures only
    trace = "".join(traceback.format_exception(error))[-4000:]
    frames = traceback.extract_tb(error.__traceback__)
    lines = [f"line {frame.lineno}: " for frame in frames if frame.filename == file]
    text = "".join(lines[-1:]) + str(error)[:2000]
    found: dict[str, Any] = {"type": type(error).__name__, "message": text}
    if isinstance(error, OSError) and error.errno in LIMIT_ERRNOS:
        last = frames[-1].line or ""
        started = "fork" in last or "spawn" in last
        if error.errno != errno.EAGAIN or started:  # locks and pipes fail with EAGAIN too
            found["limit"] = LIMIT_ERRNOS[error.errno]
    if isinstance(error, LimitReached):
        found["limit"] = error.limit
    return {"error": found, "trace": trace}
