"""The child's side of a tool call: running the tool, with and without a sandbox.

process.py starts a plain child as `python -I -S` with three inherited descriptors: requests,
results, and a lifeline whose other end only the server holds. `main` forks the process of the tool
and supervises it (supervisor.py). As a subreaper it inherits detached processes, so that none
escapes (Linux; elsewhere the process group is killed). Output cannot be taken for a result, because
results have a descriptor of their own that the tool's programs do not inherit.

This is not a sandbox: the tool has the server's user, files and network. A sandboxed worker
(sandbox/worker.py) ends in `work` too, with a `confine` of its own.
"""

from __future__ import annotations

import ctypes
import errno
import importlib
import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from .supervisor import Supervisor
from .tool_context import Context, LimitReached

PR_SET_CHILD_SUBREAPER = 36  # prctl(2)
MAX_RESULT = 8 * 1024 * 1024  # bytes of one result
LIMIT_ERRNOS = {errno.EFBIG: "file_mb", errno.EMFILE: "open_files", errno.EAGAIN: "processes"}


def main(requests: int, results: int, lifeline: int) -> NoReturn:
    """Serve the one call that waits in `requests`, or all calls if the first line is `stateful`."""
    source = open(requests, "rb", buffering=0)
    request = json.loads(source.readline())
    become_subreaper()
    tool = os.fork()
    if tool == 0:
        os.close(lifeline)
        work(request, results, set_limits, requests if request["stateful"] else -1)
    source.close()
    for output in (1, 2):  # left to the tool, so that they close with the last of its processes
        os.close(output)
    supervisor = Supervisor(tool, lifeline, request["limits"])  # nothing limits the folder
    send(results, {"end": supervisor.run()})
    os._exit(0)


def send(results: int, message: dict[str, Any]) -> None:
    """Write one message as a line of JSON."""
    write_all(results, json.dumps(message).encode() + b"\n")


def write_all(results: int, data: bytes) -> None:
    """Write all of `data` to a descriptor. Raises OSError."""
    while data:
        data = data[os.write(results, data) :]


def become_subreaper() -> None:
    """Inherit the tool's orphans, so that they can be killed (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


# -- the tool -------------------------------------------------------------------------------------


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
        data = answer_call(request, results, confine)
        flush()
    else:
        os.set_inheritable(calls, False)
        data = serve_calls(request, calls, results, confine)
    try:
        write_all(results, data)
    except OSError:
        os._exit(1)
    os._exit(0)


def serve_calls(
    own: dict[str, Any], calls: int, results: int, confine: Callable[[dict[str, Any]], None]
) -> bytes:
    """Answer calls until no more come. Returns what remains to be written to `results`.

    `own` holds for all calls. The output of each ends with its `mark`, which the server chose; its
    answer repeats the mark and has the resources that the call took.
    """
    try:
        confine(own)
    except OSError as error:
        return encode(failure_message(error) | {"attachments": [], "keep": None})
    with open(calls, "rb") as source:
        for line in source:
            request = {**json.loads(line), "source": own.get("source")}
            before = allow_cpu(request["limits"]["cpu_s"])
            data = answer_call(request, results, lambda _: None)
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


def answer_call(
    request: dict[str, Any], results: int, confine: Callable[[dict[str, Any]], None]
) -> bytes:
    """Run one call and return its answer, a line of JSON. Exceptions become messages."""
    attached: dict[str, dict[str, Any]] = {}
    shown: dict[str, dict[str, Any]] = {}

    def write(message: dict[str, Any]) -> None:
        """Send a message of the tool's context; files for people and the model are collected."""
        if "attach" in message:
            found = importlib.import_module(request["calls"]).attachment(**message["attach"])
            attached[found["path"]] = found
        elif "show" in message:
            found = importlib.import_module(request["calls"]).shown_file(shown, **message["show"])
            shown[found["path"]] = found
        else:
            send(results, message)

    context = Context(request.get("state", {}), write, request["limits"])
    context.guarded = request.get("guarded", False)
    try:
        confine(request)
        message = {"result": call_function(request, context)}
    except MemoryError:
        error_text = {"type": "MemoryError", "message": "out of memory", "limit": "memory_mb"}
        message = {"error": error_text}
    except SystemExit as error:
        message = {"error": {"type": "SystemExit", "message": f"the tool exited with {error.code}"}}
    except BaseException as error:
        message = failure_message(error, request["where"][1])
    answer = message | {"attachments": list(attached.values()), "keep": context.keep}
    return encode(answer | ({"media": list(shown.values())} if shown else {}))


def encode(message: dict[str, Any]) -> bytes:
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
        return json.dumps(failure_message(error)).encode() + b"\n"


def set_limits(request: dict[str, Any]) -> None:
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
    os.nice(request.get("nice", 0))
    os.umask(request["umask"])
    os.chdir(request["folder"])


def call_function(request: dict[str, Any], context: Context) -> Any:
    """Call the function of the request and return its result.

    That of a module takes JSON as it is; what else `where` may name is known to the module `calls`.
    """
    kind, place, name = request["where"]
    if request["environment"]:
        calls = importlib.import_module(request["calls"])
        calls.enter_environment(request["environment"], tuple(request["paths"]))
    if kind == "module":
        return getattr(importlib.import_module(place), name)(context, **request["args"])
    return importlib.import_module(request["calls"]).call(request, context)


def failure_message(error: BaseException, file: str = "") -> dict[str, Any]:
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
    failure: dict[str, Any] = {"type": type(error).__name__, "message": text}
    if isinstance(error, OSError) and error.errno in LIMIT_ERRNOS:
        last = frames[-1].line or ""
        started = "fork" in last or "spawn" in last
        if error.errno != errno.EAGAIN or started:  # locks and pipes fail with EAGAIN too
            failure["limit"] = LIMIT_ERRNOS[error.errno]
    if isinstance(error, LimitReached):
        failure["limit"] = error.limit
    return {"error": failure, "trace": trace}
