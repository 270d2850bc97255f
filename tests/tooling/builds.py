"""Builds of yaa as people get them: a wheel, a source archive, one file; and how each is started.

A build is made from a copy of the tracked files, so that what else lies in the folders is left out.
Equal files give equal bytes: names are sorted, and the time is that of the last commit, or
SOURCE_DATE_EPOCH. The wheel and the archive need hatchling, in the environment of the tests.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from . import tools

SHIPPED = ("server", "client", "config.default.json", "README.md", "LICENSE", "pyproject.toml")
WAYS = ("checkout", "wheel", "pyz")
HOOK = "import sys, hatchling.build as build; print(getattr(build, sys.argv[1])(sys.argv[2]))"
EPOCH = 1_577_836_800  # where there is no commit to ask: the first second of 2020


class BuildFailed(Exception):
    """A command of a build failed. The text is the command and what it printed."""


@dataclass(frozen=True)
class Start:
    """How yaa is started: `Yaa(command=start.command, cwd=start.cwd, env=start.env)`."""

    name: str
    command: list[str]
    cwd: Path
    env: dict[str, str] = field(default_factory=dict)


def stage(folder: Path, root: Path = tools.ROOT) -> Path:
    """Copy what ships into an empty folder and return it.

    Tracked files as they are now; all files that are no caches if `root` is no git checkout.
    """
    command = ["git", "-C", str(root), "ls-files", "-z", "--", *SHIPPED]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    names = [name for name in listed.stdout.split("\0") if name]
    if listed.returncode or not names:
        found = (path for name in SHIPPED for path in (root / name, *(root / name).rglob("*")))
        names = [str(path.relative_to(root)) for path in found if "__pycache__" not in path.parts]
    for name in names:
        if (root / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / name, folder / name)
    return folder


def epoch(root: Path = tools.ROOT) -> int:
    """Return the time of a build in seconds: SOURCE_DATE_EPOCH, or that of the last commit."""
    if named := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(named)
    command = ["git", "-C", str(root), "log", "-1", "--format=%ct"]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return int(said) if said.isdigit() else EPOCH


def build_wheel(source: Path, target: Path, seconds: int) -> Path:
    """Build the wheel of a folder into the folder `target` and return its file."""
    return _hook("build_wheel", source, target, seconds)


def build_sdist(source: Path, target: Path, seconds: int) -> Path:
    """Build the source archive of a folder into the folder `target` and return its file."""
    return _hook("build_sdist", source, target, seconds)


def build_pyz(source: Path, target: Path) -> Path:
    """Build the one file into the folder `target` and return it."""
    run([sys.executable, "-m", "server", "pack", str(target / "yaa.pyz")], source)
    return target / "yaa.pyz"


def _hook(name: str, source: Path, target: Path, seconds: int) -> Path:
    command = [str(tools.python()), "-c", HOOK, name, str(target)]
    said = run(command, source, {"SOURCE_DATE_EPOCH": str(seconds)})
    return target / said.splitlines()[-1]


def start_checkout(root: Path = tools.ROOT) -> Start:
    """Return the start of a checkout."""
    return Start("checkout", [sys.executable, "-m", "server"], root)


def start_wheel(wheel: Path, folder: Path) -> Start:
    """Install a wheel into a new virtual environment in `folder`, without a network."""
    place = folder / "venv"
    venv.create(place, with_pip=False)
    pip = [str(tools.python()), "-m", "pip", "--disable-pip-version-check"]
    pip += ["--python", str(place / "bin" / "python"), "install", "-q", "--no-index"]
    run([*pip, str(wheel)], folder)
    return Start("wheel", [str(place / "bin" / "yaa")], folder)


def start_pyz(file: Path, folder: Path) -> Start:
    """Return the start of the one file, which unpacks itself into `folder`."""
    env = {"XDG_CACHE_HOME": str(folder / "cache")}
    return Start("pyz", [sys.executable, str(file)], folder, env)


@contextmanager
def started(way: str) -> Iterator[Start]:
    """Build and install yaa in one of WAYS, in a folder that is removed at the end."""
    if way == "checkout":
        yield start_checkout()
        return
    with tempfile.TemporaryDirectory(prefix=f"yaa-{way}-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # the sandbox reads the server's files as another user
        source = stage(folder / "source")
        if way == "wheel":
            yield start_wheel(build_wheel(source, folder, epoch()), folder)
        else:
            yield start_pyz(build_pyz(source, folder), folder)


def run(command: list[str], cwd: Path, env: Mapping[str, str] | None = None) -> str:
    """Return what a command prints. Raises BuildFailed, with that, if it fails."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BuildFailed(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout
