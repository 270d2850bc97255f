"""`/workspaces` and `/objects` of the server as it is started, with real processes and sockets."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import sys
import tempfile
import unittest
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from ..tooling.child import Child

Json = dict[str, Any]
KEYS = {"ann": "the-key-of-ann-123456", "bob": "the-key-of-bob-123456"}
ANN, BOB = KEYS["ann"], KEYS["bob"]
MOST = 3 << 20  # bytes of one body
FILE_MB = 4
TIMEOUT_S = 120


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Json:
        found: Json = json.loads(self.body)
        return found


class Case(unittest.TestCase):
    """One server with three folders and two keys for all tests of a class."""

    base: Path
    at: ClassVar[tuple[str, int]]

    @classmethod
    def setUpClass(cls) -> None:
        stack = cls.enterClassContext(ExitStack())
        cls.base = Path(os.path.realpath(stack.enter_context(tempfile.TemporaryDirectory())))
        home = cls.base / "home"
        folders: Json = {}
        for name, mode in (("notes", "read"), ("project", "write"), ("big", "overlay")):
            (cls.base / name).mkdir()
            (cls.base / name / "file").write_text(name)
            folders[name] = {"path": str(cls.base / name), "mode": mode}
        (cls.base / "outside").write_text("nothing to be told of")
        home.mkdir()
        settings = {
            "server": {
                "api_keys": [{"name": who, "key": key} for who, key in KEYS.items()],
                "folders": folders,
                "sandbox": {"require": "none"},
                "workspace": {"file_mb": FILE_MB, "objects_mb": 24},
                "limits": {"max_request_size": MOST},
                "discover": False,
            }
        }
        (home / "config.json").write_text(json.dumps(settings))
        child = Child([sys.executable, "-m", "server", "--home", str(home), "--port", "0"])
        stack.callback(child.stop)
        found = urlsplit(child.wait_for(r"^(http://127\.0\.0\.1:\d+)/$", 120)[1])
        child.wait_for(r"^  ready ", 120)
        cls.at = (str(found.hostname), int(found.port or 0))
        cls.home = home

    home: ClassVar[Path]

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | Json | None = None,
        key: str = ANN,
        query: Json | None = None,
        **headers: str,
    ) -> Answer:
        connection = http.client.HTTPConnection(*self.at, timeout=TIMEOUT_S)
        told = {name.replace("_", "-"): value for name, value in headers.items()}
        if isinstance(body, dict):
            body, told = json.dumps(body).encode(), {"Content-Type": "application/json", **told}
        try:
            target = f"{path}?{urlencode(query, quote_via=quote)}" if query else path
            told = {"Authorization": f"Bearer {key}", **told}
            connection.request(method, target, body, told)
            answer = connection.getresponse()
            names = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, names, answer.read())
        finally:
            connection.close()

    def put(self, path: str, body: bytes, session: str = "s", **more: Any) -> Answer:
        query = {"path": path, **more.pop("query", {})}
        return self.ask("PUT", f"/workspaces/{session}/file", body, query=query, **more)

    def get(self, path: str, session: str = "s", **more: Any) -> Answer:
        query = {"path": path, **more.pop("query", {})}
        return self.ask("GET", f"/workspaces/{session}/file", query=query, **more)

    def paths(self, session: str = "s", **query: Any) -> list[str]:
        found = self.ask("GET", f"/workspaces/{session}/files", query=query)
        self.assertEqual(found.status, 200, found.body)
        return [row["path"] for row in found.json["entries"]]

    def refused(self, answer: Answer, status: int, code: str) -> Json:
        """The body of a refusal, which holds no path of the server."""
        self.assertEqual((answer.status, answer.json.get("code")), (status, code), answer.body)
        self.assertNotIn(str(self.base), answer.body.decode())
        return answer.json


class Files(Case):
    def test_content(self) -> None:
        for name, data in (
            ("a.txt", b"hello"),
            ("empty", b""),
            ("deep/er/große 漢字.bin", bytes(range(256)) * 9000),  # more than one piece
            ("new\nline", b"x"),
        ):
            with self.subTest(name):
                put = self.put(name, data)
                self.assertEqual(put.status, 200, put.body)
                sha256 = hashlib.sha256(data).hexdigest()
                told = {"path": name, "bytes": len(data), "sha256": sha256}
                self.assertEqual({key: put.json[key] for key in told}, told)
                for tree in ({}, {"tree": put.json["tree"]}):
                    got = self.get(name, query=tree)
                    self.assertEqual((got.status, got.body), (200, data))
                    if tree:  # a file that was just written is not yet known as it is
                        self.assertEqual(got.headers["etag"], f'"{sha256}"')
                    self.assertTrue(got.headers["content-disposition"].startswith("attachment"))
                    self.assertIn("sandbox", got.headers["content-security-policy"])
                    self.assertEqual(got.headers["x-content-type-options"], "nosniff")
        self.assertIn("deep", self.paths())
        self.assertIn("deep/er/große 漢字.bin", self.paths(path="deep", depth=3))
        self.assertEqual(len(self.paths(limit=2)), 2)


if __name__ == "__main__":
    unittest.main()
