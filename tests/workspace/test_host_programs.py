"""What programs run, and links that lead out: never applied with all the rest, and always named."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from server.workspace.errors import WorkspaceError
from server.workspace.operations import Operations

from ..tooling import patience
from .made import Case, read, write


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder without the configuration of whoever runs the tests."""
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "safe.directory=*")
    done = subprocess.run(
        ["git", "-C", str(folder), *who, *arguments],
        env=env,
        capture_output=True,
        text=True,
        timeout=patience.seconds(60),
        check=False,
    )
    return done.stdout + done.stderr


RUNS = (  # what a call makes in the layer; the paths that ask
    ({".envrc": "x"}, [".envrc"]),
    ({".vscode/tasks.json": "x", ".vscode/a/b": "x"}, [".vscode/tasks.json", ".vscode/a/b"]),
    ({"a/b/.envrc": "x"}, ["a/b/.envrc"]),
    ({".git/config": "x"}, [".git/config"]),
    ({".git/hooks/pre-commit": "x"}, [".git/hooks/pre-commit"]),
    ({".git/commondir": "../x"}, [".git/commondir"]),
    ({".git": "gitdir: x"}, [".git"]),
    ({"s/.git/config": "x", "s/.git/HEAD": "x"}, ["s/.git/config"]),
    ({"bare/config": "x", "bare/HEAD": "x", "bare/refs/x": ""}, ["bare/config", "bare/HEAD"]),
    ({".gitignore": ".vscode/\n*.x\n", ".vscode/a.x": "x"}, [".vscode/a.x"]),
    ({".gitignore": ".e*", ".envrc": "x"}, [".envrc"]),
)
LINKS = (  # name, target, why it asks
    ("in", "file", ""),
    ("d/in", "../file", ""),
    ("notes.md", "/home/a/.bashrc", "leads_out"),
    ("up", "../x", "leads_out"),
    ("round", "d/../../x", "leads_out"),
    (".vscode", "d", "runs"),
    (".git", "d", "runs"),
)


class InALayer(Case):
    def begin(self) -> Operations:
        write(self.folder, {"file": "1", "d/c": "1"})
        run = self.operations(overlay=True)
        run.perform("refresh", {"session": "s"})
        return run

    def asks(self, run: Operations) -> dict[str, str]:
        """Why files of the layer ask, by path."""
        rows = run.perform("status", {})["files"]
        return {row["path"]: row["asks"] for row in rows if "asks" in row}

    def test_what_runs_is_applied_only_by_its_own_name(self) -> None:
        for files, paths in RUNS:
            with self.subTest(paths):
                self.setUp()
                run = self.begin()
                write(self.files, {**files, "file": "2"})
                self.assertEqual(self.asks(run), dict.fromkeys(paths, "runs"))
                tops = [path.split("/")[0] for path in paths if "/" in path]
                for chosen in ({}, {"paths": ["file", *tops]}, {"force": True}):
                    done = run.perform("apply", chosen)
                    self.assertEqual(
                        sorted(done["asks"]),
                        sorted(paths) if tops or not chosen.get("paths") else [],
                    )
                    for path in paths:
                        self.assertFalse((self.folder / path).is_file(), path)
                self.assertEqual((self.folder / "file").read_text(), "2")
                for number, path in enumerate(paths):
                    self.assertEqual(run.perform("apply", {"paths": [path]})["applied"], 1)
                    left = [each for each in paths if not (self.folder / each).is_file()]
                    self.assertEqual(left, paths[number + 1 :])
                self.assertEqual(run.perform("status", {})["files"], [])

    def test_links(self) -> None:
        for name, target, why in LINKS:
            with self.subTest(name):
                self.setUp()
                run = self.begin()
                (self.files / name).symlink_to(target)
                (row,) = run.perform("status", {})["files"]
                self.assertEqual((row["target"], row.get("asks", "")), (target, why))
                found = run.perform("diff", {"from": "base", "to": "now", "path": name})
                self.assertEqual(found["files"][0]["target"], target)
                self.assertIn(f"+-> {target}", found["diff"])
                run.perform("apply", {})
                self.assertEqual((self.folder / name).is_symlink(), not why)
                run.perform("apply", {"paths": [name]})
                self.assertEqual(str((self.folder / name).readlink()), target)

    def test_a_change_or_removal_asks_as_well(self) -> None:
        write(self.folder, {".husky/pre-commit": "test", ".npmrc": "x=1"})
        run = self.begin()
        shutil.rmtree(self.files / ".husky")
        write(self.files, {".npmrc": "x=2"})
        self.assertEqual(self.asks(run), {".husky/pre-commit": "runs", ".npmrc": "runs"})
        before = read(self.folder)
        run.perform("apply", {})
        self.assertEqual(read(self.folder), before)
        run.perform("apply", {"paths": [".husky/pre-commit", ".npmrc"]})
        run.perform("apply", {})
        self.assertEqual(read(self.folder), read(self.files))

    def test_a_repository_is_completed_only_by_name(self) -> None:
        """Its configuration came with all the rest, when nothing was run by it."""
        for first, last in ((("config",), "HEAD"), (("config", "HEAD"), "objects/x")):
            with self.subTest(last):
                self.setUp()
                run = self.begin()
                write(self.files, {f"x/{name}": "1" for name in first})
                run.perform("apply", {})
                write(self.files, {f"x/{last}": "1", "x/refs/y": "1", "x/objects/x": "1"})
                run.perform("apply", {})
                self.assertFalse((self.folder / "x" / last).exists())

    def test_git_obeys_nothing_of_what_all_applied(self) -> None:
        """fsmonitor, a hook, another folder of git, a nested repository that is ignored."""
        trap = self.home / "trapped"
        command = f"touch {trap}"
        for attack in (
            f"git config core.fsmonitor '{command}'",
            f"printf '#!/bin/sh\\n{command}\\n' > .git/hooks/post-checkout; chmod +x .git/hooks/*",
            f"cp -r .git evil; git config -f evil/config core.fsmonitor '{command}';"
            " echo ../evil > .git/commondir",
            f"cp -r .git evil; git config -f evil/config core.fsmonitor '{command}';"
            " mv .git old; echo 'gitdir: evil' > .git",
            f"git init -q sub; git -C sub config core.fsmonitor '{command}';"
            " git -C sub commit -q --allow-empty -m x; git add sub; echo sub >> .gitignore",
        ):
            with self.subTest(attack):
                self.setUp()
                git(self.folder, "init", "-q")
                write(self.folder, {"tracked": "1"})
                git(self.folder, "add", ".")
                git(self.folder, "commit", "-qm", "one")
                run = self.begin()
                who = "export GIT_CONFIG_GLOBAL=/dev/null; git() { command git -c user.name=A"
                who += " -c user.email=a@example.org -c safe.directory='*' \"$@\"; }; "
                shell = ["bash", "-c", who + attack]
                subprocess.run(
                    shell,
                    cwd=self.files,
                    check=True,
                    timeout=patience.seconds(60),
                    capture_output=True,
                )
                trap.unlink(missing_ok=True)  # by the attack itself
                run.perform("apply", {})
                self.assertIn("tracked", git(self.folder, "ls-files"))
                git(self.folder, "status")
                git(self.folder, "checkout", "-b", "other")
                self.assertFalse(trap.exists())
                if (paths := list(self.asks(run))) and ".git" not in paths:  # the attack is one
                    run.perform("apply", {"paths": paths})
                    git(self.folder, "status")
                    git(self.folder, "checkout", "-b", "another")
                    self.assertTrue(trap.exists())

    def test_what_was_seen_is_what_is_applied(self) -> None:
        run = self.begin()
        write(self.files, {"file": "good"})
        tree = run.perform("status", {})["tree"]
        write(self.files, {"file": "EVIL"})
        for name in ("apply", "discard"):
            with self.subTest(name):
                with self.assertRaises(WorkspaceError) as caught:
                    run.perform(name, {"tree": tree})
                now = run.perform("status", {})["tree"]
                self.assertEqual(caught.exception.code, "moved")
                self.assertEqual(caught.exception.facts, {"tree": now})
                self.assertEqual((self.folder / "file").read_text(), "1")
                self.assertEqual((self.files / "file").read_text(), "EVIL")
        self.assertEqual(run.perform("apply", {"tree": now})["applied"], 1)
        self.assertEqual((self.folder / "file").read_text(), "EVIL")
