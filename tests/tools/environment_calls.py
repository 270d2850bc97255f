"""Calls of tools in environments, at one tier: `python -m tests.tools.environment_calls TIER`.

Prints what came of them as JSON. It is a process of its own, since at tier B root needs an
interpreter that other users can start.
"""

from __future__ import annotations

import asyncio
import copy
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from server.config import Config
from server.tools.toolbox import Toolbox

from ..fakes import DEFAULTS, events_of
from ..wheels import make_environment

HEAD = """# /// script
# dependencies = ["{name}"]
# ///
import sys
from pathlib import Path

import {name}
from yaa import tool, toolkit
"""
UNITS = (
    HEAD.format(name="units")
    + '''

def attempts(where):
    """What came of each attempt to change an environment."""
    for change in (
        lambda: (where / "more").write_text(""),
        lambda: (where / "units.py").write_text(""),
        lambda: (where / "units.py").chmod(0o777),
        lambda: (where / "units.py").unlink(),
        lambda: where.rename(where.with_name("elsewhere")),
        lambda: (where / "folder").mkdir(),
        lambda: (where / "units.py").rename(where / "others.py"),
    ):
        try:
            change()
            yield "done"
        except OSError as error:
            yield type(error).__name__


@tool(read_only=True)
def double(n: int) -> list:
    """Double a number."""
    return [units.double(n), units.__file__.startswith(sys.prefix)]


@tool(read_only=True)
def change() -> list:
    """Change the environment."""
    return [*attempts(Path(units.__file__).parent), *attempts(Path(sys.prefix) / "bin")]


@tool(read_only=True)
def others() -> list:
    """See other environments, and import their packages."""
    try:
        import words
    except ImportError as error:
        found = [type(error).__name__]
    place = Path(sys.prefix).parent
    try:
        return found + sorted(each.name for each in place.iterdir() if str(each) != sys.prefix)
    except OSError as error:
        return found + [type(error).__name__]


@toolkit(stateful=True)
class Counter:
    def __init__(self):
        self.count = 0

    @tool(read_only=True)
    def next(self) -> int:
        """Count."""
        self.count += units.double(1)
        return self.count
'''
)
WORDS = (
    HEAD.format(name="words")
    + '''

@tool(read_only=True)
def shout(text: str) -> str:
    """Shout."""
    return words.shout(text)
'''
)
PLAIN = """
from yaa import tool

@tool(read_only=True)
def plain() -> str:
    "Import what only others have."
    import units
"""
OWN = "import units, sys, subprocess\nprint(units.double(21))\nopen(units.__file__, 'a')"
LIST: tuple[tuple[str, dict[str, Any]], ...] = (
    ("double", {"n": 4}),
    ("shout", {"text": "a"}),
    ("others", {}),
    ("plain", {}),
    ("Counter_next", {}),
    ("python", {"code": OWN}),
    ("shell", {"command": "python3 -c 'import units; print(units.double(3))'; command -v greet"}),
    ("change", {}),
)


async def run(tier: str, home: Path) -> dict[str, Any]:
    """Make two environments and three files, and call their tools."""
    units = make_environment(home, ("units",), {"units.py": "def double(n):\n    return 2 * n\n"})
    program = units / "bin" / "greet"
    program.write_text("#!/bin/sh\necho hello\n")
    program.chmod(0o755)
    make_environment(home, ("words",), {"words.py": "def shout(t):\n    return t.upper() + '!'\n"})
    (home / "tools").mkdir()
    (home / "workspaces").mkdir()
    (home / "workspaces").chmod(0o711)  # at tier B the user of tools passes through it
    for name, text in (("units", UNITS), ("words", WORDS), ("plain", PLAIN)):
        (home / "tools" / f"{name}.py").write_text(text)
    server = copy.deepcopy(DEFAULTS["server"])
    server["sandbox"] |= {"require": "none"}
    server["tools"] = {name: {"requirements": ["Units"]} for name in ("python", "shell")}
    toolbox = Toolbox(Config(server, DEFAULTS["session"], home))
    await toolbox.open(tier)
    before = _read(home / "environments")
    try:
        await toolbox.load_owner_tools()
        session: Any = {
            "id": "s1",
            "messages": [],
            "config": copy.deepcopy(DEFAULTS["session"]["config"]),
            "grants": [],
            "calls": {},
        }
        calls = {}
        for index, (name, args) in enumerate(LIST):
            about = {"name": name, "arguments": json.dumps(args)}
            call: Any = {"id": f"c{index}", "type": "function", "function": about}
            said: Any = await events_of(toolbox, session, call, args, {})
            result = said[-1]["metadata"]["yaa"]["result"]
            calls[f"{name} {index}"] = result.get("result", result.get("error"))
        return {
            "tier": toolbox.sandbox()["tier"],
            "tried": toolbox.sandbox()["tried"],
            "calls": calls,
            "problems": toolbox.problems,
            "same": before == _read(home / "environments"),
            "python": next(t for t in toolbox.info() if t["name"] == "python")["description"],
            "path_is_told": str(home) in json.dumps(toolbox.info()),
        }
    finally:
        await toolbox.close()


def _read(folder: Path) -> dict[str, Any]:
    there = [each for each in folder.rglob("*") if "__pycache__" not in each.parts]
    return {
        str(each): each.read_bytes() if each.is_file() else each.stat().st_mode for each in there
    }


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        found = asyncio.run(run(sys.argv[1], Path(place)))
    print(json.dumps(found))
