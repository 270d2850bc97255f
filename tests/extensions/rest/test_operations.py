"""Requests as tools: where arguments go, what they can't reach, and what comes back."""

from __future__ import annotations

import copy
import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.api import request_headers
from server.api.request_headers import RequestHeaders
from server.config import Config
from server.extensions.rest.operations import HttpTool, operation, operations, request
from server.extensions.rest.parts import RestSource
from server.lib.http.client import Client
from server.tools.decorators import ToolError
from server.tools.toolbox import Toolbox

from ...fakes import DEFAULTS, events_of
from ...models.fakes import answer, serving

ABOUT: dict[str, Any] = {
    "base_url": "https://api.example.org/v1/",
    "headers": {"Authorization": "Bearer canary"},
}
TEXT = {"type": "string"}
CLIENT = Client()  # of tools that are only described
REFUSALS = (  # what a status means, where the service itself says nothing
    (400, "400: the request was not understood"),
    (
        401,
        "401: the credentials, of the configuration or of the caller, are missing or wrong",
    ),
    (403, "403: this is not allowed"),
    (404, "404: there is no such thing"),
    (405, "405: this cannot be done here"),
    (409, "409: it is in conflict with what is there"),
    (418, "418: it was refused"),
    (422, "422: the values do not fit"),
    (429, "429: too many requests; wait before the next"),
    (503, "503: the service failed"),
)


def made(path: str = "/a/{x}", method: str = "GET", **parameters: Any) -> HttpTool:
    each = {"name": "op", "path": path, "method": method, "parameters": parameters}
    return operation(CLIENT, "api", ABOUT, each)


class Requests(unittest.TestCase):
    def test_a_value_stays_one_segment(self) -> None:
        cases = [
            ("a b", "a%20b"),
            ("a/../b", "a%2F..%2Fb"),
            ("?q#f", "%3Fq%23f"),
            ("%2e%2e", "%252e%252e"),
            ("é@x:y", "%C3%A9%40x%3Ay"),
            ("{y}", "%7By%7D"),
            ("a\r\nHost: b", "a%0D%0AHost%3A%20b"),
            (7, "7"),
            ([1, "b,/"], "1%2Cb%2C%2F"),
        ]
        op = made("/a/{x}/{y}", x=TEXT, y=TEXT)
        for value, wanted in cases:
            with self.subTest(value):
                url, _, _ = request(op, {"x": value, "y": "z"})
                self.assertEqual(url, f"https://api.example.org/v1/a/{wanted}/z")
        for value in ("", ".", "..", [], [".."]):
            with self.subTest(value), self.assertRaisesRegex(ToolError, "x is"):
                request(op, {"x": value, "y": "z"})

    def test_places(self) -> None:
        op = made(
            "/a/{x}",
            "POST",
            x=TEXT,
            q={"in": "query", "as": "q[]"},
            h={"in": "header", "as": "X-Trace"},
            f=TEXT,
        )
        self.assertEqual(request(op, {"x": "1", "h": [1, "a"]})[1]["x-trace"], "1,a")
        args = {"x": "1", "q": ["a&b", True], "h": "t", "f": {"deep": None}}
        url, headers, body = request(op, args)
        self.assertEqual(url, "https://api.example.org/v1/a/1?q%5B%5D=a%26b&q%5B%5D=true")
        self.assertEqual((headers["x-trace"], headers["authorization"]), ("t", "Bearer canary"))
        self.assertEqual(json.loads(body), {"f": {"deep": None}})
        csv = operation(CLIENT, "api", {**ABOUT, "headers": {"Accept": "text/csv"}}, {"path": "/"})
        self.assertEqual(request(csv, {})[1]["accept"], "text/csv")  # the owner has the last word
        whole = made("/a", "PUT", items={"type": "array", "in": "content"})
        self.assertEqual(request(whole, {"items": [1]})[2], b"[1]")
        self.assertEqual(request(whole, {})[2], b"")

    def test_a_header_of_the_owners_is_no_argument(self) -> None:
        about = {**ABOUT, "headers": {"X-Trace": "ours"}}
        parameters = {"trace": {"in": "header", "as": "x-trace"}, "q": TEXT}
        op = operation(CLIENT, "api", about, {"name": "op", "path": "/", "parameters": parameters})
        self.assertEqual(list(op.parameters["properties"]), ["q"])
        self.assertEqual(request(op, {"trace": "theirs"})[1]["x-trace"], "ours")

    def test_what_the_caller_brings_is_no_argument(self) -> None:
        about = {**ABOUT, "forward": ["X-User-Id", "cookie:SID"]}
        parameters = {"user": {"in": "header", "as": "x-user-id", "needed": True}, "q": TEXT}
        op = operation(CLIENT, "api", about, {"name": "op", "path": "/", "parameters": parameters})
        self.assertEqual(list(op.parameters["properties"]), ["q"])
        brought = {"x-user-id": "anna", "cookie": "SID=1", "authorization": "Bearer theirs"}
        headers = request(op, {"user": "bert", "q": "1"}, brought)[1]
        self.assertEqual((headers["x-user-id"], headers["cookie"]), ("anna", "SID=1"))
        self.assertEqual(headers["authorization"], "Bearer canary", "the owner's is the last")

    def test_a_key_in_the_query_is_the_owners(self) -> None:
        """As many APIs want it: it is no argument, and no answer repeats it."""
        about = {**ABOUT, "query": {"appid": "0123456789abcdef-q", "units": "metric", "v": "2"}}
        parameters = {"id": {"in": "query", "as": "appid", "needed": True}, "q": TEXT}
        op = operation(CLIENT, "api", about, {"name": "op", "path": "/", "parameters": parameters})
        self.assertEqual(list(op.parameters["properties"]), ["q"])
        url, _, _ = request(op, {"q": "a&appid=b", "id": "theirs"})
        own = "appid=0123456789abcdef-q&units=metric&v=2"
        self.assertEqual(url, f"https://api.example.org/v1/?q=a%26appid%3Db&{own}")
        self.assertEqual(op.secrets(), ["0123456789abcdef-q", "Bearer canary", "canary"])

    def test_refused(self) -> None:
        cases: list[tuple[dict[str, Any], str]] = [
            ({"path": "/a/{x}"}, "the path needs x"),
            ({"path": "a"}, "begins with /"),
            ({"path": "/a", "method": "TRACE"}, "method is TRACE"),
            ({"path": "/a", "methd": "GET"}, "unknown key methd; did you mean method"),
            (
                {"path": "/a", "parameters": {"x": {"in": "cookie"}}},
                'x.in is "cookie", wanted one of path',
            ),
            ({"path": "/a", "parameters": {"x": 1}}, "parameters.x is 1, wanted a schema"),
        ]
        for name in ("Proxy-Authorization", "cookie", "Host", "X-Api-Key", "x-auth-token", "a b"):
            header = {"x": {"in": "header", "as": name}}
            cases.append(({"path": "/a", "parameters": header}, "may not write the header"))
        for each, wanted in cases:
            with self.subTest(each), self.assertRaisesRegex(ToolError, wanted):
                operation(CLIENT, "api", ABOUT, {"name": "op", **each})
        for url in ("", "ftp://a", "https://u@a", "https://a?q", "a.org"):
            with self.subTest(url), self.assertRaisesRegex(ToolError, "base_url"):
                operation(CLIENT, "api", {"base_url": url}, {"name": "op", "path": "/"})

    def test_hints(self) -> None:
        for method, read_only, repeatable in (
            *(("GET", True, True), ("PUT", False, True)),
            *(("DELETE", False, True), ("POST", False, False), ("PATCH", False, False)),
        ):
            tool = made("/", method)
            self.assertEqual((tool.read_only, tool.repeatable), (read_only, repeatable), method)
        careful = operation(CLIENT, "api", ABOUT, {"name": "op", "path": "/", "read_only": False})
        self.assertFalse(careful.read_only)


class Answers(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.client = Client()
        self.addAsyncCleanup(self.client.close)

    async def said(self, reply: bytes, **about: Any) -> Any:
        async with serving(reply) as server:
            op = operation(
                self.client, "api", {"base_url": server.url, **about}, {"name": "op", "path": "/"}
            )
            outcome = await op.send({}, 5)
        return outcome.result if outcome.status == "ok" else outcome.error["message"]

    async def test_statuses_and_bodies(self) -> None:
        kind = "application/json"
        cases: list[tuple[bytes, Any]] = [
            (answer(b'{"a": 1}', kind=kind), {"a": 1}),
            (answer(b"plain", kind="text/plain"), "plain"),
            (answer(b"{broken", kind=kind), "{broken"),
            (answer(b"", "204 No Content"), {"status": 204}),
            (answer(b"x", kind="image/png"), "the answer is image/png (1 bytes), which is no text"),
            (
                answer(b'{"error": {"message": "no city"}}', "404 Not Found", kind=kind),
                "404: there is no such thing: no city",
            ),
            (answer(b'{"msg": "late"}', "429 Wait", kind=kind), None),
            (
                answer(b"x" * 500, "500 Oops", kind="text/html"),
                f"500: the service failed: {'x' * 100}",
            ),
            *((answer(b"", f"{status} X"), said) for status, said in REFUSALS),
            (
                answer(b"", "302 Found", "location: http://127.0.0.1:1/"),
                "302: it redirects, which is not followed; correct base_url/path",
            ),
        ]
        for reply, wanted in cases:
            with self.subTest(reply[:30]):
                found = await self.said(reply)
                self.assertEqual(
                    found, wanted or "429: too many requests; wait before the next: late"
                )

    async def test_an_echo_of_the_credentials_goes_no_further(self) -> None:
        """Nor half of one, where an error is cut; in whichever way the JSON spells it."""
        headers = {
            "Authorization": "Bearer ca/na-ry",
            "X-Api-Key": "quince77",
            "Accept": "any/kind",
        }
        told = {"auth": "Bearer ca/na-ry", "list": ["quince77 ca/na-ry"], "accept": "any/kind"}
        slashed = json.dumps(told).replace("/", "\\/").encode()
        page = b"x" * 97 + b"quince77"
        for reply, wanted in (
            (
                answer(slashed, kind="application/json"),
                {"auth": "***", "list": ["*** ***"], "accept": "any/kind"},
            ),
            (answer(b"= Bearer ca/na-ry", kind="text/plain"), "= ***"),
            (answer(page, "500 Oops"), f"500: the service failed: {'x' * 97}***"),
        ):
            with self.subTest(reply[-30:]):
                self.assertEqual(await self.said(reply, headers=headers), wanted)

    async def test_size_and_time(self) -> None:
        found = await self.said(answer(b"x" * 5000, kind="text/plain"), max_kb=1)
        self.assertIn("more than 1024 bytes", found)
        silent = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx"
        self.assertIn("0.2 s", await self.said(silent, timeout_s=0.2))

    async def test_no_value_breaks_out_of_its_place(self) -> None:
        """Arguments as an attacker would write them, and the request as the server gets it."""
        evil = [
            "x\r\nAuthorization: Bearer stolen",
            "x\nHost: evil.example",
            "x HTTP/1.1\r\n\r\nGET /secret",
            "../../admin",
            "..\\..\\admin",
            "%2e%2e%2fadmin",
            "//evil.example/",
            "@evil.example",
            "a#b?c=d&e",
            "\x00",
            "\u2028\u202e",
            "é\U0001f600",
        ]
        for value in evil:
            async with serving(answer(b"{}", kind="application/json")) as server:
                about = {"base_url": server.url, "headers": {"Authorization": "Bearer canary"}}
                parameters = {name: {"in": name} for name in ("path", "query", "body", "header")}
                parameters["header"]["as"] = "X-Trace"
                each = {
                    "name": "op",
                    "method": "POST",
                    "path": "/a/{path}",
                    "parameters": parameters,
                }
                op = operation(self.client, "api", about, each)
                for place in parameters:
                    with self.subTest(value, place=place):
                        server.requests.clear()
                        outcome = await op.send({"path": "p", place: value}, 5)
                        if outcome.status != "ok":  # it has no form in a header
                            self.assertEqual((place, server.requests), ("header", []))
                            continue
                        [request] = server.requests
                        method, target, version = request.line.split(" ")
                        self.assertEqual((method, version.strip()), ("POST", "HTTP/1.1"))
                        self.assertEqual(target.partition("?")[0].count("/"), 3)
                        self.assertTrue(target.startswith("/v1/a/"))
                        self.assertEqual(request.headers["authorization"], "Bearer canary")
                        self.assertEqual(request.headers["host"], server.url.split("/")[2])

    async def test_a_call_after_its_request_is_not_sent_without_its_caller(self) -> None:
        held = RequestHeaders({"x-user-id": "anna"}, lambda text: False)
        token = request_headers.current.set(held)
        self.addCleanup(request_headers.current.reset, token)
        async with serving(*[answer(b"{}")] * 2) as server:
            about = {"base_url": server.url, "forward": ["X-User-Id"]}
            op = operation(self.client, "api", about, {"name": "op", "path": "/"})
            await op.send({}, 5)
            self.assertEqual(server.requests[-1].headers["x-user-id"], "anna")
            held.forget()
            outcome = await op.send({}, 5)
            self.assertIn("the request that says who is asking is over", str(outcome.error))
            self.assertEqual(len(server.requests), 1)

    async def test_credentials_do_not_follow_a_redirect(self) -> None:
        async with serving(*[answer(b"stolen")] * 5) as trap:
            for status in ("301 Moved", "302 Found", "303 See", "307 Same", "308 Same"):
                reply = answer(b"", status, f"location: {trap.url}/x")
                found = await self.said(reply, headers={"authorization": "Bearer canary"})
                self.assertIn("it redirects, which is not followed", found)
            self.assertEqual(trap.requests, [])

    async def test_answers_that_attack(self) -> None:
        cases = [
            (b"HTTP/1.1 200 OK\r\ncontent-length: 1000000000000\r\n\r\n", "127.0.0.1"),
            (b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nab", "127.0"),
            (b"HTTP/1.1 200 OK\r\ncontent-encoding: br\r\n\r\nx", "compressed"),
            (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffff\r\n", "127.0.0.1"),
            (b"\r\n" * 10_000, "127.0.0.1"),
            (b"", "127.0.0.1"),
        ]
        for reply, part in cases:
            with self.subTest(reply[:60]):
                self.assertIn(part, await self.said(reply, timeout_s=1))
        deep = b"[" * 100_000 + b"]" * 100_000
        found = await self.said(answer(deep, kind="application/json"))
        self.assertIsInstance(found, str)  # as text, cut by the envelope


class Collected(unittest.IsolatedAsyncioTestCase):
    async def test_from_the_configuration_to_a_result(self) -> None:
        client = Client()
        self.addAsyncCleanup(client.close)
        async with serving(answer(b'{"high": 7}', kind="application/json")) as upstream:
            with tempfile.TemporaryDirectory() as folder:
                server = copy.deepcopy(DEFAULTS["server"])
                tool = {"name": "day", "path": "/day", "parameters": {"n": {"type": "integer"}}}
                bad = {"name": "bäd", "path": "/"}
                about = {"base_url": upstream.url, "tools": [tool, bad], "openapi": "none.json"}
                good = {**about, "openapi": ""}
                server["rest"] = {"sky": good, "lost": about}
                toolbox = Toolbox(Config(server, DEFAULTS["session"], Path(folder)), client)
                toolbox.add_source(RestSource(server["rest"], client, Path(folder)))
                await toolbox.load_owner_tools()
                name, _, file = toolbox.problems
                self.assertIn("lost_day", toolbox.names(), "what is written out needs no document")
                self.assertTrue(name.startswith("server.rest.sky: sky_bäd: a tool's name"), name)
                self.assertTrue(file.startswith("server.rest.lost.openapi: "), file)
                session: Any = {"id": "s", "messages": [], "grants": []}
                session["config"] = DEFAULTS["session"]["config"]
                function = {"name": "sky_day", "arguments": '{"n": "3"}'}
                made: Any = {"id": "c", "function": function}
                verdict = toolbox.verdict(session, made)
                self.assertEqual((verdict.action, verdict.args), ("run", {"n": 3}))
                found = await events_of(toolbox, session, made, verdict.args or {}, {})
        self.assertEqual(found[-1]["content"], '{"high":7}')
        self.assertEqual(upstream.requests[0].line.split()[1], "/v1/day?n=3")

    async def test_a_document_in_yaml_is_told(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "api.yaml").write_text("openapi: 3.0.0\n")
            apis = {"x": {**ABOUT, "openapi": "api.yaml"}}
            source = RestSource(apis, CLIENT, Path(folder))
            await source.load(lambda part, tools: None)
        told = "server.rest.x.openapi: YAML is not read; convert it to JSON"
        self.assertEqual(source.problems, [told])

    def test_each_problem_is_told(self) -> None:
        found = [*operations(CLIENT, "api", {**ABOUT, "tools": [{"path": "/"}, {"name": "a"}]}, 5)]
        texts = [item for item in found if isinstance(item, str)]
        self.assertEqual(len(texts), 2)
        self.assertIn("neither an OpenAPI 3", texts[1])


if __name__ == "__main__":
    unittest.main()
