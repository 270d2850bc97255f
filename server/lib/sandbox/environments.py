"""Environments: packages that tools are given, as `tools install` (cli/environments.py) made them.

Each is a virtual environment in `<home>/environments`, for one set of requirements and this Python;
its note, a JSON file, is written when it is whole. The server reads only the note. It never starts
a program of an environment, because packages may bring a `python` of their own: a worker enters it
after it was restricted, and can only read it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..runtime.command import COMMAND

FOLDER = "environments"
INSTALL = f"run {COMMAND} tools install"
NAME = re.compile(r"[0-9a-f]{16}-[0-9a-f]{16}")  # of an environment's folder
MAX_NOTE = 1 << 20  # bytes


@dataclass(frozen=True)
class Environment:
    """What some requirements, in their normal spelling, have in a home folder."""

    home: Path
    requirements: tuple[str, ...]

    @property
    def note(self) -> Path:
        """Return the file that says in which folder it is, once it is whole."""
        return self.home / FOLDER / f"{self.key}.json"

    @property
    def key(self) -> str:
        """Return the name of these requirements for this Python."""
        kind = [sysconfig.get_config_var("SOABI") or sys.implementation.cache_tag, sys.base_prefix]
        text = json.dumps([kind, sorted(self.requirements)])
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def folder(self) -> str:
        """Return its folder; "" if it is not installed."""
        name = _read(self.note).get("folder")
        if not isinstance(name, str) or not NAME.fullmatch(name):
            return ""
        path = self.note.with_name(name).resolve()
        return str(path) if path.is_dir() else ""

    def places(self) -> list[str]:
        """Return the paths on which `folder` depends."""
        return [str(self.note), *filter(None, [self.folder()])]

    def missing(self) -> str:
        """Return what must be done before it can be used, for the owner; "" for nothing."""
        if self.folder():
            return ""
        shown = ", ".join(self.requirements)
        return (
            f"needs {shown if len(shown) <= 200 else shown[:200] + '…'}: {INSTALL}{self._other()}"
        )

    def _other(self) -> str:
        """Return that the packages are installed for another Python; "" if they are not."""
        version = ".".join(map(str, sys.version_info[:3]))
        for note in sorted(self.note.parent.glob("*.json")):
            content = _read(note)
            if note != self.note and content.get("requirements") == [*self.requirements]:
                installed = f"{content.get('python')!s:.20}"
                return f" with the server's Python {version} (they are installed for {installed})"
        return ""


def _read(note: Path) -> dict[str, Any]:
    """Return what a note says; {} if it is not there, or none."""
    try:
        with note.open("rb") as file:
            content = json.loads(file.read(MAX_NOTE))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def package_folders(folder: str) -> list[str]:
    """Return the folders of an environment in which packages are."""
    places = {"base": folder, "platbase": folder}
    folders = (sysconfig.get_path(kind, "venv", places) for kind in ("purelib", "platlib"))
    return list(dict.fromkeys(map(os.path.realpath, folders)))
