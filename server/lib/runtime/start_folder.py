"""Leave the folder that yaa was started in, which may be a stranger's.

A process passes on its current folder, and programs such as npx, uvx, git and Python read settings
and code there. The command line leaves it before anything else. Only names that a person types are
still resolved from it, by `resolve`.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, MutableMapping
from pathlib import Path

NEUTRAL = "/"  # belongs to root on every system
CURRENT = ("PWD", "OLDPWD")  # variables that name the folder
SEARCHED = (
    "PATH",
    "PYTHONPATH",
    "LD_LIBRARY_PATH",
    "NODE_PATH",
)  # "" is the current folder in them

_started_in: list[Path | None] = []  # empty in a program that uses the library; None: was deleted


def leave(env: MutableMapping[str, str] = os.environ) -> None:
    """Make / the current folder, and remove the former one from the variables."""
    if not _started_in:
        _started_in.append(_current())
    os.chdir(NEUTRAL)
    cleaned = without_current_folder(env)
    for name in {*env} - {*cleaned}:
        del env[name]
    env.update(cleaned)


def without_current_folder(env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables without those that lead to the current folder.

    Of lists of folders, such as PATH, the absolute ones stay.
    """
    cleaned = {name: value for name, value in env.items() if name not in CURRENT}
    for name in SEARCHED:
        if name in cleaned:
            folders = filter(os.path.isabs, cleaned.pop(name).split(os.pathsep))
            if kept := os.pathsep.join(folders):
                cleaned[name] = kept
    return cleaned


def resolve(path: Path) -> Path:
    """Return the absolute path of a name that a person gave. Raises FileNotFoundError.

    That is for a relative name if the folder that yaa was started in was deleted.
    """
    folder = _started_in[0] if _started_in else _current()
    if folder is None and not path.is_absolute():
        raise FileNotFoundError(errno.ENOENT, "the current folder is gone; go to another one")
    return path if folder is None else folder / path


def _current() -> Path | None:
    try:
        return Path.cwd()
    except OSError:
        return None
