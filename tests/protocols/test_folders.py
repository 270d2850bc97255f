"""A protocol is a folder: it is served because it is there.

It goes with the files that carry its name, and its line in the index of the docs.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from server.cli.bundle import pack

from ..tooling import patience, turns
from ..tooling.source import tracked
from ..tooling.tools import ROOT

GONE = ("autoai", "gateway")
INDEX = "docs/index.md"
ASK = """
from tests.tooling.api import Api
from tests.tooling.child import Yaa

with Yaa({"server": {"discover": False}}) as yaa:
    api = Api(yaa.url, yaa.key)
    done = api.run({"messages": [{"role": "user", "content": "calc 2+2"}]})
    print(done["status"], *(api.request("POST", path, {})[0] for path in PATHS))
"""
SCRATCH = '''"""A protocol that is only here to be found."""

from ...api.router import RequestContext, Route
from ..services import Services


def routes(services: Services) -> dict[tuple[str, str], Route]:
    async def post(call: RequestContext) -> None:
        await call.json({"clock": services.clock()}, status=202)

    return {("POST", "/scratch"): Route(post)}
'''
FROM_THE_FILE = """
import sys

sys.path.insert(0, sys.argv[1])
from yaa import protocols

print(*(module.__name__.split(".")[-2] for module in protocols.modules("routes")))
"""


def carries(path: Path) -> bool:
    """Whether the path has the name of a protocol that goes."""
    plain = re.sub(r"[-_]", "", path.relative_to(ROOT).as_posix())
    return any(name in plain for name in GONE)


class Folders(unittest.TestCase):
    """In a copy of everything without GONE."""

    folder: Path

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="yaa-less-")))
        files = tracked()
        gone = [path for path in files if carries(path)]
        for name in GONE:
            assert any(path.match(f"server/protocols/{name}/routes.py") for path in gone), name
        for path in files:
            target = cls.folder / path.relative_to(ROOT)
            if path not in gone:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
        index = (ROOT / INDEX).read_text().splitlines()
        pages = {path.name for path in gone if path.suffix == ".md"}
        left = [line for line in index if not any(f"/{page})" in line for page in pages)]
        assert len(left) == len(index) - len(pages), pages
        (cls.folder / INDEX).write_text("\n".join(left) + "\n")

    def run_there(self, *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=patience.seconds(300),
            check=False,
        )
        self.assertEqual(done.returncode, 0, (done.stdout + done.stderr)[-3000:])
        return done.stdout

    def test_nothing_else_names_them(self) -> None:
        named = re.compile(r"protocols[./](autoai|gateway)")
        wrong = [
            f"{path.relative_to(self.folder)}:{number}"
            for path in (self.folder / "server").rglob("*.py")
            for number, line in enumerate(path.read_text().splitlines(), 1)
            if named.search(line)
        ]
        self.assertEqual(wrong, [])

    def test_the_tests_of_the_others_pass(self) -> None:
        tests = (self.folder / "tests" / "protocols").rglob("test_*.py")
        names = [path.relative_to(self.folder).with_suffix("").parts for path in tests]
        others = sorted(".".join(parts) for parts in names if parts[-1] != "test_folders")
        self.run_there("-c", f"import {', '.join(others)}")
        self.run_there(
            *("-m", "tests.tooling.suite", "--result", os.devnull),
            *("tests.test_layers", "tests.test_docs", "tests.settings.test_json_errors"),
            *("tests.mission.test_rows", *turns.share(others, 8)),
        )

    def test_a_session_runs_there_and_a_protocol_is_added_by_its_folder(self) -> None:
        scratch = self.folder / "server" / "protocols" / "scratch"
        self.addCleanup(shutil.rmtree, scratch)
        scratch.mkdir()
        (scratch / "__init__.py").write_text('"""Scratch."""\n')
        (scratch / "routes.py").write_text(SCRATCH)
        expected = {"/api/query": 404, "/auto-ai/v1/chat/stream": 404, "/v1/chat/completions": 400}
        expected |= {"/agui/auto": 422, "/scratch": 202}
        told = self.run_there("-c", f"PATHS = {[*expected]}\n{ASK}").split()
        self.assertEqual(told, ["completed", *map(str, expected.values())])

    def test_they_are_found_inside_one_file_too(self) -> None:
        file = self.folder / "yaa.pyz"
        self.addCleanup(file.unlink)
        pack(file)
        folders = sorted(path.parent.name for path in ROOT.glob("server/protocols/*/routes.py"))
        self.assertEqual(self.run_there("-c", FROM_THE_FILE, str(file)).split(), folders)


if __name__ == "__main__":
    unittest.main()
