"""yaa in a stranger's folder: it runs and reads nothing there, nor does what it starts."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server import extensions

from .extensions import needs, rows_for
from .tooling import forks, turns
from .tooling.api import Api
from .tooling.child import Child
from .tooling.patience import seconds
from .tooling.strange_folder import READ_BY_OTHERS, StrangeFolder, opened_below
from .tooling.tools import ROOT

SECONDS = seconds(60)
setUpModule = forks.use
YAA = [sys.executable, "-W", "error", "-P", "-m", "server"]
NEW = [sys.executable, "-W", "error", "-u", "-P", "-m", "server"]  # starts an interpreter
# Every command that ends by itself. {} is a folder that belongs to whoever starts it.
OF_EXTENSIONS = [row for added in rows_for("COMMANDS") for row in added]
COMMANDS = (
    ("--check",),
    *((name,) for name in extensions.commands().keys() - {name for name, *_ in OF_EXTENSIONS}),
    ("run", "--say", "calc 6*7", "--text"),
    ("chat",),
    ("chat", "--store", "{}/sessions"),
    ("here",),
    ("here", "--mode", "read"),
    ("here", "--mode", "write", "{}/session.json"),
    ("tools", "check", "{}/mine.py"),
    ("tools", "install"),
    ("tools", "install", "--clean"),
    *OF_EXTENSIONS,
)


class Case(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.root = Path(holder.name).resolve()
        self.home, self.mine = self.root / "home", self.root / "mine"
        self.home.mkdir(mode=0o700)
        self.mine.mkdir()
        (self.mine / "mine.py").write_text("from yaa import tool\n")

    def strange(self, **more: bool) -> StrangeFolder:
        found = StrangeFolder(self.root, **more)
        self.root.chmod(0o755)
        found.folder.chmod(0o777)  # for the user of tools, if this one is root
        self.assertEqual(found.ran(), [])
        return found

    def configure(self, **entries: Any) -> None:
        server = {"discover": False} | ({"mcpServers": entries} if entries else {})
        (self.home / "config.json").write_text(json.dumps({"server": server}))

    def run_in(
        self,
        strange: StrangeFolder,
        *arguments: str,
        command: list[str] = YAA,
        typed: str = "/exit\n",
    ) -> subprocess.CompletedProcess[str]:
        line, env = [*command, "--home", str(self.home), *arguments], strange.variables(ROOT)
        return forks.run(line, env, typed, cwd=strange.folder, timeout=SECONDS)


@needs("mcp")
class Servers(Case):
    def entries(self) -> dict[str, Any]:
        """Every kind of entry; those named `own` run a program of the owner's."""
        module = "from pathlib import Path\nprint(Path.cwd(), flush=True)\n"
        (self.mine / "mcp_tool.py").write_text(module)
        return {
            "npx": {"command": "npx", "args": ["-y", "@scope/server"]},
            "uvx": {"command": "uvx", "args": ["server"], "env": {"UV_X": "1"}},
            "a/../b": {"command": "npx"},
            "dot": {"command": "npx", "cwd": "."},
            "module": {"command": sys.executable, "args": ["-m", "mcp_tool"]},
            "script": {"command": sys.executable, "args": ["server/run.py"]},
            "relative": {"command": "./server/run.py"},
            "below": {"command": sys.executable, "args": ["run.py"], "cwd": "server"},
            "own": {"command": sys.executable, "args": ["-m", "mcp_tool"], "cwd": str(self.mine)},
        }

    def check_notes(self, strange: StrangeFolder, folders: list[str]) -> None:
        """That the stand-ins ran in these folders of the home, and were led nowhere else."""
        notes = strange.take_notes()
        places = {note["cwd"].removeprefix(f"{self.home}/mcp/") for note in notes}
        self.assertEqual(places, set(folders))
        self.check_variables(strange, notes)
        self.assertEqual({note["mode"] for note in notes}, {0o700})

    def check_variables(self, strange: StrangeFolder, notes: list[dict[str, Any]]) -> None:
        for note in notes:
            self.assertEqual(note["found"], [])
            for name, value in note["env"].items():
                self.assertNotIn(str(strange.folder), value, name)
            for each in note["env"]["PATH"].split(":"):
                self.assertTrue(each.startswith("/"), each)
            self.assertEqual({"NODE_PATH", "PWD", "OLDPWD"} & note["env"].keys(), set())

    def test_servers_of_the_configuration(self) -> None:
        self.configure(**self.entries())
        strange, said = self.strange(), []
        for arguments in (("--check",), ("here",), ("run", "--say", "time")):
            with self.subTest(arguments), opened_below(strange.folder) as opened:
                done = self.run_in(strange, *arguments)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.check_notes(strange, ["npx", "uvx", "a%2F%2E%2E%2Fb", "dot"])
                said.append(done.stdout)
            self.assertEqual((strange.ran(), opened), ([], []))
        self.assertIn("mcpServers.relative: its command is './server/run.py'", said[0])
        self.assertIn(f"mcpServers.own: its process ended (exit 0): {self.mine}", said[0])

    def test_a_program_that_uses_the_library(self) -> None:
        """It keeps its current folder, which may be where it works; what yaa starts does not get
        it. Its PYTHONPATH is its own."""
        self.configure(**self.entries())
        strange = self.strange()
        program = (
            "import os, sys, server; ask = {'messages': [{'role': 'user', 'content': 'time'}]};"
            " done = server.run(ask, home=sys.argv[2]); print(os.getcwd(), done['status'])"
        )
        with opened_below(strange.folder) as opened:
            done = self.run_in(strange, command=[sys.executable, "-P", "-c", program])
        self.assertEqual(done.stdout, f"{strange.folder} completed\n", done.stderr)
        self.check_notes(strange, ["npx", "uvx", "a%2F%2E%2E%2Fb", "dot"])
        self.assertEqual((strange.ran(), opened), ([], []))

    @needs("mcp_trial")
    def test_a_trial(self) -> None:
        self.configure()
        strange = self.strange()
        child, api = self.serve(strange)
        with opened_below(strange.folder) as opened:
            for name, entry in self.entries().items():
                body = {"name": name, "entry": entry}
                status, answer = api.request("POST", "/settings/try/mcp", body)
                wanted = (422, None) if name == "relative" else (200, False)
                self.assertEqual((status, answer.get("ok")), wanted, answer)
        self.assertEqual((strange.ran(), opened), ([], []))
        notes = strange.take_notes()
        self.assertEqual(len({note["cwd"] for note in notes}), 4)
        self.assertEqual([note["found"] for note in notes if note["found"]], [])
        self.assertEqual([*(self.home / "mcp").iterdir()], [], "each had a folder for its time")
        self.assertEqual(child.stop(), 0)

    @unittest.skipUnless(sys.platform == "linux", "the kernel says where a process is")
    def test_what_python_itself_starts_inherits_nothing_either(self) -> None:
        """Such as a browser: modules of Python start programs without asking where."""
        self.configure()
        strange = self.strange()
        with opened_below(strange.folder) as opened:
            child, _ = self.serve(strange, "--open", BROWSER=str(strange.programs / "npx"))
            child.wait_for("^noted", SECONDS)
            child.wait_for("^  ready ", SECONDS)
            notes = strange.take_notes()
        self.assertEqual((strange.ran(), opened), ([], []))
        self.assertEqual([note["cwd"] for note in notes], ["/"])
        self.check_variables(strange, notes)
        self.assertEqual(Path(f"/proc/{child.process.pid}/cwd").readlink(), Path("/"))

    def serve(self, strange: StrangeFolder, *more: str, **env: str) -> tuple[Child, Api]:
        command = [*YAA, "--home", str(self.home), "--port", "0", "--print-link", *more]
        child = Child(command, cwd=strange.folder, env={**strange.variables(ROOT), **env})
        self.addCleanup(child.kill)
        found = child.wait_for(r"(https?://[^/\s]+)/#(?:key|code)=(\S+)", SECONDS)
        return child, Api(found[1], (self.home / "key").read_text().strip())


class Commands(Case):
    def test_no_command_reads_or_runs_anything(self) -> None:
        self.configure()
        strange = self.strange()
        for arguments in turns.share(COMMANDS, 3):
            given = [each.format(self.mine) for each in arguments]
            with self.subTest(arguments):
                command = NEW if arguments == COMMANDS[0] else YAA
                with opened_below(strange.folder) as opened:
                    done = self.run_in(strange, *given, command=command)
                self.assertNotIn("Traceback", done.stderr)
                self.assertEqual((strange.ran(), opened), ([], []))

    def test_a_conversation_about_it_runs_nothing_of_it(self) -> None:
        """Its files are read by then, in the sandbox, as files of the session."""
        self.configure()
        strange = self.strange()
        for mode in ("overlay", "read", "write"):
            with self.subTest(mode):
                done = self.run_in(strange, "here", "--mode", mode, typed="calc 6*7\n/exit\n")
                self.assertIn("42", done.stdout)
                self.assertEqual((done.returncode, strange.ran()), (0, []))

    def test_names_that_are_typed_begin_there(self) -> None:
        self.configure()
        strange = self.strange()
        session = '{"messages": [{"role": "user", "content": "calc 6*7"}]}'
        (strange.folder / "session.json").write_text(session)
        for arguments, made in (
            (("run", "--text", "session.json"), None),
            (("run", "--store", "kept", "one", "--say", "time"), "kept/one.json"),
            (("chat",), "typed.json"),
            *(row for added in rows_for("TYPED") for row in added),
            (("--check", "--home", "home"), None),
        ):
            with self.subTest(arguments):
                done = self.run_in(strange, *arguments, typed="/save typed.json\n/exit\n")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                if made:
                    self.assertTrue((strange.folder / made).is_file())
        self.assertIn(str(strange.folder / "home"), done.stdout)

    def test_names_in_the_configuration_begin_in_the_home(self) -> None:
        (self.home / "mine").mkdir()
        (self.home / "mine" / "helper.md").write_text("---\ndescription: Helps\n---\nHelp.\n")
        settings: dict[str, Any] = {"discover": False, "tls": {"cert": "none.pem"}}
        if "agents" in extensions.present():
            settings["agents_dir"] = "mine"
        (self.home / "config.json").write_text(json.dumps({"server": settings}))
        strange = self.strange()
        done = self.run_in(strange, "--check")
        self.assertIn("server.tls: none.pem", done.stderr)
        del settings["tls"]
        (self.home / "config.json").write_text(json.dumps({"server": settings}))
        with opened_below(strange.folder) as opened:
            self.assertEqual(self.run_in(strange, "--check").returncode, 0)
        self.assertEqual(opened, [])

    def test_python_m(self) -> None:
        """Without -P Python itself looks in the current folder, for the package alone."""
        self.configure()
        strange = self.strange(shadows=True)
        for name in ("server", "yaa"):
            (strange.folder / name / "__init__.py").unlink()
            (strange.folder / name).rename(strange.folder / f"no-{name}")
        new = [sys.executable, "-u", "-m", "server"]
        done = self.run_in(strange, "--check", command=new)
        self.assertEqual((done.returncode, strange.ran()), (0, []), done.stderr)


class Stand(Case):
    def test_the_folder_would_be_read_and_run(self) -> None:
        """That what looks for it would find it: programs that inherit the folder."""
        strange = self.strange()
        run: Any = {"cwd": strange.folder, "env": strange.variables(ROOT), "check": False}
        with opened_below(strange.folder) as opened:
            subprocess.run([sys.executable, "-m", "mcp_tool"], **run)
            subprocess.run([sys.executable, "-m", "server"], **run)
            subprocess.run(["/bin/sh", "-c", "npx; cat uv.toml"], capture_output=True, **run)
        ran = {Path(each).name for each in strange.ran()}
        self.assertEqual(ran, {"mcp_tool.py", "__init__.py", "__main__.py", "npx"})
        self.assertIn("uv.toml", opened)
        subprocess.run([str(strange.programs / "uvx")], capture_output=True, **run)
        (note,) = strange.take_notes()
        self.assertEqual({Path(each).name for each in note["found"]} - {*READ_BY_OTHERS}, set())
        self.assertIn(str(strange.folder / ".npmrc"), note["found"])


if __name__ == "__main__":
    unittest.main()
