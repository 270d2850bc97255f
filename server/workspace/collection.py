"""Find and remove the recorded files that nothing needs any more.

Needed are the trees at which workspaces stand and stood for a session, and those that are given.
A tree that only a session's document names is not known here: its objects are removed, and a
client that has them sends them again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ..tools.session_files import STATES, STORE
from .objects import ObjectStore
from .places import Places
from .state import FILE
from .trees import reachable

_ID = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
MOST_STATE = 8 << 20  # bytes of a state that are read


def folders(home: Path) -> list[Path]:
    """Return the folders of objects, one for each owner of keys."""
    top = home.resolve() / STORE
    return sorted(path for path in top.iterdir() if path.is_dir()) if top.is_dir() else []


def folder_of(home: Path, owner: str) -> Path:
    """Return the folder of an owner's objects, whether or not it exists."""
    return Places(home).find(owner, "").objects


def trees_of_states(home: Path) -> Iterator[str]:
    """Yield the trees that the states of workspaces name, of all owners."""
    for path in sorted((home.resolve() / STATES).glob(f"*/{FILE}")):
        try:
            with path.open("r", encoding="ascii", errors="replace") as file:
                yield from ids_in(file.read(MOST_STATE))
        except OSError:  # it has just gone
            continue


def ids_in(text: str) -> Iterator[str]:
    """Yield what may be ids of trees in a state or a session."""
    yield from dict.fromkeys(_ID.findall(text))


def collect_objects(
    folder: Path, kept: Iterable[str], *, clean: bool, most: int = 0
) -> dict[str, Any]:
    """Return {objects, bytes, useless, useless_bytes, removed, freed} of one owner.

    `kept`: trees that are needed. `clean` removes what is useless, neither of these trees nor
    written in the last hour, until all objects have at most `most` bytes.
    """
    store = ObjectStore(folder)
    return store.collect(reachable(store, list(kept)), most if clean else 1 << 62)


def limit_objects(home: Path, most: int) -> int:
    """Remove useless objects of owners that have more than `most` bytes; return their number."""
    removed = 0
    for folder in folders(home):
        if sum(about.st_size for _, about in ObjectStore(folder).ids()) > most:
            found = collect_objects(folder, trees_of_states(home), clean=True, most=most)
            removed += found["removed"]
    return removed
