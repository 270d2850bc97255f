"""`tools install` with real pip, and wheels of a folder in place of an index."""

from __future__ import annotations

import fcntl
import io
import json
import os
import shutil
import signal
import sys
import tarfile
import tempfile
import time
import unittest
from collections.abc import Mapping
from pathlib import Path

from server.lib.sandbox.environments import FOLDER, Environment, package_folders

from ..tooling import forks, turns
from ..tooling.child import Child
from ..tooling.tools import ROOT
from ..wheels import lend_pip, pip_variables, wheel

SECONDS = 300
TOOL = """# /// script
# dependencies = {}
# ///
import {}
from yaa import tool

@tool(read_only=True)
def where_{}() -> str:
    "Say where."
"""
# A package without a wheel: what builds it is its own code.
BACKEND = """
import zipfile
from pathlib import Path

Path({ran!r}).touch()

def build_wheel(folder, settings=None, metadata=None):
    info = "built-1.0.dist-info"
    with zipfile.ZipFile(Path(folder, "built-1.0-py3-none-any.whl"), "w") as archive:
        archive.writestr("built.py", "")
        about = "Metadata-Version: 2.1\\nName: built\\nVersion: 1.0\\n"
        archive.writestr(f"{{info}}/METADATA", about)
        tags = "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
        archive.writestr(f"{{info}}/WHEEL", tags)
        archive.writestr(f"{{info}}/RECORD", "")
    return "built-1.0-py3-none-any.whl"
"""
PROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'


PLACE = Path()


def setUpModule() -> None:
    """Make one home folder for all, because pip's own environment takes seconds to make.

    One turn of four lets the first installation make it.
    """
    forks.use()
    global PLACE
    folder = tempfile.TemporaryDirectory(prefix="yaa-env-")
    PLACE = Path(unittest.enterModuleContext(folder))
    (PLACE / "home").mkdir(mode=0o700)
    if not turns.plays("pip", 4):
        lend_pip(PLACE / "home")
    for name in ("alpha", "beta"):
        wheel(PLACE / "wheels", name, "1.0", {f"{name}.py": ""})
    wheel(PLACE / "wheels", "needy", "2.0", {"needy.py": "import alpha"}, ("alpha>=1",))


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.place, self.home, self.wheels = PLACE, PLACE / "home", PLACE / "wheels"
        self.tools = self.home / "tools"
        self.tools.mkdir(exist_ok=True)
        for path in (*self.tools.glob("*.py"), self.home / "config.json"):
            path.unlink(missing_ok=True)
        if (self.home / FOLDER).is_dir():  # of an earlier test
            for note in (self.home / FOLDER).glob("*.json"):
                if note != self.environment().note:
                    note.unlink()
            for name in self.folders():
                shutil.rmtree(self.home / FOLDER / name)

    def write(self, name: str, *dependencies: str, module: str = "sys") -> Path:
        path = self.tools / f"{name}.py"
        path.write_text(TOOL.format(json.dumps(dependencies), module, name))
        return path

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "server", "tools", "--home", str(self.home), *arguments]

    def variables(self) -> dict[str, str]:
        known = {"PATH": os.environ["PATH"], "HOME": str(self.place), "PYTHONUNBUFFERED": "1"}
        known |= {name: os.environ[name] for name in ("LANG", "LC_ALL") if name in os.environ}
        return {**known, **pip_variables(self.wheels)}

    def tools_do(
        self, *arguments: str, code: int = 0, shell: str = "", env: Mapping[str, str] | None = None
    ) -> str:
        command = self.command(*arguments)
        if shell:
            command = ["/bin/sh", "-c", f'{shell}; exec "$@"', "sh", *command]
        done = forks.run(command, {**self.variables(), **(env or {})}, timeout=SECONDS)
        said = done.stdout + done.stderr
        self.assertEqual(done.returncode, code, said)
        return said

    def tier(self) -> str:
        command = [sys.executable, "-m", "server", "--check", "--home", str(self.home)]
        return forks.run(command, self.variables(), timeout=SECONDS).stdout

    def environment(self, *requirements: str) -> Environment:
        return Environment(self.home, requirements)

    def packages(self, *requirements: str) -> list[str]:
        note = json.loads(self.environment(*requirements).note.read_text())
        return [each.partition(" ")[0] for each in note["packages"]]

    def folders(self) -> set[str]:
        """The folders of environments, without that of pip."""
        found = {path.name for path in (self.home / FOLDER).iterdir() if path.is_dir()}
        return found - {Path(self.environment().folder()).name}

    def install(self, *names: str) -> Child:
        return Child(self.command("install", *names), env=self.variables())


@turns.tests(2)
class Installs(Case):
    def test_what_files_name_and_what_they_share(self) -> None:
        one = str(self.write("one", "Alpha", "beta >= 1", module="alpha, beta"))
        self.assertIn(
            "unavailable  where_one: needs alpha, beta>=1: run python3 -m server tools install",
            self.tools_do("check", one, code=1),
        )
        self.write("two", "beta>=1", "alpha")
        self.write("three", "needy", module="needy")
        self.write("nothing")
        (self.tools / "plain.py").write_text("import alpha\n")
        said = self.tools_do("install")
        self.assertIn("tools/one.py, tools/two.py: alpha, beta>=1\n", said)
        self.assertIn("tools/three.py: needy\n", said)
        self.assertNotIn("plain", said)
        self.assertNotIn("nothing", said)
        self.assertEqual(self.packages("alpha", "beta>=1"), ["alpha", "beta"])
        self.assertEqual(self.packages("needy"), ["alpha", "needy"])
        self.assertEqual(len(self.folders()), 2)
        (self.tools / "three.py").unlink()
        self.assertIn("1 to use, 0 refused", self.tools_do("check", one))
        before = self.folders()
        again = "tools/one.py, tools/two.py: alpha, beta>=1\n  is installed\n"
        self.assertIn(again, self.tools_do("install"))
        self.assertEqual(self.folders(), before)

    def test_by_name(self) -> None:
        config = {"server": {"tools": {"python": {"requirements": ["alpha"]}}}}
        (self.home / "config.json").write_text(json.dumps(config))
        self.write("one", "beta")
        outside = self.place / "outside.py"
        outside.write_text(self.write("moved", "alpha").read_text())
        (self.tools / "moved.py").unlink()
        for name, said in (
            ("python", "the tool python: alpha"),
            ("one", "tools/one.py: beta"),
            ("one.py", "tools/one.py: beta"),
            (str(outside), f"{outside}: alpha"),
        ):
            with self.subTest(name):
                told = self.tools_do("install", name)
                self.assertTrue(told.startswith(said), told)
        self.assertIn(
            "server.tools.nobody has no requirements", self.tools_do("install", "nobody", code=2)
        )
        self.assertIn("no other option", self.tools_do("install", "one", "--clean", code=2))

    def test_nothing_to_do(self) -> None:
        self.assertIn("No tool names packages", self.tools_do("install"))

    def test_what_is_not_to_be_had(self) -> None:
        self.write("broken", "-r /etc/passwd")
        self.write("newer").write_text(
            '# /// script\n# requires-python = ">=4"\n# dependencies = ["alpha"]\n# ///\n'
        )
        self.write("missing", "no-such-package")
        self.write("fine", "alpha")
        said = self.tools_do("install", code=1)
        self.assertIn(
            "tools/broken.py: line 2: dependencies: '-r /etc/passwd' is an option of pip", said
        )
        self.assertIn("tools/newer.py: line 1: it needs Python >=4", said)
        self.assertIn("  not installed: pip failed, see above; ", said)
        self.assertIn("  installed: alpha 1.0", said)
        self.assertEqual(self.environment("no-such-package").folder(), "")
        self.assertEqual(len(self.folders()), 1)

    def test_variables_that_say_otherwise(self) -> None:
        """Where packages go, and what counts as there, is not the shell's to say."""
        self.write("one", "beta")
        elsewhere = self.place / "elsewhere"
        known = elsewhere / "beta-1.0.dist-info"
        known.mkdir(parents=True)
        (known / "METADATA").write_text("Metadata-Version: 2.1\nName: beta\nVersion: 1.0\n")
        wrong = {"TARGET": str(self.place / "target"), "PREFIX": str(self.place), "USER": "1"}
        wrong |= {"DRY_RUN": "1", "REQUIREMENT": "/etc/passwd", "NO_BINARY": ":all:"}
        variables = {f"PIP_{name}": value for name, value in wrong.items()}
        self.tools_do("install", env={"PYTHONPATH": f"{ROOT}:{elsewhere}", **variables})
        self.assertEqual(self.packages("beta"), ["beta"])
        self.assertFalse((self.place / "target").exists())

    def test_what_users_of_tools_may_read(self) -> None:
        """The user of tools is another one, if the server is root."""
        self.write("one", "alpha")
        self.tools_do("install", shell="umask 077")
        folder = Path(self.environment("alpha").folder())
        (modules,) = package_folders(str(folder))
        for path in (folder.parent, folder, Path(modules), Path(modules, "alpha.py")):
            self.assertEqual(path.stat().st_mode & 0o044, 0o044, path)


class Clean(Case):
    def test_what_nothing_names(self) -> None:
        self.write("one", "alpha")
        self.write("two", "beta")
        self.tools_do("install")
        (self.tools / "two.py").unlink()
        broken = self.write("broken", "-r x")
        said = self.tools_do("install", "--clean", code=1)
        self.assertIn("Nothing is removed", said)
        self.assertTrue(self.environment("beta").folder())
        broken.unlink()
        self.assertRegex(self.tools_do("install", "--clean"), r"^1 removed, \d+\.\d MB; 2 kept\n$")
        self.assertTrue(self.environment("alpha").folder())
        self.assertEqual(self.environment("beta").folder(), "")
        self.assertEqual(len(self.folders()), 1)


class Untrusted(Case):
    """Packages whose code would do harm, where it ran outside of a sandbox."""

    def test_a_wheel_runs_nothing(self) -> None:
        ran = self.place / "ran"
        touch = f"open({str(ran)!r}, 'w')"
        files = {
            "evil.py": "",
            "evil.pth": f"import os; {touch}\n",
            "sitecustomize.py": touch,
            "pip/__init__.py": touch,
            "pip/__main__.py": touch,
            "evil-1.0.data/scripts/python": f"#!/bin/sh\ntouch {ran}\n",
            "evil-1.0.data/scripts/pip": f"#!/bin/sh\ntouch {ran}\n",
        }
        wheel(self.wheels, "evil", "1.0", files)
        self.write("one", "evil", "alpha")
        self.tools_do("install")
        python = Path(self.environment("alpha", "evil").folder(), "bin", "python")
        self.assertIn(str(ran), python.read_text(), "the package has not replaced it")
        self.tools_do("install")
        self.assertFalse(ran.exists())
        self.tools_do("check", str(self.tools / "one.py"))
        if "tier A" in self.tier():  # in a sandbox its own code may not write there either
            self.assertFalse(ran.exists())

    def test_only_build_runs_the_code_of_a_package(self) -> None:
        ran = self.place / "built"
        with tarfile.open(self.wheels / "built-1.0.tar.gz", "w:gz") as archive:
            for name, text in (
                ("pyproject.toml", PROJECT),
                ("backend.py", BACKEND.format(ran=str(ran))),
                ("PKG-INFO", "Metadata-Version: 2.1\nName: built\nVersion: 1.0\n"),
            ):
                info = tarfile.TarInfo(f"built-1.0/{name}")
                info.size = len(text.encode())
                archive.addfile(info, io.BytesIO(text.encode()))
        self.write("one", "built")
        said = self.tools_do("install", code=1)
        self.assertIn(
            "a package without a wheel needs --build, which runs the package's code", said
        )
        self.assertFalse(ran.exists())
        self.tools_do("install", "--build")
        self.assertTrue(ran.exists())
        self.assertEqual(self.packages("built"), ["built"])


@turns.tests(2)
class Interrupted(Case):
    """Installations that are ended while pip reads a package, which is a pipe then."""

    def slow(self, name: str) -> Path:
        self.write("one", name)
        path = self.wheels / f"{name}-1.0-py3-none-any.whl"
        os.mkfifo(path)
        return path

    def writer(self, pipe: Path, child: Child) -> int:
        """The end of a pipe to write to, as soon as pip reads it."""
        end = time.monotonic() + SECONDS
        while True:
            try:
                return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                if time.monotonic() > end or child.process.poll() is not None:
                    self.fail(child.output)
                time.sleep(0.005)

    def test_killed_in_the_middle(self) -> None:
        pipe = self.slow("killed")
        child = self.install()
        self.addCleanup(child.kill)
        writer = self.writer(pipe, child)
        os.kill(child.process.pid, signal.SIGKILL)
        child.process.wait()
        left = self.folders()
        self.assertEqual(len(left), 1)
        self.assertEqual(self.environment("killed").folder(), "")
        pipe.unlink()
        wheel(self.wheels, "killed", "1.0", {"killed.py": ""})
        self.assertIn("  installed: killed 1.0", self.tools_do("install"))  # pip of the first lives
        self.assertEqual(len(self.folders()), 1)
        self.assertFalse(self.folders() & left)
        os.close(writer)

    def test_stopped_by_ctrl_c(self) -> None:
        pipe = self.slow("stopped")
        child = self.install()
        self.addCleanup(child.kill)
        writer = self.writer(pipe, child)
        os.killpg(child.process.pid, signal.SIGINT)
        self.assertEqual(child.process.wait(SECONDS), 130, child.output)
        os.close(writer)
        self.assertEqual(self.folders(), set())
        self.assertEqual(self.environment("stopped").folder(), "")

    def test_two_at_once(self) -> None:
        self.write("one", "alpha")
        self.tools_do("install")
        self.environment("alpha").note.unlink()
        children = [self.install(), self.install()]
        for child in children:
            self.addCleanup(child.kill)
        for child in children:
            self.assertEqual(child.process.wait(SECONDS), 0, child.output)
        self.assertEqual(len(self.folders()), 1)
        with (self.home / FOLDER / ".lock").open() as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            child = self.install()
            self.addCleanup(child.kill)
            child.wait_for("Another `tools install` is running; waiting for it.", SECONDS)
        self.assertEqual(child.process.wait(SECONDS), 0, child.output)

    def test_a_full_disk(self) -> None:
        self.write("small", "alpha")
        self.tools_do("install")
        (self.tools / "small.py").unlink()
        wheel(self.wheels, "large", "1.0", {"large.py": "#" * (1 << 20)})
        self.write("one", "large")
        said = self.tools_do("install", code=1, shell="ulimit -f 1024")
        self.assertIn("  not installed: pip failed, see above", said)
        self.assertEqual(self.environment("large").folder(), "")
        self.assertEqual(len(self.folders()), 1)
        self.assertIn("  installed: large 1.0", self.tools_do("install"))


if __name__ == "__main__":
    unittest.main()
