"""Load and run the owner's Python files that run in the server's process.

Used for hooks, model adapters (`models/`) and sources of tools. Such code has all rights of the
server, so a file that another user can write is refused. It runs inside an `Outcome`, which catches
what it raises.
"""

from __future__ import annotations

import asyncio
import importlib.util
import sys
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from .file_trust import distrust_reason

MAX_TOLD = 200  # characters of the exception's text


@dataclass
class ErrorCapture:
    """A context manager that runs foreign code and keeps the exception that it raised in `error`.

    Catches Exception and SystemExit only.
    """

    value: Any = None
    error: BaseException | None = field(default=None)

    def __enter__(self) -> ErrorCapture:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, Exception | SystemExit):
            self.error = error
            return True
        return False

    @property
    def error_line(self) -> str:
        """Return the exception in one line for the owner, "" if there was none."""
        if self.error is None:
            return ""
        where = f" in line {self.error.lineno}" if isinstance(self.error, SyntaxError) else ""
        return f"{type(self.error).__name__}{where}: {str(self.error)[:MAX_TOLD]}"


class _Source(SourceFileLoader):
    """A loader that compiles the file each time.

    Cached bytecode is compared by seconds and size alone, and a file may change more often.
    """

    def get_code(self, fullname: str) -> CodeType:
        """Compile the file, ignoring cached bytecode."""
        return self.source_to_code(self.get_data(self.path), self.path)


def load(path: Path, kind: str) -> ModuleType | str:
    """Return the file as a module, or why it is refused.

    `kind` is part of the module's name, so that files of different folders do not collide.
    """
    if why := distrust_reason(path):
        return why
    package = (__package__ or "").partition(".")[0]
    sys.modules.setdefault("yaa", sys.modules[package])  # `from yaa import …` in a checkout
    name = f"yaa_{kind}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path, loader=_Source(name, str(path)))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with ErrorCapture() as outcome:
        spec.loader.exec_module(module)
    return outcome.error_line or module


async def run_async(function: Callable[..., Any], *args: Any) -> ErrorCapture:
    """Await an `async def` inside an Outcome."""
    with ErrorCapture() as outcome:
        outcome.value = await function(*args)
    return outcome


async def run_in_thread(function: Callable[..., Any], *args: Any) -> ErrorCapture:
    """Run a plain function in a daemon thread, so that it does not keep the process alive.

    When this is cancelled the thread goes on: nothing can end one.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()
    outcome = ErrorCapture()

    def settle() -> None:
        """Wake the waiting task, unless it was cancelled."""
        if not done.done():
            done.set_result(None)

    def work() -> None:
        """Run the function in the thread."""
        with outcome:
            outcome.value = function(*args)
        with suppress(RuntimeError):  # the loop is closed: the server has stopped
            loop.call_soon_threadsafe(settle)

    threading.Thread(target=copy_context().run, args=(work,), daemon=True).start()
    await done
    return outcome


class UnfinishedCalls:
    """The calls of some objects that were given up and still run: nothing can end a thread.

    An object with `most` of them is not called.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._counts: Counter[int] = Counter()  # by id of the object

    def refusal(self, owner: object) -> str:
        """Return why an object is not called, "" if it may be."""
        count = self._counts[id(owner)]
        return f"is not called: {count} earlier calls have not come back" * (count >= self._most)

    def add(self, owner: object, call: asyncio.Future[Any]) -> None:
        """Count a call until it ends."""
        self._counts[id(owner)] += 1

        def remove(_: Any) -> None:
            """Count it no more."""
            self._counts[id(owner)] -= 1

        call.add_done_callback(remove)

    async def call(
        self,
        owner: object,
        function: Callable[..., Any],
        *args: Any,
        is_async: bool,
        limit_s: float,
    ) -> ErrorCapture | None:
        """Call a function of an object. Return None after `limit_s` seconds: it is given up."""
        task = asyncio.ensure_future((run_async if is_async else run_in_thread)(function, *args))
        try:
            await asyncio.wait({task}, timeout=limit_s)
        finally:
            if not task.done():
                self.add(owner, task)
                if is_async:
                    task.cancel()
        return task.result() if task.done() and not task.cancelled() else None
