"""What the workspace process does for the server: `Operations(places).perform(name, arguments)`.

It is the only process that looks into a workspace. Arguments and results are JSON; paths in them
are relative texts (trees.text_of). Each operation begins with what a cut one left: a restore that
was not finished is finished before anything else changes or is recorded.
"""

from __future__ import annotations

import base64
import copy
import hashlib
import mimetypes
import os
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from ..lib.problem import FULL
from . import guidance
from .differences import Difference, differences
from .errors import WorkspaceError, system_errors
from .file_access import FileAccess
from .guard import Guard
from .layer import Layer, Merge, in_order
from .listing import listed_in_folder, listed_in_tree
from .objects import ObjectStore
from .restore import Step, no_step
from .root import Root
from .scan import Limits
from .state import StateFile, note_seen
from .text_diff import text_diff
from .trees import (
    MAX_FOLDER_BYTES,
    Place,
    entry_at,
    flatten,
    is_left,
    missing,
    place_of,
    text_of,
)
from .uploads import Uploads

MAX_CHANGED = 100  # files that a result names
MAX_APPEARED = 1_000  # paths that a restore leaves, since no call is known to have made them
MAX_LISTED = 10_000
PIECE = 1536 * 1024  # bytes of a file in one result
OPERATIONS = frozenset(  # methods of Operations that the server may ask for; "list" is `entries`
    "state record restore missing list read write remove move make_folder diff archive give_up"
    " read_object write_object refresh status apply discard guidance skill".split()
)
FILE_TYPE = "application/octet-stream"


@dataclass(frozen=True)
class Places:
    """Where all is, as this process sees it, and what it may do.

    `folder`: the real folder of an overlay, None otherwise. `wait_s`: for calls that still run.
    `guarded`: calls must not change what the owner's programs run (guard.py).
    """

    workspace: str
    state: str
    objects: str
    folder: str | None = None
    limits: Limits = Limits()
    overlay_bytes: int = 1 << 30
    objects_bytes: int = 4 << 30
    wait_s: float = 10.0
    guarded: bool = False


class Operations:
    """One workspace, from the first operation to `close`."""

    def __init__(self, places: Places, step: Step = no_step) -> None:
        """`step` is called with a name at each step of a restore; tests end the process there."""
        self.places = places
        self.store = ObjectStore(places.objects)
        with system_errors("the workspace"):
            self.file = StateFile(places.state)
            self.root = Root(
                places.workspace, self.store, self.file, "restoring", places.limits, step
            )
            self.layer = (
                Layer(places.folder, self.root, self.file, places.limits, step)
                if places.folder is not None
                else None
            )
        self.guard = Guard(self.root) if places.guarded else None
        self.root.scanner.is_guarded = places.guarded
        self.files = FileAccess(self.root.top)
        self.uploads = Uploads(places.state)
        self._stored: int | None = None  # bytes of all objects, counted when one is first uploaded

    def close(self) -> None:
        """Save what is known, and let the workspace go."""
        with system_errors("the workspace"):
            self.root.save_stats(1)
            self.root.close()
            if self.layer:
                self.layer.close()

    def perform(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Do one operation and return its result. Raises WorkspaceError and nothing else."""
        if name not in OPERATIONS:
            raise WorkspaceError("invalid", f"there is no operation {name!r}")
        operation = getattr(self, "entries" if name == "list" else name)
        with system_errors(name):
            try:
                found: dict[str, Any] = operation(**arguments)
                return found
            except TypeError as error:
                if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                    raise
                raise WorkspaceError("invalid", f"the arguments do not fit {name}") from error

    # -- what the folder says to agents

    def guidance(self) -> dict[str, Any]:
        """Return the instructions and skills of the real folder; see guidance.py."""
        return guidance.read_guidance(self.places.folder or self.places.workspace)

    def skill(self, path: str, file: str | None = None) -> dict[str, Any]:
        """Return one skill of the real folder, or a file of it; see guidance.py."""
        return guidance.read_skill(self.places.folder or self.places.workspace, path, file)

    # -- trees

    def state(self, session: str | None = None) -> dict[str, Any]:
        """Return {tree, call?, restoring?, base?, seen?}; costs no scan.

        `call`: the one after which this tree was recorded. `seen`: the tree at which `session` left
        the workspace, None if it never did.
        """
        state = self.file.load()
        found: dict[str, Any] = {"tree": state.get("tree")}
        if (call := state.get("call", {})).get("tree", "") == found["tree"]:
            found["call"] = call["id"]
        if "restoring" in state:
            mark = state["restoring"]
            found["restoring"] = mark.get("goal") or mark.get("tree")
        if "base" in state:
            found["base"] = state["base"]
        if session is not None:
            found["seen"] = state.get("seen", {}).get(session_hash(session))
        return found

    def record(
        self, session: str | None = None, call: str | None = None, began_ms: int | None = None
    ) -> dict[str, Any]:
        """Record the files.

        Returns {before, after, changed, changed_count, left_out, left_out_now?, taken_back?}.

        `before` is None, and nothing counts as changed, if nothing was recorded before. `session`:
        whose files they are now, None if it is only looked. `call`: the call that changed them,
        since `began_ms`. `left_out_now`: what was recorded before, or was not there. `taken_back`:
        what it must not change (guard.py).
        """
        with self._held() as state:
            before = state.get("tree")
            after, newly = self.root.scan(state), [*self.root.scanner.newly]
            taken = self.guard.take_back(began_ms) if self.guard and began_ms is not None else []
            if taken:
                after = self.root.scan(state)
            if self.guard:
                self.guard.save()
            if call is not None and after != before:
                state["call"] = {"id": call, "tree": after}
            rows = self._note(state, session, after)
            self.root.save_stats()
            found = {"before": before, "after": after} | self._changed(rows, newly)
            if taken:
                found["taken_back"] = [text_of(place) for place in taken[:MAX_CHANGED]]
            return found

    def restore(
        self,
        session: str,
        tree: str,
        start: str | None = None,
        after: str | None = None,
        paths: list[str] | None = None,
    ) -> dict[str, Any]:
        """Make the files what a tree says; return {tree, replaced, changed_count, blocked?}.

        `start`: the tree that the session began with, for an overlay (Layer.find_base). `after`:
        undo only what made this tree of `tree`; raises `moved` if it was changed again since.
        `paths`: only these, each also where something is that no tree has.
        `replaced`: the tree that was there, recorded first. `blocked`: files that could not be made
        since something that is left out of trees is in their place; `tree` is then what there is.
        """
        if after is not None and paths is not None:
            raise WorkspaceError("invalid", "after and paths are two ways to name a part: use one")
        self._complete(tree)
        with self._changing(finish=False) as state:
            only: frozenset[Place] | None = None
            given_up = frozenset(_places(paths) or ())
            if after is not None or paths is not None:
                state = self._finish(state)
            now = self.root.scan(state, everything=True)
            if after is not None:
                aim, about, again = self._without(now, tree, after)
                only = frozenset(about)
                if again:
                    text = f"{text_of(again[0])} was changed since; nothing was undone"
                    raise WorkspaceError("moved", text, tree=now)
            elif paths is not None:
                aim, only = self._with_places(now, tree, given_up)
            else:
                aim = self._aim(state, now, tree)
            facts = {"start": start, "goal": tree} if only is None else {}
            done = self.root.restore(state, aim, facts, only, given_up, now)
            state.pop("restoring", None)
            if self.layer and only is None:
                self.layer.find_base(state, tree, start)
            if aim != tree and only is None:  # its rules may ignore what it has besides
                done.tree = self.root.scan(state)
            state["tree"] = aim
            self._note(state, session, done.tree, always=True, restored=True)
            found: dict[str, Any] = {"tree": done.tree, "replaced": done.replaced}
            found["changed_count"] = sum(
                1 for _ in differences(self.store, done.replaced, done.tree)
            )
            if done.blocked:
                found["blocked"] = [text_of(place) for place in done.blocked[:MAX_CHANGED]]
            return found

    def missing(self, tree: str, most: int = 1_000) -> dict[str, Any]:
        """Return which objects of a tree are not here: {objects, count, bytes}."""
        return vars(missing(self.store, tree, most))

    def diff(self, to: str, path: str | None = None, **rest: str) -> dict[str, Any]:
        """Return how two trees differ: {files, count}, and with `path` also {diff} of that file.

        `from` and `to` are trees, "now", or "base" of an overlay.
        """
        one, other = self._tree(rest.get("from", "")), self._tree(to)
        only = place_of(path, top=True) if path is not None else ()
        found = [
            item for item in differences(self.store, one, other) if item.place[: len(only)] == only
        ]
        files = [self._file_change(item) for item in found[:MAX_LISTED]]
        result: dict[str, Any] = {"files": files, "count": len(found)}
        if path is not None and len(found) == 1 and found[0].place == only:
            result["diff"], binary = text_diff(self.store, found[0])
            if binary:
                files[0]["binary"] = True
        return result

    # -- files

    def entries(
        self,
        path: str = "",
        tree: str | None = None,
        depth: int = 1,
        offset: int = 0,
        limit: int = 1_000,
    ) -> dict[str, Any]:
        """Return {entries: [{path, kind, bytes, mode, modified_ms?}], complete}.

        `tree` None: what is there now, also what is not recorded.
        """
        place = place_of(path, top=True)
        if tree is None:
            rows = listed_in_folder(self.files, place, depth, self.places.limits.scratch)
        else:
            rows = listed_in_tree(self.store, self._tree(tree), place, depth)
        limit = max(1, min(limit, MAX_LISTED))
        found = list(islice(rows, offset, offset + limit + 1))
        return {"entries": found[:limit], "complete": len(found) <= limit}

    def read(
        self, path: str, tree: str | None = None, offset: int = 0, length: int = PIECE
    ) -> dict[str, Any]:
        """Return {data (base64), bytes, sha256?, media_type, stamp?} of a part of a file.

        `stamp` changes when the file does; a file of a tree has none.
        """
        place = place_of(path)
        offset, length = max(0, offset), max(0, min(length, PIECE))
        found: dict[str, Any] = {}
        if tree is None:
            with self.files.reader(place) as (file, about):
                data = os.pread(file, length, offset)
                found["bytes"] = about.st_size
                found["stamp"] = f"{about.st_ino}-{about.st_size}-{about.st_mtime_ns}"
            known = self.root.scanner.known(place, about)
            if known:
                found["sha256"] = known
        else:
            entry = entry_at(self.store, self._tree(tree), place)
            if entry[0] != "f":
                raise WorkspaceError("not_found", f"{path} is not a file in this tree")
            with self.store.open(entry[3], entry[2]) as source:
                data = os.pread(source.fileno(), length, offset)
            found |= {"bytes": entry[2], "sha256": entry[3]}
        found["data"] = base64.b64encode(data).decode("ascii")
        found["media_type"] = mimetypes.guess_type(place[-1])[0] or FILE_TYPE
        return found

    def write(
        self,
        path: str,
        data: str,
        offset: int = 0,
        total: int = 0,
        upload: str = "",
        session: str | None = None,
    ) -> dict[str, Any]:
        """Take a piece of a file (base64); return {received}, at the end {path, bytes, sha256} and
        what `_own_change` returns.

        `upload` names the pieces of one upload. A piece that was received before may come again.
        """
        place = place_of(path)
        piece = _decoded(data)
        _fits(total, self.places.limits.file_bytes, "file_mb")
        with self._held() as state:
            received = self.uploads.receive(upload, piece, offset, total)
            if received < total:
                return {"received": received}
            with self.uploads.complete(upload, total) as file:
                before = self.root.scan(state)
                sha256 = self.files.place(place, file)
            found = self._own_change(state, session, before, place)
        return {"path": text_of(place), "bytes": total, "sha256": sha256, **found}

    def remove(self, path: str, session: str | None = None) -> dict[str, Any]:
        """Remove a file, a link or a folder with all that it holds."""
        place = place_of(path)
        before: str | None = None
        with self._held() as state:
            with _room():
                before = self.root.scan(state)
            self.files.remove(place)
            found = self._own_change(state, session, before, place)
        return {"path": text_of(place), **found}

    def move(self, path: str, to: str, session: str | None = None) -> dict[str, Any]:
        """Give a file or folder another path, where nothing may be yet."""
        source, target = place_of(path), place_of(to)
        with self._held() as state:
            before = self.root.scan(state)
            self.files.move(source, target)
            found = self._own_change(state, session, before, source, target)
        return {"path": text_of(target), **found}

    def make_folder(self, path: str) -> dict[str, Any]:
        """Make a folder and those on the way to it."""
        place = place_of(path)
        with self._held():
            self.files.make_folder(place)
        return {"path": text_of(place)}

    def archive(
        self,
        paths: list[str] | None = None,
        tree: str | None = None,
        offset: int = 0,
        archive: str = "",
    ) -> dict[str, Any]:
        """Return a piece of a ZIP: {archive, data (base64), bytes, complete}.

        The first piece makes it; `archive` of the first result asks for the others. A path that
        is not in the tree is an error, since an empty ZIP would hide a wrong name.
        """
        if not archive:
            root = self._tree(tree or "now")
            chosen = None if paths is None else [place_of(path, top=True) for path in paths]
            for place in chosen or ():
                entry_at(self.store, root, place)
            archive = self.uploads.archive(self.store, root, chosen)
        data, size = self.uploads.piece(archive, offset, PIECE)
        return {
            "archive": archive,
            "data": base64.b64encode(data).decode("ascii"),
            "bytes": size,
            "complete": offset + len(data) >= size,
        }

    def give_up(self, pieces: str) -> dict[str, Any]:
        """Remove what is left of an upload or archive whose client is gone."""
        self.uploads.give_up(pieces)
        return {}

    # -- objects

    def read_object(self, sha256: str, offset: int = 0, length: int = PIECE) -> dict[str, Any]:
        """Return {data (base64), bytes} of a part of an object."""
        size = self.store.size(sha256)
        if size is None:
            raise WorkspaceError("not_found", f"object {sha256} is not here")
        with self.store.open(sha256) as source:
            data = os.pread(source.fileno(), max(0, min(length, PIECE)), max(0, offset))
        return {"data": base64.b64encode(data).decode("ascii"), "bytes": size}

    def write_object(
        self, sha256: str, data: str, offset: int = 0, total: int = 0
    ) -> dict[str, Any]:
        """Take a piece of an object (base64); return {received}, at the end {sha256, bytes}."""
        piece = _decoded(data)
        if self.store.size(sha256) == total:
            return {"sha256": sha256, "bytes": total}
        _fits(total, max(self.places.limits.file_bytes, MAX_FOLDER_BYTES), "file_mb")
        most = self.places.objects_bytes
        if self._stored is None or self._stored + total > most:  # others remove objects too
            self._stored = sum(about.st_size for _, about in self.store.ids())
        _fits(self._stored + total, most, "objects_mb")
        received = self.uploads.receive(sha256, piece, offset, total)
        if received < total:
            return {"received": received}
        with self.uploads.complete(sha256, total) as file:
            found = self.store.put_file(file, total)
        if found is None or found[0] != sha256:
            said = found[0] if found else "none"
            raise WorkspaceError("invalid", f"these bytes are object {said}, not {sha256}")
        self.store.settle()
        self._stored += total
        return {"sha256": sha256, "bytes": total}

    # -- overlay

    def refresh(self, session: str) -> dict[str, Any]:
        """Look at the real folder again, and fill the copy at first.

        Returns {tree, base, conflicts}: what changed there and in the layer, and is left.
        """
        layer = self._layer()
        with self._changing() as state:
            found = layer.refresh(state, self.places.overlay_bytes)
            self._note(state, session, found["tree"], always=True)
            return found

    def status(self) -> dict[str, Any]:
        """Return how the layer differs from the real folder: {files, tree, base, count}.

        A file that changed there as well has `conflict`; see Layer.status.
        """
        layer = self._layer()
        with self._held() as state:
            return layer.status(state)

    def apply(
        self, paths: list[str] | None = None, force: bool = False, tree: str | None = None
    ) -> dict[str, Any]:
        """Put files of the layer into the real folder, all without `paths`.

        Returns {applied, left, conflicts, asks, before, after}; the last two are trees of the real
        folder. Files that changed in both are left without `force`, and `asks` unless each is
        named. `tree`: what the layer must be; else `moved`.
        """
        layer = self._layer()
        with self._changing() as state:
            return layer.apply(state, _places(paths), force, tree)

    def discard(self, paths: list[str] | None = None, tree: str | None = None) -> dict[str, Any]:
        """Make files of the layer what they are in the real folder, all without `paths`.

        Returns {discarded, left, conflicts, before, after, tree}. `tree`: as in `apply`.
        """
        layer = self._layer()
        with self._changing() as state:
            found = layer.discard(state, _places(paths), tree)
            self._note(state, None, found["tree"], always=True)
            chosen = _places(paths) or [()]
            before = self._without(found["after"], found["before"], found["after"], chosen)[0]
            return found | {"before": before}

    # -- shared

    @contextmanager
    def _held(self) -> Iterator[dict[str, Any]]:
        """Hold the workspace beside running calls, after what a cut operation left is done."""
        state = self.file.load()
        if "restoring" in state or "applying" in state:
            with self.file.lock(True, self.places.wait_s):
                self._finish(self.file.load())
        with self.file.lock(False, self.places.wait_s):
            yield self.file.load()

    @contextmanager
    def _changing(self, finish: bool = True) -> Iterator[dict[str, Any]]:
        """Hold the workspace alone; an error says whether what is done inside has begun.

        `finish`: do first what a cut operation left.
        """
        with self.file.lock(True, self.places.wait_s):
            state = self.file.load()
            if finish:
                state = self._finish(state)
            before = _marks(state)
            try:
                with system_errors("the files"):
                    yield state
            except WorkspaceError as error:
                if _marks(self.file.load()) not in ({}, before):
                    error.facts["unfinished"] = True
                raise

    def _finish(self, state: dict[str, Any]) -> dict[str, Any]:
        """Finish what a cut restore or apply left; the lock is held exclusively."""
        if "restoring" in state:
            mark = state["restoring"]
            after = self.root.finish(state)
            state["tree"] = mark["tree"]
            self._moved(state, after, restored=True)
            del state["restoring"]
            if self.layer and "goal" in mark and not missing(self.store, mark["tree"], 1).count:
                self.layer.find_base(state, mark["goal"], mark["start"])
            self.file.save(state)
        if "applying" in state and self.layer:
            self.layer.finish(state)
        return state

    def _own_change(
        self, state: dict[str, Any], session: str | None, before: str | None, *places: Place
    ) -> dict[str, Any]:
        """Record a change of these places by a person; return {before, after, tree, left_out?}.

        The two trees differ by this change only. `before`: of the scan before it; None if there was
        no room for one, so that the two are the same. What is done stays done if it cannot be
        recorded: then only `unrecorded` is returned, which says why.
        """
        try:
            with system_errors("record"):
                after = self.root.scan(state)
                self._note(state, session, after)
                before = self._without(after, before or after, after, places)[0]
                self.root.save_stats()
        except WorkspaceError as error:
            return {"unrecorded": error.detail}
        found = {"before": before, "after": after, "tree": after}
        left_out = self.root.scanner.left_out()
        return found | ({"left_out": left_out} if left_out else {})

    def _without(
        self, now: str, before: str, after: str, places: Sequence[Place] | None = None
    ) -> tuple[str, list[Place], list[Place]]:
        """Return `now` without the change that made `after` of `before`, all or at these places.

        And the places that this is about, and those among them that were changed again since.
        """
        rows = own = in_order(differences(self.store, after, before, folders=True))
        if places is not None:
            own = [item for item in rows if any(_is_around(item.place, one) for one in places)]
            if len(own) == len(rows):  # all of what is there is this change
                return before, [item.place for item in own], []
        merge, model, again = Merge(self.store, now), flatten(self.store, before), list[Place]()
        for item in own:
            here = merge.flat.get(item.place)
            if here == item.after or is_left(item.after):
                continue
            taken = here == item.before and merge.take(item.place, item.after, model)
            if not taken and (here != item.before or not item.of_folder):
                again.append(item.place)
        return merge.tree(), [item.place for item in own], again

    def _with_places(
        self, now: str, tree: str, places: frozenset[Place]
    ) -> tuple[str, frozenset[Place]]:
        """Return what is there with some places as in a tree, and the places that so change."""
        target, model = Merge(self.store, now), flatten(self.store, tree)
        there = set(target.flat)
        for place in sorted(places, key=len):
            entry_at(self.store, tree, place)
            if not target.take(place, model[place], model):
                raise WorkspaceError("conflict", f"{text_of(place)} is a folder, or in a file")
        return target.tree(), places | (target.flat.keys() - there)

    def _note(
        self,
        state: dict[str, Any],
        session: str | None,
        tree: str,
        always: bool = False,
        restored: bool = False,
    ) -> list[Difference]:
        """Save at which tree the workspace is now, if that is new; return what `_moved` does."""
        if self.layer:
            always |= self.layer.note_base(state, tree)
        if session is not None:
            always |= note_seen(state, session_hash(session), tree)
        always |= state.get("tree") != tree
        rows = self._moved(state, tree, restored)
        if always:
            self.file.save(state)
        return rows

    def _moved(self, state: dict[str, Any], tree: str, restored: bool = False) -> list[Difference]:
        """Note that the workspace is at another tree, and return how that differs.

        `appeared` of a state: paths that are recorded from some tree on, and may have been there
        before it: what rules ignored, or was too large. No call is known to have made them.
        `restored`: the state had the tree that files were restored to, so that what is there
        besides was left out before.
        """
        before, state["tree"] = state.get("tree"), tree
        if before is None or before == tree:
            return []
        try:
            rows = list(differences(self.store, before, tree, folders=True, unknown=True))
        except WorkspaceError as error:
            if error.code != "missing_objects":  # a client's, or collected since
                raise
            return []
        appeared = {tuple(path.split("/")): 0 for path in state.get("appeared", ())}
        for item in rows:
            if item.after is None:
                appeared.pop(item.place, None)
            elif is_left(item.before) or restored and item.before is None:
                if not is_left(item.after) and not is_within(item.place, appeared):
                    appeared[item.place] = 0
        if appeared or "appeared" in state:
            state["appeared"] = ["/".join(place) for place in appeared][-MAX_APPEARED:]
        return rows

    def _aim(self, state: dict[str, Any], now: str, tree: str) -> str:
        """Return a tree with what is there of the paths that appeared since it was recorded."""
        self._moved(state, now)
        appeared = {tuple(path.split("/")) for path in state.get("appeared", ())}
        if not appeared:
            return tree
        there = flatten(self.store, now)
        aim = Merge(self.store, tree)
        for place in sorted(there):
            if place not in aim.flat and is_within(place, appeared):
                aim.take(place, there[place], there)
        return aim.tree()

    def _changed(self, rows: list[Difference], newly: list[Place]) -> dict[str, Any]:
        changed, left = [], dict[Place, str]()
        for item in rows:
            if is_left(item.after):
                inside = item.place[:-1] in left  # the folder stands for what is in it
                reason = "" if inside else self.root.scanner.reason(item.place)
                if inside or reason:
                    left[item.place] = reason
                    continue
                item = replace(item, after=None)
            if of_files := item.of_files():
                changed.append(of_files)
        for place in newly:
            if place[:-1] not in left:
                left.setdefault(place, self.root.scanner.reason(place))
        now = [{"path": text_of(place), "reason": left[place]} for place in left if left[place]]
        return {
            "changed": [item.row for item in changed[:MAX_CHANGED]],
            "changed_count": len(changed),
            "left_out": self.root.scanner.left_out(),
            **({"left_out_now": now[:MAX_CHANGED]} if now else {}),
        }

    def _complete(self, tree: str) -> None:
        """Raise missing_objects unless all objects of a tree are here."""
        found = missing(self.store, tree, MAX_CHANGED)
        if found.count:
            text = f"{found.count} objects of this tree are not here"
            raise WorkspaceError("missing_objects", text, **vars(found))

    def _tree(self, name: str) -> str:
        """Return the id of a tree that is named by it, as "now" or as "base"."""
        if name == "now":
            with self._held() as state:
                return self.root.scan(state)
        if name == "base":
            base = self.file.load().get("base")
            if base is None:
                raise WorkspaceError("not_found", "the workspace is no overlay")
            return str(base)
        return name

    def _file_change(self, item: Difference) -> dict[str, Any]:
        found = {"path": text_of(item.place), "change": item.change}
        for key, entry in (("bytes_before", item.before), ("bytes_after", item.after)):
            if entry and entry[0] == "f":
                found[key] = entry[2]
        if item.after and item.after[0] == "l":
            found["target"] = text_of((item.after[1],))
        return found

    def _layer(self) -> Layer:
        if self.layer is None:
            raise WorkspaceError("invalid", "the workspace is no overlay")
        return self.layer


def _marks(state: dict[str, Any]) -> dict[str, Any]:
    """Return copies of the marks of what has begun and is not finished."""
    names = ("restoring", "applying", "filling")
    return {name: copy.deepcopy(state[name]) for name in names if name in state}


def _is_around(place: Place, other: Place) -> bool:
    """Return whether one of two places is the other, or on the way to it."""
    return place[: len(other)] == other[: len(place)]


def is_within(place: Place, places: Container[Place]) -> bool:
    """Return whether a place, or a folder on the way to it, is one of some."""
    return any(place[:depth] in places for depth in range(1, len(place) + 1))


def session_hash(session: str) -> str:
    """Return the name of a session in the state: ids of clients are not kept."""
    return hashlib.sha256(session.encode("utf-8", "surrogatepass")).hexdigest()[:32]


@contextmanager
def _room() -> Iterator[None]:
    """Pass over a full disk: what is removed gives room."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL:
            raise


def _fits(size: int, most: int, setting: str) -> None:
    if size > most:
        text = f"{size} bytes are more than the {most} of server.workspace.{setting}"
        raise WorkspaceError("too_large", text)


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data, validate=True)
    except ValueError:
        raise WorkspaceError("invalid", "the data is not base64") from None


def _places(paths: list[str] | None) -> list[Place] | None:
    return None if paths is None else [place_of(path) for path in paths]
