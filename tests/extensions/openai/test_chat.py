"""Chat Completions requests as sessions: what each field becomes, and what is refused where."""

from __future__ import annotations

import copy
import unittest
from typing import Any

from server.errors import Problem
from server.extensions.openai import chat
from server.session import schema as shape

Json = dict[str, Any]
TAKEN = frozenset({"shell", "calculator", "finish"})
USER = {"role": "user", "content": "hi"}
TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "d",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        "strict": True,
    },
}


def body(**fields: Any) -> Json:
    return {"model": "default", "messages": [USER]} | copy.deepcopy(fields)


def read(**fields: Any) -> tuple[Json, chat.ChatOptions]:
    return chat.read(body(**fields), TAKEN, lambda _: None)


class Fields(unittest.TestCase):
    def test_no_field_is_in_two_tables(self) -> None:
        tables = [chat.READ, {*chat.SETTINGS, chat.STOP}, set(chat.ONLY), chat.IGNORED]
        names = [name for table in tables for name in table]
        self.assertEqual(len(names), len(set(names)))

    def test_the_least(self) -> None:
        session, wish = read()
        self.assertEqual(shape.check(session), [])
        self.assertEqual((session["agent"], session["messages"]), ("default", [USER]))
        self.assertTrue(session["config"]["yaa"]["unattended"])
        self.assertEqual((wish.stream, wish.usage, wish.session), (False, False, False))
        self.assertNotIn("id", session)

    def test_what_is_handed_on_to_the_model(self) -> None:
        session, _ = read(
            temperature=0,
            top_p=0.5,
            seed=7,
            stop=["\n", "。"],
            presence_penalty=1,
            frequency_penalty=-1.5,
            logit_bias={"5": 1},
            parallel_tool_calls=False,
            reasoning_effort="low",
            max_tokens=100,
            max_completion_tokens=50,
        )
        llm = session["config"]["llm_api"]
        self.assertEqual(llm["max_tokens"], 50)
        self.assertEqual(
            llm["model_settings"],
            {
                "temperature": 0,
                "use_custom_temp": True,
                "top_p": 0.5,
                "seed": 7,
                "stop": ["\n", "。"],
                "presence_penalty": 1,
                "frequency_penalty": -1.5,
                "logit_bias": {"5": 1},
                "parallel_tool_calls": False,
                "reasoning_effort": "low",
            },
        )
        self.assertNotIn("provider", llm)

    def test_nothing_in_a_body_chooses_a_provider_or_a_policy(self) -> None:
        session, _ = read(
            provider={"api_url": "http://evil"},
            api_key="x",
            config={"tool": {"shell": {"auto_approve": True}}},
            grants=[{"tool": "shell", "decision": "allow"}],
            extra_body={"x": 1},
            agent="coder",
        )
        plain, _ = read()
        self.assertEqual(session, plain)

    def test_null_is_as_good_as_absent(self) -> None:
        every = {*chat.READ, *chat.SETTINGS, chat.STOP, *chat.ONLY, *chat.IGNORED}
        nothing = dict.fromkeys(every - {"model", "messages"})
        self.assertEqual(read(**nothing), read())

    def test_streams(self) -> None:
        _, wish = read(stream=True, stream_options={"include_usage": True}, yaa={"tools": True})
        self.assertEqual((wish.stream, wish.usage, wish.steps), (True, True, True))

    def test_formats(self) -> None:
        schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
        for wanted, found in (
            ({"type": "text"}, None),
            ({"type": "json_object"}, {"type": "object"}),
            ({"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}, schema),
            ({"type": "json_schema", "json_schema": {"name": "n"}}, {"type": "object"}),
        ):
            with self.subTest(wanted):
                session, _ = read(response_format=wanted)
                self.assertEqual(session["config"]["yaa"].get("output_schema"), found)

    def test_what_other_clients_of_seed_000_send(self) -> None:
        session, _ = read(
            sessionId="s",
            frontend_tools=[TOOL, {"name": "flat"}],
            environment_context={"page": "/home", "时间": 1},
        )
        self.assertEqual([each["name"] for each in session["tools"]], ["weather", "flat"])
        self.assertEqual(session["environment"], ["page: /home", "时间: 1"])
        self.assertEqual(read(environment_context="one")[0]["environment"], ["one"])


class ToolChoice(unittest.TestCase):
    def test_choices(self) -> None:
        named = {"type": "function", "function": {"name": "weather"}}
        allowed = {"mode": "required", "tools": [named]}
        for choice, declared, forced, denied in (
            (None, 1, None, False),
            ("auto", 1, None, False),
            ("none", 0, None, False),
            ("required", 1, "required", True),
            (named, 1, "weather", False),
            ({"type": "allowed_tools", "allowed_tools": allowed}, 1, "required", True),
            (
                {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}},
                0,
                None,
                False,
            ),
        ):
            with self.subTest(choice):
                session, _ = read(tools=[TOOL], tool_choice=choice)
                self.assertEqual(len(session["tools"]), declared)
                self.assertEqual(session["config"]["llm_api"].get("tool_choice"), forced)
                tool = {name: {"deny": True} for name in TAKEN} if denied else {}
                self.assertEqual(session["config"]["tool"], tool)

    def test_a_name_that_is_taken(self) -> None:
        tool = {"type": "function", "function": {"name": "shell"}}
        call = {"id": "c", "type": "function", "function": {"name": "shell", "arguments": "{}"}}
        session, wish = read(
            messages=[
                USER,
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c", "content": "done"},
            ],
            tools=[tool],
            tool_choice={"type": "function", "function": {"name": "shell"}},
        )
        self.assertEqual(session["tools"][0]["name"], "caller_shell")
        made = session["messages"][1]["tool_calls"][0]
        self.assertEqual(made["function"]["name"], "caller_shell")
        self.assertEqual(session["config"]["llm_api"]["tool_choice"], "caller_shell")
        self.assertEqual(wish.names, {"caller_shell": "shell"})


class Messages(unittest.TestCase):
    def test_roles_and_parts(self) -> None:
        parts = [
            {"type": "text", "text": "看"},
            {"type": "image_url", "image_url": {"url": "https://x/y.png", "detail": "low"}},
            {"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}},
            {"type": "file", "file": {"file_data": "data:application/pdf;base64,AA"}},
        ]
        refused = {"role": "assistant", "content": None, "refusal": "no"}
        session, _ = read(
            messages=[
                {"role": "developer", "content": [{"type": "text", "text": "rule"}]},
                {"role": "system", "content": "more"},
                {"role": "user", "name": "Ann", "content": parts},
                refused,
                {"role": "assistant", "content": [{"type": "refusal", "refusal": "still no"}]},
                {"role": "assistant", "content": "x", "reasoning_content": "thought"},
                USER,
            ]
        )
        self.assertEqual(shape.check(session), [])
        messages = session["messages"]
        self.assertEqual(messages[0], {"role": "system", "content": "rule"})
        self.assertEqual(messages[2], {"role": "user", "name": "Ann", "content": parts})
        self.assertEqual([each["content"] for each in messages[3:6]], ["no", "still no", "x"])
        self.assertEqual(messages[5]["reasoning"]["text"], "thought")

    def test_parts_bring_nothing_along(self) -> None:
        part = {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}, "x": [1]}
        session, _ = read(messages=[{"role": "user", "content": [part]}])
        self.assertEqual(session["messages"][0]["content"], [{"type": "text", "text": "a"}])

    def test_a_rule_at_the_end_is_asked_too(self) -> None:
        for messages in ([{"role": "system", "content": "say hi"}], [USER] * 2):
            with self.subTest(messages):
                self.assertEqual(read(messages=messages)[0]["messages"][-1]["role"], "user")


class Refused(unittest.TestCase):
    def test_fields(self) -> None:
        named = {"type": "function", "function": {"name": "other"}}
        schema = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": 5}}}
        for fields, where in (
            ({"model": None}, "/model"),
            ({"model": 5}, "/model"),
            ({"messages": None}, "/messages"),
            ({"messages": []}, "/messages"),
            ({"messages": {}}, "/messages"),
            ({"messages": [5]}, "/messages/0"),
            ({"n": 2}, "/n"),
            ({"logprobs": True}, "/logprobs"),
            ({"top_logprobs": 3}, "/top_logprobs"),
            ({"modalities": ["text", "audio"]}, "/modalities"),
            ({"audio": {"voice": "v"}}, "/audio"),
            ({"functions": [{}]}, "/functions"),
            ({"function_call": {"name": "f"}}, "/function_call"),
            ({"web_search_options": {}}, "/web_search_options"),
            ({"temperature": "hot"}, "/temperature"),
            ({"temperature": True}, "/temperature"),
            ({"seed": 1.5}, "/seed"),
            ({"stop": [1]}, "/stop"),
            ({"stop": 5}, "/stop"),
            ({"max_tokens": 0}, "/max_tokens"),
            ({"max_tokens": 10**30}, "/max_tokens"),
            ({"max_completion_tokens": -1}, "/max_completion_tokens"),
            ({"stream": "yes"}, "/stream"),
            ({"stream_options": []}, "/stream_options"),
            ({"tools": {}}, "/tools"),
            ({"tools": [5]}, "/tools/0"),
            ({"tools": [{"type": "custom", "custom": {}}]}, "/tools/0/type"),
            ({"tools": [{"type": "function"}]}, "/tools/0/function"),
            ({"tool_choice": "required"}, "/tool_choice"),
            ({"tool_choice": "any"}, "/tool_choice"),
            ({"tool_choice": {"type": "custom"}}, "/tool_choice"),
            ({"tools": [TOOL], "tool_choice": named}, "/tool_choice/function/name"),
            ({"response_format": {"type": "grammar"}}, "/response_format/type"),
            ({"response_format": {"type": "json_schema"}}, "/response_format/json_schema"),
            ({"response_format": schema}, "/response_format/json_schema/schema"),
            ({"yaa": 5}, "/yaa"),
        ):
            with self.subTest(fields):
                self.refused(fields, where)
        said = self.refused({"web_search_options": {}}, "/web_search_options")
        self.assertIn("model_settings.web_search", said)

    def test_messages(self) -> None:
        def call(**more: Any) -> Json:
            made = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
            return {"role": "assistant", "tool_calls": [made | more]}

        for message, where in (
            ({"role": "wizard", "content": ""}, "role"),
            ({"content": "x"}, "role"),
            ({"role": "function", "name": "f", "content": "x"}, "role"),
            ({"role": "user"}, "content"),
            ({"role": "user", "content": None}, "content"),
            ({"role": "user", "content": 5}, "content"),
            ({"role": "user", "content": ["x"]}, "content/0"),
            ({"role": "user", "content": [{"type": "video"}]}, "content/0/type"),
            ({"role": "user", "content": [{"type": "text"}]}, "content/0/text"),
            ({"role": "user", "content": [{"type": "image_url"}]}, "content/0/image_url"),
            (
                {"role": "user", "content": [{"type": "image_url", "image_url": "file:///etc"}]},
                "content/0/image_url/url",
            ),
            (
                {"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}]},
                "content/0/file/file_id",
            ),
            (
                {"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]},
                "content/0/input_audio/data",
            ),
            ({"role": "system", "content": [{"type": "image_url"}]}, "content/0/type"),
            ({"role": "tool", "content": "x"}, "tool_call_id"),
            ({"role": "tool", "tool_call_id": "none", "content": "x"}, ""),
            ({"role": "assistant", "audio": {"id": "a"}}, "audio"),
            ({"role": "assistant", "function_call": {}}, "function_call"),
            ({"role": "assistant", "tool_calls": [5]}, "tool_calls/0"),
            (call(type="custom"), "tool_calls/0/type"),
            (call(id=""), "tool_calls/0/id"),
            (call(id="x" * 300), "tool_calls/0/id"),
            (call(function={}), "tool_calls/0/function/name"),
            (call(function={"name": ""}), "tool_calls/0/function/name"),
            (call(function={"name": "f", "arguments": {}}), "tool_calls/0/function/arguments"),
            (call(), ""),
        ):
            with self.subTest(message):
                place = f"/messages/1/{where}".rstrip("/")
                self.refused({"messages": [USER, message]}, place)
        self.refused({"messages": [USER, {"role": "assistant", "content": "x"}]}, "/messages")

    def refused(self, fields: Json, where: str) -> str:
        """What it says."""
        with self.assertRaises(Problem) as caught:
            read(**fields)
        self.assertEqual(caught.exception.status, 400)
        self.assertEqual(caught.exception.errors[0]["pointer"], where)
        self.assertIn(where.split("/")[1], caught.exception.detail)
        return caught.exception.detail


if __name__ == "__main__":
    unittest.main()
