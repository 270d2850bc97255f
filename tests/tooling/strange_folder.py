"""A folder whose owner wants that programs run what lies in it, and what sees whether one did.

Every Python file and every program in it appends its own name to `marks`. `programs` are stand-ins
for npx and uvx in a folder of PATH: each notes its folder, its variables, and what it found there
that the real one would have read.
"""

from __future__ import annotations

import ctypes
import json
import os
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

MODULES = (
    *("sitecustomize.py", "usercustomize.py", "mcp_tool.py", "conftest.py", "hooks.py"),
    *("server/__init__.py", "server/__main__.py", "server/run.py", "yaa/__init__.py"),
    *("yaa/__main__.py", "tools/tool.py", "hooks/hook.py", "models/model.py"),
)
# In the place of modules that yaa imports late.
SHADOWS = (
    "argparse",
    "asyncio",
    "difflib",
    "http",
    "json",
    "ssl",
    "tempfile",
    "venv",
    "webbrowser",
)
PROGRAMS = ("npx", "uvx", "node", "git", "du", "sh", "python3", "pdftotext", "xdg-open", "pip")
TEXTS = {
    "package.json": '{"scripts": {"preinstall": "false"}}',
    "node_modules/@scope/server/package.json": '{"bin": "index.js"}',
    "node_modules/.bin/server": "#!/bin/sh\n",
    ".npmrc": "registry=http://127.0.0.1:9/\n",
    "uv.toml": 'index-url = "http://127.0.0.1:9/"\n',
    "pyproject.toml": "[tool.uv]\n",
    ".python-version": "3.11\n",
    ".envrc": "export A=1\n",
    ".env": "OPENAI_API_KEY=sk-not-theirs\n",
    ".git/config": "[core]\n\tfsmonitor = false\n",
    ".git/HEAD": "ref: refs/heads/main\n",
    "config.json": '{"server": {"port": 1}}',
    "pip.conf": "[global]\nindex-url = http://127.0.0.1:9/\n",
    "AGENTS.md": "Obey.\n",
    "SKILL.md": "---\nname: strange\ndescription: x\n---\n",
}
READ_BY_OTHERS = (
    "node_modules",
    "package.json",
    ".npmrc",
    "uv.toml",
    "pyproject.toml",
    ".git",
    ".env",
)

STAND_IN = """\
#!{python} -I
import json, os, pathlib
here = pathlib.Path.cwd()
read = [up / each for up in (here, *here.parents) for each in {read}]
note = {{"cwd": str(here), "env": dict(os.environ), "mode": here.stat().st_mode & 0o777}}
note["found"] = [str(each) for each in read if each.exists()]
with open({notes!r}, "a") as out:
    out.write(json.dumps(note) + "\\n")
print("noted", flush=True)
"""


class StrangeFolder:
    """The folder at `root`. `shadows`: also modules in the place of Python's own."""

    def __init__(self, root: Path, *, shadows: bool = False) -> None:
        self.folder, self.marks = root / "strange", root / "marks"
        self.programs, self._notes = root / "programs", root / "notes"
        for name in (*MODULES, *(f"{each}.py" for each in SHADOWS if shadows)):
            self._write(name, f"open({str(self.marks)!r}, 'a').write(__file__ + '\\n')\n")
        for name in PROGRAMS:
            self._write(name, f'#!/bin/sh\necho "$0" >> {self.marks}\n', 0o755)
        for name, text in TEXTS.items():
            self._write(name, text)
        self.programs.mkdir()
        for name in ("npx", "uvx"):
            script = STAND_IN.format(
                python=sys.executable, notes=str(self._notes), read=READ_BY_OTHERS
            )
            (self.programs / name).write_text(script)
            (self.programs / name).chmod(0o755)

    def variables(self, checkout: Path) -> dict[str, str]:
        """What a shell in the folder would pass on, with `.` and nothing in its PATH."""
        lists = f".::{self.programs}:bin:{os.environ.get('PATH', os.defpath)}"
        return {
            **{name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")},
            "PATH": lists,
            "PWD": str(self.folder),
            "OLDPWD": str(self.folder / "server"),
            "PYTHONPATH": str(checkout),
            "NODE_PATH": ".",
        }

    def ran(self) -> list[str]:
        """What of the folder was run."""
        return self.marks.read_text().split() if self.marks.exists() else []

    def take_notes(self) -> list[dict[str, Any]]:
        """What the stand-ins have noted since the last time."""
        if not self._notes.exists():
            return []
        lines = self._notes.read_text().splitlines()
        self._notes.unlink()
        return [json.loads(line) for line in lines]

    def _write(self, name: str, text: str, mode: int = 0o644) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)


IN_OPEN, IN_NONBLOCK, IN_ISDIR = 0x20, 0o4000, 0x40000000  # inotify(7)


@contextmanager
def opened_below(folder: Path) -> Iterator[list[str]]:
    """Yield a list that has the names of all files below `folder` that were opened, at the end."""
    library = ctypes.CDLL(None, use_errno=True)
    watch = library.inotify_init1(IN_NONBLOCK)
    if watch < 0:
        raise OSError(ctypes.get_errno(), "inotify_init1")
    found: list[str] = []
    try:
        for place, _, _ in os.walk(folder):
            if library.inotify_add_watch(watch, os.fsencode(place), IN_OPEN) < 0:
                raise OSError(ctypes.get_errno(), "inotify_add_watch", place)
        yield found
        try:
            while data := os.read(watch, 1 << 16):
                found += _names(data)
        except BlockingIOError:
            pass
    finally:
        os.close(watch)


def _names(data: bytes) -> Iterator[str]:
    """The names of files in events; folders that are listed have none of their own."""
    while data:
        _, mask, _, length = struct.unpack_from("iIII", data)
        name, data = data[16 : 16 + length].rstrip(b"\0"), data[16 + length :]
        if name and not mask & IN_ISDIR:
            yield os.fsdecode(name)
