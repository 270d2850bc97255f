"""The official OpenAI SDK for Python drives /v1 as it drives OpenAI: its helpers, its retries."""

from __future__ import annotations

import asyncio
import json
import threading
import unittest
from collections.abc import Callable
from typing import Any, ClassVar

from ....protocols.served import Served
from ....tooling import tools

Json = dict[str, Any]
NEEDED = (tools.module("openai"),)
if all(tool.path for tool in NEEDED):
    import openai
    import pydantic

    class Weather(pydantic.BaseModel):  # type: ignore[misc]
        city: str
        degrees: int

    class GetWeather(pydantic.BaseModel):  # type: ignore[misc]
        city: str


PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FUNCTION = {"name": "get_weather", "description": "The weather.", "parameters": PARAMETERS}
TOOL = {"type": "function", "function": FUNCTION}


def script(body: Json) -> list[tuple[Any, ...]]:
    """By the first word of what the user said last."""
    said = [each["content"] for each in body["messages"] if each["role"] == "user"][-1]
    results = [each["content"] for each in body["messages"] if each["role"] == "tool"]
    order = said.split()[0] if isinstance(said, str) else "parts"
    if order == "weather":
        if results:
            return [("text", f"It is {results[-1]}.")]
        return [("text", "I ask."), ("call", "get_weather", '{"city":"北京"}')]
    if order == "mixed":
        if any("sunny" in each for each in results):
            return [("text", f"counted {sum('counted' in each for each in results)}")]
        return [("think", "t"), ("call", "count", "{}"), ("call", "get_weather", '{"city":"x"}')]
    if order == "json":
        return [("text", "Sure: "), ("text", '{"city":"京","degrees":3}')][len(results) :][-1:]
    if order == "refuse":
        return [("status", 400)]
    if order == "break":
        return [("status", 500)] if results else [("call", "count", "{}")]
    if order == "middle":
        return [("text", "half"), ("cut",)] if results else [("call", "count", "{}")]
    if order == "parts":
        return [("text", ",".join(part["type"] for part in said))]
    return [("think", "hm"), ("text", "Hé 你")]


def setUpModule() -> None:
    if all(tool.path for tool in NEEDED):
        Case.served = unittest.enterModuleContext(Served(script))


class Case(unittest.TestCase):
    served: ClassVar[Served]

    def setUp(self) -> None:
        self.served.provider.requests.clear()
        self.before = self.served.counted()
        self.sent: list[Any] = []

    def client(self, key: str = "") -> Any:
        """The SDK as it comes, its two retries included; `sent` has its requests."""
        http = openai.DefaultHttpxClient(event_hooks={"request": [self.sent.append]})
        key = key or self.served.key
        return self.enterContext(
            openai.OpenAI(base_url=self.served.url, api_key=key, http_client=http)
        )

    def ran(self) -> int:
        """How often the tool that counts has run in this test."""
        return self.served.counted() - self.before

    @staticmethod
    def asks(said: Any, **more: Any) -> Json:
        return {"model": "counter", "messages": [{"role": "user", "content": said}], **more}


@tools.needs(*NEEDED)
class Chat(Case):
    def test_models(self) -> None:
        names = [model.id for model in self.client().models.list()]
        self.assertIn("counter", names)
        self.assertEqual(self.client().models.retrieve("counter").owned_by, "yaa")

    def test_an_answer(self) -> None:
        found = self.client().chat.completions.create(**self.asks("hi"))
        self.assertEqual(found.choices[0].message.content, "Hé 你")
        self.assertEqual(found.choices[0].message.reasoning_content, "hm")
        self.assertEqual(found.usage.completion_tokens_details.reasoning_tokens, 2)
        self.assertTrue(found._request_id)

    def test_a_stream(self) -> None:
        options = {"stream": True, "stream_options": {"include_usage": True}}
        chunks = list(self.client().chat.completions.create(**self.asks("hi"), **options))
        texts = [each.choices[0].delta.content or "" for each in chunks if each.choices]
        self.assertEqual("".join(texts), "Hé 你")
        self.assertEqual((chunks[-1].choices, chunks[-1].usage.total_tokens), ([], 18))

    def test_the_stream_helper(self) -> None:
        kinds = []
        asked = self.asks(
            "weather", tools=[openai.pydantic_function_tool(GetWeather, name="get_weather")]
        )
        with self.client().chat.completions.stream(**asked) as stream:
            for event in stream:
                kinds.append(event.type)
            found = stream.get_final_completion()
        (call,) = found.choices[0].message.tool_calls
        self.assertEqual(call.function.parsed_arguments, GetWeather(city="北京"))
        self.assertIn("tool_calls.function.arguments.done", kinds)
        self.assertEqual(found.choices[0].finish_reason, "tool_calls")

    def test_parse(self) -> None:
        found = self.client().chat.completions.parse(**self.asks("json", response_format=Weather))
        self.assertEqual(found.choices[0].message.parsed, Weather(city="京", degrees=3))
        with self.client().chat.completions.stream(
            **self.asks("json", response_format=Weather)
        ) as stream:
            stream.until_done()
            parsed = stream.get_final_completion().choices[0].message.parsed
        self.assertEqual(parsed, Weather(city="京", degrees=3))

    def test_tools_and_back(self) -> None:
        """By the answer's own message, as the documentation does, and by one made anew."""
        client = self.client()
        for name, rebuilt in (("as it came", False), ("made anew", True)):
            with self.subTest(name):
                asked = self.asks("weather", tools=[TOOL])
                message = client.chat.completions.create(**asked).choices[0].message
                (call,) = message.tool_calls
                self.assertEqual(json.loads(call.function.arguments), {"city": "北京"})
                again: Any = message
                if rebuilt:
                    again = {"role": "assistant", "tool_calls": [call.to_dict()]}
                result = {"role": "tool", "tool_call_id": call.id, "content": "sunny"}
                asked["messages"] += [again, result]
                found = client.chat.completions.create(**asked)
                self.assertEqual(found.choices[0].message.content, "It is sunny.")

    def test_a_turn_of_both_kinds_of_tools(self) -> None:
        client = self.client()
        for name, streams in (("whole", False), ("streamed", True)):
            with self.subTest(name):
                self.before = self.served.counted()
                asked = self.asks("mixed", tools=[TOOL])
                if streams:
                    with client.chat.completions.stream(**asked) as stream:
                        message = stream.get_final_completion().choices[0].message
                else:
                    message = client.chat.completions.create(**asked).choices[0].message
                (call,) = message.tool_calls
                self.assertEqual((call.function.name, self.ran()), ("get_weather", 1))
                result = {"role": "tool", "tool_call_id": call.id, "content": "sunny"}
                asked["messages"] += [message, result]
                found = client.chat.completions.create(**asked)
                self.assertEqual(found.choices[0].message.content, "counted 1")
                self.assertEqual(self.ran(), 1)

    def test_parts(self) -> None:
        image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}
        audio = {"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}}
        asked = self.asks([{"type": "text", "text": "x"}, image, audio])
        found = self.client().chat.completions.create(**asked)
        self.assertEqual(found.choices[0].message.content, "text,image_url,input_audio")

    def test_async(self) -> None:
        async def main() -> tuple[str, str]:
            async with openai.AsyncOpenAI(
                base_url=self.served.url, api_key=self.served.key
            ) as client:
                chat = client.chat.completions
                whole, stream = await asyncio.gather(
                    chat.create(**self.asks("hi")), chat.create(**self.asks("hi"), stream=True)
                )
                texts = [each.choices[0].delta.content or "" async for each in stream]
                return whole.choices[0].message.content or "", "".join(texts)

        self.assertEqual(asyncio.run(main()), ("Hé 你", "Hé 你"))


@tools.needs(*NEEDED)
class Responses(Case):
    def test_an_answer(self) -> None:
        found = self.client().responses.create(model="counter", input="hi", instructions="be kind")
        self.assertEqual((found.output_text, found.status), ("Hé 你", "completed"))
        self.assertEqual([item.type for item in found.output], ["reasoning", "message"])
        self.assertEqual(found.output[0].summary[0].text, "hm")
        self.assertEqual(found.usage.input_tokens_details.cached_tokens, 3)
        roles = [each["role"] for each in self.served.provider.requests[0]["messages"]]
        self.assertEqual(roles, ["system", "system", "user"])

    def test_the_stream_helper(self) -> None:
        kinds = set()
        with self.client().responses.stream(model="counter", input="hi") as stream:
            for event in stream:
                kinds.add(event.type)
            found = stream.get_final_response()
        self.assertEqual(found.output_text, "Hé 你")
        self.assertLessEqual({"response.created", "response.output_text.done"}, kinds)
        raw = self.client().responses.create(model="counter", input="hi", stream=True)
        numbers = [event.sequence_number for event in raw]
        self.assertEqual(numbers, list(range(len(numbers))))

    def test_parse(self) -> None:
        found = self.client().responses.parse(model="counter", input="json", text_format=Weather)
        self.assertEqual(found.output_parsed, Weather(city="京", degrees=3))

    def test_tools_and_back(self) -> None:
        client = self.client()
        items: list[Any] = [{"role": "user", "content": "mixed"}]
        asked: Json = {"model": "counter", "tools": [{"type": "function", **FUNCTION}]}
        found = client.responses.create(**asked, input=items)
        call = found.output[-1]
        self.assertEqual((call.type, call.name, self.ran()), ("function_call", "get_weather", 1))
        output = {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}
        found = client.responses.create(**asked, input=[*items, *found.output, output])
        self.assertEqual((found.output_text, self.ran()), ("counted 1", 1))

    def test_a_later_turn_that_names_the_answer(self) -> None:
        client = self.client()
        first = client.responses.create(model="counter", input="hi")
        second = client.responses.create(
            model="counter", input="then", previous_response_id=first.id
        )
        said = [each["content"] for each in self.served.provider.requests[-1]["messages"][1:]]
        self.assertEqual(said, ["hi", "Hé 你", "then"])
        self.assertEqual(second.previous_response_id, first.id)
        with self.assertRaises(openai.BadRequestError) as caught:
            client.responses.create(model="counter", input="x", previous_response_id="r")
        self.assertEqual(caught.exception.param, "previous_response_id")


@tools.needs(*NEEDED)
class Errors(Case):
    def test_are_raised_as_what_they_are(self) -> None:
        for name, key, asked, kind, code in (
            ("key", "no", self.asks("hi"), openai.AuthenticationError, "invalid_api_key"),
            (
                "model",
                "",
                {**self.asks("hi"), "model": "gpt-4o"},
                openai.NotFoundError,
                "model_not_found",
            ),
            ("field", "", self.asks("hi", n=2), openai.BadRequestError, "request_invalid"),
        ):
            with self.subTest(name), self.assertRaises(kind) as caught:
                self.client(key).chat.completions.create(**asked)
            self.assertEqual(caught.exception.code, code)
            self.assertTrue(caught.exception.request_id)
            self.assertEqual(len(self.sent), 1)
            self.sent.clear()

    def test_a_run_that_began_is_never_repeated(self) -> None:
        """By itself the SDK sends a POST three times when it is answered 502. It sends no key that
        would tell a repetition from a new request. Other clients go by the status alone."""
        client = self.client()
        calls: dict[str, Callable[[], Any]] = {
            "chat": lambda: client.chat.completions.create(**self.asks("break")),
            "responses": lambda: client.responses.create(model="counter", input="break"),
        }
        for name, call in calls.items():
            with self.subTest(name):
                self.sent.clear()
                self.before = self.served.counted()
                with self.assertRaises(openai.APIStatusError) as caught:
                    call()
                found = (caught.exception.status_code, caught.exception.code)
                self.assertEqual(found, (424, "upstream_error"))
                self.assertEqual((len(self.sent), self.ran()), (1, 1))
                self.assertNotIn("idempotency-key", self.sent[0].headers)

    def test_what_the_provider_refuses_is_a_bad_request(self) -> None:
        client = self.client()
        calls: dict[str, Callable[[], Any]] = {
            "chat": lambda: client.chat.completions.create(**self.asks("refuse")),
            "responses": lambda: client.responses.create(model="counter", input="refuse"),
        }
        for name, call in calls.items():
            with self.subTest(name):
                self.sent.clear()
                self.served.provider.requests.clear()
                with self.assertRaises(openai.BadRequestError):
                    call()
                self.assertEqual((len(self.sent), len(self.served.provider.requests)), (1, 1))

    def test_in_the_middle_of_a_stream(self) -> None:
        texts = []
        with self.assertRaises(openai.APIError) as caught:
            for chunk in self.client().chat.completions.create(**self.asks("middle"), stream=True):
                texts.append(chunk.choices[0].delta.content or "")
        self.assertEqual("".join(texts), "half")
        self.assertIn("main", caught.exception.message)
        self.assertEqual((len(self.sent), self.ran()), (1, 1))

    def test_what_never_began_is_repeated(self) -> None:
        """429 comes before any run, with the time to wait: the SDK asks again and gets through."""
        gate, seen = threading.Event(), list[tuple[int, str]]()

        def answered(response: Any) -> None:
            seen.append((response.status_code, response.headers.get("retry-after", "")))
            if response.status_code == 429:
                gate.set()

        def held(body: Json) -> list[tuple[Any, ...]]:
            return [("wait", gate)] if "hold" in str(body) else [("text", "free")]

        with Served(held, {"max_runs": 1}) as served:
            http = openai.DefaultHttpxClient(event_hooks={"response": [answered]})
            with openai.OpenAI(base_url=served.url, api_key=served.key, http_client=http) as client:
                first = client.chat.completions.create(**self.asks("hold"), stream=True)
                found = client.chat.completions.create(**self.asks("hi"))
                self.assertTrue(list(first))
        self.assertEqual(found.choices[0].message.content, "free")
        self.assertEqual(seen, [(200, ""), (429, "2"), (200, "")])


if __name__ == "__main__":
    unittest.main()
