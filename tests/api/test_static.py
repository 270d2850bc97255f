"""The client's files: what is served, with which headers, and everything that is not."""

from __future__ import annotations

import os
import re
import tempfile
import unittest
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from server.api.router import RequestContext
from server.api.static import CSP, Files, byte_range, file_name
from server.config import shipped_path
from server.errors import Problem
from server.http.exchange import PIECE

from . import fakes
from .fakes import run_async

NOT_SERVED = (
    *("jsconfig.json", "types.d.ts", "main.js~", "main.js.bak", "#main.js#", "main.js.orig"),
    *("notes.txt", "README.md", "page.py", "js.", "HTML"),
)


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.base = Path(folder.name)
        self.root = self.base / "client"
        (self.root / "js").mkdir(parents=True)
        (self.root / "index.html").write_text("<p>hello")
        (self.root / "artifact.html").write_text("<p>artifact")
        (self.root / "sandbox.html").write_text("<p>sandbox")
        (self.root / "js" / "main.js").write_text("0123456789")
        (self.root / "a b%.css").write_text("odd name")
        (self.root / "datei-ü.css").write_text("unicode")
        (self.root / "noext").write_text("?")
        (self.root / "empty.css").write_text("")
        (self.root / ".hidden").write_text("canary")
        for name in NOT_SERVED:
            (self.root / name).write_text("canary")
        (self.base / "secret.css").write_text("canary")
        self.files = Files(self.root)

    def get(
        self, path: str, headers: Mapping[str, str] | None = None, method: str = "GET"
    ) -> fakes.Call:
        asked = fakes.Call(method, path, headers)
        run_async(self.files.get(RequestContext(asked.exchange, {})))
        return asked

    def refused(self, path: str) -> None:
        with self.assertRaises(Problem) as caught:
            self.get(path)
        self.assertEqual(caught.exception.status, 404)


class Serving(Case):
    def test_what_it_has_is_what_it_would_serve(self) -> None:
        for path in ("/", "/js/main.js", "/a%20b%25.css", "/empty.css"):
            self.assertTrue(self.files.has(path), path)
        odd = (
            "/js",
            "/none.js",
            "/.hidden",
            "/../secret.css",
            "/%2e%2e/secret.css",
            "/a%00",
            "/%ff",
        )
        for path in odd:
            self.assertFalse(self.files.has(path), path)
            self.refused(path)

    def test_what_is_not_part_of_the_page_is_not_served(self) -> None:
        for name in NOT_SERVED:
            with self.subTest(name):
                self.assertFalse(self.files.has(f"/{quote(name)}"))
                self.refused(f"/{quote(name)}")
        for name in ("jsconfig.json", "types.d.ts"):
            self.assertFalse(Files(shipped_path("client")).has(f"/{name}"), name)

    def test_a_folder_with_a_page(self) -> None:
        """Its address ends with a slash, so that what the page names is found beside it."""
        (self.root / "room").mkdir()
        (self.root / "room" / "index.html").write_text("<p>room")
        (self.root / "bare").mkdir()
        self.assertEqual(self.get("/room/").answer, b"<p>room")
        moved = self.get("/room")
        self.assertEqual((moved.status, moved.headers["location"]), (308, "room/"))
        for path in ("/bare", "/bare/", "/room//", "//room", "/room/index.html/", "/none/", "//"):
            with self.subTest(path):
                self.refused(path)
        (self.base / "out").mkdir()
        (self.base / "out" / "index.html").write_text("canary")
        (self.root / "link").symlink_to(self.base / "out")
        self.refused("/link")
        self.refused("/link/")

    def test_files_and_their_types(self) -> None:
        for path, body, kind in (
            ("/", b"<p>hello", "text/html; charset=utf-8"),
            ("/index.html", b"<p>hello", "text/html; charset=utf-8"),
            ("/js/main.js", b"0123456789", "text/javascript; charset=utf-8"),
            ("/j%73/m%61in.js", b"0123456789", "text/javascript; charset=utf-8"),
            ("/a%20b%25.css", b"odd name", "text/css; charset=utf-8"),
            ("/datei-%C3%BC.css", b"unicode", "text/css; charset=utf-8"),
            ("/empty.css", b"", "text/css; charset=utf-8"),
        ):
            with self.subTest(path=path):
                exchange = self.get(path)
                self.assertEqual((exchange.status, exchange.answer), (200, body))
                self.assertEqual(exchange.headers["content-type"], kind)
                self.assertEqual(exchange.headers["content-security-policy"], CSP)

    def test_the_artifact_frame_has_a_policy_of_its_own(self) -> None:
        policy = self.get("/artifact.html").headers["content-security-policy"]
        self.assertIn("default-src 'none'", policy)
        self.assertIn("frame-ancestors 'self'", policy)
        self.assertNotIn("connect-src", policy)

    def test_the_sandbox_frame_has_neither_network_nor_origin(self) -> None:
        policy = self.get("/sandbox.html").headers["content-security-policy"]
        for part in ("default-src 'none'", "worker-src blob:", "frame-ancestors 'self'"):
            self.assertIn(part, policy)
        self.assertTrue(policy.endswith("; sandbox allow-scripts"), policy)
        self.assertNotIn("connect-src", policy)
        self.assertNotIn("allow-same-origin", policy)
        page = (shipped_path("client") / "sandbox.html").read_text()
        meta = re.search(r'http-equiv="Content-Security-Policy"\s+content="([^"]+)"', page)
        assert meta is not None
        header_only = "; frame-ancestors 'self'; sandbox allow-scripts"  # a <meta> cannot say these
        self.assertEqual(meta[1] + header_only, policy)

    def test_the_policy_is_the_one_of_the_client(self) -> None:
        page = shipped_path("client") / "index.html"
        if not page.is_file():
            self.skipTest("the client is not here yet")
        pattern = r'http-equiv="Content-Security-Policy"\s+content="([^"]+)"'
        meta = re.search(pattern, page.read_text())
        self.assertIsNotNone(meta)
        assert meta is not None

        def parts(policy: str) -> set[str]:
            return {" ".join(part.split()) for part in policy.split(";") if part.strip()}

        self.assertEqual(parts(CSP) - {"frame-ancestors 'none'"}, parts(meta[1]))

    def test_etag(self) -> None:
        etag = self.get("/js/main.js").headers["etag"]
        for header in (etag, f"W/{etag}", f'"x", {etag}', "*"):
            with self.subTest(header=header):
                exchange = self.get("/js/main.js", {"If-None-Match": header})
                self.assertEqual((exchange.status, exchange.answer), (304, b""))
                self.assertEqual(exchange.headers["etag"], etag)
        self.assertEqual(self.get("/js/main.js", {"If-None-Match": '"x"'}).status, 200)
        (self.root / "js" / "main.js").write_text("changed")
        self.assertEqual(self.get("/js/main.js", {"If-None-Match": etag}).status, 200)

    def test_ranges(self) -> None:
        for header, status, body in (
            ("bytes=0-3", 206, b"0123"),
            ("bytes=4-", 206, b"456789"),
            ("bytes=-2", 206, b"89"),
            ("bytes=-99", 206, b"0123456789"),
            ("bytes=8-99", 206, b"89"),
            ("bytes=0-0,5-6", 200, b"0123456789"),
            ("bytes=5-2", 200, b"0123456789"),
            ("bytes=-", 200, b"0123456789"),
            ("lines=1-2", 200, b"0123456789"),
        ):
            with self.subTest(header=header):
                exchange = self.get("/js/main.js", {"Range": header})
                self.assertEqual((exchange.status, exchange.answer), (status, body))
        self.assertEqual(byte_range("bytes=2-4", 10), (2, 4))
        for header, size in (("bytes=10-", 10), ("bytes=-0", 10), ("bytes=0-", 0), ("bytes=-1", 0)):
            with self.subTest(header=header, size=size), self.assertRaises(Problem) as caught:
                byte_range(header, size)
            self.assertEqual(caught.exception.status, 416)
            self.assertEqual(caught.exception.headers, {"Content-Range": f"bytes */{size}"})

    def test_a_large_file_goes_out_in_pieces(self) -> None:
        content = os.urandom(3 * PIECE + 5)
        (self.root / "large.wasm").write_bytes(content)
        for asked, status, body in (
            ({}, 200, content),
            ({"Range": f"bytes=7-{2 * PIECE}"}, 206, content[7 : 2 * PIECE + 1]),
            ({"Range": "bytes=-9"}, 206, content[-9:]),
        ):
            with self.subTest(asked=asked):
                exchange = self.get("/large.wasm", asked)
                self.assertEqual((exchange.status, exchange.answer), (status, body))
                sent = [each for each in exchange.channel.log if isinstance(each, bytes)]
                self.assertLessEqual(max(map(len, sent)), PIECE + 4_096)
        exchange = self.get("/large.wasm", method="HEAD")
        self.assertEqual(exchange.headers["content-length"], str(len(content)))
        tag = exchange.headers["etag"]
        self.assertEqual(self.get("/large.wasm", {"If-None-Match": tag}).status, 304)

    def test_a_head_has_no_ranges(self) -> None:
        for header in ("bytes=0-3", "bytes=99-"):
            self.assertEqual(self.get("/js/main.js", {"Range": header}, "HEAD").status, 200)

    def test_a_range_of_another_version_gives_the_whole(self) -> None:
        etag = self.get("/js/main.js").headers["etag"]
        asked = {"Range": "bytes=0-3", "If-Range": etag}
        self.assertEqual(self.get("/js/main.js", asked).status, 206)
        asked["If-Range"] = '"old"'
        self.assertEqual(self.get("/js/main.js", asked).status, 200)


class Refusing(Case):
    def test_names_that_mean_something_else(self) -> None:
        for path in (
            "/../secret.css",
            "/js/../../secret.css",
            "/js/../index.html",
            "/%2e%2e/secret.css",
            "/%2e%2e%2fsecret.css",
            "/..%2fsecret.css",
            "/..%5csecret.css",
            "/..\\secret.css",
            "/%252e%252e/secret.css",
            "/./index.html",
            "//index.html",
            "/js//main.js",
            "/js/",
            "/js",
            "/.hidden",
            "/js/.git/config",
            "/index.html%00.css",
            "/index.html%0a",
            "/%ff",
            "/%zz",
            "/%",
            "/%c0%ae%c0%ae/secret.css",
            "index.html",
            "",
            "*",
            "/nothing",
            "/index.html/x",
            "/" + "a" * 5000,
            "/" + "a/" * 3000 + "b",
        ):
            with self.subTest(path=path[:60]):
                self.refused(path)

    def test_an_absolute_name_stays_inside(self) -> None:
        self.refused("/" + str(self.base / "secret.css").lstrip("/"))
        with self.assertRaises(Problem):
            file_name("/" + str(self.base / "secret.css"))

    def test_links_out_of_the_root_and_things_that_are_no_files(self) -> None:
        (self.root / "out.css").symlink_to(self.base / "secret.css")
        (self.root / "outdir").symlink_to(self.base)
        (self.root / "loop").symlink_to(self.root / "loop")
        os.mkfifo(self.root / "fifo.css")
        for path in ("/out.css", "/outdir/secret.css", "/loop", "/fifo.css"):
            with self.subTest(path=path):
                self.refused(path)

    def test_a_link_inside_is_followed(self) -> None:
        (self.root / "in.css").symlink_to(self.root / "noext")
        self.assertEqual(self.get("/in.css").answer, b"?")

    def test_no_client_installed(self) -> None:
        self.files = Files(self.base / "none")
        self.refused("/")


if __name__ == "__main__":
    unittest.main()
