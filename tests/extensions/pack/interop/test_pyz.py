"""The one-file build, started where no checkout is in sight: whole, sandboxed, and tidy."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

from server.extensions.pack.one_file import STARTER

from ....tooling import tools, turns
from ....tooling.api import Api
from ....tooling.child import Yaa
from ....tooling.strange_folder import StrangeFolder, opened_below
from ....wheels import make_environment

# What editors, systems and people leave in a checkout.
SUFFIXES = {".py", ".json", ".js", ".html", ".css", ".txt", ".png", ".svg", ".webmanifest"}
LEFT = (
    *("server/.env", "server/.hidden.py", "server/.git/config.json", "server/app.py~"),
    *(
        "server/#app.py#",
        "server/app.py.orig",
        "server/.app.py.swp",
        "server/notes.txt",
        "server/key",
    ),
    *("client/.DS_Store", "client/js/.main.js", "client/index (copy).html", "client/a.md"),
)


@turns.tests(3)
class Pyz(unittest.TestCase):
    folder: Path
    file: Path

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="yaa-pyz-")))
        cls.folder.chmod(0o755)
        cls.file = cls.folder / "yaa.pyz"
        run([sys.executable, "-m", "server", "pack", str(cls.file)], tools.ROOT)

    def command(self, **env: str) -> list[str]:
        env = {"XDG_CACHE_HOME": str(self.folder / "cache")} | env
        variables = [f"{name}={value}" for name, value in env.items()]
        return ["env", *variables, sys.executable, "-W", "error", str(self.file)]

    def test_it_holds_all_and_packs_itself_again(self) -> None:
        names = {name for name in zipfile.ZipFile(self.file).namelist()}
        for name in ("__main__.py", "yaa/__main__.py", "yaa/client/index.html"):
            self.assertIn(name, names)
        self.assertFalse([name for name in names if "__pycache__" in name or ".." in name])
        again = self.folder / "once again.pyz"
        said = run([*self.command(), "pack", str(again)], self.folder)
        self.assertIn(f"start it with python3 '{again}'", said)
        self.assertEqual(again.read_bytes(), self.file.read_bytes())

    def test_what_is_left_in_the_folders_is_left_out(self) -> None:
        checkout = self.folder / "checkout"
        for name in ("server", "client"):
            shutil.copytree(
                tools.ROOT / name, checkout / name, ignore=shutil.ignore_patterns("__pycache__")
            )
        shutil.copy(tools.ROOT / "config.default.json", checkout)
        (self.folder / "outside.py").write_text("canary")
        for name in LEFT:
            path = checkout / name
            path.parent.mkdir(exist_ok=True)
            path.write_text("canary")
        (checkout / "server" / "linked.py").symlink_to(self.folder / "outside.py")
        packed = self.folder / "from checkout.pyz"
        run([sys.executable, "-m", "server", "pack", str(packed)], checkout)
        self.assertEqual(packed.read_bytes(), self.file.read_bytes())
        names = [Path(name) for name in zipfile.ZipFile(packed).namelist()]
        self.assertEqual({name.suffix for name in names}, SUFFIXES)
        self.assertNotIn(Path("yaa/client/jsconfig.json"), names)

    def test_tools_that_name_packages(self) -> None:
        home = self.folder / "home with tools"
        (home / "tools").mkdir(parents=True)
        file = home / "tools" / "units.py"
        head = '# /// script\n# dependencies = ["units"]\n# ///\n'
        text = "import units\nfrom yaa import tool\n@tool\ndef double() -> None: ..."
        file.write_text(head + text)
        check = [*self.command(), "tools", "--home", str(home), "check", str(file)]
        said = subprocess.run(check, cwd=self.folder, capture_output=True, text=True)
        self.assertIn(
            "unavailable  double: needs units: run python3 yaa.pyz tools install\n", said.stdout
        )
        make_environment(home, ("units",), {"units.py": ""})
        self.assertIn("1 to use, 0 refused\n", run(check, self.folder))
        command = [*self.command(), "tools", "--home", str(home), "install"]
        self.assertIn("tools/units.py: units\n  is installed\n", run(command, self.folder))

    def test_what_is_no_file_is_left_alone(self) -> None:
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        for name in (pipe, self.folder):
            done = subprocess.run([*self.command(), "pack", name], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (2, f"yaa: {name}: is no file\n"))
        self.assertTrue(pipe.is_fifo())

    def test_it_starts_by_its_own_name(self) -> None:
        self.assertIn(
            "yaa 0.", run([*self.command()[:2], str(self.file), "--version"], self.folder)
        )

    def test_an_old_python_can_read_what_tells_it_to_go(self) -> None:
        ast.parse(STARTER, feature_version=(3, 4))

    def test_it_serves_and_its_sandbox_is_that_of_a_checkout(self) -> None:
        quiet = {"server": {"discover": False}}
        with Yaa(quiet) as checkout:
            there = Api(checkout.url, checkout.key)
            wanted = there.request("GET", "/info")[1]["sandbox"]
            _, its_page = there.request("GET", "/", accept="text/html")
        with Yaa(quiet, command=self.command(), cwd=self.folder) as yaa:
            api = Api(yaa.url, yaa.key)
            _, page = api.request("GET", "/", accept="text/html")
            self.assertEqual(page, its_page)  # which names a digest of all its scripts
            self.assertEqual(api.request("GET", "/info")[1]["sandbox"]["tier"], wanted["tier"])
            asked = {"role": "user", "content": "shell echo from the one file"}
            allowed = {"shell": {"auto_approve": True}}
            session = api.run({"messages": [asked], "config": {"tool": allowed}})
        results = [m["content"] for m in session["messages"] if m["role"] == "tool"]
        self.assertIn("from the one file", results[0])

    def test_a_user_without_a_home_finds_nothing_in_its_folder(self) -> None:
        place = self.folder / "here"
        place.mkdir()
        said = run([*self.command(XDG_CACHE_HOME="", HOME="~"), "--version"], place)
        self.assertIn("yaa 0.", said)
        self.assertEqual(list(place.iterdir()), [])

    def test_a_cache_that_others_can_change_is_not_used(self) -> None:
        """They could put another program in the place of a checked one, before it is imported."""
        for mode, owner in ((0o777, os.getuid()), (0o755, 12_345)):
            if owner != os.getuid() and os.getuid():
                continue  # only root can give a folder away
            above = Path(tempfile.mkdtemp(dir=self.folder))
            cache = above / "cache"
            cache.mkdir()
            said = run([*self.command(XDG_CACHE_HOME=str(cache)), "--version"], self.folder)
            self.assertIn("yaa 0.", said)
            (kept,) = (cache / "yaa").iterdir()
            canary = kept / "yaa" / "__main__.py"
            canary.write_text("import sys\nsys.exit('the code of another')\n")
            above.chmod(mode)
            os.chown(above, owner, -1)
            with self.subTest(mode=oct(mode), owner=owner):
                said = run([*self.command(XDG_CACHE_HOME=str(cache)), "--version"], self.folder)
                self.assertIn("yaa 0.", said)

    def test_a_strange_folder(self) -> None:
        root = Path(tempfile.mkdtemp(dir=self.folder))
        strange = StrangeFolder(root, shadows=True)
        command = [*self.command(), "--home", str(root / "home"), "--check"]
        with opened_below(strange.folder) as opened:
            done = subprocess.run(
                command, cwd=strange.folder, env=strange.variables(root), capture_output=True
            )
        self.assertEqual((done.returncode, strange.ran(), opened), (0, [], []))

    def test_a_link_in_the_place_of_a_draft(self) -> None:
        place, victim = self.folder / "open", self.folder / "victim"
        place.mkdir()
        victim.write_text("mine")
        (place / ".new.pyz.draft").symlink_to(victim)
        run([*self.command(), "pack", str(place / "new.pyz")], self.folder)
        self.assertEqual(victim.read_text(), "mine")
        self.assertTrue((place / "new.pyz").stat().st_mode & 0o111)
        self.assertEqual({path.name for path in place.iterdir()}, {"new.pyz", ".new.pyz.draft"})

    def test_where_no_cache_can_be_it_leaves_nothing_behind(self) -> None:
        place = self.folder / "tmp"
        place.mkdir(exist_ok=True)
        env = {"XDG_CACHE_HOME": str(self.file / "no folder"), "TMPDIR": str(place)}
        command = self.command(**env)
        with Yaa(command=command, cwd=self.folder, arguments=("--workers", "2")) as yaa:
            self.assertEqual(Api(yaa.url).request("GET", "/health")[0], 200)
            self.assertEqual(len(list(place.glob("yaa-*/yaa/__main__.py"))), 1)
            assert yaa.child is not None
            self.assertEqual(yaa.child.stop(30), 0)
        self.assertEqual(list(place.glob("yaa-*/yaa")), [])


def run(command: list[str], cwd: Path) -> str:
    """What it prints. Raises AssertionError, with that, if it fails."""
    done = subprocess.run(
        command, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == 0, f"{command}: {done.stdout}"
    return done.stdout


if __name__ == "__main__":
    unittest.main()
