"""What is the same whatever API a model speaks: one run over each of the three."""

from __future__ import annotations

import copy
import gc
import gzip
import json
import sys
import threading
import unittest
import weakref
import zlib
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

from server.json_types import Event
from server.lib.http.client import Client, ClientError
from server.lib.runtime.offload import LARGE
from server.lib.strict_json import Constant, dumps
from server.models import BaseAPI, Options
from server.models.chat import OpenAIAPI
from server.models.chat_request import MANY
from server.models.http_model import FAST, RemoteAPI
from server.models.provider import API_PATHS, Provider, endpoint
from server.models.quirks import EndpointState
from server.models.registry import Model
from server.models.tool_mode import MODES
from server.session.fold import Folder
from server.session.quoted_texts import SentTexts

from ..fakes import CountingToolbox, Ids, ManualClock, agent, user
from .fakes import (
    APIS,
    KEY,
    PRESETS,
    FakeTime,
    Request,
    Server,
    answer,
    check_brackets,
    error,
    message,
    options,
    provider,
    serving,
    tool,
    usual_api,
)
from .fakes import Peer as Side
from .speakers import BY_API, CACHED, COMPLETION, PROMPT, SPEAKERS, Heard, Part, Speaker

THOUGHT: Part = ("think", ["Let me ", "see. ☃"], "c2VhbA==")
FIRST: list[Part] = [
    THOUGHT,
    ("text", ["I will ", "look 🙂."]),
    ("call", "call_a", "time", ['{"zone":', '"UTC"}']),
    ("call", "call_b", "note", ["{}"]),
]
LAST: list[Part] = [("text", ["It is ", "noon."])]
USED = {
    "prompt_tokens": PROMPT,
    "completion_tokens": COMPLETION,
    "total_tokens": PROMPT + COMPLETION,
    "cached_tokens": CACHED,
}
ASK: Any = [{"id": "u1", "role": "user", "content": "hello"}]


def speaking(speaker: Speaker, server: Server, **changes: Any) -> Provider:
    made = provider(server.url, **changes)
    return replace(made, url=endpoint(server.url, speaker.api), api=speaker.api)


def in_ms(clock: FakeTime) -> int:
    return round(clock() * 1000)


class Case(unittest.IsolatedAsyncioTestCase):
    modes = MODES

    async def asyncSetUp(self) -> None:
        self.client = Client()
        self.time = FakeTime()

    async def asyncTearDown(self) -> None:
        await self.client.close()

    def api(self, speaker: Speaker, server: Server, **changes: Any) -> RemoteAPI:
        source = speaking(speaker, server, **changes)
        times: Any = {"clock": self.time, "sleep": self.time.sleep}
        peer = EndpointState(self.time)
        return APIS[source.api](source, self.client, peer, modes=self.modes, **times)

    async def collect(self, api: RemoteAPI, **changes: Any) -> list[Event]:
        tools, messages = changes.pop("tools", []), changes.pop("messages", ASK)
        async with aclosing(api.stream(messages, tools, options(**changes))) as events:
            found = [event async for event in events]
        self.assertNotIn(KEY, json.dumps(found))
        return found


class Sent(Case):
    async def test_constant_tools_are_sent_as_any_others(self) -> None:
        declared = [tool("look"), tool("note")]
        for speaker in SPEAKERS:
            with self.subTest(speaker.api):
                scripts = [answer(speaker.stream(LAST)) for _ in range(2)]
                async with serving(*scripts) as server:
                    api = self.api(speaker, server)
                    await self.collect(api, tools=declared)
                    await self.collect(api, tools=[Constant(each) for each in declared])
                    plain, constant = (json.loads(each.body) for each in server.requests)
                    self.assertEqual(len(plain["tools"]), 2)
                    self.assertEqual(plain, constant)

    async def test_what_was_written_before_changes_no_byte(self) -> None:
        """Whatever messages there are, and however many."""
        long, quotes = "The quick brown fox. " * 20, '"\\\n\u2028\x00é😀' * 30
        call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        few: Any = [
            {"role": "system", "content": long},
            {"role": "user", "content": quotes, "name": "me"},
            {"role": "user", "content": [{"type": "text", "text": long}]},
            {"role": "assistant", "content": long, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "name": "look", "content": quotes},
            {"role": "assistant", "content": quotes},
            {"role": "user", "content": "short"},
        ]
        once: list[Any] = []
        for speaker in SPEAKERS:
            for times in (1, MANY):
                scripts = [answer(speaker.stream(LAST)) for _ in range(3)]
                texts = SentTexts()
                async with serving(*scripts) as server:
                    for each in (None, texts, texts):
                        api = self.api(speaker, server)
                        await self.collect(api, messages=few * times, texts=each, size=LARGE * FAST)
                    sent = [each.body for each in server.requests]
                with self.subTest(speaker.api, times=times):
                    self.assertEqual([sent[0]] * 2, sent[1:])
                    self.assertEqual(sent[0].count(dumps(quotes).encode()), 3 * times)
                    if speaker.api == "chat":
                        one_by_one = {long, quotes, "short"} if times == 1 else {long, quotes}
                        self.assertEqual(set(texts.quoted), one_by_one)
                        once = once or json.loads(sent[0])["messages"]
                        self.assertEqual(json.loads(sent[0])["messages"], once * times)

    async def test_a_large_request_is_written_beside_the_event_loop(self) -> None:
        for size, beside in ((LARGE * FAST - 1, False), (LARGE * FAST, True)):
            threads: list[threading.Thread] = []

            class Watched(OpenAIAPI):
                @staticmethod
                def request(*about: Any, threads: Any = threads) -> dict[str, Any]:
                    threads.append(threading.current_thread())
                    return OpenAIAPI.request(*about)

            async with serving(answer(SPEAKERS[0].stream(LAST))) as server:
                api = Watched(speaking(SPEAKERS[0], server), self.client, EndpointState(self.time))
                await self.collect(api, size=size)
            self.assertEqual([each is not threading.main_thread() for each in threads], [beside])

    async def test_no_generator_is_left_to_the_collector(self) -> None:
        """Which would close it in a task of its own, and wake the loop for that."""
        left: list[Any] = []
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(finalizer=left.append)
        self.addCleanup(sys.set_asyncgen_hooks, *hooks)
        for speaker in SPEAKERS:
            async with serving(answer(speaker.stream(LAST))) as server:
                await self.collect(self.api(speaker, server))
        gc.collect()
        self.assertEqual(left, [])


class WholeRun(Case):
    """Thought, text, two calls, a cut stream and what follows: the same session each time."""

    async def run_over(self, speaker: Speaker) -> tuple[dict[str, Any], list[Request]]:
        counts: dict[tuple[str, str], int] = {}
        toolbox = CountingToolbox({"time": "read", "note": "auto"}, counts)
        last = speaker.frames(LAST)
        said = next(n for n, each in enumerate(last) if b'"It is "' in each) + 1
        cut = answer(b"".join(last[:said]))
        scripts = (answer(speaker.stream(FIRST)), cut, answer(speaker.stream(LAST)))
        async with serving(*scripts) as server:
            api = self.api(speaker, server)
            models: Any = Resolves(api)
            host = agent(models, toolbox, ids=Ids(), clock=ManualClock())
            session: Any = {"id": "s", "messages": [user("what time?")]}
            for status in ("failed", "completed"):  # the second time it goes on from there
                before = json.loads(json.dumps(session))
                run = host.prepare(copy.deepcopy(session))
                found = [copy.deepcopy(event) async for event in run.events()]
                session = run.session
                self.assertEqual(session["status"], status, found[-1])
                folder = Folder(before)
                for event in found:
                    folder.apply(event)
                folder.flush()
                self.assertEqual(folder.session, session)
                for each in session["interrupts"]:
                    each["answer"] = {"status": "resolved", "payload": {"retry": True}}
            self.assertEqual(set(counts.values()), {1}, "no tool ran twice")
            return session, server.requests

    async def test_every_preset_answers_a_conversation_with_tools_twice(self) -> None:
        """Each call with its result goes back in every later request, and no answer is lost."""
        for name, preset in PRESETS.items():
            if not (spoken := usual_api(preset)):
                continue
            speaker = BY_API[spoken]
            calls = [("call", f"{call[1]}2", *call[2:]) for call in FIRST if call[0] == "call"]
            again = [part for part in FIRST if part[0] != "call"] + calls
            parts = (FIRST, LAST, again, LAST)
            counts: dict[tuple[str, str], int] = {}
            toolbox = CountingToolbox({"time": "read", "note": "auto"}, counts)
            async with serving(*(answer(speaker.stream(each)) for each in parts)) as server:
                models: Any = Resolves(self.api(speaker, server, preset=name))
                host = agent(models, toolbox, ids=Ids(), clock=ManualClock())
                session: Any = {"id": "s", "messages": []}
                for text in ("what time?", "and now?"):
                    session["messages"].append({"id": text, "role": "user", "content": text})
                    run = host.prepare(copy.deepcopy(session))
                    async for _ in run.events():
                        pass
                    session = run.session
                    with self.subTest(name, text=text):
                        self.assertEqual(session["status"], "completed")
                        self.assertEqual(session["messages"][-1]["content"], "It is noon.")
                heard = [speaker.heard(each.json) for each in server.requests]
            sent = [[each for each in one if each[0] != "thought"] for one in heard]
            with self.subTest(name):
                self.assertEqual(len(sent), 4)
                for before, after in pairwise(sent):
                    self.assertEqual(after[: len(before)], before)
                kinds = [[who for who, _ in each if who in ("call", "result")] for each in sent]
                self.assertEqual([len(each) for each in kinds], [0, 4, 4, 8])

    async def test_the_same_session_over_each_api(self) -> None:
        plain: dict[str, Any] = {}
        for speaker in SPEAKERS:
            with self.subTest(speaker.api):
                session, requests = await self.run_over(speaker)
                self.assertEqual(len(requests), 3)
                self.check_heard(speaker, requests)
                thought = session["messages"][1]["reasoning"]
                self.assertEqual(thought["text"], "Let me see. ☃")
                self.assertEqual("details" in thought, speaker.sealed)
                for each in session["messages"]:
                    for vendors_own in ("details", "field"):
                        each.get("reasoning", {}).pop(vendors_own, None)
                    theirs = [call.pop("extra", None) for call in each.get("tool_calls", ())]
                    if speaker.api == "chat":  # the ids of the other APIs are of no use there
                        self.assertEqual(
                            theirs, [{"id": "call_a"}, {"id": "call_b"}][: len(theirs)]
                        )
                    used = each.get("meta", {}).get("usage", {})
                    self.assertEqual(used.pop("cache_write_tokens", 4), 4)
                    used.pop("reasoning_tokens", None)
                session["usage"].pop("reasoning_tokens", None)
                self.assertEqual(session["usage"].pop("cache_write_tokens", 8), 8)
                errors = [m for m in session["messages"] if m["role"] == "error"]
                self.assertEqual([each.pop("content") != "" for each in errors], [True])
                self.assertEqual(session["messages"][1]["meta"]["usage"], USED)
                plain = plain or session
                self.maxDiff = None
                self.assertEqual(session, plain)

    def check_heard(self, speaker: Speaker, requests: list[Request]) -> None:
        """The requests after the calls have all of the first answer, in its order."""
        first, second, third = [speaker.heard(each.json) for each in requests]
        self.assertEqual([who for who, _ in first], ["system", "user"])
        thought = "Let me see. ☃"
        time_id, note_id = ("call_a", "call_b") if speaker.api == "chat" else ("call_4", "call_5")
        wanted: Heard = [
            ("thought", (thought, "c2VhbA==") if speaker.sealed else thought),
            ("assistant", "I will look 🙂."),
            ("call", (time_id, "time")),
            ("call", (note_id, "note")),
            ("result", (time_id, 'time did {"zone":"UTC"}')),
            ("result", (note_id, "note did {}")),
        ]
        self.assertEqual(second, first + wanted)
        self.assertEqual(third, second)
        for before, after in ((requests[0], requests[1]), (requests[1], requests[2])):
            self.assertEqual(before.json.get("tools"), after.json.get("tools"))


class Still(BaseAPI):
    """A model at whose calls no time passes."""

    def __init__(self, api: RemoteAPI) -> None:
        self._api = api

    def stream(
        self, messages: list[Any], tools: list[Any], options: Options
    ) -> AsyncGenerator[Event, None]:
        return self._api.stream(messages, tools, replace(options, now_ms=lambda: 1))


class Resolves:
    """Models for an agent: one."""

    def __init__(self, api: RemoteAPI) -> None:
        self._model = Model("main", "m-1", Still(api))

    def resolve(self, provider: Any, owner: str = "") -> Model:
        return self._model

    def check_session(self, config: Any) -> list[Any]:
        return []


class Alike(Case):
    async def test_the_time_of_an_answer_begins_with_its_request(self) -> None:
        """Most of it passes before the first byte, while the model reads."""
        for speaker in SPEAKERS:
            clock = FakeTime()

            async def late(peer: Side, speaker: Speaker = speaker, clock: Any = clock) -> None:
                await clock.sleep(0.7)
                await peer.send(answer(speaker.stream(LAST)))

            async with serving(late) as server:
                found = await self.collect(self.api(speaker, server), now_ms=partial(in_ms, clock))
            with self.subTest(speaker.api):
                meta = message(found)["meta"]
                self.assertEqual((meta["first_ms"], meta["ms"]), (700, 700))

    async def test_cut_anywhere(self) -> None:
        """Half a stream is a failure that may be tried again, never a short answer."""
        for speaker in SPEAKERS:
            frames = speaker.frames(FIRST)
            for place in range(0, len(frames), 3):
                stream = b"".join(frames[:place]) + frames[place][: len(frames[place]) // 2]
                async with serving(answer(stream)) as server:
                    found = await self.collect(self.api(speaker, server))
                with self.subTest(speaker.api, place=place):
                    end = found[-1]
                    if end["type"] == "RUN_ERROR":
                        self.assertEqual(end["code"], "upstream_truncated")
                        self.assertTrue(end["metadata"]["yaa"]["retryable"])
                    else:  # only behind the word that it was all
                        self.assertIn(b"finish_reason", b"".join(frames[:place]))
                        self.assertEqual(check_brackets(found), [])

    async def test_what_a_gateway_compresses_unasked(self) -> None:
        for speaker in SPEAKERS:
            for coding, pack in (("gzip", gzip.compress), ("deflate", zlib.compress)):
                packed = pack(speaker.stream(LAST))
                reply = answer(packed, "200 OK", f"content-encoding: {coding}")
                async with serving(reply) as server:
                    found = await self.collect(self.api(speaker, server))
                with self.subTest(speaker.api, coding=coding):
                    self.assertEqual(message(found)["content"], "It is noon.")

    async def test_a_refusal_whose_words_do_not_all_arrive(self) -> None:
        """It is no fault of the network: asked again, it would be refused again."""

        async def cut(peer: Side) -> None:
            await peer.send(b'HTTP/1.1 401 No\r\ncontent-length: 99\r\n\r\n{"error": "bad')

        packed = answer(b"\x1f\x8b...", "401 No", "content-encoding: gzip")
        for reply in (cut, packed):
            async with serving(reply) as server:
                (end,) = await self.collect(self.api(SPEAKERS[0], server), retry_times=1)
            self.assertEqual((end["code"], len(server.requests)), ("upstream_auth", 1))

    async def test_refusals_by_status(self) -> None:
        cases = [
            ("429 No", "rate_limit_error", "slow down", "upstream_rate_limit", True),
            ("529 Busy", "overloaded_error", "Overloaded", "upstream_error", True),
            ("401 No", "authentication_error", "bad key", "upstream_auth", False),
            ("400 No", "invalid_request_error", "prompt is too long: 9 tokens > 5 maximum")
            + ("context_overflow", False),
            ("413 No", "request_too_large", "Request exceeds 32 MB", "context_overflow", False),
            ("400 No", "invalid_request_error", "no such field", "upstream_error", False),
        ]
        for speaker in SPEAKERS:
            for status, kind, words, code, retryable in cases:
                async with serving(error(status, words, type=kind)) as server:
                    (end,) = await self.collect(self.api(speaker, server))
                with self.subTest(speaker.api, status=status, kind=kind):
                    told = end["metadata"]["yaa"]
                    self.assertEqual((end["code"], told["retryable"]), (code, retryable))
                    if "maximum" in words:
                        self.assertEqual(told["n_ctx"], 5)

    async def test_a_host_is_named_once(self) -> None:
        for name, told in (
            ("127.0.0.1", "127.0.0.1:9 went silent"),
            ("main", "main: 127.0.0.1:9 went silent"),
        ):
            with self.subTest(name):
                async with serving(answer(b"")) as server:
                    api = self.api(SPEAKERS[0], server, name=name)
                error = api.failure(ClientError("timeout", "127.0.0.1:9 went silent"))
                self.assertEqual(str(error), told)

    async def test_where_and_with_which_key(self) -> None:
        for speaker in SPEAKERS:
            for preset in ("custom", "anthropic", "deepseek"):
                async with serving(answer(speaker.stream(LAST))) as server:
                    api = self.api(speaker, server, preset=preset)
                    await self.collect(api)
                (request,) = server.requests
                with self.subTest(speaker.api, preset=preset):
                    path = API_PATHS[api.provider.api]
                    self.assertEqual(request.line, f"POST /v1{path} HTTP/1.1")
                    bearer, key = (
                        request.headers.get(name) for name in ("authorization", "x-api-key")
                    )
                    own = speaker.api == "messages"
                    self.assertEqual(key, KEY if own else None)
                    plain = own and preset == "anthropic"
                    self.assertEqual(bearer, None if plain else f"Bearer {KEY}")
                    self.assertEqual("anthropic-version" in request.headers, own)

    async def test_a_body_is_not_kept_while_its_answer_streams(self) -> None:
        """That of a long session is a megabyte, and an answer may take many minutes."""

        class Body(dict[str, Any]):
            """A dict that can be asked whether it is still there."""

        class Watched(OpenAIAPI):
            @staticmethod
            def request(*about: Any) -> dict[str, Any]:
                body = Body(OpenAIAPI.request(*about))
                made.append(weakref.ref(body))
                return body

        made: list[weakref.ref[Body]] = []
        chat = BY_API["chat"]
        async with serving(error("503 Busy", "later"), answer(chat.stream(LAST))) as server:
            api = Watched(
                speaking(chat, server), self.client, clock=self.time, sleep=self.time.sleep
            )
            async with aclosing(api.stream(ASK, [], options(retry_times=1))) as events:
                self.assertEqual((await anext(events))["type"], "TEXT_MESSAGE_START")
                self.assertEqual([body() for body in made], [None, None])  # one for each attempt
            self.assertEqual(server.requests[0].json, server.requests[1].json)

    async def test_thoughts_that_are_not_accepted_are_left_out(self) -> None:
        """Another key made them: the call is made again without, once."""
        gone = "Item with id 'rs_0' not found. Items are not persisted when `store` is false."
        lonely = "Item 'rs_0' of type 'reasoning' was provided without its required following item."
        refusals = [
            ("responses", "400 No", "The encrypted content for item rs_0 could not be verified."),
            ("responses", "400 No", lonely),
            ("responses", "404 No", gone),
            ("messages", "400 No", "messages.1.content.0: Invalid `signature` in `thinking` block"),
        ]
        for api, status, words in refusals:
            if not (speaker := BY_API.get(api)):
                continue
            refusal = error(status, words)
            async with serving(answer(speaker.stream(FIRST))) as server:
                made = message(await self.collect(self.api(speaker, server)))
            results = [
                {"role": "tool", "tool_call_id": call["id"], "content": "1"}
                for call in made["tool_calls"]
            ]
            messages = [*ASK, made, *results]
            async with serving(refusal, answer(speaker.stream(LAST))) as server:
                found = await self.collect(self.api(speaker, server), messages=messages)
                with self.subTest(words):
                    self.assertEqual(message(found)["content"], "It is noon.")
                    with_them, without = [speaker.heard(each.json) for each in server.requests]
                    self.assertEqual(with_them[1][0], "thought")
                    self.assertEqual([each for each in with_them if each[0] != "thought"], without)
            async with serving(refusal) as server:
                found = await self.collect(self.api(speaker, server), messages=messages)
                self.assertEqual((found[-1]["code"], len(server.requests)), ("upstream_error", 2))

    async def test_a_refused_field_is_left_out_from_then_on(self) -> None:
        """By this model, and of an object only the member that is meant."""
        cases: list[tuple[str, str, dict[str, Any], str, list[Any]]] = [
            (
                "responses",
                "Your organization must be verified to generate reasoning summaries."
                " (reasoning.summary)",
                {"is_reasoning": True, "settings": {"reasoning_effort": "low"}},
                "reasoning",
                [{"summary": "auto", "effort": "low"}, {"effort": "low"}, {"effort": "low"}],
            ),
            (
                "responses",
                'Encrypted content is not supported with this model: "include"',
                {"is_reasoning": True},
                "include",
                [["reasoning.encrypted_content"], None, None],
            ),
            (
                "messages",
                "This model does not support the effort parameter.",
                {"settings": {"reasoning_effort": "low"}},
                "output_config",
                [{"effort": "low"}, None, None],
            ),
            (
                "messages",
                "adaptive thinking is not supported on this model",
                {"is_reasoning": True},
                "thinking",
                [{"type": "adaptive", "display": "summarized"}, None, None],
            ),
            (
                "messages",
                "`temperature` is deprecated for this model.",
                {"settings": {"use_custom_temp": True, "temperature": 0.5}},
                "temperature",
                [0.5, None, None],
            ),
        ]
        for api_name, words, changes, name, wanted in cases:
            if not (speaker := BY_API.get(api_name)):
                continue
            body = json.dumps({"error": {"message": words, "param": "include"}}).encode()
            refusal = answer(body, "400 No", kind="application/json")
            async with serving(refusal, answer(speaker.stream(LAST))) as server:
                api = self.api(speaker, server, **changes)
                for _ in range(2):
                    self.assertEqual(message(await self.collect(api))["content"], "It is noon.")
                with self.subTest(words):
                    self.assertEqual([each.json.get(name) for each in server.requests], wanted)

    async def test_a_model_that_makes_one_call_at_a_time_knows_tools(self) -> None:
        add, chat = tool("add", {"a": {"type": "integer"}}), SPEAKERS[0]
        settings = {"parallel_tool_calls": True}
        for words in (
            "This model does not support tool calls in parallel: leave out parallel_tool_calls.",
            "parallel tool calls are not supported",
        ):
            refusal = error("400 No", words)
            async with serving(refusal, answer(chat.stream(LAST))) as server:
                api = self.api(chat, server, preset="openai", settings=settings)
                await self.collect(api, tools=[add])
                with self.subTest(words):
                    self.assertTrue(all("tools" in each.json for each in server.requests))


if __name__ == "__main__":
    unittest.main()
