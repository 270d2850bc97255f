"""A run as Responses events: their order, their numbers, and what they add up to."""

from __future__ import annotations

import json
import unittest
from collections.abc import Callable
from typing import Any

from server.agent.loop import Run
from server.extensions.openai import responses
from server.session import media

from ...protocols.runs import TOOLS, Front, masked
from ...tooling import pictures

Json = dict[str, Any]
Script = Callable[[list[Json]], list[tuple[Any, ...]]]
WEATHER = {"type": "function", "name": "weather"}
USER = {"role": "user", "content": "Draw"}
PICTURE = media.item_of(media.recognise(pictures.png()), "image-1.png")


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
        self.kept: dict[str, Json] = {}

    def earlier(self, name: str, most: int) -> tuple[Json, int] | None:
        return (self.kept[name], 1) if name in self.kept else None

    def read(self, fields: Json) -> tuple[Json, Callable[[Run], responses.ResponsesReply]]:
        body = {"model": "default", "input": "hi"} | fields
        document, wish = responses.read(
            body, frozenset(TOOLS) - {"weather"}, lambda _: None, self.earlier
        )

        def reply(run: Run) -> responses.ResponsesReply:
            first = run.first_message
            self.reply = responses.ResponsesReply(
                run.session, wish, run_id=run.id, first_message=first
            )
            return self.reply

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
        part = ["output_item.added", "{0}_part.added", "{1}.delta", "{1}.done"]
        part += ["{0}_part.done", "output_item.done"]
        call = ["output_item.added", "function_call_arguments.delta"]
        call += ["function_call_arguments.done", "output_item.done"]
        kinds = ["created", "in_progress"]
        text = ("content", "output_text")
        thought = ("reasoning_summary", "reasoning_summary_text")
        for names in (thought, text, text):
            kinds += [each.format(*names) for each in part]
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
            parts = item.get("content") or item.get("summary") or [{"text": item.get("arguments")}]
            self.assertEqual(texts[index], parts[0]["text"])
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
                self.assertFalse(
                    item.get("content") or item.get("arguments") or item.get("summary")
                )

    def test_a_picture_that_the_model_made_may_be_sent_back(self) -> None:
        def script(messages: list[Json]) -> list[tuple[Any, ...]]:
            return [("text", "Here"), ("made", PICTURE)]

        found = self.events(script)
        output = found[-1]["response"]["output"]
        self.assertEqual([item["type"] for item in output], ["message", "image_generation_call"])
        self.assertEqual(output[1]["result"], PICTURE["data"])
        told = [each for each in found if each.get("output_index") == 1]
        self.assertEqual([each["item"]["status"] for each in told], ["in_progress", "completed"])
        self.assertNotIn("result", told[0]["item"])
        bluer = {"role": "user", "content": "Bluer"}
        document, _ = self.read({"input": [USER, *output, bluer]})
        kept = [each.get("media") for each in document["messages"]]
        self.assertEqual([each[0]["data"] for each in kept if each], [PICTURE["data"]])
        calls = [{"type": "function_call", "call_id": "a", "name": "weather", "arguments": "{}"}]
        calls.append({"type": "function_call_output", "call_id": "a", "output": "r"})
        document, _ = self.read({"input": [USER, *output, *calls, bluer]})
        roles = [each["role"] for each in document["messages"]]
        self.assertEqual(roles, ["user", "assistant", "assistant", "tool", "user"])
        self.assertEqual(document["messages"][2]["media"][0]["data"], PICTURE["data"])

    def test_thoughts_are_summaries(self) -> None:
        """Where OpenAI's own models have them; a second place would tell them twice."""
        found = self.events(lambda _: [("think", "hm"), ("text", "a")])
        thought, _ = found[-1]["response"]["output"]
        self.assertEqual(thought["summary"], [{"type": "summary_text", "text": "hm"}])
        self.assertNotIn("content", thought)
        told = [each for each in found if "summary_index" in each]
        self.assertEqual({each["summary_index"] for each in told}, {0})
        self.assertEqual({each["item_id"] for each in told}, {thought["id"]})

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

    def test_later_requests_may_name_what_was_said(self) -> None:
        """By the whole answer or item by item: the model is asked the same, and nothing runs
        twice."""
        result = {"type": "function_call_output", "output": "sunny"}
        for name, referred in (("the answer", False), ("its items", True)):
            with self.subTest(name):
                self.setUp()
                _, first = self.whole(tools=[WEATHER])
                assert (lasting := self.reply.answer_to_store())
                self.kept = dict([json.loads(json.dumps(lasting))])
                self.assertEqual(list(self.kept), [first["id"]])
                answer = result | {"call_id": first["output"][-1]["call_id"]}
                asked: Json = {"previous_response_id": first["id"], "input": [answer]}
                if referred:
                    named = [
                        {"type": "item_reference", "id": item["id"]} for item in first["output"]
                    ]
                    user = {"role": "user", "content": "hi"}
                    asked = {"input": [user, *named, answer]}
                _, second = self.whole(**asked, tools=[WEATHER])
                self.assertEqual(second["output"][0]["content"][0]["text"], "mail: 1")
                self.assertEqual(sum(self.front.counts.values()), 1)
                said = [each["content"] for each in self.front.model.requests[-1]]
                self.assertEqual(said.count("One moment."), 1)
                assert (lasting := self.reply.answer_to_store())
                self.assertEqual(lasting[1]["input"], asked["input"])

    def test_what_failed_or_must_not_be_kept_is_not(self) -> None:
        self.whole(lambda _: [("error", "no")])
        self.assertIsNone(self.reply.answer_to_store())
        self.whole(lambda _: [("text", "a")], store=False)
        self.assertIsNone(self.reply.answer_to_store())
        self.whole(lambda _: [("text", "a")])
        self.assertIsNotNone(self.reply.answer_to_store())

    def test_the_session_for_those_who_ask(self) -> None:
        _, found = self.whole(yaa={"session": True})
        self.assertEqual(found["yaa"]["session"]["status"], "interrupted")


if __name__ == "__main__":
    unittest.main()


class Citations(Case):
    """What an answer cites is an annotation, as OpenAI's own search makes them."""

    note = {"type": "url_citation", "url": "https://a.example/", "title": "A"}

    def setUp(self) -> None:
        super().setUp()
        self.front = Front(citing)
        found = {"url": "https://a.example/", "title": "A", "text": "so"}
        self.front.toolbox.envelope = {"result": found, "sources": {"s1.1": ""}}

    def test_in_the_whole(self) -> None:
        status, body = self.whole()
        self.assertEqual(status, 200)
        first, last = (each for each in body["output"] if each["type"] == "message")
        self.assertEqual(first["content"][0]["annotations"], [])
        (part,) = last["content"]
        (note,) = part["annotations"]
        place = note.pop("start_index"), note.pop("end_index")
        self.assertEqual(note, self.note)
        self.assertEqual(part["text"][slice(*place)], "[^s1.1]")

    def test_in_a_stream(self) -> None:
        envelope = self.front.toolbox.envelope
        self.front = Front(citing)
        self.front.toolbox.envelope = envelope
        _, found = self.front.streamed(*self.read({"stream": True}))
        kinds = [each["type"].removeprefix("response.") for each in found]
        at = kinds.index("output_text.annotation.added")
        self.assertEqual(kinds[at + 1], "output_text.done", "before the text is done")
        self.assertEqual(found[at]["annotation"]["url"], "https://a.example/")
        self.assertEqual((found[at]["annotation_index"], found[at]["content_index"]), (0, 0))
        done = next(e for e in found[at:] if e["type"] == "response.content_part.done")
        self.assertEqual(done["part"]["annotations"], [found[at]["annotation"]])
        self.assertEqual([e["sequence_number"] for e in found], list(range(len(found))))


def citing(messages: list[Json]) -> list[tuple[Any, ...]]:
    if any(each["role"] == "tool" for each in messages):
        return [("text", "It is 🌕 [^s1.1], not [^s9.9].")]
    return [("text", "I look [^s1.1]."), ("call", "look", "{}")]
