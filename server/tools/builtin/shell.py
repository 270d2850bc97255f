"""Programs in the session's folder: a shell command, or Python code."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import IO, Annotated, Any

from ..tool import Context, LimitReached, ToolError, tool
from ..workspace import made_since

KEEP = 48_000  # bytes of output in the result: the beginning and the end
CHUNK = 65_536
QUIET_S = 0.1
LINGER_S = 1.0  # after a program's end, for what the programs that it left behind still say
BASH = "/bin/bash"

# What programs say of a limit that the kernel keeps for each of them: strerror(3) of glibc and
# musl, and what shells say of a child's end.
SAYINGS = (
    (b"Too many open files", "open_files"),
    (b"No file descriptors available", "open_files"),
    (b"File too large", "file_mb"),
    (b"File size limit exceeded", "file_mb"),
    (b"CPU time limit exceeded", "cpu_s"),
    (b"Cannot fork", "processes"),
    (b"Resource temporarily unavailable", "processes"),
    (b"Cannot allocate memory", "memory_mb"),
    (b"MemoryError", "memory_mb"),
)
# How the kernel ends a program at a limit; a shell says 128 + n of the program it ran last.
ENDS = {signal.SIGXFSZ: "file_mb", signal.SIGXCPU: "cpu_s"}


@tool(destructive=True)
def shell(
    ctx: Context, command: Annotated[str, "A command line for bash; for sh where there is no bash"]
) -> dict[str, Any]:
    """Run a shell command in the session's folder and return its exit code and output.

    Standard error is mixed into the output as it came. There is no terminal and no input. Whatever
    is left running in the background ends with the call.
    """
    # What models write is bash, whatever they are told.
    program = BASH if os.path.exists(BASH) else "/bin/sh"  # noqa: PTH110
    return ended(ctx, [program, "-c", command], subprocess.DEVNULL)


@tool(destructive=True)
def python(
    ctx: Context, code: Annotated[str, "Python code; print what you want to see"]
) -> dict[str, Any]:
    """Run Python code in a new process and return its exit code and output.

    Nothing is kept from one call to the next: no variables, no imports, only files in the session's
    folder, which is the working directory. There is no terminal and no input.
    """
    with tempfile.TemporaryFile() as source:  # not an argument: those end at 128 KB (Linux)
        source.write(code.encode("utf-8", "surrogatepass"))
        source.seek(0)
        # -u: what was printed before a crash or a limit is seen. -X utf8: whatever the locale.
        return ended(ctx, [sys.executable, "-u", "-X", "utf8", "-"], source)


def ended(ctx: Context, command: list[str], source: int | IO[bytes]) -> dict[str, Any]:
    """Run a program to its end: its exit code, and the beginning and end of its output. Raises
    LimitReached if the kernel ended it at a limit. Of other limits only the program itself knows:
    if it failed and its output names one, the result has it as `limit`. The files that it made are
    attached."""
    began = file_clock_ns()
    process = subprocess.Popen(
        command,
        stdin=source,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert process.stdout is not None
    head, tail, total = bytearray(), bytearray(), 0
    for data in until_it_ends(process, process.stdout.fileno()):
        sys.stdout.buffer.write(data)  # live, for people
        sys.stdout.buffer.flush()
        total += len(data)
        room = KEEP // 2 - len(head)
        head += data[: max(0, room)]
        tail = (tail + data[max(0, room) :])[-KEEP // 2 :]
    code = process.wait()
    for number, limit in ENDS.items():
        if code in (-number, 128 + number):
            raise LimitReached(limit)
    left_out = total - len(head) - len(tail)
    gap = f"\n… {left_out} bytes left out …\n".encode() if left_out else b""
    result: dict[str, Any] = {
        "exit_code": code,
        "output": (head + gap + tail).decode(errors="replace"),
    }
    if code < 0:
        result["signal"] = -code
    if code and (spoken := spoken_of(bytes(head + b"\n" + tail), ctx.limits)):
        result["limit"] = spoken
    for path in made_since(began):
        with suppress(ToolError):  # gone since, by a program that was left behind
            ctx.attach(path)
    return result


def spoken_of(output: bytes, limits: Mapping[str, float]) -> dict[str, Any] | None:
    """The first limit that an output complains of."""
    for words, name in SAYINGS:
        if words in output and name in limits:
            said = f"the output says {words.decode()}"
            return {"limit": name, "allowed": limits[name], "observed": said}
    return None


def file_clock_ns() -> int:
    """Now, as the kernel will date files: its clock for that ticks a few times slower."""
    if hasattr(time, "CLOCK_REALTIME_COARSE"):
        return time.clock_gettime_ns(time.CLOCK_REALTIME_COARSE)
    return time.time_ns()


def until_it_ends(process: subprocess.Popen[bytes], output: int) -> Iterator[bytes]:
    """Output as it comes, until the shell has ended and nothing more is there: what it left in the
    background may hold the pipe open for ever, and talk for ever, and is killed when the call ends.
    """
    end, held = float("inf"), CHUNK  # held: what a pipe may hold of the shell's own last words
    while True:
        over = time.monotonic() > end
        ready, _, _ = select.select([output], [], [], 0 if over else QUIET_S)
        if ready:
            data = os.read(output, CHUNK)
            if not data:
                return
            yield data
            held -= len(data) if over else 0
            if held < 0:
                return
        elif over or process.poll() is not None:
            return
        if end == float("inf") and process.poll() is not None:
            end = time.monotonic() + LINGER_S
