"""An extension can be deleted: its folder, its tests and its page. What is left works.

So can a folder of the page, with its groups of scripts and the tests that name it.

In one copy of everything all of them are taken out together, and one in turn alone.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import cache_from_source
from pathlib import Path

from server.extensions import present

from ..tooling import lanes, patience, turns
from ..tooling.source import tracked
from ..tooling.tools import ROOT
from . import page_of

INDEX = "docs/index.md"
GROUP = re.compile(r"<template data-group=(?:(?!</template>).)*</template>\n", re.S)
SECONDS = 300
# The rules, the docs, and what reads what extensions declare.
MODULES = (
    *("tests.test_layers", "tests.test_docs", "tests.test_errors", "tests.test_config"),
    *("tests.settings.test_every_key", "tests.settings.test_json_errors"),
    *("tests.tools.test_unasked", "tests.test_json_types"),
    *("tests.session.test_config_schema", "tests.cli.test_help"),
)
# A test of the client that looks at what folders there are. One that reads the files of a folder is
# not changed by another folder, as tests/client/floors.test.js proves: of them a share is enough.
OF_THE_PAGE = re.compile(
    r"readdirSync\(.*(?:recursive|withFileTypes)|'\.\./index\.html'|textFiles|(?<![.\w])has\("
)
OTHERS = 15  # parts of the client's other tests: a turn plays one
# Every test module that is left is imported: none may import what is gone.
IMPORT = """
import gc
from importlib import import_module
from tests.tooling import lanes

gc.disable()  # it would look through all of them again and again
for name in ("unit", "system", "interop", "browser"):
    for module in lanes.modules(name):
        import_module(module)
gc.freeze()  # what they keep is not kept by the first that runs
gc.enable()
"""
ASK = """
import tempfile
from pathlib import Path
from tests.tooling.api import Api
from tests.tooling.child import Yaa
from tests.tooling.own_model import write_model

with tempfile.TemporaryDirectory() as name:
    with Yaa({"server": {"discover": False}}, home=write_model(Path(name))) as yaa:
        api = Api(yaa.url, yaa.key)
        done = api.run({"messages": [{"role": "user", "content": "2+2"}]})
        named = api.request("GET", "/info")[1]["extensions"]
        assert "4" in done["messages"][-1]["content"], done
        print(done["status"], api.request("GET", "/health")[1]["status"], *named)
"""


def needing(name: str) -> list[str]:
    """An extension and those that require it, which cannot act without it."""
    gone = {name}
    for other, each in present().items():
        if gone.intersection(each.requires):
            gone.add(other)
    return [other for other in present() if other in gone]


class Folders(unittest.TestCase):
    folder: Path
    aside: Path

    @classmethod
    def setUpClass(cls) -> None:
        holder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="yaa-less-")))
        cls.folder, cls.aside = holder / "yaa", holder / "aside"
        for path in tracked():
            target = cls.folder / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target)
            compiled = Path(cache_from_source(path)) if path.suffix == ".py" else path
            if compiled != path and compiled.exists():  # it is valid for the time of its source
                kept = cls.folder / compiled.relative_to(ROOT)
                kept.parent.mkdir(exist_ok=True)
                shutil.copy2(compiled, kept)

    @contextmanager
    def without(self, names: list[str]) -> Iterator[list[str]]:
        """Take what carries these names out of the copy; the names that are left."""
        index = self.folder / INDEX
        lines, gone = index.read_text(), []
        for name in names:
            page = f"docs/reference/{page_of(name)}"
            gone += [f"server/extensions/{name}", f"tests/extensions/{name}", page]
            self.assertEqual(lines.count(f"({Path(page).relative_to('docs')})"), 1, page)
        pages = [f"reference/{page_of(name)})" for name in names]
        kept = [x for x in lines.splitlines() if not any(page in x for page in pages)]
        gone += [
            f"tests/extensions/{path.name}"
            for path in (self.folder / "tests/extensions").glob("*_with_*")
            if {*path.name.split("_with_")}.intersection(names)
        ]
        for place in gone:
            (self.aside / place).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / place).rename(self.aside / place)
        index.write_text("\n".join(kept) + "\n")
        try:
            yield [name for name in present() if name not in names]
        finally:
            for place in gone:
                (self.aside / place).rename(self.folder / place)
            index.write_text(lines)

    @contextmanager
    def without_folder_of_the_page(self, *names: str) -> Iterator[None]:
        """Take folders of `client/js/ext` out of the copy, and the client's tests that use them.

        Those that ask with `has(…)` what is there are left.
        """
        used = re.compile(rf"'ext/({'|'.join(names)})/|'ext', '({'|'.join(names)})'")
        asks = re.compile(r"^const \{[^}]*\bhas\b", re.M)
        texts = {path: path.read_text() for path in (self.folder / "tests/client").glob("*.js")}
        tests = [
            path.relative_to(self.folder)
            for path, text in texts.items()
            if used.search(text) and not asks.search(text)
        ]
        gone = [*(Path("client/js/ext") / name for name in names), *tests]
        index = self.folder / "client/index.html"
        text = index.read_text()
        for place in gone:
            (self.aside / place).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / place).rename(self.aside / place)
        named = re.compile(rf"js/ext/({'|'.join(names)})/")
        index.write_text(GROUP.sub(lambda found: "" if named.search(found[0]) else found[0], text))
        try:
            yield
        finally:
            for place in gone:
                (self.aside / place).rename(self.folder / place)
            index.write_text(text)

    def of_the_page(self) -> list[Path]:
        """Those left that look at what folders there are, and of the others a share."""
        files = sorted((self.folder / "tests/client").glob("*.test.js"))
        reads = {path for path in files if OF_THE_PAGE.search(path.read_text())}
        others = [path for path in files if path not in reads]
        return [*reads, *turns.share(others, OTHERS)]

    def run_there(self, *arguments: str, program: str = sys.executable) -> str:
        done = subprocess.run(
            [program, *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=patience.seconds(SECONDS),
            check=False,
        )
        quiet = ("ok ", "skip", "\x1e")  # what suite.py says of a test that begins or is fine
        said = [line for line in done.stdout.splitlines() if not line.startswith(quiet)]
        self.assertEqual(done.returncode, 0, "\n".join([*said, done.stderr[-3000:]]))
        return done.stdout

    def run_tests(self, before: str, *modules: str) -> None:
        """Run some code, and modules in the same process."""
        run = "import sys\nfrom tests.tooling import suite\nif sys.argv[3:]:\n    suite.main()"
        self.run_there("-c", before + run, "--result", os.devnull, *modules)

    def guarded(self, name: str) -> list[str]:
        """The kernel's test modules that say what of them goes with an extension."""
        said = re.compile(rf'needs\([^)]*"{name}"|"{name}" (not )?in (extensions\.)?present\(\)')
        files = sorted((self.folder / "tests").rglob("test_*.py"))
        names = [path.relative_to(self.folder).with_suffix("") for path in files]
        return [
            ".".join(each.parts)
            for path, each in zip(files, names, strict=True)
            if "extensions" not in each.parts and said.search(path.read_text())
        ]

    def test_without_each_a_session_runs_and_the_tests_that_are_left_can_be_loaded(self) -> None:
        for name in turns.share(present(), 14):
            with self.subTest(name), self.without(needing(name)) as left:
                self.assertEqual(self.run_there("-c", ASK).split(), ["completed", "ok", *left])
                self.run_tests(IMPORT, *self.guarded(name))

    def test_without_a_folder_of_the_page_the_tests_of_the_page_that_are_left_pass(self) -> None:
        node = shutil.which("node")
        if not node:
            self.skipTest("there is no node")
        every = sorted(path.name for path in (ROOT / "client/js/ext").iterdir())
        rows = [every, *([name] for name in every)]
        self.assertEqual(math.gcd(len(rows), OTHERS), 1, "a row would always meet the same tests")
        for names in turns.share(rows, len(rows)):
            with self.subTest(names), self.without_folder_of_the_page(*names):
                for arguments in lanes.node_arguments(self.of_the_page()):
                    self.run_there(*arguments, program=node)

    def test_without_all_of_them_the_rules_and_the_docs_hold(self) -> None:
        with self.without([*present()]) as left:
            self.assertEqual(left, [])
            self.assertEqual(self.run_there("-c", ASK).split(), ["completed", "ok"])
            # The budget is that of the whole.
            lower = "from tests import house\nhouse.write_budget(may_rise=True)\n"
            self.run_tests(lower + IMPORT, *MODULES)

    def test_no_word_of_the_kernel_leads_into_one(self) -> None:
        named = re.compile(rf"extensions[./]({'|'.join(present())})\b")
        kernel = [
            path for path in (ROOT / "server").rglob("*.py") if "extensions" not in path.parts
        ]
        wrong = [
            f"{path.relative_to(ROOT)}:{number}"
            for path in kernel
            for number, line in enumerate(path.read_text().splitlines(), 1)
            if named.search(line)
        ]
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
