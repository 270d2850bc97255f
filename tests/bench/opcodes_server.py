"""A server that counts the instructions of the interpreter: started by tests/bench/opcodes.py.

`opcodes_server.py FILE …` runs `python3 -m server …` of the current folder. SIGUSR1 begins to count
in all threads; the next one writes the numbers to FILE, as JSON: [[file, function, number], …].
"""

from __future__ import annotations

import json
import runpy
import signal
import sys
import threading
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

counts: Counter[CodeType] = Counter()
counting = False


def in_call(frame: FrameType, event: str, arg: Any) -> Any:
    """Trace a function from its call on, one that is called while this counts."""
    if not counting:
        return None
    frame.f_trace_opcodes, frame.f_trace_lines = True, False
    return in_function


def in_function(frame: FrameType, event: str, arg: Any) -> Any:
    """Count one instruction."""
    if event == "opcode":
        counts[frame.f_code] += 1
    return in_function


def switch(*_: Any) -> None:
    """Begin to count, or write what was counted."""
    global counting
    counting = not counting
    sys.settrace(in_call if counting else None)
    if not counting:
        rows = [(code.co_filename, code.co_name, number) for code, number in counts.items()]
        draft = Path(f"{RESULT}.draft")
        draft.write_text(json.dumps(rows))
        draft.replace(RESULT)
        counts.clear()


if __name__ == "__main__":
    RESULT = sys.argv.pop(1)
    sys.path[0] = str(Path.cwd())
    signal.signal(signal.SIGUSR1, switch)
    threading.settrace(in_call)
    runpy.run_module("server", run_name="__main__", alter_sys=True)
