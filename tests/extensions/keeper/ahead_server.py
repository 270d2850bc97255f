"""A server whose clock is wrong: `python3 -m tests.extensions.keeper.ahead_server SECONDS …`
is `python3 -m server …` on a machine whose clock is so far ahead.

Dates come from another clock of Python, which stays right; files have the times of the machine.
"""

from __future__ import annotations

import sys
import time

if __name__ == "__main__":
    seconds, right = float(sys.argv.pop(1)), time.time
    time.time = lambda: right() + seconds
    from server.__main__ import main

    sys.exit(main())
