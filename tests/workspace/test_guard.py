"""In a folder that calls write to, what the owner's programs run stays what it was, in each tier.

Real git, real calls: a table of places times ways to change them, and the work of git that goes on.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import os
import shlex
import time
import unittest
from typing import Any

from server.lib.sandbox.process import Job, Outcome
from server.tools.builtin import edits, files
from server.tools.decorators import Context, ToolError
from server.workspace.guard import is_harmless_config

from ..tooling import turns
from . import made
from .test_host import LIMITS, Case
from .test_host_programs import git

FOLDER = "project"
# What the owner has: places that are there, and what is put into them.
THERE = {
    ".envrc": "export A=1\n",
    ".vscode/tasks.json": "{}\n",
    ".npmrc": "x=1\n",
    "pkg/.envrc": "export B=1\n",
    "file": "project",
}
TOPS = (".envrc", ".vscode", ".npmrc", "pkg")
MISSING = (
    ".git/commondir",
    ".git/config.worktree",
    ".husky/pre-commit",
    ".mcp.json",
    ".idea/a.xml",
    "deep/er/.envrc",
    "nested/.git/config",
    "a.code-workspace",
    "bare/hooks/post-checkout",
)
PRESENT = (
    ".git/config",
    ".git/hooks/pre-commit",
    ".git/hooks/post-checkout",
    "sub/.git/config",
    ".envrc",
    ".vscode/tasks.json",
    ".npmrc",
    "pkg/.envrc",
)
REFUSED = (*PRESENT, *MISSING, ".git/x/../config", "./.envrc", "pkg/../.npmrc")
# What changes a file, with arguments beside its path.
CHANGING: tuple[tuple[str, str, dict[str, Any]], ...] = (
    (files.__name__, "write_file", {"content": "evil"}),
    (edits.__name__, "edit_file", {"old": "e", "new": "evil"}),
    (edits.__name__, "edit_file", {"patch": "*** Begin Patch\n*** Delete File\n"}),
)
WAYS = {
    "echo": "mkdir -p {folder}; echo evil > {path}",
    "append": "mkdir -p {folder}; echo evil >> {path}",
    "mv": "mkdir -p {folder}; echo evil > x; mv -f x {path}",
    "ln": "mkdir -p {folder}; echo evil > y; ln -sf $PWD/y {path}",
    "cp": "mkdir -p {folder}; echo evil > z; cp -rf z {path}",
    "rename the folder": "mkdir -p new; echo evil > new/{name}; chmod +x new/*;"
    " mv {folder} away; mkdir -p $(dirname {folder}); mv new {folder}",
    "python": 'python3 -c \'import os; os.makedirs("{folder}", exist_ok=True);'
    ' open("{path}", "w").write("evil")\'',
}


class Guarded(Case):
    def lay_out(self) -> None:
        super().lay_out()
        self.project = self.base / FOLDER
        made.write(self.project, THERE)
        for top in (self.project, self.project / "sub"):
            top.mkdir(exist_ok=True)
            git(top, "init", "-q", "-b", "main")
            git(top, "add", "-A")
            git(top, "commit", "-qm", "one", "--allow-empty")
        for path in (self.project, *self.project.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o777 if path.is_dir() else 0o666)

    async def begin(self, tier: str) -> None:
        await self.open(tier)
        if owner := self.runner.run_as:  # as folders.md advises: the folder is that user's
            for path in (self.project, *self.project.rglob("*")):
                os.chown(path, owner, owner, follow_symlinks=False)
        git(self.project, "status")  # what git knows of times and owners
        await self.record()

    async def record(self, began_ms: int | None = None) -> dict[str, Any]:
        place = self.workspaces.get("", "s1", FOLDER)
        call = {} if began_ms is None else {"call": "c", "began_ms": began_ms}
        return await place.request("record", session="s1", **call)

    async def call(self, command: str) -> tuple[dict[str, Any], str]:
        """A call of the shell, and what is recorded after it."""
        began_ms = time.time_ns() // 1_000_000
        config = "export GIT_CONFIG_COUNT=3 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'"
        config += " GIT_CONFIG_KEY_1=user.name GIT_CONFIG_VALUE_1=A GIT_CONFIG_KEY_2=user.email"
        outcome = await self.shell(f"{config} GIT_CONFIG_VALUE_2=a@b.c\n{command}", FOLDER)
        found = await self.record(began_ms)
        return found, str((outcome.result or {}).get("output", outcome.error))

    def kept(self) -> made.Files:
        found = made.read(self.project)
        return {path: row for path, row in found.items() if runs(path)}

    async def file_tool(self, where: str, name: str, **args: Any) -> Outcome:
        job = Job(("module", where, name), args, "s1", LIMITS, folder=FOLDER)
        return await self.runner.run(job)


def runs(path: bytes) -> bool:
    text = path.decode("utf-8", "replace")
    return any(text == each or text.startswith(f"{each}/") for each in (*PRESENT, *MISSING))


class Changes(Guarded):
    async def test_every_place_in_every_way(self) -> None:
        for tier in turns.share(("A", "B"), 2):
            await self.begin(tier)
            before = self.kept()
            for way, form in WAYS.items():
                lines = ["git init -q nested", "git init -q --bare bare"]
                for path in (*PRESENT, *MISSING):
                    folder, _, name = path.rpartition("/")
                    if way == "rename the folder" and ".git" not in folder:
                        continue
                    lines.append(form.format(path=path, folder=folder or ".", name=name))
                with self.subTest(tier=tier, way=way):
                    await self.call("\n".join((*lines, "true")))
                    found = self.kept()
                    for place, row in before.items():
                        self.assertEqual(found.get(place), row, place)
                    for place, row in found.items():
                        data = row[-1] if isinstance(row[-1], bytes) else b""
                        self.assertNotIn(b"evil", data, place)

    async def test_what_is_there_is_read_only_where_rules_ignore_too(self) -> None:
        """Nested, bare, a worktree and a submodule, which no tree records. In tier A."""
        made.write(self.project, {".gitignore": "out/\n/.trees\n/node_modules\n", "out/a": "1"})
        nested, bare = self.project / "out/deep/lib", self.project / "out/bare"
        git(self.project, "commit", "-q", "--allow-empty", "-m", "x")
        git(self.project, "init", "-q", str(nested))
        git(self.project, "init", "-q", "--bare", str(bare))
        git(self.project, "worktree", "add", "-q", ".trees/wt")
        made.write(nested, {".git/modules/m/HEAD": "ref: refs/heads/main\n"})
        made.write(nested, {".git/modules/m/config": "", ".git/modules/m/refs/x": ""})
        made.write(nested, {"in/.envrc": "export C=1\n", ".vscode/tasks.json": "{}\n"})
        places = (
            *("out/deep/lib/.git/config", "out/deep/lib/.git/hooks/pre-commit"),
            *("out/bare/config", "out/bare/hooks/post-checkout", ".trees/wt/.git"),
            *("out/deep/lib/.git/modules/m/config", "out/deep/lib/.vscode/tasks.json"),
            "out/deep/lib/in/.envrc",
        )
        await self.begin("A")
        for way, form in WAYS.items():
            lines = []
            for path in places:
                folder, _, name = path.rpartition("/")
                if way != "rename the folder" or name in ("config", "pre-commit"):
                    lines.append(form.format(path=path, folder=folder, name=name))
            before = made.read(self.project)
            self.assertIn(b"out/bare/config", before)
            with self.subTest(way=way):
                await self.call("\n".join((*lines, "echo 1 > out/a", "true")))
                found = made.read(self.project)
                for path in places:
                    self.assertEqual(found.get(path.encode()), before.get(path.encode()), path)
        record, _ = await self.call("cd out/deep/lib; echo 1 > f; git add f; git commit -qm f")
        self.assertEqual(record.get("taken_back", []), [])
        self.assertIn("f", git(nested, "log", "--format=%s"))

    async def test_the_tools_for_files_say_why(self) -> None:
        """Each tool for each place here; in each tier each place, by one of the tools."""
        text = "is run or obeyed by programs on the owner's machine, so no tool"
        ctx = Context({}, lambda _: None)
        ctx.guarded = True
        rows = [path for path in REFUSED if not path.startswith("bare")]
        for tier in turns.share(("A", "B", "none"), 2):
            await self.begin(tier)
            before = self.kept()
            with contextlib.chdir(self.project):
                for path, (where, name, args) in itertools.product(rows, CHANGING):
                    change = getattr(importlib.import_module(where), name)
                    with self.subTest(path=path, tool=name, args=args):
                        self.assertRaisesRegex(ToolError, text, change, ctx, path=path, **args)
            for path, (where, name, args) in zip(rows, itertools.cycle(CHANGING)):
                with self.subTest(tier=tier, path=path):
                    found = await self.file_tool(where, name, path=path, **args)
                    self.assertEqual(found.status, "error")
                    self.assertIn(text, found.error["message"])
            self.assertEqual(self.kept(), before)
            found = await self.file_tool(files.__name__, "write_file", path="src/a.py", content="1")
            self.assertEqual(found.status, "ok", found.error)

    async def test_nothing_runs_at_the_owners_next_git_status(self) -> None:
        """The attacks of test_host_programs.py, and some with names in the way."""
        attacks = (
            "git config core.fsmonitor '{run}'",
            "printf '[core]\\n fsmonitor = {run}\\n' >> .git/config",
            "printf '#!/bin/sh\\n{run}\\n' > .git/hooks/post-checkout; chmod +x .git/hooks/*",
            "cp -r .git evil; git config -f evil/config core.fsmonitor '{run}';"
            " echo ../evil > .git/commondir",
            "cp -r .git evil; git config -f evil/config core.fsmonitor '{run}';"
            " mv .git old && mv evil .git",
            "cp -r .git evil; git config -f evil/config core.fsmonitor '{run}';"
            " mv .git old; echo 'gitdir: evil' > .git",
            "cp -r .git evil; rm evil/HEAD; git config -f evil/config core.fsmonitor '{run}';"
            " echo ref: refs/heads/main > evil/HEAD; cd evil; git -c core.bare=false status",
            "git init -q s2; git -C s2 config core.fsmonitor '{run}';"
            " git -C s2 commit -q --allow-empty -m x; git add s2",
        )
        for tier, attack in turns.share(itertools.product(("A", "B"), attacks), 3):
            with self.subTest(tier=tier, attack=attack):
                await self.begin(tier)
                trap = self.base / "outside" / "trapped"
                await self.call(attack.replace("{run}", f"touch {shlex.quote(str(trap))}"))
                said = git(self.project, "status")
                if tier == "A" or "mv .git old" not in attack:
                    self.assertIn("On branch main", said)
                git(self.project, "checkout", "-b", "other")
                git(self.project / "evil", "status")
                git(self.project / "s2", "status")
                self.assertFalse(trap.exists(), said)

    async def test_what_is_taken_back_is_said(self) -> None:
        await self.begin("B")
        found, _ = await self.call("echo evil > .envrc; echo evil > .mcp.json; echo 1 > plain")
        self.assertEqual(sorted(found["taken_back"]), [".envrc", ".mcp.json"])
        self.assertEqual([row["path"] for row in found["changed"]], ["plain"])


class WorkGoesOn(Guarded):
    async def test_git(self) -> None:
        rows = (
            (
                "add, commit",
                "echo 1 > a; git add a; git commit -qm two; git log --oneline",
                "two",
            ),
            ("branch", "git checkout -q -b b; git branch; git checkout -q main", "* b"),
            (
                "rebase",
                "git checkout -q -b r; echo 1 > r; git add r; git commit -qm r;"
                " git checkout -q main; echo 1 > m; git add m; git commit -qm m;"
                " git checkout -q r; git rebase -q main && git log --oneline | wc -l",
                "3",
            ),
            ("stash", "echo 2 > file; git stash -q && git stash pop && cat file", "2"),
            (
                "fetch",
                "git clone -q . o; git fetch -q ./o main && echo fetched; rm -rf o",
                "fetched",
            ),
            (
                "merge",
                "git checkout -q -b x; echo 1 > x; git add x; git commit -qm x;"
                " git checkout -q main; git merge -q x && ls x",
                "x",
            ),
            ("tag, gc", "git tag t && git gc -q && git fsck && git tag", "t"),
            ("reset", "echo 3 > file; git reset -q --hard && cat file", "project"),
            (
                "init",
                "git init -q n; cd n; git status; git commit -q --allow-empty -m n;"
                " git log --oneline",
                "n",
            ),
            ("clone", "git clone -q . c; cat c/.git/config; git -C c status", "On branch main"),
            (
                "in the nested one",
                "cd sub; echo 1 > s; git add s; git commit -qm sub; git log --oneline",
                "sub",
            ),
        )
        played = turns.share(itertools.product(("A", "B"), rows), 3)
        for tier, (name, command, wanted) in played:
            with self.subTest(tier=tier, name=name):
                await self.begin(tier)
                found, said = await self.call(f"({command}) 2>&1")
                self.assertIn(wanted, said)
                self.assertNotIn("fatal", said)
                taken = found.get("taken_back", [])
                if name == "clone":  # what strangers have put beside their code
                    self.assertEqual({path.split("/")[1] for path in taken} - {".git"}, {*TOPS})
                    self.assertFalse([path for path in taken if ".git" in path])
                else:
                    self.assertEqual(taken, [])
                if name == "clone":
                    self.assertIn("[remote", (self.project / "c/.git/config").read_text())

    async def test_what_the_owner_changes_is_the_owners(self) -> None:
        """Before a call, in places that it does not touch, it is not taken back."""
        for tier in ("A", "B"):
            with self.subTest(tier):
                await self.begin(tier)
                git(self.project, "config", "core.hooksPath", "my")
                made.write(self.project, {".mcp.json": "mine", ".envrc": "mine", "new/.envrc": "m"})
                for path in (".mcp.json", ".envrc", "new/.envrc"):
                    (self.project / path).chmod(0o666)
                time.sleep(0.05)  # the file system's clock
                found, _ = await self.call("git add file; echo 1 > here; echo 1 > new/there")
                self.assertNotIn("taken_back", found)
                self.assertIn("hooksPath = my", (self.project / ".git/config").read_text())
                self.assertEqual((self.project / ".envrc").read_text(), "mine")
                self.assertEqual((self.project / "new/.envrc").read_text(), "m")


class Configurations(unittest.TestCase):
    def test_what_git_writes_by_itself_is_harmless(self) -> None:
        old = "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n"
        for more, harmless in (
            ("", True),
            (
                '[remote "origin"]\n\turl = https://example.org/a.git\n\tfetch = +refs/*:refs/*\n',
                True,
            ),
            ('[branch "a"]\n\tremote = origin\n\tmerge = refs/heads/a\n', True),
            ("[user]\n\tname = A B\n", True),
            ("\tfsmonitor = x\n", False),
            ("[core]\n\tworktree = /home/a\n", False),
            ("[core] fsmonitor = x\n", False),
            ("\tbare = false \\\n fsmonitor = x\n", False),
            ('\tbare = "false"\n', False),
            ("[alias]\n\tst = !x\n", False),
            ("[include]\n\tpath = x\n", False),
            ('[remote "o"]\n\turl = ext::sh -c x\n', False),
            ('[remote "o"]\n\turl = -x\n', False),
            ('[remote "o"]\n\tuploadpack = x\n', False),
            ('[submodule "o"]\n\tupdate = !x\n', False),
            ("[ user ]\n\tname = A\n[foo\n\tname = x\n", False),
            ("[core]\n\tsshCommand = x\n", False),
        ):
            with self.subTest(more):
                self.assertEqual(is_harmless_config(old, old + more), harmless)
                self.assertEqual(is_harmless_config(old + more, old), harmless)


if __name__ == "__main__":
    unittest.main()
