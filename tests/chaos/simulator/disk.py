"""The files of a world: they have its time, and each write is an effect of a process.

The product calls `os` and `time` in many places. While a world is played these functions are
replaced, so that a kill or a full disk lies exactly before one of them.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Callable, Iterator
from typing import Any

from .loop import PROCESS


@contextlib.contextmanager
def mounted(
    now: Callable[[], float], monotonic: Callable[[], float], number: Callable[[], int]
) -> Iterator[None]:
    """Replace the functions. `number` gives those of random names."""
    real_open, real_write, real_unlink, real_replace = os.open, os.write, os.unlink, os.replace

    def stamp(place: Any) -> None:
        at = now()
        os.utime(place, (at, at))

    def open_(path: Any, flags: int, *more: Any, **named: Any) -> int:
        if flags & (os.O_CREAT | os.O_TRUNC) and (process := PROCESS.get()):
            process.disk_effect()
        made = real_open(path, flags, *more, **named)
        if flags & os.O_CREAT:
            stamp(made)
        return made

    def write(made: int, data: Any) -> int:
        if process := PROCESS.get():
            process.disk_effect()
        size = real_write(made, data)
        stamp(made)
        return size

    def unlink(path: Any, *more: Any, **named: Any) -> None:
        if process := PROCESS.get():
            process.effect()
        real_unlink(path, *more, **named)

    def replace(old: Any, new: Any, *more: Any, **named: Any) -> None:
        if process := PROCESS.get():
            process.disk_effect()
        real_replace(old, new, *more, **named)
        stamp(new)

    replacements: list[tuple[Any, str, Any]] = [
        (os, "open", open_),
        (os, "write", write),
        (os, "unlink", unlink),
        (os, "replace", replace),
        (time, "time", now),
        (time, "time_ns", lambda: int(now() * 1e9)),
        (time, "monotonic", monotonic),
        (time, "perf_counter", monotonic),
        (time, "monotonic_ns", lambda: int(monotonic() * 1e9)),
        (secrets, "token_hex", lambda size=16: f"{number():0{2 * size}x}"),
    ]
    before = [(module, name, getattr(module, name)) for module, name, _ in replacements]
    for module, name, stand_in in replacements:
        setattr(module, name, stand_in)
    try:
        yield
    finally:
        for module, name, real in before:
            setattr(module, name, real)
