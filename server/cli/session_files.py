"""Sessions in files, saved after every event of a run, so that nothing is lost by a kill.

Used by `chat`, `run --store` and the library; the server itself keeps no sessions. A
`LockedSession` is one file. Writing a whole long session for each delta would be too slow, so
events are appended to a journal beside the file, and the file is rewritten as often as that is
cheap. The session file is replaced atomically, never changed in place. A journal is valid only for
the file content that it was begun with.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from copy import deepcopy
from pathlib import Path
from typing import Any, BinaryIO, Self
from urllib.parse import quote, unquote

from ..errors import Problem
from ..json_types import Event, Json, Session
from ..lib import strict_json
from ..lib.runtime.descriptors import try_lock
from ..lib.runtime.start_folder import resolve
from ..lib.strict_json import JSONError, dumps, loads
from ..session.fold import DELTAS, Folder
from ..session.result_places import is_object
from ..settings.file_trust import follow_links

SUFFIX = ".json"
LONGEST_NAME = 200  # bytes of a file's name without its suffix; systems allow 255
SHARE = 20  # the file is rewritten after SHARE times the duration of the last write
COMPONENTS = "components"  # member of `ext` with the states of a program's own components


def file_of(name: str | Path) -> Path:
    """Return the path of a file with `~` and links resolved. Raises OSError if it is no file."""
    try:
        file = follow_links(resolve(Path(name).expanduser()))
        there = file.exists()
    except (RuntimeError, ValueError) as error:  # no such user; a NUL
        raise OSError(errno.EINVAL, str(error)) from None
    if there and not file.is_file():  # never replace a device
        raise OSError(errno.EINVAL, "is no file")
    return file


def write_whole(file: Path, data: bytes) -> None:
    """Replace the content of a file atomically. Raises OSError."""
    draft = file.with_name(f".{file.name[:100]}.{secrets.token_hex(4)}.draft")
    try:
        with draft.open("xb") as out:
            if file.exists():
                os.fchmod(out.fileno(), file.stat().st_mode & 0o777)
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        draft.replace(file)
    except OSError:
        with suppress(OSError):
            draft.unlink()
        raise


def as_text(session: Session) -> bytes:
    """Return the session as indented JSON in UTF-8."""
    return (json.dumps(session, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "replace")


def read(file: Path) -> Session:
    """Return the session in a file, with the events of its journal applied.

    Raises Problem that names the file, and line and column if the JSON is invalid.
    """
    try:
        data = file.read_bytes()
    except OSError as error:
        raise Problem("bad_request", f"{file}: {error.strerror}") from None
    return parse_session(data, str(file), journal_of(file))


def parse_session(data: bytes, name: str, journal: Path | None = None) -> Session:
    """Return the session in `data`, with the events of `journal` applied.

    Raises Problem that names `name` and the place of the error.
    """
    try:
        document: Any = loads(data)
    except JSONError as error:
        place, message = strict_json.explain_error(data, error)
        raise Problem("bad_json", f"{name}{place}: {message}") from None
    if not is_object(document):
        raise Problem("session_invalid", f"{name}: a session is one JSON object")
    session: Session = document  # checked when it is run
    if journal is not None:
        folder = Folder(session)
        for event in _journal_events(journal, data):
            folder.apply(event)
        folder.flush()
    return session


def journal_of(file: Path) -> Path:
    """Return the path of a file's journal."""
    return file.with_name(f".{file.name}.journal")


def digest_of(data: bytes) -> str:
    """Return the digest of a file by which its journal names it."""
    return hashlib.sha256(data).hexdigest()


def _journal_events(journal: Path, data: bytes) -> Iterator[Event]:
    """Yield the events of a journal that was begun with `data`. The last line may be incomplete.

    Raises Problem if it is another kind of journal, whose events would be lost.
    """
    try:
        head, *lines = journal.read_bytes().split(b"\n")
    except OSError:
        return
    with suppress(JSONError):
        begun: Any = loads(head)
        if is_object(begun) and begun.keys() - {"base"}:
            text = f"{journal}: this journal is an extension's; `--store @NAME` goes on with it"
            raise Problem("bad_request", text)
        if begun != {"base": digest_of(data)}:
            return
        for line in lines:
            event: Any = loads(line)
            if is_object(event):
                yield event


class LockedSession:
    """One session in one file, locked against other programs.

    `failed`: why the last write failed, "" if it did not. Raises OSError if the journal cannot be
    written, and Problem("run_active") if the file is open elsewhere.
    """

    def __init__(self, file: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.file, self.failed = file, ""
        self._clock = clock
        self._journal: BinaryIO = _lock_journal(journal_of(file))
        self._cost = self._saved_at = 0.0
        self._written = False  # this object has written the file; the journal needs that

    def exists(self) -> bool:
        """Return whether the file exists."""
        return self.file.exists()

    def load(self) -> Session:
        """Return the saved session, with the events of the journal applied. Raises Problem."""
        return read(self.file)

    def save(self, session: Session) -> None:
        """Write the whole file and begin a new journal. Sets `failed`."""
        began = self._clock()
        try:
            self.replace(as_text(session))
            self.failed, self._written = "", True
        except OSError as error:
            self.failed = error.strerror or str(error)
        self._saved_at = self._clock()
        self._cost = self._saved_at - began

    def replace(self, data: bytes) -> None:
        """Write the file, then begin its journal. Raises OSError."""
        write_whole(self.file, data)
        self.begin_journal(dumps({"base": digest_of(data)}).encode() + b"\n")

    def begin_journal(self, head: bytes) -> None:
        """Replace the content of the journal. Raises OSError."""
        self._journal.seek(0)
        self._journal.truncate()
        self._journal.write(head)
        self._journal.flush()

    def save_event(self, event: Event, session: Session) -> None:
        """Save an event that was just folded into the session, before returning. Sets `failed`."""
        if self.needs_save(event):
            self.save(session)
        else:
            self.append(event)

    def needs_save(self, event: Event) -> bool:
        """Return whether the whole file is written after this event."""
        whole = event["type"] not in DELTAS  # the fold gathers deltas: the session lacks the last
        due = self._clock() >= self._saved_at + SHARE * self._cost
        return whole and bool(due or self.failed or not self._written)

    def append(self, event: Event) -> None:
        """Add a line to the journal. Sets `failed`."""
        try:
            self._journal.write(dumps(event).encode("utf-8", "replace") + b"\n")
            self._journal.flush()
        except OSError as error:
            self.failed = error.strerror or str(error)

    def close(self) -> None:
        """Release the lock. The journal is kept if it may hold events that the file lacks."""
        if self._journal.closed:
            return
        with suppress(OSError):
            if not self.failed and (self._written or not os.fstat(self._journal.fileno()).st_size):
                journal_of(self.file).unlink()
        with suppress(OSError):
            self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _lock_journal(path: Path) -> BinaryIO:
    """Open and lock a journal. The lock ends with the file object or the process.

    Raises Problem("run_active") if it is locked, OSError if it cannot be opened.
    """
    while True:
        # Not through a link, which another user may have put there under the name that we take.
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        with ExitStack() as unused:
            file = unused.enter_context(os.fdopen(os.open(path, flags, 0o600), "r+b"))
            if not try_lock(file.fileno()):
                name = path.name.removeprefix(".").removesuffix(".journal")
                text = f"{name}: another program has this session open; end that one first"
                raise Problem("run_active", text)
            # Else the previous holder has just removed the journal, and a new one is opened.
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file.fileno()), path.stat()):
                    file.seek(0, os.SEEK_END)
                    unused.pop_all()
                    return file


# -- stores ---------------------------------------------------------------------------------------


class JsonSession:
    """A folder of sessions, one file for each.

    Any text is an id; characters that a file name cannot hold are percent-encoded. The methods
    raise Problem.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).expanduser()

    def file(self, session_id: str) -> Path:
        """Return the path of a session's file, whether or not it exists.

        Raises Problem if the id is empty or too long.
        """
        name = quote(session_id.encode("utf-8", "replace"), safe="")
        name = name.replace(".", "%2E", 1) if name.startswith(".") else name
        if not 0 < len(name) <= LONGEST_NAME:
            raise Problem("bad_request", f"{session_id!r:.60}: this is no id for a file's name")
        return self.path / f"{name}{SUFFIX}"

    def open_locked(self, session_id: str) -> LockedSession:
        """Open and lock the session's file, to save it after every event. Raises Problem."""
        file = self.file(session_id)
        with _as_problems(self.path):
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            return LockedSession(file)

    def session_exists(self, session_id: str) -> bool:
        """Return whether the session is stored."""
        return self.file(session_id).is_file()

    def load_session_state(self, session_id: str) -> Session:
        """Return a stored session. Raises Problem."""
        return read(self.file(session_id))

    def save_session_state(self, session_id: str, session: Session) -> None:
        """Store a session. Raises Problem."""
        with self.open_locked(session_id) as kept:
            kept.save(session)
            if kept.failed:
                raise Problem("bad_request", f"{kept.file}: {kept.failed}")

    def delete_session(self, session_id: str) -> bool:
        """Delete a session. Return whether there was one. Raises Problem if open elsewhere."""
        if not self.session_exists(session_id):
            return False
        with self.open_locked(session_id) as kept, _as_problems(kept.file):
            kept.file.unlink(missing_ok=True)
        return True

    def list_sessions(self) -> list[str]:
        """Return the ids, last changed first."""
        found = []
        with suppress(OSError):
            for file in self.path.iterdir():
                if file.suffix == SUFFIX and not file.name.startswith("."):
                    with suppress(OSError):
                        found.append((-file.stat().st_mtime_ns, unquote(file.stem)))
        return [session_id for _, session_id in sorted(found)]

    def get_session_info(self, session_id: str) -> Json:
        """Return `{id, title, status, messages, bytes, changed}` of a session. Raises Problem.

        `title` is the first line of the first message where there is none. `messages` is their
        number, `changed` is in Unix seconds.
        """
        file = self.file(session_id)
        session = self.load_session_state(session_id)
        with _as_problems(file):
            about = file.stat()
        messages = session.get("messages")
        first = messages[0] if isinstance(messages, list) and messages else None
        words = first.get("content") if isinstance(first, dict) else ""
        return {
            "id": session_id,
            "title": str(session.get("title") or words or "").partition("\n")[0],
            "status": str(session.get("status") or ""),
            "messages": len(messages) if isinstance(messages, list) else 0,
            "bytes": about.st_size,
            "changed": about.st_mtime,
        }


class SessionManager:
    """A set of components that are saved and loaded together, as in AgentScope.

    A component has `save_state() -> JSON` and `load_state(state)`, as AgentScope's StateModule.
    The file holds the session of the first component that has a `session` (a BaseAgent). The states
    of the others are stored in its `ext.components`.
    """

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self._components: list[Any] = []
        self._store: JsonSession | None = None

    @classmethod
    def for_session_id(cls, session_id: str) -> SessionManager:
        """Return a manager for a session."""
        return cls(session_id)

    def with_session(self, store: JsonSession) -> SessionManager:
        """Set the store and return the manager."""
        self._store = store
        return self

    def add_component(self, component: Any) -> SessionManager:
        """Add a component and return the manager.

        Raises TypeError if the component lacks save_state or load_state.
        """
        if not all(callable(getattr(component, n, None)) for n in ("save_state", "load_state")):
            raise TypeError(f"{component!r:.60} has no save_state and load_state")
        self._components.append(component)
        return self

    def session_exists(self) -> bool:
        """Return whether the session is stored. Raises TypeError without a store."""
        return self._require_store().session_exists(self.session_id)

    def load_if_exists(self) -> bool:
        """Load the saved state of every component. Return whether there was one.

        Raises Problem, and TypeError without a store.
        """
        store = self._require_store()
        if not store.session_exists(self.session_id):
            return False
        session = store.load_session_state(self.session_id)
        states = (session.get("ext") or {}).get(COMPONENTS) or {}
        agent = self._agent()
        for each in self._components:
            if each is agent:
                each.load_state(session)
            elif (name := component_name(each)) in states:
                each.load_state(states[name])
        return True

    def save_session(self) -> None:
        """Save all components. Raises Problem if the file cannot be written.

        Raises TypeError without a store and for a state that is not JSON.
        """
        store, agent = self._require_store(), self._agent()
        session: Session = {"messages": []} if agent is None else deepcopy(agent.save_state())
        states = {component_name(c): c.save_state() for c in self._components if c is not agent}
        if states:
            session["ext"] = {**(session.get("ext") or {}), COMPONENTS: states}
        store.save_session_state(self.session_id, session)

    def _agent(self) -> Any:
        return next((each for each in self._components if hasattr(each, "session")), None)

    def _require_store(self) -> JsonSession:
        if self._store is None:
            raise TypeError("there is no store: with_session(JsonSession(folder))")
        return self._store


def component_name(component: Any) -> str:
    """Return its `component_name`, else its class name with a lower-case first letter."""
    given = getattr(component, "component_name", None)
    if isinstance(given, str) and given.strip():
        return given
    name = type(component).__name__
    return name[0].lower() + name[1:]


@contextmanager
def _as_problems(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Problem("bad_request", f"{place}: {error.strerror or error}") from None
