"""Trees: directory objects and what they hold.

A directory object is canonical ASCII JSON, `{"entries": {name: entry}, "left"?: {name: reason}}`,
with sorted keys. An entry is `["f", mode, size, sha256]`, `["l", target]` or `["d", mode, sha256]`;
a mode has the nine permission bits. `left`: what is there and was left out (omitted_paths.py); the
top object always has it, unless an earlier version wrote it. A tree is named by the id of its top
directory object. Objects can come from a client, so all that is read here is checked.

In memory a name that was left out is an entry `["x", reason]`, and `left` itself one named "".
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from .errors import WorkspaceError
from .objects import ID, ObjectStore, absence

DEPTH = 128  # folders in each other; what is deeper is left out
MAX_FOLDER_BYTES = 64 << 20  # of a directory object
MAX_ENTRIES = 200_000  # of a tree that is walked: a small object may name a huge tree
PARSED, MAX_PARSED = 50_000, 10_000  # entries of folders that are kept parsed, and of one
MAX_NAME = 255  # bytes, as in every file system in use
MAX_TARGET = 4095
LARGE, SPECIAL, UNREADABLE, BEYOND, IGNORED = "large", "special", "unreadable", "beyond", "ignored"
REASONS = frozenset({LARGE, SPECIAL, UNREADABLE, BEYOND, IGNORED})
SAYS: list[Any] = ["x", ""]  # the entry "" of a folder that says what it left out

Entry = list[Any]  # as in a directory object
Entries = dict[str, Entry]  # by name
Place = tuple[str, ...]  # the names on the way from the top; () is the top
Flat = dict[Place, Entry]  # all entries of a tree; a folder's is ["d", mode, ""]
_encoder = json.JSONEncoder(
    ensure_ascii=True, separators=(",", ":"), sort_keys=True, check_circular=False
)


def encode(entries: Mapping[str, Entry]) -> bytes:
    """Return a directory object."""
    value: dict[str, Any] = {"entries": entries}
    if has_left(entries):
        left = {name: entry[1] for name, entry in entries.items() if is_left(entry)}
        value["entries"] = {name: entries[name] for name in entries.keys() - left.keys()}
        value["left"] = {name: reason for name, reason in left.items() if name}
    return _encoder.encode(value).encode("ascii")


def decode(data: bytes) -> Entries:
    """Return the entries of a directory object. Raises WorkspaceError for anything else."""
    try:
        value = json.loads(data)
        if isinstance(value, dict) and value.keys() <= {"entries", "left"}:
            entries, left = value["entries"], value.get("left")
            if isinstance(entries, dict) and all(map(_is_entry, entries, entries.values())):
                if left is not None:
                    entries |= {name: ["x", reason] for name, reason in left.items()}
                    if not all(_is_name(name) and left[name] in REASONS for name in left):
                        raise ValueError
                    entries[""] = SAYS
                if encode(entries) == data:
                    return entries
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        pass
    raise WorkspaceError("invalid", "an object that a tree names is not a directory object")


def _is_entry(name: str, entry: Any) -> bool:
    if not _is_name(name) or not isinstance(entry, list):
        return False
    match entry:
        case ["f", int(mode), int(size), str(sha256)]:
            return _is_mode(mode) and size >= 0 and ID.match(sha256) is not None
        case ["d", int(mode), str(sha256)]:
            return _is_mode(mode) and ID.match(sha256) is not None
        case ["l", str(target)]:
            return "\0" not in target and 0 < _bytes(target) <= MAX_TARGET
    return False


def has_left(entries: Mapping[str, Entry]) -> bool:
    """Return whether a folder says what it left out."""
    return "x" in map(itemgetter(0), entries.values())


def is_left(entry: Entry | None) -> bool:
    """Return whether an entry stands for what was left out."""
    return entry is not None and entry[0] == "x"


def _is_mode(mode: int) -> bool:
    return 0 <= mode <= 0o777 and not isinstance(mode, bool)


def _is_name(name: str) -> bool:
    return (
        name not in ("", ".", "..")
        and "/" not in name
        and "\0" not in name
        and 0 < _bytes(name) <= MAX_NAME
    )


def _bytes(text: str) -> int:
    """Return the length of a name in the file system, 0 if it can be none."""
    try:
        return len(os.fsencode(text))
    except UnicodeEncodeError:
        return 0


def load(store: ObjectStore, tree: str) -> Entries:
    """Return the entries of a folder by the id of its object, which nobody may change.

    Raises WorkspaceError.
    """
    found = store.parsed.get(tree)
    if found is None:
        found = decode(store.read(tree, MAX_FOLDER_BYTES))
        _remember(store, tree, found)
    return found


def keep(store: ObjectStore, entries: Entries) -> str:
    """Store a folder and return the id of its object; nobody changes `entries` after that."""
    tree = store.put(encode(entries))
    _remember(store, tree, entries)
    return tree


def _remember(store: ObjectStore, tree: str, entries: Entries) -> None:
    """Keep a directory object parsed: what is compared is mostly what was just recorded."""
    if len(entries) > MAX_PARSED or tree in store.parsed:
        return
    store.parsed[tree] = entries
    store.parsed_entries += len(entries) + 1
    while store.parsed_entries > PARSED:
        oldest = next(iter(store.parsed))
        store.parsed_entries -= len(store.parsed.pop(oldest)) + 1


# -- walk -----------------------------------------------------------------------------------------


@dataclass
class Count:
    """What is left of the entries that a walk may visit."""

    left: int = MAX_ENTRIES

    def take(self, number: int) -> None:
        """Count entries. Raises WorkspaceError where there are too many."""
        self.left -= number
        if self.left < 0:
            raise WorkspaceError("too_large", f"the tree has more than {MAX_ENTRIES} entries")


def walk(store: ObjectStore, tree: str, top: Place = ()) -> Iterator[tuple[Place, Entry]]:
    """Yield all entries of a tree with their place, a folder before what it holds."""
    return (row for row in _walk(store, tree, top, Count()) if row[1][0] != "x")


def _walk(
    store: ObjectStore, tree: str, place: Place, count: Count
) -> Iterator[tuple[Place, Entry]]:
    entries = load_in_walk(store, tree, place, count)
    for name, entry in entries.items():
        yield (*place, name), entry
        if entry[0] == "d":
            yield from _walk(store, entry[2], (*place, name), count)


def load_in_walk(store: ObjectStore, tree: str, place: Place, count: Count) -> Entries:
    """Return the entries of a folder of a walk. Raises WorkspaceError at its limits."""
    entries = load(store, tree)
    count.take(len(entries) + 1)
    if len(place) > DEPTH:
        raise WorkspaceError("too_large", f"the tree has more than {DEPTH} folders in each other")
    return entries


def flatten(store: ObjectStore, tree: str, left: bool = False) -> Flat:
    """Return all entries of a tree by their place, with `left` also what it left out."""
    return {
        place: entry if entry[0] != "d" else ["d", entry[1], ""]
        for place, entry in _walk(store, tree, (), Count())
        if left or entry[0] != "x"
    }


def entry_at(store: ObjectStore, tree: str, place: Place) -> Entry:
    """Return the entry of a tree at a place. Raises WorkspaceError."""
    entry: Entry = ["d", 0, tree]
    for name in place:
        below = load(store, entry[2]).get(name) if entry[0] == "d" else None
        if below is None or is_left(below):
            raise WorkspaceError("not_found", f"{text_of(place)} is not in this tree")
        entry = below
    return entry


def build(store: ObjectStore, flat: Mapping[Place, Entry]) -> str:
    """Store the directory objects of a tree, durably, and return its id.

    Folders on the way that `flat` lacks are made, with mode 0o755.
    """
    folders: dict[Place, Entries] = {(): {}}

    def _folder(place: Place) -> Entries:
        if place not in folders:
            above = _folder(place[:-1])
            if above.get(place[-1], ["d"])[0] != "d":
                raise WorkspaceError("conflict", "a path is a file and a folder at once")
            above.setdefault(place[-1], ["d", 0o755, ""])
            folders[place] = {}
        return folders[place]

    for place in sorted(flat, key=len):
        entry = flat[place]
        _folder(place[:-1])[place[-1]] = list(entry)
        if entry[0] == "d":
            _folder(place)
    for place in sorted(folders, key=len, reverse=True):
        if place:
            folders[place[:-1]][place[-1]][2] = keep(store, folders[place])
    tree = keep(store, folders[()])
    store.settle()
    return tree


def reachable(store: ObjectStore, trees: list[str]) -> set[str]:
    """Return the ids of all objects of trees that are here; what is missing is left out."""
    found: set[str] = set()
    walked: set[str] = set()  # besides: a file may hold the bytes of a directory object
    waiting = list(trees)
    while waiting:
        tree = waiting.pop()
        if tree in walked or not ID.match(tree):
            continue
        walked.add(tree)
        found.add(tree)
        try:
            entries = load(store, tree)
        except WorkspaceError:
            continue
        waiting += (entry[2] for entry in entries.values() if entry[0] == "d")
        found.update(entry[3] for entry in entries.values() if entry[0] == "f")
    return found


@dataclass
class Missing:
    """Objects of a tree that are not here: the first of them, their number and bytes."""

    objects: list[dict[str, Any]]
    count: int = 0
    bytes: int = 0


def missing(store: ObjectStore, tree: str, most: int) -> Missing:
    """Return which objects of a tree are not here, at most `most` of them by name.

    What a missing directory object names is not known: ask again when it is here. The size of one
    is given as 0. A folder that holds nothing is never missing.
    """
    for nothing in ({}, {"": SAYS}):
        keep(store, nothing)
    found = Missing([])
    seen: set[tuple[str, str]] = set()
    count = Count()

    def _note(sha256: str, size: int, place: Place) -> None:
        found.count += 1
        found.bytes += size
        if len(found.objects) < most:
            found.objects.append({"sha256": sha256, "bytes": size, "path": text_of(place)})

    def _visit(sha256: str, place: Place) -> None:
        if ("d", sha256) in seen:
            return
        seen.add(("d", sha256))
        try:
            if not store.has(sha256):
                raise absence(sha256)
            entries = load_in_walk(store, sha256, place, count)
        except WorkspaceError as error:
            if error.code != "missing_objects":
                raise
            _note(sha256, 0, place)
            return
        for name, entry in entries.items():
            if entry[0] == "d":
                _visit(entry[2], (*place, name))
            elif entry[0] == "f" and ("f", entry[3]) not in seen:
                seen.add(("f", entry[3]))
                if store.size(entry[3]) != entry[2]:
                    _note(entry[3], entry[2], (*place, name))

    _visit(tree, ())
    return found


# -- paths ----------------------------------------------------------------------------------------
# A path is sent as text. A byte of a name that is not UTF-8 stands in it as the character
# U+F700 + byte; such a character in a name stands as its three bytes, so both ways are exact.

ODD = 0xF700


def text_of(place: Place) -> str:
    """Return a path as text for clients: any Unicode, without lone surrogates."""
    text = "/".join(place)
    if text.isascii():
        return text
    return "".join(map(_text, text))


def _text(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return chr(ODD + code - 0xDC00)
    if ODD + 0x80 <= code <= ODD + 0xFF:
        return "".join(chr(ODD + byte) for byte in character.encode())
    return character


def name_of(text: str) -> str:
    """Return what `text_of` made of a path back as it is in the file system."""
    if text.isascii():
        return text
    try:
        data = b"".join(
            bytes([ord(char) - ODD]) if ODD + 0x80 <= ord(char) <= ODD + 0xFF else char.encode()
            for char in text
        )
    except UnicodeEncodeError:
        raise WorkspaceError("invalid", "a path is not Unicode") from None
    return data.decode("utf-8", "surrogateescape")


def place_of(text: str, top: bool = False) -> Place:
    """Return the place that a client's path names. Raises WorkspaceError.

    With `top`, "" or "." is the workspace itself.
    """
    if top and text in ("", "."):
        return ()
    if text.startswith("/"):
        raise WorkspaceError("outside", "a path is relative to the workspace")
    place = tuple(name_of(text).removesuffix("/").split("/"))
    if ".." in place:
        raise WorkspaceError("outside", "a path may not hold ..")
    if len(place) > DEPTH + 1 or not all(map(_is_name, place)):
        raise WorkspaceError("invalid", "a path is names of at most 255 bytes, divided by slashes")
    return place
