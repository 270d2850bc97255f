"""The vendors' own SDKs judge how we speak to their APIs.

Requests are held against the SDKs' parameter types; the streams our decoders are tested with go
through the SDKs' own stream parsers, and both must understand the same.
"""

from __future__ import annotations

import json
import unittest
from typing import Any

from server.models.chat_request import ModelRequest, ToolNameMap
from server.models.decoder import StreamReader
from server.models.tool_mode import NATIVE

from ..extensions import needs
from ..models.fakes import APIS, answer, message, options, provider, serving, tool
from ..models.speakers import Messages, Part, Responses, Speaker
from ..tooling import tools

Json = dict[str, Any]
OPENAI, ANTHROPIC = tools.module("openai"), tools.module("anthropic")
if OPENAI.path and ANTHROPIC.path:
    import anthropic
    import openai
    from anthropic.types.message_create_params import MessageCreateParamsStreaming
    from openai.types.responses.response_create_params import ResponseCreateParamsStreaming

    from .typed import misfits

ANSWER: list[Part] = [
    ("think", ["First ", "I think. ☃"], "c2VhbA=="),
    ("text", ["Then ", "I say 🙂."]),
    ("call", "call_1", "get_time", ['{"zone"', ':"UTC"}']),
    ("call", "call_2", "fs_list", ["{}"]),
]
PNG, PDF = "data:image/png;base64,iVBORw0KGgo=", "data:application/pdf;base64,JVBERg=="
PARTS = [
    {"type": "text", "text": "look"},
    {"type": "image_url", "image_url": {"url": PNG}},
    {"type": "image_url", "image_url": {"url": "https://example.org/x.png"}},
    {"type": "file", "file": {"filename": "a.pdf", "file_data": PDF}},
]
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
FORMAT = {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA, "strict": True}}


def made_by(speaker: Speaker) -> Any:
    """Our message of that answer."""
    source = provider(api=speaker.api)
    reader = StreamReader(APIS[speaker.api].decoder(source, options()), source)
    return message([*reader.feed(speaker.stream(ANSWER)), *reader.finish(1)])


def conversations(speaker: Speaker) -> dict[str, list[Json]]:
    said = made_by(speaker)
    results = [
        {"role": "tool", "tool_call_id": call["id"], "content": content, "is_error": True}
        for call, content in zip(said["tool_calls"], ("noon", PARTS), strict=True)
    ]
    system, user = {"role": "system", "content": "be good"}, {"role": "user", "content": PARTS}
    return {
        "a question": [{"role": "user", "content": "hi"}],
        "parts": [system, user],
        "thoughts and calls": [system, user, said, *results],
        "and on": [system, user, said, *results, system, {"role": "user", "content": ""}],
    }


def variants() -> dict[str, tuple[Json, Json]]:
    """(changes of the provider, options) of requests."""
    budget = {"thinking": {"type": "enabled", "budget_tokens": 2000}}
    return {
        "plain": ({}, {}),
        "reasoning": ({"is_reasoning": True, "settings": {"reasoning_effort": "low"}}, {}),
        "with a budget": ({"settings": budget, "preset": "anthropic"}, {}),
        "limits": ({"max_tokens": 500}, {"response_format": FORMAT}),
        "required": ({"preset": "openai"}, {"tool_choice": "required"}),
        "named": ({"settings": {"parallel_tool_calls": False}}, {"tool_choice": "get_time"}),
        "auto": ({}, {"tool_choice": "auto"}),
    }


@tools.needs(OPENAI, ANTHROPIC)
class Requests(unittest.TestCase):
    def check(self, speaker: Speaker, hint: Any) -> None:
        offered = [tool("get_time", {"zone": {"type": "string"}}), tool("fs.list")]
        for name, messages in conversations(speaker).items():
            for variant, (changes, asked) in variants().items():
                if speaker.api == "responses" and variant == "with a budget":
                    continue  # a setting of the other API
                source = provider(api=speaker.api, **changes)
                rest: Any = messages, offered, options(**asked), NATIVE, ToolNameMap()
                body = APIS[speaker.api].request(ModelRequest(source, *rest))
                with self.subTest(name, variant=variant):
                    self.assertEqual(misfits(json.loads(json.dumps(body)), hint), [])

    @needs("messages_api")
    def test_messages(self) -> None:
        self.check(Messages(), MessageCreateParamsStreaming)

    @needs("responses_api")
    def test_responses(self) -> None:
        self.check(Responses(), ResponseCreateParamsStreaming)

    def test_the_check_finds_something(self) -> None:
        good: Json = {"model": "m", "max_tokens": 1, "messages": [], "stream": True}
        wrong: list[Json] = [
            {"max_tokens": "1"},
            {"typo": 1},
            {"messages": [{"role": "user", "content": [{"type": "text"}]}]},
            {"messages": [{"role": "tool", "content": "x"}]},
            {"tools": [{"name": "f", "parameters": {}}]},
        ]
        self.assertEqual(misfits(good, MessageCreateParamsStreaming), [])
        for each in wrong:
            with self.subTest(each):
                self.assertNotEqual(misfits({**good, **each}, MessageCreateParamsStreaming), [])


@tools.needs(OPENAI, ANTHROPIC)
class Streams(unittest.IsolatedAsyncioTestCase):
    @needs("messages_api")
    async def test_messages(self) -> None:
        ours = made_by(Messages())
        async with serving(answer(Messages().stream(ANSWER))) as server:
            async with anthropic.AsyncAnthropic(
                base_url=server.url.removesuffix("/v1"), api_key="x", max_retries=0
            ) as client:
                asked = {"model": "m", "max_tokens": 9, "messages": []}
                async with client.messages.stream(**asked) as stream:
                    theirs = (await stream.get_final_message()).to_dict()
        self.assertEqual(server.requests[0].line, "POST /v1/messages HTTP/1.1")
        thought, text, *calls = theirs["content"]
        self.assertEqual([each["item"] for each in ours["reasoning"]["details"]], [thought])
        self.assertEqual(ours["content"], text["text"])
        self.assert_calls(ours, [(call["name"], call["input"]) for call in calls])
        used, told = ours["meta"]["usage"], theirs["usage"]
        cached = told["cache_read_input_tokens"]
        whole = told["input_tokens"] + cached + told["cache_creation_input_tokens"]
        self.assertEqual((used["prompt_tokens"], used["cached_tokens"]), (whole, cached))
        self.assertEqual(used["completion_tokens"], told["output_tokens"])

    @needs("responses_api")
    async def test_responses(self) -> None:
        ours = made_by(Responses())
        async with serving(answer(Responses().stream(ANSWER))) as server:
            async with openai.AsyncOpenAI(
                base_url=server.url, api_key="x", max_retries=0
            ) as client:
                async with client.responses.stream(model="m", input="hi") as stream:
                    theirs = (await stream.get_final_response()).to_dict()
        self.assertEqual(server.requests[0].line, "POST /v1/responses HTTP/1.1")
        thought, text, *calls = theirs["output"]
        self.assertEqual([each["item"] for each in ours["reasoning"]["details"]], [thought])
        self.assertEqual(ours["content"], text["content"][0]["text"])
        self.assert_calls(ours, [(call["name"], json.loads(call["arguments"])) for call in calls])
        used, told = ours["meta"]["usage"], theirs["usage"]
        self.assertEqual(used["total_tokens"], told["total_tokens"])
        self.assertEqual(used["cached_tokens"], told["input_tokens_details"]["cached_tokens"])

    def assert_calls(self, ours: Json, theirs: list[tuple[str, Json]]) -> None:
        """The same calls in the same order. Their ids are the session's own, never the model's."""
        calls = ours["tool_calls"]
        made = [call["function"] for call in calls]
        self.assertEqual([(each["name"], json.loads(each["arguments"])) for each in made], theirs)
        self.assertEqual(len({call["id"] for call in calls}), len(calls))


if __name__ == "__main__":
    unittest.main()
