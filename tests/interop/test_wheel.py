"""`pip install .` gives the package and the command `yaa`, whole: server, client, configuration."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import unittest
import venv
import zipfile
from pathlib import Path

from server.api.page_version import PageVersions

from ..tooling import tools
from ..tooling.api import Api
from ..tooling.child import Yaa


@tools.needs(tools.module("hatchling"), tools.module("pip"))
class Wheel(unittest.TestCase):
    folder: Path
    wheel: Path
    bin: Path

    @classmethod
    def setUpClass(cls) -> None:
        folder = cls.enterClassContext(tempfile.TemporaryDirectory(prefix="yaa-wheel-"))
        cls.folder = Path(folder)
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
        build = ["wheel", "-q", "--no-deps", "--no-build-isolation", "--no-index", "-w", folder]
        run(*pip, *build, str(tools.ROOT))
        (cls.wheel,) = cls.folder.glob("yaa-*.whl")
        place = cls.folder / "venv"
        venv.create(place, with_pip=False)
        cls.bin = place / "bin"
        run(
            *pip, "--python", str(cls.bin / "python"), "install", "-q", "--no-index", str(cls.wheel)
        )

    def test_holds_what_the_checkout_holds(self) -> None:
        with zipfile.ZipFile(self.wheel) as archive:
            names = {name for name in archive.namelist() if ".dist-info/" not in name}
        wanted = {"yaa/config.default.json"}
        for folder, package in (("server", "yaa"), ("client", "yaa/client")):
            for path in (tools.ROOT / folder).rglob("*"):
                if path.is_file() and "__pycache__" not in path.parts:
                    wanted.add(f"{package}/{path.relative_to(tools.ROOT / folder).as_posix()}")
        self.assertEqual(names, wanted)

    def test_the_command_explains_itself(self) -> None:
        self.assertIn("yaa, a self-hosted AI agent", run(str(self.bin / "yaa"), "--help"))
        said = run(str(self.bin / "yaa"), "--version").strip()
        self.assertEqual(said, f"yaa {self.wheel.name.split('-')[1]}")

    def test_it_serves_its_own_client(self) -> None:
        """From the installed files, run where no checkout is in sight."""
        with Yaa(command=[str(self.bin / "yaa")], cwd=self.folder) as yaa:
            status, page = Api(yaa.url).request("GET", "/", accept="text/html")
            self.assertEqual(status, 200)
        there = PageVersions((tools.ROOT / "client").joinpath, offline=True).refresh()
        assert there is not None
        self.assertEqual(
            page, there.document.body.decode()
        )  # which names a digest of all its scripts

    def test_authors_import_what_tools_are_written_with(self) -> None:
        source = "from yaa import Context, ToolError, tool, toolkit; print(tool, toolkit)"
        self.assertIn("function tool", run(str(self.bin / "python"), "-W", "error", "-c", source))

    def test_it_runs_tools_its_own_and_the_owners(self) -> None:
        home = self.folder / "home"
        (home / "tools").mkdir(parents=True)
        source = (
            "from yaa import tool, Context\n@tool\ndef mine(ctx: Context) -> str:\n    'Mine.'\n"
        )
        (home / "tools" / "mine.py").write_text(source)
        command = [str(self.bin / "yaa")]
        with Yaa(command=command, cwd=self.folder, home=home) as yaa:
            api = Api(yaa.url, yaa.key)
            _, info = api.request("GET", "/info")
            self.assertIn("mine", [tool["name"] for tool in info["tools"]])
            asked = {"role": "user", "content": "shell echo from the wheel"}
            allowed = {"shell": {"auto_approve": True}}
            session = api.run({"messages": [asked], "config": {"tool": allowed}})
        results = [
            message["content"] for message in session["messages"] if message["role"] == "tool"
        ]
        self.assertIn("from the wheel", results[0])


def run(*command: str) -> str:
    """What it prints. Raises AssertionError, with that, if it fails."""
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == 0, f"{command}: {done.stdout}"
    return done.stdout


if __name__ == "__main__":
    unittest.main()
