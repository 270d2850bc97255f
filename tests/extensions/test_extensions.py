"""Extensions are found by their folders, named by the configuration, and cost nothing unnamed."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from server import extensions
from server.api.router import RequestContext, Route
from server.app import join_routes
from server.config import ConfigError, load
from server.extensions.declaration import Extension
from server.lib.json_schema import field_types

from ..test_layers import DECLARED_WITH, EXTENSIONS
from ..tooling.api import Api
from ..tooling.child import Yaa
from ..tooling.own_model import write_model
from ..tooling.tools import ROOT

LOADED = """
import json, sys

from server import extensions
from server.lib.json_schema import field_types

before = {*sys.modules}
extensions.present()
print(json.dumps(sorted({*sys.modules} - before)))
"""


class Finder(unittest.TestCase):
    def test_each_folder_is_one(self) -> None:
        self.assertEqual({f"extensions.{name}" for name in extensions.present()}, {*EXTENSIONS})

    def test_what_is_found_loads_declarations_and_nothing_else(self) -> None:
        """They are read before the port is open, by each command and each process of the sandbox
        that asks for the configuration."""
        code = [sys.executable, "-c", LOADED]
        done = subprocess.run(code, cwd=ROOT, capture_output=True, text=True, check=True)
        folders = [f"server.extensions.{name}" for name in extensions.present()]
        expected = {*folders, *(f"{folder}.extension" for folder in folders)}
        self.assertEqual({*json.loads(done.stdout)} - expected, set())
        self.assertIn(field_types.__name__, DECLARED_WITH)

    def test_in_the_order_of_what_they_require(self) -> None:
        declared = {
            "a": Extension(requires=("b",)),
            "b": Extension(requires=("c",)),
            "c": Extension(),
            "lost": Extension(requires=("deleted",)),
        }
        known = extensions.in_order(declared)
        self.assertEqual([*known], ["c", "b", "a"])
        self.assertEqual(extensions.incomplete(declared), {"lost": ["deleted"]})
        for names, chosen in ((["a"], "cba"), (["b", "b"], "cb"), (["*"], "cba"), ([], "")):
            self.assertEqual("".join(extensions.select(names, known)), chosen)


class Routes(unittest.TestCase):
    def test_an_address_that_two_have_is_an_error(self) -> None:
        async def handle(call: RequestContext) -> None:
            raise NotImplementedError

        route = Route(handle)
        kernel = {("GET", "/"): route, ("GET", "/skills/{name}"): route}
        for method, path, taken in (
            ("GET", "/", True),
            ("POST", "/", False),
            ("GET", "/skills/{skill}", True),
            ("GET", "/skills/{skill}/files", False),
        ):
            with self.subTest(method=method, path=path):
                tables = [("the server", kernel), ("a", {}), ("b", {(method, path): route})]
                if not taken:
                    self.assertEqual(join_routes(tables), {**kernel, (method, path): route})
                    continue
                with self.assertRaises(ConfigError) as caught:
                    join_routes(tables)
                said = f"b has the route {method} {path}, and so has the server"
                self.assertEqual(str(caught.exception), said)


class Named(unittest.TestCase):
    def load(self, names: list[str]) -> list[str]:
        with tempfile.TemporaryDirectory() as home:
            given = {"server": {"extensions": names}}
            found: list[str] = load(Path(home), None, {}, {}, given=given).server["extensions"]
        return found

    def test_a_name_that_is_not_there_is_an_error(self) -> None:
        self.assertEqual(self.load([]), [])
        self.assertEqual(self.load(["*"]), ["*"])
        with self.assertRaises(ConfigError) as caught:
            self.load(["nothing"])
        self.assertIn("server.extensions names nothing; there are", str(caught.exception))

    def test_a_bare_server_runs_a_session_and_has_nothing_of_them(self) -> None:
        bare = [sys.executable, "-m", "server", "--bare"]
        home = write_model(Path(self.enterContext(tempfile.TemporaryDirectory())))
        with Yaa({"server": {"discover": False}}, command=bare, home=home) as yaa:
            api = Api(yaa.url, yaa.key)
            done = api.run({"messages": [{"role": "user", "content": "2+2"}]})
            self.assertEqual(done["status"], "completed")
            self.assertIn("4", done["messages"][-1]["content"])
            self.assertEqual(api.request("GET", "/info")[1]["extensions"], [])
            self.assertEqual(api.request("GET", "/metrics")[0], 404)


if __name__ == "__main__":
    unittest.main()
