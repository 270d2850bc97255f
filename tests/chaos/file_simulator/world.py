"""The folders of one story, and what is done in them by a person, by tools, and by the product."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

from server.workspace.errors import WorkspaceError
from server.workspace.operations import Operations, Places
from server.workspace.scan import Limits

from .disk import RULES, Disk, bytes_of, read_disk
from .oracle import Oracle
from .steps import SMALL, Step, Story

Json = dict[str, Any]
SESSION = "story"
FOLDERS = ("workspace", "state", "objects")
CUT = 9  # the exit code of a process that is ended in the middle of an operation
GIT = ("git", "-c", "safe.directory=*", "-c", "core.hooksPath=/dev/null")
ENV = {"PATH": os.defpath, "GIT_CONFIG_NOSYSTEM": "1", "HOME": "/nonexistent"}
ID = re.compile(r"[0-9a-f]{64}")


class World:
    """One story on its way. Without git there are no repositories."""

    def __init__(self, base: Path, story: Story) -> None:
        self.base, self.story = base, story
        for name in (*FOLDERS, "folder"):
            (base / name).mkdir()
        self.files = base / "workspace"
        self.real = base / "folder" if story.mode == "overlay" else None
        self.persons = self.real or self.files
        self.oracle = Oracle(base / "objects", story.files, story.file_bytes)
        self._operations: Operations | None = None
        self._is_ready = False  # something was recorded, or the copy was filled
        self._number = 0
        self.done: Counter[str] = Counter()  # operations, and "cut" for those that were
        self._stands: list[str] = []
        self._seen: tuple[Disk, Disk] | None = None  # what is on the disk, unless somebody wrote

    def close(self) -> None:
        """Let the workspace go."""
        if self._operations:
            self._operations.close()
            self._operations = None

    def play(self) -> list[str]:
        """Do all steps; return what was wrong, the first mistake first."""
        for number, step in enumerate(self.story.steps):
            self.oracle.at = f"step {number}, {' '.join(step)}"
            try:
                self._do(step)
            except Exception as error:  # the product never ends so
                self.oracle.note("crash", f"{type(error).__name__}: {error}")
                break
        self.oracle.at = "at the end"
        self.oracle.check_objects()
        return self.oracle.wrong

    def _do(self, step: Step) -> None:
        who, *rest = step
        if who in ("person", "agent"):
            if who == "agent":
                self._prepare()
            self._seen = None
            with suppress(OSError):
                self._change(self.persons if who == "person" else self.files, who, *rest)
            return
        if who == "restart":
            self.close()
            return
        self._prepare()
        getattr(self, "_" + who.replace("-", "_"))(*rest)

    # -- changes without the product

    def _change(self, top: Path, who: str, what: str, *rest: str) -> None:
        place = top / rest[0]
        if what in ("write", "mode") and place.is_file() and place.lstat().st_nlink > 1:
            self.oracle.note_write(rest[0], place.lstat().st_ino)
        if what in ("write", "replace"):
            self._write(place, self._content(who, rest[0], int(rest[1])), what)
        elif what == "rules":
            self._rules(place / RULES, rest[1])
        elif what == "delete":
            _delete(place)
        elif what == "rename":
            if not (top / rest[1]).is_dir():
                place.rename(top / rest[1])
        elif what == "many":
            for number in range(int(rest[1])):
                name = f"{rest[0]}{number}"
                (top / name).write_bytes(self._content(who, name, SMALL))
        elif what == "link":
            draft = top / ".draft"
            os.link(place, draft, follow_symlinks=False)
            _put(draft, top / rest[1])
        elif what == "symlink":
            place.symlink_to(rest[1])
        elif what == "pipe":
            os.mkfifo(place)
        elif what == "mode":
            if not place.is_symlink():
                place.chmod(int(rest[1], 8) | (0o500 if place.is_dir() else 0))
        elif what == "folder":
            place.mkdir(parents=True)
        elif what in ("git", "track"):
            self._git(top, what, rest[0])

    def _write(self, place: Path, data: bytes, how: str) -> None:
        place.parent.mkdir(parents=True, exist_ok=True)
        if how == "write":
            if not place.is_fifo():
                place.write_bytes(data)
            return
        draft = place.with_name(".draft")
        draft.write_bytes(data)
        _put(draft, place)

    def _rules(self, place: Path, text: str) -> None:
        if not text:
            place.unlink()
            return
        place.write_text("\n".join(text.split()) + "\n")

    def _git(self, top: Path, what: str, path: str) -> None:
        if what == "git":
            (top / path).mkdir(exist_ok=True)
            _run(*GIT, "init", "-q", "--template=", str(top / path))
        else:
            _run(*GIT, "-C", str((top / path).parent), "add", "-f", str(top / path))

    def _content(self, who: str, path: str, size: int) -> bytes:
        self._number += 1
        text = f"{self._number} by the {who} in {path} "
        return text.ljust(size, "x").encode()

    # -- operations

    def _prepare(self) -> None:
        if not self._is_ready:
            self._is_ready = True
            self._refresh() if self.real else self._look()

    def _open(self) -> Operations:
        if self._operations is None:
            self._operations = self._opened()
        return self._operations

    def _opened(self, step: Any = None) -> Operations:
        most = Limits()
        limits = Limits(self.story.file_bytes or most.file_bytes, self.story.files or most.files)
        files, state, objects = (str(self.base / name) for name in FOLDERS)
        real = str(self.real) if self.real else None
        places = Places(files, state, objects, real, limits, wait_s=5)
        return Operations(places, step) if step else Operations(places)

    def _disks(self) -> tuple[Disk, Disk]:
        if self._seen is None:
            self._seen = (read_disk(self.files), read_disk(self.real) if self.real else {})
        return self._seen

    def _ask(self, name: str, released: frozenset[bytes] = frozenset(), **arguments: Any) -> Json:
        """Have the product do an operation, and let the oracle judge what it did."""
        before = self._disks()
        self.done[name] += 1
        try:
            answer = self._open().perform(name, arguments)
        except WorkspaceError as error:
            answer = {"refused": error.code, "detail": error.detail}
        self._seen = None
        self.oracle.judge(name, arguments, answer, before, self._disks(), released)
        return answer

    def _keep(self, tree: str | None) -> None:
        if tree and tree not in self._stands:
            self._stands.append(tree)

    def _look(self) -> None:
        self._keep(self._ask("record", session=SESSION).get("after"))

    def _refresh(self) -> None:
        self._keep(self._ask("refresh", session=SESSION).get("tree"))

    def _begin(self) -> None:
        """Begin a run, as the agent does: a shared folder is looked at."""
        if self.real:
            self._refresh()
        elif self.story.mode == "write":
            self._look()

    def _record(self) -> None:
        began_ms = time.time_ns() // 1_000_000
        found = self._ask("record", session=SESSION, call=f"call-{self._number}", began_ms=began_ms)
        self._keep(found.get("after"))

    def _goal(self, place: str) -> str | None:
        return self._stands[int(place) % len(self._stands)] if self._stands else None

    def _back(self, place: str) -> None:
        if goal := self._goal(place):
            if self.story.mode == "write":
                self._look()
            about: Json = {"from": goal, "to": "now"}
            self._ask("diff", **about)
            done = self._ask("restore", session=SESSION, tree=goal)
            self._keep(done.get("tree"))
            if (blocked := done.get("blocked")) and int(place) % 2:  # the person gives it up
                released = frozenset(_below(self._disks()[0], blocked))
                about = {"session": SESSION, "tree": goal, "paths": blocked}
                self._keep(self._ask("restore", released, **about).get("tree"))
            if self.real:
                self._refresh()

    def _upload(self, path: str) -> None:
        data = self._content("person", path, SMALL)
        row = self._disks()[0].get(path)
        text = base64.b64encode(data).decode()
        about = {"path": path, "data": text, "total": len(data), "upload": f"up-{self._number}"}
        self._ask("write", frozenset([row.data] if row else ()), **about)
        self._look()

    def _remove(self, path: str) -> None:
        self._ask("remove", frozenset(_below(self._disks()[0], [path])), path=path)
        self._look()

    def _move(self, path: str, to: str) -> None:
        self._ask("move", path=path, to=to)
        self._look()

    def _status(self) -> Json:
        return self._ask("status")

    def _apply(self, paths: list[str] | None = None, force: bool = False) -> None:
        seen = self._status()
        if "refused" in seen:
            return
        rows = [row["path"] for row in seen["files"] if row.get("conflict") and force]
        released = frozenset(_below(self._disks()[1], rows))
        about: Json = {"tree": seen["tree"], "force": force}
        if paths:
            about["paths"] = paths
        self._ask("apply", released, **about)
        self._look()

    def _apply_one(self, path: str) -> None:
        self._apply([path])

    def _apply_force(self) -> None:
        self._apply(force=True)
        seen = self._status()
        rows = [row["path"] for row in seen.get("files", ()) if row.get("unkept")]
        if rows:  # each is named
            self._apply(rows, force=True)

    def _discard(self, paths: list[str] | None = None) -> None:
        seen = self._status()
        if "refused" in seen:
            return
        rows = [row["path"] for row in seen["files"]]
        if paths:
            rows = [row for row in rows if any(f"{row}/".startswith(f"{one}/") for one in paths)]
        about = {"paths": paths} if paths else {}
        self._ask("discard", frozenset(_below(self._disks()[0], rows)), **about)

    def _discard_one(self, path: str) -> None:
        self._discard([path])

    # -- kills

    def _kill_back(self, place: str, count: str) -> None:
        if goal := self._goal(place):
            self._look()
            self._kill(int(count), "restore", session=SESSION, tree=goal)
            if self.real:  # the agent takes over what the folder has by then
                self._refresh()

    def _kill_apply(self, count: str) -> None:
        self._kill(int(count), "apply")

    def _kill(self, count: int, name: str, **arguments: Any) -> None:
        """End a process in the middle of an operation; the next process goes on."""
        before = self._disks()
        self.close()
        source, target = os.pipe()
        child = os.fork()
        if not child:
            try:
                self._cut(target, count, name, arguments)
            finally:
                os._exit(1)
        os.close(target)
        with os.fdopen(source, "rb") as file:
            told = file.read()
        self.done["cut"] += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == CUT
        self._seen = None
        self.oracle.name_all(ID.findall(told.decode()))
        state = json.loads((self.base / "state" / "state.json").read_text())
        self.oracle.name_all(ID.findall(json.dumps(state)))
        has_begun = "restoring" in state or told
        self.oracle.cut(before, arguments.get("tree", "") if has_begun else "")
        self._seen = before  # what is gone since is looked for after the next operation
        self._look()

    def _cut(self, target: int, count: int, name: str, arguments: Json) -> None:
        left = count

        def step(_name: str) -> None:
            nonlocal left
            if not left:
                os._exit(CUT)
            left -= 1

        with suppress(WorkspaceError):
            answer = self._opened(step).perform(name, arguments)
            os.write(target, json.dumps(answer).encode())
        os._exit(0)


def _below(disk: Disk, paths: list[str]) -> set[bytes]:
    """Return what the files at paths and below hold."""
    return bytes_of(
        {
            path: row
            for path, row in disk.items()
            if any(path == one or path.startswith(one + "/") for one in paths)
        }
    )


def _put(draft: Path, place: Path) -> None:
    try:
        draft.replace(place)
    finally:
        draft.unlink(missing_ok=True)


def _delete(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink()


def _run(*command: str) -> None:
    subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, env=ENV
    )
