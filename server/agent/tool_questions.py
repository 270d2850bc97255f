"""The question that a tool asks a person during its call, as the call log keeps it (`input`).

It comes back in a session, so any of it may be malformed. Pure.
"""

from __future__ import annotations

from ..json_types import Interrupt, Json, LedgerEntry
from ..lib.strict_json import browser_safe, canonical
from ..session.answers import ANSWERS
from ..session.call_actions import Verdict

REFUSED = ("decline", "cancel")  # `refused` of a question that got no answer


def awaits_answer(entry: LedgerEntry) -> bool:
    """Return whether the call's tool waits for an answer. `entry`: from `with_question`."""
    return entry["state"] == "waiting" and "input" in entry


def with_question(entry: LedgerEntry, verdict: Verdict) -> LedgerEntry:
    """Return the entry, without an unusable `input` (a tool's question).

    It is unusable if this tool cannot ask, if it belongs to other arguments, or if it neither has
    an answer nor waits for one.
    """
    question = entry.get("input")
    if isinstance(question, dict) and verdict.may_ask:
        is_answered = "answer" in question or question.get("refused") in REFUSED
        usable = is_answered or entry["state"] == "waiting"
        if usable and entry.get("fingerprint") == verdict.fingerprint:
            return entry
    return without_question(entry)


def without_question(entry: LedgerEntry) -> LedgerEntry:
    """Return a copy of the entry without its `input`."""
    found = entry.copy()
    found.pop("input", None)
    return found


def answer_sentence(question: Json) -> str:
    """Return a sentence with the answer that a tool's question has got."""
    if "sign_in" in question:
        return "It goes on after a sign-in."
    answer = "no answer"
    if question.get("refused") not in REFUSED:
        answer = f"the answer {canonical(browser_safe(question['answer']))}"
    return f"It goes on with {answer} to its question: {question.get('message', '')}"


def asked_by(question: Json) -> tuple[str, Json, Interrupt]:
    """Return the reason, the answer's schema and further members of the question's interrupt.

    A tool whose server wants a sign-in asks for that. `sign_in`, `server`: that server's name.
    """
    if isinstance(server := question.get("sign_in"), str):
        return "mcp_sign_in", ANSWERS["mcp_sign_in"], {"server": server}
    schema = question.get("response_schema")
    members: Interrupt = {"server": str(question["server"])} if "server" in question else {}
    return "input_required", schema if isinstance(schema, dict) else {"type": "object"}, members
