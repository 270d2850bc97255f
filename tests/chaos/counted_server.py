"""A server that tells what Python has in use: `python3 -m tests.chaos.counted_server FILE
ARGUMENTS…` is `python3 -m server ARGUMENTS…`.

At each SIGUSR2 it collects its garbage, and appends the number of blocks of memory to FILE. What
the system gave it says less: Python gives 1 MiB back only once nothing in it is in use.
"""

from __future__ import annotations

import gc
import signal
import sys
from pathlib import Path
from typing import Any

from server.__main__ import main


def tell(file: str) -> None:
    gc.collect()
    with Path(file).open("a") as told:
        print(sys.getallocatedblocks(), file=told)


if __name__ == "__main__":
    file = sys.argv.pop(1)

    def obey(*_: Any) -> None:
        tell(file)

    signal.signal(signal.SIGUSR2, obey)
    sys.exit(main())
