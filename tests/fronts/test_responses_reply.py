"""A run as Responses events: their order, their numbers, and what they add up to."""

from __future__ import annotations

import json
import unittest
from collections.abc import Callable
from typing import Any

from server.agent import Run
from server.fronts import responses, responses_reply

from .runs import TOOLS, Front, masked

Json = dict[str, Any]
Script = Callable[[list[Json]], list[tuple[Any, ...]]]
WEATHER = {"type": "function", "name": "weather"}


def mixed(messages: list[Json]) -> list[tuple[Any, ...]]:
    results = [each["content"] for each in messages if each["role"] == "tool"]
    if any("sunny" in each for each in results):
        return [("text", f"mail: {sum('mail did' in each for each in results)}")]
    if results:
        return [("text", "Now."), ("call", "weather", '{"city":"京"}')]
    return [("think", "t"), ("text", "One moment."), ("call", "mail", "{}")]


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.front = Front(mixed)

    def read(self, fields: Json) -> tuple[Json, Callable[[Run], responses_reply.Reply]]:
        body = {"model": "default", "input": "hi"} | fields
        document, wish = responses.read(body, frozenset(TOOLS) - {"weather"}, lambda _: None)

        def reply(run: Run) -> responses_reply.Reply:
            first = run.first_message
            return responses_reply.Reply(run.session, wish, run_id=run.id, first_message=first)

        return document, reply

    def whole(self, script: Script | None = None, **fields: Any) -> tuple[int, Json]:
        if script:
            self.front = Front(script)
        return self.front.whole(*self.read(fields))

    def events(self, script: Script | None = None, until: str = "", **fields: Any) -> list[Json]:
        self.front = Front(script or mixed)
        self.sent, found = self.front.streamed(*self.read(fields), until=until)
        return found


class Events(Case):
    def test_the_order_and_the_numbers(self) -> None:
        found = self.events(tools=[WEATHER])
        part = ["output_item.added", "content_part.added", "{}.delta", "{}.done"]
        part += ["content_part.done", "output_item.done"]
        call = ["output_item.added", "function_call_arguments.delta"]
        call += ["function_call_arguments.done", "output_item.done"]
        kinds = ["created", "in_progress"]
        for kind in ("reasoning_text", "output_text", "output_text"):
            kinds += [each.format(kind) for each in part]
        kinds += [*call, "completed"]
        told = [each["type"].removeprefix("response.") for each in found]
        once = [kind for n, kind in enumerate(told) if n == 0 or kind != told[n - 1]]
        self.assertEqual(once, kinds)
        self.assertEqual([each["sequence_number"] for each in found], list(range(len(found))))

    def test_the_bytes(self) -> None:
        self.events(lambda _: [("text", 'é"')])
        frames = "".join(
            'event: response.output_text.delta\ndata: {"type":"response.output_text.delta",'
            f'"sequence_number":{number},"item_id":"msg_1_0","output_index":0,"content_index":0,'
            f'"delta":{delta},"logprobs":[]}}\n\n'
            for number, delta in ((4, '"é"'), (5, '"\\""'))
        )
        self.assertIn(frames, self.sent.decode())
        self.assertNotIn(b"[DONE]", self.sent)

    def test_events_add_up_to_the_response(self) -> None:
        found = self.events(tools=[WEATHER])
        items: dict[int, Json] = {}
        texts: dict[int, str] = {}
        for event in found:
            index = event.get("output_index", -1)
            if event["type"] == "response.output_item.done":
                items[index] = event["item"]
            elif event["type"].endswith(".delta"):
                texts[index] = texts.get(index, "") + event["delta"]
        final = found[-1]["response"]
        self.assertEqual([items[index] for index in sorted(items)], final["output"])
        for index, item in items.items():
            text = item.get("arguments") or item["content"][0]["text"]
            self.assertEqual(texts[index], text)
        _, whole = self.whole(mixed, tools=[WEATHER])
        self.assertEqual(whole, final)

    def test_messages_are_told_apart_where_they_are_read_as_one_text(self) -> None:
        def script(messages: list[Json]) -> list[tuple[Any, ...]]:
            said = {"user": ("text", "I look."), "tool": ("text", "It is.")}
            calls = {"user": ("call", "look", "{}"), "tool": ("call", "finish", "{}")}
            step = "tool" if len(messages) > 3 else "user"
            return [said[step], calls[step]]

        _, found = self.whole(script)
        texts = [item["content"][0]["text"] for item in found["output"]]
        self.assertEqual("".join(texts), "I look.\n\nIt is.")

    def test_the_response_says_what_the_owners_hooks_have_left_of_it(self) -> None:
        def script(messages: list[Json]) -> list[tuple[Any, ...]]:
            if len(messages) > 3:
                return [("text", "No secret.")]
            return [("text", "A sec"), ("think", "hm"), ("text", "ret!"), ("call", "look", "{}")]

        self.front = Front(script)
        self.front.agent.hooks = masked()
        _, whole = self.front.whole(*self.read({}))
        _, found = self.front.streamed(*self.read({}))
        for output in (whole["output"], found[-1]["response"]["output"]):
            texts = [item["content"][0]["text"] for item in output if item["type"] == "message"]
            self.assertEqual(texts, ["A ***!", "", "\n\nNo ***."])

    def test_an_item_is_announced_empty(self) -> None:
        for event in self.events(tools=[WEATHER]):
            if event["type"] == "response.output_item.added":
                item = event["item"]
                self.assertEqual(item["status"], "in_progress")
                self.assertFalse(item.get("content") or item.get("arguments"))

    def test_failures(self) -> None:
        last = self.events(lambda _: [("text", "a"), ("error", "no")])[-1]
        self.assertEqual((last["type"], last["response"]["status"]), ("response.failed", "failed"))
        self.assertEqual(last["response"]["error"]["message"], "no")
        status, body = self.whole(lambda _: [("error", "no")])
        self.assertEqual((status, body["error"]["code"]), (502, "upstream_error"))
        cut = self.events(until="TEXT_MESSAGE_END")[-1]
        self.assertEqual(cut["type"], "response.failed")

    def test_at_a_limit_it_is_incomplete(self) -> None:
        document, reply = self.read({})
        document["config"]["limits"] = {"max_steps": 1, "on_limit": "stop"}
        _, found = self.front.whole(document, reply)
        self.assertEqual(found["status"], "incomplete")
        self.assertEqual(found["incomplete_details"], {"reason": "max_output_tokens"})

    def test_only_the_value_where_one_is_wanted(self) -> None:
        def script(messages: list[Json]) -> list[tuple[Any, ...]]:
            tries = sum(each["role"] == "assistant" for each in messages)
            return [("text", ("Sure", '{"a":1}')[tries])]

        schema = {"type": "object", "required": ["a"]}
        wanted = {"format": {"type": "json_schema", "name": "n", "schema": schema}}
        _, found = self.whole(script, text=wanted)
        (item,) = found["output"]
        self.assertEqual(json.loads(item["content"][0]["text"]), {"a": 1})


class Mixed(Case):
    def test_the_answer_goes_on_as_it_was_and_nothing_runs_twice(self) -> None:
        _, first = self.whole(tools=[WEATHER])
        kinds = [item["type"] for item in first["output"]]
        self.assertEqual(kinds, ["reasoning", "message", "message", "function_call"])
        made = json.loads(json.dumps(first["output"]))
        result = {"type": "function_call_output", "call_id": made[-1]["call_id"]}
        items = [{"role": "user", "content": "hi"}, *made, result | {"output": "sunny"}]
        _, second = self.whole(input=items, tools=[WEATHER])
        self.assertEqual(second["output"][0]["content"][0]["text"], "mail: 1")
        self.assertEqual(sum(self.front.counts.values()), 1)
        said = [each["content"] for each in self.front.model.requests[-1]]
        self.assertEqual(said.count("One moment."), 1)

    def test_the_session_for_those_who_ask(self) -> None:
        _, found = self.whole(yaa={"session": True})
        self.assertEqual(found["yaa"]["session"]["status"], "interrupted")


if __name__ == "__main__":
    unittest.main()
