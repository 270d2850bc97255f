"""OpenAIAPI against a scripted model server over real sockets."""

from __future__ import annotations

import asyncio
import json
import time
import unittest
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any, cast

from server.json_types import Event
from server.lib.http.client import Client
from server.models.chat import OpenAIAPI
from server.models.quirks import EndpointState
from server.models.tool_mode import MODES

from ..tooling import patience
from .fakes import (
    APIS,
    CHUNKED,
    KEY,
    STOP,
    FakeTime,
    Server,
    answer,
    check_brackets,
    chunk,
    error,
    message,
    options,
    provider,
    said,
    serving,
    sse,
    tool,
)
from .fakes import Peer as Side
from .speakers import SPEAKERS

ASK: Any = [{"id": "u1", "role": "user", "content": "hello"}]
HEY = answer(sse(said("he"), said("y"), STOP))


class Case(unittest.IsolatedAsyncioTestCase):
    modes = MODES

    async def asyncSetUp(self) -> None:
        self.client = Client()
        self.time = FakeTime()

    async def asyncTearDown(self) -> None:
        await self.client.close()

    def api(self, server: Server, peer: EndpointState | None = None, **changes: Any) -> OpenAIAPI:
        source = provider(server.url, **changes)
        peer = peer or EndpointState(self.time)
        times: Any = {"clock": self.time, "sleep": self.time.sleep}
        return OpenAIAPI(source, self.client, peer, modes=self.modes, **times)

    async def collect(self, api: OpenAIAPI, **changes: Any) -> list[Event]:
        tools = changes.pop("tools", [])
        messages = changes.pop("messages", ASK)
        events = [event async for event in api.stream(messages, tools, options(**changes))]
        self.assertNotIn(KEY, json.dumps(events))
        self.assertIn(events[-1]["type"], ("TEXT_MESSAGE_END", "RUN_ERROR"))
        self.assertEqual([e["type"] for e in events[:-1] if e["type"] == "RUN_ERROR"], [])
        return events

    async def failure(self, *scripts: Any, **changes: Any) -> dict[str, Any]:
        """The RUN_ERROR of one attempt, flattened."""
        async with serving(*scripts) as server:
            events = await self.collect(self.api(server), **changes)
        end = events[-1]
        self.assertEqual(end["type"], "RUN_ERROR")
        flat = {"code": end["code"], "message": end["message"]}
        return {**flat, **end["metadata"]["yaa"]}


class Answers(Case):
    async def test_streamed(self) -> None:
        async with serving(HEY) as server:
            events = await self.collect(self.api(server))
        self.assertEqual(check_brackets(events), [])
        self.assertEqual(message(events)["content"], "hey")
        (request,) = server.requests
        self.assertEqual(request.line, "POST /v1/chat/completions HTTP/1.1")
        self.assertEqual(request.headers["authorization"], f"Bearer {KEY}")
        self.assertEqual(
            request.json,
            {
                "model": "m-1",
                "messages": [{"role": "user", "content": "hello"}],
                "stream": True,
                "stream_options": {"include_usage": True},
            },
        )

    async def test_a_server_that_ignores_stream(self) -> None:
        body = {"choices": [{"message": {"role": "assistant", "content": "hey"}}]}
        whole = answer(json.dumps(body).encode(), kind="application/json")
        async with serving(whole) as server:
            for stream in (True, False):
                with self.subTest(stream=stream):
                    events = await self.collect(self.api(server), stream=stream)
                    self.assertEqual(message(events)["content"], "hey")
        self.assertEqual([r.json["stream"] for r in server.requests], [True, False])
        self.assertNotIn("stream_options", server.requests[1].json)

    async def test_created(self) -> None:
        """Which some frameworks answer to any POST."""
        async with serving(HEY.replace(b"200 OK", b"201 Created")) as server:
            events = await self.collect(self.api(server))
        self.assertEqual(message(events)["content"], "hey")

    async def test_a_server_that_streams_unasked(self) -> None:
        async with serving(HEY) as server:
            events = await self.collect(self.api(server), stream=False)
        self.assertEqual(message(events)["content"], "hey")

    async def test_the_first_delta_does_not_wait_for_the_second(self) -> None:
        go_on = asyncio.Event()

        async def script(peer: Side) -> None:
            await peer.send(CHUNKED + chunk(sse(said("a"), done=False)))
            await go_on.wait()
            await peer.send(chunk(sse(said("b"), STOP)) + b"0\r\n\r\n")

        async with serving(script) as server:
            async with aclosing(self.api(server).stream(ASK, [], options())) as stream:
                seen = [(await anext(stream))["type"], (await anext(stream)).get("delta")]
                self.assertEqual(seen, ["TEXT_MESSAGE_START", "a"])
                go_on.set()
                self.assertEqual([e async for e in stream][-1]["type"], "TEXT_MESSAGE_END")

    async def test_the_connection_is_kept(self) -> None:
        """Also when the end of the body comes only after [DONE] was read."""

        async def late_end(peer: Side) -> None:
            await peer.send(CHUNKED + chunk(sse(said("a"), STOP)))
            await done.wait()
            await peer.send(b"0\r\n\r\n")
            request = await peer.reader.readuntil(b"\r\n\r\n")
            self.assertTrue(request.startswith(b"POST"))
            await peer.send(HEY)

        done = asyncio.Event()
        async with serving(late_end) as server:
            api = self.api(server)
            self.assertEqual(message(await self.collect(api))["content"], "a")
            done.set()
            for _ in range(1000):  # until the tail has been read
                await asyncio.sleep(0)
            self.assertEqual(message(await self.collect(api))["content"], "hey")
            self.assertEqual(server.connections, 1)

    async def test_tools_choices_and_calls(self) -> None:
        call = {"index": 0, "id": "c1", "function": {"name": "fs_read_e90aee9d", "arguments": "{}"}}
        chunks = [{"choices": [{"delta": {"tool_calls": [call]}}]}, STOP]
        async with serving(answer(sse(*chunks))) as server:
            api = self.api(server)
            offered = [tool("fs.read"), tool("add")]
            await self.collect(api, tools=offered, tool_choice="fs.read")
            sent = server.requests[0].json
            call["function"] = {"name": sent["tools"][0]["function"]["name"], "arguments": "{}"}
            server.scripts[0] = answer(sse({"choices": [{"delta": {"tool_calls": [call]}}]}, STOP))
            events = await self.collect(api, tools=offered, tool_choice="fs.read")
        made = message(events)
        self.assertEqual(made["tool_calls"][0]["function"]["name"], "fs.read")
        self.assertEqual(made["meta"]["finish_reason"], "tool_calls")
        self.assertRegex(sent["tools"][0]["function"]["name"], r"^[A-Za-z0-9_-]{1,64}$")
        self.assertEqual(
            sent["tool_choice"],
            {"type": "function", "function": {"name": sent["tools"][0]["function"]["name"]}},
        )

    async def test_no_tools_are_offered_where_none_may_be_called(self) -> None:
        async with serving(HEY) as server:
            await self.collect(self.api(server), tools=[tool("add")], tool_choice="none")
        self.assertNotIn("tools", server.requests[0].json)

    async def test_an_empty_answer_is_asked_for_once_more_in_a_run(self) -> None:
        """What is empty again is the model's answer, and it is said."""
        nothing = answer(sse(STOP))
        thought = {"choices": [{"delta": {"reasoning_content": "Hm"}}]}
        for scripts, content, asked, codes in (
            ((nothing, HEY), "hey", 2, ["answer_empty"]),
            ((nothing, nothing), "", 2, ["answer_empty", "answer_empty"]),
            ((answer(sse(thought, STOP)),), "", 1, ["answer_empty"]),  # it was shown already
            ((HEY,), "hey", 1, []),
        ):
            async with serving(*scripts) as server:
                with self.subTest(asked=asked, codes=codes):
                    api = self.api(server)
                    made = message(await self.collect(api))
                    self.assertEqual((made["content"], len(server.requests)), (content, asked))
                    found = made["meta"].get("warnings", ())
                    self.assertEqual([each["code"] for each in found], codes)
                    await self.collect(api)  # the next answer of the same run
                    self.assertEqual(len(server.requests) - asked, 1)


class Scripted:
    """A client whose one answer comes in these pieces. `hurried`: behind which of them the rest
    was given its last seconds."""

    status = 200

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces, self._at = pieces, 0
        self.hurried: list[int] = []

    async def request(self, *about: Any, **more: Any) -> Scripted:
        return self

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        for at, piece in enumerate(self._pieces):
            self._at = at
            yield piece

    def limit_idle(self, seconds: float | None) -> None:
        pass

    def limit_time(self, seconds: float) -> None:
        self.hurried.append(self._at)


class Failures(Case):
    async def test_statuses(self) -> None:
        cases: list[tuple[bytes, str, bool, str]] = [
            (error("401 No", f"wrong key {KEY}"), "upstream_auth", False, "wrong key ***"),
            (error("403 No", "not you"), "upstream_auth", False, "not you"),
            (error("404 No", "no such model"), "upstream_error", False, "no such model"),
            (error("429 No", "slow down"), "upstream_rate_limit", True, "slow down"),
            (
                error("429 No", "x", code="insufficient_quota", type="insufficient_quota"),
                "upstream_rate_limit",
                False,
                "429",
            ),
            (error("500 No", "boom"), "upstream_error", True, "boom"),
            (error("529 No", "overloaded"), "upstream_error", True, "overloaded"),
            (error("504 No", "slow"), "upstream_timeout", True, "slow"),
            (error("500 No", "x", "x-should-retry: false"), "upstream_error", False, "500"),
            (
                error("400 No", "too big", type="exceed_context_size_error", n_ctx=512),
                "context_overflow",
                False,
                "too big",
            ),
            (
                error("400 No", "This model's maximum context length is 8192 tokens"),
                "context_overflow",
                False,
                "8192",
            ),
            (answer(b'{"error":"m not loaded"}', "404 No"), "upstream_error", False, "not loaded"),
            (answer(b'{"detail":[{"msg":"bad"}]}', "422 No"), "upstream_error", False, "bad"),
            (answer(b"<html><h1>502</h1>Bad Gateway", "502 No"), "upstream_error", True, "Bad Gat"),
            (answer(b"", "503 No"), "upstream_error", True, "503"),
            (answer(b"web server is down", "521 No"), "upstream_error", True, "521"),
            (error("498 No", "Flex tier capacity exceeded"), "upstream_error", True, "498"),
            (answer(b"", "404 No"), "upstream_error", False, "(does api_url lead to the API?)"),
            (answer(b'{"detail":"Not Found"}', "404 No"), "upstream_error", False, "api_url"),
            (answer(b"<h1>405 Not Allowed", "405 No"), "upstream_error", False, "api_url"),
            (error("404 No", "The model x was not found"), "upstream_error", False, "not found"),
            (answer(b"<html>Open WebUI"), "upstream_error", True, "(does api_url lead to"),
            (
                answer(b'[{"error": {"code": 503, "message": "It is overloaded."}}]'),
                "upstream_error",
                True,
                "failed: It is overloaded.",
            ),
            (answer(b"\xff\xfe\x00", "500 No"), "upstream_error", True, "500"),
            (
                answer(b"", "302 Found", "location: http://evil.example/"),
                "upstream_error",
                False,
                "redirect",
            ),
            (answer(b"Authorization: Bearer abc.def", "500 No"), "upstream_error", True, "***"),
        ]
        for script, code, retryable, says in cases:
            with self.subTest(script[:40], says=says):
                end = await self.failure(script)
                self.assertEqual((end["code"], end["retryable"]), (code, retryable))
                self.assertIn(says, end["message"])
                if says == "not found":
                    self.assertNotIn("api_url", end["message"])
                self.assertLess(len(end["message"]), 600)

    async def test_sizes_of_an_overflow(self) -> None:
        script = error(
            "400 No", "x", type="exceed_context_size_error", n_prompt_tokens=900, n_ctx=512
        )
        end = await self.failure(script)
        self.assertEqual((end["n_prompt_tokens"], end["n_ctx"]), (900, 512))

    async def test_a_key_cut_by_the_length_limit(self) -> None:
        for before in range(350, 420):
            end = await self.failure(error("500 No", "x" * before + KEY + "y" * 100))
            self.assertNotIn(KEY[:12], end["message"])

    async def test_a_redirect_gets_no_key(self) -> None:
        async with serving(HEY) as target:
            location = f"location: {target.url}/chat/completions"
            await self.failure(answer(b"", "307 Moved", location), retry_times=3)
            self.assertEqual(target.requests, [])

    async def test_broken_streams(self) -> None:
        one = sse(said("a"), done=False)

        async def cut(peer: Side) -> None:
            await peer.send(CHUNKED + chunk(one))

        async def reset(peer: Side) -> None:
            await peer.send(CHUNKED + chunk(one))
            peer.writer.transport.abort()

        async def garbage(peer: Side) -> None:
            await peer.send(b"\x16\x03\x01 this is not HTTP\r\n\r\n")

        async def silent(peer: Side) -> None:
            pass

        cases = [
            (cut, "upstream_truncated"),
            (reset, "upstream_truncated"),
            (answer(one), "upstream_truncated"),
            (garbage, "upstream_error"),
            (silent, "upstream_truncated"),
            (answer(b"not an event stream"), "upstream_truncated"),
            (answer(sse({"error": {"message": "boom"}})), "upstream_error"),
            (answer(one + b"data: {oops\n\n"), "upstream_error"),
            (b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\ndata: 1", "upstream_error"),
            (b"HTTP/1.1 200 OK\r\ncontent-encoding: br\r\n\r\n\x0b\x02", "upstream_error"),
        ]
        for script, code in cases:
            with self.subTest(getattr(script, "__name__", script)):
                end = await self.failure(script)
                self.assertEqual(end["code"], code)

    async def test_a_break_after_the_finish_is_no_failure(self) -> None:
        async def script(peer: Side) -> None:
            await peer.send(CHUNKED + chunk(sse(said("a"), STOP, done=False)))
            peer.writer.transport.abort()

        async with serving(script) as server:
            events = await self.collect(self.api(server))
        self.assertEqual(message(events)["content"], "a")

    async def test_an_end_that_never_comes(self) -> None:
        """The last word was said, and the server keeps the stream alive without an end mark."""

        class Hasty(OpenAIAPI):
            tail_s = 0.5

        async def drips(peer: Side) -> None:
            await peer.send(CHUNKED + chunk(sse(said("a"), STOP, done=False)))
            usage = {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6}
            await peer.send(chunk(sse({"choices": [], "usage": usage}, done=False)))
            while not peer.writer.is_closing():
                await peer.send(chunk(b": ping\n\n"))
                await asyncio.sleep(0.01)

        async with serving(drips) as server:
            api = Hasty(provider(server.url), self.client)
            events = await asyncio.wait_for(self.collect(api), patience.seconds(10))
        made = message(events)
        self.assertEqual((made["content"], made["meta"]["finish_reason"]), ("a", "stop"))
        self.assertEqual(made["meta"]["usage"]["total_tokens"], 6)

    async def test_what_comes_behind_the_last_word_gives_the_rest_more_time(self) -> None:
        """Where it is news: there may be more of it."""
        more, ping = sse(said("b", "stop"), done=False), b": ping\n\n"
        client = Scripted([sse(said("a"), done=False), ping, more, ping, more, more, ping])
        events = await self.collect(OpenAIAPI(provider(), cast(Client, client)))
        self.assertEqual(message(events)["content"], "abbb")
        self.assertEqual(client.hurried, [2, 4, 5])

    async def test_an_end_without_anything_before_it(self) -> None:
        """No answer: a gateway whose model has failed may send nothing but the end."""
        nothing = answer(b"data: [DONE]\n\n")
        end = await self.failure(nothing)
        self.assertEqual((end["code"], end["retryable"]), ("upstream_error", True))
        async with serving(nothing, HEY) as server:
            events = await self.collect(self.api(server), retry_times=1, retry_delay=0)
        self.assertEqual(message(events)["content"], "hey")

    async def test_a_call_that_was_promised_and_lost(self) -> None:
        lost = answer(sse({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}))
        end = await self.failure(lost, tools=[tool("look")])
        self.assertEqual((end["code"], end["retryable"]), ("upstream_error", True))
        self.assertIn("it was to call a tool, and no call came", end["message"])
        async with serving(lost, HEY) as server:
            events = await self.collect(self.api(server), retry_times=1, retry_delay=0)
        self.assertEqual(message(events)["content"], "hey")
        async with serving(answer(sse(said("hi", "tool_calls")))) as server:
            events = await self.collect(self.api(server))
        self.assertEqual(message(events)["content"], "hi")

    async def test_nobody_listens(self) -> None:
        async with serving(HEY) as server:
            api = self.api(server)
        events = await self.collect(api)
        self.assertEqual(events[-1]["code"], "upstream_unreachable")
        self.assertIn(f"127.0.0.1:{server.port}", events[-1]["message"])

    async def test_timeouts(self) -> None:
        async def mute(peer: Side) -> None:
            await peer.gone()

        async def head_only(peer: Side) -> None:
            await peer.send(CHUNKED)
            await peer.gone()

        async def stalls(peer: Side) -> None:
            await peer.send(CHUNKED + chunk(sse(said("a"), done=False)))
            await peer.gone()

        async def drips(peer: Side) -> None:
            await peer.send(CHUNKED)
            while not peer.writer.is_closing():
                await peer.send(chunk(b": ping\n\n"))
                await asyncio.sleep(0.02)

        cases: list[tuple[Any, dict[str, float], str]] = [
            (mute, {"first_byte_timeout": 0.05}, "sent no answer for 0.05 s"),
            (head_only, {"first_byte_timeout": 0.05}, "sent no answer for 0.05 s"),
            (stalls, {"first_byte_timeout": 9, "idle_timeout": 0.05}, "went silent for 0.05 s"),
            (drips, {"idle_timeout": 9, "request_timeout": 0.2}, "was not done after 0.2 s"),
        ]
        for script, limits, says in cases:
            with self.subTest(script.__name__):
                started = time.monotonic()
                end = await self.failure(script, **limits)
                self.assertEqual((end["code"], end["retryable"]), ("upstream_timeout", True))
                self.assertIn(says, end["message"])
                self.assertLess(time.monotonic() - started, patience.seconds(5))

    def test_a_model_that_reasons_is_waited_for(self) -> None:
        client = Client()
        for is_reasoning, preset, first, idle in (
            (False, "custom", 120, 60),
            (True, "custom", 300, 300),
            (False, "ollama", 300, 60),
        ):
            with self.subTest(preset, is_reasoning=is_reasoning):
                api = OpenAIAPI(provider(preset=preset, is_reasoning=is_reasoning), client)
                limits = options(first_byte_timeout=120, idle_timeout=60)
                before = api._timeouts(limits, None)
                self.assertEqual((before.first_byte, before.idle), (first, first))
                self.assertEqual(api._idle(limits), idle)
                self.assertEqual(api._idle(options(idle_timeout=None)), None)

    async def test_hidden_reasoning_is_no_silence(self) -> None:
        """Until the first text or call the limit is that of the first byte, whatever came."""
        for speaker in SPEAKERS:
            frames = speaker.frames([("think", ["Hm"], "s"), ("text", ["Hey"])])
            text = next(n for n, each in enumerate(frames) if b'"Hey"' in each)
            for count, first, limit in ((1, 0.3, 0.3), (text, 0.3, 0.3), (text + 1, 9, 0.05)):

                async def stops(peer: Side, sent: bytes = b"".join(frames[:count])) -> None:
                    await peer.send(CHUNKED + chunk(sent))
                    await peer.gone()

                with self.subTest(speaker.api, frames=count):
                    async with serving(stops) as server:
                        source = provider(server.url, api=speaker.api)
                        api = cast(OpenAIAPI, APIS[speaker.api](source, self.client))
                        limits = {"first_byte_timeout": first, "idle_timeout": 0.05}
                        events = await self.collect(api, **limits)
                    self.assertIn(f" for {limit} s", events[-1]["message"])

    async def test_an_answer_without_end(self) -> None:
        client = Client(max_response=1_000_000)

        async def flood(peer: Side) -> None:
            await peer.send(CHUNKED)
            frame = chunk(sse(said("x" * 60_000), done=False))
            while not peer.writer.is_closing():
                await peer.send(frame)

        async with serving(flood) as server:
            api = OpenAIAPI(provider(server.url), client)
            events = await self.collect(api, retry_times=3)
        self.assertEqual(events[-1]["code"], "upstream_error")
        self.assertIn("larger than 1000000 bytes", events[-1]["message"])
        self.assertEqual(len(server.requests), 1)


class Retries(Case):
    async def test_two_failures_then_an_answer(self) -> None:
        async with serving(error("503 No", "x"), error("500 No", "x"), HEY) as server:
            events = await self.collect(self.api(server), retry_times=3, retry_delay=2)
        self.assertEqual(message(events)["content"], "hey")
        self.assertEqual(self.time.slept, [2, 4])

    async def test_attempts_are_counted(self) -> None:
        for times in (0, 1, 3):
            self.time.slept.clear()
            async with serving(error("503 No", "x")) as server:
                events = await self.collect(self.api(server), retry_times=times, retry_delay=1)
            with self.subTest(times=times):
                self.assertEqual(len(server.requests), times + 1)
                self.assertEqual(events[-1]["metadata"]["yaa"]["attempts"], times + 1)
                self.assertEqual(len(self.time.slept), times)

    async def test_what_is_not_tried_again(self) -> None:
        for status in ("400", "401", "403", "404", "422"):
            async with serving(error(f"{status} No", "x")) as server:
                await self.collect(self.api(server), retry_times=3)
            with self.subTest(status):
                self.assertEqual(len(server.requests), 1)

    async def test_retry_after(self) -> None:
        cases = [("retry-after: 7", [7]), ("retry-after-ms: 2500", [2.5]), ("x: y", [2])]
        for header, slept in cases:
            self.time.slept.clear()
            async with serving(error("429 No", "x", header), HEY) as server:
                events = await self.collect(self.api(server), retry_times=1, retry_delay=2)
            with self.subTest(header):
                self.assertEqual(self.time.slept, slept)
                self.assertEqual(message(events)["content"], "hey")

    async def test_a_pause_nobody_would_wait_for(self) -> None:
        cases: list[tuple[str, dict[str, Any]]] = [
            ("retry-after: 3600", {}),
            ("retry-after: 60", {"request_timeout": 30}),
        ]
        for header, limits in cases:
            async with serving(error("429 No", "x", header), HEY) as server:
                events = await self.collect(self.api(server), retry_times=3, **limits)
            with self.subTest(header):
                self.assertEqual(events[-1]["code"], "upstream_rate_limit")
                self.assertEqual(self.time.slept, [])

    async def test_never_after_the_first_delta(self) -> None:
        broken = answer(sse(said("one "), said("two "), said("three"), {"error": "boom"}))
        async with serving(broken, HEY) as server:
            events = await self.collect(self.api(server), retry_times=3)
        text = "".join(e["delta"] for e in events if e["type"] == "TEXT_MESSAGE_CONTENT")
        self.assertEqual(text, "one two three")
        self.assertEqual(events[-1]["type"], "RUN_ERROR")
        self.assertEqual(len(server.requests), 1)

    async def test_a_role_chunk_is_not_a_delta(self) -> None:
        role = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]}
        async with serving(answer(sse(role, done=False)), HEY) as server:
            events = await self.collect(self.api(server), retry_times=1)
        self.assertEqual(message(events)["content"], "hey")
        self.assertEqual(len(server.requests), 2)

    async def test_interval_is_the_least_gap(self) -> None:
        async with serving(HEY) as server:
            api = self.api(server)
            for _ in range(3):
                await self.collect(api, interval=5)
        self.assertEqual(self.time.slept, [5, 5])

    async def test_a_refused_field_is_left_out_from_then_on(self) -> None:
        refusal = error("400 No", "Unknown parameter: 'stream_options'")
        async with serving(refusal, HEY) as server:
            api = self.api(server)
            for _ in range(2):
                self.assertEqual(message(await self.collect(api))["content"], "hey")
        self.assertEqual(
            ["stream_options" in r.json for r in server.requests], [True, False, False]
        )
        self.assertEqual(self.time.slept, [])

    async def test_what_else_models_refuse(self) -> None:
        settings: dict[str, Any] = {"use_custom_temp": True, "temperature": 0.5, "top_p": 0.5}
        settings |= {"reasoning_effort": "low"}
        cases = [
            ("400 No", "'temperature' does not support 0.5 with this model.", "temperature", 1),
            ("400 No", "invalid temperature: only 1 is allowed for this model", "temperature", 1),
            ("400 No", "Unsupported parameter: 'top_p' is not supported", "top_p", 1),
            ("400 No", "Unrecognized request argument: reasoning_effort", "reasoning_effort", 1),
            ("400 No", "'stream' does not support true with this model.", "stream", 1),
            ("400 No", "Your organization must be verified to stream this model.", "stream", 1),
            ("400 No", "Thinking mode does not support this tool_choice", "tool_choice", 1),
            ("404 No", "No endpoints found that support 'tool_choice'", "tool_choice", 1),
            # of these the fault is the owner's, who is told
            ("400 No", "Invalid 'temperature': expected a value <= 2", "temperature", 0),
            ("400 No", "Invalid value for reasoning_effort: 'lov'", "reasoning_effort", 0),
        ]
        for status, words, name, learns in cases:
            async with serving(error(status, words), HEY) as server:
                api = self.api(server, settings=settings)
                asked: dict[str, Any] = {"tools": [tool("look")], "tool_choice": "required"}
                events = await self.collect(api, **asked)
            with self.subTest(words):
                self.assertEqual(events[-1]["type"] == "TEXT_MESSAGE_END", bool(learns))
                self.assertIn(name, server.requests[0].json)
                self.assertEqual([name in r.json for r in server.requests[1:]], [False] * learns)
                if name == "stream":
                    self.assertNotIn("stream_options", server.requests[1].json)

    async def test_a_refusal_that_stays(self) -> None:
        async with serving(error("400 No", "stream_options stream_options")) as server:
            events = await self.collect(self.api(server), retry_times=2)
        self.assertEqual(events[-1]["code"], "upstream_error")
        self.assertEqual(len(server.requests), 2)


class Cancelling(Case):
    async def test_the_model_notices_at_once(self) -> None:
        gone = asyncio.Event()

        async def script(peer: Side) -> None:
            await peer.send(CHUNKED + chunk(sse(said("a"), done=False)))
            await peer.gone()
            gone.set()

        async def wait_for_head(peer: Side) -> None:
            await peer.gone()
            gone.set()

        for reply in (script, wait_for_head):
            gone.clear()
            async with serving(reply) as server:
                task = asyncio.create_task(self.collect(self.api(server)))
                await server.asked.wait()
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
                async with asyncio.timeout(patience.seconds(10)):
                    await gone.wait()

    async def test_closing_the_generator(self) -> None:
        gone = asyncio.Event()

        async def script(peer: Side) -> None:
            await peer.send(CHUNKED + chunk(sse(said("a"), done=False)))
            await peer.gone()
            gone.set()

        async with serving(script) as server:
            async with aclosing(self.api(server).stream(ASK, [], options())) as stream:
                await anext(stream)
            async with asyncio.timeout(patience.seconds(10)):
                await gone.wait()

    async def test_waiting_for_the_next_attempt_can_be_cancelled(self) -> None:
        async with serving(error("503 No", "x")) as server:
            api = OpenAIAPI(provider(server.url), self.client)
            task = asyncio.create_task(self.collect(api, retry_times=3, retry_delay=60))
            await server.asked.wait()
            task.cancel()
            async with asyncio.timeout(patience.seconds(10)):
                with self.assertRaises(asyncio.CancelledError):
                    await task


if __name__ == "__main__":
    unittest.main()
