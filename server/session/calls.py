"""What to do about one tool call that has no result yet: run it, recover it, answer it, or ask.

Pure, and the heart of resuming: the same rules decide a call that the model has just made, one
that a person has answered, and one that was cut in the middle on a server that is gone
(docs/reference/session.md, "Resume rules").
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from ..jsontext import browser_safe, dumps
from ..schema.validate import check_schema
from .answers import ANSWERS
from .ending import ended_by
from .fields import ASKED
from .jobs import (
    Ask,
    Call,
    Execute,
    Given,
    Job,
    Recover,
    Reply,
    Send,
    Session,
    Toolbox,
    Verdict,
    Wait,
    unattended,
)

# A call in one of these states may have had its effect, whatever the messages say (rule 6).
MAYBE_EXECUTED = ("started", "done", "failed")
# A call whose page has not answered yet; `started` is the page's own mark.
WITH_PAGE = ("proposed", "waiting", "started")


def unanswered(session: Session) -> list[tuple[Call, dict[str, Any], bool]]:
    """Calls without a result, in order: (call, its message, whether the user has moved on).

    A message that is still open was cut before its end, so its calls never existed (rule 1).
    """
    found: list[tuple[Call, dict[str, Any], bool]] = []
    results: set[str] = set()
    moved_on = False
    for message in reversed(session["messages"]):
        role = message["role"]
        if role == "tool":
            results.add(message["tool_call_id"])
        elif role == "user":
            moved_on = True
        elif role == "assistant" and (calls := message.get("tool_calls")):
            if not message.get("open"):
                left = [call for call in calls if call["id"] not in results]
                found[:0] = [(call, message, moved_on) for call in left]
    return found


def plan(
    session: Session,
    toolbox: Toolbox,
    recoverable: Container[str],
    call: Call,
    message: dict[str, Any],
    moved_on: bool,
) -> Job | Ask | Wait:
    """What to do about one call: by what its ledger entry and its interrupt's answer say."""
    entry = session["calls"].get(call["id"]) or {"state": "proposed"}
    reason, answer = answer_to(session, call["id"])
    if reason == "client_tool" and entry["state"] in WITH_PAGE:
        return with_page(session, toolbox, call, entry, moved_on)
    if entry["state"] in MAYBE_EXECUTED or entry["state"] == "indeterminate":
        answer = answer if reason == "indeterminate" else None
        return replay(session, toolbox, recoverable, call, entry, answer, moved_on)
    if said := cut_short(message, call):
        return Reply(call, said, "failed")
    if moved_on and answer is None:
        return Reply(call, SUPERSEDED, "skipped", status="skipped")
    if entry["state"] == "waiting" and isinstance(entry.get("input"), dict):
        return go_on(session, toolbox, call, entry, answer if reason == "input_required" else None)
    if answer is not None and answer["status"] == "cancelled":
        return cancelled(call, answer)
    verdict = toolbox.verdict(session, call)
    match verdict.action:
        case "wait":
            return Wait()
        case "deny":
            return Reply(call, f"Denied: {verdict.reason}", "denied", status="denied")
        case "error":
            return Reply(call, verdict.reason, "failed", status=verdict.status)
        case "question":
            return question(call, verdict, entry, answer if reason == "input_required" else None)
        case "client" | "send":
            return to_page(call, verdict, entry)
    same = reason == "tool_call" and entry.get("fingerprint") == verdict.fingerprint
    if answer is not None and same:
        return decided(session, toolbox, call, verdict, entry, answer["payload"])
    if verdict.action == "run":
        return execute(call, verdict, entry)
    return approval(call, verdict, entry)


def decided(
    session: Session,
    toolbox: Toolbox,
    call: Call,
    verdict: Verdict,
    entry: dict[str, Any],
    payload: dict[str, Any],
) -> Execute | Reply:
    """An answered approval. It holds for exactly the arguments that were shown, or for those the
    person put in their place; anything else asks again."""
    grant = granted(call, payload)
    if not payload["approved"]:
        said = payload.get("reason") or ""
        why = f" Reason: {said}" if said else ""
        text = f"The user denied this call.{why} Do not repeat it unless asked to."
        return Reply(call, text, "denied", status="denied", grant=grant, feedback=said)
    edited = payload.get("edited_args")
    if edited is not None:
        verdict = toolbox.verdict(session, with_args(call, edited))
        if verdict.action in ("deny", "error", "wait"):
            return Reply(call, verdict.reason, "failed", status="invalid_arguments")
    policy = payload.get("policy")
    return execute(call, verdict, entry, edited=edited, grant=grant, policy=policy)


def replay(
    session: Session,
    toolbox: Toolbox,
    recoverable: Container[str],
    call: Call,
    entry: dict[str, Any],
    answer: dict[str, Any] | None,
    moved_on: bool,
) -> Job | Ask:
    """A call that may have run already, and whose result is not here (rule 6). If its arguments are
    no longer those it was allowed with, it is asked about again (rule 4)."""
    if call["id"] in recoverable:
        return Recover(call, entry.get("attempt", 0))
    as_run = call if entry.get("args") is None else with_args(call, entry["args"])
    verdict = toolbox.verdict(session, as_run)
    runnable = verdict.action in ("run", "ask")
    changed = "args" not in entry and entry.get("fingerprint") != verdict.fingerprint
    agreed = runnable and not (verdict.action == "ask" and changed)
    if entry["state"] == "indeterminate" and answer is not None:
        if answer["status"] == "cancelled":
            said = reason_of(answer)
            text = f"{LOST}{f' The user says: {said}' if said else ''}"
            return Reply(call, text, "skipped", status="indeterminate", feedback=said)
        payload = answer["payload"]
        if payload["action"] == "result":
            return Reply(call, payload.get("content", ""), "done", is_error=False, status="ok")
        if payload["action"] == "retry" and verdict.action in ("client", "send"):
            return to_page(call, verdict, entry)
        if payload["action"] == "skip" or not runnable:
            return Reply(call, LOST, "skipped", status="indeterminate")
        if agreed:
            return execute(call, verdict, entry, edited=entry.get("args"))
    elif agreed and verdict.repeatable:
        return execute(call, verdict, entry, edited=entry.get("args"))
    if moved_on or unattended(session):
        return Reply(call, LOST, "skipped", status="indeterminate")
    return ask(call, "indeterminate", "indeterminate", verdict, entry, f"{LOST} What now?")


def go_on(
    session: Session,
    toolbox: Toolbox,
    call: Call,
    entry: dict[str, Any],
    answer: dict[str, Any] | None,
) -> Execute | Reply | Ask:
    """A call that ran until its tool asked the person something (`entry["input"]`). With the
    answer, or the refusal of one, it runs again; it was approved before, for these arguments."""
    as_run = call if entry.get("args") is None else with_args(call, entry["args"])
    verdict = toolbox.verdict(session, as_run)
    if verdict.action not in ("run", "ask"):
        status = "denied" if verdict.action == "deny" else "not_found"
        return Reply(call, verdict.reason, "failed", status=status)
    asked = entry["input"]
    if verdict.fingerprint != entry.get("fingerprint"):
        return approval(call, verdict, {k: v for k, v in entry.items() if k != "input"})
    if answer is None and unattended(session):
        answer = {"status": "cancelled", "payload": {"action": "decline"}}
    if answer is not None:
        payload = answer.get("payload")
        refused = "decline" if payload == {"action": "decline"} else "cancel"  # a no, or no answer
        said = {"answer": payload} if answer["status"] == "resolved" else {"refused": refused}
        entry = {**entry, "input": {**asked, **said}}
        return execute(call, verdict, entry, edited=entry.get("args"))
    schema = asked.get("response_schema")
    schema = schema if isinstance(schema, dict) else {"type": "object"}
    text = str(asked.get("message", ""))
    return ask(call, "input_required", "waiting", verdict, entry, text, schema)


def question(
    call: Call, verdict: Verdict, entry: dict[str, Any], answer: dict[str, Any] | None
) -> Reply | Ask:
    """A tool that asks the person: its result is their answer."""
    if answer is not None:
        return Reply(call, as_text(answer.get("payload")), "done", is_error=False, status="ok")
    args = verdict.args or {}
    schema = args.get("response_schema") or {"type": "string"}
    if misfits := check_schema(schema):  # no answer would ever fit
        text = f"response_schema cannot be used: {misfits[0]}"
        return Reply(call, text, "failed", status="invalid_arguments")
    text = str(args.get("question", ""))
    found = ask(call, "input_required", "waiting", verdict, entry, text, schema)
    if args.get("suggestions"):
        found.interrupt["suggestions"] = args["suggestions"]
    return found


def to_page(
    call: Call, verdict: Verdict, entry: dict[str, Any], state: str = "waiting"
) -> Ask | Send:
    """A tool that lives in the page: asked for its result, or only told. A reason in the verdict
    is why the page must ask the person first."""
    if verdict.action == "send":
        return Send(call, verdict.args or {})
    text = f"Run {call['function']['name']} in the page"
    found = ask(call, "client_tool", state, verdict, entry, text)
    if verdict.reason:
        found.interrupt["confirm"] = verdict.reason
    return found


def with_page(
    session: Session, toolbox: Toolbox, call: Call, entry: dict[str, Any], moved_on: bool
) -> Given | Send | Reply | Ask:
    """A call that was handed over to the page. It stays there, whatever tools the session declares
    by now, until the page answers or the user moves on; `started` is the page's own write-ahead
    mark. An answer is for the arguments that were handed over: if they change, it is handed over
    again."""
    interrupt = next(i for i in session["interrupts"] if i.get("call_id") == call["id"])
    answer = interrupt.get("answer")
    begun = entry["state"] == "started"
    if answer is None and moved_on:
        status = "indeterminate" if begun else "skipped"
        return Reply(call, LOST if begun else SUPERSEDED, "skipped", status=status)
    if answer is not None and answer["status"] == "cancelled":
        return cancelled(call, answer)
    verdict = toolbox.verdict(session, call)
    changed = entry.get("fingerprint") not in (None, verdict.fingerprint)
    if verdict.action in ("client", "send") and changed:
        return to_page(call, verdict, entry, "started" if begun else "waiting")
    if answer is not None:
        return Given(call, answer.get("payload") or {})
    return Ask(interrupt, entry)


def reason_of(answer: dict[str, Any]) -> str:
    """Why a person has cancelled, if they said so."""
    payload = answer.get("payload")
    reason = payload.get("reason") if isinstance(payload, dict) else None
    return reason if isinstance(reason, str) else ""


def cancelled(call: Call, answer: dict[str, Any]) -> Reply:
    said = reason_of(answer)
    text = f"The user cancelled this call.{f' Reason: {said}' if said else ''}"
    return Reply(call, text, "skipped", status="skipped", feedback=said)


def approval(call: Call, verdict: Verdict, entry: dict[str, Any]) -> Ask:
    text = f"Allow {call['function']['name']}?"
    found = ask(call, "tool_call", "asking", verdict, entry, text)
    if verdict.offer:
        found.interrupt["policy"] = verdict.offer
    return found


def ask(
    call: Call,
    reason: str,
    state: str,
    verdict: Verdict,
    entry: dict[str, Any],
    message: str,
    schema: dict[str, Any] | None = None,
) -> Ask:
    interrupt = {
        "id": ASKED + call["id"],
        "reason": reason,
        "call_id": call["id"],
        "message": message,
        "tool": call["function"]["name"],
        "args": browser_safe(verdict.args or {}),
        "response_schema": schema or ANSWERS[reason],
    }
    return Ask(interrupt, ledger_entry(call, verdict, entry, state, entry.get("attempt", 0)))


def execute(
    call: Call,
    verdict: Verdict,
    entry: dict[str, Any],
    *,
    edited: dict[str, Any] | None = None,
    grant: dict[str, Any] | None = None,
    policy: dict[str, Any] | None = None,
) -> Execute:
    started = ledger_entry(call, verdict, entry, "started", entry.get("attempt", 0) + 1)
    if edited is not None:
        started["args"] = edited
    if policy is not None:
        started["policy"] = policy
    args, repairs = verdict.args or {}, tuple(verdict.repairs)
    return Execute(call, args, started, verdict.repeatable, grant, verdict.parallel_safe, repairs)


def ledger_entry(
    call: Call, verdict: Verdict, entry: dict[str, Any], state: str, attempt: int
) -> dict[str, Any]:
    kept = {key: value for key, value in entry.items() if key not in ("name", "state")}
    return {
        **kept,
        "name": call["function"]["name"],
        "fingerprint": verdict.fingerprint,
        "state": state,
        "attempt": attempt,
    }


def answer_to(session: Session, call_id: str) -> tuple[str, dict[str, Any] | None]:
    """The reason the call was left to people for, and their answer if they gave one."""
    for interrupt in session["interrupts"]:
        if interrupt.get("call_id") == call_id:
            return interrupt["reason"], interrupt.get("answer")
    return "", None


def granted(call: Call, payload: dict[str, Any]) -> dict[str, Any] | None:
    if payload.get("remember") != "session":
        return None
    grant = {"tool": call["function"]["name"]}
    if payload.get("match"):
        grant["match"] = payload["match"]
    return {**grant, "decision": "allow" if payload["approved"] else "deny"}


def with_args(call: Call, args: dict[str, Any]) -> Call:
    """The call with other arguments, which may be a dict in the place of the JSON text."""
    return {**call, "function": {**call["function"], "arguments": args}}


def cut_short(message: dict[str, Any], call: Call) -> str:
    """What a call is told whose answer ended within it: the last of its message, at the limit of
    tokens, or with nothing of its arguments where the model did not end by its own word."""
    reason = message.get("meta", {}).get("finish_reason") or "stop"
    if message["tool_calls"][-1]["id"] != call["id"] or reason in ("tool_calls", "stop"):
        return ""
    if ended_by(message) == "length":
        return "Not run: the model's answer was cut off by its length limit."
    arguments = call["function"]["arguments"]
    nothing = isinstance(arguments, str) and not arguments.strip()
    return f"Not run: the model's answer broke off in this call ({reason})." if nothing else ""


def as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else dumps(value)


SUPERSEDED = "Not run: superseded by a new user message."
LOST = "This call was started, but its result was lost; it may or may not have taken effect."
