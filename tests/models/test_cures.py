"""A refusal that names its cure is followed: once, kept for the model, and said."""

from __future__ import annotations

import json
import unittest
from dataclasses import replace
from typing import Any

from server.json_types import Event
from server.lib.http.client import Client
from server.models.chat import OpenAIAPI
from server.models.http_model import RemoteAPI
from server.models.provider import API_PATHS
from server.models.quirks import LEFT_OUT, EndpointState, cures, other_api
from server.models.registry import Models

from ..extensions import needs
from .fakes import (
    APIS,
    PRESETS,
    Server,
    answer,
    error,
    message,
    options,
    provider,
    serving,
    tool,
    usual_api,
)
from .speakers import BY_API, Part

ASK: Any = [{"id": "u1", "role": "user", "content": "go"}]
YES = [("text", ["yes"])]
EFFORT = (
    "Function tools with reasoning_effort are not supported for m-1 in /v1/chat/completions."
    " To use function tools, use /v1/responses or set reasoning_effort to 'none'."
)
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
BODY: dict[str, Any] = {"stream": True, "temperature": 0.5, "top_p": 0.5, "tool_choice": "auto"}
# (what is sent, what a provider says, `param`, what is sent then)
SAID: list[tuple[dict[str, Any], str, str, dict[str, Any]]] = [
    (BODY, "No.", "temperature", {"temperature": LEFT_OUT}),
    (BODY, "`temperature` and `top_p` cannot both be specified.", "", {"top_p": LEFT_OUT}),
    (BODY, "`temperature` is deprecated for this model.", "", {"temperature": LEFT_OUT}),
    (BODY, "'temperature' or 'top_p' is wrong", "", {}),
    (BODY, "'temperature' is expected to be a number", "", {}),
    (BODY, "Invalid value: must be between 0 and 2", "temperature", {}),
    (BODY, "No.", "messages", {}),
    (BODY, "No.", "", {}),
    (BODY, "The 'seed' is not known", "seed", {}),  # it was not sent
    (BODY, "'stream' is not known", "", {"stream": LEFT_OUT}),
    ({"stream": False}, "This model only support stream mode", "", {"stream": True}),
    (
        {"stream": False},
        "The stream parameter: `stream` must be set to true.",
        "",
        {"stream": True},
    ),
    ({"stream": True}, "stream must be set to true", "", {}),
    ({"stream": False}, "'stream' is not known", "", {}),
    (
        {"stream": False},
        "parameter.enable_thinking must be set to false for non-streaming calls",
        "",
        {"enable_thinking": False},
    ),
    ({}, EFFORT, "reasoning_effort", {"reasoning_effort": "none"}),
    ({"reasoning_effort": "none"}, EFFORT, "reasoning_effort", {"reasoning_effort": LEFT_OUT}),
]


def refusal(words: str, param: str = "") -> bytes:
    return error("400 No", words, **({"param": param} if param else {}))


class Read(unittest.TestCase):
    def test_what_a_refusal_wants_otherwise(self) -> None:
        for body, words, param, wanted in SAID:
            said = json.dumps({"error": {"message": words, "param": param or None}}).encode()
            with self.subTest(words, body=body):
                self.assertEqual(cures(said, body, OpenAIAPI.optional), wanted)

    def test_broken_bodies(self) -> None:
        for said in (b"", b"\xff", b"[]", b'"x"', b'{"error":"x"}', b"[" * 9000):
            self.assertEqual(cures(said, BODY, OpenAIAPI.optional), {})

    @needs("messages_api", "responses_api")
    def test_which_api_it_names(self) -> None:
        for words, api, wanted in (
            (EFFORT, "chat", "responses"),
            (EFFORT, "responses", "chat"),
            ("This model is only supported in v1/responses", "chat", "responses"),
            ("This model is only supported in v1/responses", "responses", ""),
            ("Invalid URL (POST /v1/chat/completions)", "chat", ""),
            ("Use /v1/completions", "chat", ""),
            ("Use /v1/responses or /v1/messages", "chat", ""),
        ):
            with self.subTest(words, api=api):
                said = json.dumps({"error": {"message": words}}).encode()
                self.assertEqual(other_api(said, api), wanted)


class Sent(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.client = Client()
        self.addAsyncCleanup(self.client.close)

    async def run_twice(self, api: RemoteAPI, **asked: Any) -> list[Any]:
        """Return the messages of two calls, the event of a failure in place of one."""
        made = []
        for _ in range(2):
            events: list[Event] = [
                e async for e in api.stream(ASK, [tool("look")], options(**asked))
            ]
            failed = events[-1]["type"] == "RUN_ERROR"
            made.append(events[-1] if failed else message(events))
        return made

    async def test_each_is_followed_once_and_said(self) -> None:
        speaker = BY_API["chat"]
        for words, param, asked, name, values in (
            ("No.", "temperature", {}, "temperature", [0.5, None, None]),
            ("only support stream mode", "", {"stream": False}, "stream", [False, True, True]),
            ("set reasoning_effort to 'none'", "", {}, "reasoning_effort", [None, "none", "none"]),
            ("Cannot use tools with stream", "", {}, "stream", [True, False, False]),
        ):
            scripts = refusal(words, param), answer(speaker.stream(YES))
            async with serving(*scripts) as server:
                settings = {"use_custom_temp": True, "temperature": 0.5}
                api = OpenAIAPI(provider(server.url, settings=settings), self.client)
                made = await self.run_twice(api, **asked)
            with self.subTest(words):
                self.assertEqual([each.json.get(name) for each in server.requests], values)
                self.assertEqual([each["content"] for each in made], ["yes", "yes"])
                found = [each["meta"].get("warnings", []) for each in made]
                if words != "Cannot use tools with stream":  # a flag of the preset
                    self.assertEqual([each["code"] for each in found[0]], ["request_changed"])
                    self.assertIn(name, found[0][0]["message"])
                self.assertEqual(found[1], [])

    async def test_a_refusal_that_stays_is_told_and_nothing_is_kept(self) -> None:
        peer = EndpointState()
        async with serving(refusal("No.", "stream")) as server:
            made = await self.run_twice(OpenAIAPI(provider(server.url), self.client, peer))
        self.assertEqual([each["code"] for each in made], ["upstream_error"] * 2)
        self.assertEqual((len(server.requests), peer.lessons), (4, {"m-1": {}}))

    async def test_null_beside_calls(self) -> None:
        """It is no refusal of pictures: a later one is still sent."""
        call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        asked = [*ASK, {"id": "a", "role": "assistant", "tool_calls": [call]}]
        asked.append({"id": "t", "role": "tool", "tool_call_id": "c", "content": "it"})
        for words in (
            "'content' field must be a string or an array of objects",
            "Input should be a valid string [type=string_type, input_value=None]",
        ):
            peer = EndpointState()
            scripts = refusal(words), answer(BY_API["chat"].stream(YES))
            async with serving(*scripts) as server:
                api = OpenAIAPI(provider(server.url), self.client, peer)
                events = [event async for event in api.stream(asked, [], options())]
            with self.subTest(words):
                self.assertEqual(message(events)["content"], "yes")
                sent = [each.json["messages"][1]["content"] for each in server.requests]
                self.assertEqual(sent, [None, ""])
                self.assertEqual(peer.lessons["m-1"], {("flag", "null_content"): False})

    async def test_only_the_picture_that_is_refused_becomes_words(self) -> None:
        """By its place, or the largest; kept for the model, so that no later run is refused."""
        urls = [f"data:image/png;base64,{PIXEL}{'A' * size}" for size in (4, 80, 40)]
        parts = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
        asked: Any = [
            {"id": "u", "role": "user", "content": [{"type": "text", "text": "?"}, *parts]}
        ]
        large = "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum"
        for api, status, words, param, left in (
            ("messages", "400 No", large, "", urls[1:]),
            ("chat", "400 No", "Invalid image.", "messages.[0].content.[3].image_url", urls[:2]),
            ("responses", "400 No", "Invalid.", "input[0].content[2].image_url", urls[::2]),
            ("chat", "413 No", "the image is too large", "", urls[::2]),
            ("responses", "400 No", "No image here", "", []),
        ):
            if api not in APIS:
                continue
            peer = EndpointState()
            no = error(status, words, **({"param": param} if param else {}))
            yes = answer(BY_API[api].stream(YES))
            async with serving(no, yes) as server:
                for run in range(2):
                    given = provider(server.url + API_PATHS[api], api=api)
                    model = APIS[api](given, self.client, peer)
                    found = message([e async for e in model.stream(asked, [], options())])
                    codes = [each["code"] for each in found["meta"].get("warnings", ())]
                    with self.subTest(api, words=words, run=run):
                        self.assertEqual(found["content"], "yes")
                        self.assertEqual(codes, ["request_changed"] * (run == 0))
            sent = [json.dumps(each.json) for each in server.requests]
            seen = [[u for u in urls if f'{u.partition(",")[2]}"' in body] for body in sent]
            with self.subTest(api, words=words):
                self.assertEqual(seen, [urls, left, left])

    def models(self, server: Server) -> Models:
        entry = {"api_url": server.url, "api_key": "k", "model_name": "m-1"}
        return Models({"providers": {"main": entry}}, self.client, {})

    @needs("responses_api")
    async def test_the_other_api_is_used_from_then_on(self) -> None:
        scripts = refusal(EFFORT, "reasoning_effort"), answer(BY_API["responses"].stream(YES))
        async with serving(*scripts) as server:
            made = self.models(server)
            first, second = made.resolve({}), made.resolve({})
            for model in (first, second, made.resolve({})):
                assert isinstance(model.api, RemoteAPI)
                said = await self.run_twice(model.api)
                self.assertEqual([each["content"] for each in said], ["yes", "yes"])
                codes = [each["code"] for each in said[0]["meta"].get("warnings", ())]
                self.assertEqual(codes, ["request_changed"] if model is first else [])
        paths = [each.line.split()[1] for each in server.requests]
        self.assertEqual(paths, ["/v1/chat/completions", *["/v1/responses"] * 2, *paths[3:]])
        self.assertIsInstance(made.resolve({}).api, APIS["responses"])

    @needs("responses_api")
    async def test_where_the_other_api_is_missing_the_value_is_sent(self) -> None:
        last = answer(BY_API["chat"].stream(YES))
        scripts = refusal(EFFORT), error("404 No", "not found"), refusal(EFFORT), last
        async with serving(*scripts) as server:
            api = self.models(server).resolve({}).api
            assert isinstance(api, RemoteAPI)
            said = await self.run_twice(api)
        self.assertEqual([each["content"] for each in said], ["yes", "yes"])
        efforts = [each.json.get("reasoning_effort") for each in server.requests]
        self.assertEqual(efforts, [None, None, None, "none", "none"])


class Presets(unittest.IsolatedAsyncioTestCase):
    async def test_each_answers_a_conversation_with_tools_twice(self) -> None:
        """What the first answer brought goes back in the second request, and it is accepted."""
        client = Client()
        self.addAsyncCleanup(client.close)
        looks: list[list[Part]] = [
            [("think", ["Hm"], "c2ln"), ("text", ["I look."]), ("call", name, "look", ["{}"])]
            for name in ("c1", "c2")
        ]
        for preset in PRESETS.values():
            if not (spoken := usual_api(preset)):
                continue
            speaker = BY_API[spoken]
            answers = [answer(speaker.stream(parts)) for parts in (*looks, YES)]
            async with serving(*answers) as server:
                source = provider(server.url, preset.name, api=spoken)
                source = replace(source, url=server.url + API_PATHS[spoken])
                asked = list(ASK)
                for turn in range(4):
                    api = APIS[spoken](source, client)
                    events = [e async for e in api.stream(asked, [tool("look")], options())]
                    with self.subTest(preset.name, turn=turn):
                        made = message(events)
                        asked.append({**made, "id": f"a{turn}"})
                        for call in made.get("tool_calls", ()):
                            result = {"id": f"t{turn}", "role": "tool", "content": "it"}
                            asked.append({**result, "tool_call_id": call["id"], "name": "look"})
                        asked.append({"id": f"u{turn}", "role": "user", "content": "on"})
                        self.assertEqual(made["content"], "I look." if turn < 2 else "yes")
                        self.assertEqual(made["meta"].get("warnings", []), [])
                heard = speaker.heard(server.requests[-1].json)
                with self.subTest(preset.name):
                    kinds = [kind for kind, _ in heard]
                    self.assertEqual((kinds.count("call"), kinds.count("result")), (2, 2))
                    calls = [what[0] for kind, what in heard if kind == "call"]
                    self.assertEqual([what[0] for kind, what in heard if kind == "result"], calls)


if __name__ == "__main__":
    unittest.main()
