"""Put answers to questions of a session, whoever else looks at it.

An answer is put to the stored session, not to the copy of a device: of two devices that answer the
same question the first one counts, and no branch comes of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from ...errors import Problem
from ...json_types import Interrupt, Session
from ...lib.json_schema.objects import object_schema
from ...lib.strict_json import as_list, as_object, pointer
from ...session.accept import accept
from ...session.json_patch import parse_pointer
from ...tools.policy import fingerprint

MOST = 100  # answers at once
_TEXT = {"type": "string"}
_ENTRY = object_schema(
    {"id": _TEXT, "answer": {"type": "object"}, "fingerprint": _TEXT}, ("id", "answer")
)
BODY = object_schema(
    {"resume": {"type": "array", "minItems": 1, "maxItems": MOST, "items": _ENTRY}},
    None,
    closed=True,
)
_NOT_COMPARED = ("answer", "fingerprint")
ANSWERED = "The question {} was answered already"
GONE = "The question {} is not there any more: it was answered, or is no longer asked"
CHANGED = "The question {} is about something else now: look at it again"


def find_question(
    session: Mapping[str, Any], entry: Mapping[str, Any], position: int = 0
) -> Interrupt:
    """Return the open question that an entry of `resume` answers.

    What the entry has of the question must be as it is stored, and its `fingerprint` that of the
    call, as it would run and as the question shows it. Raises Problem `question_closed`.
    """
    by = "id" if "id" in entry else "call_id"
    name = entry[by]
    text, place = GONE, pointer("resume", position)
    for question in as_list(session.get("interrupts")):
        if as_object(question).get(by) != name:
            continue
        if "answer" in question:
            text = ANSWERED
        elif _is_same(session, question, entry):
            return cast(Interrupt, question)
        else:
            text = CHANGED
    detail = text.format(repr(name[:60]))
    raise Problem("question_closed", detail, errors=[{"pointer": place, "detail": detail}])


def _is_same(
    session: Mapping[str, Any], question: Mapping[str, Any], entry: Mapping[str, Any]
) -> bool:
    compared = [name for name in entry if name not in _NOT_COMPARED]
    if any(question.get(name) != entry[name] for name in compared):
        return False
    if (wanted := entry.get("fingerprint")) is None:
        return True
    call = as_object(as_object(session.get("calls")).get(question.get("call_id", "")))
    shown = fingerprint(question.get("tool", ""), question.get("args", {}))
    return wanted == shown == call.get("fingerprint") and call.get("state") == "asking"


def with_answers(session: Session, entries: list[Any]) -> Session:
    """Return the session, changed in place, with answers. Raises Problem, and changes nothing."""
    questions = [find_question(session, entry, at) for at, entry in enumerate(entries)]
    given = {entry["id"]: at for at, entry in enumerate(entries)}
    for question, entry in zip(questions, entries, strict=True):
        question["answer"] = entry["answer"]
    try:
        return accept(session)
    except Problem as problem:
        problem.errors = [_in_resume(session, given, each) for each in problem.errors]
        for question in questions:
            del question["answer"]
        raise


def _in_resume(session: Session, given: dict[str, int], error: dict[str, str]) -> dict[str, str]:
    """Return an error of an answer with its place in `resume`."""
    first, *rest = parse_pointer(error["pointer"]) or [""]
    if first == "interrupts" and rest:
        position = given.get(session.get("interrupts", [])[int(rest[0])]["id"])
        if position is not None:
            return {**error, "pointer": pointer("resume", position, *rest[1:])}
    return error
