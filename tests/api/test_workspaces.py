"""`/workspaces` and `/objects` of the server as it is started, with real processes and sockets."""

from __future__ import annotations

import hashlib
import http.client
import io
import json
import os
import socket
import sys
import tempfile
import unittest
import zipfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from server.api.auth import Keys
from server.app import App, routes
from server.config import load

from ..tooling.child import Child
from . import fakes

Json = dict[str, Any]
KEYS = {
    "ann": "the-key-of-ann-123456",
    "bob": "the-key-of-bob-123456",
    "eve": "the-key-of-eve-123456",
}
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
        cls.base.chmod(0o711)
        home = cls.base / "home"
        folders: Json = {}
        for name, mode in (("notes", "read"), ("project", "write"), ("big", "overlay")):
            (cls.base / name).mkdir()
            (cls.base / name).chmod(0o777)  # the user of tools is another one if this is root
            (cls.base / name / "file").write_text(name)
            (cls.base / name / "file").chmod(0o666)
            folders[name] = {"path": str(cls.base / name), "mode": mode}
        folders["anns"] = {**folders["notes"], "people": ["ann"]}
        folders["owners"] = {**folders["notes"], "people": []}
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
            target = f"{path}?{urlencode(query, doseq=True, quote_via=quote)}" if query else path
            told = {"Authorization": f"Bearer {key}", **told}
            connection.request(method, target, body, told)
            answer = connection.getresponse()
            names = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, names, answer.read())
        finally:
            connection.close()

    def pieces(self, kind: str) -> list[Path]:
        """The pieces that are still kept, where tests may look and the server does not."""
        return list((self.home / "workspace_state").glob(f"*/pieces/{kind}-*"))

    def assert_no_pieces(self, session: str, kind: str = "upload") -> None:
        """The operations of a workspace come one after the other, so some show the removal."""
        for _ in range(1_000):
            if not self.pieces(kind):
                return
            self.ask("GET", f"/workspaces/{session}/state")
        self.fail(f"{self.pieces(kind)} are left")

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

    def test_types_that_no_browser_runs(self) -> None:
        for name, wanted in (
            ("a.html", "application/octet-stream"),
            ("a.svg", "application/octet-stream"),
            ("a.xml", "application/octet-stream"),
            ("a.js", "application/octet-stream"),
            ("a.pdf", "application/octet-stream"),
            ("a.png", "image/png"),
            ("a.txt", "text/plain"),
        ):
            with self.subTest(name):
                self.put(name, b"<script>alert(1)</script>", session="types")
                got = self.get(name, session="types")
                self.assertEqual(got.headers["content-type"], wanted)

    def test_ranges_and_tags(self) -> None:
        data = os.urandom(2_500_000)
        tree = self.put("r", data, session="ranges").json["tree"]
        tag = f'"{hashlib.sha256(data).hexdigest()}"'
        cases: list[tuple[Json, int, bytes]] = [
            ({"Range": "bytes=0-0"}, 206, data[:1]),
            ({"Range": "bytes=1000000-2100000"}, 206, data[1_000_000:2_100_001]),
            ({"Range": "bytes=-5"}, 206, data[-5:]),
            ({"Range": "bytes=2499999-"}, 206, data[-1:]),
            ({"Range": "bytes=5-", "If-Range": '"other"'}, 200, data),
            ({"Range": "bytes=5-", "If-Range": tag}, 206, data[5:]),
            ({"Range": "lines=1-2"}, 200, data),
            ({"If-None-Match": tag}, 304, b""),
            ({"If-None-Match": f'W/{tag}, "x"'}, 304, b""),
            ({"If-None-Match": '"x"'}, 200, data),
        ]
        for headers, status, wanted in cases:
            with self.subTest(headers):
                got = self.get("r", "ranges", query={"tree": tree}, **headers)
                self.assertEqual((got.status, got.body == wanted), (status, True), got.headers)
                self.assertEqual(got.headers["etag"], tag)
        got = self.get("r", "ranges", Range="bytes=9000000-")
        self.refused(got, 416, "range_not_satisfiable")
        self.assertEqual(got.headers["content-range"], "bytes */2500000")
        head = self.ask("HEAD", "/workspaces/ranges/file", query={"path": "r"})
        self.assertEqual((head.status, head.headers["content-length"]), (200, "2500000"))

    def test_remove_and_move(self) -> None:
        first = self.put("one/a", b"1", "moves").json["tree"]
        self.put("two", b"2", "moves")
        move = ("POST", "/workspaces/moves/move")
        moved = self.ask(*move, {"from": "one/a", "to": "three/a"})
        self.assertEqual((moved.status, moved.json["path"]), (200, "three/a"))
        self.refused(self.ask(*move, {"from": "two", "to": "three/a"}), 409, "workspace_conflict")
        said = self.refused(self.ask(*move, {"from": "gone", "to": "x"}), 404, "file_not_found")
        self.assertTrue(said["detail"].startswith("gone is not there"), said)
        self.refused(self.ask(*move, {"from": "two"}), 400, "request_invalid")
        gone = self.ask("DELETE", "/workspaces/moves/file", query={"path": "three"})
        self.assertEqual((gone.status, gone.json["path"]), (200, "three"))
        self.assertEqual(sorted(self.paths("moves", depth=3)), ["one", "two"])
        again = self.ask("DELETE", "/workspaces/moves/file", query={"path": "three"})
        self.refused(again, 404, "file_not_found")
        state = self.ask("GET", "/workspaces/moves/state").json
        self.assertEqual((state["tree"], state["mode"]), (gone.json["tree"], "own"))
        back = self.ask("POST", "/workspaces/moves/restore", {"tree": first})
        self.assertEqual((back.status, back.json["tree"]), (200, first))
        self.assertEqual(back.json["replaced"], gone.json["tree"])
        self.assertEqual(sorted(self.paths("moves", depth=3)), ["one", "one/a"])

    def test_differences(self) -> None:
        one = self.put("f", b"a\nb\n", "differ").json["tree"]
        two = self.put("f", b"a\nc\n", "differ").json["tree"]
        at = "/workspaces/differ/diff"
        for to in (two, "now"):
            found = self.ask("GET", at, query={"from": one, "to": to, "path": "f"}).json
            self.assertEqual((found["count"], found["files"][0]["change"]), (1, "modified"))
            self.assertIn("-b\n+c\n", found["diff"])
        self.refused(self.ask("GET", at, query={"from": one}), 422, "request_invalid")
        self.refused(self.ask("GET", at, query={"from": one, "to": "base"}), 404, "file_not_found")
        missing = self.ask("GET", at, query={"from": one, "to": "0" * 64})
        self.refused(missing, 409, "objects_missing")

    def test_an_archive(self) -> None:
        data = os.urandom(3_000_000)
        self.put("a/b/big", data, "zip")
        self.put("c", b"c", "zip")
        at = "/workspaces/zip/archive"
        for query, wanted in (
            ({}, {"a/", "a/b/", "a/b/big", "c"}),
            ({"path": "a/b"}, {"a/b/", "a/b/big"}),
            ({"path": ["a/b/big", "c"]}, {"a/b/big", "c"}),
        ):
            got = self.ask("GET", at, query=query)
            self.assertEqual((got.status, got.headers["content-type"]), (200, "application/zip"))
            with zipfile.ZipFile(io.BytesIO(got.body)) as file:
                self.assertEqual(set(file.namelist()), wanted)
                self.assertEqual(file.read("a/b/big"), data)
        missing = self.ask("GET", at, query={"path": ["c", "a/none"]})
        self.refused(missing, 404, "file_not_found")
        self.assertIn("a/none", missing.body.decode())
        self.assert_no_pieces("zip", "archive")

    def test_the_head_of_an_archive_makes_none(self) -> None:
        states = self.home / "workspace_state"
        before = sorted(states.glob("*"))
        head = self.ask("HEAD", "/workspaces/only-asked/archive", query={"path": "a/b"})
        self.assertEqual((head.status, head.headers["content-type"]), (200, "application/zip"))
        self.assertIn("b.zip", head.headers["content-disposition"])
        self.assertNotIn("content-length", head.headers)
        self.assertEqual(sorted(states.glob("*")), before)

    def test_a_client_that_leaves_in_the_middle_of_an_archive(self) -> None:
        for number in range(5):
            put = self.put(f"big {number}", os.urandom(3_000_000), "leaves")
            self.assertEqual(put.status, 200)
        with socket.socket() as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.settimeout(TIMEOUT_S)
            sock.connect(self.at)
            head = f"GET /workspaces/leaves/archive HTTP/1.1\r\nHost: {self.at[0]}\r\n"
            sock.sendall(f"{head}Authorization: Bearer {ANN}\r\n\r\n".encode())
            self.assertTrue(sock.recv(100).startswith(b"HTTP/1.1 200"))
            self.assertEqual(len(self.pieces("archive")), 1)
        self.assert_no_pieces("leaves", "archive")
        self.assertEqual(self.get("big 1", "leaves").status, 200)


class Uploads(Case):
    def test_what_cannot_be_placed_is_not_kept(self) -> None:
        """Whoever sends a whole file again begins anew, so nothing would ever use the first."""
        self.put("folder/inside", b"x", "given-up")
        for size in (10, 3_000_000):
            with self.subTest(size=size):
                answer = self.put("folder", b"x" * size, "given-up")
                self.assertGreaterEqual(answer.status, 400)
                self.assert_no_pieces("given-up")

    def test_a_client_that_leaves_after_a_whole_file(self) -> None:
        for _ in range(5):
            with socket.create_connection(self.at, TIMEOUT_S) as sock:
                head = f"PUT /workspaces/leaves-up/file?path=f HTTP/1.1\r\nHost: {self.at[0]}\r\n"
                head += f"Authorization: Bearer {ANN}\r\nContent-Length: 20000000\r\n\r\n"
                sock.sendall(head.encode() + bytes(20_000_000))
        self.assert_no_pieces("leaves-up")

    def send(self, piece: bytes, first: int, total: int, **query: str) -> Answer:
        told = {"Content-Range": f"bytes {first}-{first + len(piece) - 1}/{total}"}
        return self.put("f", piece, "up", query=query, **told)

    def test_in_pieces(self) -> None:
        data = os.urandom(3_900_000)
        size = len(data)
        first = self.send(data[:1_500_000], 0, size)
        self.assertEqual((first.status, first.json), (202, {"received": 1_500_000}))
        self.refused(self.get("f", "up"), 404, "file_not_found")
        later = self.send(data[2_000_000:], 2_000_000, size)
        self.assertEqual(self.refused(later, 409, "workspace_conflict")["received"], 1_500_000)
        asked = {"Content-Range": f"bytes */{size}"}
        self.assertEqual(self.put("f", b"", "up", **asked).json, {"received": 1_500_000})
        last = self.send(data[1_400_000:], 1_400_000, size)
        self.assertEqual((last.status, last.json["bytes"]), (200, size))
        self.assertEqual(self.get("f", "up").body, data)

    def test_two_at_once(self) -> None:
        one, other = b"1" * 1000, b"2" * 1000
        for data, name in ((one, "a"), (other, "b")):
            self.assertEqual(self.send(data[:600], 0, 1000, upload=name).status, 202)
        for data, name in ((one, "a"), (other, "b")):
            self.assertEqual(self.send(data[600:], 600, 1000, upload=name).status, 200)
            self.assertEqual(self.get("f", "up").body, data)

    def test_half_a_body(self) -> None:
        """Nothing of a request that was cut is at the path, and its file is as it was."""
        self.put("half", b"before", "half")
        with socket.create_connection(self.at, TIMEOUT_S) as sock:
            head = f"PUT /workspaces/half/file?path=half HTTP/1.1\r\nHost: {self.at[0]}\r\n"
            head += f"Authorization: Bearer {ANN}\r\nContent-Length: 100\r\n\r\n"
            sock.sendall(head.encode() + b"x" * 50)
            sock.shutdown(socket.SHUT_WR)
            while sock.recv(4096):
                pass
        self.assertEqual(self.get("half", "half").body, b"before")
        self.assertEqual(self.paths("half"), ["half"])

    def test_limits(self) -> None:
        over = (FILE_MB << 20) + 1
        cases: list[tuple[bytes, Json, int, str]] = [
            (bytes(MOST + 1), {}, 413, "body_too_large"),
            (b"x", {"Content-Range": f"bytes 0-0/{over}"}, 413, "workspace_too_large"),
            (b"x", {"Content-Range": "bytes 0-1/2"}, 422, "request_invalid"),
            (b"x", {"Content-Range": "bytes 5-5/5"}, 422, "request_invalid"),
            (b"x", {"Content-Range": "bytes */5"}, 422, "request_invalid"),
            (b"x", {"Content-Range": "lines 1-2/3"}, 422, "request_invalid"),
            (b"x", {"Content-Encoding": "gzip"}, 415, "unsupported_media_type"),
        ]
        for body, headers, status, code in cases:
            with self.subTest(headers, size=len(body)):
                self.refused(self.put("f", body, "limits", **headers), status, code)
        self.assertEqual(self.paths("limits"), [])


HOSTILE = (  # path, code: as a client writes it in the query, percent-encoded already
    ("..", "path_outside"),
    ("../outside", "path_outside"),
    ("a/../../outside", "path_outside"),
    ("%2e%2e/outside", "path_outside"),
    ("..%2foutside", "path_outside"),
    ("/etc/passwd", "path_outside"),
    ("%2fetc%2fpasswd", "path_outside"),
    ("link", "path_outside"),
    ("link/outside", "path_outside"),
    ("link/new", "path_outside"),
    ("x%00y", "request_invalid"),
    ("a//b", "request_invalid"),
    ("./a", "request_invalid"),
    ("%ff%fe", "request_invalid"),
    ("x" * 300, "request_invalid"),
    ("x" * 5000, "request_invalid"),
    ("%252e%252e/outside", "file_not_found"),  # decoded once: a folder of this odd name
    ("..\\outside", "file_not_found"),
)


class Hostile(Case):
    def setUp(self) -> None:
        self.put("file", b"mine", "hostile")
        (folder,) = [
            path.parent
            for path in (self.home / "workspaces").glob("*/file")
            if path.read_bytes() == b"mine"
        ]
        if not (folder / "link").is_symlink():  # as a tool may make it
            (folder / "link").symlink_to(self.base)
            (folder / "secret").symlink_to(self.base / "outside")

    def everything_outside(self) -> dict[str, bytes]:
        names = ("outside", "notes/file", "project/file", "big/file")
        self.assertEqual(
            sorted(path.name for path in self.base.iterdir()),
            ["big", "home", "notes", "outside", "project"],
        )
        return {name: (self.base / name).read_bytes() for name in names}

    def test_paths(self) -> None:
        before = self.everything_outside()
        at = "/workspaces/hostile"
        for path, code in HOSTILE:
            with self.subTest(path[:40]):
                seen = self.ask("GET", f"{at}/file?path={path}")
                self.assertNotIn(b"nothing to be told of", seen.body)
                # A link itself is no file, and nothing is read through it.
                self.assertIn(seen.json["code"], (code, "file_not_found"), seen.body)
                self.assertNotIn(str(self.base), seen.body.decode())
                listed = self.ask("GET", f"{at}/files?path={path}")
                self.assertIn(listed.status, (404, 422), listed.body)
                zipped = self.ask("GET", f"{at}/archive?path={path}")
                self.assertNotIn(b"nothing to be told of", zipped.body)
                if code != "file_not_found" and path not in ("link",):
                    put = self.ask("PUT", f"{at}/file?path={path}", b"overwritten")
                    self.refused(put, 422, code)
                    gone = self.ask("DELETE", f"{at}/file?path={path}")
                    self.assertIn(gone.status, (404, 422), gone.body)
        self.assertEqual(self.everything_outside(), before)

    def test_links(self) -> None:
        """A link is shown, moved and replaced as such; what it leads to is not touched."""
        before = self.everything_outside()
        self.refused(self.get("secret", "hostile"), 404, "file_not_found")
        rows = self.ask("GET", "/workspaces/hostile/files").json["entries"]
        self.assertIn(("secret", "link"), [(row["path"], row["kind"]) for row in rows])
        move = {"from": "secret", "to": "link/taken"}
        self.refused(self.ask("POST", "/workspaces/hostile/move", move), 422, "path_outside")
        self.assertEqual(self.put("secret", b"mine now", "hostile").status, 200)
        self.assertEqual(self.get("secret", "hostile").body, b"mine now")
        self.assertEqual(self.everything_outside(), before)

    def test_bodies_with_hostile_paths(self) -> None:
        before = self.everything_outside()
        paths = ("..", "../outside", "/etc/passwd", "a\0b", "link/x", "\ud800", "x" * 5000)
        for path in paths:
            for body in ({"from": "file", "to": path}, {"from": path, "to": "new"}):
                with self.subTest(body=str(body)[:60].encode(errors="replace")):
                    found = self.ask("POST", "/workspaces/hostile/move", body)
                    self.assertIn(found.status, (400, 404, 422), found.body)
        self.assertEqual(self.get("file", "hostile").body, b"mine")
        self.assertEqual(self.everything_outside(), before)

    def test_queries(self) -> None:
        for target in (
            "file",
            "file?path=",
            "file?path=a&what=b",
            "files?limit=-1",
            "files?limit=x",
            "files?depth=9999999999999999",
            "files?path=" + "&path=".join("a" * 1_001),
            "files?tree=nothing",
            "diff?from=now",
            "state?path=a",
        ):
            with self.subTest(target):
                found = self.ask("GET", f"/workspaces/hostile/{target}")
                self.refused(found, 422, "request_invalid")
        self.refused(self.ask("GET", f"/workspaces/{'s' * 129}/state"), 422, "request_invalid")
        self.assertEqual(self.ask("GET", "/workspaces//state").status, 404)

    def test_pipes(self) -> None:
        """A pipe would hold whoever opens it; nobody does."""
        folder = next(iter((self.home / "workspaces").glob("*/secret"))).parent
        with ExitStack() as held:
            os.mkfifo(folder / "pipe")
            held.callback((folder / "pipe").unlink)
            for method, target in (
                ("GET", "file?path=pipe"),
                ("GET", "file?path=pipe/below"),
                ("PUT", "file?path=pipe/below"),
            ):
                found = self.ask(method, f"/workspaces/hostile/{target}")
                self.assertIn(found.status, (404, 422), found.body)
            self.assertEqual(self.ask("GET", "/workspaces/hostile/archive").status, 200)
            self.assertEqual(self.ask("GET", "/health").status, 200)


class OpensNothing(unittest.IsolatedAsyncioTestCase):
    """The server process opens, lists, makes and removes no path inside of a workspace.

    Python reports each of these to an audit hook, whichever module does it. What forked processes
    do is not seen: they have a list of their own.
    """

    async def asyncSetUp(self) -> None:
        holder = self.enterContext(tempfile.TemporaryDirectory())
        self.base = Path(os.path.realpath(holder))
        (self.base / "real").mkdir()
        (self.base / "real" / "file").write_text("real")
        (self.base / "real").chmod(0o777)
        self.base.chmod(0o755)
        flags = {
            "server.discover": False,
            "server.sandbox.require": "none",
            "server.folders": {"real": {"path": str(self.base / "real"), "mode": "overlay"}},
        }
        config = load(self.base / "home", None, {}, flags)
        app = await self.enterAsyncContext(App(config, {}))
        self.router = routes(app, Keys([], "k"))
        self.inside = tuple(f"{self.base}/{place}" for place in ("home/workspaces/", "real/"))
        self.seen: list[str] = []
        self.looks = True
        sys.addaudithook(self.note)
        self.addCleanup(setattr, self, "looks", False)  # a hook cannot be removed

    def note(self, event: str, args: tuple[Any, ...]) -> None:
        if self.looks and event.startswith(("open", "os.", "shutil.", "glob.")):
            for path in args:
                text = os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else ""
                top = next((top for top in self.inside if text.startswith(top)), "")
                own = top.endswith("workspaces/") and "/" not in text.removeprefix(top)
                if top and not own:  # the folder of a session itself is made by the server
                    self.seen.append(f"{event} {text}")

    async def ask(self, method: str, target: str, body: bytes | Json = b"") -> fakes.Call:
        headers = {"Authorization": "Bearer k", "Content-Type": "application/json"}
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        call = fakes.Call(method, target, headers, data)
        await self.router(call.exchange)
        return call

    async def test_by_any_route(self) -> None:
        for folder in ("", "&folder=real"):
            at, only = "/workspaces/s", folder.replace("&", "?")
            put = await self.ask("PUT", f"{at}/file?path=a/b{folder}", b"data")
            self.assertEqual(put.status, 200, put.answer)
            tree = put.json["tree"]
            for method, target, body, status in (
                ("GET", f"{at}/file?path=a/b{folder}", b"", 200),
                ("GET", f"{at}/file?path=../../x{folder}", b"", 422),
                ("GET", f"{at}/files?depth=3{folder}", b"", 200),
                ("GET", f"{at}/files?tree={tree}{folder}", b"", 200),
                ("GET", f"{at}/diff?from={tree}&to=now{folder}", b"", 200),
                ("GET", f"{at}/archive{only}", b"", 200),
                ("GET", f"{at}/state{only}", b"", 200),
                ("POST", f"{at}/record{only}", b"", 200),
                ("POST", f"{at}/move{only}", {"from": "a/b", "to": "c"}, 200),
                ("POST", f"{at}/restore{only}", {"tree": tree}, 200),
                ("DELETE", f"{at}/file?path=a{folder}", b"", 200),
                ("GET", f"{at}/status{only}", b"", 200 if folder else 422),
                ("POST", f"{at}/apply{only}", {}, 200 if folder else 422),
                ("POST", f"{at}/discard{only}", {}, 200 if folder else 422),
                ("GET", f"/objects/{tree}", b"", 200),
                ("POST", "/objects/missing", {"tree": tree}, 200),
            ):
                with self.subTest(method=method, target=target):
                    call = await self.ask(method, target, body)
                    self.assertEqual(call.status, status, call.answer)
        self.assertEqual(self.seen, [])
        with (self.base / "real" / "file").open("rb"):  # the hook sees what it is to see
            self.assertEqual(len(self.seen), 1)


class Folders(Case):
    def test_a_folder_that_is_read(self) -> None:
        read = {"folder": "notes"}
        self.assertEqual(self.paths(**read), ["file"])
        self.assertEqual(self.get("file", query=read).body, b"notes")
        at = "/workspaces/s"
        self.assertEqual(self.ask("GET", f"{at}/archive", query=read).status, 200)
        for answer in (
            self.put("new", b"x", query=read),
            self.ask("DELETE", f"{at}/file", query={**read, "path": "file"}),
            self.ask("POST", f"{at}/move", {"from": "file", "to": "f"}, query=read),
            self.ask("POST", f"{at}/restore", {"tree": "0" * 64}, query=read),
            self.ask("POST", f"{at}/record", query=read),
        ):
            self.refused(answer, 422, "folder_mode")
        self.assertEqual([path.name for path in (self.base / "notes").iterdir()], ["file"])

    def test_a_folder_is_for_its_people(self) -> None:
        everybodys = ["notes", "project", "big"]
        for key, own in ((ANN, ["anns"]), (BOB, [])):
            info = self.ask("GET", "/info", key=key).json["folders"]
            names = [each["name"] for each in info]
            self.assertEqual(names, everybodys + own)
            for name in ("anns", "owners"):
                with self.subTest(name=name, own=own):
                    told = self.ask("GET", "/workspaces/s/files", key=key, query={"folder": name})
                    if name in own:
                        self.assertEqual(told.status, 200, told.body)
                        continue
                    unknown = self.refused(told, 422, "folder_unknown")["detail"]
                    self.assertEqual(unknown.partition("; it has: ")[2], ", ".join(names))

    def test_a_folder_that_is_written(self) -> None:
        told = self.put("new", b"x", query={"folder": "project"})
        self.assertEqual(told.status, 200, told.body)
        self.assertEqual((self.base / "project" / "new").read_bytes(), b"x")
        # A file is where the owner's other sessions find it too.
        self.assertEqual(self.get("new", "other", query={"folder": "project"}).body, b"x")
        self.refused(self.get("new"), 404, "file_not_found")

    def test_an_overlay(self) -> None:
        over = {"folder": "big"}
        at = "/workspaces/s"
        self.assertEqual(self.get("file", query=over).body, b"big")
        self.put("file", b"changed", query=over)
        self.put("added", b"added", query=over)
        self.assertEqual((self.base / "big" / "file").read_bytes(), b"big")
        status = self.ask("GET", f"{at}/status", query=over).json
        changes = {row["path"]: row["change"] for row in status["files"]}
        self.assertEqual(changes, {"file": "modified", "added": "added"})
        applied = self.ask("POST", f"{at}/apply", {"paths": ["added"]}, query=over).json
        self.assertEqual((applied["applied"], applied["conflicts"]), (1, []))
        state = self.ask("GET", f"{at}/state", query=over).json
        self.assertEqual((applied["tree"], state["mode"]), (state["tree"], "overlay"))
        self.assertEqual((self.base / "big" / "added").read_bytes(), b"added")
        self.assertEqual((self.base / "big" / "file").read_bytes(), b"big")
        self.put("later", b"later", query=over)
        self.put(".envrc", b"later", query=over)
        now = self.ask("GET", f"{at}/status", query=over).json
        asks = {row["path"]: row.get("asks") for row in now["files"]}
        self.assertEqual(asks, {"file": None, "later": None, ".envrc": "runs"})
        for name in ("apply", "discard"):
            moved = self.ask("POST", f"{at}/{name}", {"tree": status["tree"]}, query=over)
            self.assertEqual(self.refused(moved, 409, "workspace_moved")["tree"], now["tree"])
        told = {"paths": ["later", ".envrc"], "tree": now["tree"]}
        self.assertEqual(self.ask("POST", f"{at}/apply", told, query=over).json["applied"], 2)
        left = self.ask("POST", f"{at}/discard", {}, query=over).json
        self.assertEqual(left["discarded"], 1)
        self.assertEqual(self.get("file", query=over).body, b"big")
        self.refused(self.ask("GET", f"{at}/status"), 422, "request_invalid")

    @unittest.skipIf(os.geteuid(), "only root has tools of another user")
    def test_an_overlay_of_a_folder_that_tools_cannot_write(self) -> None:
        over = {"folder": "big"}
        self.put("denied", b"x", "denied", query=over)
        (self.base / "big").chmod(0o755)
        try:
            refused = self.ask("POST", "/workspaces/denied/apply", {}, query=over)
            said = self.refused(refused, 422, "file_unusable")["detail"]
            self.assertRegex(said, r"^the folder cannot be written \(.*\): 0 of \d files were app")
            listed = self.ask("GET", "/workspaces/denied/status", query=over)
            self.assertIn("denied", [row["path"] for row in listed.json["files"]], listed.body)
        finally:
            (self.base / "big").chmod(0o777)

    def test_a_change_that_comes_again(self) -> None:
        """Its answer was lost; meanwhile another one came."""
        at = "/workspaces/again/file"
        for name in ("upload", "delete"):
            method, body = ("PUT", b"one") if name == "upload" else ("DELETE", None)
            given: Any = {"query": {"path": "a"}, "Idempotency_Key": name}
            with self.subTest(name):
                first = self.ask(method, at, body, **given)
                self.put("a", name.encode(), "again")
                second = self.ask(method, at, body, **given)
                self.assertEqual((second.status, second.json), (200, first.json))
                self.assertEqual(second.headers.get("idempotent-replayed"), "true")
                self.assertEqual(self.get("a", "again").body, name.encode())
                undo = {"tree": first.json["before"], "after": first.json["after"]}
                moved = self.ask("POST", "/workspaces/again/restore", undo)
                self.refused(moved, 409, "workspace_moved")

    def test_a_part_of_a_tree(self) -> None:
        at = "/workspaces/part"
        for text in (b"1", b"2"):
            tree = self.put("a", text, "part").json["before"]
            self.put("b", text, "part")
        self.put(".gitignore", b"a", "part")
        told = self.ask("POST", f"{at}/restore", {"tree": tree, "paths": ["a"]})
        self.assertEqual((told.status, told.json.get("blocked")), (200, None), told.body)
        self.assertEqual((self.get("a", "part").body, self.get("b", "part").body), (b"1", b"2"))
        refused = self.ask("POST", f"{at}/restore", {"tree": tree, "paths": ["none"]})
        self.refused(refused, 404, "file_not_found")

    def test_no_such_folder(self) -> None:
        for name, code in (("nope", "folder_unknown"), ("../home", "folder_unknown")):
            self.refused(self.get("file", query={"folder": name}), 422, code)


class Objects(Case):
    def test_carry(self) -> None:
        """What one key has is made again by another from its objects alone."""
        data = os.urandom(2_200_000)
        tree = self.put("a/b", data, "carry").json["tree"]
        sent = 0
        missing: Json = {"count": 1}
        while missing["count"]:
            asked = self.ask("POST", "/objects/missing", {"tree": tree}, BOB)
            self.assertEqual(asked.status, 200, asked.body)
            missing = asked.json
            for row in missing["objects"]:
                got = self.ask("GET", f"/objects/{row['sha256']}")
                self.assertEqual(hashlib.sha256(got.body).hexdigest(), row["sha256"])
                self.refused(
                    self.ask("GET", f"/objects/{row['sha256']}", key=BOB), 404, "file_not_found"
                )
                put = self.ask("PUT", f"/objects/{row['sha256']}", got.body, BOB)
                self.assertEqual((put.status, put.json["bytes"]), (200, len(got.body)))
                sent += 1
        self.assertEqual(sent, 3)
        made = self.ask("POST", "/workspaces/elsewhere/restore", {"tree": tree}, BOB)
        self.assertEqual((made.status, made.json["tree"]), (200, tree))
        self.assertEqual(self.get("a/b", "elsewhere", key=BOB).body, data)

    def test_content_is_checked(self) -> None:
        sha256 = hashlib.sha256(b"right").hexdigest()
        at = f"/objects/{sha256}"
        for body in (b"wrong", b"", b"right "):
            self.refused(self.ask("PUT", at, body), 422, "request_invalid")
            self.refused(self.ask("GET", at), 404, "file_not_found")
        piece: Json = {"Content-Range": "bytes 0-1/5"}
        self.assertEqual(self.ask("PUT", at, b"ri", **piece).json, {"received": 2})
        state: Json = {"Content-Range": "bytes */5"}
        self.assertEqual(self.ask("PUT", at, **state).json["received"], 2)
        rest: Json = {"Content-Range": "bytes 2-4/5"}
        self.assertEqual(self.ask("PUT", at, b"ght", **rest).status, 200)
        got = self.ask("GET", at, Range="bytes=1-2")
        self.assertEqual((got.status, got.body, got.headers["etag"]), (206, b"ig", f'"{sha256}"'))
        self.assertEqual(self.ask("HEAD", at).headers["content-length"], "5")
        self.assertEqual(self.ask("PUT", at, b"right").status, 200)

    def test_refusals(self) -> None:
        for name in ("x", "A" * 64, "0" * 63, "%2e%2e", "..%2f" + "0" * 61):
            for method in ("GET", "PUT"):
                found = self.ask(method, f"/objects/{name}")
                self.refused(found, 422, "request_invalid")
        body = self.ask("POST", "/objects/missing", {"tree": "../x"})
        self.refused(body, 400, "request_invalid")
        tree = self.put("f", b"no tree", "plain").json["sha256"]
        found = self.ask("POST", "/objects/missing", {"tree": tree})
        self.assertIn(found.status, (200, 422), found.body)

    def test_all_objects_have_a_limit(self) -> None:
        stored = refused = 0
        while not refused:
            data = os.urandom(3 << 20)
            name = hashlib.sha256(data).hexdigest()
            found = self.ask("PUT", f"/objects/{name}", data, KEYS["eve"])
            refused, stored = int(found.status != 200), stored + 1
            self.assertLess(stored, 10)
        self.refused(found, 413, "workspace_too_large")
        self.assertIn("objects_mb", found.json["detail"])


class TwoKeys(Case):
    def test_nothing_of_another_key(self) -> None:
        """One session id and one name of a file for both, by every route."""
        at = "/workspaces/same"
        mine = self.put("f", b"of ann", "same").json
        self.put("only", b"of ann", "same")
        yours = self.put("f", b"of bob", "same", key=BOB).json
        for key, text in ((ANN, b"of ann"), (BOB, b"of bob")):
            self.assertEqual(self.get("f", "same", key=key).body, text)
        tree = self.ask("GET", f"{at}/state").json["tree"]
        names = [row["path"] for row in self.ask("GET", f"{at}/files", key=BOB).json["entries"]]
        self.assertEqual(names, ["f"])
        self.assertEqual(self.ask("GET", f"{at}/state", key=BOB).json["tree"], yours["tree"])
        query = {"path": "f", "tree": tree}
        for answer in (
            self.ask("GET", f"{at}/file", key=BOB, query=query),
            self.ask("GET", f"{at}/files", key=BOB, query={"tree": tree}),
            self.ask("GET", f"{at}/archive", key=BOB, query={"tree": tree}),
            self.ask("GET", f"{at}/diff", key=BOB, query={"from": tree, "to": "now"}),
            self.ask("POST", f"{at}/restore", {"tree": tree}, BOB),
        ):
            self.refused(answer, 409, "objects_missing")
        for sha256 in (tree, mine["sha256"]):
            self.refused(self.ask("GET", f"/objects/{sha256}", key=BOB), 404, "file_not_found")
        missing = self.ask("POST", "/objects/missing", {"tree": tree}, BOB).json
        self.assertEqual([row["sha256"] for row in missing["objects"]], [tree])
        gone = self.ask("DELETE", f"{at}/file", key=BOB, query={"path": "only"})
        self.refused(gone, 404, "file_not_found")
        moved = self.ask("POST", f"{at}/move", {"from": "only", "to": "x"}, BOB)
        self.refused(moved, 404, "file_not_found")
        self.assertEqual(self.get("only", "same").body, b"of ann")

    def test_the_layers_of_a_folder(self) -> None:
        over = {"folder": "big"}
        self.put("file", b"of ann", "same", query=over)
        self.assertEqual(self.get("file", "same", query=over, key=BOB).body, b"big")
        found = self.ask("GET", "/workspaces/same/status", key=BOB, query=over).json
        self.assertEqual(found["count"], 0)

    def test_a_key_is_needed(self) -> None:
        for method, target in (
            ("GET", "/workspaces/same/files"),
            ("GET", "/workspaces/same/state"),
            ("PUT", "/workspaces/same/file?path=f"),
            ("PUT", f"/objects/{'0' * 64}"),
            ("POST", "/objects/missing"),
        ):
            self.refused(self.ask(method, target, key="wrong"), 401, "unauthorized")

    def test_pages_may_ask(self) -> None:
        asked = self.ask("OPTIONS", "/workspaces/same/file")
        self.assertEqual(asked.status, 204)
        self.assertIn("PUT", asked.headers["access-control-allow-methods"])
        allowed = asked.headers["access-control-allow-headers"].split(", ")
        self.assertLessEqual({"content-range", "range", "if-none-match"}, set(allowed))
        self.put("f", b"x", "pages")
        got = self.get("f", "pages")
        exposed = got.headers["access-control-expose-headers"].split(", ")
        self.assertLessEqual({"etag", "content-range", "content-disposition"}, set(exposed))


if __name__ == "__main__":
    unittest.main()
