"""Where the tools of the tests are, and what to say when one is missing.

Tests ask here and skip themselves: `@tools.needs(tools.module("openai"))`. Every answer is a
`Tool`: found or not, and how to get it.
"""

from __future__ import annotations

import ctypes.util
import importlib.util
import os
import shutil
import subprocess
import sys
import unittest
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "tests"
VENV = CACHE / "venv"
MCP_LEGACY = CACHE / "mcp-legacy"
MCP_SILENT = CACHE / "mcp-silent"
MCP_SERVERS = CACHE / "mcp-servers"
SKILLS = CACHE / "skills"  # public Agent Skills
FRAMEWORKS = CACHE / "frameworks"  # with the newest SDK of OpenAI, and
FRAMEWORKS_OLDER = CACHE / "frameworks-older"  # with the one before it
FRAMEWORKS_COMMON = CACHE / "frameworks-common"  # what both of them need
NGINX = CACHE / "nginx"
PROJECT = CACHE / "project"  # the source of a public project, with what its tests need in `vendor`
NODE_MODULES = ROOT / "tests" / "node_modules"
MIN_NODE = 20

BROWSERS = {
    "chromium": ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
    "firefox": ("firefox-esr", "firefox"),
}
SHELL = "chromium-headless-shell"
WEBKIT = ("webkit2gtk-driver", "webkitgtk-webdriver")  # as Debian calls it, and newer ones
BY_COMMAND = "run `python3 -m tests`, which installs it"


@dataclass(frozen=True)
class Tool:
    """A program, module or package; `path` is None where it is missing and `why` then says so."""

    name: str
    path: Path | None
    why: str = ""


def needs(*wanted: Tool) -> Callable[[Any], Any]:
    """Skips a test, or a class of them, when one of these tools is missing."""
    missing = [tool.why for tool in wanted if tool.path is None]
    return unittest.skipIf(bool(missing), "; ".join(missing))


@cache
def module(name: str) -> Tool:
    """A Python module that is importable in this interpreter. It is not imported."""
    found = importlib.util.find_spec(name)
    place = found.origin if found and found.origin else None
    why = f"the Python module {name} is not installed: {BY_COMMAND}"
    return Tool(name, Path(place) if place else None, "" if place else why)


@cache
def package(name: str) -> Tool:
    """A package from the npm registry under tests/node_modules, and a Node.js that runs it."""
    node = program_node()
    if node.path is None:
        return Tool(name, None, node.why)
    place = NODE_MODULES / name
    if not place.is_dir():
        return Tool(name, None, f"the npm package {name} is not installed: {BY_COMMAND}")
    return Tool(name, place)


@cache
def program_node() -> Tool:
    """Node.js, new enough."""
    found = shutil.which("node")
    why = f"Node.js {MIN_NODE} or newer is not on the PATH: install it from your system's packages"
    if not found:
        return Tool("node", None, why)
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False)
    major = said.stdout.strip().lstrip("v").split(".")[0]
    if not major.isdigit() or int(major) < MIN_NODE:
        return Tool("node", None, f"{why} (found {said.stdout.strip() or 'a broken one'})")
    return Tool("node", Path(found))


@cache
def interpreter(version: str) -> Tool:
    """CPython of a line such as `3.12`: on the PATH, or one that pyenv holds."""
    held = Path(os.environ.get("PYENV_ROOT", "~/.pyenv"), "versions").expanduser()
    named = shutil.which(f"python{version}")
    for found in (*((Path(named),) if named else ()), *held.glob(f"{version}.*/bin/python")):
        # A shim of pyenv is on the PATH for versions that are not chosen, and does not run.
        command = [str(found), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        said = subprocess.run(command, capture_output=True, text=True, check=False)
        if said.stdout.strip() == version:
            return Tool(f"python{version}", found)
    return Tool(f"python{version}", None, f"Python {version} is neither on the PATH nor in pyenv")


@cache
def library(name: str) -> Tool:
    """A library of the system's, by the name that linkers know."""
    found = ctypes.util.find_library(name)
    why = f"lib{name} is not there: install it (Debian: apt-get install lib{name}1)"
    return Tool(f"lib{name}", Path(found) if found else None, "" if found else why)


@cache
def browser(name: str) -> Tool:
    """`chromium` or `firefox`. `YAA_TEST_CHROMIUM` and `YAA_TEST_FIREFOX` name other programs."""
    named = os.environ.get(f"YAA_TEST_{name.upper()}")
    for candidate in (named,) if named else BROWSERS[name]:
        if found := shutil.which(candidate):
            return Tool(name, Path(found))
    command = BROWSERS[name][0]
    return Tool(
        name,
        None,
        f"{name} is not on the PATH: install it (Debian: apt-get install {command}) "
        f"or name it in YAA_TEST_{name.upper()}",
    )


@cache
def shell() -> Tool:
    """Chromium's pages without its window, downloads and offers: Debian's own package of it.

    Where it is not there, or `YAA_TEST_CHROMIUM` names another browser, Chromium takes its place.
    """
    found = None if os.environ.get("YAA_TEST_CHROMIUM") else shutil.which(SHELL)
    return Tool(SHELL, Path(found)) if found else browser("chromium")


@cache
def webkit() -> Tool:
    """WebKitGTK's driver, with its browser and a screen that nobody sees."""
    found = shutil.which("WebKitWebDriver")
    if found and minibrowser() and shutil.which("Xvfb"):
        return Tool("webkit", Path(found))
    why = "WebKitWebDriver, MiniBrowser and Xvfb are not there"
    return Tool("webkit", None, f"{why} (Debian: apt-get install {WEBKIT[0]} xvfb)")


def minibrowser() -> Path | None:
    found = sorted(Path("/usr").glob("lib*/**/webkit2gtk-4.*/MiniBrowser"))
    return found[-1] if found else None


@cache
def nginx() -> Tool:
    """A real one. Systems keep it where only root's PATH looks; `YAA_TEST_NGINX` names another."""
    named = os.environ.get("YAA_TEST_NGINX")
    places = None if named else f"{os.environ['PATH']}:/usr/sbin:{NGINX}/usr/sbin"
    found = shutil.which(named or "nginx", path=places)
    if found and not subprocess.run([found, "-v"], capture_output=True, check=False).returncode:
        return Tool("nginx", Path(found))
    why = f"{found} does not run" if found else "nginx is not on the PATH"
    why += ": install it (Debian: apt-get install nginx-light) or name it in YAA_TEST_NGINX"
    return Tool("nginx", None, why)


@cache
def pdftotext() -> Tool:
    """The program that turns PDFs into text."""
    found = shutil.which("pdftotext")
    why = "pdftotext is not on the PATH (Debian: apt-get install poppler-utils)"
    return Tool("pdftotext", Path(found), "") if found else Tool("pdftotext", None, why)


def project() -> Tool:
    """The source of a real project, as its registry has it."""
    why = f"the source of the project that is worked on is not there: {BY_COMMAND}"
    found = PROJECT if (PROJECT / "pins").exists() else None
    return Tool("project", found and found / "source", "" if found else why)


def public_skills(place: Path) -> Tool:
    """A folder of public Agent Skills that a package brings."""
    why = f"the skills in {place.relative_to(CACHE)} are not there: {BY_COMMAND}"
    return Tool(place.name, place, "") if place.is_dir() else Tool(place.name, None, why)


def python() -> Path:
    """The interpreter of the tests' own environment; while there is none, the one that runs now."""
    own = VENV / "bin" / "python"
    return own if own.exists() else Path(sys.executable)
