"""Where the C library takes the memory of this process from."""

from __future__ import annotations

import ctypes
from contextlib import suppress

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -3, -8  # of mallopt(3)
SEPARATE = 1 << 20  # bytes of a block that are mapped for it alone
MOST_FREE = 16 << 20  # bytes that stay free at the end of the heap


def set_up_heap() -> None:
    """Let all threads take memory from one arena, and large blocks from outside it.

    Call it before the first thread begins. Does nothing with other C libraries.

    glibc gives each thread an arena of its own, so that none waits for another. Threads of Python
    run one at a time anyway. What one makes and another frees, such as the text of a long request,
    is then given back to the system and taken again with every request: a sixth of the CPU time of
    a turn on 5,000 messages.

    The first large body that is freed would raise glibc's thresholds to its size, 32 MB: later
    ones are made in the heap, and 64 MB and all between two blocks in use stay with the process.
    """
    with suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(M_ARENA_MAX, 1)
        mallopt(M_MMAP_THRESHOLD, SEPARATE)
        mallopt(M_TRIM_THRESHOLD, MOST_FREE)


def give_back() -> None:
    """Return to the system what is free in the heap.

    glibc keeps free memory below what is in use, so after many requests a quiet process has more
    than it needs. Takes milliseconds; does nothing with other C libraries.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)
