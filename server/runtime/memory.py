"""Where the C library takes the memory of this process from."""

from __future__ import annotations

import ctypes
from contextlib import suppress

M_ARENA_MAX = -8  # of mallopt(3)


def use_one_arena() -> None:
    """Let all threads take memory from one arena; call it before the first thread begins.

    glibc gives each thread an arena of its own, so that none waits for another. Threads of Python
    run one at a time anyway. What one makes and another frees, such as the text of a long request,
    is then given back to the system and taken again with every request: a sixth of the CPU time of
    a turn on 5,000 messages. Does nothing with other C libraries.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)


def give_back() -> None:
    """Return to the system what is free in the heap.

    glibc keeps free memory below what is in use, so after large requests a quiet process has more
    than it needs. Takes milliseconds; does nothing with other C libraries.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
