"""Packages that tools use: their folders, variables and pools.

They are the owner's own (`server.tool_modules`), or an environment (sandbox/environments.py).

parts.py lists their tools, runner.py runs calls in `pool`. The server imports none of
their code: a sandboxed child of the configured interpreter does, with these folders to read and
these variables, and reports what it found as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...lib.runtime import programs
from ...lib.runtime.start_folder import NEUTRAL
from ...lib.sandbox.package import Package
from ...lib.sandbox.policy import SCRATCH, WORKSPACE, outermost_folders
from ...telemetry import redact
from . import package_tools

OLDEST = (3, 11)
FACTS = (
    "import json, sys; print(json.dumps([list(sys.version_info[:2]), sys.prefix, sys.base_prefix]))"
)
FACTS_S = 20
CLOSED = ("/proc", "/sys", "/dev", *SCRATCH, WORKSPACE)  # each call gets its own
MOST_FOLDERS = 100


def package_of(
    name: str, about: Mapping[str, Any], home: Path, env: Mapping[str, str]
) -> tuple[Package, list[tuple[str, str]]]:
    """Return (the package of an entry of the configuration, remarks: where, what).

    `env`: the server's variables. Starts the interpreter to ask for its folders, which takes
    FACTS_S seconds at most. Raises ValueError, with a message for the owner, if the entry cannot be
    used.
    """
    interpreter = str(_place(about.get("interpreter") or sys.executable, "interpreter"))
    paths = tuple(str(_folder(each, "paths", home)) for each in about.get("paths", ()))
    read = [_folder(each, "read", home) for each in about.get("read", ())]
    if len(paths) + len(read) > MOST_FOLDERS:
        raise ValueError(f"more than {MOST_FOLDERS} folders")
    given = {each: env[each] for each in about.get("env", ()) if each in env}
    secret = {**about.get("secrets", {})}
    hidden = [*secret.values(), *(v for k, v in given.items() if redact.is_secret(k))]
    missing = [each for each in about.get("env", ()) if each not in env]
    remarks = [(f"{name}.env", f"there is no variable {each}") for each in missing]
    short = f"has fewer than {redact.MIN_SECRET} characters, and is not masked"
    weak = [each for each, value in secret.items() if len(value) < redact.MIN_SECRET]
    remarks += [(f"{name}.secrets", f"{each} {short}") for each in weak]
    redact.register(hidden)
    found = Package(
        name,
        tuple(about.get("modules", ())),
        tuple(_function(each) for each in about.get("functions", ())),
        interpreter,
        paths,
        {**given, **secret},
        tuple(sorted((v for v in hidden if len(v) >= redact.MIN_SECRET), key=len, reverse=True)),
        bool(about.get("stateful")),
        outermost_folders([*map(Path, paths), *read, *_environment(interpreter, home.resolve())]),
        preload=(package_tools.__name__,),
    )
    if not found.modules and not found.functions:
        raise ValueError("it names neither `modules` nor `functions`")
    return found, remarks


def registration(*things: Any, **settings: Any) -> dict[str, Any]:
    """Return an entry of `server.tool_modules` for classes and functions of the calling program.

    They are imported again in the child, with the same interpreter and from the folders of their
    modules. `settings`: further keys of the entry; settings of functions without @tool are given as
    `functions=[{"function": "module:name", "read_only": True}]`. Raises ValueError for a thing that
    another process could not import.
    """
    entry: dict[str, Any] = {"modules": [], "functions": [], "interpreter": sys.executable}
    entry |= {"paths": [], **settings}
    for key in ("modules", "functions", "paths"):
        entry[key] = [*entry[key]]
    for thing in things:
        name, place = _importable(thing)
        inside = thing.__qualname__
        kind = "modules" if isinstance(thing, type) else "functions"
        entry[kind].append(f"{name}:{inside}")
        if place not in entry["paths"]:
            entry["paths"].append(place)
    return entry


def _importable(thing: Any) -> tuple[str, str]:
    """Return (the name of its module, the folder to import that from). Raises ValueError."""
    module = sys.modules.get(getattr(thing, "__module__", ""))
    file = getattr(module, "__file__", None)
    inside = getattr(thing, "__qualname__", "<locals>")
    if module is None or not file or "<" in inside:
        raise ValueError(f"{thing!r:.100} cannot be registered: it is in no module of a file")
    path = Path(file).absolute()
    name = path.stem if module.__name__ == "__main__" else module.__name__
    parts = name.split(".")
    depth = len(parts) if path.name == "__init__.py" else len(parts) - 1
    return name, str(path.parents[depth])


def _function(entry: Any) -> dict[str, Any]:
    found = {"function": entry} if isinstance(entry, str) else dict(entry)
    if not isinstance(found.get("function"), str):
        raise ValueError('functions: an entry is "module:name", or an object with it in `function`')
    return found


def _place(text: str, key: str) -> Path:
    try:
        path = Path(text).expanduser()
    except RuntimeError:
        raise ValueError(f"{key}: {text}: there is no such home folder here") from None
    if not path.is_absolute():
        raise ValueError(f"{key}: {text} is relative; write the whole path")
    if not path.exists():
        raise ValueError(f"{key}: {text} is not there")
    return path


def _folder(text: str, key: str, home: Path) -> Path:
    """Return a folder that calls may read. Raises ValueError for one that they must not see."""
    path = _place(text, key).resolve()
    for closed in (home.resolve(), *map(Path, CLOSED)):
        if closed.is_relative_to(path):
            raise ValueError(f"{key}: {text} holds {closed}, which tools do not see")
        if closed not in map(Path, SCRATCH) and path.is_relative_to(closed):
            raise ValueError(f"{key}: {text} lies in {closed}, which tools do not see")
    return path


def _environment(interpreter: str, home: Path) -> list[Path]:
    """Return the folders of an interpreter and its packages. Raises ValueError."""
    command = [interpreter, "-I", "-S", "-c", FACTS]
    try:
        said = programs.run(command, NEUTRAL, capture_output=True, timeout=FACTS_S, check=True)
        version, *prefixes = json.loads(said.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it does not answer as Python does"
        raise ValueError(f"interpreter: {interpreter}: {why}") from None
    if tuple(version) < OLDEST:
        shown = ".".join(map(str, version))
        raise ValueError(f"interpreter: {interpreter} is Python {shown}; 3.11 or newer is needed")
    # -S skips the virtual environment, so it is found by its pyvenv.cfg.
    own = Path(interpreter).parent.parent
    venv = [own] if (own / "pyvenv.cfg").is_file() else []
    places = [*map(Path, prefixes), Path(interpreter).resolve(), *venv]
    if wide := [place for place in places if home.is_relative_to(place)]:
        raise ValueError(f"interpreter: its environment {wide[0]} holds the home folder {home}")
    return places
