"""`POST /files`: what a tool made arrives byte for byte, and nothing else ever does."""

from __future__ import annotations

import asyncio
import base64
import copy
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.api.auth import Keys
from server.api.files import AT_ONCE, Downloads, disposition
from server.api.router import RequestContext
from server.app import App, routes
from server.config import load
from server.errors import Problem
from server.session.limits import LimitCeilings
from server.workspace.errors import WorkspaceError

from ..fakes import DEFAULTS, events_of
from . import fakes
from .fakes import run_async

KIND = {"Content-Type": "application/json"}


CEILINGS = LimitCeilings(
    {"max_request_size": 100_000, "max_values": 1_000, "tool": {"file_mb": 1}}, {}
)


class Pieces:
    """Stands in for the workspaces: one file in pieces, or a refusal in place of one."""

    def __init__(self, *pieces: bytes | WorkspaceError, size: int | None = None) -> None:
        self.pieces, self.asked = list(pieces), list[tuple[Any, ...]]()
        self.reading = self.most = 0
        self.size = sum(len(p) for p in pieces if isinstance(p, bytes)) if size is None else size
        self.place: tuple[str, str] = ("", "")

    mode, is_recorded = "own", True

    def get(self, owner: str, session_id: str, folder_name: str | None = None) -> Pieces:
        self.place = owner, session_id
        return self

    def exists(self) -> bool:
        return True

    def describe(self, session: Any) -> str:
        return ""

    async def request(self, name: str, **arguments: Any) -> dict[str, Any]:
        self.asked.append((*self.place, name, arguments["path"], arguments["offset"]))
        self.reading += 1
        self.most = max(self.most, self.reading)
        await asyncio.sleep(0)
        self.reading -= 1
        piece = self.pieces.pop(0)
        if isinstance(piece, WorkspaceError):
            raise piece
        data = base64.b64encode(piece).decode()
        return {"data": data, "bytes": self.size, "stamp": "v1"}


class Case(unittest.TestCase):
    def post(self, pieces: Pieces, body: Any) -> fakes.Call:
        asked = fakes.Call("POST", "/files", KIND, json.dumps(body).encode())
        run_async(Downloads(pieces, CEILINGS).post(RequestContext(asked.exchange, {})))
        return asked


class Answers(Case):
    def test_whole_files(self) -> None:
        for parts in ([b""], [b"one"], [b"<html>\x00\xff", b"two", b"3" * 100_000]):
            with self.subTest(len(parts)):
                pieces = Pieces(*parts)
                answer = self.post(pieces, {"id": "s", "path": "out/page.html"})
                self.assertEqual((answer.status, answer.answer), (200, b"".join(parts)))
                self.assertEqual(answer.headers["content-type"], "application/octet-stream")
                self.assertIn("sandbox", answer.headers["content-security-policy"])
                self.assertEqual(answer.headers["content-length"], str(pieces.size))
                self.assertIn('filename="page.html"', answer.headers["content-disposition"])
                asked = [sum(map(len, parts[:n])) for n in range(len(parts))]
                self.assertEqual([item[4] for item in pieces.asked], asked)
                self.assertEqual(pieces.asked[0][1:4], ("s", "read", "out/page.html"))

    def test_a_file_that_changes_under_way_stays_short(self) -> None:
        for second in (WorkspaceError("not_found", "changed"), b""):
            with self.subTest(second), self.assertRaises(Problem):
                self.post(Pieces(b"half", second, size=8), {"id": "s", "path": "f"})

    def test_refusals(self) -> None:
        cases = [("not_found", "not_found"), ("outside", "not_found"), ("invalid", "not_found")]
        cases += [("unavailable", "sandbox_unavailable"), ("busy", "workspace_busy")]
        for code, wanted in cases:
            with self.subTest(code), self.assertRaises(Problem) as caught:
                self.post(Pieces(WorkspaceError(code, "why")), {"id": "s", "path": "f"})
            self.assertEqual(caught.exception.code, wanted)

    def test_many_readers_share_a_few_processes(self) -> None:
        pieces = Pieces(*[b"x"] * 20, size=1)
        downloads = Downloads(pieces, CEILINGS)

        async def all_at_once() -> None:
            body = json.dumps({"id": "s", "path": "f"}).encode()
            asked = [fakes.Call("POST", "/files", KIND, body) for _ in range(20)]
            await asyncio.gather(
                *(downloads.post(RequestContext(each.exchange, {})) for each in asked)
            )
            self.assertEqual({each.status for each in asked}, {200})

        run_async(all_at_once())
        self.assertEqual(pieces.most, 3 * AT_ONCE // 4, "the share of one person")

    def test_bodies(self) -> None:
        wrong: list[tuple[Any, str]] = [
            ([], ""),
            ({}, "/id"),
            ({"id": "s"}, "/path"),
            ({"id": 1, "path": "f"}, "/id"),
            ({"id": "", "path": "f"}, "/id"),
            ({"id": "x" * 129, "path": "f"}, "/id"),
            ({"id": "s", "path": "f" * 4097}, "/path"),
            ({"id": "s", "path": None}, "/path"),
        ]
        for body, pointer in wrong:
            with self.subTest(body), self.assertRaises(Problem) as caught:
                self.post(Pieces(b"never"), body)
            self.assertEqual(caught.exception.code, "request_invalid")
            self.assertEqual(caught.exception.errors[0]["pointer"], pointer)

    def test_names(self) -> None:
        cases = [
            ("a/b.txt", "attachment; filename=\"b.txt\"; filename*=UTF-8''b.txt"),
            (
                "größe 1.pdf",
                "attachment; filename=\"gr__e 1.pdf\"; filename*=UTF-8''gr%C3%B6%C3%9F",
            ),
            ('x"; y=\\%41', "attachment; filename=\"x_; y=__41\"; filename*=UTF-8''x%22%3B%20y%3D"),
            ("a\r\nb: c", "attachment; filename=\"a__b: c\"; filename*=UTF-8''a__b%3A%20c"),
            ("folder/", 'attachment; filename="folder"'),
            ("\ud800", 'attachment; filename="_"'),
        ]
        for path, wanted in cases:
            with self.subTest(path.encode(errors="replace")):
                found = disposition(path)
                self.assertTrue(found.startswith(wanted), found)
                self.assertTrue(found.isascii() and found.isprintable())


class Whole(unittest.IsolatedAsyncioTestCase):
    """The server as it is, with the sandbox that is proven here."""

    async def asyncSetUp(self) -> None:
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.home = Path(folder) / "home"
        flags = {"server.discover": False, "server.sandbox.require": "none"}
        self.app = await self.enterAsyncContext(App(load(self.home, None, {}, flags), {}))
        self.router = routes(self.app, Keys([], "k"))

    async def shell(self, session_id: str, command: str) -> dict[str, Any]:
        """The envelope of a command."""
        session: Any = {
            "id": session_id,
            "config": copy.deepcopy(DEFAULTS["session"]["config"]),
            "grants": [],
            "messages": [],
        }
        call: Any = {"id": "c", "function": {"name": "shell", "arguments": "{}"}}
        args = {"command": command}
        found = await events_of(self.app.toolbox, session, call, args, {})
        envelope: dict[str, Any] = found[-1]["metadata"]["yaa"]["result"]
        self.assertEqual(envelope["status"], "ok", envelope)
        return envelope

    async def post(self, session_id: str, path: str, key: str = "k") -> fakes.Call:
        body = json.dumps({"id": session_id, "path": path}).encode()
        asked = fakes.Call("POST", "/files", {**KIND, "Authorization": f"Bearer {key}"}, body)
        await self.router(asked.exchange)
        return asked

    async def test_what_a_tool_made(self) -> None:
        made = await self.shell(
            "s", "mkdir -p out; printf 'a\\0b' > 'out/größe.png'; seq 700000 > n"
        )
        self.assertEqual(
            sorted(made["attachments"], key=lambda item: str(item["path"])),
            [
                {"path": "n", "name": "n", "media_type": "application/octet-stream",
                 "bytes": 4_788_895},
                {"path": "out/größe.png", "name": "größe.png", "media_type": "image/png",
                 "bytes": 3},
            ],
        )  # fmt: skip
        picture = await self.post("s", "out/größe.png")
        self.assertEqual((picture.status, picture.answer), (200, b"a\0b"))
        self.assertEqual(picture.headers["x-content-type-options"], "nosniff")
        numbers = await self.post("s", "n")  # several pieces
        self.assertEqual(numbers.answer.split(), [b"%d" % n for n in range(1, 700_001)])

    async def test_nothing_else(self) -> None:
        (self.home / "config.json").write_text("canary")
        await self.shell("other", "echo canary > secret")
        other = self.app.toolbox.runner.folder("other")
        await self.shell(
            "s",
            f"ln -s /etc/passwd link; ln -s . here; ln -s {other}/secret theirs; mkfifo pipe;"
            " ln -s circle circle; mkdir folder",
        )
        paths = [
            *("link", "theirs", "pipe", "circle", "folder", ".", "here", "none", "here/none"),
            *("/etc/passwd", "../x", f"../{other.name}/secret", f"{other}/secret", "a\0b"),
            *("/proc/self/environ", "here/../../../config.json", f"{self.home}/config.json"),
        ]
        for path in paths:
            with self.subTest(path):
                answer = await self.post("s", path)
                self.assertEqual((answer.status, answer.json["code"]), (404, "not_found"))
                self.assertNotIn(b"canary", answer.answer)
                self.assertNotIn(str(self.home), answer.json["detail"].replace(path, ""))

    async def test_a_session_without_a_folder_gets_none(self) -> None:
        answer = await self.post("never seen", "f")
        self.assertEqual(answer.status, 404)
        self.assertFalse(self.app.toolbox.runner.folder("never seen").exists())

    async def test_who_may_not(self) -> None:
        await self.shell("s", "echo canary > f")
        self.assertEqual((await self.post("s", "f", key="wrong")).status, 401)
        self.app.toolbox.workspaces.withheld = "tier A is required"
        answer = await self.post("s", "f")
        self.assertEqual((answer.status, answer.json["code"]), (503, "sandbox_unavailable"))

    async def test_more_than_a_tool_could_have_written(self) -> None:
        await self.shell("s", "head -c 2000000 /dev/zero > f")
        self.app.ceilings.of("")["tool"]["file_mb"] = 1
        answer = await self.post("s", "f")
        self.assertEqual((answer.status, answer.json["code"]), (422, "file_too_large"))


if __name__ == "__main__":
    unittest.main()
