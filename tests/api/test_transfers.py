"""What a workspace refuses, as clients read it; pieces and numbers of requests."""

from __future__ import annotations

import json
import unittest
from typing import Any

from server.api.router import RequestContext
from server.api.transfers import (
    MAX_PARAMETERS,
    number_in,
    read_query,
    receive_content,
    send_content,
    workspace_problems,
)
from server.errors import Problem
from server.json_types import Json
from server.workspace.errors import WorkspaceError

from . import fakes
from .fakes import run_async

REFUSALS = {
    "not_found": (404, "file_not_found"),
    "outside": (422, "path_outside"),
    "exists": (409, "workspace_conflict"),
    "invalid": (422, "request_invalid"),
    "too_large": (413, "workspace_too_large"),
    "disk_full": (507, "disk_full"),
    "disk_failed": (507, "disk_failed"),
    "closed": (422, "file_unusable"),
    "missing_objects": (409, "objects_missing"),
    "conflict": (409, "workspace_conflict"),
    "moved": (409, "workspace_moved"),
    "busy": (409, "workspace_busy"),
    "failed": (422, "file_unusable"),
    "timeout": (503, "overloaded"),
    "unavailable": (503, "sandbox_unavailable"),
    "anything else": (422, "file_unusable"),
}


def context(
    method: str = "GET", query: str = "", headers: Json | None = None, body: bytes = b""
) -> tuple[RequestContext, fakes.Call]:
    call = fakes.Call(method, f"/x?{query}", headers, body)
    return RequestContext(call.exchange, {}), call


class Refusals(unittest.TestCase):
    def test_each(self) -> None:
        for code, wanted in REFUSALS.items():
            with self.subTest(code), self.assertRaises(Problem) as caught, workspace_problems():
                raise WorkspaceError(code, "it is so", received=5, status=1)
            found: Any = caught.exception.body()
            self.assertEqual((found["status"], found["code"]), wanted)
            self.assertTrue(found["detail"].startswith("it is so"))
            self.assertEqual(found["received"], 5)
            self.assertEqual("Retry-After" in caught.exception.headers, code == "busy")


class Queries(unittest.TestCase):
    def test_names_and_numbers(self) -> None:
        call, _ = context(query="a=1&b=%E6%BC%A2&a=2&c=")
        self.assertEqual(read_query(call, "a", "b", "c"), {"a": "2", "b": "漢", "c": ""})
        for query in ("d=1", "a=%ff", "&".join(["a=1"] * (MAX_PARAMETERS + 1))):
            with self.subTest(query[:20]), self.assertRaises(Problem):
                read_query(context(query=query)[0], "a")
        self.assertEqual(number_in({"a": "15"}, "a", 1), 15)
        self.assertEqual(number_in({}, "a", 1), 1)
        for text in ("", "-1", "1.5", "x", "１", "9" * 16, " 1"):
            with self.subTest(text), self.assertRaises(Problem):
                number_in({"a": text}, "a", 1)


class Content(unittest.TestCase):
    def received(self, body: bytes, headers: Json) -> list[tuple[str, int, int]]:
        seen = []

        async def _write(data: str, offset: int, total: int) -> Json:
            seen.append((data, offset, total))
            return {}

        async def _receive() -> None:
            await receive_content(context("PUT", "", headers, body)[0], 1_000, _write)

        run_async(_receive())
        return seen

    def test_places_of_pieces(self) -> None:
        for body, header, wanted in (
            (b"abc", "", ("YWJj", 0, 3)),
            (b"", "", ("", 0, 0)),
            (b"abc", "bytes 5-7/10", ("YWJj", 5, 10)),
            (b"", "bytes */10", ("", 0, 10)),
        ):
            with self.subTest(header):
                headers = {"Content-Range": header} if header else {}
                self.assertEqual(self.received(body, headers), [wanted])
        for body, header in (
            (b"abc", "bytes 5-8/10"),
            (b"abc", "bytes 7-5/10"),
            (b"abc", "bytes 8-10/10"),
            (b"abc", "bytes 5-7/*"),
            (b"abc", f"bytes 5-7/{'9' * 16}"),
            (b"abc", "bytes */10"),
            (b"", "bytes 0-0/1"),
        ):
            with self.subTest(header), self.assertRaises(Problem) as caught:
                self.received(body, {"Content-Range": header})
            self.assertEqual(caught.exception.code, "request_invalid")
        with self.assertRaises(Problem) as caught:
            self.received(b"x" * 1_001, {})
        self.assertIn("Content-Range", caught.exception.detail)

    def test_a_file_that_changes_while_it_is_read(self) -> None:
        for later in (
            {"data": "YWJj", "bytes": 6, "stamp": "2"},
            {"data": "YWJj", "bytes": 7, "stamp": "1"},
            {"data": "", "bytes": 6, "stamp": "1"},
        ):
            answers: list[Json] = [{"data": "YWJj", "bytes": 6, "stamp": "1"}, later]

            async def _read(_offset: int, _length: int, answers: list[Json] = answers) -> Json:
                return answers.pop(0)

            told, call = context()
            with self.subTest(json.dumps(later)), self.assertRaises(Problem):
                run_async(send_content(told, _read, {}))
            self.assertFalse(call.exchange.finished)


if __name__ == "__main__":
    unittest.main()
