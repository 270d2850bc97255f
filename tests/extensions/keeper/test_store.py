"""`run` and `chat` with kept sessions: where command or server was killed, the other goes on."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from ...tooling import forks, patience
from .test_runs import AUTO, Case

CALLS = 4


class Commands(Case):
    def setUp(self) -> None:
        super().setUp()
        self.model.calls = CALLS
        self.file = Path(self.enterContext(tempfile.TemporaryDirectory())) / "config.json"
        self.file.write_text(json.dumps(self.whole()))

    def line(self, *arguments: str) -> list[str]:
        line = [sys.executable, "-m", "server", *arguments]
        return [*line, "--home", str(self.home), "--config", str(self.file)]

    def said(self, *arguments: str, typed: str = "") -> tuple[int, str, str]:
        """(exit code, output, errors) of a command, at whose end of input nobody is there."""
        done = forks.run(self.line(*arguments), os.environ, typed, timeout=patience.seconds(60))
        return done.returncode, done.stdout, done.stderr

    def check_whole(self, session: Any, before: Any) -> None:
        """The task is done, and what was there before has only more behind it."""
        self.assertEqual(len(before), 5, "a question, two calls with their results")
        self.assertEqual(session["messages"][:5], before)
        self.assertEqual(session["status"], "completed")
        self.assertEqual(session["messages"][-1]["content"], f"Done: {CALLS} results.")
        self.assertEqual(self.executions("task"), [1] * CALLS)
        self.assertEqual(self.model.asked, CALLS + 2, "only what was cut is asked again")

    def test_run_goes_on_where_a_server_was_killed(self) -> None:
        self.hold(2)
        with self.server() as yaa:
            self.keep(yaa, "task", **AUTO)
            self.ask(yaa, "POST", "task/run")
            self.until_reached(2)
            before = self.ask(yaa, "GET", "task")["messages"]
            yaa.kill()
        self.model.holds.pop(2).set()
        code, text, errors = self.said("run", "--store", "@kept", "task", "--text")
        self.assertEqual((code, text.strip()), (0, f"Done: {CALLS} results."), errors)
        with self.server() as yaa:
            self.check_whole(self.rest(yaa, "task"), before)

    def test_another_kind_of_store_takes_nothing_of_it(self) -> None:
        self.hold(1)
        with self.server() as yaa:
            self.keep(yaa, "task", **AUTO)
            self.ask(yaa, "POST", "task/run")
            self.until_reached(1)
            before = self.ask(yaa, "GET", "task")
            yaa.kill()
        self.model.holds.pop(1).set()
        (self.home / "keeper" / ".running").rename(self.home / "nothing goes on by itself")
        folder = str(self.home / "keeper" / "@home")
        code, _, errors = self.said("run", "--store", folder, "task", "--text")
        self.assertNotEqual(code, 0)
        self.assertIn("`--store @NAME` goes on with it", errors)
        with self.server() as yaa:
            self.assertEqual(self.ask(yaa, "GET", "task"), before)

    def test_a_server_goes_on_where_run_was_killed(self) -> None:
        with self.server() as yaa:
            self.keep(yaa, "task", **AUTO)
        self.hold(2)
        started = forks.popen(self.line("run", "--store", "@kept", "task"), os.environ)
        self.addCleanup(started.communicate)
        self.addCleanup(started.kill)
        self.until_reached(2)
        started.kill()
        started.wait()
        self.model.holds.pop(2).set()
        with self.server() as yaa:
            before = self.ask(yaa, "GET", "task")["messages"]
            self.ask(yaa, "POST", "task/run")
            self.check_whole(self.rest(yaa, "task"), before)

    def test_one_writes_at_a_time(self) -> None:
        self.hold(2)
        with self.server() as yaa:
            self.keep(yaa, "task", **AUTO)
            self.ask(yaa, "POST", "task/run")
            self.until_reached(2)
            code, _, errors = self.said("run", "--store", "@kept", "task", "--say", "and?")
            self.assertNotEqual(code, 0)
            self.assertIn("another program has this session open", errors)
            self.model.holds.pop(2).set()
            self.assertEqual(self.rest(yaa, "task")["status"], "completed")

    def test_chat_keeps_its_session_there(self) -> None:
        self.model.calls = 0
        code, text, errors = self.said("chat", "--store", "@kept", "talk", typed="hello\n/exit\n")
        self.assertEqual((code, errors), (0, ""), text)
        with self.server() as yaa:
            rows = self.ask(yaa, "GET", "")["sessions"]
            self.assertEqual([(each["id"], each["messages"]) for each in rows], [("talk", 2)])
        text = self.said("chat", "--store", "@kept", "talk", typed="again\n/sessions\n/exit\n")[1]
        self.assertIn("4 messages", text)

    def test_a_home_folder_is_made(self) -> None:
        self.model.calls = 0
        self.home = self.home.parent / "fresh"
        code, text, errors = self.said(
            "run", "--store", "@kept", "talk", "--say", "hello", "--text"
        )
        self.assertEqual((code, text.strip(), errors), (0, "Done: 0 results.", ""))
        self.assertTrue((self.home / "keeper" / "@home" / "talk.json").is_file())

    def test_what_cannot_be_used_is_said(self) -> None:
        rows = {
            ("run", "--store", "@nobody", "task", "--say", "x"): "for a folder say ./@nobody",
            ("chat", "--store", "@nobody", "task"): "for a folder say ./@nobody",
            ("run", "--store", "@kept", "broken", "--say", "x"): "It is not valid JSON",
        }
        folder = self.home / "keeper" / "@home"
        folder.mkdir(parents=True)
        (folder / "broken.json").write_text("<<<<<<< HEAD\n")
        for arguments, words in rows.items():
            with self.subTest(arguments=arguments):
                code, _, errors = self.said(*arguments)
                self.assertNotEqual(code, 0)
                self.assertIn(words, errors)
                self.assertNotIn("Traceback", errors)
        self.assertEqual((folder / "broken.json").read_text(), "<<<<<<< HEAD\n")
