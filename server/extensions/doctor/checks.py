"""Check the installation: what works and what is missing.

It examines an open `App` that does not serve, and changes nothing. Each finding is one line;
problems name the next step.
"""

from __future__ import annotations

import http.client
import os
import platform
import resource
import shlex
import shutil
import socket
import ssl
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ...app import App
from ...cli.serve import connections_that_fit, files_wanted
from ...config import shipped_path
from ...lib.http.listener import bind
from ...lib.http.parser import is_loopback
from ...lib.runtime import programs
from ...lib.runtime.start_folder import NEUTRAL
from ...lib.sandbox.supervisor import MOST_FILES
from ...lib.strict_json import JSONError, loads
from ..parts import MISSING, NOTE, OFF, OK, CheckResult

LITTLE = 512 << 20  # bytes of free disk below which a note is shown; a call may write as much
MUCH = 1 << 30  # bytes of all workspaces above which a note is shown
ASK_S = 3.0  # timeout of the request to a running server
SIZE_S = 20.0  # timeout of `du`
NAMESPACES = (
    ("kernel/apparmor_restrict_unprivileged_userns", "1", "0"),
    ("kernel/unprivileged_userns_clone", "0", "1"),
    ("user/max_user_namespaces", "0", "15000"),
)


def check_all(app: App) -> list[CheckResult]:
    """Return all findings, in the order in which a new user needs them."""
    server = app.config.server
    return [
        *_machine(),
        *_home(app.config.home),
        *_workspaces(app.config.home / "workspaces"),
        *_models(app),
        *app.checks(),
        *_sandbox(app.toolbox.sandbox(), _setting),
        *(
            CheckResult(MISSING, part, text)
            for part, texts in app.problems().items()
            for text in texts
        ),
        *_network(server),
        *_files(server),
    ]


def lines(findings: list[CheckResult]) -> Iterator[str]:
    """Yield the findings as lines for a terminal, and a summary."""
    for found in findings:
        yield f"  {found.mark:<8} {found.name:<8} {found.text}"
        if found.step:
            yield f"  {'':<8} {'':<8} → {found.step}"
    missing = sum(found.mark == MISSING for found in findings)
    notes = sum(found.mark == NOTE for found in findings)
    yield ""
    if missing:
        yield f"{missing} missing. They can be mended in any order."
    elif notes:
        yield "Everything works; the notes say what could be better."
    else:
        yield "Everything works."


def _machine() -> Iterator[CheckResult]:
    version = platform.python_version()
    yield CheckResult(OK, "python", f"{version}, {sys.executable}")
    if sys.platform == "linux":
        yield CheckResult(OK, "system", f"Linux {platform.release()} on {platform.machine()}")
    else:
        yield CheckResult(
            NOTE,
            "system",
            f"{platform.system()}: the sandbox needs Linux, so shell and file tools are withheld",
            "run yaa in a Linux machine or container, or see server.sandbox.require",
        )
    client = shipped_path("client") / "index.html"
    if not client.is_file():
        yield CheckResult(MISSING, "client", f"{client} is not there", "install yaa again")


def _home(home: Path) -> Iterator[CheckResult]:
    mode = stat.S_IMODE(home.stat().st_mode)
    if mode & 0o077:
        text = f"{home} is open to other users of this machine (mode {mode:o})"
        yield CheckResult(NOTE, "home", text, f"chmod 700 {home}")
    else:
        yield CheckResult(OK, "home", str(home))
    free = shutil.disk_usage(home).free
    mark = OK if free >= LITTLE else NOTE
    yield CheckResult(mark, "disk", f"{_megabytes(free)} free")
    found = os.statvfs(home)
    yield from _files_left(found.f_ffree, found.f_files)


def _files_left(free: int, most: int) -> Iterator[CheckResult]:
    """Check the number of free inodes.

    `most`: inodes of the file system, 0 if it has no limit. One session can create MOST_FILES; all
    sessions together have no limit.
    """
    if most and free < 2 * MOST_FILES:
        text = f"{free} more files can be made; the tools of one session may make {MOST_FILES}"
        yield CheckResult(NOTE, "disk", text, "remove old workspaces, or use another file system")


def _workspaces(folder: Path, much: int = MUCH) -> Iterator[CheckResult]:
    """Check the size of all workspaces.

    The server does not notice when a session is deleted, so workspaces stay until they are removed.
    A folder's time is that of the last call in it.
    """
    size = _size(folder)
    if size is None:
        yield CheckResult(NOTE, "disk", f"the workspaces in {folder} could not be measured")
        return
    text = f"{_megabytes(size)} taken by the workspaces of sessions, which have no limit together"
    if size < much:
        yield CheckResult(OK, "disk", text)
        return
    step = f"find {shlex.quote(str(folder))} -mindepth 1 -maxdepth 1 -mtime +30 -exec rm -rf {{}} +"
    yield CheckResult(NOTE, "disk", text, f"remove those of 30 days without a call: {step}")


def _size(folder: Path) -> int | None:
    """Return the bytes on disk of a folder, without unreadable parts; None if `du` fails.

    `du` copes with folders of any depth and with entries that become links meanwhile.
    """
    if not folder.exists():
        return 0
    try:
        command = ["du", "-sk", str(folder)]
        done = programs.run(
            command, NEUTRAL, programs.variables(("PATH",)), capture_output=True, timeout=SIZE_S
        )
        return int(done.stdout.split()[0]) << 10  # it exits with 1 if a folder is unreadable
    except (OSError, subprocess.TimeoutExpired, ValueError, IndexError):
        return None


def _megabytes(size: int) -> str:
    return f"{size / (1 << 30):.1f} GB" if size >= 1 << 30 else f"{size >> 20} MB"


def _models(app: App) -> Iterator[CheckResult]:
    real = [model for model in app.models.catalog() if model["origin"] != "built in"]
    for model in real:
        mark = ", the default" if model.get("default") else ""
        yield CheckResult(OK, "model", f"{model['name']}: {model['model']}{mark}")
    if not real:
        yield CheckResult(
            MISSING,
            "model",
            "none found",
            "start yaa and paste a key at Connect a model in its page, set OPENAI_API_KEY (or"
            " another vendor's key), start Ollama or LM Studio, or name a provider in config.json",
        )


def _sandbox(told: Mapping[str, Any], setting: Callable[[str], str]) -> Iterator[CheckResult]:
    """Check the sandbox. `setting` reads a value of /proc/sys, "" if there is none."""
    tier = told["tier"]
    if told["withheld"]:
        yield CheckResult(
            MISSING,
            "sandbox",
            f"tier {tier}, and {told['require']} is required: shell, file and owner's tools are"
            " withheld",
        )
    elif tier == "A":
        yield CheckResult(OK, "sandbox", "tier A, the strongest")
    else:
        yield CheckResult(OK, "sandbox", f"tier {tier}; A would be the strongest")
    for wanted, why in told["tried"].items():
        step = _mend(wanted, setting)
        yield CheckResult(NOTE if step else OFF, "sandbox", f"not {wanted}: {why}", step)


def _mend(tier: str, setting: Callable[[str], str]) -> str:
    if tier != "A":
        return ""
    for name, closed, opened in NAMESPACES:
        if setting(name) == closed:
            dotted = name.replace("/", ".")
            return f"namespaces are switched off for users: sudo sysctl -w {dotted}={opened}"
    if Path("/.dockerenv").exists() or setting("container"):
        return "a container hides namespaces: run it with --security-opt seccomp=unconfined"
    return ""


def _setting(name: str) -> str:
    try:
        return Path("/proc/sys", name).read_text().strip()
    except OSError:
        return ""


def _network(server: Mapping[str, Any]) -> Iterator[CheckResult]:
    host, port = server["host"], server["port"]
    where = f"{host or 'every address'}, port {port}"
    try:
        for sock in bind(host, port):
            sock.close()
    except socket.gaierror:
        yield CheckResult(
            MISSING, "address", f"{host} is no address of this machine", "--host ADDRESS"
        )
    except OSError as error:
        if version := _running(server):
            yield CheckResult(OK, "address", f"{where}: yaa {version} serves there")
        else:
            step = "another port: --port N"
            yield CheckResult(MISSING, "address", f"{where}: {error.strerror}", step)
    else:
        yield CheckResult(OK, "address", where)
    if not is_loopback(host) and not server["tls"]["cert"]:
        yield CheckResult(
            NOTE,
            "https",
            "off: others on the network can read along",
            "--cert FILE --key FILE, or a reverse proxy; docs/howto/lan.md",
        )


def _running(server: Mapping[str, Any]) -> str:
    """Return the version of the yaa server at the configured address; "" if there is none."""
    host = server["host"]
    at = ("127.0.0.1" if host in ("", "0.0.0.0", "::") else host, server["port"])
    peer: http.client.HTTPConnection
    if server["tls"]["cert"]:
        context = ssl._create_unverified_context()
        peer = http.client.HTTPSConnection(*at, timeout=ASK_S, context=context)
    else:
        peer = http.client.HTTPConnection(*at, timeout=ASK_S)
    try:
        peer.request("GET", "/health")
        answer = peer.getresponse()
        said = loads(answer.read(4096))
    except (OSError, http.client.HTTPException, JSONError):
        return ""
    finally:
        peer.close()
    ours = answer.headers["Server"] == "yaa" and isinstance(said, dict)
    return str(said.get("version", "")) if ours else ""


def _files(server: Mapping[str, Any]) -> Iterator[CheckResult]:
    """Check the hard limit of open files. The server raises its soft limit by itself."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = files_wanted(server["limits"])
    if most in (resource.RLIM_INFINITY, -1) or most >= wanted:
        yield CheckResult(OK, "files", f"{wanted} may be open at once")
        return
    fit = connections_that_fit(server["limits"], most)
    text = f"{most} may be open at once; max_connections wants {wanted}, so it is {fit}"
    step = f"ulimit -Hn {wanted}, LimitNOFILE={wanted} in a unit, or a lower max_connections"
    yield CheckResult(NOTE, "files", text, step)
