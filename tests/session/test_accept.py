"""Intake: what strangers send, refused with its place or opened with what was missing."""

from __future__ import annotations

import copy
import json
import unittest
from collections.abc import Iterator
from typing import Any, cast

from server.errors import Problem
from server.lib.strict_json import LARGEST_COUNT, canonical
from server.session.accept import accept, opening_events, title
from server.session.fold import Folder

from ..fakes import DEFAULTS, Ids, user

NOW = 1_700_000_000_123
CALL = {"id": "c1", "type": "function", "function": {"name": "rm", "arguments": "{}"}}
ASKED = [user("go"), {"id": "m1", "role": "assistant", "content": "", "tool_calls": [CALL]}]
RESULT = {"id": "r", "role": "tool", "tool_call_id": "c1", "content": "x"}


def interrupt(reason: str, answer: Any, **more: Any) -> Any:
    return {"id": "i", "reason": reason, "call_id": "c1", "answer": answer, **more}


def opened(document: Any, agent: Any = None, *, checked: bool = True, ceilings: Any = None) -> Any:
    session = copy.deepcopy(accept(document) if checked else document)
    folder = Folder(session)
    agent = agent or {}
    defaults, more = DEFAULTS["session"], cast(Any, {"ceilings": ceilings or {}})
    for event in opening_events(session, defaults, agent, "r1", NOW, Ids(), **more):
        folder.apply(event)
    return folder.session


class Refused(unittest.TestCase):
    def refused(self, document: Any, code: str, pointer: str | None, detail: str = "") -> None:
        before = json.dumps(document)
        with self.assertRaises(Problem) as caught:
            accept(document)
        problem = caught.exception
        self.assertEqual(problem.code, code)
        self.assertTrue(400 <= problem.status < 500)
        if pointer is not None:
            self.assertEqual(problem.errors[0]["pointer"], pointer)
        self.assertIn(detail, problem.detail)
        self.assertEqual(json.dumps(document), before)

    def test_not_a_session(self) -> None:
        documents: list[Any] = [None, 1, "x", [], True]
        for document in documents:
            self.refused(document, "session_invalid", None)
        self.refused({"version": 2}, "session_version", "/version", "version 2")
        self.refused({"messages": [{"role": "x"}]}, "session_invalid", "/messages/0/role")

    def test_tools_of_a_page(self) -> None:
        good: Any = {
            "name": "page_title",
            "description": None,
            "wait": False,
            "hints": {},
        }
        accept({"tools": [good, {"name": "x" * 64, "parameters": {"type": "object"}}]})
        cases: list[tuple[Any, str, str]] = [
            ({}, "/name", "a tool's name"),
            ({"name": ""}, "/name", "a tool's name"),
            ({"name": "two words"}, "/name", "letters"),
            ({"name": "x" * 65}, "/name", "letters"),
            ({"name": "titel_größe"}, "/name", "letters"),
            ({"name": "page_title"}, "/name", "already"),
            ({"name": "a", "parameters": True}, "/parameters", "an object"),
            ({"name": "a", "parameters": {"type": "array"}}, "/parameters/type", "an object"),
            ({"name": "a", "parameters": {"type": 5}}, "/parameters/type", "an object"),
            ({"name": "a", "parameters": {"required": "x"}}, "/parameters", "can't be used"),
            ({"name": "a", "parameters": {"$ref": "http://x/y"}}, "/parameters", "can't be used"),
            ({"name": "a", "wait": "no"}, "/wait", "true or false"),
            ({"name": "a", "hints": ["read_only"]}, "/hints", "an object"),
            ({"name": "a", "description": 5}, "/description", "a string"),
            ("a", "", "an object"),
        ]
        for tool, place, detail in cases:
            with self.subTest(tool):
                document = {"tools": [good, tool]}
                self.refused(document, "session_invalid", f"/tools/1{place}", detail)
        many = [{"name": f"t{n}"} for n in range(257)]
        self.refused({"tools": many}, "session_invalid", "/tools", "at most 256")

    def test_answers_that_fit_nothing(self) -> None:
        good = {"status": "resolved", "payload": {"approved": True}}
        cases: list[tuple[str, list[Any], Any, str]] = [
            ("answered already", [*ASKED, RESULT], interrupt("tool_call", good), "/answer"),
            ("no such call", [user("x")], interrupt("tool_call", good), "/answer"),
            ("no payload", ASKED, interrupt("tool_call", {"status": "resolved"}), "/answer"),
            (
                "not a boolean",
                ASKED,
                interrupt("tool_call", {"status": "resolved", "payload": {"approved": "yes"}}),
                "/answer/payload/approved",
            ),
            (
                "nothing decided",
                ASKED,
                interrupt("tool_call", {"status": "resolved", "payload": {}}),
                "/answer/payload/approved",
            ),
            (
                "unknown action",
                ASKED,
                interrupt("indeterminate", {"status": "resolved", "payload": {"action": "x"}}),
                "/answer/payload/action",
            ),
            (
                "not by its schema",
                ASKED,
                interrupt(
                    "input_required",
                    {"status": "resolved", "payload": 5},
                    response_schema={"type": "string"},
                ),
                "/answer/payload",
            ),
            (
                "a schema nobody can use",
                ASKED,
                interrupt(
                    "input_required",
                    {"status": "resolved", "payload": 5},
                    response_schema={"$ref": "http://example.com/x"},
                ),
                "/answer/payload",
            ),
        ]
        for name, messages, item, pointer in cases:
            with self.subTest(name):
                document = {"messages": messages, "interrupts": [item]}
                self.refused(document, "answer_invalid", f"/interrupts/0{pointer}")

    def test_two_answers_to_one_call(self) -> None:
        """Yes and no: neither is better than the other."""
        yes, no = (
            interrupt("tool_call", {"status": "resolved", "payload": {"approved": said}})
            for said in (True, False)
        )
        other = interrupt("tool_call", {"status": "cancelled"})
        for second in (no, other):
            document = {"messages": ASKED, "interrupts": [yes, {**second, "id": "int-2"}]}
            self.refused(document, "answer_invalid", "/interrupts/1/answer")
        left = {key: value for key, value in no.items() if key != "answer"}
        accept({"messages": ASKED, "interrupts": [yes, {**left, "id": "int-2"}]})

    def test_a_cancelled_answer_needs_no_payload(self) -> None:
        accept({"messages": ASKED, "interrupts": [interrupt("tool_call", {"status": "cancelled"})]})


class Opened(unittest.TestCase):
    def test_an_empty_document_gets_every_default(self) -> None:
        session = opened({})
        self.assertEqual(session["config"], DEFAULTS["session"]["config"])
        self.assertEqual(session["start_time"], "2023-11-14T22:13:20Z")
        self.assertEqual((session["version"], session["rev"], session["messages"]), (1, 0, []))
        self.assertEqual(session["id"], "ses_1")
        self.assertEqual(session["status"], "in_progress")

    def test_what_is_there_stays_byte_for_byte(self) -> None:
        document = {
            "id": "../../x",
            "start_time": "whenever",
            "title": "mine",
            "rev": 7,
            "odd": [1, {"a": None}],
            "messages": [{"id": "u", "role": "user", "content": "x", "note": 1}],
            "config": {"yaa": {"stream": False, "own": 1}, "limits": {"max_steps": None}},
        }
        session = opened(copy.deepcopy(document))
        for key in ("id", "start_time", "title", "rev", "odd", "messages"):
            self.assertEqual(canonical(session[key]), canonical(document[key]))
        self.assertEqual(session["config"]["yaa"]["stream"], False)
        self.assertEqual(session["config"]["yaa"]["own"], 1)
        self.assertIsNone(session["config"]["limits"]["max_steps"])

    def test_all_ids_that_lack_are_one_text_in_the_events(self) -> None:
        """However many messages there are; those that are known have ids."""
        bare = [{"role": "user", "content": "x"}, {"role": "human", "content": "y"}]
        for few, known in ((bare, 0), (bare * 500, 0), ([user("z"), *bare], 1)):
            with self.subTest(messages=len(few), known=known):
                session: Any = {"id": "s", "messages": [each.copy() for each in few]}
                agent: Any = {}
                made = opening_events(
                    session, DEFAULTS["session"], agent, "r1", NOW, Ids(), known=known
                )
                self.assertEqual(
                    [event["value"] for event in made if event.get("name") == "yaa.ids"], ["msg_1"]
                )
                folder = Folder(session)
                for event in made:
                    folder.apply(event)
                ids = [message["id"] for message in session["messages"]]
                self.assertEqual(ids[known:], [f"msg_1_{n}" for n in range(known, len(few))])
                self.assertEqual({message["role"] for message in session["messages"]}, {"user"})
                self.assertEqual(session["run"]["message"], ids[-1])
        self.assertNotIn("yaa.ids", str(opening_events({}, DEFAULTS["session"], {}, "r", 1, Ids())))

    def test_a_part_of_the_settings_leaves_the_rest_at_its_default(self) -> None:
        """A12: whatever leaf a session brings is kept, and every other one is filled in."""
        defaults = DEFAULTS["session"]["config"]

        def leaves(node: Any, *path: str) -> Iterator[tuple[str, ...]]:
            for key, value in node.items():
                if isinstance(value, dict) and value and key != "provider":
                    yield from leaves(value, *path, key)
                elif key != "provider":
                    yield (*path, key)

        def without(document: Any, path: tuple[str, ...]) -> Any:
            for key in path[:-1]:
                document = document[key]
            return document.pop(path[-1])

        for path in leaves(defaults):
            with self.subTest("/".join(path)):
                kept: Any = {"mine": [1]}
                brought = kept
                for key in reversed(path):
                    brought = {key: brought}
                found = opened({"config": brought}, checked=False)["config"]
                self.assertEqual(without(found, path), kept)
                wanted = copy.deepcopy(defaults)
                without(wanted, path)
                self.assertEqual(found, wanted)

    def test_a_provider_is_one_unit(self) -> None:
        own = {"api_url": "https://example.com/v1"}
        session = opened({"config": {"llm_api": {"provider": own}}})
        self.assertEqual(session["config"]["llm_api"]["provider"], own)

    def test_the_agent_travels_with_the_session(self) -> None:
        """So that a server without its file can go on; another one takes the place of what was."""
        first, other = {"name": "far", "systemPrompt": "Dig."}, {"name": "near"}
        session = opened({"agent": "far"}, first)
        self.assertEqual(session["config"]["agent"], first)
        self.assertEqual(opened(session, other)["config"]["agent"], other)

    def test_a_prompt_that_names_nothing_is_told(self) -> None:
        prompt = {"rules": "Be {nice} to {date}.", "ruels": "x"}
        run = opened({"config": {"prompt": prompt}})["run"]
        self.assertEqual([each["section"] for each in run["warnings"]], ["rules", "ruels"])
        self.assertNotIn("warnings", opened({"config": {"prompt": {"rules": "Be nice."}}})["run"])

    def test_defaults_are_never_shared(self) -> None:
        wanted = copy.deepcopy(DEFAULTS["session"]["config"])
        documents: list[Any] = [{}, {"config": {"llm_api": {}}}]
        for brought in documents:
            first = opened(brought)
            first["config"]["limits"]["max_steps"] = 1
            first["config"]["llm_api"]["retry"]["times"] = 99
            first["config"]["llm_api"]["provider"]["name"] = "mine"
            self.assertEqual(opened({})["config"], wanted)
            self.assertEqual(DEFAULTS["session"]["config"], wanted)

    def test_spellings(self) -> None:
        session = opened(
            {
                "startTime": "2025-01-01",
                "messages": [{"role": "用户", "content": "你好"}, {"role": "智能体"}],
            }
        )
        self.assertEqual([m["role"] for m in session["messages"]], ["user", "assistant"])
        self.assertTrue(all(m["id"] for m in session["messages"]))
        self.assertEqual((session["start_time"], session["title"]), ("2025-01-01", "你好"))

    def test_every_spelling_of_a_status_and_a_role(self) -> None:
        """A6, A7: seed 003 in Chinese and in kebab-case, and what other tools export."""
        for status in ("进行中", "已中断", "已完成", "失败", "已失败", "in-progress", "interrupted",
                       "completed", "failed", "in_progress"):  # fmt: skip
            with self.subTest(status):
                self.assertEqual(opened({"status": status})["status"], "in_progress")
        self.assertRaises(Problem, opened, {"status": "erledigt"})
        for roles, ours in (
            ("agent 智能体 大模型 ai model assistant", "assistant"),
            ("human 用户 user", "user"),
            ("developer 系统 system", "system"),
            ("错误 error", "error"),
            ("工具 tool", "tool"),
        ):
            for role in roles.split():
                with self.subTest(role):
                    message = {"id": "m", "role": role, "content": "", "tool_call_id": "c"}
                    self.assertEqual(opened({"messages": [message]})["messages"][0]["role"], ours)

    def test_title(self) -> None:
        cases = [
            ("  a\n\t b  ", "a b"),
            ("x" * 90, "x" * 59 + "…"),
            ("word " * 12 + "end", "word " * 11 + "word…"),
            ("a " + "x" * 90, "a " + "x" * 57 + "…"),
            ("x" * 60, "x" * 60),
            ("", ""),
            ("😀" * 90, "😀" * 59 + "…"),
        ]
        for text, expected in cases:
            self.assertEqual(title([user(text)]), expected)
        parts = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {}}]
        self.assertEqual(title([{"role": "user", "content": parts}]), "look")
        file = {"type": "text", "text": '<file name="notes.txt">\nhello\n</file>'}
        self.assertEqual(title([{"role": "user", "content": [*parts, file]}]), "look")
        blank = {"type": "text", "text": " \n"}
        self.assertEqual(title([{"role": "user", "content": [blank, *parts]}]), "look")
        self.assertEqual(title([{"role": "user", "content": parts[1:]}]), "")
        self.assertEqual(title([{"role": "user", "content": [file]}]), "notes.txt")
        self.assertEqual(title([]), "")

    def test_every_call_gets_one_ledger_entry(self) -> None:
        second = {**CALL, "id": "c2"}
        cut = {"id": "m3", "role": "assistant", "content": "", "open": True, "tool_calls": [second]}
        session = opened({"messages": [*ASKED, {**RESULT, "is_error": True}, user("x", "u2"), cut]})
        self.assertEqual({k: v["state"] for k, v in session["calls"].items()}, {"c1": "failed"})
        kept = opened({"messages": ASKED, "calls": {"c1": {"state": "started", "attempt": 3}}})
        self.assertEqual(kept["calls"]["c1"], {"state": "started", "attempt": 3})

    def test_interrupts_whose_call_is_done_are_closed(self) -> None:
        items = [{"id": "i", "reason": "tool_call", "call_id": "c1"}]
        self.assertEqual(opened({"messages": ASKED, "interrupts": items})["interrupts"], items)
        self.assertEqual(
            opened({"messages": [*ASKED, RESULT], "interrupts": items})["interrupts"], []
        )

    def test_compactions_of_messages_that_are_gone_are_no_measure(self) -> None:
        """A client has gone back to an earlier message, and kept all else as it was."""
        events = [{"id": f"c{at}", "at": at, "after": 9, "before": 10} for at in (1, 2, 3)]
        context = {"events": events, "ops": [{"op": "pin", "ids": ["u1"]}]}
        found = opened({"messages": ASKED, "context": context})["context"]
        self.assertEqual(found, {**context, "events": events[:2]})
        self.assertEqual(opened({"context": {"events": events}})["context"]["events"], [])


class Run(unittest.TestCase):
    def run_of(self, ceilings: Any = None, **document: Any) -> Any:
        found: Any = opened({"messages": [user("go")], **document}, ceilings=ceilings)["run"]
        return found

    def test_the_mode_is_the_sessions_own_where_it_names_one(self) -> None:
        for named, mode in (({"mode": "react"}, "react"), ({"mode": ""}, None), ({}, None)):
            with self.subTest(named):
                made = opened({"messages": [user("go")], "config": {"yaa": named}})
                self.assertEqual(made["run"].get("mode"), mode)

    def test_what_was_spent_stays_spent_until_the_user_speaks(self) -> None:
        before = {
            "id": "r0",
            "message": "u1",
            "step": 4,
            "tokens": 9,
            "wall_ms": 5,
            "cost_micro": 1,
        }
        self.assertEqual(self.run_of(run=before)["step"], 4)
        self.assertEqual(self.run_of(run={**before, "message": "u0"})["step"], 0)

    def test_what_is_said_to_a_limit_of_before_is_not_about_what_the_user_says_now(self) -> None:
        """Clients that must answer all that is open cancel it and send the new message along."""
        limit = {"reason": "limit", "limit": "max_steps", "allowed": 10, "observed": 10}
        error = {"reason": "model_error"}
        more = {"continue": True, "extend": {"max_steps": 1}}
        cases: list[tuple[str, Any, Any, Any]] = [
            ("no more", limit, {"payload": {"continue": False}}, {"declined": "limit"}),
            ("cancelled", limit, {"status": "cancelled"}, {"declined": "limit"}),
            ("why", limit, {"status": "cancelled", "payload": "no"}, {"declined": "limit"}),
            ("one more", limit, {"payload": more}, {"step": 10, "extended": {"max_steps": 1}}),
            ("no retry", error, {"payload": {"retry": False}}, {"declined": "failed"}),
        ]
        for name, item, answer, wanted in cases:
            asked = [{"id": "i", **item, "answer": {"status": "resolved", **answer}}]
            run = {"message": "u1", "step": 10}
            with self.subTest(name):
                same = self.run_of(run=run, interrupts=asked)
                self.assertLessEqual(wanted.items(), same.items())
                nameless = self.run_of(interrupts=asked)
                self.assertEqual(nameless.get("declined"), wanted.get("declined"))
                messages = [user("go"), user("something else", "u2")]
                moved_on = self.run_of(messages=messages, run=run, interrupts=asked)
                self.assertEqual((moved_on["step"], moved_on.get("declined")), (0, None))
                self.assertNotIn("extended", moved_on)

    def test_counters_of_a_stranger(self) -> None:
        values: list[Any] = [-5, "x", None, True, [], 1e3]
        for value in values:
            spent = self.run_of(run={"message": "u1", "step": value})["step"]
            self.assertEqual(spent, 1000 if value == 1e3 else 0)
        spent = self.run_of(run={"message": "u1", "wall_ms": 10**400})["wall_ms"]
        self.assertEqual(spent, LARGEST_COUNT)

    def test_extending_adds_what_is_asked_whatever_was_used(self) -> None:
        steps: Any = {"reason": "limit", "limit": "max_steps", "allowed": 20, "observed": 20}
        again = {**steps, "allowed": 80, "observed": 80}
        late = {**steps, "limit": "max_wall_s", "allowed": 10, "observed": 12.345}
        spent = {"message": "u1", "step": 20, "tokens": 7, "cost_micro": 0, "wall_ms": 9}
        had = {**spent, "step": 80, "extended": {"max_steps": 60}}
        cases: list[tuple[str, Any, Any, Any, Any]] = [
            ("more than the limit was", spent, steps, {"max_steps": 60}, {"max_steps": 60}),
            ("once more", had, again, {"max_steps": 60}, {"max_steps": 120}),
            ("no number: as much as at first", had, again, None, {"max_steps": 80}),
            ("no more than the ceiling", spent, steps, {"max_steps": 10**400}, {"max_steps": 100}),
            ("what was used beyond it", spent, late, {"max_wall_s": 5}, {"max_wall_s": 8}),
            ("another limit", spent, steps, {"max_tokens": 9}, {"max_steps": 20}),
        ]
        for name, run, limit, extend, wanted in cases:
            payload = {"continue": True} | ({} if extend is None else {"extend": extend})
            item = {"id": "i", **limit, "answer": {"status": "resolved", "payload": payload}}
            with self.subTest(name):
                made = self.run_of(run=run, interrupts=[item], ceilings={"max_steps": 100})
                self.assertEqual(made["extended"], wanted)
                self.assertEqual(
                    {key: made[key] for key in spent}, {**spent, "step": run["step"]}, "spent"
                )

    def test_extensions_go_on_until_the_user_speaks(self) -> None:
        run = {"message": "u1", "step": 30, "wall_ms": 2500}
        ceilings = {"max_steps": 100, "max_wall_s": None}
        cases: list[tuple[str, Any, Any]] = [
            ("kept", {"max_steps": 60, "max_wall_s": 0.5}, {"max_steps": 60, "max_wall_s": 0.5}),
            ("more than was granted", {"max_steps": 10**400}, {"max_steps": 130}),
            ("none", {"max_steps": 0, "max_tokens": -4}, None),
            ("of a stranger", {"max_steps": "9", "max_wall_s": True, "max_tools": 9}, None),
            ("no object", [["max_steps", 9]], None),
        ]
        for name, extended, wanted in cases:
            with self.subTest(name):
                before = {**run, "extended": extended}
                self.assertEqual(self.run_of(run=before, ceilings=ceilings).get("extended"), wanted)
                before["message"] = "u0"
                self.assertNotIn("extended", self.run_of(run=before, ceilings=ceilings))

    def test_extending_by_more_than_any_number(self) -> None:
        for room in (1e308, 10**400):
            item: Any = {"id": "i", "reason": "limit", "limit": "max_wall_s"}
            item["allowed"] = 0.5
            payload = {"continue": True, "extend": {"max_wall_s": room}}
            item["answer"] = {"status": "resolved", "payload": payload}
            made = self.run_of(run={"message": "u1", "wall_ms": 900}, interrupts=[item])
            self.assertEqual(made["extended"], {"max_wall_s": LARGEST_COUNT})


if __name__ == "__main__":
    unittest.main()
