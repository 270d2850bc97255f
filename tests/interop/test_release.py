"""A release is the same bytes each time, lists what it holds, and each part of it works."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path

from server import VERSION

from ..tooling import builds, release, tools, turns

WHEN = 1_700_000_000  # seconds


@tools.needs(tools.module("hatchling"), tools.module("pip"))
class Release(unittest.TestCase):
    folder: Path
    files: dict[str, Path]
    wheel: Path
    sdist: Path
    pyz: Path

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="yaa-rel-")))
        starts = turns.share((True, False, False), 3)[0]  # as test_wheel, test_pyz start them
        made = release.make(cls.folder / "made", seconds=WHEN, starts=starts)
        cls.files = {file.name: file for file in made}
        cls.wheel = cls.files[f"yaa-{VERSION}-py3-none-any.whl"]
        cls.sdist = cls.files[f"yaa-{VERSION}.tar.gz"]
        cls.pyz = cls.files["yaa.pyz"]

    def place(self, name: str) -> Path:
        path = self.folder / name
        path.mkdir()
        return path

    def test_two_builds_are_the_same_bytes(self) -> None:
        """In another folder that is no checkout, by a user with another mask and time zone."""
        source = builds.stage(self.place("another source"))
        for number, path in enumerate(sorted(source.rglob("*"))):
            os.utime(path, (number, number))
        target = self.place("another target")
        self.addCleanup(os.umask, os.umask(0o077))
        before = os.environ.get("TZ")
        self.addCleanup(_set, "TZ", before)
        _set("TZ", "Asia/Kathmandu")
        again = (
            builds.build_wheel(source, target, WHEN),
            builds.build_sdist(source, target, WHEN),
            builds.build_pyz(source, target),
        )
        for file in again:
            self.assertEqual(file.read_bytes(), self.files[file.name].read_bytes(), file.name)

    def test_the_three_hold_the_same_sources(self) -> None:
        with tarfile.open(self.sdist) as archive:
            names = {each.name.partition("/")[2] for each in archive.getmembers()}
        staged = builds.stage(self.place("staged"))
        tracked = {str(path.relative_to(staged)) for path in staged.rglob("*") if path.is_file()}
        self.assertEqual(names, tracked | {"PKG-INFO"})
        package = {name.removeprefix("yaa/") for name in release.members(self.wheel)}
        wanted = {name.removeprefix("server/") for name in tracked}
        self.assertEqual(package, wanted - {"README.md", "LICENSE", "pyproject.toml"})
        self.assertIn("yaa/client/index.html", release.members(self.pyz))

    def test_sums(self) -> None:
        lines = self.files["SHA256SUMS"].read_text().splitlines()
        sums = {line.split("  ")[1]: line.split("  ")[0] for line in lines}
        self.assertEqual({*sums, "SHA256SUMS"}, {*self.files})
        for name, digest in sums.items():
            found = hashlib.sha256(self.files[name].read_bytes()).hexdigest()
            self.assertEqual(found, digest, name)

    def test_the_bill_of_materials(self) -> None:
        bill = json.loads(self.files[release.BILL].read_text())
        self.assertEqual((bill["bomFormat"], bill["specVersion"]), ("CycloneDX", "1.6"))
        self.assertEqual(bill["metadata"]["timestamp"], "2023-11-14T22:13:20Z")
        about = bill["metadata"]["component"]
        self.assertEqual((about["name"], about["version"]), ("yaa", VERSION))
        self.assertEqual(bill["dependencies"], [{"ref": about["bom-ref"], "dependsOn": []}])
        marks = [each["bom-ref"] for each in bill["components"]]
        self.assertEqual(len(marks), len({*marks, about["bom-ref"]}) - 1)
        told = {each["bom-ref"]: each["hashes"][0]["content"] for each in bill["components"]}
        with zipfile.ZipFile(self.wheel) as archive:
            for name in archive.namelist():
                if ".dist-info/" not in name:
                    found = hashlib.sha256(archive.read(name)).hexdigest()
                    self.assertEqual(told.pop(f"package/{name}"), found, name)
        self.assertEqual(
            {*told}, {f"release/{file.name}" for file in (self.wheel, self.sdist, self.pyz)}
        )

    def test_the_version_is_written_in_one_place(self) -> None:
        source = builds.stage(self.place("next version"))
        file = source / "server" / "__init__.py"
        file.write_text(file.read_text().replace(f'VERSION = "{VERSION}"', 'VERSION = "9.8.7rc1"'))
        target = self.place("of next version")
        self.assertEqual(
            builds.build_wheel(source, target, WHEN).name, "yaa-9.8.7rc1-py3-none-any.whl"
        )
        said = builds.run([sys.executable, "-m", "server", "--version"], source)
        self.assertEqual(said, "yaa 9.8.7rc1\n")

    def test_it_needs_nothing(self) -> None:
        with zipfile.ZipFile(self.wheel) as archive:
            about = archive.read(f"yaa-{VERSION}.dist-info/METADATA").decode()
        self.assertNotIn("Requires-Dist", about)
        self.assertIn("\nLicense-Expression: MIT\n", about)

    def test_what_is_broken_is_no_release(self) -> None:
        place = self.place("broken")
        shorter, changed = place / "shorter.pyz", place / "changed.pyz"
        for target, edit in ((shorter, None), (changed, b"/* */")):
            with zipfile.ZipFile(self.pyz) as whole, zipfile.ZipFile(target, "w") as less:
                for name in whole.namelist():
                    if name != "yaa/client/index.html":
                        less.writestr(name, whole.read(name))
                    elif edit:
                        less.writestr(name, whole.read(name) + edit)
            with self.assertRaisesRegex(builds.BuildFailed, r"yaa/client/index\.html"):
                release.check_contents(self.wheel, target)
        source = builds.stage(self.place("other source"))
        (source / "client" / "index.html").write_text("other")
        sdist = builds.build_sdist(source, place, WHEN)
        with self.assertRaisesRegex(builds.BuildFailed, "builds another"):
            release.check_source(sdist, self.wheel, WHEN)
        for program, words in (
            ("exit 3", "exit code 3"),
            ("echo yaa 0", f"expected 'yaa {VERSION}"),
        ):
            start = builds.Start("program", ["sh", "-c", program], place)
            with self.subTest(program), self.assertRaisesRegex(builds.BuildFailed, words):
                release.check_start(start, place / f"home of {program}")


class CommandLine(unittest.TestCase):
    def test_a_folder_with_something_in_it_is_refused(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            (Path(name) / "theirs").write_text("mine")
            command = [sys.executable, "-m", "tests.tooling.release", name]
            with self.assertRaisesRegex(builds.BuildFailed, "is not empty"):
                builds.run(command, tools.ROOT)


def _set(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


if __name__ == "__main__":
    unittest.main()
