"""`/v1` over real sockets: statuses, heads and bytes, what is withheld, and who hangs up."""

from __future__ import annotations

import http.client
import json
import threading
import unittest
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, ClassVar
from urllib.parse import urlsplit

from server.api.auth import Key
from server.config import Config
from server.errors import Problem
from server.extensions.openai import routes
from server.extensions.openai.routes import place
from server.session.schema import MAX_SESSION_ID
from server.tools.execution_claims import Locks

from ...chaos import processes
from ...fakes import DEFAULTS, NOWHERE
from ...protocols.served import Served
from ...tooling import patience
from ...tooling.child import Yaa
from ..hosts import host_of

Json = dict[str, Any]
USER = {"role": "user", "content": "hi"}
ARGUMENTS = {"ask_user": '{"question": "?"}', "shell": '{"command": "ls"}'}
GATE = threading.Event()
WEATHER = {"type": "function", "function": {"name": "weather"}}


def script(body: Json) -> list[tuple[Any, ...]]:
    """By the first word of what the user said last."""
    said = [each["content"] for each in body["messages"] if each["role"] == "user"][-1]
    order, _, rest = said.partition(" ") if isinstance(said, str) else ("parts", "", "")
    again = body["messages"][-1]["role"] == "tool"
    if order == "use":
        calls = [("call", each, ARGUMENTS.get(each, "{}")) for each in rest.split()]
        return [("text", "done")] if again else calls
    if order == "finish":
        return [("call", "finish", '{"reason": "all done"}')]
    if order == "half":
        return [("text", "half"), ("wait", GATE)]
    if order == "refuse":
        return [("status", int(rest))]
    if order == "recall":
        return [("text", json.dumps(body["messages"][1:]))]
    if order == "break":
        return [("status", 500)] if again else [("call", "count", "{}")]
    if order == "late":
        return [("wait", GATE), ("text", "late")] if again else [("call", "count", "{}")]
    if order == "cut":
        return [("text", "half"), ("cut",)]
    if order == "endless":
        return [("text", "x" * 200_000)]
    if order == "long":
        return [("text", "a"), ("finish", "length")]
    if order == "filtered":
        return [("text", "a"), ("finish", "content_filter")]
    return [("think", "hm"), ("text", "Hé")]


def setUpModule() -> None:
    Case.served = unittest.enterModuleContext(Served(script))


class Case(unittest.TestCase):
    served: ClassVar[Served]  # one server for all of them

    def setUp(self) -> None:
        self.served.provider.requests.clear()

    def send(
        self, path: str, body: Json | bytes | None = None, **more: Any
    ) -> tuple[int, dict[str, str], bytes]:
        """(status, headers, body)"""
        connection = self.connect()
        try:
            self.ask(connection, path, body, **more)
            answer = connection.getresponse()
            headers = {name.lower(): value for name, value in answer.getheaders()}
            return answer.status, headers, answer.read()
        finally:
            connection.close()

    def connect(self) -> http.client.HTTPConnection:
        place = urlsplit(self.served.url)
        return http.client.HTTPConnection(
            place.hostname or "", place.port, timeout=patience.seconds(30)
        )

    def ask(
        self,
        connection: http.client.HTTPConnection,
        path: str,
        body: Json | bytes | None,
        *,
        key: str = "",
        method: str = "",
        more: dict[str, str] | None = None,
    ) -> None:
        headers = {"Authorization": f"Bearer {key or self.served.key}"}
        headers |= {"Content-Type": "application/json", **(more or {})}
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        connection.request(method or ("POST" if body is not None else "GET"), path, data, headers)

    def chat(self, said: str, agent: str = "counter", **more: Any) -> tuple[int, Json]:
        body = {"model": agent, "messages": [{"role": "user", "content": said}], **more}
        status, headers, data = self.send("/v1/chat/completions", body)
        self.assertTrue(headers["x-request-id"])
        found: Json = json.loads(data)
        return status, found


class Places(unittest.TestCase):
    def test_what_is_kept_of_a_key_is_nobody_elses(self) -> None:
        """Nor a session's, whose id anybody may choose."""
        owners = ("", "ann", "bob", "openai/ann", "key-0123456789abcdef", "\ud800", "x" * 300)
        places = {place(owner) for owner in owners}
        self.assertEqual(len(places), len(owners))
        self.assertGreater(min(map(len, places)), MAX_SESSION_ID)


class Browsers(Case):
    def test_pages_of_other_origins_may_send_what_the_sdks_send(self) -> None:
        origin = {"Origin": "https://shop.example"}
        _, headers, _ = self.send("/v1/models", method="OPTIONS", more=origin)
        allowed = headers["access-control-allow-headers"].split(", ")
        names = {"openai-organization", "x-stainless-retry-count", "x-stainless-os"}
        self.assertLessEqual(names | {"authorization"}, {*allowed})


class Models(Case):
    def test_agents_are_models(self) -> None:
        status, _, body = self.send("/v1/models")
        found = json.loads(body)
        self.assertEqual((status, found["object"]), (200, "list"))
        names = [each["id"] for each in found["data"]]
        self.assertEqual(names[0], "default")
        self.assertLessEqual({"counter", "asker", "coder"}, set(names))
        for model in found["data"]:
            self.assertEqual((model["object"], model["owned_by"]), ("model", "yaa"))
            self.assertGreater(model["created"], 1_600_000_000)
            status, _, one = self.send(f"/v1/models/{model['id']}")
            self.assertEqual((status, json.loads(one)), (200, model))

    def test_one_that_is_not_there(self) -> None:
        for path, body in (
            ("/v1/models/gpt%204o", None),
            ("/v1/chat/completions", {"model": "gpt 4o", "messages": [USER]}),
            ("/v1/responses", {"model": "gpt 4o", "input": "hi"}),
        ):
            with self.subTest(path):
                status, _, answer = self.send(path, body)
                error = json.loads(answer)["error"]
                self.assertEqual((status, error["code"]), (404, "model_not_found"))
                self.assertEqual(
                    (error["param"], error["type"]), ("model", "invalid_request_error")
                )
                self.assertIn("counter", error["message"])


class Bytes(Case):
    def test_a_stream(self) -> None:
        body = {"model": "counter", "messages": [USER], "stream": True}
        status, headers, data = self.send("/v1/chat/completions", body)
        self.assertEqual((status, headers["x-should-retry"]), (200, "false"))
        self.assertEqual(headers["content-type"], "text/event-stream; charset=utf-8")
        frames = data.decode().split("\n\n")
        self.assertEqual(frames[-2:], ["data: [DONE]", ""])
        chunks = [json.loads(each.removeprefix("data: ")) for each in frames[:-2]]
        self.assertTrue(all(each.startswith("data: {") for each in frames[:-2]))
        self.assertEqual(len({each["id"] for each in chunks}), 1)
        self.assertTrue(chunks[0]["id"].startswith("chatcmpl-"))
        deltas = [each["choices"][0]["delta"] for each in chunks]
        wanted: list[Json] = [{"role": "assistant", "content": ""}]
        wanted += [{"reasoning_content": "hm", "reasoning": "hm"}]
        self.assertEqual(deltas, [*wanted, {"content": "H"}, {"content": "é"}, {}])

    def test_a_whole_answer(self) -> None:
        _, found = self.chat("hi")
        self.assertEqual(
            found["usage"],
            {
                "prompt_tokens": 11,
                "completion_tokens": 7,
                "total_tokens": 18,
                "prompt_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 4},
                "completion_tokens_details": {"reasoning_tokens": 2},
            },
        )
        self.assertEqual(found["system_fingerprint"][:4], "yaa-")

    def test_reasons(self) -> None:
        for said, reason in (("hi", "stop"), ("long", "length"), ("filtered", "content_filter")):
            with self.subTest(said):
                _, found = self.chat(said)
                self.assertEqual(found["choices"][0]["finish_reason"], reason)

    def test_words_that_a_model_ends_with_are_its_answer(self) -> None:
        _, found = self.chat("finish", "strict")
        choice = found["choices"][0]
        self.assertEqual(
            (choice["message"]["content"], choice["finish_reason"]), ("all done", "stop")
        )

    def test_responses(self) -> None:
        body = {"model": "counter", "input": "hi", "stream": True}
        status, headers, data = self.send("/v1/responses", body)
        self.assertEqual((status, headers["x-should-retry"]), (200, "false"))
        for frame in data.decode().split("\n\n")[:-1]:
            name, event = frame.split("\n")
            self.assertEqual(json.loads(event[6:])["type"], name.removeprefix("event: "))
        status, _, whole = self.send("/v1/responses", {"model": "counter", "input": "hi"})
        found = json.loads(whole)
        self.assertEqual((status, found["status"], found["store"]), (200, "completed", True))
        details = {"cached_tokens": 3, "cache_write_tokens": 4}
        self.assertEqual(found["usage"]["input_tokens_details"], details)

    def test_what_the_model_is_asked(self) -> None:
        self.chat(
            "hi",
            temperature=0.25,
            seed=7,
            stop=["x"],
            max_tokens=5,
            reasoning_effort="low",
            user="u",
            metadata={"a": "b"},
        )
        (asked,) = self.served.provider.requests
        wanted = {"temperature": 0.25, "seed": 7, "stop": ["x"], "max_tokens": 5}
        self.assertEqual({name: asked.get(name) for name in wanted}, wanted)
        self.assertEqual(asked["reasoning_effort"], "low")
        self.assertNotIn("user", asked)


class Withheld(Case):
    """Nobody can be asked here."""

    def offered(self) -> set[str]:
        tools = self.served.provider.requests[0].get("tools", [])
        return {each["function"]["name"] for each in tools}

    def test_what_would_ask_is_not_offered(self) -> None:
        for agent, there, absent in (
            ("counter", {"count", "look"}, {"ask_user"}),
            ("asker", {"look"}, {"count", "ask_user"}),
            ("default", {"look", "calculator"}, {"count", "shell", "write_file", "ask_user"}),
        ):
            with self.subTest(agent):
                self.served.provider.requests.clear()
                self.chat("hi", agent)
                self.assertLessEqual(there, self.offered())
                self.assertEqual(absent & self.offered(), set())

    def test_a_model_that_calls_it_all_the_same_is_denied(self) -> None:
        before = self.served.counted()
        for tool in ("count", "ask_user", "shell"):
            with self.subTest(tool):
                status, found = self.chat(f"use {tool}", "asker")
                self.assertEqual((status, found["choices"][0]["finish_reason"]), (200, "stop"))
                told = self.served.provider.requests[-1]["messages"][-1]["content"]
                self.assertIn("Denied", told)
        self.assertEqual(self.served.counted(), before)

    def test_what_the_agent_lets_run_runs(self) -> None:
        before = self.served.counted()
        _, found = self.chat("use count")
        self.assertEqual(found["choices"][0]["message"]["content"], "done")
        self.assertEqual(self.served.counted(), before + 1)

    def test_info_says_so(self) -> None:
        _, _, body = self.send("/info")
        withheld = json.loads(body)["fronts"]["openai"]["withheld"]
        self.assertLessEqual({"count", "shell", "ask_user"}, set(withheld))
        self.assertNotIn("look", withheld)

    def test_a_required_call_is_one_of_the_callers(self) -> None:
        self.chat("use weather", tools=[WEATHER], tool_choice="required")
        (asked,) = self.served.provider.requests
        self.assertEqual((self.offered(), asked["tool_choice"]), ({"weather"}, "required"))


class Stopping(Case):
    def test_a_stream_of_a_server_that_stops_does_not_look_complete(self) -> None:
        body = {"model": "counter", "stream": True}
        body["messages"] = [{"role": "user", "content": "half"}]
        with Served(script) as own:
            place = urlsplit(own.url)
            connection = http.client.HTTPConnection(
                place.hostname or "", place.port, timeout=patience.seconds(30)
            )
            headers = {"Authorization": f"Bearer {own.key}", "Content-Type": "application/json"}
            connection.request("POST", "/v1/chat/completions", json.dumps(body), headers)
            answer = connection.getresponse()
            said = b""
            while b'"f"' not in said:  # the last letter before the model waits
                said = answer.readline()
            assert own.yaa.child is not None
            own.yaa.child.process.terminate()
            *_, error, done, _ = answer.read().decode().split("\n\n")
            GATE.set()
            connection.close()
        self.assertEqual(json.loads(error[6:])["error"]["code"], "overloaded")
        self.assertEqual(done, "data: [DONE]")


class Twice(Case):
    """What comes a second time. Which words are the same request is in fronts/test_again.py."""

    def test_a_caller_that_hung_up_and_comes_again(self) -> None:
        """Its run was ended behind the call; it goes on from there, told from its beginning."""
        for path, more in (
            ("/v1/chat/completions", {"messages": [{"role": "user", "content": "late"}]}),
            ("/v1/responses", {"input": "late"}),
        ):
            with self.subTest(path):
                GATE.clear()
                self.setUp()
                body, before = {"model": "counter", **more}, self.served.counted()
                connection = self.connect()
                self.ask(connection, path, body, more={"X-Stainless-Retry-Count": "0"})
                self.until(lambda: len(self.served.provider.requests) == 2)
                connection.close()
                self.until(lambda: b"\nyaa_runs 0\n" in self.send("/metrics")[2])
                GATE.set()
                again = {"X-Stainless-Retry-Count": "1"}
                status, headers, answer = self.send(path, body, more=again)
                self.assertEqual((status, headers["x-should-retry"]), (200, "false"))
                self.assertIn(b"late", answer)
                self.assertEqual(self.served.counted(), before + 1)
                self.send(path, body, more=again)
                self.assertEqual(self.served.counted(), before + 1, "who read it is not known")
                self.send(path, body, more={"X-Stainless-Retry-Count": "0"})
                self.assertEqual(self.served.counted(), before + 2, "a new request")

    def test_by_name(self) -> None:
        """The same answer for as long as it is kept, whether or not a tool ran; of one key."""
        GATE.set()
        for said, ran in (("late", 1), ("hi", 0)):
            body: Json = {"model": "counter", "messages": [{"role": "user", "content": said}]}
            before, found = self.served.counted(), []
            for streams in (False, False, True):
                name = {"Idempotency-Key": f"ü {streams}"}
                answer = self.send("/v1/chat/completions", body | {"stream": streams}, more=name)
                found.append(answer[2])
                if not streams:
                    self.assertEqual(self.served.counted(), before + ran)
            one, two = (json.loads(each)["choices"][0]["message"] for each in found[:2])
            self.assertEqual(one, two)
            self.assertEqual(len(self.served.provider.requests), 2 * (1 + ran))
            self.served.provider.requests.clear()

    def until(self, true: Callable[[], bool]) -> None:
        self.assertTrue(processes.until(true, 30), "it never came")


class Named(Case):
    """Earlier answers that a request names instead of sending them
    (extensions/openai/responses.py)."""

    def respond(self, **more: Any) -> tuple[int, Json]:
        status, _, body = self.send("/v1/responses", {"model": "counter", **more})
        found: Json = json.loads(body)
        return status, found

    def said(self, **more: Any) -> list[str]:
        """What the model was asked: the words of the conversation."""
        status, found = self.respond(**more)
        self.assertEqual(status, 200, found)
        asked = json.loads(found["output"][-1]["content"][0]["text"])
        return [each["content"] for each in asked]

    def test_an_answer_whole_or_streamed(self) -> None:
        for streams in (False, True):
            with self.subTest(streams=streams):
                body = {"model": "counter", "input": "hi", "stream": streams}
                _, _, data = self.send("/v1/responses", body)
                last = data.decode().strip().rpartition("data: ")[2]
                response = json.loads(last)["response"] if streams else json.loads(data)
                more = {"previous_response_id": response["id"]}
                self.assertEqual(self.said(input="recall", **more), ["hi", "Hé", "recall"])

    def test_its_items(self) -> None:
        _, first = self.respond(input="hi")
        named = [{"type": "item_reference", "id": item["id"]} for item in first["output"]]
        given = [USER, *named, {"role": "user", "content": "recall"}]
        self.assertEqual(self.said(input=given), ["hi", "Hé", "recall"])

    def test_a_long_conversation_is_sent_once(self) -> None:
        """Each turn names the last one only."""
        _, found = self.respond(input="hi")
        for _ in range(3):
            _, found = self.respond(input="hi", previous_response_id=found["id"])
        said = self.said(input="recall", previous_response_id=found["id"])
        self.assertEqual(said, ["hi", "Hé"] * 4 + ["recall"])

    def test_it_is_sent_once_more_and_deleted(self) -> None:
        _, first = self.respond(input="hi")
        path = f"/v1/responses/{first['id']}"
        status, _, data = self.send(path)
        found = json.loads(data)
        self.assertEqual(status, 200)
        self.assertEqual(found, {key: value for key, value in first.items() if key != "yaa"})
        status, _, data = self.send(path, method="DELETE")
        told = {"id": first["id"], "object": "response", "deleted": True}
        self.assertEqual((status, json.loads(data)), (200, told))
        for method in ("GET", "DELETE"):
            for name in (first["id"], "resp_none", "..%2Fx"):
                status, _, data = self.send(f"/v1/responses/{name}", method=method)
                self.assertEqual(status, 404, data)
                self.assertIn("is not kept here", json.loads(data)["error"]["message"])
        status, _ = self.respond(input="x", previous_response_id=first["id"])
        self.assertEqual(status, 400)

    def test_another_process_of_the_host_has_it_too(self) -> None:
        _, first = self.respond(input="hi")
        with Yaa(self.served.config, home=self.served.home) as other:
            place, self.served.url = self.served.url, f"{other.url}/v1"
            try:
                said = self.said(input="recall", previous_response_id=first["id"])
            finally:
                self.served.url = place
        self.assertEqual(said, ["hi", "Hé", "recall"])

    def test_what_was_not_to_be_kept(self) -> None:
        _, first = self.respond(input="hi", store=False)
        self.assertFalse(first["store"])
        status, found = self.respond(input="x", previous_response_id=first["id"])
        self.assertEqual((status, found["error"]["param"]), (400, "previous_response_id"))
        self.assertIn("send the whole conversation", found["error"]["message"])
        status, found = self.respond(
            input=[{"type": "item_reference", "id": first["output"][0]["id"]}]
        )
        self.assertEqual((status, found["error"]["param"]), (400, "input[0]"))

    def test_a_server_that_keeps_nothing(self) -> None:
        with Served(script, {"response_ttl_s": 0}) as own:
            place, Case.served = Case.served, own
            try:
                _, first = self.respond(input="hi")
                status, _ = self.respond(input="x", previous_response_id=first["id"])
            finally:
                Case.served = place
            self.assertEqual((first["store"], status), (False, 400))
            self.assertFalse((own.home / "responses").exists())


class FakeRuns:
    @asynccontextmanager
    async def begin(self, *_: Any) -> AsyncIterator[Any]:
        yield SimpleNamespace(keep_before_calls=lambda keep: None)


class FakeFiles:
    keeps = True

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def fetch(self, owner: str, name: str, _: int = 0) -> None:
        self.asked.append((owner, name))


def made(files: Any) -> routes.OpenAI:
    """The routes, with runs and a toolbox that do nothing."""
    runs: Any = FakeRuns()
    tools: Any = SimpleNamespace(names=list)
    config = Config(DEFAULTS["server"], DEFAULTS["session"], NOWHERE)
    api = routes.OpenAI(host_of(config, toolbox=tools, claims=files, locks=Locks()), runs)
    api._recent = files
    return api


def asks(owner: str, body: bytes = b"{}", **headers: str) -> Any:
    """A request of a person, whose keys share a name."""

    async def whole() -> bytes:
        return body

    request = SimpleNamespace(
        headers={name.replace("_", "-"): value for name, value in headers.items()},
        path="/v1/responses",
    )
    exchange = SimpleNamespace(body=whole)
    return SimpleNamespace(key=Key("name", owner=owner), request=request, exchange=exchange)


class Owners(unittest.IsolatedAsyncioTestCase):
    async def test_what_is_kept_belongs_to_the_owner_of_the_key(self) -> None:
        files = FakeFiles()
        api, names = made(files), set()
        for owner in ("a", "b"):
            files.asked.clear()
            call = asks(owner, idempotency_key="k")
            api._recall(call)("call")
            api._earlier(call)("resp", 1)
            async with api._begin_run(call, {"messages": []}, streams=False):
                pass
            where = [place for place, _ in files.asked]
            self.assertEqual(where, [place(owner), owner, place(owner)])
            names.add(files.asked[-1][1])
        self.assertEqual(len(names), 2, "one repetition for two owners")

    async def test_a_repetition_waits_for_what_it_repeats(self) -> None:
        api = made(FakeFiles())

        async def refused(call: Any, *, streams: bool = False) -> bool:
            try:
                async with api._begin_run(call, {"messages": []}, streams=streams):
                    return False
            except Problem as problem:
                said = problem.code, problem.headers["x-should-retry"]
                self.assertEqual(said, ("run_active", "true"))
                return True

        first, again = (asks("a", x_stainless_retry_count=count) for count in "01")
        async with api._begin_run(first, {"messages": []}, streams=False):
            for call, streams, wanted in (
                (again, False, True),
                (again, True, False),  # SDKs do not repeat a stream that has begun
                (first, False, False),  # the same words are another wish
                (again, False, True),
                (asks("b", x_stainless_retry_count="1"), False, False),
                (asks("a", b"{ }", x_stainless_retry_count="1"), False, False),
                (asks("a"), False, False),
            ):
                self.assertEqual(await refused(call, streams=streams), wanted)
        self.assertFalse(await refused(again), "the first try has ended")


class Errors(Case):
    def test_before_a_run(self) -> None:
        good = {"model": "counter", "messages": [USER]}
        for name, path, body, key, status, code in (
            ("key", "/v1/models", None, "wrong", 401, "invalid_api_key"),
            ("no JSON", "/v1/chat/completions", b"{", "", 400, "bad_json"),
            ("no object", "/v1/chat/completions", b"[]", "", 400, "request_invalid"),
            ("misfit", "/v1/chat/completions", good | {"n": 3}, "", 400, "request_invalid"),
            (
                "stored",
                "/v1/responses",
                {"model": "counter", "input": "x", "background": True},
                "",
                400,
                "request_invalid",
            ),
            ("method", "/v1/models", good, "", 405, "method_not_allowed"),
        ):
            with self.subTest(name):
                found, headers, answer = self.send(path, body, key=key)
                error = json.loads(answer)["error"]
                self.assertEqual((found, error["code"]), (status, code))
                self.assertEqual(set(error), {"message", "type", "param", "code"})
                self.assertTrue(headers["x-request-id"])
        self.assertEqual(self.served.provider.requests, [])

    def test_after_a_tool_ran_nothing_asks_to_be_repeated(self) -> None:
        for path, more in (
            ("/v1/chat/completions", {"messages": [{"role": "user", "content": "break"}]}),
            ("/v1/responses", {"input": "break"}),
        ):
            with self.subTest(path):
                before = self.served.counted()
                status, headers, answer = self.send(path, {"model": "counter", **more})
                self.assertEqual((status, headers["x-should-retry"]), (424, "false"))
                self.assertEqual(json.loads(answer)["error"]["code"], "upstream_error")
                self.assertEqual(self.served.counted(), before + 1)

    def test_what_a_provider_refuses_is_asked_once(self) -> None:
        """The status is one that no client repeats by itself where asking again is in vain."""
        for theirs, ours in (
            (400, 400),
            (401, 424),
            (402, 424),
            (404, 424),
            (413, 400),
            (422, 400),
            (429, 429),
            (500, 502),
            (503, 502),
        ):
            for path, said in (
                ("/v1/chat/completions", {"messages": [{**USER, "content": f"refuse {theirs}"}]}),
                ("/v1/responses", {"input": f"refuse {theirs}"}),
            ):
                with self.subTest(path, theirs=theirs):
                    self.served.provider.requests.clear()
                    status, headers, _ = self.send(path, {"model": "counter", **said})
                    self.assertEqual((status, headers["x-should-retry"]), (ours, "false"))
                    self.assertEqual(len(self.served.provider.requests), 1)

    def test_in_the_middle_of_a_stream(self) -> None:
        body = {"model": "counter", "stream": True}
        body["messages"] = [{"role": "user", "content": "cut"}]
        status, _, data = self.send("/v1/chat/completions", body)
        self.assertEqual(status, 200)
        *_, error, done, _ = data.decode().split("\n\n")
        self.assertEqual(json.loads(error[6:])["error"]["code"], "upstream_truncated")
        self.assertEqual(done, "data: [DONE]")

    def test_hostile_bodies(self) -> None:
        deep = b'{"model":"counter","messages":' + b"[" * 5000
        for body in (deep, b'{"model":"counter","model":"x"}', b'{"model":"\xff"}', b"", b"null"):
            with self.subTest(body[:40]):
                status, _, answer = self.send("/v1/chat/completions", body)
                self.assertEqual(status, 400)
                self.assertTrue(json.loads(answer)["error"]["message"])

    def test_a_caller_that_hangs_up_ends_the_run(self) -> None:
        body = {"model": "counter", "stream": True}
        body["messages"] = [{"role": "user", "content": "endless"}]
        connection = self.connect()
        self.ask(connection, "/v1/chat/completions", body)
        answer = connection.getresponse()
        self.assertTrue(answer.readline())
        answer.close()
        connection.close()
        for _ in range(2000):
            _, _, numbers = self.send("/metrics")
            if b"\nyaa_runs 0" in numbers:
                return
        self.fail("the run went on for nobody")

    def test_two_at_once(self) -> None:
        found: list[int] = []
        threads = [
            threading.Thread(target=lambda: found.append(self.chat("use count")[0]))
            for _ in range(4)
        ]
        before = self.served.counted()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((found, self.served.counted()), ([200] * 4, before + 4))


class NothingKept(Case):
    """A home folder whose disk takes nothing more."""

    def setUp(self) -> None:
        super().setUp()
        for name in ("claims", "responses"):
            folder, aside = self.served.home / name, self.served.home / f"{name}.aside"
            folder.mkdir(exist_ok=True)
            folder.rename(aside)
            folder.write_text("no folder")
            self.addCleanup(aside.rename, folder)
            self.addCleanup(folder.unlink)

    def test_the_answer_says_so(self) -> None:
        said = [{"role": "user", "content": "hi"}]
        for streams in (False, True):
            body: Json = {"model": "counter", "stream": streams}
            sent = [
                ("/v1/chat/completions", body | {"messages": said}, {"Idempotency-Key": "full"}),
                ("/v1/responses", body | {"input": said}, {}),
            ]
            for path, whole, more in sent:
                with self.subTest(path, streams=streams):
                    status, _, data = self.send(path, whole, more=more)
                    self.assertEqual(status, 200)
                    self.assertIn(b'"code":"not_kept"', data)
            self.assertIn(b'"store":false', data.rpartition(b"response.completed")[2])

    def test_nothing_that_may_not_run_twice_begins(self) -> None:
        before = self.served.counted()
        for more in ({"X-Stainless-Retry-Count": "0"}, {"Idempotency-Key": "call"}, {}):
            body: Json = {
                "model": "counter",
                "messages": [{"role": "user", "content": "use count"}],
            }
            status, _, data = self.send("/v1/chat/completions", body, more=more)
            self.assertEqual((status, json.loads(data)["error"]["code"]), (500, "claim_failed"))
        self.assertEqual(self.served.counted(), before)


if __name__ == "__main__":
    unittest.main()
