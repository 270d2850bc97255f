"""An overlay: a copy of a real folder that calls change, and that a person applies in part.

Three states decide about a path: `base`, the folder when it was last looked at; the layer; and the
folder now. What only the folder changed is taken over, what only the layer changed is applied when
a person says so, what both changed is a conflict: there the base stays what it was. What programs
run (sandbox/host_programs.py), and links that lead out, are applied only if each is named.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ..lib.runtime.descriptors import open_fd
from ..lib.sandbox import host_programs
from .differences import Difference, differences
from .errors import READ_ONLY, WorkspaceError
from .file_access import remove_all
from .objects import CHUNK, ObjectStore, clone, write_sparse
from .omitted_paths import Left
from .restore import Folders, Step, is_there
from .root import Root, left_alone
from .scan import CLOSED, FILE, FOLDER, GONE, NEW_FILE, Limits
from .state import StateFile
from .trees import DEPTH, IGNORED, LARGE, Entry, Flat, Place, build, flatten, is_left, text_of

MAX_NAMED = 100
MAX_LISTED = 10_000
NAMED_BY_BASE = (["x", LARGE], ["x", IGNORED])  # what was copied although no tree has it
MAX_BASES = 200  # trees of the layer whose base is remembered


class Merge:
    """A tree that takes single entries, as long as no path is a file and a folder at once."""

    def __init__(self, store: ObjectStore, tree: str) -> None:
        self._store, self.flat = store, flatten(store, tree, left=True)
        self._held = Counter(place[:-1] for place in self.flat)

    def tree(self) -> str:
        """Store it, durably, and return its id."""
        return build(self._store, self.flat)

    def take(self, place: Place, entry: Entry | None, model: Flat) -> bool:
        """Take an entry, or remove one; `model` has the folders on the way. False: in the way."""
        before = self.flat.get(place)
        if entry is None or entry[0] != "d":
            if self._held[place]:
                return False
        if entry is None:
            if before is not None:
                del self.flat[place]
                self._held[place[:-1]] -= 1
            return True
        for depth in range(1, len(place)):
            above = place[:depth]
            if above not in self.flat:
                self.flat[above] = model.get(above, ["d", 0o755, ""])
                self._held[above[:-1]] += 1
            if self.flat[above][0] != "d":
                return False
        if before is None:
            self._held[place[:-1]] += 1
        self.flat[place] = entry
        return True


def in_order(items: Iterable[Difference]) -> list[Difference]:
    """Return changes in an order in which they can be taken: removals first, deepest first."""
    rows = list(items)
    gone = [row for row in rows if row.after is None]
    gone.sort(key=lambda row: len(row.place), reverse=True)
    return gone + [row for row in rows if row.after is not None]


class Layer:
    """The real folder of an overlay, beside the copy (`root`)."""

    def __init__(self, path: str, root: Root, file: StateFile, limits: Limits, step: Step) -> None:
        self.root, self.file, self.limits, self.step = root, file, limits, step
        self.store = root.store
        self.folder = Root(path, root.store, file, "applying", limits, step)

    def close(self) -> None:
        """Save what is known of the real folder, and let it go."""
        self.folder.save_stats(1)
        self.folder.close()

    # -- base

    def note_base(self, state: dict[str, Any], tree: str) -> bool:
        """Note which base a tree of the layer has; return whether that is new."""
        bases = state.setdefault("bases", {})
        if "base" not in state or bases.get(tree) == state["base"]:
            return False
        bases.pop(tree, None)
        bases[tree] = state["base"]
        while len(bases) > MAX_BASES:
            del bases[next(iter(bases))]
        return True

    def find_base(self, state: dict[str, Any], tree: str, start: str | None) -> None:
        """Go back to the base that a tree of the layer had, so that what the folder has since is
        taken over again and not taken for a change of the layer.

        A tree that was recorded elsewhere has none here. Its base is `start`, the tree that its
        session began with. Without the folders of that only what the folder and the tree have in
        common is known: anything else is taken over or a conflict.
        """
        if base := state.get("bases", {}).get(tree):
            state["base"] = base
        elif "base" not in state:
            return  # the copy is not filled yet
        elif start is not None and self._is_here(start):
            state["base"] = start
        else:
            there = flatten(self.store, tree, left=True)
            shared = {
                place: entry
                for place, entry in flatten(self.store, state["base"], left=True).items()
                if entry == there.get(place)
            }
            state["base"] = build(self.store, shared)

    def _is_here(self, tree: str) -> bool:
        """Return whether all directory objects of a tree are here."""
        try:
            flatten(self.store, tree)
        except WorkspaceError:
            return False
        return True

    # -- the folder's changes

    def refresh(self, state: dict[str, Any], most_bytes: int) -> dict[str, Any]:
        """Fill the copy at first, and take over what only the real folder changed.

        Returns {tree, base, conflicts}; the caller saves the state.
        """
        if "base" not in state:
            state["base"] = self._fill(state, most_bytes)
        base, now, news = state["base"], self.root.scan(state), self._look(state)
        if news == base:  # as at the start of most runs
            return {"tree": now, "base": base, "conflicts": []}
        return self._take_over(state, Merge(self.store, now), now, news)

    def _look(self, state: dict[str, Any]) -> str:
        """Return the tree of the real folder."""
        news = self.folder.scan(state)
        self.folder.save_stats()
        return news

    def _take_over(
        self, state: dict[str, Any], target: Merge, now: str, news: str
    ) -> dict[str, Any]:
        """Make the copy `target`, together with what the folder, now `news`, changed since base."""
        base = state["base"]
        known, new = Merge(self.store, base), flatten(self.store, news)
        conflicts = []
        for item in in_order(differences(self.store, base, news, folders=True)):
            mine = target.flat.get(item.place)
            is_before = mine == item.before
            if mine == item.after or is_before and target.take(item.place, item.after, new):
                known.take(item.place, item.after, new)
            elif not item.of_folder:
                conflicts.append(item.place)
        tree = target.tree()
        blocked: list[Place] = []
        if tree != now:
            done = self.root.restore(state, tree)
            state.pop("restoring", None)
            tree, blocked = done.tree, done.blocked
            old = flatten(self.store, base)
            for place in blocked:  # not taken over
                known.take(place, old.get(place), old)
        state["base"] = known.tree()
        if tree != now and not blocked and state["base"] != news:
            # Rules that came may no longer hide what else the folder has.
            return self._take_over(state, Merge(self.store, tree), tree, news)
        return {
            "tree": tree,
            "base": state["base"],
            "conflicts": [text_of(place) for place in [*conflicts, *blocked][:MAX_NAMED]],
        }

    # -- the layer's changes

    def status(self, state: dict[str, Any]) -> dict[str, Any]:
        """Return {files: [{path, change, bytes?, target?, conflict?, unkept?, asks?}], tree, base,
        count, left_out}.

        `target`: of a link. `unkept`: no tree has what the folder has there. `asks`: why it is
        applied only if it is named, "runs" or "leads_out".
        `left_out`: what is in no list, since it is not recorded.
        """
        base, now = self._base(state), self.folder.scan(state)
        changed = {
            item.place: item.after for item in differences(self.store, base, now, folders=True)
        }
        left = Left(self.store, now)
        tree = self.root.scan(state)
        reason = self._reason()
        rows = []
        for item in self._changes(base, tree):
            there = changed.get(item.place, item.before)
            if there == item.after:
                continue
            row = item.row
            if item.after and item.after[0] == "l":
                row["target"] = text_of((item.after[1],))
            if is_left(there) or there != item.before:
                row["conflict"] = True
            if not left.knows(item.place):
                row["conflict"] = row["unkept"] = True
            if asks := reason(item):
                row["asks"] = asks
            rows.append(row)
        found = {"files": rows[:MAX_LISTED], "tree": tree, "base": base, "count": len(rows)}
        return {**found, "left_out": self._left_out()}

    def _left_out(self) -> dict[str, Any]:
        """Return what the last scans of the layer and of the folder left out."""
        found = self.folder.scanner.left_out()
        for reason, more in self.root.scanner.left_out().items():
            if isinstance(more, list):
                found[reason] = sorted({*found.get(reason, ()), *more})
            else:
                found[reason] = max(found.get(reason, 0), more)
        return found

    def _changes(self, base: str, tree: str, folders: bool = False) -> Iterator[Difference]:
        """Yield how the layer differs from its base.

        Where the base left something out, the folder tells: what is not there was added, and what
        is other has the entry `["x", …]` before; so has what was copied although the base only
        names it, and is gone: a large file, or rules that ignore the file that they are in.
        Where the layer did, the copy tells what is gone.
        """
        with Folders(self.folder.top) as there, Folders(self.root.top) as here:
            for item in differences(self.store, base, tree, folders, unknown=True, strict=True):
                if is_left(item.after):
                    if not is_left(item.before) and not here.has(item.place):
                        yield replace(item, after=None)
                elif not is_left(item.before):
                    yield item
                elif item.after:
                    found = None
                    with suppress(FileNotFoundError, NotADirectoryError):
                        found = is_there(there.at(item.place[:-1]), item.place[-1], item.after)
                    if not found:
                        yield item if found is False else replace(item, before=None)
                elif item.before in NAMED_BY_BASE and there.can_read(item.place):
                    yield item

    def _reason(self) -> Callable[[Difference], str]:
        """Return what tells why a change is applied only if it is named; "" if it needs not be.

        The layer and the folder were scanned just before.
        """
        places = [one.scanner.protected_places() for one in (self.root, self.folder)]
        runs = places[0].keys() | places[1].keys()
        # A folder that becomes a repository with its HEAD has a configuration that ran nowhere yet.
        repositories = [
            {place[:-1] for place in each if place[-1].lower() in host_programs.REPOSITORY}
            for each in places
        ]
        for place in repositories[0] - repositories[1]:
            if place[-1:] == (".git",):  # there it is protected at any time
                continue
            there = self.folder.scanner.folder(place)
            missing = ("objects", "refs") if there and "HEAD" in there.files else ("HEAD",)
            runs |= {(*place, name) for name in missing}

        def _reason_of(item: Difference) -> str:
            if any(item.place[:depth] in runs for depth in range(1, len(item.place) + 1)):
                return "runs"
            if item.after and item.after[0] == "l":
                return "leads_out" if host_programs.leads_out(item.place, item.after[1]) else ""
            return ""

        return _reason_of

    def _check_tree(self, seen: str | None, tree: str) -> None:
        """Raise moved if the layer is not at the tree that a person has seen."""
        if seen is not None and seen != tree:
            text = "the layer has changed since it was looked at; look again"
            raise WorkspaceError("moved", text, tree=tree)

    def apply(
        self,
        state: dict[str, Any],
        chosen: list[Place] | None,
        force: bool,
        seen: str | None = None,
    ) -> dict[str, Any]:
        """Put changes into the real folder.

        Returns {applied, before, after, left, conflicts, asks, left_out}: `before` and `after` are
        the folder's trees. `asks`: those that were left since they were not named. `left_out`: what
        is not recorded. With `force` a chosen path also replaces what no tree has.
        """
        base = self._base(state)
        layer = self.root.scan(state)
        self._check_tree(seen, layer)
        before = self.folder.scan(state, everything=True)
        reason, named, asks = self._reason(), set(chosen or ()), list[Place]()
        model = flatten(self.store, layer)
        target = Merge(self.store, before)
        there = dict(target.flat)
        only: list[Place] = []
        conflicts, left = [], []
        for item in in_order(self._changes(base, layer, folders=True)):
            if not _is_chosen(item.place, chosen) or there.get(item.place) == item.after:
                continue
            is_file = not item.of_folder
            if item.place not in named and (is_file or item.after) and reason(item):
                asks += [item.place] if is_file else []
            elif (is_left(item.before) or there.get(item.place) != item.before) and not force:
                conflicts.append(item.place)
            elif target.take(item.place, item.after, model):
                only.append(item.place)
            elif item.after is not None:
                left.append(item.place)
        only += [place for place in target.flat if place not in there and place not in set(only)]
        mark = {"tree": target.tree(), "before": before, "only": [list(place) for place in only]}
        kept = Left(self.store, before)
        given_up = {place for place in named if force and not kept.knows(place)}
        left_out = self._left_out()  # rules that are applied may end what they leave out
        applied, more, refusal, after = self._bring(state, mark, given_up)
        if refusal:
            text = f"the folder cannot be written ({refusal}): {applied} of"
            step = "let the user that runs tools here write it, and apply again"
            text += f" {applied + len(more)} files were applied; {step}"
            raise WorkspaceError("failed", text, partial=True)
        return {
            "applied": applied,
            "before": before,
            "after": after,
            "left": [text_of(place) for place in [*left, *more][:MAX_NAMED]],
            "conflicts": [text_of(place) for place in conflicts[:MAX_NAMED]],
            "asks": [text_of(place) for place in asks[:MAX_NAMED]],
            "left_out": left_out,
        }

    def finish(self, state: dict[str, Any]) -> None:
        """Finish an apply that was cut; what a person changed since is left."""
        self._bring(state, state["applying"])

    def _bring(
        self, state: dict[str, Any], mark: dict[str, Any], given_up: Set[Place] = frozenset()
    ) -> tuple[int, list[Place], str, str]:
        """Carry out what a mark says, and note in the base what the folder has of it then.

        `given_up`: as in Root.restore; after a kill it is asked for anew.

        Returns the number of files that are applied, those that are not, why the folder cannot be
        written, "" if it can, and its tree.
        """
        only = {tuple(place) for place in mark["only"]}
        target = flatten(self.store, mark["tree"])
        before = flatten(self.store, mark["before"], left=True)
        scanned = self.folder.scan(state, everything=True)
        now = flatten(self.store, scanned, left=True)
        free = only & left_alone(now, before, target)
        refusal = ""
        try:
            self.folder.restore(state, mark["tree"], mark, free, given_up, scanned)
        except OSError as error:  # it stays so: what is left to do is not tried for ever
            if error.errno not in READ_ONLY:
                raise
            refusal = error.strerror or "not permitted"
        after = self.folder.scan(state)
        now = flatten(self.store, after, left=True)
        known = Merge(self.store, state["base"])
        applied, left = 0, []
        for place in sorted(
            only, key=lambda row: (row in target, len(row) * (row in target or -1))
        ):
            entry = target.get(place)
            is_file = "d" not in ((entry or before.get(place) or [""])[0],)
            if now.get(place) == entry:
                known.take(place, entry, target)
                applied += is_file
            elif is_file:
                left.append(place)
        state["base"] = known.tree()
        state.pop("applying", None)
        self.note_base(state, state.get("tree") or "")
        self.file.save(state)
        return applied, left, refusal, after

    def discard(
        self, state: dict[str, Any], chosen: list[Place] | None, seen: str | None = None
    ) -> dict[str, Any]:
        """Make files of the layer what the real folder has; the caller saves the state.

        Returns {discarded, left, conflicts, before, after, tree}. `before` is without what the
        folder changed, which is taken over, too.
        """
        base = self._base(state)
        now = self.root.scan(state)
        self._check_tree(seen, now)
        news = self._look(state)
        known, folder = flatten(self.store, base), Left(self.store, news)
        target = Merge(self.store, now)
        discarded, left = 0, []
        changes = self._changes(base, now, folders=True)
        for item in in_order(replace(one, before=one.after, after=one.before) for one in changes):
            if not _is_chosen(item.place, chosen):
                continue
            is_known = bool(item.after) or folder.knows(item.place)
            if is_known and not is_left(item.after) and target.take(item.place, item.after, known):
                discarded += not item.of_folder
            elif not item.of_folder:
                left.append(item.place)
        found = self._take_over(state, target, now, news)
        return {
            "discarded": discarded,
            "left": [text_of(place) for place in left[:MAX_NAMED]],
            "conflicts": found["conflicts"],
            "before": now,
            "after": found["tree"],
            "tree": found["tree"],
        }

    def _base(self, state: dict[str, Any]) -> str:
        if "base" not in state:
            raise WorkspaceError("not_found", "nothing was done in the folder yet")
        return str(state["base"])

    # -- fill

    def _fill(self, state: dict[str, Any], most_bytes: int) -> str:
        """Copy the real folder, also what is left out of trees; return what it was before that."""
        if not state.get("filling"):
            if os.listdir(self.root.top):
                text = "the session has files of its own; they would be mixed with the folder's"
                raise WorkspaceError("conflict", text)
        copy = Copy(most_bytes, self.limits.files, self.step)
        copy.measure(self.folder.top)
        base = self.folder.scan(state)
        state["filling"] = True
        self.file.save(state)
        self.file.settle()
        remove_all(self.root.top)
        copy.copy(self.folder.top, self.root.top)
        self.step("filled")
        del state["filling"]
        return base


class Copy:
    """A copy of a folder within limits; blocks are shared where the file system can."""

    def __init__(self, most_bytes: int, most_files: int, step: Step) -> None:
        self.most_bytes, self.most_files, self.step = most_bytes, most_files, step
        self._bytes = self._files = 0

    def measure(self, source: int, depth: int = 0) -> None:
        """Raise too_large if a folder holds more than may be copied."""
        with os.scandir(source) as entries:
            for entry in entries:
                self._files += 1
                if entry.is_dir(follow_symlinks=False) and depth < DEPTH:
                    with suppress(OSError), open_fd(entry.name, FOLDER, dir_fd=source) as below:
                        self.measure(below, depth + 1)
                elif entry.is_file(follow_symlinks=False):
                    with suppress(FileNotFoundError):
                        self._bytes += entry.stat(follow_symlinks=False).st_size
                if self._bytes > self.most_bytes or self._files > self.most_files:
                    text = (
                        f"the folder holds more than {self.most_bytes >> 20} MB or"
                        f" {self.most_files} files, too much to copy it: name it in mode read or"
                        " write, or raise server.workspace.overlay_mb and .files"
                    )
                    raise WorkspaceError("too_large", text)

    def copy(self, source: int, target: int, depth: int = 0) -> None:
        """Copy what an open folder holds into another."""
        with os.scandir(source) as entries:
            names = [entry.name for entry in entries]
        for name in names:
            self.step("copy")
            try:
                self._copy_name(source, target, name, depth)
            except OSError as error:
                if error.errno not in GONE | CLOSED:
                    raise

    def _copy_name(self, source: int, target: int, name: str, depth: int) -> None:
        about = os.stat(name, dir_fd=source, follow_symlinks=False)
        if stat.S_ISLNK(about.st_mode):
            os.symlink(os.readlink(name, dir_fd=source), name, dir_fd=target)
        elif stat.S_ISREG(about.st_mode):
            self._copy_file(source, target, name)
        elif stat.S_ISDIR(about.st_mode) and depth < DEPTH:
            with open_fd(name, FOLDER, dir_fd=source) as inner:
                os.mkdir(name, 0o700, dir_fd=target)
                with open_fd(name, FOLDER, dir_fd=target) as made:
                    self.copy(inner, made, depth + 1)
                    os.fchmod(made, about.st_mode & 0o777)

    def _copy_file(self, source: int, target: int, name: str) -> None:
        with open_fd(name, FILE, dir_fd=source) as opened:
            about = os.fstat(opened)
            if not stat.S_ISREG(about.st_mode):
                return
            with open_fd(name, NEW_FILE, dir_fd=target) as made:
                if not clone(opened, made):
                    size = 0
                    while size <= self.most_bytes and (chunk := os.read(opened, CHUNK)):
                        write_sparse(made, chunk)
                        size += len(chunk)
                    os.ftruncate(made, size)
                os.fchmod(made, about.st_mode & 0o777)
                os.utime(made, ns=(about.st_atime_ns, about.st_mtime_ns))


def _is_chosen(place: Place, chosen: list[Place] | None) -> bool:
    return chosen is None or any(place[: len(one)] == one for one in chosen)
