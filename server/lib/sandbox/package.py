"""What a call has of a package of the owner's: an interpreter, folders, variables, a pool."""

from __future__ import annotations

import stat
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..runtime.file_stamps import MOST, Stamp, stamp_of
from .worker_pool import WorkerPool


@dataclass(eq=False)
class Package:
    """One entry of `server.tool_modules`, or an environment.

    modules      `name`, `name.*` with all below it, or `name:Class`
    functions    {function: "module:name" or "module:Class.name", and settings of @tool}
    interpreter  the program that runs them
    paths        folders in which modules are looked up
    env          variables of a call, secrets included
    secrets      values masked in every result
    stateful     whether a session keeps one process
    environment  the folder of an environment, which calls enter; "" for an entry
    roots        everything that a call may read besides the system
    pool         where calls run; None without a sandbox
    preload      modules that its calls import, loaded once and not in each
    version      differs after the files have changed
    """

    name: str
    modules: tuple[str, ...] = ()
    functions: tuple[dict[str, Any], ...] = ()
    interpreter: str = sys.executable
    paths: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    stateful: bool = False
    roots: tuple[str, ...] = ()
    environment: str = ""
    pool: WorkerPool | None = None
    preload: tuple[str, ...] = ()
    version: int = 0
    files: dict[str, Stamp] = field(default_factory=dict)  # those that are watched

    def watch(self, files: Iterable[Any]) -> None:
        """Store the stamps of those files that lie in `paths` or `roots`."""
        known = [f for f in files if isinstance(f, str) and self._is_own_file(f)]
        self.files = {file: stamp_of(file) for file in known}

    def candidates(self) -> list[str]:
        """Return the possible files of the modules, also of those that could not be imported."""
        names = {each.partition(":")[0] for each in self.modules}
        names |= {each["function"].partition(":")[0] for each in self.functions}
        parts = [name.removesuffix(".*").replace(".", "/") for name in sorted(names)]
        ends = (".py", "/__init__.py")
        return [f"{path}/{part}{end}" for path in self.paths for part in parts for end in ends]

    def may_have_changed(self) -> bool:
        """Return whether `has_changed` is worth a thread. Fast enough for the event loop."""
        return len(self.files) > MOST or self.has_changed()

    def has_changed(self) -> bool:
        """Return whether a watched file has changed."""
        return any(stamp_of(file) != stamp for file, stamp in self.files.items())

    def _is_own_file(self, file: str) -> bool:
        path = Path(file)
        inside = any(path.is_relative_to(root) for root in (*self.paths, *self.roots))
        return inside and ".." not in path.parts


def closed_folder(user: int, package: Package) -> str:
    """Return the first folder of a package that another user may not read; "" for none."""
    for place in package.paths:
        about = Path(place).stat()
        if about.st_uid != user and about.st_mode & 0o5 != 0o5 and stat.S_ISDIR(about.st_mode):
            return place
    return ""
