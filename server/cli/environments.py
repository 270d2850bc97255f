"""The command `tools install`: make the environments that tool files and tools name.

Only the owner starts it, on a terminal: packages come from the index that pip is configured for.
Without `--build` only wheels are installed, so none of their code runs here. An environment is made
in a folder of its own name and noted when it is whole (sandbox/environments.py); whatever has no
note was left by a command that was ended, and the next one removes it.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any, NamedTuple

from ..config import Config, ConfigError, expand_path, make_home
from ..lib.runtime import programs
from ..lib.runtime.descriptors import open_fd, try_lock
from ..lib.sandbox.environments import FOLDER, Environment, package_folders
from ..settings.requirements import normal_requirements
from ..settings.script_metadata import MetadataError, script_metadata
from ..tools.program_tools import is_source
from ..tools.tool_files import source_problem, text_of
from .session_files import write_whole

FINE, FAILED = 0, 1
LOCK = ".lock"
NO_PIP = "on Debian and Ubuntu: sudo apt install python3-venv"
NO_WHEEL = "a package without a wheel needs --build, which runs the package's code as you"
# Variables of pip that say where packages go, or name further ones; all others count.
NOT_FOR_PIP = frozenset(
    f"PIP_{name}"
    for name in (
        "TARGET PREFIX ROOT USER PYTHON REQUIREMENT EDITABLE DRY_RUN IGNORE_INSTALLED"
        " REQUIRE_VIRTUALENV REPORT"
    ).split()
)


class Need(NamedTuple):
    """Packages that a file or tool needs; `problem`: why that is not known."""

    name: str
    requirements: tuple[str, ...] = ()
    problem: str = ""


class InstallError(Exception):
    """An environment that could not be made, with the reason and the next step."""


def perform_install(config: Config, names: Sequence[str], *, builds: bool) -> int:
    """Make the environments of these files and tools, [] for all, and return the exit code.

    `builds`: also packages that have no wheel. Raises ConfigError for a name that is not there.
    """
    make_home(config.home)
    found = [*_needs(config, names)]
    for need in found:
        if need.problem:
            print(f"{need.name}: {need.problem}")
    failed = any(need.problem for need in found)
    wanted: dict[Environment, list[str]] = {}
    for need in found:
        if need.requirements:
            wanted.setdefault(Environment(config.home, need.requirements), []).append(need.name)
    if not wanted and not failed:
        print("No tool names packages that it needs (docs/howto/add-a-tool.md).")
        return FINE
    with _only_one(config.home) as root:
        _remove_unnoted(root)
        for environment, users in wanted.items():
            print(f"{', '.join(users)}: {', '.join(environment.requirements)}", flush=True)
            if environment.folder():
                print("  is installed")
                continue
            try:
                print(f"  installed: {', '.join(_make(environment, builds=builds))}", flush=True)
            except InstallError as error:
                failed = True
                print(f"  not installed: {error}", flush=True)
    return FAILED if failed else FINE


def perform_clean(config: Config) -> int:
    """Remove the environments that nothing names, and return the exit code."""
    found = [*_needs(config, [])]
    if unknown := [need for need in found if need.problem]:
        for need in unknown:
            print(f"{need.name}: {need.problem}")
        print("Nothing is removed, because it is not known what these need.")
        return FAILED
    kept = {Environment(config.home, need.requirements) for need in found if need.requirements}
    kept |= {_installer(config.home)} if kept else set()
    if not (config.home / FOLDER).is_dir():
        print("There are no environments.")
        return FINE
    with _only_one(config.home) as root:
        notes = {environment.note for environment in kept}
        removed = [note for note in sorted(root.glob("*.json")) if note not in notes]
        for note in removed:
            note.unlink()
        freed = _remove_unnoted(root)
    print(f"{len(removed)} removed, {freed / (1 << 20):.1f} MB; {len(notes)} kept")
    return FINE


# -- what is needed -------------------------------------------------------------------------------


def _needs(config: Config, names: Sequence[str]) -> Iterator[Need]:
    """Yield what files and tools of these names need. Raises ConfigError."""
    folder = config.home / "tools"
    given = {n: own["requirements"] for n, own in config.server["tools"].items()
             if own.get("requirements")}  # fmt: skip
    if not names:
        for path in sorted(folder.glob("*.py")) if folder.is_dir() else ():
            yield _need_of_file(path, f"tools/{path.name}")
        for name in given:
            yield Need(f"the tool {name}", normal_requirements(given[name]))
    for name in names:
        own = (folder / name, folder / f"{name}.py") if "/" not in name else ()
        inside = [path for path in own if path.is_file()]
        if inside:
            yield _need_of_file(inside[0], f"tools/{inside[0].name}")
        elif name in given:
            yield Need(f"the tool {name}", normal_requirements(given[name]))
        elif (path := expand_path(name, "NAME")).is_file():
            yield _need_of_file(path, name)
        else:
            raise ConfigError(
                f"{name}: there is no such file in {folder} or here, and server.tools.{name} has"
                " no requirements"
            )


def _need_of_file(path: Path, name: str) -> Need:
    try:
        metadata = script_metadata(text_of(path))
    except MetadataError as error:
        return Need(name, problem=str(error))
    if metadata is None or not metadata.requirements:
        return Need(name)
    wrong = source_problem(path) if is_source(path) else ""
    wrong = wrong or metadata.python_problem(sys.version_info[:3])
    return Need(name, () if wrong else metadata.requirements, wrong)


# -- environments ---------------------------------------------------------------------------------


def _installer(home: Path) -> Environment:
    """Return the environment that has only pip, and installs the others."""
    return Environment(home, ())


def _make(environment: Environment, *, builds: bool) -> list[str]:
    """Make an environment, and the one that has pip, and return its packages.

    Raises InstallError.
    """
    root = environment.note.parent.resolve()
    installer = _installer(environment.home)
    if environment != installer and not installer.folder():
        print("  preparing pip, once", flush=True)
        _make(installer, builds=False)
    folder = root / f"{environment.key}-{token_hex(8)}"
    try:
        venv.EnvBuilder(symlinks=True, with_pip=environment == installer).create(folder)
        if environment != installer:
            _run_pip(installer.folder(), folder, environment.requirements, builds=builds)
        packages = sorted(_packages(folder))
        os.sync()  # a note must not outlast a loss of power that its packages do not
        note = {"folder": folder.name, "requirements": [*environment.requirements]}
        note |= {"python": sys.version.split()[0], "packages": packages}
        write_whole(environment.note, json.dumps(note, indent=2).encode() + b"\n")
    except (OSError, subprocess.SubprocessError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise InstallError(_reason(error, environment == installer)) from None
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return packages


def _run_pip(installer: str, folder: Path, requirements: Iterable[str], *, builds: bool) -> None:
    """Install packages into an empty environment. Raises CalledProcessError, OSError.

    pip runs from another environment. So no package, when it is there, can take the place of one of
    pip's own modules or begin to run.
    """
    command = [f"{installer}/bin/python", "-I", "-m", "pip", "--python", f"{folder}/bin/python"]
    command += ["install", "--disable-pip-version-check", "--no-warn-script-location", "--no-user"]
    command += [] if builds else ["--only-binary", ":all:"]
    env = programs.variables(
        name for name in os.environ if name not in NOT_FOR_PIP and not name.startswith("PYTHON")
    )
    programs.run([*command, "--", *requirements], folder, env, check=True)


def _packages(folder: Path) -> Iterator[str]:
    """Yield the name and version of each package of an environment."""
    for place in package_folders(str(folder)):
        for each in Path(place).glob("*.dist-info"):
            yield each.name.removesuffix(".dist-info").replace("-", " ")


def _reason(error: Exception, is_installer: bool) -> str:
    if isinstance(error, OSError):
        return f"{error.filename or 'the environment'}: {error.strerror or error}"
    if is_installer:
        said: Any = getattr(error, "output", None) or b""
        last = (said.decode(errors="replace").strip().splitlines() or ["it said nothing"])[-1]
        return f"this Python could not make an environment with pip ({last}); {NO_PIP}"
    return f"pip failed, see above; {NO_WHEEL}"


@contextmanager
def _only_one(home: Path) -> Iterator[Path]:
    """Yield the folder of environments, when no other command changes it."""
    before = os.umask(0o022)  # the user of tools reads them, if the server is root
    root = home / FOLDER
    root.mkdir(exist_ok=True)
    try:
        with open_fd(root / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC) as descriptor:
            if not try_lock(descriptor):
                print("Another `tools install` is running; waiting for it.", flush=True)
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield root
    finally:
        os.umask(before)


def _remove_unnoted(root: Path) -> int:
    """Remove the folders that no note names, and return their size in bytes."""
    noted = set()
    for note in root.glob("*.json"):
        try:
            noted.add(json.loads(note.read_bytes())["folder"])
        except (OSError, ValueError, KeyError, TypeError):
            note.unlink(missing_ok=True)
    freed = 0
    for path in root.iterdir():
        if path.is_dir() and not path.is_symlink():
            if path.name not in noted:
                freed += _size(path)
                shutil.rmtree(path, ignore_errors=True)
        elif path.suffix != ".json" and path.name != LOCK:
            path.unlink()
    return freed


def _size(folder: Path) -> int:
    return sum(
        (Path(place) / name).lstat().st_size
        for place, _, names in os.walk(folder)
        for name in names
    )
