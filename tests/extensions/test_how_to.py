"""The extension of the how-to, as a folder in a copy of the server, does what the page says."""

from __future__ import annotations

import shutil
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

from ..test_docs import fenced
from ..tooling.api import Api
from ..tooling.child import Yaa
from ..tooling.source import tracked
from ..tooling.tools import ROOT

PAGE = ROOT / "docs" / "howto" / "extension.md"
SHIPPED = ("server/", "client/", "config.default.json")
CALL = {"id": "c1", "type": "function", "function": {"name": "read_notice", "arguments": "{}"}}
CLASH = (
    """from ..declaration import Extension

EXTENSION = Extension(parts="parts:ClashParts")
""",
    """from ...api.router import Route
from ..parts import Parts


class ClashParts(Parts):
    def routes(self):
        return {("GET", "/info"): Route(None)}
""",
)
LACKING = """from ..declaration import Extension

EXTENSION = Extension(requires=("deleted", "notice"))
"""
ASKED: Any = [
    {"id": "u1", "role": "user", "content": "What is new?"},
    {"id": "a1", "role": "assistant", "content": "", "tool_calls": [CALL]},
]


class HowTo(unittest.TestCase):
    folder: Path

    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="yaa-more-")))
        for path in tracked():
            if (place := path.relative_to(ROOT).as_posix()).startswith(SHIPPED):
                (cls.folder / place).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, cls.folder / place)
        cls.add("notice", *(source for _, source in fenced(PAGE.read_text(), "python")))

    @classmethod
    def add(cls, name: str, *sources: str) -> Path:
        own = cls.folder / "server" / "extensions" / name
        own.mkdir()
        for part, source in zip(("__init__", "extension", "parts"), ("", *sources), strict=False):
            (own / f"{part}.py").write_text(source)
        return own

    def serve(self, **server: Any) -> Yaa:
        command = [sys.executable, "-m", "server"]
        return Yaa({"server": {"discover": False, **server}}, command=command, cwd=self.folder)

    def test_its_route_its_tool_and_its_setting(self) -> None:
        with self.serve(notice={"text": "We moved."}) as yaa:
            api = Api(yaa.url, yaa.key)
            self.assertIn("notice", api.request("GET", "/info")[1]["extensions"])
            self.assertEqual(api.request("GET", "/notice"), (200, {"text": "We moved."}))
            self.assertEqual(Api(yaa.url).request("GET", "/notice")[0], 401)
            done = api.run({"messages": ASKED})
        result = next(each for each in done["messages"] if each["role"] == "tool")
        self.assertEqual((result["name"], result["content"]), ("read_notice", "We moved."))

    def test_an_address_of_the_server_is_refused(self) -> None:
        self.addCleanup(shutil.rmtree, self.add("clash", *CLASH))
        with self.assertRaises(RuntimeError) as caught, self.serve():
            pass
        said = "the extension clash has the route GET /info, and so has the server itself"
        self.assertIn(said, str(caught.exception))

    def test_what_it_requires_and_is_not_there_is_named(self) -> None:
        self.addCleanup(shutil.rmtree, self.add("needy", LACKING))
        with self.assertRaises(RuntimeError) as caught, self.serve(extensions=["needy"]):
            pass
        said = "server.extensions names needy, which requires deleted: put that there, too"
        self.assertIn(said, str(caught.exception))
        with self.serve() as yaa:
            api = Api(yaa.url, yaa.key)
            self.assertNotIn("needy", api.request("GET", "/info")[1]["extensions"])
            assert yaa.child is not None
            said = "needy does nothing: server/extensions lacks deleted, which it requires"
            yaa.child.wait_for(said, 60)

    def test_a_wrong_value_is_named(self) -> None:
        with self.assertRaises(RuntimeError) as caught, self.serve(notice={"text": 5}):
            pass
        self.assertIn("server.notice.text is 5, wanted a string", str(caught.exception))

    def test_it_does_nothing_where_it_is_not_named(self) -> None:
        with self.serve(extensions=[], notice={"text": "We moved."}) as yaa:
            api = Api(yaa.url, yaa.key)
            self.assertEqual(api.request("GET", "/notice")[0], 404)
            names = [each["name"] for each in api.request("GET", "/info")[1]["tools"]]
        self.assertNotIn("read_notice", names)


if __name__ == "__main__":
    unittest.main()
