"""A run as Chat Completions: the raw frames, the whole answer, and that the two are the same."""

from __future__ import annotations

import copy
import json
import unittest
from collections.abc import Callable
from typing import Any

from server.agent.loop import Run
from server.extensions.openai import chat
from server.session import media

from ...protocols.runs import TOOLS, Front, masked
from ...tooling import pictures

Json = dict[str, Any]
Script = Callable[[list[Json]], list[tuple[Any, ...]]]
SERVERS = frozenset(TOOLS) - {"weather", "clock"}
WEATHER = {"type": "function", "function": {"name": "weather"}}
CLOCK = {"type": "function", "function": {"name": "clock"}}


def body(**fields: Any) -> Json:
    fields.setdefault("messages", [{"role": "user", "content": "hi"}])
    return {"model": "default", **copy.deepcopy(fields)}


def last(messages: list[Json]) -> str:
    return str(messages[-1]["role"])


class Case(unittest.TestCase):
    def read(self, fields: Json) -> tuple[Json, Callable[[Run], chat.ChatReply]]:
        document, wish = chat.read(body(**fields), SERVERS, lambda _: None)

        def reply(run: Run) -> chat.ChatReply:
            return chat.ChatReply(
                run.session,
                wish,
                run_id=run.id,
                first_message=run.first_message,
                fingerprint="yaa-1",
            )

        return document, reply

    def whole(self, script: Script, **fields: Any) -> tuple[int, Json]:
        self.front = Front(script)
        return self.front.whole(*self.read(fields))

    def message(self, script: Script, **fields: Any) -> Json:
        status, found = self.whole(script, **fields)
        self.assertEqual(status, 200, found)
        choice = found["choices"][0]
        message: Json = choice["message"]
        return message | {"why": choice["finish_reason"]}

    def chunks(self, script: Script, **fields: Any) -> list[Json]:
        self.front = Front(script)
        self.sent, found = self.front.streamed(*self.read(fields))
        return found


def text(messages: list[Json]) -> list[tuple[Any, ...]]:
    return [("think", "hm"), ("text", 'Hé\n\u2028"你')]


PICTURE = media.item_of(media.recognise(pictures.png()), "image-1.png")
SOUND = media.item_of(media.recognise(pictures.wav()), "audio-2.wav")


class Made(Case):
    """Pictures that the model made, in OpenRouter's form, which may be sent back."""

    def test_there_and_back(self) -> None:
        def script(messages: list[Json]) -> list[tuple[Any, ...]]:
            return [("text", "Here"), ("made", PICTURE), ("made", SOUND)]

        for words in ("Here", None):
            found = self.message(script if words else lambda m: [("made", PICTURE)])
            [image] = found["images"]
            self.assertEqual((found["content"], image["index"]), (words or "", 0))
            said = {**found, "role": "assistant"}
            said.pop("why")
            more = [{"role": "user", "content": "Draw"}, said, {"role": "user", "content": "Bluer"}]
            document, _ = self.read({"messages": more})
            [kept] = document["messages"][1]["media"]
            self.assertEqual(kept["data"], PICTURE["data"])
            self.assertEqual(self.chunks(script)[-1]["choices"][0]["delta"]["images"], [image])
        self.assertNotIn("images", self.message(text))
        for odd in (
            5,
            "x",
            [{"image_url": 5}],
            [{"image_url": {"url": "data:image/png;base64,AA"}}],
        ):
            said = {"role": "assistant", "content": "x", "images": odd}
            document, _ = self.read({"messages": [said, {"role": "user", "content": "Bluer"}]})
            self.assertNotIn("media", document["messages"][0])


class Frames(Case):
    def test_the_bytes(self) -> None:
        self.chunks(text, stream_options={"include_usage": True})
        head = '{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,'
        head += '"model":"default","system_fingerprint":"yaa-1",'

        def chunk(delta: str, reason: str = "null") -> str:
            rest = f'"choices":[{{"index":0,"delta":{delta},"finish_reason":{reason}}}]}}'
            return f"data: {head}{rest}\n\n"

        usage = '"usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18,'
        usage += '"prompt_tokens_details":{"cached_tokens":0,"cache_write_tokens":0},'
        usage += '"completion_tokens_details":{"reasoning_tokens":0}}'
        wanted = [
            chunk('{"role":"assistant","content":""}'),
            *(chunk(f'{{"reasoning_content":"{each}","reasoning":"{each}"}}') for each in "hm"),
            *(chunk(f'{{"content":{json.dumps(c, ensure_ascii=False)}}}') for c in 'Hé\n\u2028"你'),
            chunk("{}", '"stop"'),
            f'data: {head}"choices":[],{usage}}}\n\n',
            "data: [DONE]\n\n",
        ]
        self.assertEqual(self.sent.decode(), "".join(wanted))

    def test_usage_only_when_asked(self) -> None:
        chunks = self.chunks(text)
        self.assertTrue(all(len(each["choices"]) == 1 for each in chunks))

    def test_calls_come_whole_with_index_and_id(self) -> None:
        def script(messages: list[Json]) -> list[tuple[Any, ...]]:
            return [("call", "weather", '{"city":"京"}'), ("call", "clock", "{}")]

        chunks = self.chunks(script, tools=[WEATHER, CLOCK])
        deltas = [each["choices"][0]["delta"] for each in chunks]
        calls = [call for delta in deltas for call in delta.get("tool_calls", ())]
        first, rest, second, _ = calls
        self.assertEqual((first["index"], first["type"], second["index"]), (0, "function", 1))
        self.assertEqual(first["function"], {"name": "weather", "arguments": ""})
        self.assertEqual(rest, {"index": 0, "function": {"arguments": '{"city":"京"}'}})
        self.assertEqual(chunks[-1]["choices"][0]["finish_reason"], "tool_calls")
        self.assertEqual(len({each["id"] for each in chunks}), 1)

    def test_an_error_in_the_middle_ends_it(self) -> None:
        chunks = self.chunks(lambda _: [("text", "a"), ("error", "no more")])
        self.assertEqual(chunks[-1]["error"]["message"], "no more")
        self.assertEqual(chunks[-1]["error"]["code"], "upstream_error")
        self.assertTrue(self.sent.endswith(b"data: [DONE]\n\n"))
        self.assertEqual(self.sent.count(b"[DONE]"), 1)

    def test_a_server_that_stops_does_not_look_like_an_end(self) -> None:
        front = Front(text)
        data, chunks = front.streamed(*self.read({}), until="TEXT_MESSAGE_END")
        self.assertEqual(chunks[-1]["error"]["code"], "overloaded")
        self.assertTrue(data.endswith(b"[DONE]\n\n"))
        document, reply = self.read({})
        made = reply(front.agent.prepare(document))
        status, found = made.answer()
        self.assertEqual((status, found["error"]["type"]), (503, "server_error"))

    def test_steps_are_told_to_those_who_ask(self) -> None:
        def script(messages: list[Json]) -> list[tuple[Any, ...]]:
            return [("text", "ok")] if last(messages) == "tool" else [("call", "look", "{}")]

        told = [each["yaa"]["tool"] for each in self.chunks(script, yaa={"tools": True})[1:-3]]
        self.assertEqual([each["state"] for each in told], ["started", "done"])
        self.assertEqual({each["name"] for each in told}, {"look"})
        self.chunks(script)
        self.assertNotIn(b"look", self.sent)


class Answers(Case):
    def test_the_whole_answer(self) -> None:
        status, found = self.whole(text)
        self.assertEqual(
            (status, found["object"], found["id"]), (200, "chat.completion", "chatcmpl-1")
        )
        message = found["choices"][0]["message"]
        self.assertEqual(message["content"], 'Hé\n\u2028"你')
        self.assertEqual((message["reasoning_content"], message["reasoning"]), ("hm", "hm"))
        self.assertEqual(found["usage"]["total_tokens"], 18)

    def test_a_stream_adds_up_to_the_whole_answer(self) -> None:
        def steps(messages: list[Json]) -> list[tuple[Any, ...]]:
            if last(messages) == "tool":
                return [("think", "so"), ("text", "It is.")]
            return [("think", "a"), ("text", "I look."), ("call", "look", "{}")]

        def empty(messages: list[Json]) -> list[tuple[Any, ...]]:
            return []

        def calls(messages: list[Json]) -> list[tuple[Any, ...]]:
            return [("text", "x"), ("call", "weather", '{"a":1}'), ("call", "clock", "{}")]

        for script in (text, steps, empty, calls):
            with self.subTest(script.__name__):
                wanted = self.message(script, tools=[WEATHER, CLOCK])
                added: Json = {"content": "", "reasoning_content": "", "tool_calls": {}}
                why = None
                for chunk in self.chunks(script, tools=[WEATHER, CLOCK]):
                    choice = chunk["choices"][0]
                    delta, why = choice["delta"], choice["finish_reason"]
                    for name in ("content", "reasoning_content"):
                        added[name] += delta.get(name) or ""
                    for call in delta.get("tool_calls", ()):
                        made = added["tool_calls"].setdefault(call["index"], {"arguments": ""})
                        made["name"] = call["function"].get("name") or made["name"]
                        made["arguments"] += call["function"]["arguments"]
                self.assertEqual(added["content"], wanted["content"] or "")
                self.assertEqual(added["reasoning_content"], wanted.get("reasoning_content", ""))
                made = [call["function"] for call in wanted.get("tool_calls", ())]
                self.assertEqual(list(added["tool_calls"].values()), made)
                self.assertEqual(why, wanted["why"])

    def test_steps_are_told_apart(self) -> None:
        def script(messages: list[Json]) -> list[tuple[Any, ...]]:
            if last(messages) == "tool":
                return [("text", "It is.")]
            return [("text", "I look."), ("call", "look", "{}")]

        self.assertEqual(self.message(script)["content"], "I look.\n\nIt is.")

    def test_what_is_given_to_finish_is_told_behind_what_was_said_before(self) -> None:
        def script(messages: list[Json]) -> list[tuple[Any, ...]]:
            if last(messages) == "tool":
                return [("call", "finish", "{}")]
            return [("text", "I look."), ("call", "look", "{}")]

        wanted = "I look.\n\nfinish did {}"
        self.assertEqual(self.message(script)["content"], wanted)
        deltas = [each["choices"][0]["delta"] for each in self.chunks(script)]
        self.assertEqual("".join(each.get("content") or "" for each in deltas), wanted)

    def test_a_whole_answer_says_what_the_owners_hooks_have_left_of_it(self) -> None:
        def script(messages: list[Json]) -> list[tuple[Any, ...]]:
            if last(messages) == "tool":
                return [("text", "The end.")]
            return [("text", "A secret!"), ("call", "look", "{}")]

        front = Front(script)
        front.agent.hooks = masked()
        _, found = front.whole(*self.read({}))
        said = found["choices"][0]["message"]["content"]
        self.assertEqual(said, "A ***!\n\nThe end.")

    def test_reasons(self) -> None:
        limits = {"max_steps": 1}

        def looks(messages: list[Json]) -> list[tuple[Any, ...]]:
            return [("call", "look", "{}")]

        self.assertEqual(self.message(text)["why"], "stop")
        front = Front(looks)
        document, reply = self.read({})
        document["config"]["limits"] = limits
        _, found = front.whole(document, reply)
        self.assertEqual(found["choices"][0]["finish_reason"], "length")

    def test_failures(self) -> None:
        status, found = self.whole(lambda _: [("error", "no")])
        self.assertEqual(status, 502)
        self.assertEqual(
            found["error"],
            {"message": "no", "type": "server_error", "param": None, "code": "upstream_error"},
        )

    def test_the_session_for_those_who_ask(self) -> None:
        _, found = self.whole(text, yaa={"session": True})
        self.assertEqual(found["yaa"]["session"]["status"], "completed")
        self.assertNotIn("yaa", self.whole(text)[1])
        ends = self.chunks(text, yaa={"session": True})[-1]
        self.assertEqual(ends["yaa"]["session"]["status"], "completed")


class Mixed(Case):
    """The model calls a tool of the server's and one of the caller's in one turn."""

    @staticmethod
    def script(messages: list[Json]) -> list[tuple[Any, ...]]:
        results = [each["content"] for each in messages if each["role"] == "tool"]
        if any("sunny" in each for each in results):
            return [("text", f"mail: {sum('mail did' in each for each in results)}")]
        return [
            ("think", "t"),
            ("text", "One moment."),
            ("call", "mail", '{"to":"a"}'),
            ("call", "weather", "{}"),
        ]

    def test_only_the_callers_call_is_returned_and_the_servers_has_run(self) -> None:
        message = self.message(self.script, tools=[WEATHER])
        self.assertEqual(message["why"], "tool_calls")
        (call,) = message["tool_calls"]
        self.assertEqual(call["function"]["name"], "weather")
        self.assertEqual(list(self.front.counts.values()), [1])

    def test_it_goes_on_as_it_was_and_nothing_runs_twice(self) -> None:
        for name, carried in (("carried", True), ("rebuilt by the caller", False)):
            with self.subTest(name):
                message = self.message(self.script, tools=[WEATHER])
                message.pop("why")
                if not carried:
                    message.pop("yaa")
                call_id = message["tool_calls"][0]["id"]
                messages = [
                    {"role": "user", "content": "hi"},
                    json.loads(json.dumps(message)),
                    {"role": "tool", "tool_call_id": call_id, "content": "sunny"},
                ]
                document, reply = self.read({"messages": messages, "tools": [WEATHER]})
                _, found = self.front.whole(document, reply)
                said = found["choices"][0]["message"]["content"]
                self.assertEqual(said, f"mail: {int(carried)}")
                self.assertEqual(sum(self.front.counts.values()), 1)
                asked = self.front.model.requests[-1]
                self.assertEqual([each["role"] for each in asked].count("tool"), 1 + carried)

    def test_a_call_that_does_not_fit_is_never_the_callers(self) -> None:
        """It was not told before the server knew; the model tries again."""

        def script(messages: list[Json]) -> list[tuple[Any, ...]]:
            if last(messages) == "tool":
                return [("text", "sorry")]
            return [("call", "weather", '{"city":')]

        chunks = self.chunks(script, tools=[WEATHER])
        self.assertEqual(chunks[-1]["choices"][0]["finish_reason"], "stop")
        self.assertNotIn(b"tool_calls", self.sent)


class Structured(Case):
    FORMAT = {
        "type": "json_schema",
        "json_schema": {
            "name": "n",
            "schema": {
                "type": "object",
                "properties": {"a": {"type": "integer"}},
                "required": ["a"],
            },
        },
    }

    def test_only_the_value_is_told(self) -> None:
        """What a model said before it fits would make it no JSON."""

        def script(messages: list[Json]) -> list[tuple[Any, ...]]:
            tries = sum(each["role"] == "assistant" for each in messages)
            return [("text", ("Sure!", '{"a": "x"}', '{"a": 1}')[tries])]

        message = self.message(script, response_format=self.FORMAT)
        self.assertEqual(json.loads(message["content"]), {"a": 1})
        chunks = self.chunks(script, response_format=self.FORMAT)
        texts = [each["choices"][0]["delta"].get("content") or "" for each in chunks]
        self.assertEqual(json.loads("".join(texts)), {"a": 1})

    def test_none_that_fits_is_an_error(self) -> None:
        status, found = self.whole(lambda _: [("text", "no")], response_format=self.FORMAT)
        self.assertEqual((status, found["error"]["code"]), (424, "output_invalid"))

    def test_calls_of_the_caller_come_without_words(self) -> None:
        def script(messages: list[Json]) -> list[tuple[Any, ...]]:
            return [("text", "I ask."), ("call", "weather", "{}")]

        message = self.message(script, response_format=self.FORMAT, tools=[WEATHER])
        self.assertEqual((message["content"], message["why"]), (None, "tool_calls"))


if __name__ == "__main__":
    unittest.main()


class Citations(Case):
    """What an answer cites is an annotation, whose places count the texts as they are joined."""

    def setUp(self) -> None:
        found = {"url": "https://a.example/", "title": "A", "text": "so"}
        self.envelope: Any = {"result": found, "sources": {"s1.1": ""}}

    def test_whole_and_streamed(self) -> None:
        front = Front(citing)
        front.toolbox.envelope = self.envelope
        _, whole = front.whole(*self.read({}))
        message = whole["choices"][0]["message"]
        (note,) = message["annotations"]
        self.assertEqual(note["type"], "url_citation")
        place = note["url_citation"]["start_index"], note["url_citation"]["end_index"]
        self.assertEqual(message["content"][slice(*place)], "[^s1.1]")
        self.assertEqual(note["url_citation"]["url"], "https://a.example/")
        front = Front(citing)
        front.toolbox.envelope = self.envelope
        _, chunks = front.streamed(*self.read({"stream": True}))
        told = [c["choices"][0]["delta"].get("annotations") for c in chunks if c["choices"]]
        self.assertEqual([each for each in told if each], [[note]])

    def test_nothing_cited_nothing_added(self) -> None:
        self.assertNotIn("annotations", self.message(text))
        self.assertNotIn("annotations", self.message(lambda _: [("text", "No [^s1.1].")]))


def citing(messages: list[Json]) -> list[tuple[Any, ...]]:
    if any(each["role"] == "tool" for each in messages):
        return [("text", "It is 🌕 [^s1.1], not [^s9.9].")]
    return [("text", "I look."), ("call", "look", "{}")]
