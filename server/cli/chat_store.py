"""The sessions of `chat` and `here` in the home folder: one store for each folder worked on.

The name of such a folder is the percent-encoded path of a real folder, `@NAME` for one of
`server.folders`, `chat` for none.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote, unquote

from ..errors import Problem
from .session_files import LONGEST_NAME, JsonSession
from .terminal import on_one_line

FOLDER = "chats"  # in the home folder
MOST = 100  # sessions of one folder
TITLE = 60  # characters


def store_for(home: Path, place: str) -> JsonSession:
    """Return the store of the sessions that work on `place`."""
    name = quote(place.encode("utf-8", "surrogateescape"), safe="@")
    if len(name) > LONGEST_NAME:
        name = hashlib.sha256(name.encode()).hexdigest()
    with suppress(OSError):
        (home / FOLDER).mkdir(mode=0o700, exist_ok=True)
    return JsonSession(home / FOLDER / name)


def last_session(home: Path, place: str, name: str) -> str:
    """Return the id `name`, or that of the session that was changed last. Raises Problem."""
    store = store_for(home, place)
    if name:
        if store.session_exists(name):
            return name
        raise Problem("bad_request", f"there is no session {on_one_line(name)} of this folder")
    for session_id in store.list_sessions():
        return session_id
    raise Problem("bad_request", "no session of this folder is kept; `sessions` lists all")


def remove_oldest(store: JsonSession) -> int:
    """Make room for one more session and return how many were removed."""
    removed = 0
    for session_id in store.list_sessions()[MOST - 1 :]:
        with suppress(Problem):  # it is open
            removed += store.delete_session(session_id)
    return removed


def describe(store: JsonSession, session_id: str) -> str:
    """Return one line about a session."""
    try:
        about = store.get_session_info(session_id)
    except Problem as problem:
        return on_one_line(f"  {session_id}  {problem.detail}")
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(about["changed"]))
    title = about["title"][:TITLE]
    return on_one_line(f"  {session_id}  {about['messages']} messages  {when}  {title}")


def list_all(home: Path) -> Iterator[str]:
    """Yield lines about all sessions, by the folder that they work on."""
    entries: list[Path] = []
    with suppress(OSError):  # there is none yet
        entries = sorted((home / FOLDER).iterdir())
    for entry in entries:
        store = JsonSession(entry)
        if found := store.list_sessions():
            yield on_one_line(unquote(entry.name, errors="replace"))
            yield from (describe(store, session_id) for session_id in found)
