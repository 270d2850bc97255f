"""One folder that is recorded and restored: scans, write-ahead, and the order of the two."""

from __future__ import annotations

import os
import secrets
from collections.abc import Set
from dataclasses import dataclass
from typing import Any

from .errors import READ_ONLY, WorkspaceError
from .objects import ObjectStore
from .omitted_paths import Left
from .restore import Restore, Step, no_step, plan
from .scan import FOLDER, LIMITS, Limits, Scanner
from .state import StateFile
from .trees import Flat, Place, flatten, missing

ROUNDS = 3  # of a restore while others change the folder
TEMPORARY = ".yaa-"
HASHED = 1_000  # files that were read before what is known of them is saved


@dataclass
class Outcome:
    """What a restore did.

    `replaced`: the tree that was there; `tree`: the one that is there now, which has besides what
    the first left out and the aim does not; `blocked`: what was not made, since something else that
    was left out is in its place.
    """

    replaced: str
    tree: str
    blocked: list[Place]


class Root:
    """A folder, the objects of its trees, and its mark in the state."""

    def __init__(
        self,
        path: str,
        store: ObjectStore,
        state: StateFile,
        mark: str = "restoring",
        limits: Limits = LIMITS,
        step: Step = no_step,
    ) -> None:
        self.path, self.store, self.state, self.mark, self.limits = path, store, state, mark, limits
        self.step = step
        self.top = os.open(path, FOLDER & ~os.O_NOFOLLOW)
        self._stats = f"{mark}-stats.json" if mark != "restoring" else "stats.json"
        self.scanner = Scanner(self.top, store, limits, self.state.load(self._stats))
        self._saved = 0

    def close(self) -> None:
        """Save what is known, and let the folder go."""
        self.scanner.close()
        os.close(self.top)

    def scan(self, state: dict[str, Any], everything: bool = False) -> str:
        """Return the folder's tree as it is; its objects are durable."""
        nonce = state.get(self.mark, {}).get("nonce")
        self.scanner.temporary = TEMPORARY + nonce if nonce else ""
        tree = self.scanner.scan(everything)
        self.store.settle()
        return tree

    def save_stats(self, least: int = HASHED) -> None:
        """Save what is known of files, if so many were read since the last time."""
        if self.scanner.hashed - self._saved >= least:
            self._saved = self.scanner.hashed
            self.state.save(self.scanner.save(), self._stats)

    def restore(
        self,
        state: dict[str, Any],
        tree: str,
        facts: dict[str, Any] | None = None,
        only: Set[Place] | None = None,
        given_up: Set[Place] = frozenset(),
        scanned: str = "",
    ) -> Outcome:
        """Make the folder what a tree says. The caller holds the lock exclusively.

        `state` is saved with the mark before anything changes; `facts` are kept in it. The caller
        removes the mark when it saves what the state is then. Raises OSError or WorkspaceError with
        the mark in place. With `only`, other places are not touched, and neither is what others
        change meanwhile; without, it is recorded and replaced. `scanned`: the tree of a scan of
        everything that the caller has just done. `given_up`: some of `only`, where
        also what no tree has is replaced.
        """
        nonce = state.get(self.mark, {}).get("nonce") or secrets.token_hex(16)
        replaced = ""
        blocked: list[Place] = []
        first: Left | None = None
        for number in range(ROUNDS):
            now = scanned or self.scan({self.mark: {"nonce": nonce}}, everything=True)
            scanned = ""
            todo = plan(self.store, now, tree, only, first, given_up)
            first = first or Left(self.store, now)
            replaced = replaced or now
            if todo.is_empty:
                return Outcome(replaced, now if todo.left else tree, blocked)
            if not number:
                self.step("recorded")
                about = {"before": now, **(facts or {})}
                state[self.mark] = {**about, "tree": tree, "nonce": nonce}
                self.state.save(state)
                self.state.settle()
                self.step("marked")
            is_whole = not todo.left and not self.scanner.left_out()
            work = Restore(
                self.top, self.store, TEMPORARY + nonce, self.scanner.stamp, self.step, given_up
            )
            work.perform(todo)
            blocked += [place for place in work.blocked if not first.knows(place)]
            more = [place for place in work.blocked if first.knows(place)]
            if only is not None or not work.changed and (number or not more):
                blocked += more
                actual = tree if is_whole and not blocked else self.scan(state)
                return Outcome(replaced, actual, blocked)
        raise WorkspaceError("busy", "the files change while they are restored; try again")

    def finish(self, state: dict[str, Any]) -> str:
        """Finish a restore that was cut, and return the tree that is there then.

        What others changed since is left: nobody would be told what was replaced.
        """
        mark = state[self.mark]
        now, tree = self.scan(state, everything=True), mark["tree"]
        before = mark.get("before", now)
        if any(missing(self.store, each, 1).count for each in (before, tree)):
            return now  # it cannot be finished, so what is there holds
        free = left_alone(*(flatten(self.store, each) for each in (now, before, tree)))
        aim = Left(self.store, tree, strict=True)
        try:
            only = {place for place in free if aim.knows(place)}
            self.restore(state, tree, mark, only, scanned=now)
        except OSError as error:  # it stays so, and nothing else could be done here for ever
            if error.errno not in READ_ONLY:
                raise
        return self.scan(state)


def left_alone(now: Flat, before: Flat, aim: Flat) -> set[Place]:
    """Return the places where nobody but a restore that was cut changed anything.

    It may have made or opened a folder, and removed what is of another kind than what follows.
    """
    found = set()
    for place in now.keys() | aim.keys():
        here, old, new = (flat.get(place, [""])[0] for flat in (now, before, aim))
        is_between = "d" in (old, new) and (here == "d" or not here and old != new)
        if is_between or now.get(place) == before.get(place):
            found.add(place)
    return found
