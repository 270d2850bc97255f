"""Submodules and worktrees in a folder that calls write to: work goes on, no gitdir runs programs.

Real git, real calls, in every tier: a table of repositories times what git does there, and of
gitdirs times names that git obeys times ways to change them.
"""

from __future__ import annotations

import shlex
import shutil
import unittest
from collections.abc import Sequence

from ..tooling import turns
from . import made
from .test_guard import Guarded
from .test_host_programs import git

TIERS = ("A", "B", "C")
PLACES = ("", "sub", "sub/deep", "wt")  # repository, submodule, its submodule, linked worktree
GITDIRS = (
    *(".git", ".git/modules/sub", ".git/modules/sub/modules/deep", ".git/worktrees/wt"),
    ".git/modules/un/der",
)
FILES = ("sub/.git", "sub/deep/.git", "wt/.git", ".gitmodules", "sub/.gitmodules")
NAMES = ("config", "config.worktree", "commondir", "hooks/pre-commit", "hooks/post-checkout")
WORK = {  # in each place, one after the other; each begins at a branch of that place
    "add, commit": "echo 2 > two; git add two; git commit -qm two; git log --oneline",
    "branch": "git checkout -q -b $P-two; git branch --show-current",
    "rebase": "git checkout -q -b $P-r; echo 1 > two; git add two; git commit -qm r;"
    " git checkout -q -b $P-m $P; echo 1 > m; git add m; git commit -qm m;"
    " git checkout -q $P-r; git rebase -q $P-m && git log --oneline $P-m..$P-r && ls two",
    "stash": "echo two > file; git stash -q && git stash pop && cat file",
    "merge": "git checkout -q -b $P-x; echo 1 > two; git add two; git commit -qm x;"
    " git checkout -q -b $P-y $P; git merge -q $P-x && ls two",
    "tag, gc": "git tag $P-a-two && git gc -q && git fsck && git tag",
    "reset": "echo 3 > file; git reset -q --hard && cat file && echo two",
}
BEGIN = "git rev-parse -q --verify $P > /dev/null || git branch $P; git checkout -q -f $P"
SUBMODULES = {
    "status": ("", "git submodule status --recursive", "sub/deep"),
    "update": (
        "",
        "echo 1 > sub/a; git -C sub add a; git -C sub commit -qm lost; git submodule update &&"
        " git -C sub log --oneline -1",
        "one, deep",
    ),
    "a new commit of the submodule, and back": (
        "",
        "git -C sub checkout -q -b kept; echo 1 > sub/new; git -C sub add new; "
        " git -C sub commit -qm moved; git commit -qam up;"
        " git checkout -q HEAD~; git submodule update; git checkout -q -; git submodule update &&"
        " git -C sub log --oneline -1; git status",
        "moved",
    ),
    "update, in the submodule": ("sub", "git submodule update && git status", "working tree clean"),
    "foreach": ("", "git submodule foreach 'echo two' && git submodule summary", "two"),
    "worktrees": ("wt", "git worktree list", "wt"),
}
WAYS = {
    "append": "mkdir -p {folder}; printf '[core]\\n fsmonitor = {run}\\n' >> {path}",
    "mv": "mkdir -p {folder}; printf '#!/bin/sh\\n{run}\\n' > x; chmod +x x; mv -f x {path}",
    "rename the gitdir": "cp -r {gitdir} new; mkdir -p $(dirname new/{name});"
    " printf '[core]\\n fsmonitor = {run}\\n' >> new/{name}; mv {gitdir} away; mv new {gitdir}",
}


@unittest.skipUnless(shutil.which("git"), "needs git")
class Gitdirs(Guarded):
    def lay_out(self) -> None:
        super().lay_out()
        shutil.rmtree(self.project)
        made.write(self.project, {"file": "project"})
        origins = {name: self.base / "outside" / name for name in ("sub", "deep")}
        local = ("-c", "protocol.file.allow=always")
        for name, origin in origins.items():
            made.write(origin, {"file": name})
            git(origin, "init", "-q", "-b", "main")
            git(origin, "add", "-A")
            git(origin, "commit", "-qm", "one")
        git(origins["sub"], *local, "submodule", "add", "-q", str(origins["deep"]), "deep")
        git(origins["sub"], "commit", "-qm", "one, deep")
        git(self.project, "init", "-q", "-b", "main")
        git(self.project, "add", "-A")
        git(self.project, "commit", "-qm", "zero")
        git(self.project, *local, "submodule", "add", "-q", str(origins["sub"]), "sub")
        git(self.project, *local, "submodule", "update", "-q", "--init", "--recursive")
        git(self.project, "add", "-A")
        git(self.project, "commit", "-qm", "one")
        git(self.project, "worktree", "add", "-q", "wt")
        # in tier A calls see the folder at another place
        (self.project / "wt/.git").write_text("gitdir: ../.git/worktrees/wt\n")
        shutil.copytree(self.project / ".git/modules/sub", self.project / ".git/modules/un/der")
        for path in (self.project, *self.project.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o777 if path.is_dir() else 0o666)

    def obeyed(self) -> made.Files:
        """What git obeys in this folder, as it is."""
        places = [*(f"{gitdir}/{name}" for gitdir in GITDIRS for name in NAMES), *FILES]
        found = made.read(self.project)
        return {path: row for path, row in found.items() if path.decode() in places}

    async def begin(self, tier: str) -> None:
        await super().begin(tier)
        for place in PLACES:
            self.status(place)
        await self.record()

    async def test_it_is_laid_out(self) -> None:
        """Otherwise the tables try nothing."""
        for place in PLACES:
            self.assertRegex(self.status(place), "nothing (added )?to commit")
        for gitdir in GITDIRS:
            self.assertTrue((self.project / gitdir / "HEAD").is_file(), gitdir)

    def status(self, place: str) -> str:
        return git(self.project / place, "status")

    async def test_work_goes_on(self) -> None:
        """What git should say is said, nothing is taken back, and all that git obeys stays."""
        rows = [
            (place, name, command, wanted) for name, (place, command, wanted) in SUBMODULES.items()
        ]
        rows += [
            (place, name, f"P=p{number}; {BEGIN}; {command}", "two")
            for number, place in enumerate(PLACES)
            for name, command in WORK.items()
        ]
        for tier in TIERS:
            await self.begin(tier)
            before = self.obeyed()
            for place, name, command, wanted in turns.share(rows, 3):
                with self.subTest(tier=tier, place=place, name=name):
                    found, said = await self.call(f"(cd ./{place}; {command}) 2>&1")
                    self.assertIn(wanted, said)
                    self.assertNotIn("fatal", said)
                    self.assertNotIn("error:", said)
                    self.assertEqual(found.get("taken_back", []), [])
                    self.assertEqual(self.obeyed(), before)
            for place in PLACES:
                self.assertNotIn("fatal", self.status(place))

    async def test_no_gitdir_is_changed(self) -> None:
        """In each way, whatever of it was there; then the owner's git is quiet in each place."""
        for tier in TIERS:
            for way, form in turns.share(WAYS.items(), 2):
                await self.begin(tier)
                before = self.obeyed()
                trap = self.base / "outside" / "trapped"
                lines = list(attacks(form, way, f"touch {shlex.quote(str(trap))}"))
                with self.subTest(tier=tier, way=way):
                    await self.call("\n".join((*lines, "true")))
                    found = self.obeyed()
                    for path, row in before.items():
                        self.assertEqual(found.get(path), row, path)
                    self.assertEqual(found.keys() - before.keys(), set())
                    if way != "rename the gitdir":  # across mounts that copies and removes
                        for place in PLACES:
                            self.assertNotIn("fatal", self.status(place), place)
                    for place in PLACES:
                        git(self.project / place, "checkout", "-b", "owner")
                        git(self.project / place, "commit", "--allow-empty", "-m", "x")
                    self.assertFalse(trap.exists())


def attacks(form: str, way: str, run: str) -> Sequence[str]:
    lines = []
    for gitdir in reversed(GITDIRS):
        for name in NAMES:
            path = f"{gitdir}/{name}"
            lines.append(
                form.format(
                    path=path, folder=path.rpartition("/")[0], gitdir=gitdir, name=name, run=run
                )
            )
            if way == "rename the gitdir":
                break
    for path in FILES:
        if way != "rename the gitdir":
            lines.append(form.format(path=path, folder=".", gitdir="", name="", run=run))
    return lines


if __name__ == "__main__":
    unittest.main()
