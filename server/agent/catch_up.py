"""Bring a document up to what earlier runs on this host have left of its session.

See session/run_record.py for the rules, run_records.py for the files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..json_types import Event, Session
from ..session import run_record
from ..session.run_record import Record

Find = Callable[[str], list[Record]]  # base -> the records of the answers, the newest first


class CatchUp:
    """What a run that opens takes from records.

    base        of the session, once `events` has ended
    record      the record that the run continues; None to begin one
    forgotten   fingerprints of calls that may have run and that nothing else tells of
    """

    def __init__(self, session: Session, find: Find, resumed: str = "") -> None:
        self._session, self._find, self._resumed = session, find, resumed
        self.base = ""
        self.record: Record | None = None
        self.forgotten: set[str] = set()

    def events(self) -> Iterator[Event]:
        """Yield the events; each is folded into the session before the next is asked for."""
        yield from self._before_new_messages()
        session = self._session
        self.base = run_record.base_of(session["messages"])
        for record in self._find(self.base):
            if record.shrunk:
                self.forgotten |= run_record.forgotten_calls(session, record)
                continue
            lacking = run_record.missing_messages(session, record, resumed=self._resumed)
            if lacking is not None:
                self.record = record
                if lacking:
                    yield from run_record.catch_up_events(session, lacking, record)
                self.forgotten |= run_record.forgotten_calls(session, record)
                return

    def _before_new_messages(self) -> Iterator[Event]:
        """Yield what earlier messages of the user's have been answered and the document lacks."""
        session = self._session
        for back in range(run_record.new_user_messages(session["messages"]), 0, -1):
            if not (end := len(session["messages"]) - back):
                continue
            history: Session = {**session, "messages": session["messages"][:end]}
            for record in self._find(run_record.base_of(history["messages"])):
                if lacking := run_record.missing_messages(history, record):
                    yield from run_record.events_before(session, end, lacking, record)
                    break
                if lacking is not None:
                    break
