"""Folders on the command line, with real processes: `--folder` and `here`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar

from ..bench.peers import config, start
from ..tooling import forks, tools, turns

setUpModule = forks.use
LIMIT_S = 300


def shell(command: str) -> str:
    """What a person says so that the scripted model calls the shell."""
    return f"bench tokens=3 delay_us=0 tool=shell{json.dumps({'command': command})}"


class Case(unittest.TestCase):
    base: Path
    settings: ClassVar[dict[str, Any]]

    @classmethod
    def setUpClass(cls) -> None:
        stack = cls.enterClassContext(ExitStack())
        cls.settings = config(start(stack, "tests.bench.provider"))

    def setUp(self) -> None:
        self.base = Path(os.path.realpath(self.enterContext(tempfile.TemporaryDirectory())))
        self.base.chmod(0o711)
        self.home = self.base / "home"
        self.home.mkdir()
        folders = {}
        for name, mode in (("project", "write"), ("big", "overlay")):
            (self.base / name).mkdir()
            (self.base / name).chmod(0o777)
            (self.base / name / "file").write_text(name)
            (self.base / name / "file").chmod(0o666)
            folders[name] = {"path": str(self.base / name), "mode": mode}
        server = {**self.settings["server"], "folders": folders, "sandbox": {"require": "none"}}
        session = {"config": {"tool": {"shell": {"auto_approve": True}}}}
        text = json.dumps({**self.settings, "server": server, "session": session})
        (self.home / "config.json").write_text(text)

    def yaa(
        self, *arguments: str, said: str = "", cwd: str = ""
    ) -> subprocess.CompletedProcess[str]:
        return forks.run(
            [sys.executable, "-m", "server", *arguments, "--home", str(self.home)],
            {**os.environ, "PYTHONPATH": str(tools.ROOT)},
            said,
            cwd=self.base / cwd if cwd else tools.ROOT,
            timeout=LIMIT_S,
        )

    def content(self, path: str) -> str:
        return (self.base / path).read_text()


@turns.tests(2)
class NamedFolders(Case):
    def test_run(self) -> None:
        found = self.yaa("run", "--folder", "project", "--say", shell("cat file; echo 1 > new"))
        self.assertEqual(found.returncode, 0, found.stderr)
        self.assertEqual(self.content("project/new"), "1\n")
        session = json.loads(found.stdout)
        self.assertEqual(session["workspace"]["folder"], "project")
        # The session goes on there only if a person says so: a folder is a permission.
        again = self.yaa("run", "-", "--say", shell("echo 2 > new"), said=found.stdout)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(self.content("project/new"), "1\n")
        again = self.yaa("run", "-", "--folder", "project", "--say", "hello", said=found.stdout)
        self.assertNotIn("/workspace/folder", again.stderr)
        self.assertEqual(json.loads(again.stdout)["workspace"]["folder"], "project")

    def test_a_name_that_is_not_known(self) -> None:
        for command in (("run", "--say", "x"), ("chat",)):
            found = self.yaa(*command, "--folder", "nope")
            self.assertEqual(found.returncode, 2)
            self.assertIn("no folder 'nope'; it has: project, big", found.stderr)

    def test_chat_in_an_overlay(self) -> None:
        lines = (
            *("/changes", shell("mkfifo p; echo 1 > a; echo 2 > 'b c'; echo 3 > file"), "/changes"),
            *("/apply 'b c'", "/discard file", "/changes", "/apply nope", "/apply '"),
        )
        found = self.yaa("chat", "--folder", "big", said="\n".join(lines))
        self.assertEqual(found.returncode, 0, found.stderr)
        said = found.stdout
        for text in (
            "  + a\n  + b c\n  ~ file\n",
            "1 applied",
            "1 discarded",
            "No closing quotation",
        ):
            self.assertIn(text, said)
        self.assertIn("nothing was done in the folder yet", said)
        left_out = "not recorded, so never listed or applied: 1 (pipes, sockets or devices)"
        self.assertEqual(said.count(left_out), 1)
        self.assertEqual((self.content("big/b c"), self.content("big/file")), ("2\n", "big"))
        self.assertFalse((self.base / "big" / "a").exists())

    def test_only_what_was_listed_is_applied(self) -> None:
        lines = (shell("echo good > a"), "/changes", shell("echo EVIL > a"), "/apply", "/discard a")
        found = self.yaa("chat", "--folder", "big", said="\n".join(lines))
        self.assertIn("the files have changed since they were listed: look again", found.stdout)
        self.assertFalse((self.base / "big" / "a").exists())
        self.assertIn("1 discarded", found.stdout)
        more = (shell("echo 1 > a"), "/apply", "/apply")
        found = self.yaa("chat", "--folder", "big", said="\n".join(more))
        self.assertIn("nothing was done: look at this list, then /apply once more", found.stdout)
        self.assertEqual(self.content("big/a"), "1\n")

    def test_what_was_discarded_stays_away(self) -> None:
        kept = self.base / "talk.json"
        first = (shell("echo 1 > a; echo 2 > b; echo 3 > file"), "/discard a file")
        lines = (*first, shell("cat file; ls"), "/changes")
        found = self.yaa("chat", str(kept), "--folder", "big", said="\n".join(lines))
        self.assertEqual(found.returncode, 0, found.stderr)
        again = rf"chat --folder big {kept} --home {self.home}"
        pending = rf"1 change is not applied \(/changes, /apply\), to go on with them: .* {again}"
        self.assertRegex(found.stdout, rf"  \+ b\n> \n{pending}\n$")
        messages = json.loads(kept.read_text())["messages"]
        results = [each for each in messages if each["role"] == "tool"]
        self.assertEqual(json.loads(results[1]["content"])["output"], "bigb\nfile\n")
        # Whoever goes back to the second message finds the files as the person had left them.
        second = [each for each in messages if each["role"] == "user"][1]
        self.assertEqual(second["tree"], results[1]["result"]["tree"]["before"])

    def test_what_was_discarded_last_stays_away_in_another_program(self) -> None:
        kept = self.base / "talk.json"
        lines = (shell("echo 1 > a; echo 3 > file"), "/changes", "/discard")
        self.yaa("chat", str(kept), "--folder", "big", said="\n".join(lines))
        found = self.yaa("chat", str(kept), "--folder", "big", said=shell("cat file; ls"))
        self.assertIn("bigfile", found.stdout, found.stderr)

    def test_a_name_is_one_line_without_control_characters(self) -> None:
        made = shell(r'''touch "$(printf 'x\n  + y\033[2Jz')"''')
        found = self.yaa("chat", "--folder", "big", said=f"{made}\n/changes")
        self.assertIn("  + x\\n  + y\\u{1b}[2Jz\n", found.stdout, found.stderr)

    def test_commands_of_overlays_elsewhere(self) -> None:
        found = self.yaa("chat", "--folder", "project", said="/changes\n/apply\n/discard x\n")
        self.assertEqual(found.stdout.count("is for an overlay"), 3)


@turns.tests(2)
class Here(Case):
    def test_each_run_is_looked_at(self) -> None:
        lines = (shell("echo 1 > one"), "y", shell("echo 2 > two"), "y", shell("echo EVIL > one"))
        found = self.yaa("here", said="\n".join((*lines, "n", "/changes")), cwd="big")
        self.assertEqual(found.returncode, 0, found.stderr)
        self.assertEqual(found.stdout.count("Apply this"), 3, found.stdout)
        self.assertEqual((self.content("big/one"), self.content("big/two")), ("1\n", "2\n"))
        self.assertIn("> \n1 change is not applied (/changes, /apply)", found.stdout)
        self.assertIn("  ~ one\n> ", found.stdout)

    def test_what_runs_or_leads_out_is_asked_for_alone(self) -> None:
        made = "echo 1 > one; echo evil > .envrc; mkdir .vscode; echo evil > .vscode/tasks.json;"
        lines = (shell(f"{made} ln -s /nowhere/x notes.md"), "y", "n", "y", "n", shell("true"))
        found = self.yaa("here", said="\n".join((*lines, "/apply", "/apply notes.md")), cwd="big")
        for text in (
            "  + .envrc  (runs on your machine)\n",
            "  + notes.md -> /nowhere/x  (leads out of the folder)\n",
            ".vscode/tasks.json runs on your machine. Apply it? [y/N]",
            ".envrc is left; /apply .envrc puts it there",
            ".envrc asks for itself, and is left: /apply .envrc",
        ):
            self.assertIn(text, found.stdout)
        self.assertEqual(found.stdout.count("Apply it?"), 3, "once in a conversation")
        self.assertEqual((self.base / "big" / "notes.md").readlink(), Path("/nowhere/x"))
        (self.base / "big" / "notes.md").unlink()
        names = sorted(path.name for path in (self.base / "big").rglob("*"))
        self.assertEqual(names, [".vscode", "file", "one", "tasks.json"])

    def test_all_files_are_listed(self) -> None:
        lines = (shell("for i in $(seq 60); do echo 1 > f$i; done"), "n")
        found = self.yaa("here", said="\n".join(lines), cwd="big")
        self.assertEqual(found.stdout.count("  + f"), 60)

    def test_nothing_without_a_yes(self) -> None:
        lines = (shell("echo 1 > one"), "", shell("echo 2 > two"), "/changes")
        found = self.yaa("here", said="\n".join(lines), cwd="big")
        self.assertEqual(found.stdout.count("Apply this"), 1, found.stdout)
        self.assertIn("  + one\n  + two\n", found.stdout)
        self.assertEqual([path.name for path in (self.base / "big").iterdir()], ["file"])

    def test_nothing_of_a_layer_is_lost(self) -> None:
        """The next start finds the session and its copy; what is not kept is said before."""
        self.yaa("here", said=f"{shell('echo 1 > one; echo 2 > two')}\nn\n", cwd="big")
        folder = next((self.home / "chats").iterdir())
        self.assertEqual((self.home / "chats").stat().st_mode & 0o777, 0o700)
        self.assertEqual(folder.stat().st_mode & 0o777, 0o700)
        name = next(folder.glob("*.json")).stem
        self.assertIn(f"  {name}  ", self.yaa("sessions").stdout)
        self.assertIn(str(self.base / "big"), self.yaa("sessions").stdout)
        lines = ("/sessions", "/diff", "/diff two", "/apply one", "/apply one", "/clear", "/exit")
        found = self.yaa("here", "--continue", said="\n".join(lines), cwd="big")
        self.assertEqual(found.returncode, 0, found.stderr)
        self.assertEqual(found.stdout.count("two\n@@"), 2, found.stdout)
        self.assertIn("\n+2\n", found.stdout)
        self.assertEqual(found.stdout.count("2 changes are not applied"), 1, found.stdout)
        self.assertEqual(found.stdout.count("1 change is not applied"), 1, "/clear says it")
        self.assertEqual(self.content("big/one"), "1\n")
        self.assertFalse((self.base / "big" / "two").exists())
        found = self.yaa("here", "--continue", cwd="project")
        self.assertEqual((found.returncode, found.stdout), (2, ""))
        self.assertIn("no session of this folder is kept", found.stderr)
        last = (shell("echo 3 > three"), "n", "/exit", "/exit", "not reached")
        found = self.yaa("here", "--temporary", said="\n".join(last), cwd="project")
        self.assertEqual(found.stdout.count("and lost with this session"), 2, found.stdout)
        self.assertEqual(len([*(self.home / "chats").iterdir()]), 1)

    def test_always_is_for_this_conversation(self) -> None:
        lines = (shell("echo 1 > one"), "a", shell("echo 2 > two; echo x > .envrc"), "n", "/exit")
        found = self.yaa("here", said="\n".join(lines), cwd="big")
        self.assertEqual(found.stdout.count("Apply this"), 1)
        self.assertEqual((self.content("big/one"), self.content("big/two")), ("1\n", "2\n"))
        self.assertFalse((self.base / "big" / ".envrc").exists(), "what runs is asked for alone")

    def test_other_modes_and_places(self) -> None:
        self.yaa("here", "--mode", "write", said=shell("echo 1 > one"), cwd="big")
        self.assertEqual(self.content("big/one"), "1\n")
        found = self.yaa("here", cwd="home")
        self.assertEqual(found.returncode, 2)
        self.assertIn("server.folders.here", found.stderr)


if __name__ == "__main__":
    unittest.main()
