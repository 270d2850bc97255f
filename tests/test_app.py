"""The whole server: bad input by the thousand, secrets that stay inside, and its composition."""

from __future__ import annotations

import asyncio
import copy
import gzip
import http.client
import io
import json
import re
import tempfile
import time
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

from server.api import idempotency
from server.api.auth import Keys
from server.api.router import READS, Route, Router
from server.api.sessions import Runs, Sessions
from server.app import App, routes
from server.config import ConfigError, load
from server.errors import Problem
from server.lib.sandbox.policy import TIERS
from server.telemetry import log

from . import fakes
from .api import fakes as wire
from .extensions import rows_for
from .tooling import patience, turns
from .tooling.api import Api
from .tooling.child import Yaa

DEFAULTS = fakes.DEFAULTS["server"]["limits"]
USER = {"id": "u1", "role": "user", "content": "hello"}
CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}

# One of everything a session may hold, from which the battery makes its wrong ones.
FULL: dict[str, Any] = {
    "id": "s1",
    "title": "t",
    "start_time": "2026-11-21T05:00:00Z",
    "character": "c",
    "status": "interrupted",
    "version": 1,
    "rev": 3,
    "agent": "default",
    "finish_reason": "awaiting",
    "messages": [
        {"id": "y1", "role": "system", "content": "s"},
        USER,
        {
            "id": "a1",
            "role": "assistant",
            "content": "text",
            "at": 5,
            "reasoning": {"id": "r1", "field": "reasoning_content", "text": "hm", "details": []},
            "tool_calls": [CALL, CALL | {"id": "c2"}],
            "meta": {"model": "m", "usage": {"prompt_tokens": 1}, "finish_reason": "tool_calls"},
        },
        {
            "id": "t1",
            "role": "tool",
            "tool_call_id": "c1",
            "name": "read",
            "content": "r",
            "result": {"status": "ok", "result": 1},
        },
        {"id": "e1", "role": "error", "content": "oops", "code": "internal"},
        {"id": "u2", "role": "user", "content": [{"type": "text", "text": "part"}]},
    ],
    "calls": {
        "c1": {"name": "read", "fingerprint": "sha256:0", "state": "done", "attempt": 1},
        "c2": {"name": "read", "fingerprint": "sha256:0", "state": "asking", "attempt": 0},
    },
    "interrupts": [
        {
            "id": "int-c2",
            "reason": "tool_call",
            "call_id": "c2",
            "message": "?",
            "tool": "read",
            "args": {},
            "response_schema": {"type": "object"},
            "answer": {"status": "resolved", "payload": {"approved": True}},
        }
    ],
    "grants": [{"tool": "read", "decision": "allow"}],
    "context": {"ops": [], "events": []},
    "tools": [{"name": "page", "description": "d", "parameters": {"type": "object"}}],
    "environment": ["a fact"],
    "plan": {},
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2, "calls": 1},
    "run": {"id": "run_0", "message": "u1", "step": 1, "errors": 0, "tokens": 2, "cost_micro": 0,
            "wall_ms": 5, "started_at": 5},
    "ext": {},
    "config": copy.deepcopy(fakes.DEFAULTS["session"]["config"]),
}  # fmt: skip

WRONG: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 10**30, "", "x" * 200, "\x00\r\n", "../../etc/passwd", [], [[]], [None],
    [1], {}, {"": None}, {"id": {}}, [{"id": []}],
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    keys: Any = value if isinstance(value, dict) else ()
    keys = range(len(value)) if isinstance(value, list) else keys
    for key in keys:
        child = value[key]
        yield from places(child, (*path, key))


def replaced(document: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    changed = copy.deepcopy(document)
    parent: Any = changed
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = copy.deepcopy(value)
    return changed


def removed(document: dict[str, Any], path: tuple[Any, ...]) -> dict[str, Any]:
    changed = copy.deepcopy(document)
    parent: Any = changed
    for key in path[:-1]:
        parent = parent[key]
    del parent[path[-1]]
    return changed


class Battery(unittest.TestCase):
    """Every place of a session with every wrong value, through the real intake and a real run."""

    def setUp(self) -> None:
        self.log = io.StringIO()
        log.setup("error", stream=self.log)
        self.addCleanup(log.setup, "error", stream=io.StringIO())
        toolbox = fakes.CountingToolbox({"read": "read", "write": "write"}, {})
        agent = fakes.agent(fakes.ScriptedModel(lambda _: [("text", "Hi")]), toolbox)
        sessions = Sessions(Runs(agent, DEFAULTS), streams=False)
        table = {("POST", "/session"): Route(sessions.post)}
        self.router = Router(table, sessions.post, Keys([], required=False))

    def check(self, document: Any) -> wire.Call:
        """Posts it; whatever it is, the answer is 200 or a 4xx that says where."""
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        call = wire.Call("POST", "/session", headers, json.dumps(document).encode())
        began = time.process_time()
        wire.run_async(self.router(call.exchange))
        self.assertLess(time.process_time() - began, 1.0)
        said = self.log.getvalue()
        self.log.truncate(self.log.seek(0))
        self.assertEqual(said, "")  # where a run that broke would leave its trace
        self.assertIn(call.status // 100, (2, 4), call.answer)
        if call.status == 422:
            self.assertTrue(call.json["errors"], call.json)
            for error in call.json["errors"]:
                self.assertRegex(error["pointer"], r"^(/|$)")
        return call

    def test_the_full_session_itself_is_good(self) -> None:
        call = self.check(FULL)
        self.assertEqual((call.status, call.json["status"]), (200, "completed"))

    def test_wrong_values_everywhere(self) -> None:
        refused = 0
        for path in turns.share(places(FULL), 3):
            for value in WRONG:
                with self.subTest(path="/".join(map(str, path)), value=str(value)[:30]):
                    refused += self.check(replaced(FULL, path, value)).status == 422
        self.assertGreater(refused, 500 if turns.whole() else 150)

    def test_each_part_missing(self) -> None:
        for path in places(FULL):
            with self.subTest(path="/".join(map(str, path))):
                self.check(removed(FULL, path))

    def test_documents_of_all_sorts(self) -> None:
        huge = [USER | {"id": f"u{n}", "content": "x" * 100} for n in range(5_000)]
        documents: tuple[dict[str, Any], ...] = (
            {},
            {"messages": []},
            {"messages": [USER]},
            {"messages": [{"role": "user", "content": ""}]},
            {"messages": [USER, USER]},
            {"messages": [{"id": "t", "role": "tool", "tool_call_id": "none", "content": "x"}]},
            {"messages": huge},
            {"id": "../../etc/passwd", "messages": [USER]},
            {"id": 'a/b\\c:d*?"<>|', "messages": [USER]},
            {"id": "‮\U0001f600", "messages": [USER]},
            {"messages": [USER], "unknown": {"kept": [1, 2, {"deep": None}]}},
            {"messages": [USER], "__proto__": {"polluted": True}, "constructor": 1},
        )
        for document in documents:
            with self.subTest(document=str(document)[:60]):
                self.check(document)
        kept = self.check({"messages": [USER], "unknown": {"kept": [1]}}).json
        self.assertEqual(kept["unknown"], {"kept": [1]})

    def test_what_must_be_refused_and_where(self) -> None:
        for path, value, pointer in (
            (("id",), 5, "/id"),
            (("id",), "x" * 129, "/id"),
            (("messages",), {}, "/messages"),
            (("messages", 1), "text", "/messages/1"),
            (("messages", 1, "role"), "wizard", "/messages/1/role"),
            (("messages", 2, "tool_calls"), {}, "/messages/2/tool_calls"),
            (("calls",), [], "/calls"),
            (("interrupts",), {}, "/interrupts"),
            (("config",), [], "/config"),
            (("interrupts", 0, "answer", "status"), "maybe", "/interrupts/0/answer"),
        ):
            with self.subTest(path=path):
                call = self.check(replaced(FULL, path, value))
                self.assertEqual(call.status, 422)
                found = [error["pointer"] for error in call.json["errors"]]
                self.assertTrue(any(each.startswith(pointer) for each in found), found)
        newer = self.check(replaced(FULL, ("version",), 99))
        self.assertEqual((newer.status, newer.json["code"]), (422, "session_version"))


class OverSockets(unittest.TestCase):
    """One server process for all of these, with a key of its provider that must stay inside."""

    CANARY = "canary-Zq9-provider-key"
    yaa: ClassVar[Yaa]
    host: ClassVar[str]
    port: ClassVar[int]

    @classmethod
    def setUpClass(cls) -> None:
        provider = {"api_url": "http://127.0.0.1:9/v1", "model_name": "m"}
        provider["api_key"] = cls.CANARY
        server = {
            "discover": False,
            "providers": {"dead": provider},
            "limits": {"max_request_size": 1_000_000},
            "log": {"level": "debug", "model_deltas": True},
        }
        cls.yaa = cls.enterClassContext(Yaa({"server": server}))
        place = urlsplit(cls.yaa.url)
        cls.host, cls.port = place.hostname or "", place.port or 0

    def send(
        self, body: bytes, headers: dict[str, str] | None = None, method: str = "POST"
    ) -> tuple[int, dict[str, str], bytes, float]:
        """(status, headers, body, seconds)"""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=patience.seconds(20))
        asked = {
            "Content-Type": "application/json",
            "Authorization": f"Bearer {self.yaa.key}",
            "Accept": "application/json",
        }
        began = time.perf_counter()
        try:
            connection.request(method, "/session", body, asked | (headers or {}))
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return answer.status, found, answer.read(), time.perf_counter() - began
        finally:
            connection.close()

    def test_hostile_bodies(self) -> None:
        big = b'{"messages":[{"role":"user","content":"' + b"x" * 50_000_000 + b'"}]}'
        seen: set[str] = set()
        for body, headers, status in (
            (b"", {}, 400),
            (b"null", {}, 422),
            (b"[" * 100_000, {}, 400),
            (b'{"a":' * 100_000, {}, 400),
            (b'{"messages": NaN}', {}, 400),
            (b'{"id":"a","id":"b"}', {}, 400),
            (b'{"id":"\xff\xfe"}', {}, 400),
            (b'{"id":"\\udc00"}', {}, 400),
            (b'{"n":' + b"9" * 10_000 + b"}", {}, 400),
            (big, {}, 413),
            (gzip.compress(big), {"Content-Encoding": "gzip"}, 413),
            (b"not gzip", {"Content-Encoding": "gzip"}, 400),
            (b"{}", {"Content-Encoding": "br"}, 415),
            (b"{}", {"Content-Type": "text/plain"}, 415),
            (b"{}", {"Accept": "image/png"}, 406),
            (b"{}", {"Authorization": "Bearer wrong"}, 401),
            (big, {"Authorization": "Bearer wrong"}, 401),
            (b"{}", {"Host": "evil.example"}, 403),
            (b'{"messages":[{"role":"wizard","content":""}]}', {}, 422),
        ):
            with self.subTest(body=body[:30], headers=headers):
                found, answered, answer, seconds = self.send(body, headers)
                self.assertEqual(found, status, answer[:200])
                self.assertLess(seconds, 1.0)
                self.assertEqual(answered["access-control-allow-origin"], "*")
                self.assertEqual(json.loads(answer)["status"], status)
                if "Host" not in headers:  # who is refused before anybody looks gets no number
                    self.assertNotIn(answered["x-request-id"], seen)
                    seen.add(answered["x-request-id"])
                for word in (b"Traceback", b"/server/", str(self.yaa.home).encode()):
                    self.assertNotIn(word, answer)

    def test_a_preflight_from_a_page_on_disk(self) -> None:
        status, headers, body, _ = self.send(b"", {"Origin": "null"}, "OPTIONS")
        self.assertEqual((status, body), (204, b""))
        self.assertIn("authorization", headers["access-control-allow-headers"])

    def test_a_run_and_its_stream_agree(self) -> None:
        api = Api(self.yaa.url, self.yaa.key)
        demo = {"config": {"llm_api": {"provider": {"name": "demo"}}}}
        wanted = {"messages": [{"role": "user", "content": "calc 6*7"}]} | demo
        whole = api.run(wanted)
        self.assertEqual(whole["status"], "completed")
        with api.stream(wanted) as stream:
            events = list(stream.events())
        self.assertEqual(events[-1]["type"], "RUN_FINISHED")
        self.assertEqual(events[-1]["result"]["status"], "completed")

    def test_a_delta_is_what_the_run_added(self) -> None:
        """A9: with it, who sent the session has what the whole reply would have held."""
        api = Api(self.yaa.url, self.yaa.key)
        demo = {"config": {"llm_api": {"provider": {"name": "demo"}}}}
        asked = api.run({"messages": [{"role": "user", "content": "ask"}]} | demo)
        (waiting,) = asked["interrupts"]
        answer = {"status": "resolved", "payload": "Tea"}
        for name, news in (
            ("answered", {"interrupts": [waiting | {"answer": answer}]}),
            (
                "overtaken",
                {"messages": [*asked["messages"], {"role": "user", "content": "calc 6*7"}]},
            ),
        ):
            with self.subTest(name):
                sent = copy.deepcopy(asked | news)
                whole = api.run(sent)
                there = {message.get("id") for message in sent["messages"]} | {
                    message["id"] for message in whole["messages"] if message["role"] == "user"
                }
                new = [each for each in whole["messages"] if each["id"] not in there]
                sent["config"]["yaa"]["reply"] = "delta"
                reply = api.run(sent)
                self.assertEqual(new[0]["role"], "tool")
                for said, told in zip(new, reply["messages"], strict=True):
                    self.assertEqual(said["role"], told["role"])
                    self.assertEqual(said["content"], told["content"])
                calls = whole["usage"]["calls"] - asked["usage"]["calls"]
                self.assertEqual(reply["usage"]["calls"], calls)

    def test_a_model_that_cannot_be_reached_is_no_error_of_the_request(self) -> None:
        once = {"config": {"llm_api": {"retry": {"times": 0}}}}
        wanted = {"messages": [{"role": "user", "content": "hi"}]} | once
        found = Api(self.yaa.url, self.yaa.key).run(wanted)
        self.assertEqual(found["status"], "failed")
        unknown = {"messages": [USER], "config": {"llm_api": {"provider": {"name": "nope"}}}}
        status, body = Api(self.yaa.url, self.yaa.key).request("POST", "/session", unknown)
        self.assertEqual((status, body["code"]), (422, "provider_unknown"))

    def test_the_canary_stays_inside(self) -> None:
        api = Api(self.yaa.url, self.yaa.key)
        once = {"config": {"llm_api": {"retry": {"times": 0}}}}
        wanted: dict[str, Any] = {"messages": [{"role": "user", "content": "hi"}]} | once
        seen = json.dumps(api.request("GET", "/info")[1])
        seen += json.dumps(api.run(wanted))
        with api.stream(wanted) as stream:
            list(stream.events())
            seen += stream.text
        own = {"name": "dead", "api_url": "http://127.0.0.1:9/v1"}
        stolen = wanted | {"config": {"llm_api": {"provider": own}}}
        status, answer = api.request("POST", "/session", stolen)
        self.assertEqual(status, 422)
        seen += json.dumps(answer)
        self.assertNotIn(self.CANARY, seen)
        assert self.yaa.child is not None
        self.assertIn("yaa.access", self.yaa.child.output)
        self.assertNotIn(self.CANARY, self.yaa.child.output)
        self.assertNotIn(self.yaa.key, self.yaa.child.output.replace(self.yaa.link, ""))


REPEATED = idempotency.of_process.handle


class Composition(unittest.IsolatedAsyncioTestCase):
    async def test_what_it_is_made_of(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder) / "home"
            config = load(home, None, {}, {"server.discover": False})
            async with App(config, {}) as app:
                self.assertTrue(app.facts("")["extensions"])
                self.assertTrue((home / "claims").is_dir())
                router = routes(app, Keys(["k"]))
                for method, path, status in (
                    ("GET", "/health", 200),
                    ("GET", "/info", 401),
                    ("POST", "/session", 401),
                    ("POST", "/", 401),
                    ("DELETE", "/", 405),
                    ("GET", "/nothing", 404),
                ):
                    with self.subTest(method=method, path=path):
                        call = wire.Call(method, path)
                        await router(call.exchange)
                        self.assertEqual(call.status, status)

    async def test_no_default_makes_sessions_that_would_be_refused(self) -> None:
        for given, said in (
            ({"yaa": {"mode": "quick"}}, "session.config.yaa.mode: expected one of free, plain"),
            ({"yaa": {"output_schema": {"type": "objct"}}}, "yaa.output_schema: expected a JSON S"),
            ({"context": {"strategies": ["x"]}}, "session.config.context.strategies: expected an"),
            ({"context": {"trigger_ratio": 5}}, "trigger_ratio: expected a number from 0 to 1"),
            ({"tool": {"shell": {"auto_approve": "x"}}}, "tool.shell.auto_approve: expected true"),
        ):
            with self.subTest(given=given), tempfile.TemporaryDirectory() as folder:
                (Path(folder) / "config.json").write_text(
                    json.dumps({"session": {"config": given}})
                )
                with self.assertRaises(ConfigError) as caught:
                    App(load(Path(folder), None, {}, {}), {})
                self.assertIn(said, caught.exception.problems[0])

    async def test_every_address_but_these_wants_a_key(self) -> None:
        """All there are, whatever comes to them; the others are files of the page."""
        free = {("GET", "/"), ("GET", "/health"), ("POST", "/sign-in")}.union(*rows_for("OPEN"))
        with tempfile.TemporaryDirectory() as folder:
            config = load(Path(folder) / "home", None, {}, {"server.discover": False})
            live: Any = object()  # of which the table needs nothing
            router = routes(App(config, {}, live=live), Keys(["k"]))
            asked = {(method, path) for path, at in router._routes.items() for method in at}
            self.assertGreater(len(asked), 10)
            self.assertLess(free, asked)
            for method, path in sorted(asked):
                for headers in ({}, {"Authorization": "Bearer x"}):
                    with self.subTest(method=method, path=path, headers=headers):
                        place = re.sub(r"{\w+}", "default", path)
                        call = wire.Call(method, place, headers)
                        await router(call.exchange)
                        self.assertEqual(call.status == 401, (method, path) not in free)

    async def test_a_program_that_embeds_yaa_has_no_settings(self) -> None:
        """What an owner's key could change belongs to that program."""
        with tempfile.TemporaryDirectory() as folder:
            config = load(Path(folder) / "home", None, {}, {"server.discover": False})
            router = routes(App(config, {}), Keys(["k"]))
        self.assertEqual([path for path in router._routes if path.startswith("/settings")], [])

    async def test_every_change_may_be_repeated_but_these(self) -> None:
        """What runs something tells its repetition in its own way; the others look or compute."""
        others = {
            *("/", "/session", "/session/events", "/session/stop", "/files"),
        }.union(*(row for name in ("PASSED_ON", "LOOKS", "ONCE") for row in rows_for(name)))
        with tempfile.TemporaryDirectory() as folder:
            config = load(Path(folder) / "home", None, {}, {"server.discover": False})
            live: Any = object()  # of which the table needs nothing
            router = routes(App(config, {}, live=live), Keys(["k"]))
        plain = {
            path
            for path, at in router._routes.items()
            for method, route in at.items()
            if method not in READS
            and route.refusal is Problem.body  # not of another protocol
            and getattr(route.handler, "func", None) != REPEATED
        }
        self.assertEqual(plain, others)

    async def test_what_the_configuration_says_is_heeded(self) -> None:
        flags = {
            "server.discover": False,
            "server.limits.rate_limit": "3/1h",
            "server.cors_origins": ["https://mine.example"],
            "session.config.yaa.stream": False,
        }
        headers = {"Authorization": "Bearer k", "Content-Type": "application/json"}
        with tempfile.TemporaryDirectory() as folder:
            async with App(load(Path(folder), None, {}, flags), {}) as app:
                router = routes(app, Keys(["k"]))
                body = json.dumps({"messages": [{**USER, "content": "time"}]}).encode()
                asked = [wire.Call("POST", "/session", headers, body)]
                mine, other = "https://mine.example", "https://other.example"
                for origin in (mine, other, mine):
                    asked.append(wire.Call("GET", "/info", headers | {"Origin": origin}))
                for call in asked:
                    await router(call.exchange)
        self.assertEqual([call.status for call in asked], [200, 200, 200, 429])
        self.assertIn("application/json", asked[0].headers["content-type"])
        allowed = [call.headers.get("access-control-allow-origin") for call in asked]
        self.assertEqual(allowed, [None, mine, None, mine])

    async def test_a_changed_configuration_does_not_begin_to_count_anew(self) -> None:
        headers = {"Authorization": "Bearer k"}
        with tempfile.TemporaryDirectory() as folder:
            flags = {"server.discover": False, "server.limits.rate_limit": "2/1h"}
            first = App(load(Path(folder), None, {}, flags), {})
            router = routes(first, Keys(["k"]))
            release = first.accounts.hold("", "runs", "s")
            second = App(load(Path(folder), None, {}, flags), {}, former=first)
            self.assertEqual(second.accounts.pools["runs"].total, 1)
            release()
            again = routes(second, Keys(["k"]))
            first._opened.set()
            second._opened.set()
            asked = [wire.Call("GET", "/info", headers) for _ in range(4)]
            for call, by in zip(asked, (router, again, again, router), strict=True):
                await by(call.exchange)
        self.assertEqual([call.status for call in asked], [200, 200, 429, 429])

    async def test_people_read_what_each_tool_is_for(self) -> None:
        page = (Path(__file__).parents[1] / "client/js/i18n/settings.js").read_text()
        settings = re.findall(r"'settings.toolAbout': .*?other \{\}\}'", page, re.DOTALL)
        self.assertEqual(len(settings), 2, "in both languages")
        with tempfile.TemporaryDirectory() as folder:
            async with App(load(Path(folder), None, {}, {"server.discover": False}), {}) as app:
                names = [tool["name"] for tool in app.facts("")["tools"]]
                self.assertEqual(app.agent_problems(), [])
        for words in settings:
            self.assertEqual([n for n in names if f"{n} {{" not in words], [])

    async def test_while_it_opens_health_answers_and_the_rest_waits(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            config = load(Path(folder), None, {}, {"server.discover": False})
            app = App(config, {})
            router = routes(app, Keys(["k"]))
            health, page, stranger = (
                wire.Call("GET", "/health"),
                wire.Call("GET", "/"),
                wire.Call("GET", "/info"),
            )
            for call in (health, page, stranger):
                await router(call.exchange)
            self.assertEqual((health.status, health.json["status"]), (200, "starting"))
            self.assertEqual((page.status, stranger.status), (200, 401))
            info = wire.Call("GET", "/info", {"Authorization": "Bearer k"})
            waits = asyncio.create_task(router(info.exchange))
            await asyncio.sleep(0)
            self.assertFalse(waits.done())
            with self.assertRaises(Problem) as late:
                await app.wait_until_open(0.01)
            self.assertEqual(
                (late.exception.status, late.exception.headers["Retry-After"]), (503, "5")
            )
            try:
                await app.open()
                await waits
            finally:
                await app.close()
            self.assertEqual(info.status, 200)
            self.assertIn(info.json["sandbox"]["tier"], TIERS)
            self.assertEqual(
                info.json["sandbox"], app.toolbox.sandbox(), "and it is what was found"
            )

    async def test_what_was_proven_is_not_proven_again(self) -> None:
        """A tier that this machine may well exceed: it would be found if it were looked for."""
        proof = {"tier": "none", "network": "full", "missing": [], "tried": {"A": "said so"}}
        with tempfile.TemporaryDirectory() as folder:
            config = load(Path(folder), None, {}, {"server.discover": False})
            async with App(config, {}, proof=proof) as app:
                found = app.toolbox.sandbox()
                self.assertEqual((found["tier"], found["tried"]), ("none", {"A": "said so"}))
                self.assertIn("shell", found["withheld"])


if __name__ == "__main__":
    unittest.main()
