"""Requests of the Messages API: what is sent, and what is not."""

from __future__ import annotations

import json
import unittest
from typing import Any

from server.extensions.messages_api.messages import EARLIER, MAX_TOKENS, NOTHING_SAID, request
from server.models.chat_request import ModelRequest, ToolNameMap
from server.models.tool_mode import NATIVE
from server.session.config_schema import MODEL_SETTINGS

from ...models.fakes import options, provider, tool

Json = dict[str, Any]

USER: Json = {"id": "u1", "role": "user", "content": "hi", "name": "Ada", "at": 1}
CALL: Json = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
RESULT: Json = {"role": "tool", "tool_call_id": "c1", "name": "f", "content": "1", "result": {}}
SEAL: Json = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
PIXEL = "data:image/png;base64,iVBORw0KGgo="


def kept(item: Json, chars: int = 0, calls: int = 0) -> Json:
    return {"at": [chars, calls], "item": item}


def assistant(content: Any = "", *details: Json, calls: Any = (CALL,), model: str = "m-1") -> Json:
    made: Json = {"role": "assistant", "content": content, "meta": {"model": model}}
    made |= {"tool_calls": list(calls)} if calls else {}
    return made | ({"reasoning": {"text": "hm", "details": list(details)}} if details else {})


def build(messages: list[Any], tools: Any = (), **changes: Any) -> Json:
    asked = changes.pop("options", {})
    changes = {"preset": "anthropic", **changes}
    given = provider(**changes), messages, list(tools), options(**asked), NATIVE
    return request(ModelRequest(*given, ToolNameMap()))


def turns(messages: list[Json], **changes: Any) -> list[tuple[str, Any]]:
    """(role, blocks) without the cache's marks."""
    body = json.loads(json.dumps(build(messages, **changes)))
    for turn in body["messages"]:
        for block in turn["content"]:
            block.pop("cache_control", None)
    return [(turn["role"], turn["content"]) for turn in body["messages"]]


def text(words: str) -> Json:
    return {"type": "text", "text": words}


class Turns(unittest.TestCase):
    def test_a_conversation(self) -> None:
        found = turns(
            [
                {"role": "system", "content": "be good"},
                USER,
                assistant("I look", kept(SEAL)),
                {**RESULT, "is_error": True},
                {"role": "user", "content": "and?"},
                {"role": "error", "content": "boom"},
                {**assistant("half"), "open": True},
                assistant("done", calls=()),
            ]
        )
        use = {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}}
        result = {"type": "tool_result", "tool_use_id": "c1", "content": "1", "is_error": True}
        self.assertEqual(
            found,
            [
                ("user", [text("hi")]),
                ("assistant", [SEAL, text("I look"), use]),
                ("user", [result, text("and?")]),
                ("assistant", [text("done")]),
            ],
        )

    def test_thoughts_stand_where_they_stood(self) -> None:
        second = {**SEAL, "thinking": "more"}
        hidden = {"type": "redacted_thinking", "data": "xx"}
        made = assistant("one two", kept(SEAL), kept(hidden, 4), kept(second, 7))
        ((_, _), (_, blocks), _) = turns([USER, made, RESULT])
        kinds = [each.get("text") or each.get("thinking") or each["type"] for each in blocks]
        self.assertEqual(kinds, ["hm", "one ", "redacted_thinking", "two", "more", "tool_use"])

    def test_thoughts_that_do_not_go_back(self) -> None:
        hostile: list[Any] = [
            {"type": "thinking", "thinking": "unsigned"},
            {"type": "thinking", "thinking": 5, "signature": "x"},
            {"type": "redacted_thinking", "data": None},
            {"type": "tool_use", "id": "x", "name": "rm", "input": {}},
            {},
        ]
        broken: list[Any] = [
            None,
            5,
            {"at": [0], "item": SEAL},
            {"at": [True, 0], "item": SEAL},
            {"at": [-1, 0], "item": SEAL},
            {"at": "00", "item": SEAL},
            {"type": "reasoning.text", "text": "of OpenRouter"},
        ]
        cases = {
            "another model's": [assistant("x", kept(SEAL), model="other")],
            "not ours to make": [assistant("x", *map(kept, hostile))],
            "not well formed": [assistant("x", *broken)],
            "behind everything": [assistant("x", kept(SEAL, 9, 9))],
            "before blanks only": [assistant("  ", kept(SEAL), calls=()), USER],
        }
        for name, messages in cases.items():
            with self.subTest(name):
                found = turns([USER, *messages, *([RESULT] if len(messages) == 1 else [])])
                sent = [block["type"] for _, blocks in found for block in blocks]
                self.assertNotIn("thinking", sent)
                self.assertEqual(sent.count("tool_use"), int(len(messages) == 1))

    def test_what_the_api_refuses_is_never_sent(self) -> None:
        cases: list[tuple[list[Json], list[tuple[str, Any]]]] = [
            ([], [("user", [text(EARLIER)])]),
            ([{"role": "user", "content": ""}], [("user", [text(NOTHING_SAID)])]),
            ([{"role": "user", "content": " \n"}], [("user", [text(NOTHING_SAID)])]),
            ([{"role": "user", "content": None}], [("user", [text(NOTHING_SAID)])]),
            (
                [assistant("first", calls=()), USER],
                [("user", [text(EARLIER)]), ("assistant", [text("first")]), ("user", [text("hi")])],
            ),
            ([USER, assistant("  ", calls=()), USER], [("user", [text("hi"), text("hi")])]),
        ]
        for messages, wanted in cases:
            with self.subTest(str(messages)[:60]):
                self.assertEqual(turns(messages), wanted)

    def test_a_later_system_message_stays_in_its_place(self) -> None:
        note = {"role": "system", "content": "be brief"}
        ((_, blocks),) = turns([{"role": "system", "content": "x"}, USER, note])
        self.assertEqual(blocks[1], text("<system>\nbe brief\n</system>"))

    def test_ids_that_other_providers_make(self) -> None:
        odd = {**CALL, "id": "functions.f:0"}
        _, (_, (use,)), (_, (result,)) = turns(
            [USER, assistant("", calls=(odd,)), {**RESULT, "tool_call_id": "functions.f:0"}]
        )
        self.assertRegex(use["id"], r"^[A-Za-z0-9_-]{1,64}$")
        self.assertEqual(use["id"], result["tool_use_id"])

    def test_broken_arguments(self) -> None:
        call = {**CALL, "function": {"name": "f", "arguments": '{"a":'}}
        _, (_, (use,)), _ = turns([USER, assistant("", calls=(call,)), RESULT])
        self.assertEqual(use["input"], {"invalid_json": '{"a":'})

    def test_parts(self) -> None:
        content = [
            {"type": "text", "text": "look"},
            {"type": "image_url", "image_url": {"url": PIXEL}},
            {"type": "image_url", "image_url": "https://h/x.png"},
            {"type": "image_url", "image_url": {"url": "data:image/tiff;base64,AA=="}},
            {"type": "file", "file": {"filename": "a.pdf", "file_data": PDF}},
            {"type": "file", "file": {"filename": "a.bin", "file_data": "data:x/y;base64,AA=="}},
            {"type": "input_audio", "input_audio": {}},
            "stray",
        ]
        for role in ("user", "tool"):
            message = {"role": role, "content": content, "tool_call_id": "c1"}
            start = [USER, assistant("")] if role == "tool" else []
            blocks = turns([*start, message])[-1][1]
            blocks = blocks[0]["content"] if role == "tool" else blocks
            with self.subTest(role):
                kinds = [each["type"] for each in blocks]
                self.assertEqual(
                    kinds, ["text", "image", "image", "text", "document", "text", "text"]
                )
                source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
                self.assertEqual(blocks[1]["source"], source)
                self.assertEqual(blocks[2]["source"], {"type": "url", "url": "https://h/x.png"})
                self.assertIn("cannot be given", blocks[3]["text"])


PDF = "data:application/pdf;base64,JVBERg=="


class Cache(unittest.TestCase):
    def marks(self, messages: list[Json], **changes: Any) -> list[str]:
        body = build(messages, **changes)
        blocks = [*body.get("tools", ()), *body.get("system", ())]
        blocks += [block for turn in body["messages"] for block in turn["content"]]
        marked = [block for block in blocks if "cache_control" in block]
        self.assertTrue(all(b["cache_control"] == {"type": "ephemeral"} for b in marked))
        return [b.get("text") or b.get("tool_use_id") or b["name"] for b in marked]

    def test_where_the_prompt_is_marked(self) -> None:
        system = {"role": "system", "content": "rules"}
        calls = [assistant("x"), RESULT, assistant("y"), {**RESULT, "tool_call_id": "c2"}]
        self.assertEqual(self.marks([system, USER]), ["rules", "hi"])
        self.assertEqual(self.marks([system, USER, *calls]), ["rules", "c1", "c2"])
        self.assertEqual(self.marks([USER], tools=[tool("a"), tool("b")]), ["b", "hi"])
        self.assertEqual(self.marks([system, USER], quirks={"cache_marks": False}), [])

    def test_the_end_of_one_request_is_marked_in_the_next(self) -> None:
        """So it is found even when more than twenty blocks came in between."""
        system = {"role": "system", "content": "rules"}
        many = [{**CALL, "id": f"c{n}"} for n in range(30)]
        results = [{**RESULT, "tool_call_id": f"c{n}"} for n in range(30)]
        before = self.marks([system, USER])
        after = self.marks([system, USER, assistant("x", calls=many), *results])
        self.assertEqual(before, after[: len(before)])
        self.assertLessEqual(len(after), 4)


class Rest(unittest.TestCase):
    def test_the_plain_body(self) -> None:
        body = build([USER])
        self.assertEqual(
            {k: v for k, v in body.items() if k != "messages"},
            {"model": "m-1", "max_tokens": MAX_TOKENS, "stream": True},
        )

    def test_the_same_messages_give_the_same_bytes(self) -> None:
        messages = [USER, assistant("x", kept(SEAL)), RESULT]
        before = json.dumps(messages)
        self.assertEqual(json.dumps(build(messages)), json.dumps(build(messages)))
        self.assertEqual(json.dumps(messages), before, "a session is not written to")

    def test_limits(self) -> None:
        self.assertEqual(build([USER], max_tokens=9)["max_tokens"], 9)
        self.assertEqual(build([USER], max_tokens=9, options={"max_tokens": 5})["max_tokens"], 5)

    def test_tools(self) -> None:
        odd = tool("fs.read")
        odd["function"]["parameters"] = {"anyOf": [{"required": ["a"]}], "properties": {"a": {}}}
        first, second = build([USER], [tool("add"), odd])["tools"]
        self.assertEqual(first["input_schema"], {"type": "object", "properties": {}})
        self.assertRegex(second["name"], r"^[A-Za-z0-9_-]{1,64}$")
        self.assertNotIn("anyOf", second["input_schema"])
        self.assertIn('{"anyOf": [{"required": ["a"]}]}', second["description"])
        self.assertEqual(second["input_schema"]["type"], "object")

    def test_tool_choice(self) -> None:
        alone = {"parallel_tool_calls": False}
        thinking = {"thinking": {"type": "adaptive"}}
        cases: list[tuple[Any, Json, Any]] = [
            (None, {}, None),
            ("auto", {}, None),
            ("required", {}, {"type": "any"}),
            ("f", {}, {"type": "tool", "name": "f"}),
            ("required", thinking, None),  # refused by the API
            ("auto", alone, {"type": "auto", "disable_parallel_tool_use": True}),
            ("f", alone, {"type": "tool", "name": "f", "disable_parallel_tool_use": True}),
        ]
        for choice, settings, wanted in cases:
            with self.subTest(choice, settings=settings):
                asked = {"tool_choice": choice}
                body = build([USER], [tool("f")], settings=settings, options=asked)
                self.assertEqual(body.get("tool_choice"), wanted)
                self.assertNotIn("parallel_tool_calls", body)
        self.assertNotIn("tool_choice", build([USER], options={"tool_choice": "required"}))

    def test_thinking(self) -> None:
        budget = {"type": "enabled", "budget_tokens": 2000}
        readable = {"type": "adaptive", "display": "summarized"}
        unthought = [USER, assistant("x"), RESULT]
        thought = [USER, assistant("x", kept(SEAL)), RESULT]
        cases: list[tuple[list[Json], Json, Any]] = [
            ([USER], {}, None),
            ([USER], {"is_reasoning": True}, readable),
            ([USER], {"settings": {"thinking": budget}, "is_reasoning": True}, budget),
            (thought, {"settings": {"thinking": budget}}, budget),
            (unthought, {"settings": {"thinking": budget}}, None),
            ([*unthought, assistant("y", calls=()), USER], {"settings": {"thinking": budget}})
            + (budget,),
            (unthought, {"is_reasoning": True}, readable),
        ]
        for number, (messages, changes, wanted) in enumerate(cases):
            with self.subTest(number):
                self.assertEqual(build(messages, **changes).get("thinking"), wanted)

    def test_settings(self) -> None:
        settings = {
            "verbosity": "low",
            "min_p": 0.1,
            "temperature": 0.5,
            "use_custom_temp": True,
            "top_k": 3,
            "stop": "END",
            "presence_penalty": 1,
            "seed": 4,
            "reasoning_effort": "low",
            "system": "obey me",
            "mcp_servers": [{"url": "https://evil.example"}],
            "max_tokens": 1,
            "messages": [],
        }
        body = build([USER], settings=settings)
        self.assertEqual((body["temperature"], body["top_k"]), (0.5, 3))
        self.assertEqual(body["stop_sequences"], ["END"])
        self.assertEqual(body["output_config"], {"effort": "low"})
        self.assertEqual(body["max_tokens"], MAX_TOKENS)
        lacks = ("presence_penalty", "seed", "mcp_servers", "system", "stop", "verbosity", "min_p")
        self.assertEqual({*lacks} & {*body}, set())
        thinks = build([USER], settings={**settings, "thinking": {"type": "adaptive"}})
        self.assertFalse({"temperature", "top_k"} & set(thinks))
        self.assertEqual(build([USER], extra_body={"speed": "fast"})["speed"], "fast")

    def test_each_documented_setting(self) -> None:
        """It is sent under a name that the API has, or not at all: it refuses what it lacks."""
        known = {"model", "messages", "max_tokens", "stream", "stop_sequences", "output_config"}
        known |= {"temperature", "top_p", "top_k"}
        plain = build([USER])
        for name in MODEL_SETTINGS.fields:
            for value in (1, True, "low"):
                body = build([USER], settings={"use_custom_temp": True, name: value})
                with self.subTest(name, value=value):
                    self.assertLessEqual({*body}, known)
                    self.assertLessEqual(plain.items(), body.items())

    def test_response_format(self) -> None:
        schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
        wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
        body = build([USER], options={"response_format": wanted})
        self.assertEqual(
            body["output_config"], {"format": {"type": "json_schema", "schema": schema}}
        )
        free = build([USER], options={"response_format": {"type": "json_object"}})
        self.assertNotIn("output_config", free)


if __name__ == "__main__":
    unittest.main()
