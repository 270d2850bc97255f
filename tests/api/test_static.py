"""The client's files: what is served, with which headers, and everything that is not."""

from __future__ import annotations

import base64
import gzip
import hashlib
import os
import re
import tempfile
import unittest
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from server.api.router import RequestContext
from server.api.static import CSP, INLINE, WORKER_PAGE_CSP, Files, byte_range, file_name
from server.config import shipped_path
from server.errors import Problem
from server.lib.http.exchange import PIECE

from . import fakes
from .fakes import run_async

NOT_SERVED = (
    *("jsconfig.json", "types.d.ts", "main.js~", "main.js.bak", "#main.js#", "main.js.orig"),
    *("notes.txt", "js/llms.txt", "llms.txt~", "README.md", "page.py", "js.", "HTML"),
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
        (self.root / "llms.txt").write_text("# for programs")
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
            ("/llms.txt", b"# for programs", "text/plain; charset=utf-8"),
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

    def test_the_frame_that_registers_the_service_worker(self) -> None:
        (self.root / "worker.html").write_text("<p>worker")
        policy = self.get("/worker.html").headers["content-security-policy"]
        self.assertEqual(policy, WORKER_PAGE_CSP)
        page = (shipped_path("client") / "worker.html").read_text()
        meta = re.search(r'http-equiv="Content-Security-Policy"\s+content="([^"]+)"', page)
        assert meta is not None
        self.assertEqual(meta[1] + "; frame-ancestors 'self'", policy)

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

    def test_the_page_waits_for_no_file(self) -> None:
        page = shipped_path("client") / "index.html"
        if not page.is_file():
            self.skipTest("the client is not here yet")
        head = page.read_text().split("<template", 1)[0]
        self.assertNotIn("<script src", head, "what says that a script hangs may not be one")
        [script] = re.findall("<script>(.*?)</script>", head, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        self.assertEqual(INLINE, f"'sha256-{digest}'")

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
            ("bytes=9-", 206, b"9"),
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


PAGE = """<!doctype html>
<html>
<head>
  <script src="js/theme.js"></script>
  <script defer src="js/main.js"></script>
  <script defer src="js/part.js"></script>
</head>
<body>
  <template data-group="more">
    <script src="js/more.js"></script>
    <script src="js/absent.js"></script>
  </template>
</body>
</html>
"""


class Versions(Case):
    """What the page loads is named by what is in it, and never asked for again."""

    def setUp(self) -> None:
        super().setUp()
        (self.root / "index.html").write_text(PAGE)
        (self.root / "service-worker.js").write_text("removed()")
        for name in ("theme", "main", "part", "more", "other"):
            (self.root / "js" / f"{name}.js").write_text(f"{name}()")

    def addresses(self) -> list[str]:
        return re.findall(r'src="([^"]+)"', self.get("/").answer.decode())

    def test_the_page_names_one_version_of_all(self) -> None:
        theme, bundle, more, absent = self.addresses()
        tag = theme.split("/")[1]
        self.assertRegex(tag, "^[0-9a-f]{24}$")
        self.assertEqual(absent, "js/absent.js")
        names = [f"v/{tag}/{name}" for name in ("js/theme.js", "page.js", "js/more.js")]
        self.assertEqual([theme, bundle, more], names)
        for path, body in (
            (theme, b"theme()"),
            (bundle, b"main();\npart()"),
            (more, b"more()"),
            (f"v/{tag}/js/part.js", b"part()"),
        ):
            with self.subTest(path=path):
                answer = self.get(f"/{path}")
                self.assertEqual((answer.status, answer.answer), (200, body))
                kept = "public, max-age=31536000, immutable"
                self.assertEqual(answer.headers["cache-control"], kept)
                self.assertEqual(answer.headers["content-security-policy"], CSP)
        page = self.get("/")
        early = f'<link rel="preload" as="script" href="{bundle}">'
        self.assertLess(page.answer.index(early.encode()), page.answer.index(b"<script"))
        self.assertEqual(page.headers["cache-control"], "no-cache")
        self.assertEqual(self.get("/", {"If-None-Match": page.headers["etag"]}).status, 304)
        self.assertEqual(self.get("/index.html").answer, page.answer)

    def test_a_file_that_changes_is_seen_with_the_next_page(self) -> None:
        before = self.addresses()
        page = self.get("/").headers["etag"]
        for name in ("main", "more", "theme"):
            with self.subTest(name):
                (self.root / "js" / f"{name}.js").write_text(f"{name}(2)")
                after = self.addresses()
                self.assertNotEqual(before[0], after[0])
                self.assertEqual(self.get("/", {"If-None-Match": page}).status, 200)
                self.refused(f"/{before[2]}")  # what a page of the older version still wants
                self.assertEqual(self.get(f"/{after[2]}").status, 200)
        self.assertEqual(self.get(f"/{after[0]}").answer, b"theme(2)")
        (self.root / "js" / "other.js").write_text("not the page's")
        self.assertEqual(self.addresses(), after)

    def test_the_same_files_are_the_same_version_at_every_server(self) -> None:
        before = self.addresses()
        self.files = Files(self.root)
        self.assertEqual(self.addresses(), before)
        # Another process answers for what this one's page names.
        self.files = Files(self.root)
        self.assertEqual(self.get(f"/{before[2]}").answer, b"more()")

    def test_a_version_is_whole_while_files_are_replaced(self) -> None:
        addresses = self.addresses()
        (self.root / "js" / "more.js").write_text("a mixture")
        self.assertEqual(self.get(f"/{addresses[2]}").answer, b"more()")

    def test_a_page_of_another_version_reloads_itself(self) -> None:
        (self.root / "js" / "reload-page.js").write_text("reload()")
        answer = self.get(f"/v/{'0' * 24}/page.js")
        self.assertEqual((answer.status, answer.answer), (200, b"reload()"))
        self.assertEqual(answer.headers["cache-control"], "no-store")
        self.refused(f"/v/{'0' * 24}/js/page.js")

    def test_names_in_a_version_that_mean_something_else(self) -> None:
        tag = self.addresses()[0].split("/")[1]
        for path in (
            f"/v/{tag}/../../secret.css",
            f"/v/{tag}/%2e%2e/%2e%2e/secret.css",
            f"/v/{tag}/..%2fsecret.css",
            f"/v/{tag}/js/../js/main.js",
            f"/v/{tag}//js/main.js",
            f"/v/{tag}/js%5cmain.js",
            f"/v/{tag}/index.html",
            f"/v/{tag}/js/other.js",
            f"/v/{tag}/service-worker.js",
            f"/v/{tag}/js/",
            f"/v/{tag}/",
            f"/v/{tag}",
            f"/v/{tag[:-1]}/js/main.js",
            f"/v/{tag.upper()}x/js/main.js",
            f"/v/..{tag}/js/main.js",
            "/v/js/main.js",
            "/v/",
            "/v",
            f"/v/{tag}/" + "a/" * 4000 + "b.js",
        ):
            with self.subTest(path=path[:60]):
                self.refused(path)

    def test_the_service_worker_goes_to_a_browser_that_registers_it(self) -> None:
        tag = self.addresses()[0].split("/")[1]
        asked = {"Service-Worker": "script"}
        answer = self.get("/service-worker.js", asked)
        first, _, rest = answer.answer.decode().partition("\n")
        files = [f"v/{tag}/{name}" for name in ("page.js", "js/theme.js", "js/more.js")]
        self.assertEqual(
            first, f'self.page = {{"version": "{tag}", "files": {files}}};'.replace("'", '"')
        )
        self.assertEqual(rest, "removed()")
        self.assertEqual(answer.headers["cache-control"], "no-cache")
        policy = answer.headers["content-security-policy"]
        self.assertEqual(policy, "default-src 'none'; connect-src 'self'")
        self.assertEqual(answer.headers["cross-origin-resource-policy"], "same-origin")
        self.assertEqual(self.get("/").headers["yaa-page"], tag)
        for headers in ({}, {"Service-Worker": ""}, {"Service-Worker": "script, script"}):
            with self.subTest(headers=headers), self.assertRaises(Problem):
                self.get("/service-worker.js", headers)

    def test_a_server_that_wants_no_copies_of_the_page(self) -> None:
        self.assertIn('<link rel="manifest"', self.get("/").answer.decode())
        self.files = Files(self.root, offline=False)
        page = self.get("/")
        self.assertNotIn("manifest", page.answer.decode())
        self.assertEqual(page.headers["yaa-page"], "none")
        with self.assertRaises(Problem):
            self.get("/service-worker.js", {"Service-Worker": "script"})

    def test_the_real_page(self) -> None:
        self.files = Files(shipped_path("client"))
        page = self.get("/").answer.decode()
        self.assertEqual(re.findall(r'<script[^>]* src="(?!v/)[^"]*"', page), [])
        self.assertEqual(page.count("<script defer"), 1)
        for address in set(self.addresses()):
            self.assertEqual(self.get(f"/{address}").status, 200, address)


class Compressing(Case):
    def setUp(self) -> None:
        super().setUp()
        self.text = b"a line of text\n" * 100
        (self.root / "js" / "text.js").write_bytes(self.text)

    def test_what_a_client_takes(self) -> None:
        for header, packed in (
            ("gzip", True),
            ("GZIP", True),
            ("deflate, gzip;q=1.0, *;q=0.5", True),
            ("br, *", True),
            ("gzip;q=0.001", True),
            ("", False),
            ("br", False),
            ("gzip;q=0", False),
            ("gzip; q=0.000", False),
            ("*;q=0", False),
            ("gzip;q=0, *", False),
            ("x-gzip-like, identity", False),
        ):
            with self.subTest(header=header):
                answer = self.get("/js/text.js", {"Accept-Encoding": header})
                self.assertEqual(answer.headers.get("content-encoding"), "gzip" if packed else None)
                body = gzip.decompress(answer.answer) if packed else answer.answer
                self.assertEqual(body, self.text)
                self.assertEqual(answer.headers["vary"], "Accept-Encoding, Origin")

    def test_each_form_has_its_tag(self) -> None:
        takes = {"Accept-Encoding": "gzip"}
        plain, packed = self.get("/js/text.js"), self.get("/js/text.js", takes)
        self.assertNotEqual(plain.headers["etag"], packed.headers["etag"])
        for asked, etag, status in (
            (takes, packed, 304),
            (takes, plain, 200),
            ({}, plain, 304),
            ({}, packed, 200),
        ):
            headers = asked | {"If-None-Match": etag.headers["etag"]}
            answer = self.get("/js/text.js", headers)
            self.assertEqual(answer.status, status, headers)
            if status == 304:
                self.assertNotIn("content-encoding", answer.headers)
        self.assertEqual(self.get("/js/text.js", takes).answer, packed.answer)

    def test_head_and_ranges(self) -> None:
        takes = {"Accept-Encoding": "gzip"}
        packed = self.get("/js/text.js", takes)
        head = self.get("/js/text.js", takes, "HEAD")
        self.assertEqual(head.headers["content-length"], str(len(packed.answer)))
        self.assertEqual((head.answer, head.headers["content-encoding"]), (b"", "gzip"))
        part = self.get("/js/text.js", takes | {"Range": "bytes=2-5"})
        self.assertEqual((part.status, part.answer), (206, self.text[2:6]))
        self.assertNotIn("content-encoding", part.headers)
        for other in (packed.headers["etag"], '"old"'):
            asked = takes | {"Range": "bytes=2-5", "If-Range": other}
            self.assertEqual(self.get("/js/text.js", asked).answer, self.text, other)

    def test_what_is_not_worth_it(self) -> None:
        noise = os.urandom(2000)
        (self.root / "noise.js").write_bytes(noise)
        (self.root / "short.js").write_bytes(b"x" * 100)
        (self.root / "image.png").write_bytes(b"x" * 2000)
        (self.root / "large.js").write_bytes(b"x" * 1_048_577)
        for name in ("noise.js", "short.js", "image.png", "large.js"):
            with self.subTest(name):
                answer = self.get(f"/{name}", {"Accept-Encoding": "gzip"})
                self.assertNotIn("content-encoding", answer.headers)
                self.assertEqual(answer.answer, (self.root / name).read_bytes())


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
