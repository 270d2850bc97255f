"""What a session has of skills: the list that fits, what is recorded, where a call comes from."""

from __future__ import annotations

import copy
import unittest
from typing import Any

from server.session import skills
from server.session.events import state_delta
from server.session.fold import fold
from server.session.guidance import instructions_text, prompt_listing


def loaded(number: int, name: str, **more: Any) -> dict[str, Any]:
    result = {"status": "ok", "result": {"skill": name, "hash": "h"}}
    message = {"id": f"r{number}", "role": "tool", "tool_call_id": f"c{number}", "name": "skill"}
    return {**message, "content": "text", "result": result, **more}


class Listed(unittest.TestCase):
    def test_descriptions_are_cut_alike_before_any_is_left_out(self) -> None:
        wanted = [(f"s{n}", "d" * 600) for n in range(10)]
        for most, length, left in ((10_000, 600, 10), (6_000, 512, 10), (1_000, 64, 10)):
            listed, more = skills.list_offered(wanted, most, len)
            with self.subTest(most):
                self.assertEqual((len(listed), more), (left, 10 - left))
                self.assertEqual({len(each["description"]) for each in listed}, {length})
        listed, more = skills.list_offered(wanted, 300, len)
        self.assertEqual(len(listed) + more, 10)
        self.assertGreater(more, 0)
        self.assertLessEqual(len(prompt_listing({"skills": {"offered": listed}})), 300)
        self.assertEqual(skills.list_offered(wanted, 0, len), ([], 10))

    def test_the_prompt_says_how_many_are_missing(self) -> None:
        session: Any = {"skills": {"offered": [{"name": "a", "description": "b"}], "more": 3}}
        self.assertEqual(
            prompt_listing(session),
            "- a: b\n- and 3 more; call skill with a word of the task to find one",
        )
        self.assertEqual(prompt_listing({}), "")


class Recorded(unittest.TestCase):
    def test_into_any_document(self) -> None:
        entry: Any = {"hash": "h", "text": "t"}
        documents: list[Any] = [
            {},
            {"skills": {"offered": []}},
            {"skills": {"used": {"b": entry}}},
            {"skills": {"used": {"a": {"text": "old"}}, "refresh": ["a", "b"]}},
        ]
        for document in documents:
            document["messages"] = []
            with self.subTest(document):
                before = dict(document.get("skills") or {})
                fold(document, state_delta(*skills.record_used(document, "a", entry)))
                self.assertEqual(document["skills"]["used"]["a"], entry)
                for key in before.get("used", {}):
                    self.assertIn(key, document["skills"]["used"])
                if "refresh" in before:
                    self.assertEqual(document["skills"]["refresh"], ["b"])

    def test_files_are_kept_while_there_is_room(self) -> None:
        entry: Any = {"hash": "h", "text": "t"}
        entry = skills.with_file(entry, "a.md", "x" * (skills.KEPT_CHARS - 10))
        entry = skills.with_file(entry, "b.md", "y" * 11)
        entry = skills.with_file(entry, "c.md", "z" * 10)
        self.assertEqual(entry["files"]["b.md"], {"chars": 11})
        self.assertEqual(entry["files"]["c.md"]["text"], "z" * 10)
        entry = skills.with_file(entry, "a.md", "small")
        self.assertEqual(entry["files"]["a.md"], {"chars": 5, "text": "small"})


class Origin(unittest.TestCase):
    def test_loaded_since_the_last_user_message_or_named(self) -> None:
        user = {"id": "u", "role": "user", "content": "go"}
        used = {name: {"text": "t", "place": f"/x/{name}"} for name in ("pdf", "csv")}
        failed = loaded(9, "bad", is_error=True)
        other = {**loaded(8, "odd"), "name": "shell"}
        cases: list[tuple[list[Any], Any, list[str]]] = [
            ([user], {}, []),
            ([user, loaded(1, "pdf")], {}, ["pdf"]),
            ([user, loaded(1, "pdf"), loaded(2, "csv"), loaded(3, "pdf")], {}, ["csv", "pdf"]),
            ([loaded(1, "pdf"), user], {}, []),
            ([user, failed, other], {}, []),
            ([user], {"command": "sh /skills/pdf/run.sh"}, ["pdf"]),
            ([user], {"command": ["cat", "/x/csv/a.md"]}, ["csv"]),
            ([user], {"command": "ls /skills/other"}, []),
        ]
        for messages, args, expected in cases:
            session: Any = {"messages": messages, "skills": {"used": used}}
            with self.subTest(args=args, messages=len(messages)):
                self.assertEqual(skills.origin_of(session, args), expected)


class Instructions(unittest.TestCase):
    def test_what_the_prompt_says(self) -> None:
        cases: list[tuple[Any, list[str]]] = [
            ({}, []),
            (
                {"path": "AGENTS.md", "text": "Use tabs.\n"},
                ["<AGENTS.md>\nUse tabs.\n</AGENTS.md>"],
            ),
            (
                {"path": "CLAUDE.md", "text": "x", "cut": True},
                ["The rest of CLAUDE.md is left out"],
            ),
            ({"nested": ["a/AGENTS.md"], "nested_count": 9}, ["a/AGENTS.md, and 8 more."]),
        ]
        for about, expected in cases:
            text = instructions_text({"instructions": about})
            with self.subTest(about):
                self.assertEqual(bool(text), bool(expected))
                for each in expected:
                    self.assertIn(each, text)


class LeftOut(unittest.TestCase):
    """At a server without the tool that loads skills."""

    def changed(self, session: Any, *tools: str) -> Any:
        for change in skills.leave_out(session, lambda: tools):
            fold(session, state_delta(change))
        return session

    def test_the_prompt_has_none_and_one_sentence_says_so(self) -> None:
        used = {"pdf": {"hash": "h", "text": "t"}}
        about = {"offered": [{"name": "a", "description": "b"}], "more": 3, "used": used}
        session: Any = {"skills": about, "instructions": {"path": "AGENTS.md"}}
        session |= {"run": {}, "messages": []}
        changed = self.changed(session)
        self.assertEqual(prompt_listing(changed), "")
        self.assertEqual(instructions_text(changed), "")
        self.assertEqual(changed["skills"]["used"], used, "they stay in the session")
        [warning] = changed["run"]["warnings"]
        self.assertEqual(warning["code"], "skills_not_here")
        self.assertEqual(warning["message"].count("."), 1)

    def test_nothing_changes_where_there_is_nothing_or_the_tool(self) -> None:
        about = {"offered": [{"name": "a", "description": "b"}], "used": {"a": {"text": "t"}}}
        cases: list[tuple[Any, tuple[str, ...]]] = [
            ({}, ()),
            ({"skills": {"offered": []}}, ()),
            ({"skills": about}, (skills.TOOL,)),
        ]
        for about, tools in cases:
            session = {"messages": [], "run": {}, **about}
            with self.subTest(session, tools=tools):
                self.assertEqual(self.changed(copy.deepcopy(session), *tools), session)


if __name__ == "__main__":
    unittest.main()
