"""What servers say, in our words: names, hints, results, questions."""

from __future__ import annotations

import base64
import re
import unittest
from typing import Any

from server.extensions.mcp.results import outcome_of
from server.extensions.mcp.servers import (
    McpServers,
    answer_params,
    legal_name,
    question_of,
    tool_of,
)
from server.lib.http.client import Client
from server.lib.json_schema.validate import check_schema
from server.session.media import MAX_SESSION, check_items
from server.tools.decorators import ToolError

from ...tooling import pictures

OBJECT: dict[str, Any] = {"type": "object"}
SERVERS = McpServers({}, Client())


class Tools(unittest.TestCase):
    def test_names(self) -> None:
        self.assertEqual(legal_name("fs", "read_file"), "mcp__fs__read_file")
        odd = ["a.b", "a b", "a/b", "名", "名前", "x" * 128, "x" * 127 + "y", "\ud800"]
        names = [legal_name("s", name) for name in odd]
        self.assertEqual(len(set(names)), len(odd))
        for name in names:
            self.assertRegex(name, re.compile(r"^mcp__s__[a-zA-Z0-9_-]{1,56}$"))

    def test_no_two_tools_have_one_name(self) -> None:
        """Whichever way servers and tools are cut, or dressed up as what a hash has been put to."""
        pairs = [("a", "b__c"), ("a__b", "c"), ("a_", "b"), ("a", "_b"), ("a", "b"), ("a__", "b")]
        pairs += [("a.b", "c"), ("a_b", "c"), ("a", "b.c"), ("a", "b_c"), ("", "a"), ("_", "a")]
        pairs += [("a", legal_name("a", "b.c").removeprefix("mcp__a__"))]
        pairs += [("a", legal_name("a__b", "c").removeprefix("mcp__a__"))]
        names = [legal_name(*pair) for pair in pairs]
        self.assertEqual(len(set(names)), len(pairs), names)
        for name in names:
            self.assertRegex(name, re.compile(r"\Amcp__[a-zA-Z0-9_-]{1,59}\Z"))
        self.assertEqual(names, [legal_name(*pair) for pair in pairs], "the same at each start")

    def test_large_schemas_are_left_out(self) -> None:
        listed = {"name": "a", "inputSchema": {**OBJECT, "description": "x" * 70_000}}
        with self.assertRaisesRegex(ToolError, "more than 65536 characters"):
            tool_of(SERVERS, "s", listed, 5, trusted=True)

    def test_hints_count_only_where_trusted(self) -> None:
        notes = {"readOnlyHint": True, "idempotentHint": True, "destructiveHint": False}
        listed = {"name": "a", "inputSchema": OBJECT, "annotations": notes}
        self.assertTrue(tool_of(SERVERS, "s", listed, 5, trusted=True).read_only)
        self.assertFalse(tool_of(SERVERS, "s", listed, 5, trusted=False).repeatable)
        self.assertTrue(tool_of(SERVERS, "s", listed, 5, trusted=False).hints["destructive"])
        unfit: list[Any] = [{"readOnlyHint": "yes"}, [], "x", {"readOnlyHint": 1}]
        for odd in unfit:
            tool = tool_of(SERVERS, "s", {**listed, "annotations": odd}, 5, trusted=True)
            self.assertFalse(tool.repeatable, odd)

    def test_unusable(self) -> None:
        array = {"name": "a", "inputSchema": {"type": "array"}}
        for listed in ({}, {"name": 5}, {"name": "a"}, {"name": "a", "inputSchema": []}, array):
            with self.subTest(listed), self.assertRaises(ToolError):
                tool_of(SERVERS, "s", listed, 5, trusted=True)

    def test_a_schema_without_its_type(self) -> None:
        """All that some builds of the official file server listed, of every tool."""
        dialect = {"$schema": "http://json-schema.org/draft-07/schema#"}
        for schema in ({}, dialect, {**OBJECT, "type": None}):
            tool = tool_of(SERVERS, "s", {"name": "a", "inputSchema": schema}, 5, trusted=False)
            self.assertEqual(tool.parameters["type"], "object")
            self.assertEqual(check_schema(tool.parameters), [])

    def test_a_list_that_is_null_is_none(self) -> None:
        """Go writes an empty list so, and the tool would be left out for it."""
        schema = {**OBJECT, "properties": None, "required": None}
        tool = tool_of(SERVERS, "s", {"name": "a", "inputSchema": schema}, 5, trusted=False)
        self.assertEqual(tool.parameters, OBJECT)
        self.assertEqual(check_schema(tool.parameters), [])

    def test_long_descriptions_are_cut(self) -> None:
        listed = {"name": "a", "inputSchema": OBJECT, "description": "x" * 100_000}
        self.assertLess(len(tool_of(SERVERS, "s", listed, 5, trusted=True).description), 9_000)


class Results(unittest.TestCase):
    def test_texts(self) -> None:
        link = {"type": "resource_link", "uri": "file:///a", "name": "A"}
        blob = {"uri": "u", "mimeType": "m", "blob": "AAAA"}
        cases: list[tuple[Any, str]] = [
            ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb"),
            ([{"type": "image", "mimeType": "image/png", "data": "A" * 40_000}], "30 kB"),
            ([{"type": "audio", "data": 5}], "[audio : 0 bytes"),
            ([link], "[A](file:///a)"),
            ([{"type": "resource", "resource": {"text": "inside"}}], "inside"),
            ([{"type": "resource", "resource": blob}], "[u m: 3 bytes, not shown]"),
            ([{"type": "resource"}, {"type": 5}, {}], "not shown"),
            ([], "done"),
            ("no list", "done"),
            ([5, None], "done"),
        ]
        for content, part in cases:
            with self.subTest(part):
                found = outcome_of({"content": content})
                self.assertEqual(found.status, "ok")
                self.assertIn(part, found.text)

    def test_pictures_do_not_travel(self) -> None:
        block = {"type": "image", "mimeType": "image/png", "data": "A" * 40_000}
        inner = {"type": "resource", "resource": {"uri": "u", "blob": "A" * 40_000}}
        raw = outcome_of({"content": [block, inner]}).result["content"]
        self.assertEqual((raw[0]["omitted"], "data" in raw[0]), ("30 kB", False))
        self.assertEqual(raw[1]["resource"], {"uri": "u", "omitted": "30 kB"})

    def test_what_a_model_may_be_shown(self) -> None:
        png = base64.b64encode(pictures.png()).decode()
        pdf = {"uri": "a.pdf", "mimeType": "application/pdf", "blob": "AAAA"}
        blocks: list[Any] = [
            {"type": "text", "text": "see"},
            {"type": "image", "mimeType": "text/html", "data": png},
            {"type": "audio", "mimeType": "audio/wav", "data": 5},
            {"type": "resource", "resource": pdf},
            {"type": "resource", "resource": {**pdf, "mimeType": "application/zip"}},
            {"type": "resource", "resource": {**pdf, "blob": None}},
        ]
        for failed in (False, True):
            found = outcome_of({"content": blocks, "isError": failed})
            self.assertEqual(
                found.media,
                (
                    {"data": png, "name": "image 2"},
                    {"data": 5, "name": "audio 3"},
                    {"data": "AAAA", "name": "a.pdf"},
                ),
            )
        (item,), wrong = check_items(found.media, MAX_SESSION)
        self.assertEqual(item["media_type"], "image/png", "by its bytes")
        self.assertIn("audio 3 is not shown", wrong[0])
        self.assertIn("a.pdf is not shown", wrong[1])

    def test_structured(self) -> None:
        for texts, structured, wanted in (
            (["2 items."], {"n": [1, "é"]}, '2 items.\n{"n": [1, "é"]}'),
            (['{"n": 1}'], {"n": 1}, '{"n": 1}'),
            (["about", '{ "n": 1 }'], {"n": 1}, 'about\n{ "n": 1 }'),
            (["one"], {"result": "one"}, "one"),  # as FastMCP wraps what is no object
            (["1", '{"a": 2}'], {"result": [1, {"a": 2}]}, '1\n{"a": 2}'),
            (["a", "b"], {"result": ["a", "b"]}, "a\nb"),
            (["a"], {"result": "b"}, 'a\n{"result": "b"}'),
            (["one"], {"content": "one"}, "one"),  # the official server of files
            (["none"], {}, "none"),
        ):
            with self.subTest(texts, structured=structured):
                content = [{"type": "text", "text": text} for text in texts]
                both = outcome_of({"content": content, "structuredContent": structured})
                self.assertEqual(both.text, wanted)
                assert isinstance(both.result, dict)
                self.assertEqual(both.result["structuredContent"], structured)
        values: list[Any] = [{"n": 1}, [], 0, "x"]
        for value in values:
            only = outcome_of({"content": [], "structuredContent": value})
            self.assertEqual((only.text, only.result), ("", value))

    def test_errors(self) -> None:
        texts: list[Any] = [{"type": "text", "text": "why"}]
        cases: list[tuple[Any, Any, str]] = [(texts, None, "why"), ([], None, "did not say")]
        cases += [(texts, {"a": "other"}, "why"), ([], {"a": "因"}, '{"a": "因"}')]
        for content, structured, part in cases:
            result = {"isError": True, "content": content, "structuredContent": structured}
            found = outcome_of(result)
            self.assertEqual(found.status, "error")
            self.assertIn(part, found.error["message"])


class Questions(unittest.TestCase):
    def ask(self, **requests: Any) -> dict[str, Any]:
        return {"inputRequests": requests, "requestState": "s"}

    def form(self, message: str, schema: Any = None) -> dict[str, Any]:
        params = {"message": message, "requestedSchema": schema or OBJECT}
        return {"method": "elicitation/create", "params": params}

    def test_one(self) -> None:
        question = question_of(self.ask(a=self.form("A?")))
        self.assertEqual(question["message"], "A?")
        self.assertEqual(
            answer_params({**question, "answer": {"n": 1}}),
            {
                "inputResponses": {"a": {"action": "accept", "content": {"n": 1}}},
                "requestState": "s",
            },
        )

    def test_a_refusal(self) -> None:
        question = question_of(self.ask(a=self.form("A?"), b=self.form("B?")))
        for how in ("decline", "cancel"):
            told = answer_params({**question, "refused": how, "answer": {"a": 1}})
            wanted = {"a": {"action": how}, "b": {"action": how}}
            self.assertEqual(told, {"inputResponses": wanted, "requestState": "s"})
        odd = answer_params({**question, "refused": "accept"})["inputResponses"]["a"]
        self.assertEqual(odd, {"action": "accept", "content": {}})

    def test_several_become_one(self) -> None:
        question = question_of(self.ask(a=self.form("A?"), b=self.form("B?")))
        self.assertEqual(question["message"], "A?\nB?")
        self.assertEqual(question["response_schema"]["required"], ["a", "b"])
        told = answer_params({**question, "answer": {"a": {"n": 1}, "b": {}}})["inputResponses"]
        self.assertEqual(told["a"]["content"], {"n": 1})
        self.assertEqual(told["b"]["content"], {})

    def test_none_is_asking_again(self) -> None:
        question = question_of({"requestState": "s"})
        self.assertEqual((question["keys"], answer_params(question)), ([], {"requestState": "s"}))

    def test_what_no_person_can_answer(self) -> None:
        for result in (
            {"inputRequests": [1]},
            self.ask(a={"method": "sampling/createMessage", "params": {}}),
            self.ask(a={"method": "elicitation/create"}),
            self.ask(a={"method": "elicitation/create", "params": {"mode": "url"}}),
            self.ask(a=5),
            self.ask(a=self.form("A?", {"type": "nonsense"})),
            self.ask(**{str(n): self.form("?") for n in range(9)}),
            {"requestState": 5},
            {"requestState": "x" * 100_000},
        ):
            with self.subTest(str(result)[:60]), self.assertRaises(ToolError):
                question_of(result)


if __name__ == "__main__":
    unittest.main()
