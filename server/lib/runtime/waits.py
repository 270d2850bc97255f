"""Say what a request waits for to whoever shows it, once the wait is worth a word.

`wait_notice` stands around each wait; the stream of a run, or a terminal, is the `listener`.
Nothing of it is kept in a session: a wait that is over is no state.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

SHORT_S = 1.0  # a wait that is over by then is not said
QUIET_S = 5.0  # the same for the first word of a model, which is expected to take a while

listener: ContextVar[Callable[[dict[str, Any]], object] | None] = ContextVar(
    "yaa_waits", default=None
)


@contextmanager
def wait_notice(
    awaits: str, left_s: float | None = None, *, after_s: float = 0, **about: Any
) -> Iterator[None]:
    """Say what the block waits for, where it lasts longer than `after_s`.

    `awaits`: retry, model, interval or place. `left_s`: the seconds that it lasts, at most, from
    its beginning; None if that is not known. `about`: attempt, of, cause.
    """
    tell = listener.get()
    if tell is None or (left_s is not None and left_s - after_s < SHORT_S):
        yield
        return
    wait: dict[str, Any] = {"awaits": awaits, "waited_s": round(after_s, 1), **about}
    if left_s is not None:
        wait["left_s"] = round(left_s - after_s, 1)
    if not after_s:
        tell(wait)
        yield
        return
    timer = asyncio.get_running_loop().call_later(after_s, tell, wait)
    try:
        yield
    finally:
        timer.cancel()
