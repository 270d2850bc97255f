"""The tools `shell` and `python`: programs that run in the workspace."""

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

from ..decorators import COMMAND, Context, LimitReached, ToolError, tool
from ..workspace import made_since
from .terminal_text import TerminalText

KEEP = 48_000  # bytes of output in the result: the beginning and the end
CHUNK = 65_536
CUT = "\n… more than output_kb allows: what follows is in the result …\n".encode()
QUIET_S = 0.1
LINGER_S = 1.0  # for output of background programs after the program itself has ended
BASH = "/bin/bash"
CLOCK_REALTIME_COARSE = 5  # clock_gettime(2), on Linux; the module `time` has no name for it

# Messages of programs that meet a limit of the kernel: strerror(3) of glibc and musl, and the
# shells' messages on how a child ended.
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
# Signals by which the kernel enforces limits; a shell reports 128 + n for its last program.
ENDS = {signal.SIGXFSZ: "file_mb", signal.SIGXCPU: "cpu_s"}


@tool(destructive=True)
def shell(
    ctx: Context,
    command: Annotated[str, "A command line for bash; for sh where there is no bash", COMMAND],
) -> dict[str, Any]:
    """Run a shell command in the session's folder and return its exit code and output.

    Standard error is mixed into the output as it came. There is no terminal and no input. Whatever
    is left running in the background ends with the call.
    """
    # Models write bash, whatever shell the description names.
    program = BASH if os.path.exists(BASH) else "/bin/sh"  # noqa: PTH110
    return run_program(ctx, [program, "-c", command], subprocess.DEVNULL)


@tool(destructive=True)
def python(
    ctx: Context, code: Annotated[str, "Python code; print what you want to see"]
) -> dict[str, Any]:
    """Run Python code in a new process and return its exit code and output.

    Nothing is kept from one call to the next: no variables, no imports, only files in the session's
    folder, which is the working directory. There is no terminal and no input. Look at a picture it
    saved with read_file.
    """
    with tempfile.TemporaryFile() as source:  # Linux limits an argument to 128 KB
        source.write(code.encode("utf-8", "surrogatepass"))
        source.seek(0)
        # -u keeps output from before a crash or limit. -X utf8 ignores the locale.
        return run_program(ctx, [sys.executable, "-u", "-X", "utf8", "-"], source)


def run_program(ctx: Context, command: list[str], source: int | IO[bytes]) -> dict[str, Any]:
    """Run a program and return {exit_code, output, output_dropped?, signal?, limit?}; attach the
    files that it made.

    `output`: beginning and end, KEEP bytes, as a terminal would show them. What goes beyond the
    limit `output_kb` is no longer shown while it runs; the program goes on. `limit`: a limit that
    the output of a failed program names, for limits that only the program itself notices. Raises
    LimitReached if the kernel ended the program at a limit.
    """
    began = file_clock_ns()
    process = subprocess.Popen(
        command,
        stdin=source,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert process.stdout is not None
    text, live = TerminalText(KEEP), ctx.limits.get("output_kb", float("inf")) * 1024 - len(CUT)
    for data in until_it_ends(process, process.stdout.fileno()):
        text.feed(data)
        if live > 0:
            live -= len(data)
            sys.stdout.buffer.write(data if live > 0 else data[: int(live) or None] + CUT)
            sys.stdout.buffer.flush()
    code = process.wait()
    output = text.end()
    for number, limit in ENDS.items():
        if code in (-number, 128 + number):
            raise LimitReached(limit)
    result: dict[str, Any] = {"exit_code": code, "output": output.decode(errors="replace")}
    if text.gap_size:
        result["output_dropped"] = text.gap_size
    if code < 0:
        result["signal"] = -code
    if code and (spoken := limit_in_output(output, ctx.limits)):
        result["limit"] = spoken
    for path in made_since(began):
        with suppress(ToolError):  # a background program may have removed it
            ctx.attach(path)
    return result


def limit_in_output(output: bytes, limits: Mapping[str, float]) -> dict[str, Any] | None:
    """Return {limit, allowed, observed} of the first limit that the output names; None if none."""
    for words, name in SAYINGS:
        if words in output and name in limits:
            said = f"the output says {words.decode()}"
            return {"limit": name, "allowed": limits[name], "observed": said}
    return None


def file_clock_ns() -> int:
    """Return the time as the kernel stamps files, whose clock is coarser than the system's."""
    is_linux = sys.platform == "linux"
    return time.clock_gettime_ns(CLOCK_REALTIME_COARSE if is_linux else time.CLOCK_REALTIME)


def until_it_ends(process: subprocess.Popen[bytes], output: int) -> Iterator[bytes]:
    """Yield output until the program has ended and nothing more is buffered.

    Background programs may hold the pipe open and write for ever; their output ends LINGER_S
    seconds after the program, and they are killed when the call ends.
    """
    end, held = float("inf"), CHUNK  # held: bytes of the program's own that the pipe may hold
    while True:
        ended = process.poll() is not None  # first: what it wrote at last is in the pipe by then
        end = min(end, time.monotonic() + LINGER_S) if ended else end
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
        elif ended:
            return
