"""What people build of other libraries: the same small chat server, once for each of them.

`POST /chat {"messages": […]}` answers with an event stream of `data: {"text": "…"}` lines. The
model may call the tool `datetime` in the process. Each program gets the model's address as its
argument, prints `READY http://…` and serves until it is killed. They run in environments of their
own, made by `install`, with the versions in requirements.txt and package-lock.json; nothing here is
tuned, for or against: it is what their own first pages show.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from ...tooling import tools

HERE = Path(__file__).parent
PLACE = tools.ROOT / ".cache" / "bench"
PYTHON = PLACE / "python" / "bin" / "python"
MODULES = PLACE / "node"

# Name in the table -> the program and what runs it.
PROGRAMS = {
    "openai-agents": "openai_agents_app.py",
    "pydantic-ai": "pydantic_ai_app.py",
    "ai-sdk": "ai_sdk_app.mjs",
}


def command(name: str) -> list[str]:
    """How to start one of them, without the model's address."""
    file = PROGRAMS[name]
    if file.endswith(".py"):
        return [str(PYTHON), str(HERE / file)]
    return ["node", str(MODULES / file)]  # imports are looked for beside the file


def install() -> list[str]:
    """Make the environments, where they are not made yet; the names that can run here."""
    found: list[str] = []
    if _python():
        found += [name for name, file in PROGRAMS.items() if file.endswith(".py")]
    if _node():
        found += [name for name, file in PROGRAMS.items() if file.endswith(".mjs")]
    return found


def _python() -> bool:
    wanted = (HERE / "requirements.txt").read_text()
    mark = PLACE / "python" / "requirements.txt"
    if mark.exists() and mark.read_text() == wanted:
        return True
    made = _run([sys.executable, "-m", "venv", "--clear", str(PLACE / "python")])
    pip = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if not (made and _run([*pip, "-r", str(HERE / "requirements.txt")])):
        return False
    mark.write_text(wanted)
    return True


def _node() -> bool:
    if tools.program_node().path is None or shutil.which("npm") is None:
        return False
    MODULES.mkdir(parents=True, exist_ok=True)
    lock = (HERE / "package-lock.json").read_text()
    mark = MODULES / "package-lock.json"
    fresh = mark.exists() and mark.read_text() == lock and (MODULES / "node_modules").is_dir()
    for name in ("package.json", "package-lock.json", "ai_sdk_app.mjs"):
        shutil.copy(HERE / name, MODULES / name)
    quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    return fresh or _run(["npm", "ci", *quiet], MODULES)


def _run(line: list[str], place: Path | None = None) -> bool:
    done = subprocess.run(line, cwd=place, check=False, stdout=sys.stderr)
    return done.returncode == 0
