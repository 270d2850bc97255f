"""The router: routes, keys, Host, CORS on every answer, one translation of errors, access log."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import re
import unittest
from collections.abc import Mapping
from typing import Any

from server.api import request_headers
from server.api.auth import Keys
from server.api.request_headers import RequestOver
from server.api.router import RequestContext, Route, Router
from server.errors import CODES, Problem
from server.lib.http.cors import Origins
from server.lib.http.parser import ProtocolError
from server.lib.strict_json import JSONError
from server.telemetry import log

from . import fakes
from .fakes import run_async

KEY = {"Authorization": "Bearer k"}


class Case(unittest.TestCase):
    raised: BaseException | None = None

    def setUp(self) -> None:
        self.log = io.StringIO()
        log.setup("info", stream=self.log)
        self.addCleanup(log.setup, "error", stream=io.StringIO())

    async def thing(self, call: RequestContext) -> None:
        if self.raised is not None:
            raise self.raised
        await call.json({"name": call.key.name})

    async def broken_stream(self, call: RequestContext) -> None:
        call.run = "run_9"
        call.stream({"Content-Type": "text/event-stream"})
        raise ValueError("canary-internal")

    async def files(self, call: RequestContext) -> None:
        await call.reply(200, b"file", {"Cache-Control": "no-cache"})

    def router(self, **options: Any) -> Router:
        routes = {
            ("GET", "/open"): Route(self.thing, open=True),
            ("GET", "/health"): Route(self.thing, open=True),
            ("GET", "/closed"): Route(self.thing),
            ("POST", "/closed"): Route(self.thing),
            ("POST", "/only-post"): Route(self.thing),
            ("GET", "/broken-stream"): Route(self.broken_stream, open=True),
        }
        keys = Keys([{"name": "phone", "key": "k"}])
        return Router(routes, self.files, keys, **options)

    def ask(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, **options: Any
    ) -> fakes.Call:
        asked = fakes.Call(method, path, headers)
        run_async(self.router(**options)(asked.exchange))
        return asked

    def access(self) -> list[dict[str, Any]]:
        lines = [line for line in self.log.getvalue().splitlines() if " yaa.access " in line]
        return [json.loads(line[line.index("{") :]) for line in lines]


class Callers(Case):
    """The headers of a caller: behind the key, and only while the request lasts."""

    def router(self, **options: Any) -> Router:
        async def told(call: RequestContext) -> None:
            self.held = request_headers.current.get()
            names = ("X-User-Id", "x-absent") if self.held else ()
            await call.json({name: self.held.get(name) for name in names if self.held})

        routes = {("GET", "/closed"): Route(told), ("GET", "/open"): Route(told, open=True)}
        return Router(routes, self.files, Keys(["k" * 16]), **options)

    def test_it_is_there_and_then_gone(self) -> None:
        sent = {"YAA-API-KEY": "k" * 16, "X-User-Id": "anna"}
        asked = self.ask("GET", "/closed", sent)
        self.assertEqual(asked.json, {"X-User-Id": "anna", "x-absent": ""})
        assert self.held is not None
        self.assertTrue(self.held.is_key(f"Bearer {'k' * 16}"))
        self.assertRaises(RequestOver, self.held.get, "X-User-Id")
        self.assertNotIn("anna", f"{self.held!r}" + self.log.getvalue())
        self.assertEqual(self.ask("GET", "/open", sent).json, {})
        self.assertIsNone(self.held)
        self.assertEqual(self.ask("GET", "/closed", {}).status, 401)


class Routes(Case):
    def test_table(self) -> None:
        for method, path, headers, status in (
            ("GET", "/open", {}, 200),
            ("HEAD", "/open", {}, 200),
            ("GET", "/closed", KEY, 200),
            ("GET", "/closed", {}, 401),
            ("HEAD", "/closed", {}, 401),
            ("POST", "/closed", {}, 401),
            ("GET", "/closed", {"Authorization": "Bearer wrong"}, 401),
            ("GET", "/anything.js", {}, 200),
            ("GET", "/closed/", {}, 401),
            ("GET", "/closed/", KEY, 200),
            ("DELETE", "/closed/", KEY, 405),
            ("GET", "/closed//", {}, 200),  # no route, so it is a file's name
            ("DELETE", "/closed", KEY, 405),
            ("GET", "/only-post", KEY, 405),
            ("PUT", "/open", {}, 405),
            ("POST", "/nowhere", KEY, 404),
            ("OPTIONS", "/closed", {}, 204),
            ("OPTIONS", "/nowhere", {}, 204),
        ):
            with self.subTest(method=method, path=path, headers=headers):
                self.assertEqual(self.ask(method, path, headers).status, status)

    def test_405_says_what_is_allowed(self) -> None:
        for path, allowed in (
            ("/closed", "GET, HEAD, POST, OPTIONS"),
            ("/only-post", "POST, OPTIONS"),
            ("/open", "GET, HEAD, OPTIONS"),
        ):
            self.assertEqual(self.ask("PATCH", path).headers["allow"], allowed)

    def test_the_handler_learns_the_keys_name_and_the_body_is_not_read(self) -> None:
        exchange = self.ask("GET", "/closed", KEY)
        self.assertEqual(exchange.json, {"name": "phone"})
        refused = self.ask("POST", "/closed")
        self.assertFalse(refused.channel.body_read)
        self.assertIn("www-authenticate", refused.headers)


class Patterns(Case):
    """Paths with a part that names something."""

    async def named(self, call: RequestContext) -> None:
        if "wrong" in call.at.values():
            raise Problem("not_found", "no such thing")
        await call.json(dict(call.at))

    def router(self, **options: Any) -> Router:
        routes = {
            ("GET", "/v1/models"): Route(self.thing),
            ("GET", "/v1/models/{model}"): Route(self.named, refusal=lambda p: {"no": p.code}),
            ("POST", "/x/{a}/y/{b}"): Route(self.named),
        }
        return Router(routes, self.files, Keys([{"name": "phone", "key": "k"}]), **options)

    def test_table(self) -> None:
        for method, path, status, answer in (
            ("GET", "/v1/models", 200, {"name": "phone"}),
            ("GET", "/v1/models/default", 200, {"model": "default"}),
            ("GET", "/v1/models/a%2Fb%20%E4%BD%A0", 200, {"model": "a/b 你"}),
            ("GET", "/v1/models/{model}", 200, {"model": "{model}"}),
            ("POST", "/x/1/y/2", 200, {"a": "1", "b": "2"}),
            ("GET", "/v1/models/wrong", 404, {"no": "not_found"}),
            ("POST", "/v1/models/x", 405, {"no": "method_not_allowed"}),
            ("GET", "/v1/models/", 200, None),  # the name of a file
            ("POST", "/v1/embeddings", 404, {"no": "not_found"}),  # beside all routes of a front
            ("DELETE", "/v1", 404, {"no": "not_found"}),
            ("GET", "/v1/models/a/b", 200, None),
        ):
            with self.subTest(method=method, path=path):
                asked = self.ask(method, path, KEY)
                self.assertEqual(asked.status, status)
                if answer is not None:
                    self.assertEqual(asked.json, answer)

    def test_an_address_that_is_none_is_named(self) -> None:
        asked = self.ask("POST", "/chat/completions", KEY)
        self.assertEqual(asked.json["detail"], "There is nothing at /chat/completions")

    def test_a_missing_key_is_refused_in_the_words_of_the_route(self) -> None:
        asked = self.ask("GET", "/v1/models/x")
        self.assertEqual((asked.status, asked.json), (401, {"no": "unauthorized"}))
        self.assertEqual(self.ask("OPTIONS", "/v1/models/x").headers["allow"], "GET, HEAD, OPTIONS")


class Cors(Case):
    def test_every_answer_can_be_read_by_a_page(self) -> None:
        for method, path in (
            ("GET", "/open"),
            ("GET", "/closed"),
            ("GET", "/x"),
            ("PUT", "/open"),
            ("POST", "/nowhere"),
            ("OPTIONS", "/closed"),
        ):
            for origin in ("null", "http://other", "https://other.example", "chrome-extension://x"):
                with self.subTest(method=method, path=path, origin=origin):
                    exchange = self.ask(method, path, {"Origin": origin})
                    headers = exchange.headers
                    self.assertEqual(headers["access-control-allow-origin"], "*")
                    self.assertEqual(headers["x-request-id"], exchange.exchange.id)
                    self.assertNotIn("access-control-allow-credentials", headers)
                    self.assertEqual(headers["x-content-type-options"], "nosniff")
                    self.assertEqual(headers["referrer-policy"], "no-referrer")
                    self.assertIn("cache-control", headers)

    def test_preflight(self) -> None:
        asked = {
            "Origin": "null",
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "authorization,content-type",
        }
        exchange = self.ask("OPTIONS", "/closed", asked, allow_headers=["X-Of-Extension"])
        self.assertEqual((exchange.status, exchange.answer), (204, b""))
        allowed = exchange.headers["access-control-allow-headers"].split(", ")
        for name in ("authorization", "content-type", "content-encoding", "last-event-id"):
            self.assertIn(name, allowed)
        for name in ("traceparent", "tracestate", "baggage", "x-of-extension"):
            self.assertIn(name, allowed)
        self.assertIn("idempotency-key", allowed)
        self.assertNotIn("*", allowed)
        methods = exchange.headers["access-control-allow-methods"]
        self.assertEqual(methods, "GET, HEAD, POST, OPTIONS")
        self.assertEqual(exchange.headers["access-control-max-age"], "3600")

    def test_a_list_of_origins(self) -> None:
        options: dict[str, Any] = {"origins": Origins(["https://mine.example", "null"])}
        for origin, answer in (
            ("https://mine.example", "https://mine.example"),
            ("null", "null"),
            ("https://other.example", None),
            ("https://mine.example\r\nX: y", None),
        ):
            with self.subTest(origin=origin):
                headers = self.ask("GET", "/open", {"Origin": origin}, **options).headers
                self.assertEqual(headers.get("access-control-allow-origin"), answer)
                self.assertEqual(headers["vary"], "Origin")
        self.assertNotIn("access-control-allow-origin", self.ask("GET", "/open", **options).headers)
        for origin, permitted in (("https://mine.example", True), ("https://other.example", False)):
            headers = self.ask("OPTIONS", "/closed", {"Origin": origin}, **options).headers
            self.assertEqual("access-control-allow-methods" in headers, permitted)
            self.assertEqual(headers["allow"], "GET, HEAD, POST, OPTIONS")


class WithoutKeys(Case):
    """Where no key is needed, a page of another origin gets nothing and does nothing."""

    def ask(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, **options: Any
    ) -> fakes.Call:
        options["origins"] = Origins(["*", "https://mine.example"], key_needed=False)
        own = {"Host": "127.0.0.1:8"}
        return super().ask(method, path, own | dict(headers or {}), **options)

    def router(self, **options: Any) -> Router:
        self.served = 0

        async def thing(call: RequestContext) -> None:
            self.served += 1
            await call.json({"name": call.key.name})

        routes = {
            ("GET", "/open"): Route(thing, open=True),
            ("GET", "/closed"): Route(thing),
            ("POST", "/closed"): Route(thing),
            ("POST", "/v1/x"): Route(thing, refusal=lambda problem: {"no": problem.code}),
        }
        return Router(routes, self.files, Keys([], required=False), **options)

    def test_table(self) -> None:
        own, mine, other = "http://127.0.0.1:8", "https://mine.example", "https://evil.example"
        for method, path, origin, status, readable in (
            ("POST", "/closed", None, 200, None),
            ("POST", "/closed", own, 200, None),
            ("POST", "/closed", mine, 200, mine),
            ("POST", "/closed", other, 403, None),
            ("GET", "/closed", other, 403, None),
            ("HEAD", "/closed", other, 403, None),
            ("POST", "/closed", "null", 403, None),
            ("POST", "/v1/x", other, 403, None),
            ("POST", "/nowhere", other, 404, None),
            ("GET", "/open", other, 200, None),
            ("GET", "/file.js", other, 200, None),
            ("OPTIONS", "/closed", other, 204, None),
            ("OPTIONS", "/closed", "null", 204, None),
            ("OPTIONS", "/closed", mine, 204, mine),
        ):
            with self.subTest(method=method, path=path, origin=origin):
                asked = self.ask(method, path, {"Origin": origin} if origin else {})
                self.assertEqual(asked.status, status)
                self.assertEqual(asked.headers.get("access-control-allow-origin"), readable)
                if status == 403:
                    self.assertEqual(self.served, 0)
                permission = "access-control-allow-headers" in asked.headers
                self.assertEqual(permission, method == "OPTIONS" and readable is not None)

    def test_a_refusal_says_what_to_do(self) -> None:
        asked = self.ask("POST", "/closed", {"Origin": "https://evil.example"})
        self.assertEqual(asked.json["code"], "origin_not_allowed")
        self.assertIn("server.cors_origins", asked.json["detail"])
        asked = self.ask("POST", "/v1/x", {"Origin": "https://evil.example"})
        self.assertEqual(asked.json, {"no": "origin_not_allowed"})


class Errors(Case):
    def test_each_becomes_one_json_answer(self) -> None:
        place = {"pointer": "/messages/0", "detail": "wanted an object"}
        for raised, status, code in (
            (Problem("session_invalid", "No.", errors=[place]), 422, "session_invalid"),
            (Problem("busy", "No.", headers={"Retry-After": "2"}), 429, "busy"),
            (JSONError("trailing text", 3, 7), 400, "bad_json"),
            (ProtocolError("too long", 413), 413, "body_too_large"),
            (ProtocolError("too slow", 408), 408, "timeout"),
            (ProtocolError("odd", 418), 418, "bad_request"),
            (ValueError("canary-internal"), 500, "internal"),
            (RecursionError("canary-internal"), 500, "internal"),
        ):
            with self.subTest(raised=raised):
                self.raised = raised
                exchange = self.ask("GET", "/open")
                body = exchange.json
                self.assertEqual(exchange.status, status)
                self.assertEqual((body["code"], body["status"]), (code, exchange.status))
                self.assertEqual(body["error"]["code"], code)
                self.assertEqual(exchange.headers["access-control-allow-origin"], "*")
                self.assertEqual(exchange.headers["cache-control"], "no-store")
                self.assertIn("application/json", exchange.headers["content-type"])
                self.assertNotIn("canary-internal", exchange.answer.decode())
                self.assertNotIn("Traceback", exchange.answer.decode())

    def test_places_and_headers_come_through(self) -> None:
        self.raised = JSONError("trailing text", 3, 7)
        self.assertIn("line 3, column 7", self.ask("GET", "/open").json["detail"])
        self.raised = Problem("busy", "No.", headers={"Retry-After": "2"})
        self.assertEqual(self.ask("GET", "/open").headers["retry-after"], "2")

    def test_every_status_of_the_protocol_has_its_code(self) -> None:
        for status in (400, 408, 413, 414, 417, 431, 501, 505):
            self.raised = ProtocolError("x", status)
            exchange = self.ask("GET", "/open")
            self.assertEqual(exchange.status, status)
            self.assertEqual(CODES[exchange.json["code"]][0], status)

    def test_an_incident_is_in_the_log_and_only_its_id_in_the_answer(self) -> None:
        self.raised = ValueError("canary-internal")
        detail = self.ask("GET", "/open").json["detail"]
        self.assertIn("req-1", detail)
        lines = [line for line in self.log.getvalue().splitlines() if "req-1" in line]
        self.assertEqual(len(lines), 1)
        self.assertIn("canary-internal", lines[0])
        self.assertIn("Traceback", lines[0])

    def test_after_the_answer_began_the_error_goes_on_to_the_listener(self) -> None:
        asked = fakes.Call("GET", "/broken-stream")
        with self.assertRaises(ValueError):
            run_async(self.router()(asked.exchange))
        self.assertEqual(asked.status, 200)

    def test_cancellation_is_not_an_error(self) -> None:
        self.raised = asyncio.CancelledError()
        asked = fakes.Call("GET", "/open")

        async def main() -> None:
            with self.assertRaises(asyncio.CancelledError):
                await self.router()(asked.exchange)

        run_async(main())
        self.assertEqual(asked.status, 0)
        self.assertEqual(self.access()[0]["status"], 499)


class AccessLog(Case):
    def test_that_what_is_read_is_there_is_no_news(self) -> None:
        asked = (("GET", "/health"), ("HEAD", "/open"), ("GET", "/page.js"), ("OPTIONS", "/closed"))
        for method, path in (*asked, ("GET", "/closed")):
            self.ask(method, path, KEY)
        self.assertEqual(self.access(), [])
        self.ask("GET", "/closed")
        self.raised = ValueError("x")
        self.ask("GET", "/health")
        self.assertEqual([line["status"] for line in self.access()], [401, 500])

    def test_all_of_it_at_debug(self) -> None:
        logger = logging.getLogger("yaa")
        before = logger.level
        self.addCleanup(logger.setLevel, before)
        logger.setLevel(logging.DEBUG)
        self.ask("GET", "/health")
        self.assertEqual([line["status"] for line in self.access()], [200])

    def test_one_line_for_each_request(self) -> None:
        self.ask("POST", "/closed", KEY)
        self.ask("GET", "/closed", {"Authorization": "Bearer canary-wrong"})
        self.raised = ValueError("x")
        self.ask("POST", "/closed", KEY)
        lines = self.access()
        self.assertEqual([line["status"] for line in lines], [200, 401, 500])
        self.assertEqual([line["key_name"] for line in lines], ["phone", "", "phone"])
        self.assertEqual(lines[0]["bytes"], len('{"name":"phone"}'))
        for line in lines:
            self.assertLessEqual(
                {"began", "ip", "key_name", "run", "method", "path", "status", "ms", "bytes"},
                set(line),
            )
        traces = re.findall(r" trace=([0-9a-f]{32}) ", self.log.getvalue())
        self.assertEqual(len(traces), 4)  # a fault of ours has a line of its own
        self.assertEqual(len(set(traces)), 3)
        theirs = f"00-{'4b' * 16}-{'0a' * 8}-01"
        self.ask("PUT", "/open", {"traceparent": theirs})
        self.assertIn(f" trace={'4b' * 16} ", self.log.getvalue().splitlines()[-1])
        self.assertNotIn("canary-wrong", self.log.getvalue())

    def test_what_is_asked_for_is_named_without_its_query(self) -> None:
        self.ask("POST", "/closed?words=quince-medlar", KEY)
        self.assertEqual(self.access()[0]["path"], "/closed")
        self.assertNotIn("quince", self.log.getvalue())

    def test_hostile_paths_stay_in_their_line(self) -> None:
        self.ask("POST", "/a%0d%0a\r\nFAKE" + "x" * 10_000)
        self.assertEqual(self.log.getvalue().count("\n"), 1)
        self.assertLess(len(self.log.getvalue()), 600)


if __name__ == "__main__":
    unittest.main()
