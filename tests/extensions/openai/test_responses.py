"""Responses requests as sessions: items become a history, and what needs storage is refused."""

from __future__ import annotations

import copy
import time
import unittest
from typing import Any

from server.errors import Problem
from server.extensions.openai import responses
from server.session import schema

from .rows import naming

Json = dict[str, Any]
TAKEN = frozenset({"shell", "finish"})
TOOL = {"type": "function", "name": "weather", "parameters": {"type": "object"}, "strict": True}


def nothing(name: str, most: int) -> None:
    """No answer is kept."""


def read(**fields: Any) -> tuple[Json, responses.ResponsesOptions]:
    body = {"model": "default", "input": "hi"} | copy.deepcopy(fields)
    return responses.read(body, TAKEN, {RECALLED: CARRIER}.get, nothing)


def says(text: str) -> Json:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "m", "role": "assistant", "content": content}


def call(call_id: str, name: str = "weather", **more: Any) -> Json:
    made = {"type": "function_call", "id": "fc", "call_id": call_id, "name": name}
    return made | {"arguments": "{}", **more}


def output(call_id: str, value: Any = "r") -> Json:
    return {"type": "function_call_output", "call_id": call_id, "output": value}


RECALLED = f"call_{'0' * 24}_0"
MADE = {"id": "c", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
CARRIER = {
    "id": "ses_1",
    "calls": {"told": "c", RECALLED: "c"},
    "messages": [
        {"id": "1", "role": "assistant", "content": "one", "tool_calls": [{**MADE, "id": "s"}]},
        {"id": "2", "role": "tool", "tool_call_id": "s", "content": "x"},
        {"id": "3", "role": "assistant", "content": "two", "tool_calls": [MADE]},
    ],
}
USER = {"role": "user", "content": "hi"}


class Fields(unittest.TestCase):
    def test_no_field_is_in_two_tables(self) -> None:
        tables = (responses.READ, responses.SETTINGS, responses.ONLY, responses.IGNORED)
        names = [name for table in tables for name in table]
        self.assertEqual(len(names), len(set(names)))
        self.assertLessEqual(set(responses.STORED), set(responses.ONLY))

    def test_the_least(self) -> None:
        session, wish = read()
        self.assertEqual(schema.check(session), [])
        self.assertEqual(session["messages"], [USER])
        self.assertTrue(session["config"]["yaa"]["unattended"])
        self.assertFalse(wish.stream)

    def test_tools_that_are_no_functions_are_left_out_and_said(self) -> None:
        """As Codex CLI sends them with each request."""
        inner = {"type": "function", "name": "spawn", "parameters": {}}
        tools: list[Json] = [
            {"type": "function", "name": "exec", "parameters": {"type": "object"}},
            {"type": "namespace", "name": "agents", "tools": [inner]},
            *({"type": kind} for kind in ("web_search", "custom", "web_search")),
        ]
        session, wish = read(tools=tools, tool_choice="auto")
        self.assertEqual([tool["name"] for tool in session["tools"]], ["exec"])
        self.assertEqual(wish.left_out, ("namespace", "web_search", "custom"))
        made: Any = {"messages": []}
        reply = responses.ResponsesReply(made, wish, run_id="run_1", first_message=0)
        (warning,) = reply._extra(with_session=False)["yaa"]["warnings"]
        self.assertEqual(warning["code"], "tools_left_out")
        self.assertIn("namespace, web_search, custom", warning["message"])
        self.assertEqual(read(tools=tools[:1])[1].left_out, ())

    def test_what_is_handed_on(self) -> None:
        session, wish = read(
            temperature=0.5,
            top_p=1,
            parallel_tool_calls=True,
            reasoning={"effort": "high", "summary": "auto"},
            max_output_tokens=9,
            instructions="rule",
            text={"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}}},
            store=True,
        )
        llm = session["config"]["llm_api"]
        wanted: Json = {"temperature": 0.5, "use_custom_temp": True, "top_p": 1}
        wanted |= {"parallel_tool_calls": True, "reasoning_effort": "high"}
        self.assertEqual((llm["max_tokens"], llm["model_settings"]), (9, wanted))
        self.assertEqual(session["config"]["yaa"]["output_schema"], {"type": "object"})
        self.assertEqual(session["messages"][0], {"role": "system", "content": "rule"})
        self.assertEqual((wish.echo["store"], wish.echo["temperature"]), (True, 0.5))

    def test_an_answer_is_kept_unless_the_caller_or_the_server_says_no(self) -> None:
        for store, keeps, kept in (
            (None, True, True),
            (True, True, True),
            (False, True, False),
            (None, False, False),
        ):
            with self.subTest(store=store, keeps=keeps):
                body = {"model": "default", "input": "hi", "store": store}
                _, wish = responses.read(body, TAKEN, lambda _: None, nothing, keeps=keeps)
                self.assertEqual(wish.echo["store"], kept)
                self.assertEqual(wish.body, body if kept else None)

    def test_null_is_as_good_as_absent(self) -> None:
        every = {*responses.READ, *responses.SETTINGS, *responses.ONLY, *responses.IGNORED}
        session, wish = read(**dict.fromkeys(every - {"model", "input"}))
        least, plain = read()
        self.assertEqual((session, wish.echo), (least, plain.echo))

    def test_tool_choices(self) -> None:
        named = {"type": "function", "name": "weather"}
        for choice, declared, forced in (
            ("none", 0, None),
            ("required", 1, "required"),
            (named, 1, "weather"),
            ({"type": "allowed_tools", "mode": "required", "tools": [named]}, 1, "required"),
        ):
            with self.subTest(choice):
                session, _ = read(tools=[TOOL], tool_choice=choice)
                self.assertEqual(len(session["tools"]), declared)
                self.assertEqual(session["config"]["llm_api"].get("tool_choice"), forced)


class Items(unittest.TestCase):
    def roles(self, *items: Json) -> list[str]:
        session, _ = read(input=list(items))
        self.assertEqual(schema.check(session), [])
        self.messages: list[Json] = session["messages"]
        return [each.get("tool_call_id") or each["role"] for each in self.messages]

    def test_one_answer_is_one_message(self) -> None:
        found = self.roles(USER, says("I look."), call("a"), call("b"), output("a"), output("b"))
        self.assertEqual(found, ["user", "assistant", "a", "b"])
        self.assertEqual(self.messages[1]["content"], "I look.")
        self.assertEqual(len(self.messages[1]["tool_calls"]), 2)

    def test_words_behind_a_call_are_of_the_same_answer(self) -> None:
        found = self.roles(USER, call("a"), says("I ask."), call("b"), output("a"), output("b"))
        self.assertEqual(found, ["user", "assistant", "a", "b"])
        self.assertEqual(self.messages[1]["content"], "I ask.")

    def test_calls_one_after_the_other(self) -> None:
        found = self.roles(USER, call("a"), output("a"), call("b"), output("b"), says("x"), USER)
        self.assertEqual(found, ["user", "assistant", "a", "assistant", "b", "assistant", "user"])

    def test_results_in_any_place_behind_their_call(self) -> None:
        found = self.roles(USER, call("a"), output("a"), says("x"), USER)
        self.assertEqual(found, ["user", "assistant", "a", "assistant", "user"])

    def test_thoughts_are_left_out(self) -> None:
        thought = {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "x"}
        self.assertEqual(
            self.roles(USER, thought, call("a"), output("a")), ["user", "assistant", "a"]
        )

    def test_a_thought_that_is_written_as_an_answer_is_left_out(self) -> None:
        for text, kept in (
            ("<think>\nhm\n</think>", False),
            (" <think></think>\n", False),
            ("<think>hm</think> Yes.", True),
            ("<think>a</think> b <think>c</think>", True),
            ("<think>", True),
            ("</think>", True),
        ):
            with self.subTest(text):
                self.roles(USER, says(text), USER)
                said = [each["content"] for each in self.messages if each["role"] == "assistant"]
                self.assertEqual(said, [text] if kept else [])

    def test_parts(self) -> None:
        content = [
            {"type": "input_text", "text": "看"},
            {"type": "input_image", "image_url": "data:image/png;base64,AA", "detail": "low"},
            {"type": "input_file", "filename": "a.pdf", "file_data": "data:…"},
        ]
        self.roles({"role": "developer", "content": "rule"}, {"role": "user", "content": content})
        self.assertEqual(self.messages[0]["role"], "system")
        kinds = [part["type"] for part in self.messages[1]["content"]]
        self.assertEqual(kinds, ["text", "image_url", "file"])
        image = {"url": "data:image/png;base64,AA", "detail": "low"}
        self.assertEqual(self.messages[1]["content"][1]["image_url"], image)
        self.roles(USER, call("a"), output("a", [{"type": "input_text", "text": "t"}]))
        self.assertEqual(self.messages[-1]["content"], "t")

    def test_what_a_run_hid_comes_back_once(self) -> None:
        """The texts that it said before are items of their own, and in the carrier too."""
        for called in (call("told", yaa=CARRIER), call(RECALLED)):
            call_id = called["call_id"]
            with self.subTest(call_id):
                found = self.roles(USER, says("one"), says("two"), called, output(call_id))
                self.assertEqual(found, ["user", "assistant", "s", "assistant", "c"])
                texts = [each.get("content") for each in self.messages[1:4]]
                self.assertEqual(texts, ["one", "x", "two"])


class Refused(unittest.TestCase):
    def test_places(self) -> None:
        allowed = {"type": "allowed_tools", "tools": [{"type": "mcp"}]}
        for fields, where in (
            ({"input": None}, "/input"),
            ({"input": []}, "/input"),
            ({"input": 5}, "/input"),
            ({"input": [5]}, "/input/0"),
            ({"model": None}, "/model"),
            ({"previous_response_id": "r"}, "/previous_response_id"),
            ({"previous_response_id": 5}, "/previous_response_id"),
            ({"store": "yes"}, "/store"),
            ({"conversation": "c"}, "/conversation"),
            ({"prompt": {"id": "p"}}, "/prompt"),
            ({"background": True}, "/background"),
            ({"top_logprobs": 2}, "/top_logprobs"),
            ({"tools": [{"type": 5}]}, "/tools/0/type"),
            ({"tools": [{"type": "web_search"}], "tool_choice": "required"}, "/tool_choice"),
            ({"tools": [{"type": "function"}]}, "/tools/0/name"),
            ({"tools": [TOOL], "tool_choice": allowed}, "/tool_choice/tools/0/type"),
            ({"tool_choice": {"type": "web_search"}}, "/tool_choice"),
            ({"tool_choice": {"type": "function", "name": "x"}}, "/tool_choice/name"),
            ({"tool_choice": "required"}, "/tool_choice"),
            ({"text": {"format": {"type": "x"}}}, "/text/format/type"),
            ({"text": {"format": {"type": "json_schema", "schema": 5}}}, "/text/format/schema"),
            ({"max_output_tokens": 0}, "/max_output_tokens"),
            ({"reasoning": "high"}, "/reasoning"),
            ({"input": [{"type": "item_reference", "id": "x"}]}, "/input/0"),
            ({"input": [{"type": "computer_call"}]}, "/input/0/type"),
            ({"input": [{"role": "tool", "content": "x"}]}, "/input/0/role"),
            ({"input": [{"role": "user", "content": [{"type": "x"}]}]}, "/input/0/content/0/type"),
            (
                {"input": [{"role": "user", "content": [{"type": "input_image", "file_id": "f"}]}]},
                "/input/0/content/0/file_id",
            ),
            (
                {"input": [{"role": "user", "content": [{"type": "input_image"}]}]},
                "/input/0/content/0/image_url",
            ),
            ({"input": [USER, call("a")]}, "/input/1"),
            ({"input": [USER, output("a")]}, "/input/1"),
            ({"input": [USER, call("")]}, "/input/1/call_id"),
            ({"input": [USER, {**call("a"), "name": ""}]}, "/input/1/name"),
            ({"max_output_tokens": 10**30}, "/max_output_tokens"),
            ({"input": [USER, says("x")]}, "/input"),
        ):
            with self.subTest(fields), self.assertRaises(Problem) as caught:
                read(**fields)
            self.assertEqual(caught.exception.status, 400)
            self.assertEqual(caught.exception.errors[0]["pointer"], where)

    def test_who_refers_to_what_was_stored_is_told_how_to_send_it(self) -> None:
        with self.assertRaises(Problem) as caught:
            read(input=[USER, {"type": "item_reference", "id": "msg_1"}])
        self.assertIn("store: false", caught.exception.detail)


class Many(unittest.TestCase):
    def test_a_body_full_of_one_thing_takes_no_more_than_its_size(self) -> None:
        """Nothing of it is held against all the rest: the server would stand still meanwhile."""
        flat = [{"type": "function", "name": f"f{n}"} for n in range(10_000)]
        made = {"type": "function_call", "name": "f", "arguments": "{}"}
        calls = [made | {"call_id": f"c{n}"} for n in range(20_000)]
        outputs = [
            {"type": "function_call_output", "call_id": f"c{n}", "output": ""}
            for n in range(20_000)
        ]
        words = [{"role": "assistant", "content": "x" * 50} for _ in range(10_000)]
        for name, body in (
            ("tools", {"model": "a", "input": "x", "tools": flat}),
            ("texts", {"model": "a", "input": [*calls[:1], *words]}),
            ("calls", {"model": "a", "input": [*calls, *outputs]}),
        ):
            began = time.process_time()
            try:
                naming(body, [], lambda call_id: None)
            except Problem:
                pass
            self.assertLess(time.process_time() - began, 2, name)


if __name__ == "__main__":
    unittest.main()
