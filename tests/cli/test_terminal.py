"""A run on a terminal: what is printed, what a hostile text cannot do, and how answers are read."""

from __future__ import annotations

import io
import json
import unittest
from typing import Any

from server.cli.call_lines import shorten
from server.cli.terminal import Printer, Terminal, ask_answer, ask_for, visible
from server.session import events
from tests.tooling.tools import ROOT


class Screen(io.StringIO):
    """A terminal that shows colours."""

    def isatty(self) -> bool:
        return True


def terminal(
    *lines: str, screen: io.StringIO | None = None, **env: str
) -> tuple[Terminal, io.StringIO]:
    out = screen or io.StringIO()
    return Terminal(io.StringIO("".join(line + "\n" for line in lines)), out, env), out


def printed(*shown: Any) -> str:
    screen, out = terminal()
    printer = Printer(screen)
    for event in shown:
        printer.show(event)
    return out.getvalue()


class Printing(unittest.TestCase):
    def test_what_is_awaited_is_one_line(self) -> None:
        facts = {"attempt": 2, "of": 4, "waited_s": 5.0}
        cases: list[tuple[Any, str]] = [
            (
                {"awaits": "retry", **facts, "left_s": 20.0, "cause": "it is \x1bbusy"},
                "it is \\x1bbusy; try 2 of 4 in 20 s",
            ),
            ({"awaits": "model", **facts}, "the model has said nothing for 5 s (try 2 of 4)"),
            (
                {"awaits": "interval", **facts, "left_s": 3.0},
                "the next call of the model is in 3 s, as llm_api.interval says",
            ),
            ({"awaits": "place", **facts}, "waiting for its turn: others are at work"),
            (
                {"awaits": "place", **facts, "left_s": 19.0},
                "waiting for its turn: others are at work, 19 s at most",
            ),
        ]
        for wait, line in cases:
            with self.subTest(wait["awaits"]):
                self.assertEqual(printed(events.run_wait(wait)), f"{line}\n")

    def test_a_run(self) -> None:
        text = printed(
            events.run_started("s", {"id": "run_1"}, 1),
            *events.think_start("r", "m", "reasoning", 1),
            events.think_delta("r", "Let me "),
            events.think_delta("r", "see."),
            *events.think_end("r"),
            events.text_start("m", 2),
            events.text_delta("m", "I will "),
            events.text_delta("m", "look."),
            events.tool_start("c", "shell", "m"),
            events.tool_args("c", '{"command":'),
            events.tool_args("c", '"ls"}'),
            events.tool_end("c"),
            events.text_end("m", {}, 3),
            events.tool_exec("c", [], 4),
            events.tool_output("c", "one\n", first=True),
            events.tool_output("c", "two", first=False),
            events.tool_result("c", "shell", '{"exit_code":0,"output":"one\\ntwo"}', 5),
        )
        self.assertEqual(
            text,
            "Let me see.\nI will look.\n→ shell ls\none\ntwo\n← shell: exit_code 0\n",
        )

    def test_parallel_calls_are_not_mixed_up(self) -> None:
        text = printed(
            events.tool_start("a", "first", "m"),
            events.tool_start("b", "second", "m"),
            events.tool_args("b", "{2}"),
            events.tool_args("a", "{1}"),
            events.tool_end("a"),
            events.tool_end("b"),
        )
        self.assertEqual(text, "→ first {1}\n→ second {2}\n")

    def test_an_error_stands_on_a_line_of_its_own(self) -> None:
        text = printed(
            events.text_start("m", 1),
            events.text_delta("m", "half"),
            events.run_error("The model is gone.", "upstream_error"),
        )
        self.assertEqual(text, "half\nThe model is gone.\n")

    def test_events_that_say_nothing_to_a_person(self) -> None:
        for event in (
            events.step_started(1, 1),
            events.state_delta(events.put("title", value="t")),
            {"type": "SOMETHING_NEW"},
        ):
            self.assertEqual(printed(event), "")

    def test_long_results_are_shortened(self) -> None:
        self.assertEqual(shorten("a\nb"), "a\nb")
        self.assertIn("… 2000 characters in all", shorten("x" * 2000))
        self.assertIn("characters in all", shorten("x\n" * 100))
        self.assertEqual(shorten(""), "")

    def test_colours_only_for_a_person(self) -> None:
        red, plain = "\x1b[31mx\x1b[0m\n", "x\n"
        for screen, env, wanted in (
            (io.StringIO(), {}, plain),
            (Screen(), {"TERM": "xterm"}, red),
            (Screen(), {"TERM": "dumb"}, plain),
            (Screen(), {"TERM": "xterm", "NO_COLOR": "1"}, plain),
        ):
            with self.subTest(env=env):
                shown, out = terminal(screen=screen, **env)
                shown.line("x", "red")
                self.assertEqual(out.getvalue(), wanted)


class Hostile(unittest.TestCase):
    ATTACKS = ("\x1b[2J", "\x1b]0;title\x07", "\r", "\x08", "\x9b2J", "\u202e", "\u2066", "\x7f")

    def test_controls_are_shown_and_not_obeyed(self) -> None:
        for attack in self.ATTACKS:
            with self.subTest(attack=attack):
                text = printed(
                    events.text_start("m", 1),
                    events.text_delta("m", f"a{attack}b"),
                    events.tool_start("c", f"n{attack}", "m"),
                    events.tool_args("c", attack),
                    events.tool_end("c"),
                    events.tool_output("c", attack, first=True),
                    events.tool_result("c", f"n{attack}", attack + "x", 5),
                    events.run_error(attack, "internal"),
                )
                self.assertNotIn(attack[0], text)
        self.assertEqual(visible("a\tb\nc ü 👩‍💻 עברית"), "a\tb\nc ü 👩‍💻 עברית")

    def test_nothing_hides_in_what_is_to_be_approved(self) -> None:
        for attack in self.ATTACKS:
            screen, out = terminal("y")
            asked: Any = {"reason": "tool_call", "message": attack, "tool": attack}
            ask_answer(screen, asked | {"args": {"command": f"ls {attack}", attack: 1}})
            with self.subTest(attack=attack):
                self.assertNotIn(attack[0], out.getvalue())

    def test_what_is_decided_by_has_every_sign_of_the_table_written_out(self) -> None:
        vectors = json.loads((ROOT / "tests" / "vectors" / "invisible.json").read_text())
        signs = [chr(int(each.split("-")[0], 16)) for each in vectors["ranges"]]
        signs = [sign for sign in signs if not "\ud800" <= sign <= "\udfff"]
        for sign in signs:
            attack = f"a{sign}b"
            schema = {"properties": {attack: {"enum": [attack, 1]}}, "required": [attack]}
            cases: list[Any] = [
                {"reason": "tool_call", "tool": attack, "args": {attack: attack}},
                {"reason": "input_required", "tool": attack, "suggestions": [attack]},
                {"reason": "input_required", "tool": "t", "server": attack},
                {"reason": "input_required", "response_schema": schema},
                {"reason": "indeterminate"},
                {"reason": "mcp_sign_in", "server": attack},
                {"reason": "workspace_restore", "differences": [{"path": attack}], "count": 1},
            ]
            for asked in cases:
                screen, out = terminal("1" if "response_schema" in asked else "y", "s", "r")
                ask_answer(screen, {"message": attack} | asked)
                with self.subTest(sign=ascii(sign), reason=asked["reason"]):
                    self.assertNotIn(sign, out.getvalue())

    def test_whose_question_it_is(self) -> None:
        words = "yaa: your session has expired.\n[y]es, [n]o: "
        schema = {
            "type": "object",
            "properties": {"secret": {"type": "string", "title": "Your yaa key"}},
            "required": ["secret"],
        }
        asked: Any = {"reason": "input_required", "message": words, "response_schema": schema}
        quoted = "  │ yaa: your session has expired.\n  │ [y]es, [n]o: \n"
        for who, said in (
            (
                {"tool": "mcp__weatherco__weather", "server": "weatherco"},
                "The server weatherco asks (tool weather), and gets your answer:\n",
            ),
            ({"tool": "ask_user"}, "The model asks:\n"),
            ({"tool": "survey"}, "The tool survey asks, and gets your answer:\n"),
            (
                {"tool": "x", "server": "a\nyaa says"},
                "The server a\\nyaa says asks (tool x), and gets your answer:\n",
            ),
        ):
            screen, out = terminal("no")
            ask_answer(screen, asked | who)
            warned = "  Tell no key, password or token of yours here.\n"
            self.assertEqual(out.getvalue(), f"{said}{quoted}{warned}secret (Your yaa key): ")
        screen, out = terminal("blue")
        plain = {"message": "Which colour?", "response_schema": {}, "tool": "ask_user"}
        ask_answer(screen, asked | plain)
        self.assertEqual(out.getvalue(), "The model asks:\n  │ Which colour?\nanswer: ")


class Answering(unittest.TestCase):
    def ask(self, interrupt: Any, *lines: str) -> Any:
        screen, _ = terminal(*lines)
        return ask_answer(screen, {"message": "?"} | interrupt)

    def test_approval(self) -> None:
        call = {"reason": "tool_call", "tool": "shell", "args": {"command": "ls"}}
        for lines, payload in (
            (["y"], {"approved": True}),
            (["YES"], {"approved": True}),
            (["ok"], {"approved": True}),
            (["好"], {"approved": True}),
            (["?", "", "y"], {"approved": True}),
            (["List them by size"], {"approved": False, "reason": "List them by size"}),
            (["a"], {"approved": True, "remember": "session"}),
            (["n", ""], {"approved": False}),
            (["n", "too risky"], {"approved": False, "reason": "too risky"}),
            (
                ["e", '{"command": "ls -l"}'],
                {"approved": True, "edited_args": {"command": "ls -l"}},
            ),
            (["e", "{", "[]", "{}"], {"approved": True, "edited_args": {}}),
        ):
            with self.subTest(lines=lines):
                found = self.ask(call, *lines)
                self.assertEqual(found, {"status": "resolved", "payload": payload})

    def test_other_reasons(self) -> None:
        files = [{"path": f"file{n}", "change": "added"} for n in range(100)]
        changed = {"reason": "workspace_restore", "differences": files, "count": 300}
        for interrupt, lines, payload in (
            ({"reason": "input_required", "response_schema": {"type": "string"}}, ["Bob"], "Bob"),
            ({"reason": "input_required"}, [""], ""),
            ({"reason": "limit"}, ["y"], {"continue": True}),
            ({"reason": "limit"}, ["?", "n"], None),
            ({"reason": "model_error"}, ["y"], {"retry": True}),
            ({"reason": "model_error"}, ["n"], None),
            (changed, ["r"], {"action": "restore"}),
            (changed, ["Keep"], {"action": "keep"}),
            (changed, [""], None),
            ({"reason": "workspace_missing"}, ["y"], {"action": "go_on"}),
            ({"reason": "workspace_missing"}, ["n"], None),
            ({"reason": "indeterminate"}, ["x", "r"], {"action": "retry"}),
            ({"reason": "indeterminate"}, ["s"], {"action": "skip"}),
            ({"reason": "indeterminate"}, ["t", "42"], {"action": "result", "content": "42"}),
            ({"reason": "something_new"}, [], None),
        ):
            with self.subTest(interrupt=interrupt, lines=lines):
                expected = None if payload is None else {"status": "resolved", "payload": payload}
                self.assertEqual(self.ask(interrupt, *lines), expected)
        page = self.ask({"reason": "client_tool"})
        self.assertTrue(page["payload"]["is_error"])

    def test_no_more_input(self) -> None:
        with self.assertRaises(EOFError):
            self.ask({"reason": "tool_call"})

    def test_values_by_schema(self) -> None:
        for schema, lines, value in (
            ({"type": "boolean"}, ["maybe", "no"], False),
            ({"type": "integer"}, ["many", "5"], 5),
            ({"type": "number"}, ["2.5"], 2.5),
            ({"type": "array"}, ["[1, 2]"], [1, 2]),
            ({"enum": ["red", "blue", 3]}, ["green", "3"], 3),
            ({}, ["free text"], "free text"),
            (
                {
                    "type": "object",
                    "properties": {
                        "name": {"type": "string", "description": "your name"},
                        "age": {"type": "integer"},
                    },
                },
                ["Ann", "40"],
                {"name": "Ann", "age": 40},
            ),
            (
                {"properties": {"a": {"type": "integer"}, "b": {}}, "required": ["b"]},
                ["", ""],
                {"b": ""},
            ),
        ):
            with self.subTest(schema=schema):
                screen, _ = terminal(*lines)
                self.assertEqual(ask_for(screen, schema), value)


if __name__ == "__main__":
    unittest.main()
