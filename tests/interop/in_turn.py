"""`python -m tests.interop.in_turn FILE MODULE …`: runs a module as a program, once no other of
those that name the same file is running. What is started at once does not slow each other down."""

from __future__ import annotations

import fcntl
import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    _, place, module, *arguments = sys.argv
    with Path(place).open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        sys.argv = [module, *arguments]
        runpy.run_module(module, run_name="__main__", alter_sys=True)
