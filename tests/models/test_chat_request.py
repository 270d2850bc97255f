"""Requests: what each kind of provider is sent."""

from __future__ import annotations

import json
import re
import unittest
from typing import Any

from server.models import Options
from server.models.chat_request import ModelRequest, ToolNameMap, object_text, request
from server.session.media import plain_text

from .fakes import TOOL_MODES, options, provider, tool

CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
USER: dict[str, Any] = {"id": "u1", "role": "user", "content": "hi", "at": 1, "name": "Ada"}
RESULT: dict[str, Any] = {
    "id": "t1",
    "role": "tool",
    "tool_call_id": "c1",
    "name": "f",
    "content": "1",
    "result": {},
}


MINE = {"model": "m-1", "provider": "main"}


def assistant(**more: Any) -> dict[str, Any]:
    made = {"id": "a1", "role": "assistant", "content": "", "tool_calls": [CALL], "at": 2}
    return {**made, "meta": {"model": "m-1", "provider": "main"}, **more}


def build(messages: list[Any], tools: Any = (), **changes: Any) -> dict[str, Any]:
    mode = TOOL_MODES[changes.pop("mode", "native")]
    asked = changes.pop("options", {})
    source = provider(**changes)
    return request(
        ModelRequest(source, messages, list(tools), options(**asked), mode, ToolNameMap())
    )


def sent(messages: list[dict[str, Any]], **changes: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = build(messages, **changes)["messages"]
    return found


class Schemas(unittest.TestCase):
    """`$ref` stays where the provider understands it, and is written out everywhere else."""

    NODE = {
        "title": "m.Node",
        "type": "object",
        "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
    }
    TREE = {
        "type": "object",
        "properties": {"root": {"$ref": "#/$defs/Node"}},
        "$defs": {"Node": NODE},
    }

    def test_references(self) -> None:
        given = {"type": "function", "function": {"name": "f", "parameters": self.TREE}}
        before = json.dumps(given)
        for preset, mode, kept in (
            ("openai", "native", True),
            ("llamacpp", "native", True),
            ("custom", "native", False),
            ("openrouter", "native", False),
            ("openai", "json_schema", False),
            ("openai", "text", False),
        ):
            if mode not in TOOL_MODES:
                continue
            with self.subTest(preset, mode=mode):
                body = build([USER], [given], preset=preset, mode=mode)
                self.assertEqual("$defs" in json.dumps(body), kept)
                if mode == "native" and not kept:
                    (sent_tool,) = body["tools"]
                    kids = sent_tool["function"]["parameters"]["properties"]["root"]["properties"]
                    self.assertEqual(
                        kids["kids"]["items"],
                        {
                            "type": "object",
                            "title": "m.Node",
                            "description": "same shape as m.Node",
                        },
                    )
        self.assertEqual(json.dumps(given), before)


class Messages(unittest.TestCase):
    def test_thoughts_kept_for_another_api_do_not_go_to_this_one(self) -> None:
        place = {"at": [0, 0], "item": {"type": "thinking", "thinking": "hm", "signature": "x"}}
        thought = {"text": "hm", "field": "thinking_blocks", "details": [place]}
        _, told, _ = sent([USER, assistant(reasoning=thought), RESULT], preset="openrouter")
        self.assertEqual(told["reasoning"], "hm")
        self.assertNotIn("reasoning_details", told)

    def test_ids_of_calls_that_another_model_made_are_not_too_long(self) -> None:
        """OpenAI takes 40 characters, and vLLM makes 46."""
        long = "chatcmpl-tool-" + "0123456789abcdef" * 2
        for model, same in (("m-1", True), ("other", False), (None, False)):
            said = assistant(tool_calls=[{**CALL, "id": long}, CALL], meta={"model": model})
            results = [{**RESULT, "tool_call_id": long}, RESULT]
            _, told, first, second = sent([USER, said, *results])
            with self.subTest(model):
                ids = [call["id"] for call in told["tool_calls"]]
                self.assertEqual(ids, [first["tool_call_id"], second["tool_call_id"]])
                self.assertEqual((ids[0] == long, ids[1]), (same, "c1"))
                self.assertTrue(same or len(ids[0]) <= 40)

    def test_a_result_names_its_tool_where_that_is_wanted(self) -> None:
        for changes, name in (
            ({"preset": "custom"}, "f"),
            ({"preset": "openai"}, None),
            ({"preset": "zhipu"}, None),
        ):
            with self.subTest(**changes):
                self.assertEqual(sent([USER, assistant(), RESULT], **changes)[-1].get("name"), name)

    def test_only_what_providers_know(self) -> None:
        messages = [
            {"id": "s", "role": "system", "content": "be good"},
            USER,
            assistant(),
            RESULT,
            {"id": "e", "role": "error", "content": "boom", "code": "x"},
            assistant(id="cut", content="half", open=True, tool_calls=[]),
            assistant(id="empty", tool_calls=[]),
            assistant(id="a2", content="done", tool_calls=[], reasoning={"text": "hm"}),
        ]
        self.assertEqual(
            sent(messages),
            [
                {"role": "system", "content": "be good"},
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": None, "tool_calls": [CALL]},
                {"role": "tool", "tool_call_id": "c1", "name": "f", "content": "1"},
                {"role": "assistant", "content": "done"},
            ],
        )

    def test_no_content_is_an_empty_one(self) -> None:
        nothings: list[dict[str, Any]] = [{}, {"content": None}, {"content": []}]
        for nothing in nothings:
            call = {"tool_call_id": "c1"}
            messages = [
                *({"role": role, **nothing} for role in ("system", "user")),
                assistant(),
                {"role": "tool", **call, **nothing},
            ]
            for mode in TOOL_MODES:
                contents = [each["content"] for each in sent(messages, mode=mode)]
                self.assertTrue(
                    all(isinstance(each, str) for each in contents if each is not None), contents
                )
                self.assertNotIn(None, contents[:2])

    def test_parts_are_kept(self) -> None:
        parts = [{"type": "text", "text": "x"}, {"type": "image_url", "image_url": {"url": "d"}}]
        (message,) = sent([{"role": "user", "content": parts}])
        self.assertEqual(message["content"], parts)

    def test_the_input_is_not_changed(self) -> None:
        messages = [USER, assistant(reasoning={"field": "reasoning", "text": "hm"}), RESULT]
        before = json.dumps(messages)
        for preset in ("custom", "deepseek", "openai"):
            for mode in TOOL_MODES:
                build(messages, [tool("f")], preset=preset, mode=mode)
        self.assertEqual(json.dumps(messages), before)

    def test_same_bytes_each_time_and_a_growing_prefix(self) -> None:
        messages = [{"role": "system", "content": "s"}, USER, assistant(), RESULT]
        first = json.dumps(sent(messages))
        self.assertEqual(json.dumps(sent(messages)), first)
        longer = json.dumps(sent([*messages, assistant(content="ok", tool_calls=[]), USER]))
        self.assertTrue(longer.startswith(first[:-1]))

    def test_name_of_the_user(self) -> None:
        self.assertEqual(sent([USER], preset="openai")[0]["name"], "Ada")
        self.assertNotIn("name", sent([USER], preset="zhipu")[0])

    def test_one_system_message(self) -> None:
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": "a"},
            {"role": "system", "content": [{"type": "text", "text": "b"}]},
            USER,
            {"role": "system", "content": "c"},
        ]
        quirks: Any = {"single_system_message": True}
        self.assertEqual(
            [(m["role"], m["content"]) for m in sent(messages, quirks=quirks)],
            [("system", "a\n\nb"), ("user", "hi"), ("user", "<system>\nc\n</system>")],
        )
        self.assertEqual(sent(messages[:1], quirks=quirks), [{"role": "system", "content": "a"}])
        self.assertEqual(len(sent(messages)), 4)

    def test_broken_arguments_of_the_past(self) -> None:
        cases = {
            '{"a":1}': '{"a":1}',
            '{"a":': '{"invalid_json": "{\\"a\\":"}',
            "[1]": '{"invalid_json": "[1]"}',
            "": "{}",
            " ": "{}",
            "[" * 100_000: None,
        }
        for arguments, wanted in cases.items():
            with self.subTest(arguments[:20]):
                found = object_text(arguments)
                self.assertIsInstance(json.loads(found), dict)
                self.assertEqual(found, wanted if wanted is not None else found)

    def test_opaque_data_goes_back_to_its_model_only(self) -> None:
        own: dict[str, Any] = {"extra_content": {"google": {"thought_signature": "QQ=="}}}
        own["provider_specific_fields"] = {"thought_signature": "QQ=="}
        extra = {**own, "function": {"name": "other"}, "text": "no object"}
        call = {**CALL, "extra": extra}
        mine = sent([USER, assistant(tool_calls=[call]), RESULT])[1]["tool_calls"][0]
        self.assertEqual(mine, {**CALL, **own})
        for meta in ({"model": "other"}, None):
            other = sent([USER, assistant(tool_calls=[call], meta=meta), RESULT])[1]
            self.assertEqual(other["tool_calls"], [CALL])

    def test_a_model_gets_its_own_ids_back_where_they_are_unique(self) -> None:
        theirs = "functions.time:0"
        for ids, meta, quirks, wanted in (
            ([theirs], MINE, {}, [theirs]),
            ([theirs], {"model": "other"}, {}, ["c0"]),
            ([theirs], MINE, {"short_ids": True}, [None]),
            ([theirs, theirs], MINE, {}, [theirs, "c1"]),
            ([5, ""], MINE, {}, ["c0", "c1"]),
        ):
            with self.subTest(ids, quirks=quirks):
                messages: list[Any] = [USER]
                for number, each in enumerate(ids):
                    call = {**CALL, "id": f"c{number}", "extra": {"id": each}}
                    messages.append(assistant(tool_calls=[call], meta=meta))
                    messages.append({**RESULT, "tool_call_id": f"c{number}"})
                found = sent(messages, quirks=quirks)
                asked = [m["tool_calls"][0]["id"] for m in found if "tool_calls" in m]
                answered = [m["tool_call_id"] for m in found if m["role"] == "tool"]
                self.assertEqual(asked, answered)
                for one, other in zip(asked, wanted, strict=True):
                    self.assertEqual(one, other or one)
                    self.assertTrue(other or re.fullmatch("[A-Za-z0-9]{9}", one))


class Reasoning(unittest.TestCase):
    def back(self, reasoning: Any, **changes: Any) -> dict[str, Any]:
        more = changes.pop("message", {})
        return sent([USER, assistant(reasoning=reasoning, **more), RESULT], **changes)[1]

    def test_under_the_field_it_came_in(self) -> None:
        for field in ("reasoning_content", "reasoning"):
            with self.subTest(field):
                self.assertEqual(self.back({"field": field, "text": "hm"})[field], "hm")

    def test_an_unknown_field_becomes_the_presets(self) -> None:
        self.assertEqual(self.back({"text": "hm"}, preset="openrouter")["reasoning"], "hm")
        self.assertEqual(self.back({"text": "hm"}, preset="custom")["reasoning_content"], "hm")

    def test_tags_and_parts(self) -> None:
        back = self.back({"field": "think_tags", "text": "hm"}, message={"content": "ok"})
        self.assertEqual(back["content"], "<think>hm</think>ok")
        back = self.back({"field": "thinking", "text": "hm"}, message={"content": "ok"})
        self.assertEqual(back["content"][0]["thinking"], [{"type": "text", "text": "hm"}])
        blind = {"message": {"content": "ok"}, "quirks": {"images": False}}
        back = self.back({"field": "thinking", "text": "hm"}, **blind)
        self.assertEqual(back["content"], "ok", "a thought is no image that it cannot be given")
        quirks = {"send_back_reasoning": "tags"}
        back = self.back({"field": "reasoning", "text": "hm"}, quirks=quirks)
        self.assertEqual(back["content"], "<think>hm</think>")

    def test_details_go_back_whole(self) -> None:
        details = [{"type": "reasoning.encrypted", "data": "QQ=="}]
        back = self.back({"field": "reasoning", "text": "hm", "details": details})
        self.assertEqual(back["reasoning_details"], details)
        self.assertNotIn("reasoning", back)

    def test_members_of_the_providers_own_go_back_beside_it(self) -> None:
        blocks = [{"type": "thinking", "thinking": "hm", "signature": "s"}]
        details = [
            {"member": "thinking_blocks", "value": blocks},
            {"member": "role", "value": ["system"]},
        ]
        thought = {"field": "reasoning_content", "text": "hm", "details": details}
        back = self.back(thought)
        self.assertEqual((back["thinking_blocks"], back["role"]), (blocks, "assistant"))
        self.assertEqual(back["reasoning_content"], "hm")
        own = {"type": "reasoning.text", "text": "hm"}
        back = self.back({**thought, "details": [*details, own]})
        self.assertEqual((back["thinking_blocks"], back["reasoning_details"]), (blocks, [own]))
        other = self.back(thought, message={"meta": {"model": "other"}})
        self.assertNotIn("thinking_blocks", other)

    def test_required_in_every_answer(self) -> None:
        """DeepSeek V4, also in a long session, whose texts are written at once."""
        said = assistant(content="ok", reasoning={"field": "reasoning_content", "text": "hm"})
        del said["tool_calls"]
        other = {**said, "meta": {"model": "other"}}
        for preset, kept in (("deepseek", ["hm", ""]), ("moonshot", [None, None])):
            for many in (1, 40):
                with self.subTest(preset, many=many):
                    found = sent([USER, said, USER, other] * many, preset=preset)
                    texts = [json.loads(m) if isinstance(m, str) else m for m in found]
                    back = [m.get("reasoning_content") for m in texts if m["role"] == "assistant"]
                    self.assertEqual(back, kept * many)

    def test_required_even_when_empty(self) -> None:
        for preset in ("deepseek", "moonshot"):
            for reasoning in (None, {"text": ""}):
                with self.subTest(preset):
                    self.assertEqual(self.back(reasoning, preset=preset)["reasoning_content"], "")

    def test_of_another_model(self) -> None:
        thought = {"field": "reasoning", "text": "hm", "details": [{}]}
        other = {"meta": {"model": "other"}}
        back = self.back(thought, message=other)
        self.assertEqual(set(back), {"role", "content", "tool_calls"})
        back = self.back(thought, message=other, preset="deepseek")
        self.assertEqual(back["reasoning_content"], "")

    def test_never_for_openai(self) -> None:
        back = self.back({"field": "reasoning_content", "text": "hm"}, preset="openai")
        self.assertEqual(set(back), {"role", "content", "tool_calls"})


class Tools(unittest.TestCase):
    def test_names(self) -> None:
        names = ToolNameMap()
        safe = {names.safe(name) for name in ("fs.read", "fs_read", "fs read", "读取", "x" * 80)}
        self.assertEqual(len(safe), 5)
        for name in safe:
            self.assertRegex(name, r"\A[A-Za-z0-9_-]{1,64}\Z")
        for name in ("fs.read", "读取", "x" * 80, "plain"):
            self.assertEqual(names.restore(names.safe(name)), name)
        self.assertEqual(ToolNameMap().safe("fs.read"), names.safe("fs.read"))

    def test_names_in_the_history_too(self) -> None:
        call = {**CALL, "function": {"name": "fs.read", "arguments": "{}"}}
        body = build([USER, assistant(tool_calls=[call]), RESULT], [tool("fs.read")])
        name = body["messages"][1]["tool_calls"][0]["function"]["name"]
        self.assertEqual(name, body["tools"][0]["function"]["name"])

    def test_strict_only_where_it_is_known(self) -> None:
        strict = tool("f")
        strict["function"]["strict"] = True
        for preset, kept in (("openai", True), ("deepseek", False)):
            function = build([USER], [strict], preset=preset)["tools"][0]["function"]
            self.assertEqual("strict" in function, kept)

    def test_tools_without_parameters(self) -> None:
        bare = {"type": "function", "function": {"name": "f", "description": ""}}
        function = build([USER], [bare])["tools"][0]["function"]
        self.assertEqual(function["parameters"], {"type": "object", "properties": {}})

    def test_choices(self) -> None:
        named = {"type": "function", "function": {"name": "f"}}
        cases = [
            ("custom", None, None),
            ("custom", "auto", None),
            ("custom", "required", "required"),
            ("custom", "f", named),
            ("zhipu", "required", None),
            ("zhipu", "f", None),
            ("deepseek", "f", None),
        ]
        for preset, choice, wanted in cases:
            asked = {"tool_choice": choice}
            body = build([USER], [tool("f")], preset=preset, options=asked)
            with self.subTest(preset, choice=choice):
                self.assertEqual(body.get("tool_choice"), wanted)

    def test_not_streamed_where_tools_break_it(self) -> None:
        quirks = {"stream_with_tools": False}
        self.assertIs(build([USER], [tool("f")], quirks=quirks)["stream"], False)
        self.assertIs(build([USER], quirks=quirks)["stream"], True)

    def test_incremental_arguments_of_zhipu(self) -> None:
        self.assertIs(build([USER], [tool("f")], preset="zhipu")["tool_stream"], True)
        self.assertNotIn("tool_stream", build([USER], preset="zhipu"))


class Settings(unittest.TestCase):
    def test_temperature_only_when_switched_on(self) -> None:
        for spelling in ("use_custom_temp", "use_costum_temp"):
            for on in (True, False):
                settings = {spelling: on, "temperature": 0.5, "top_p": 0.8}
                body = build([USER], settings=settings)
                with self.subTest(spelling, on=on):
                    self.assertEqual(body.get("temperature"), 0.5 if on else None)
                    self.assertEqual(body["top_p"], 0.8)
                    self.assertNotIn(spelling, body)

    def test_reasoning_models(self) -> None:
        settings = {"use_custom_temp": True, "temperature": 0.5, "top_p": 0.8, "seed": 1}
        body = build([USER], settings=settings, is_reasoning=True, max_tokens=100)
        self.assertNotIn("temperature", body)
        self.assertNotIn("top_p", body)
        self.assertEqual((body["seed"], body["max_completion_tokens"]), (1, 100))
        self.assertNotIn("max_tokens", body)

    def test_names_of_the_limit(self) -> None:
        cases = [
            ("openai", False, "max_completion_tokens"),
            ("deepseek", True, "max_tokens"),
            ("zhipu", True, "max_tokens"),
            ("custom", False, "max_tokens"),
            ("custom", True, "max_completion_tokens"),
        ]
        for preset, reasoning, name in cases:
            body = build([USER], preset=preset, is_reasoning=reasoning, max_tokens=9)
            with self.subTest(preset, reasoning=reasoning):
                self.assertEqual({k: v for k, v in body.items() if k.startswith("max_")}, {name: 9})

    def test_the_smaller_limit_wins(self) -> None:
        asked = {"max_tokens": 50}
        self.assertEqual(build([USER], max_tokens=100, options=asked)["max_tokens"], 50)
        self.assertEqual(build([USER], max_tokens=10, options=asked)["max_tokens"], 10)

    def test_settings_cannot_replace_the_request(self) -> None:
        settings = {
            "model": "dearer",
            "messages": [],
            "stream": False,
            "n": 9,
            "tools": [],
            "max_tokens": 10**6,
            "x": None,
            "extra_body": {"model": "dearer", "top_k": 3},
        }
        body = build([USER], settings=settings)
        self.assertEqual(body["model"], "m-1")
        self.assertEqual(len(body["messages"]), 1)
        self.assertIs(body["stream"], True)
        self.assertEqual(body["top_k"], 3)
        for key in ("n", "tools", "max_tokens", "x", "extra_body"):
            self.assertNotIn(key, body)

    def test_a_sessions_settings_lie_over_the_providers(self) -> None:
        own = {"top_p": 0.1, "temperature": 0, "use_custom_temp": True, "model": "dearer"}
        asked = {"settings": {**own, "extra_body": {"top_k": 1}}}
        body = build([USER], settings={"top_p": 0.9, "seed": 3}, options=asked)
        told = {name: body.get(name) for name in ("model", "top_p", "seed", "temperature", "top_k")}
        wanted = {"model": "m-1", "top_p": 0.1, "seed": 3, "temperature": 0, "top_k": None}
        self.assertEqual(told, wanted)

    def test_what_a_session_asks_for(self) -> None:
        api = {"model_settings": {"seed": 1}, "max_tokens": 5}
        found = Options.of({"config": {"llm_api": api}}, lambda kind: kind)
        self.assertEqual((found.settings, found.max_tokens), ({"seed": 1}, 5))
        found = Options.of({}, lambda kind: kind)
        self.assertEqual((found.settings, found.max_tokens), ({}, None))

    def test_stream_options(self) -> None:
        self.assertIn("stream_options", build([USER]))
        self.assertNotIn("stream_options", build([USER], preset="zhipu"))
        self.assertNotIn("stream_options", build([USER], options={"stream": False}))

    def test_the_owners_extra_body_has_the_last_word(self) -> None:
        body = build([USER], preset="minimax", extra_body={"reasoning_split": False, "y": 1})
        self.assertEqual((body["reasoning_split"], body["y"]), (False, 1))

    def test_response_format(self) -> None:
        wanted = {"type": "json_object"}
        body = build([USER], options={"response_format": wanted})
        self.assertEqual(body["response_format"], wanted)


class Texts(unittest.TestCase):
    def test_plain_text(self) -> None:
        self.assertEqual(plain_text([{"type": "text", "text": "a"}, {"type": "image"}, 7]), "a")
        nothings: list[Any] = [None, 7, {}, []]
        for nothing in nothings:
            self.assertEqual(plain_text(nothing), "")


if __name__ == "__main__":
    unittest.main()
