"""Start other programs: in a folder that is named, with variables that are named.

Everything that this server starts outside of a call begins here (tests/test_layers.py). A program
that inherited the current folder would read settings and code of whoever owns it.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from .start_folder import without_current_folder

NOTHING: Mapping[str, str] = MappingProxyType({})


def start(
    command: Sequence[str], folder: str | Path, env: Mapping[str, str] = NOTHING, **options: Any
) -> subprocess.Popen[bytes]:
    """Start a program in an absolute folder. Raises OSError, ValueError.

    `env`: all of its environment. `options`: of subprocess.Popen.
    """
    return subprocess.Popen(command, **_surroundings(folder, env), **options)


async def start_async(
    command: Sequence[str], folder: str | Path, env: Mapping[str, str] = NOTHING, **options: Any
) -> asyncio.subprocess.Process:
    """Start a program as `start` does; asyncio watches its end."""
    program, *arguments = command
    surroundings = {**_surroundings(folder, env), **options}
    return await asyncio.create_subprocess_exec(program, *arguments, **surroundings)


def run(
    command: Sequence[str], folder: str | Path, env: Mapping[str, str] = NOTHING, **options: Any
) -> subprocess.CompletedProcess[bytes]:
    """Run a program to its end. Raises OSError, ValueError, subprocess.SubprocessError."""
    return subprocess.run(command, **_surroundings(folder, env), **options)


def variables(names: Iterable[str]) -> dict[str, str]:
    """Return those of our own variables, without what leads to the current folder."""
    return without_current_folder({name: os.environ[name] for name in names if name in os.environ})


def _surroundings(folder: str | Path, env: Mapping[str, str]) -> dict[str, Any]:
    if not Path(folder).is_absolute():
        raise ValueError(f"{folder}: the folder of a program is an absolute path")
    return {"cwd": folder, "env": dict(env)}
