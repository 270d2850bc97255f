"""What providers say when they refuse a request, in their own words, and what is sent then."""

from __future__ import annotations

import asyncio
import json
import unittest
from dataclasses import replace
from typing import Any

from server.json_types import Event
from server.lib.http.client import Client
from server.models.chat import OpenAIAPI
from server.models.provider import API_PATHS, CUSTOM
from server.models.quirks import QUIRKS, UNSIGNED, EndpointState, learn_flags

from .fakes import (
    APIS,
    STOP,
    FakeTime,
    Request,
    answer,
    error,
    message,
    options,
    provider,
    said,
    serving,
    sse,
)
from .fakes import Peer as Asker
from .speakers import SPEAKERS

ALTERNATE = {"alternate": True, "single_system_message": True}
NO_SYSTEM = {"system_role": False, "alternate": True}
THOUGHT = {"reasoning_required_on_tool_turns": True}
NEW, OLD = ({"max_tokens_field": f"max_{name}tokens"} for name in ("completion_", ""))
NO_IMAGES = {"images": False}
IDLE = {"idle_tools": True}

SAID: list[tuple[str, dict[str, Any]]] = [
    (
        "Jinja Exception: System message must be at the beginning.",
        {"single_system_message": True},
    ),
    ("Conversation roles must alternate user/assistant/user/assistant/...", ALTERNATE),
    ("A conversation must alternate between user and assistant roles.", ALTERNATE),
    (
        "After the (optional) system message(s), user or tool message(s) should alternate with"
        " assistant message(s).",
        ALTERNATE,
    ),
    (
        'messages: roles must alternate between "user" and "assistant", but found multiple "user"'
        " roles in a row",
        ALTERNATE,
    ),
    (
        "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
        NO_SYSTEM,
    ),
    ("System role not supported", NO_SYSTEM),
    ("Developer instruction is not enabled for models/gemma-3-27b-it", NO_SYSTEM),
    (
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
        THOUGHT,
    ),
    (
        "thinking is enabled but reasoning_content is missing in assistant tool call message at"
        " index 2",
        THOUGHT,
    ),
    (
        "Tool call id was call_0fypS1hVX but must be a-z, A-Z, 0-9, with a length of 9.",
        {"short_ids": True},
    ),
    (
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use"
        " 'max_completion_tokens' instead.",
        NEW,
    ),
    ("Unrecognized request argument supplied: max_completion_tokens", OLD),
    (
        "Failed to deserialize the JSON body: messages[2]: unknown variant `image_url`, expected"
        " `text`",
        NO_IMAGES,
    ),
    ("this model does not support image input (ref: b8bd630e)", NO_IMAGES),
    ("No endpoints found that support image input", NO_IMAGES),
    ("image input is not supported - hint: you may need to provide the mmproj", NO_IMAGES),
    ("Model does not support images. Please use a model that does.", NO_IMAGES),
    ("m-1 is not a multimodal model", NO_IMAGES),
    (
        "'messages.1' : for 'role:user' 'messages.1.content' : content must be a string",
        {"null_content": False},  # and where that changes nothing NO_IMAGES
    ),
    ("Requests which include `tool_use` or `tool_result` blocks must define tools", IDLE),
    (
        "The toolConfig field must be defined when using the toolUse and toolResult content blocks",
        IDLE,
    ),
    ("Anthropic expects the `tools=` param to be passed in", IDLE),
    (
        "Function call is missing a thought_signature in functionCall parts.",
        {"foreign_extra": UNSIGNED},
    ),
    ("Cannot use tools with stream", {"stream_with_tools": False}),
    ("model not found", {}),
    ("unsupported image format: webp", {}),
    ("This model does not support image type image/tiff", {}),
    ("max_tokens is too large: 100000. This model supports at most 16384 tokens", {}),
    ("max_completion_tokens is too large: 100000", {}),
]
PIXEL = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
CALL = {"id": "call_of_another_kind", "type": "function"}
HISTORY: list[Any] = [
    {"id": "s1", "role": "system", "content": "rules"},
    {"id": "u1", "role": "user", "content": "first"},
    {"id": "u2", "role": "user", "content": [{"type": "text", "text": "look"}, PIXEL]},
    {
        "id": "a1",
        "role": "assistant",
        "content": "",
        "tool_calls": [{**CALL, "function": {"name": "see", "arguments": "{}"}}],
        "meta": {"model": "another"},
    },
    {"id": "t1", "role": "tool", "tool_call_id": CALL["id"], "content": "seen"},
    {"id": "a2", "role": "assistant", "content": "So"},
    {"id": "a3", "role": "assistant", "content": "it is."},
    {"id": "s2", "role": "system", "content": "more"},
    {"id": "u3", "role": "user", "content": "go on"},
]


class Words(unittest.TestCase):
    def test_what_a_refusal_teaches(self) -> None:
        old = replace(CUSTOM, max_tokens_field="max_tokens")
        for words, flags in SAID:
            base = old if flags == NEW else CUSTOM
            with self.subTest(words):
                body = json.dumps({"error": {"message": words}}).encode()
                found = learn_flags(body, base, {})
                self.assertEqual(dict(found), flags)
                more = {"reasoning_required_everywhere": True} if flags == THOUGHT else {}
                more = NO_IMAGES if "null_content" in flags else more
                self.assertEqual(dict(learn_flags(body, base, found)), more)
                known = {**found, **more}
                self.assertEqual(
                    dict(learn_flags(body, base, known)), {}, "nothing is learnt twice"
                )

    def test_each_lesson_has_its_words(self) -> None:
        for words, _ in QUIRKS:
            self.assertTrue(any(words.search(text) for text, _ in SAID), words.pattern)


class Sent(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.client = Client()

    async def asyncTearDown(self) -> None:
        await self.client.close()

    async def asked(self, *refusals: bytes, **changes: Any) -> list[Request]:
        """Two runs with a server that refuses as scripted, and then answers."""
        clock = FakeTime()
        async with serving(*refusals, answer(sse(said("yes"), STOP))) as server:
            source = provider(server.url, **changes)
            api = OpenAIAPI(
                source, self.client, EndpointState(clock), clock=clock, sleep=clock.sleep
            )
            for _ in range(2):
                events = [event async for event in api.stream(HISTORY, [], options())]
                self.assertEqual(message(events)["content"], "yes")
        self.assertEqual(len(server.requests), len(refusals) + 2, "what is learnt is remembered")
        self.assertEqual(server.requests[-1].body, server.requests[-2].body)
        return server.requests

    async def after(self, words: str, **changes: Any) -> dict[str, Any]:
        found: dict[str, Any] = (await self.asked(error("400 No", words), **changes))[-1].json
        return found

    async def test_one_system_message(self) -> None:
        body = await self.after(SAID[0][0])
        self.assertEqual([m["role"] for m in body["messages"]].count("system"), 1)
        self.assertEqual(body["messages"][-2]["content"], "<system>\nmore\n</system>")

    async def test_turns(self) -> None:
        for words, first in ((SAID[1][0], "system"), (SAID[6][0], "user")):
            body = await self.after(words)
            roles = [each["role"] for each in body["messages"] if each["role"] != "system"]
            with self.subTest(words):
                self.assertEqual(roles, ["user", "assistant", "tool", "assistant", "user"])
                self.assertEqual(body["messages"][0]["role"], first)
                self.assertEqual(body["messages"][-2]["content"], "So\n\nit is.")
                self.assertEqual(
                    body["messages"][-1]["content"], "<system>\nmore\n</system>\n\ngo on"
                )
                user = next(each for each in body["messages"] if each["role"] == "user")
                self.assertTrue(user["content"][0]["text"].endswith("first"))
                self.assertEqual(user["content"][1:], HISTORY[2]["content"])

    async def test_thoughts_that_another_model_had(self) -> None:
        body = await self.after(SAID[8][0])
        self.assertEqual(body["messages"][3]["reasoning_content"], "")

    async def test_ids(self) -> None:
        body = await self.after(SAID[10][0])
        (call,) = body["messages"][3]["tool_calls"]
        self.assertRegex(call["id"], r"\A[A-Za-z0-9]{9}\Z")
        self.assertEqual(body["messages"][4]["tool_call_id"], call["id"])

    async def test_the_limit(self) -> None:
        body = await self.after(SAID[11][0], max_tokens=9)
        self.assertEqual((body.get("max_tokens"), body["max_completion_tokens"]), (None, 9))
        body = await self.after(SAID[12][0], max_tokens=9, is_reasoning=True)
        self.assertEqual((body["max_tokens"], body.get("max_completion_tokens")), (9, None))

    async def test_a_model_without_eyes(self) -> None:
        body = await self.after(SAID[13][0])
        wanted = "look\n\n[image: this model cannot be given it]"
        self.assertEqual(body["messages"][2]["content"], wanted)

    async def test_signatures(self) -> None:
        body = await self.after(SAID[23][0])
        (call,) = body["messages"][3]["tool_calls"]
        self.assertEqual(call["extra_content"], UNSIGNED)

    async def test_several_lessons(self) -> None:
        refusals = [error("500 No", SAID[0][0]), error("404 No", SAID[15][0])]
        body = (await self.asked(*refusals))[-1].json
        self.assertNotIn("image_url", json.dumps(body))
        self.assertEqual([m["role"] for m in body["messages"]].count("system"), 1)

    async def test_a_second_refusal_is_told(self) -> None:
        clock = FakeTime()
        async with serving(error("400 No", SAID[13][0])) as server:
            api = OpenAIAPI(provider(server.url), self.client, EndpointState(clock), clock=clock)
            events = [event async for event in api.stream(HISTORY, [], options(retry_times=3))]
        self.assertEqual(len(server.requests), 2)
        self.assertIn("unknown variant", events[-1]["message"])

    async def test_two_at_once_are_both_taught(self) -> None:
        """The second refusal comes when the first has taught the model's rule already."""
        both, good = asyncio.Barrier(2), answer(sse(said("yes"), STOP))

        async def refuse(asker: Asker) -> None:
            await both.wait()
            await asker.send(error("400 No", SAID[0][0]))

        async with serving(refuse, refuse, good) as server:
            api = OpenAIAPI(provider(server.url), self.client, EndpointState(FakeTime()))

            async def ask() -> list[Event]:
                return [event async for event in api.stream(HISTORY, [], options())]

            for events in await asyncio.gather(ask(), ask()):
                self.assertEqual(message(events)["content"], "yes")

    async def test_what_did_not_help_is_not_kept(self) -> None:
        """Some errors quote what they were sent, which may be anything."""
        tool = {"type": "function", "function": {"name": "see", "parameters": {"type": "object"}}}
        for words, changes in (
            ("no: does not support images", {}),
            ("no: tool_choice", {"tool_choice": "required"}),
            ("no: does not support tools", {}),
        ):
            good = answer(sse(said("yes"), STOP))
            async with serving(error("400 No", words), error("400 No", "no"), good) as server:
                api = OpenAIAPI(provider(server.url), self.client, EndpointState(FakeTime()))
                for wanted in ("RUN_ERROR", "TEXT_MESSAGE_END"):
                    asked = options(retry_times=0, **changes)
                    found = [event async for event in api.stream(HISTORY, [tool], asked)]
                    self.assertIn(wanted, [event["type"] for event in found])
            first, second, third = (each.json for each in server.requests)
            with self.subTest(words):
                self.assertNotEqual(first, second)
                self.assertEqual(first, third)

    async def test_what_changes_nothing_is_not_asked_again(self) -> None:
        async with serving(error("400 No", SAID[13][0])) as server:
            api = OpenAIAPI(provider(server.url), self.client, peer := EndpointState(FakeTime()))
            events = [event async for event in api.stream(HISTORY[:2], [], options())]
        self.assertEqual(len(server.requests), 1)
        self.assertIn("unknown variant", events[-1]["message"])
        self.assertFalse(any(peer.lessons.values()))

    async def test_tools_that_may_not_be_called_are_declared(self) -> None:
        """At its limit of steps a model is offered no tools, and has called some before."""
        refusal = error("400 No", SAID[20][0])
        for speaker in SPEAKERS:
            good = answer(speaker.stream([("text", ["yes"])]))
            async with serving(refusal, good) as server:
                source = replace(provider(), url=server.url + API_PATHS[speaker.api])
                api = APIS[speaker.api](source, self.client, EndpointState(FakeTime()))
                events = [event async for event in api.stream(HISTORY, [], options())]
            first, second = (each.json for each in server.requests)
            with self.subTest(speaker.api):
                self.assertEqual(message(events)["content"], "yes")
                self.assertNotIn("tools", first)
                self.assertEqual(json.dumps(second["tools"]).count('"see"'), 1)
                self.assertIn(second["tool_choice"], ("none", {"type": "none"}))


if __name__ == "__main__":
    unittest.main()
