"""Entries of server.tool_modules: what is taken, what is refused, what changes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.extensions.packages.python_packages import package_of, registration
from server.lib.sandbox.package import Package, closed_folder
from server.lib.sandbox.policy import outermost_folders

from ...tooling.tools import ROOT


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.home = Path(self.enterContext(tempfile.TemporaryDirectory())).resolve()
        self.code = Path(self.enterContext(tempfile.TemporaryDirectory())).resolve()

    def package(self, **entry: Any) -> Package:
        about = {"modules": ["shop"], **entry}
        return package_of("shop", about, self.home, {"REGION": "eu", "API_KEY": "k-123456789"})[0]


class Entries(Case):
    def test_what_is_given_and_what_is_hidden(self) -> None:
        secrets = {"DB": "postgres://x", "PIN": "1234"}
        about = {"modules": ["m"], "env": ["REGION", "API_KEY", "GONE"], "secrets": secrets}
        env = {"REGION": "eu", "API_KEY": "k-123456789", "OTHER": "no"}
        package, remarks = package_of("shop", about, self.home, env)
        given = {"REGION": "eu", "API_KEY": "k-123456789", **secrets}
        self.assertEqual(package.env, given)
        self.assertEqual(set(package.secrets), {"postgres://x", "k-123456789"})
        self.assertEqual(
            remarks,
            [
                ("shop.env", "there is no variable GONE"),
                ("shop.secrets", "PIN has fewer than 6 characters, and is not masked"),
            ],
        )

    def test_folders_that_no_tool_may_see(self) -> None:
        (self.home / "workspaces").mkdir()
        link = self.code / "link"
        link.symlink_to(self.home)
        for path in ("/", str(self.home), str(self.home.parent), str(self.home / "workspaces"),
                     str(link), "/proc", "/dev/shm", "/tmp"):  # fmt: skip
            for key in ("paths", "read"):
                with self.subTest(path), self.assertRaisesRegex(ValueError, "tools do not see"):
                    self.package(**{key: [path]})

    def test_what_cannot_be_used(self) -> None:
        wrong: tuple[tuple[dict[str, Any], str], ...] = (
            ({"modules": []}, "neither `modules` nor `functions`"),
            ({"paths": ["src"]}, "src is relative"),
            ({"paths": [f"{self.code}/gone"]}, "gone is not there"),
            ({"paths": ["~nobody-of-this-name/x"]}, "no such home folder"),
            ({"interpreter": "/bin/true"}, "does not answer as Python does"),
            ({"interpreter": str(self.code)}, "interpreter: .*ermission denied"),
            ({"functions": [{"name": "x"}]}, "an entry is"),
            ({"paths": [str(self.code)] * 101}, "more than 100 folders"),
        )
        for entry, message in wrong:
            with self.subTest(entry), self.assertRaisesRegex(ValueError, message):
                self.package(**entry)

    def test_the_roots_hold_the_environment(self) -> None:
        package = self.package(paths=[str(self.code)])
        self.assertIn(str(self.code), package.roots)
        self.assertEqual(package.roots, outermost_folders(map(Path, package.roots)))

    def test_a_folder_closed_to_the_user_of_tools(self) -> None:
        package = self.package(paths=[str(self.code)])
        self.assertEqual(closed_folder(os.getuid() + 1, package), str(self.code))
        self.code.chmod(0o755)
        self.assertEqual(closed_folder(os.getuid() + 1, package), "")


class Changes(Case):
    def test_files_that_are_written_added_and_removed(self) -> None:
        package = self.package(paths=[str(self.code)])
        file, later = self.code / "shop.py", self.code / "shop" / "__init__.py"
        file.write_text("a")
        package.watch([str(file), *package.candidates()])
        self.assertFalse(package.has_changed())
        file.write_text("ab")
        self.assertTrue(package.has_changed())
        package.watch(package.candidates())
        later.parent.mkdir()
        later.write_text("")
        self.assertTrue(package.has_changed())
        package.watch(package.candidates())
        file.unlink()
        self.assertTrue(package.has_changed())

    def test_only_files_of_the_entry_are_looked_at(self) -> None:
        """What a child says of its files is a stranger's word."""
        package = self.package(paths=[str(self.code)])
        outside: list[Any] = ["/etc/passwd", f"{self.code}/../x", f"{self.home}/workspaces/a", 5]
        package.watch(outside)
        self.assertEqual(package.files, {})


class Registration(Case):
    def test_classes_functions_and_settings(self) -> None:
        entry = registration(Case, package_of, stateful=True, paths=["/srv"])
        root = str(Path(__file__).resolve().parents[3])
        self.assertEqual(
            entry["functions"], ["server.extensions.packages.python_packages:package_of"]
        )
        self.assertTrue(entry["modules"][0].endswith("test_python_packages:Case"))
        self.assertEqual(entry["paths"][:2], ["/srv", root])
        self.assertEqual((entry["interpreter"], entry["stateful"]), (sys.executable, True))

    def test_what_no_other_process_could_import(self) -> None:
        def inner() -> None: ...

        for thing in (inner, lambda: 1, 5, len):
            with self.subTest(thing), self.assertRaisesRegex(ValueError, "cannot be registered"):
                registration(thing)


class Imports(unittest.TestCase):
    def test_a_child_loads_none_of_what_only_the_server_needs(self) -> None:
        code = (
            f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
            "import server.extensions.packages.package_tools\n"
            "print(*(name for name in sys.modules if name.startswith('server.')))"
        )
        command = [sys.executable, "-I", "-c", code]
        loaded = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
        rooms = {name.split(".")[1] for name in loaded}
        self.assertEqual(rooms, {"extensions", "lib", "tools"})
        self.assertNotIn("server.tools.runner", loaded)


if __name__ == "__main__":
    unittest.main()
