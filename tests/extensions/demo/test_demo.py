"""The demo model: its tour, its commands, and that it never pretends."""

from __future__ import annotations

import asyncio
import json
import re
import unittest
from itertools import count
from typing import Any

from server.extensions.demo.demo import MOST_DELTAS, DemoAPI, decide
from server.json_types import Event, Message

from ...models.fakes import check_brackets, fold, options, tool
from ...tooling.tools import ROOT

CLIENT = ROOT / "client"
EVERY = [
    tool("datetime"),
    tool("calculator", {"expression": {"type": "string"}}),
    tool("shell", {"command": {"type": "string"}}),
    tool("write_file", {"path": {"type": "string"}, "content": {"type": "string"}}),
    tool("ask_user", {"question": {"type": "string"}}),
]


def talk(text: Any) -> list[Any]:
    return [
        {"id": "s", "role": "system", "content": "x"},
        {"id": "u", "role": "user", "content": text},
    ]


class Case(unittest.IsolatedAsyncioTestCase):
    async def ask(self, messages: list[Any], tools: Any = EVERY, **changes: Any) -> list[Event]:
        api = DemoAPI(0, sleep=lambda seconds: asyncio.sleep(0))
        return [event async for event in api.stream(messages, list(tools), options(**changes))]

    async def play(self, text: str, tools: Any = EVERY, **changes: Any) -> list[Any]:
        """Talk until there are no more calls; every result is "ok <tool>"."""
        messages, numbers = talk(text), count()
        for number in range(9):
            ids = {"message_id": f"m{number}", "reasoning_id": f"r{number}"}
            asked = {**ids, "new_id": lambda kind: f"{kind}_{next(numbers)}", **changes}
            events = await self.ask(messages, tools, **asked)
            self.assertEqual(check_brackets(events), [])
            messages = fold(events, {"messages": messages})["messages"]
            calls = messages[-1].get("tool_calls", [])
            if not calls:
                return list(messages)
            for call in calls:
                name = call["function"]["name"]
                json.loads(call["function"]["arguments"])
                result: Message = {"role": "tool", "tool_call_id": call["id"], "name": name}
                messages.append({**result, "id": f"t{number}", "content": f"ok {name}"})
        raise AssertionError("it never ends")


def called(messages: list[Any]) -> list[str]:
    calls = [call for message in messages for call in message.get("tool_calls") or ()]
    return [call["function"]["name"] for call in calls]


class Tour(Case):
    async def test_all_of_it(self) -> None:
        messages = await self.play("hello")
        self.assertEqual(called(messages), ["datetime", "shell", "ask_user"])
        first, last = messages[2], messages[-1]
        self.assertIn("no AI", first["content"])
        self.assertIn("no AI", first["reasoning"]["text"])
        for quoted in ("ok datetime", "ok shell", "ok ask_user", "no AI was used"):
            self.assertIn(quoted, last["content"])

    async def test_the_examples_of_the_page_do_what_they_say(self) -> None:
        cases = []
        for language in ("en", "zh"):
            words = (CLIENT / f"js/i18n/{language}.js").read_text(encoding="utf-8")
            said = dict(re.findall(r"'starter\.(\w+)\.text': '(.*)',", words))
            self.assertEqual(set(said), {"hello", "tool", "question", "code"})
            cases += [
                (said["hello"], ["datetime", "shell", "ask_user"], "ok ask_user"),
                (said["tool"], ["shell"], "ok shell"),
                (said["question"], ["ask_user"], "1. "),
                (said["code"], [], "def read_rows(path):"),
            ]
        for text, calls, last in cases:
            with self.subTest(text):
                messages = await self.play(text)
                self.assertEqual(called(messages), calls)
                self.assertIn(last, messages[-1]["content"])
                self.assertRegex(messages[-1]["content"], "no AI|非 AI|没有.*AI")
        command = (await self.play(said["tool"]))[2]["tool_calls"][0]["function"]["arguments"]
        self.assertIn("ls", command)
        plain = await self.play(said["question"], [])
        self.assertIn("1. ", plain[-1]["content"])

    async def test_what_is_not_offered_is_said(self) -> None:
        cases = [
            (["calculator", "write_file"], ["calculator", "write_file"], ["ask_user"]),
            (["datetime"], ["datetime"], ["shell", "ask_user"]),
            (["other"], [], ["datetime", "shell", "ask_user"]),
        ]
        for names, wanted, missing in cases:
            with self.subTest(names):
                messages = await self.play("hello", [tool(name) for name in names])
                self.assertEqual(called(messages), wanted)
                for name in missing:
                    self.assertIn(f"`{name}` is not offered", messages[-1]["content"])

    async def test_without_tools(self) -> None:
        (event,) = [e for e in await self.ask(talk("hello"), []) if e["type"] == "TEXT_MESSAGE_END"]
        self.assertEqual(event["metadata"]["yaa"]["meta"]["finish_reason"], "stop")
        after: Any = [
            *talk("hello"),
            {"role": "tool", "tool_call_id": "c", "name": "f", "content": "7"},
        ]
        self.assertIn("> **f**: 7", decide(after, []).text)

    async def test_a_new_message_starts_again(self) -> None:
        messages = await self.play("hello")
        again: Any = [*messages, {"id": "u2", "role": "user", "content": "hello"}]
        self.assertEqual(decide(again, EVERY).calls, (("datetime", {}),))

    async def test_chinese(self) -> None:
        for text, language in (("你好", ""), ("hello", "zh-CN")):
            messages = await self.play(text, language=language)
            self.assertIn("没有 AI", messages[2]["content"])
            self.assertIn("没有使用 AI", messages[-1]["content"])
        self.assertIn("no AI", (await self.play("hello", language="en"))[2]["content"])

    async def test_the_same_session_gets_the_same_answer(self) -> None:
        messages = await self.play("hello")
        for end in range(2, len(messages)):
            if messages[end - 1]["role"] != "assistant":
                self.assertEqual(decide(messages[:end], EVERY), decide(messages[:end], EVERY))


class Commands(Case):
    async def test_calls(self) -> None:
        cases: list[tuple[str, list[tuple[str, Any]]]] = [
            ("calc 2+3*4", [("calculator", {"expression": "2+3*4"})]),
            ("CALC  1", [("calculator", {"expression": "1"})]),
            ("time", [("datetime", {})]),
            ("shell ls -l", [("shell", {"command": "ls -l"})]),
            ("ask which one?", [("ask_user", {"question": "which one?"})]),
            ("two tools", [("calculator", {"expression": "6*7"}), ("datetime", {})]),
        ]
        for text, wanted in cases:
            with self.subTest(text):
                self.assertEqual(list(decide(talk(text), EVERY).calls), wanted)
        ((name, arguments),) = decide(talk("write a.txt"), EVERY).calls
        self.assertEqual((name, arguments["path"]), ("write_file", "a.txt"))
        self.assertIn("No AI", arguments["content"])

    async def test_results_are_quoted(self) -> None:
        for text in ("calc 1", "time", "shell x", "write", "ask", "two tools"):
            with self.subTest(text):
                messages = await self.play(text)
                self.assertIn("no AI", messages[-1]["content"])
                for name in called(messages):
                    self.assertIn(f"**{name}**: ok {name}", messages[-1]["content"])

    async def test_a_tool_that_is_not_there(self) -> None:
        messages = await self.play("shell ls", [tool("datetime")])
        self.assertEqual(called(messages), [])
        self.assertIn("`shell` is not offered", messages[-1]["content"])

    async def test_other_names_for_parameters(self) -> None:
        offered = [tool("ask_user", {"message": {"type": "string"}})]
        ((_, arguments),) = decide(talk("ask why"), offered).calls
        self.assertEqual(arguments, {"message": "why"})

    async def test_stream(self) -> None:
        for number in (0, 1, 200, 5000):
            events = await self.ask(talk(f"stream {number}"))
            deltas = [e["delta"] for e in events if e["type"] == "TEXT_MESSAGE_CONTENT"]
            with self.subTest(number):
                self.assertEqual([len(delta) for delta in deltas], [1] * number)
                self.assertEqual({" ", "\n"} - set(deltas), set() if number >= 200 else {" ", "\n"})
        self.assertEqual(decide(talk("stream 999999999"), []).deltas, MOST_DELTAS)
        self.assertEqual(decide(talk("stream ٣"), []).deltas, 100)

    async def test_fail_think_slow(self) -> None:
        (event,) = await self.ask(talk("fail"))
        self.assertEqual((event["type"], event["code"]), ("RUN_ERROR", "upstream_error"))
        self.assertTrue(event["metadata"]["yaa"]["retryable"])
        kinds = [event["type"] for event in await self.ask(talk("think"))]
        self.assertIn("REASONING_MESSAGE_CONTENT", kinds)
        slept: list[float] = []

        async def sleep(seconds: float) -> None:
            slept.append(seconds)

        for text in ("slow", "think"):
            async for _ in DemoAPI(0.01, sleep=sleep).stream(talk(text), [], options()):
                pass
        self.assertGreater(slept[0], 5 * slept[-1])

    async def test_words_are_cut_and_nothing_is_lost(self) -> None:
        for text in ("hello", "你好", "think", "slow"):
            answer = decide(talk(text), EVERY)
            events = await self.ask(talk(text))
            said = [e["delta"] for e in events if e["type"] == "TEXT_MESSAGE_CONTENT"]
            thought = [e["delta"] for e in events if e["type"] == "REASONING_MESSAGE_CONTENT"]
            self.assertEqual(("".join(said), "".join(thought)), (answer.text, answer.thought))
            self.assertNotIn("", said)


class Odd(Case):
    async def test_odd_messages(self) -> None:
        for messages in (
            [],
            [{"role": "system", "content": "x"}],
            talk(""),
            talk(None),
            talk([{"type": "text", "text": "time"}, {"type": "image_url"}]),
            talk("{quote} {0} %s"),
        ):
            with self.subTest(messages):
                events = await self.ask(messages)
                self.assertEqual(events[-1]["type"], "TEXT_MESSAGE_END")

    async def test_braces_in_results(self) -> None:
        result: Any = {
            "role": "tool",
            "tool_call_id": "c",
            "name": "calculator",
            "content": "{x} {0}",
        }
        self.assertIn("{x} {0}", decide([*talk("calc 1"), result], EVERY).text)

    async def test_long_results_are_cut(self) -> None:
        result: Any = {"role": "tool", "tool_call_id": "c", "name": "shell", "content": "x" * 10**6}
        self.assertLess(len(decide([*talk("shell x"), result], EVERY).text), 2000)

    async def test_a_title(self) -> None:
        asked = talk("Write a title of at most six words for this conversation.")
        self.assertEqual(decide(asked, []).text, "A look around with the demo model")


if __name__ == "__main__":
    unittest.main()
