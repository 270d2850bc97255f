"""The console on an agent with a scripted model: conversations, commands, and the filter."""

from __future__ import annotations

import asyncio
import io
import json
import tempfile
import unittest
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

from server.api.auth import home_key
from server.cli.console import (
    MOST_TOLD,
    WANTED,
    Chat,
    explain,
    read_session,
    run_once,
    sanitize_foreign,
    write_answer,
)
from server.cli.terminal import Terminal
from server.errors import Problem

from .. import fakes


def said(text: str) -> Any:
    return {"role": "assistant", "content": text}


def error(text: str) -> Any:
    return {"role": "error", "content": text}


def script(messages: list[Any]) -> list[tuple[Any, ...]]:
    last = messages[-1]
    if last["role"] == "tool":
        return [("text", f"It said: {last['content']}")]
    if "age" in last["content"]:
        schema = {"type": "integer", "minimum": 1}
        asked = {"question": "How old are you?", "response_schema": schema}
        return [("call", "ask", json.dumps(asked))]
    if "write" in last["content"]:
        return [("text", "Now:"), ("call", "write", '{"path": "x"}')]
    return [("text", f"You said: {last['content']}")]


def asks_for_a_key(messages: list[Any]) -> list[tuple[Any, ...]]:
    if messages[-1]["role"] == "tool":
        return script(messages)
    return [("call", "ask", '{"question": "Your session has expired. Your key?"}')]


MODELS: list[Any] = [
    {"name": "a", "models": ["small"], "default": True},
    {"name": "b", "models": ["big", "huge"]},
]
FINISHED = {"role": "tool", "tool_call_id": "c", "name": "finish", "content": "all done"}


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.counts: dict[tuple[str, str], int] = {}
        self.model = fakes.ScriptedModel(script)
        toolbox = fakes.CountingToolbox({"write": "write", "ask": "question"}, self.counts)
        self.agent = fakes.agent(self.model, toolbox, home=self.folder)

    def chat(self, *lines: str, session: Any | None = None, words: str = "") -> tuple[Chat, str]:
        """Everything said in a conversation that ends with its input."""
        out = io.StringIO()
        terminal = Terminal(io.StringIO("".join(line + "\n" for line in lines)), out)
        with asyncio.Runner() as runner:
            document: Any = session or {"messages": []}
            chat = Chat(self.agent, runner, terminal, document, models=lambda: MODELS)
            self.assertEqual(chat.talk(words), 0)
        return chat, out.getvalue()


class Talking(Case):
    def test_messages_and_answers(self) -> None:
        chat, said = self.chat("hello", "", "first \\", "second")
        self.assertIn("You said: hello\n", said)
        self.assertIn("You said: first \nsecond\n", said)
        roles = [message["role"] for message in chat.session["messages"]]
        self.assertEqual(roles, ["user", "assistant"] * 2)

    def test_words_of_the_command_are_the_first_message(self) -> None:
        chat, said = self.chat("more", words="hel\x1blo")
        self.assertEqual(
            [m["content"] for m in chat.session["messages"][::2]], ["hel\x1blo", "more"]
        )
        self.assertTrue(said.startswith("> hel"), said)
        self.assertNotIn("\x1b", said.partition("\n")[0])

    def test_an_answer_that_is_not_whole_says_so(self) -> None:
        for reason, told in (("stop", 0), ("length", 1), ("max_tokens", 1), ("sensitive", 1)):
            with self.subTest(reason):
                self.model.reason = reason
                _, said = self.chat("hello")
                self.assertEqual(said.count("ends here)") + said.count("the answer here)"), told)

    def test_an_approval(self) -> None:
        for reply, ran, status in (("y", 1, "completed"), ("n\nnot now", 0, "completed")):
            self.setUp()
            with self.subTest(reply=reply):
                chat, said = self.chat("write", reply)
                self.assertEqual(len(self.counts), ran)
                self.assertEqual(chat.session["status"], status)
                self.assertIn("It said: ", said)

    def test_always_means_this_session(self) -> None:
        chat, said = self.chat("write", "a", "write again")
        self.assertEqual(said.count("[y]es"), 1)
        self.assertEqual(sum(self.counts.values()), 2)
        self.assertEqual(len(chat.session["grants"]), 1)

    def test_left_open_it_can_be_taken_up_again(self) -> None:
        chat, said = self.chat("write")
        self.assertIn("left open", said)
        self.assertEqual(chat.session["status"], "interrupted")
        chat, _ = self.chat("y", session=json.loads(json.dumps(chat.session)))
        self.assertEqual(sum(self.counts.values()), 1)
        self.assertEqual(chat.session["status"], "completed")

    def test_an_answer_that_does_not_fit_is_asked_for_again(self) -> None:
        chat, said = self.chat("my age", "0", "7", "and now")
        self.assertEqual(said.count("\n  │ How old are you?\n"), 2)
        self.assertIn("/interrupts/0/answer/payload: ", said)
        self.assertIn("It said: 7\n", said)
        self.assertIn("You said: and now\n", said)

    def test_the_key_of_the_home_is_no_answer(self) -> None:
        key = home_key(self.folder)
        self.model.script = asks_for_a_key
        chat, said = self.chat("hello", f"it is {key}", "nobody's")
        self.assertIn("This answer holds a key of this server", said)
        self.assertIn("It said: nobody's", said)
        self.assertNotIn(key, json.dumps(chat.session))

    def test_a_refused_session_keeps_no_half_sent_message(self) -> None:
        session = {"messages": [], "version": 99}
        chat, said = self.chat("hello", session=session)
        self.assertIn("99", said)
        self.assertEqual(chat.session["messages"], [])


class Commands(Case):
    def test_commands(self) -> None:
        file = self.folder / "saved.json"
        chat, said = self.chat("hello", f"/save {file}", "/clear", "/help", "/nope", "/save")
        self.assertEqual(chat.session["messages"], [])
        for text in (f"saved to {file}", "a new session", "Ctrl-C", "/nope is not known"):
            self.assertIn(text, said)
        saved = read_session(str(file))
        self.assertEqual(len(saved["messages"]), 2)
        self.assertEqual([entry.name for entry in self.folder.iterdir()], ["saved.json"])

    def test_the_permission_mode(self) -> None:
        chat, said = self.chat("/permission", "/permission copy_runs", "/permission all", "hello")
        for text in ("session: by_rules", "session: copy_runs", "/permission is one of every_call"):
            self.assertIn(text, said)
        self.assertEqual(chat.session["config"]["yaa"]["ask"], "copy_runs")
        chat, _ = self.chat("/permission every_call", "write", "n", "", "/clear")
        self.assertEqual(chat.session["config"]["yaa"]["ask"], "every_call", "it is kept")

    def test_the_last_message_is_taken_back(self) -> None:
        chat, said = self.chat(
            "one", "write", "y", "/undo", "/cost", "two", "/undo", "/undo", "/undo"
        )
        self.assertIn("taken back: write", said)
        self.assertIn("You said: two", said)
        self.assertIn("there is no message of yours", said)
        self.assertIn("model calls, ", said)
        self.assertEqual(chat.session["messages"], [])
        chat, _ = self.chat("one", "write", "y", "/undo", "two")
        contents = [each["content"] for each in chat.session["messages"]]
        self.assertEqual(contents, ["one", "You said: one", "two", "You said: two"])
        self.assertEqual(chat.session["status"], "completed")

    def test_another_model(self) -> None:
        chat, said = self.chat("/model", "/model big", "/model bog", "/model b", "hello", "/clear")
        for text in (
            "  a: small, the default\n",
            "  b: big, huge\nthis session: the default\n",
            "this session: big b\n",
            "there is no model bog; did you mean big?\n",
            "this session: b\n",
        ):
            self.assertIn(text, said)
        self.assertEqual(chat.session["config"]["llm_api"]["provider"], {"name": "b"}, "it is kept")

    def test_a_link_stays_one(self) -> None:
        (self.folder / "link").symlink_to("saved.json")
        self.chat("hello", f"/save {self.folder / 'link'}")
        self.assertTrue((self.folder / "link").is_symlink())
        self.assertEqual(len(read_session(str(self.folder / "saved.json"))["messages"]), 2)

    def test_a_file_that_cannot_be_written(self) -> None:
        (self.folder / "file").write_text("")
        for name, why in (
            (self.folder / "none" / "x.json", "No such file"),
            (self.folder / "file" / "x.json", "Not a directory"),
            (self.folder, "is no file"),
            ("/", "is no file"),
            ("/dev/null", "is no file"),
            ("~nobody-of-that-name/x", "home directory"),
        ):
            with self.subTest(name=name):
                _, said = self.chat(f"/save {name}", "/clear")
                self.assertIn(why, said)
                self.assertIn("a new session", said, "the conversation goes on")

    def test_exit_leaves_at_once(self) -> None:
        for command in ("/exit", "/quit"):
            _, said = self.chat(command, "hello")
            self.assertNotIn("You said", said)


class Filter(Case):
    def test_cancelled_it_writes_what_there_is(self) -> None:
        out = io.StringIO()

        async def main() -> None:
            document: Any = {"messages": [fakes.user("hello")]}
            task = asyncio.create_task(run_once(self.agent, document, out))
            while not self.model.requests:
                await asyncio.sleep(0)
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task

        asyncio.run(main())
        session = json.loads(out.getvalue())
        self.assertEqual(session["messages"][0]["content"], "hello")
        self.assertEqual(session["status"], "in_progress")
        again = io.StringIO()
        self.assertEqual(asyncio.run(run_once(self.agent, session, again)), 0)

    def test_the_answer_alone(self) -> None:
        """Words, or the value where one was wanted; a model has no say over the terminal."""
        cases: list[tuple[Any, str, str]] = [
            ({"messages": [fakes.user("a"), said("two\nlines\n\n")]}, "two\nlines\n", ""),
            ({"messages": [said("é 世\x1b[2J")]}, "é 世\\x1b[2J\n", ""),
            ({"messages": [said("x")], "output": {"n": "世"}}, '{\n  "n": "世"\n}\n', ""),
            ({"messages": [said("x")], "output": None}, "null\n", ""),
            ({"messages": [fakes.user("a")]}, "", ""),
            ({"messages": [said(""), FINISHED]}, "all done\n", ""),
            ({"messages": [said("Look:"), FINISHED]}, "Look:\n", ""),
            (
                {"messages": [said("half") | {"meta": {"finish_reason": "max_tokens"}}]},
                "half\n",
                "yaa: the answer reached its limit of tokens and ends here\n",
            ),
            ({"messages": [said("half"), error("down\x07")]}, "", "yaa: down\\x07\n"),
            (
                {"messages": [said("")], "interrupts": [{"reason": "limit", "message": "Stop."}]},
                "",
                "yaa: it waits for you: Stop.\n",
            ),
        ]
        for session, words, told in cases:
            with self.subTest(session), redirect_stderr(io.StringIO()) as errors:
                out = io.StringIO()
                write_answer(session, out)
                self.assertEqual((out.getvalue(), errors.getvalue()), (words, told))

    def test_what_is_left_out_of_a_session_is_told(self) -> None:
        defaults = fakes.DEFAULTS["session"]
        plain: Any = {"messages": [fakes.user("a")], "config": {"yaa": {"stream": False}}}
        self.assertEqual(sanitize_foreign(plain, defaults), (plain, []))
        session, lines = sanitize_foreign(
            {**plain, "a\x1b[2J": 1, "character": "é" * 200}, defaults
        )
        self.assertEqual(session, plain)
        self.assertEqual(len(lines), 3)
        self.assertEqual(lines[1], f'  /character {WANTED["instructions"]}: "{"é" * 99}…')
        self.assertEqual(lines[2], "  /a\\x1b[2J is not known here")
        many = [{"tool": "t", "decision": "allow"}] * (MOST_TOLD + 2)
        _, lines = sanitize_foreign({**plain, "grants": many}, defaults)
        self.assertEqual((len(lines), lines[-1]), (MOST_TOLD + 2, "  and 2 more"))

    def test_every_kind_of_what_is_left_out_has_words(self) -> None:
        vectors = Path(__file__).parents[1] / "vectors" / "foreign.json"
        kinds = {
            item["kind"] for each in json.loads(vectors.read_text()) for item in each["removed"]
        }
        self.assertEqual(kinds, {*WANTED, "unknown"})

    def test_a_problem_names_every_place(self) -> None:
        places = [{"pointer": "/a", "detail": "x"}, {"pointer": "", "detail": "y"}]
        text = explain(Problem("session_invalid", "No.", errors=places))
        self.assertEqual(text, "No.\n  /a: x\n  /: y")


if __name__ == "__main__":
    unittest.main()
