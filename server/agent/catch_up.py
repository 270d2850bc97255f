"""Bring a document up to what earlier runs on this host have left of its session.

See session/run_record.py for the rules, run_records.py for the files.
"""

from __future__ import annotations

from collections.abc import Callable, Generator

from ..json_types import Event, Session
from ..session import run_record
from ..session.run_record import Record

Find = Callable[[str], list[Record]]  # base -> the records of the answers, the newest first


def catch_up(
    session: Session, find: Find, resumed: str = ""
) -> Generator[Event, None, tuple[Record | None, set[str]]]:
    """Yield the events; each is folded into the session before the next is asked for.

    Return the record that the run continues, None to begin one, and the fingerprints of calls that
    may have run and that nothing else tells of. Linear in the messages.
    """
    messages, users = session["messages"], run_record.count_users(session["messages"])
    for behind, later in run_record.ends_before(messages):
        end = len(messages) - behind
        for record in find(run_record.base_of(messages, users - later, end)):
            history: Session = {**session, "messages": messages[:end]}
            if lacking := run_record.missing_messages(history, record):
                yield from run_record.events_before(session, end, lacking, record)
                messages = session["messages"]
            if lacking is not None:
                break
    forgotten: set[str] = set()
    for record in find(run_record.base_of(messages, users)):
        lacking = run_record.missing_messages(session, record, resumed=resumed)
        if lacking:
            yield from run_record.catch_up_events(session, lacking, record)
        if lacking is not None or not record.messages:
            forgotten |= run_record.forgotten_calls(session, record)
        if lacking is not None:
            return record, forgotten
    return None, forgotten
