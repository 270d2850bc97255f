"""A server that tells which folders it lists: `python3 -m tests.chaos.listing_server FILE
ARGUMENTS…` is `python3 -m server ARGUMENTS…`.

It appends a line to FILE for each. Python reports them to an audit hook, whichever module lists.
Programs that the server starts are not heard: those are watched in the folders themselves.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from server.__main__ import main

LISTS = ("os.listdir", "os.scandir", "glob.glob", "glob.glob/2")


def tell_to(file: str) -> None:
    told = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    server = os.getpid()

    def _hear(event: str, args: tuple[Any, ...]) -> None:
        if event in LISTS and os.getpid() == server:
            os.write(told, f"{args[0]}\n".encode())

    sys.addaudithook(_hear)


if __name__ == "__main__":
    tell_to(sys.argv.pop(1))
    sys.exit(main())
