"""The command `keep`: what it says and does at a server that runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

from ...tooling import forks, patience
from ...tooling.child import Yaa
from ...tooling.tools import ROOT
from .test_runs import AUTO, Case


class Keep(Case):
    def setUp(self) -> None:
        super().setUp()
        self.model.calls = 2
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def command(self, *arguments: str, home: Path | None = None) -> tuple[int, str, str]:
        """(exit code, output, errors) of `keep` with these arguments."""
        line = [
            sys.executable,
            "-m",
            "server",
            "keep",
            *arguments,
            "--home",
            str(home or self.home),
        ]
        done = forks.run(line, os.environ, timeout=patience.seconds(60))
        return done.returncode, done.stdout, done.stderr

    def file(self, name: str, **more: Any) -> str:
        file = self.folder / f"{name}.json"
        file.write_text(json.dumps({"messages": [{"role": "user", "content": "go"}], **more}))
        return str(file)

    def test_a_session_is_added_run_and_its_log_is_read(self) -> None:
        with self.server() as yaa:
            self.assertEqual(self.command("list"), (0, "Nothing is kept here.\n", ""))
            self.assertEqual(self.command("add", self.file("a", **AUTO))[1], "a is kept.\n")
            self.assertEqual(self.command("add", self.file("a"))[0], 1, "a is there already")
            self.assertEqual(self.command("run", "a")[:2], (0, "a runs.\n"))
            self.rest(yaa, "a")
            self.assertEqual(self.command("run", "a")[1], "a rests: nothing is to be done.\n")
            _, text, _ = self.command("log", "a")
            self.assertEqual([each.split(":")[0] for each in text.splitlines()][0], "user")
            self.assertIn('assistant: mark {"name": "mark0"}\n', text)
            self.assertTrue(text.endswith("assistant: Done: 2 results.\n"), text)
            messages = [
                json.loads(each) for each in self.command("log", "a", "--json")[1].split("\n")[:-1]
            ]
            self.assertEqual(messages, self.ask(yaa, "GET", "a")["messages"])
            rows = json.loads(self.command("list", "--json")[1])["sessions"]
            self.assertEqual({each["id"] for each in rows}, {"a", "a-2"})
            self.assertRegex(self.command("list")[1], r"(?m)^rests +a  +go$")

    def test_pause_stops_it_and_holds_its_schedule_until_run(self) -> None:
        self.hold(1)
        schedule = {"cron": "0 7 * * *", "say": "news"}
        with self.server() as yaa:
            self.command("add", self.file("a", ext={"keeper": {"schedule": schedule}}, **AUTO))
            self.command("run", "a")
            self.until_reached(1)
            self.assertEqual(self.command("pause", "a")[:2], (0, "a rests, until `keep run`.\n"))
            self.assertTrue(self.schedule(yaa)["paused"])
            self.assertFalse(self.ask(yaa, "GET", "")["sessions"][0]["running"])
            self.model.holds.pop(1).set()
            self.command("run", "a")
            self.assertFalse(self.schedule(yaa)["paused"])
            self.assertEqual(self.rest(yaa, "a")["status"], "completed")

    def schedule(self, yaa: Yaa) -> Any:
        return self.ask(yaa, "GET", "a")["ext"]["keeper"]["schedule"]

    def test_a_log_is_followed_until_the_server_ends(self) -> None:
        self.hold(1)
        line = [sys.executable, "-m", "server", "keep", "log", "a", "-f", "--home", str(self.home)]
        with self.server() as yaa:
            self.keep(yaa, "a", **AUTO)
            self.ask(yaa, "POST", "a/run")
            self.until_reached(1)
            with subprocess.Popen(line, cwd=ROOT, stdout=subprocess.PIPE, text=True) as following:
                assert following.stdout is not None
                self.assertEqual(following.stdout.readline(), "user: go\n")
                self.model.holds.pop(1).set()
                lines = iter(following.stdout.readline, "")
                self.assertIn("assistant: Done: 2 results.\n", lines)
                assert yaa.child is not None
                yaa.child.stop(patience.seconds(30))
                self.assertEqual([*lines], [])
                self.assertEqual(following.wait(patience.seconds(30)), 0)

    def test_another_server_is_asked_with_a_key_of_a_file(self) -> None:
        key = self.folder / "key"
        elsewhere = self.folder / "home"
        with self.server() as yaa:
            key.write_text(f"{yaa.key}\n")
            at = ("--server", f"{yaa.url}/", "--key-file", str(key))
            self.assertEqual(self.command("add", self.file("a"), *at, home=elsewhere)[0], 0)
            self.assertIn("rests", self.command("list", *at, home=elsewhere)[1])
            key.write_text("another key\n")
            code, _, said = self.command("list", *at, home=elsewhere)
            self.assertEqual((code, said.count("\n")), (1, 1))
        code, _, said = self.command("list", *at, home=elsewhere)
        self.assertEqual((code, said.count("\n")), (1, 1))
        self.assertIn(f"{yaa.url}/ does not answer: Connection refused", said)

    def test_a_file_with_a_key_is_named_from_the_current_folder(self) -> None:
        with self.server() as yaa:
            (self.folder / "key").write_text(yaa.key)
            line = [sys.executable, "-m", "server", "keep", "list", "--home", str(self.home)]
            line += ["--server", yaa.url, "--key-file", "key"]
            env = {**os.environ, "PYTHONPATH": str(ROOT)}
            done = forks.run(line, env, cwd=self.folder, timeout=patience.seconds(60))
            self.assertEqual((done.stdout, done.stderr), ("Nothing is kept here.\n", ""))

    def test_who_reads_may_leave_before_the_end(self) -> None:
        with self.server():
            self.assertEqual(self.command("add", self.file("a"))[0], 0)
            line = [sys.executable, "-m", "server", "keep", "log", "a", "--home", str(self.home)]
            with subprocess.Popen(
                line, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            ) as reader:
                assert reader.stdout and reader.stderr
                reader.stdout.close()
                self.assertEqual(reader.stderr.read(), b"")
            self.assertEqual(reader.returncode, 1)

    def test_mistakes_are_one_line_each(self) -> None:
        for arguments, said in (
            (("list",), "no server runs with this home folder"),
            (("list", "a"), "takes no name"),
            (("run",), "takes a name"),
            (("list", "--server", "http://x"), "--server needs --key-file"),
            (("list", "--server", "x", "--key-file", self.file("k")), "wanted an address"),
            (("list", "--server", "http://x", "--key-file", "none"), "--key-file none: "),
        ):
            with self.subTest(arguments):
                code, out, errors = self.command(*arguments)
                self.assertEqual((code, out, errors.count("\n")), (2, "", 1))
                self.assertIn(said, errors)


del Case

if __name__ == "__main__":
    unittest.main()
