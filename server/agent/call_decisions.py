"""Decide what to do about one tool call without a result: run it, recover it, answer it, or ask.

Pure. The same rules decide a call that the model has just made, one that a person has answered, and
one that was cut off on another server (docs/reference/session.md, "Resume rules").

Nothing in a document proves that a call was allowed, because the client may have made it up. A call
that policy would ask about runs only by the answer to an interrupt that shows exactly what runs, or
because this host holds the claim of having begun it with these arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass
from itertools import compress, count, repeat
from operator import contains
from typing import Any

from ..json_types import Answer, Grant, Interrupt, Json, LedgerEntry, Message, Session, ToolCall
from ..lib.json_schema.validate import check_schema
from ..lib.strict_json import JSONError, browser_safe, canonical, dumps, loads
from ..session.answers import ANSWERS
from ..session.call_actions import (
    Ask,
    ClientResult,
    Execute,
    Job,
    Recover,
    Reply,
    SendToClient,
    Toolbox,
    Verdict,
    Wait,
    is_unattended,
)
from ..session.limits import MOST
from ..session.outcome import ended_by
from ..session.schema import ASKED
from .tool_questions import (
    answer_sentence,
    asked_by,
    awaits_answer,
    with_question,
    without_question,
)

# A call in one of these states may have taken effect, whatever the messages say (resume rule 6).
MAYBE_EXECUTED = ("started", "done", "failed")
# A call that the page has not answered yet; the page itself sets `started`.
WITH_CLIENT = ("proposed", "waiting", "started")
FORGOTTEN = "It is so old that this server does not know any more whether it ran before."
# What an interrupt shows to people. An answer counts only if the same would be shown now.
SHOWN = ("reason", "tool", "args", "message")

# (call id, attempt, fingerprint) -> whether this host holds the claim of having begun that.
Begun = Callable[[str, int, str], bool]


def unanswered_calls(session: Session) -> list[tuple[ToolCall, Message, bool]]:
    """Return the calls without a result, in order, as (call, its message, has the user moved on).

    A message that is still open was cut off, so its calls never existed (resume rule 1).
    """
    messages = session["messages"]
    with_calls = map(contains, messages, repeat("tool_calls"))  # there may be thousands
    places = [*compress(count(), with_calls)]
    if not places:
        return []
    answered = {each["tool_call_id"] for each in messages if each["role"] == "tool"}
    pending = [
        (place, message, call)
        for place in places
        if (message := messages[place])["role"] == "assistant" and not message.get("open")
        for call in message.get("tool_calls") or ()
        if call["id"] not in answered
    ]
    if not pending:
        return []
    last = next((n for n in range(len(messages), 0, -1) if messages[n - 1]["role"] == "user"), 0)
    return [(call, message, place < last) for place, message, call in pending]


def interrupts_by_call(session: Session) -> dict[str, Interrupt]:
    """Map call ids to the interrupt about the call, the first if there are several."""
    return {each["call_id"]: each for each in reversed(session["interrupts"]) if "call_id" in each}


def never_begun(call_id: str, attempt: int, fingerprint: str) -> bool:
    """Return False: no call was begun here."""
    return False


@dataclass(frozen=True)
class HostRecord:
    """What this host knows of calls that it has begun before.

    recoverable   ids of calls whose lost result it can still return
    horizon_ms    claims up to this time have expired: a call that was asked about or made until
                  then may have run here
    forgotten     fingerprints of calls that may have run here for the same message
    begun         whether it has begun an attempt at a call
    """

    recoverable: Container[str] = ()
    horizon_ms: int = 0
    forgotten: Container[str] = ()
    begun: Begun = never_begun


NO_RECORD = HostRecord()


@dataclass(frozen=True)
class PendingCall:
    """A call without a result, and what decides about it.

    moved_on    whether a newer user message follows
    interrupt   the one about the call, {} if there is none
    """

    session: Session
    toolbox: Toolbox
    host: HostRecord
    call: ToolCall
    message: Message
    moved_on: bool
    interrupt: Interrupt

    @property
    def entry(self) -> LedgerEntry:
        """Return the call's entry in the call log."""
        return self.session["calls"].get(self.call["id"]) or {"state": "proposed"}

    def ledger_verdict(self) -> tuple[Verdict, LedgerEntry]:
        """Return the verdict on the call with its logged arguments, and the entry it applies to."""
        entry = self.entry
        args = entry.get("args")
        call = self.call if args is None else with_args(self.call, args)
        verdict = self.toolbox.verdict(self.session, call)
        return verdict, with_question(entry, verdict)

    def has_begun(self, verdict: Verdict) -> bool:
        """Return whether this host began the call with the arguments of the verdict."""
        attempt = self.entry.get("attempt", 0)
        return self.host.begun(self.call["id"], attempt, verdict.fingerprint)

    def may_run(self, verdict: Verdict) -> bool:
        """Return whether the call may run without asking.

        Either the policy runs it, or this host's claim proves that it began the call with these
        arguments, which required an approval.
        """
        return verdict.action == "run" or (verdict.action == "ask" and self.has_begun(verdict))


def pending_calls(
    session: Session, toolbox: Toolbox, host: HostRecord = NO_RECORD
) -> Iterator[PendingCall]:
    """Yield the calls without a result, in order."""
    if pending := unanswered_calls(session):
        interrupts = interrupts_by_call(session)
        for call, message, moved_on in pending:
            interrupt = interrupts.get(call["id"], {})
            yield PendingCall(session, toolbox, host, call, message, moved_on, interrupt)


def plan_call(pending: PendingCall) -> Job | Ask | Wait:
    """Return what to do about one call, by its ledger entry and the answer to its interrupt."""
    call, moved_on, state = pending.call, pending.moved_on, pending.entry["state"]
    interrupt, answer = pending.interrupt, pending.interrupt.get("answer")
    if interrupt.get("reason") == "client_tool" and state in WITH_CLIENT:
        if with_client := action_with_client(pending):
            return with_client
    if state in MAYBE_EXECUTED or state == "indeterminate":
        if call["id"] in pending.host.recoverable:
            return Recover(call, pending.entry.get("attempt", 0), moved_on)
        return action_for_lost_result(pending)
    if error := truncation_error(pending.message, call):
        return Reply(call, error, "failed")
    superseded = Reply(call, SUPERSEDED, "skipped", status="skipped")
    if moved_on and answer is None:
        return superseded
    verdict, entry = pending.ledger_verdict()
    if refusal := action_for_refusal(pending, verdict, entry):
        return refusal
    match verdict.action:
        case "wait":
            return Wait()
        case "deny":
            return Reply(call, f"Denied: {verdict.reason}", "denied", status="denied")
        case "error":
            return Reply(call, verdict.reason, "failed", status=verdict.status)
    question = question_about(call, verdict, entry)
    if (
        answer is not None
        and isinstance(question, Ask)
        and shows_question(interrupt, entry, question)
    ):
        action = action_for_answer(pending, verdict, entry, question, answer)
        return superseded if moved_on and isinstance(action, Ask) else action
    if moved_on:
        return superseded
    if verdict.action == "run" and not awaits_answer(entry):
        return execute(call, verdict, entry)
    return question


def question_about(
    call: ToolCall, verdict: Verdict, entry: LedgerEntry
) -> Ask | SendToClient | Reply:
    """Return what to ask a person or the page about this call, as it stands now."""
    if verdict.action in ("client", "send"):
        return hand_to_client(call, verdict, entry)
    if verdict.action == "question":
        return ask_person(call, verdict, entry)
    if awaits_answer(entry):
        return ask_for_tool(call, verdict, entry)
    return ask_approval(call, verdict, entry)


def shows_question(interrupt: Interrupt, entry: LedgerEntry, question: Ask) -> bool:
    """Return whether an interrupt of the document shows exactly what would be asked now."""
    same = entry.get("fingerprint") == question.entry["fingerprint"]
    return same and is_same_question(interrupt, question.interrupt)


def is_same_question(interrupt: Mapping[str, Any], current: Mapping[str, Any]) -> bool:
    """Return whether two interrupts show the same, except for the remark that a call is old."""
    if interrupt.get("declaration", current.get("declaration")) != current.get("declaration"):
        return False
    message = interrupt.get("message")
    if isinstance(message, str):
        interrupt = {**interrupt, "message": message.removesuffix(f" {FORGOTTEN}")}
    return canonical([interrupt.get(k) for k in SHOWN]) == canonical(
        [current.get(k) for k in SHOWN]
    )


def action_for_answer(
    pending: PendingCall, verdict: Verdict, entry: LedgerEntry, question: Ask, answer: Answer
) -> Job | Ask:
    """Return what follows from an answer to `question`, the interrupt that showed this call.

    A call whose tool asked a question continues with the answer. If nothing proves that the call
    was allowed, it needs an approval first.
    """
    call, payload = pending.call, answer.get("payload")
    reason = question.interrupt["reason"]
    if reason == "tool_call":
        return execute_approved(pending, verdict, entry, answer["payload"])
    if reason == "client_tool":
        return ClientResult(call, answer.get("payload") or {})
    if not awaits_answer(entry):
        return Reply(call, as_text(payload), "done", is_error=False, status="ok")
    tool_question = {key: value for key, value in entry["input"].items() if key != "refused"}
    entry = {**entry, "input": {**tool_question, "answer": payload}}
    if pending.may_run(verdict):
        return execute(call, verdict, entry)
    return ask_approval(call, verdict, entry)


def action_for_refusal(
    pending: PendingCall, verdict: Verdict, entry: LedgerEntry
) -> Execute | Reply | None:
    """Return how a refusal ends the call, or None without a refusal.

    A refusal counts whatever was shown. A tool that asked a question during its call runs again
    with the refusal as its answer, if this host began the call.
    """
    call, session, answer = pending.call, pending.session, pending.interrupt.get("answer")
    waits = awaits_answer(entry)
    if answer is None and waits and is_unattended(session):
        answer = {"status": "cancelled", "payload": {"action": "decline"}}
    if answer is None:
        return None
    payload: Any = answer.get("payload")
    if answer["status"] == "resolved":
        said_no = pending.interrupt["reason"] == "tool_call" and not payload["approved"]
        return denial_reply(session, call, payload) if said_no else None
    runs = waits and verdict.action in ("run", "ask")
    if not runs or not pending.has_begun(verdict):
        return cancellation_reply(call, answer)
    refused = "decline" if payload == {"action": "decline"} else "cancel"  # cancel: no answer
    return execute(call, verdict, {**entry, "input": {**entry["input"], "refused": refused}})


def denial_reply(session: Session, call: ToolCall, payload: Json) -> Reply:
    """Return the result of a call whose approval was refused, with the grant to remember it."""
    feedback = payload.get("reason") or ""
    why = f" Reason: {feedback}" if feedback else ""
    text = f"The user denied this call.{why} Do not repeat it unless asked to."
    grant = new_grant(session, call, payload, {})
    return Reply(call, text, "denied", status="denied", grant=grant, feedback=feedback)


def execute_approved(
    pending: PendingCall, verdict: Verdict, entry: LedgerEntry, payload: Json
) -> Execute | Reply:
    """Return the execution of what was shown, or of the arguments that the person edited.

    Returns a failed result if the policy or the tool rejects the edited arguments.
    """
    call, session = pending.call, pending.session
    edited, shown = payload.get("edited_args"), verdict.shown
    if edited is not None:
        verdict = pending.toolbox.verdict(session, with_args(call, edited))
        if verdict.action in ("deny", "error", "wait"):
            return Reply(call, verdict.reason, "failed", status="invalid_arguments")
        entry = without_question(entry)
        entry.pop("args_by", None)
    grant, policy = new_grant(session, call, payload, shown), payload.get("policy")
    return execute(call, verdict, entry, edited=edited, grant=grant, policy=policy)


def action_for_lost_result(pending: PendingCall) -> Job | Ask:
    """Return what to do about a call that may have run and whose result is lost (resume rule 6).

    In this order: apply a person's answer about it; run it again if it is repeatable and allowed;
    ask.
    """
    call, interrupt = pending.call, pending.interrupt
    verdict, entry = pending.ledger_verdict()
    is_allowed = pending.may_run(verdict)
    if not is_allowed:  # an unproven answer to the tool's question is dropped: the tool asks again
        entry = without_question(entry)
    question = interrupt_for_call(
        call, "indeterminate", "indeterminate", verdict, entry, f"{LOST} What now?"
    )
    answer = interrupt.get("answer") if interrupt.get("reason") == "indeterminate" else None
    if answer is not None and entry["state"] == "indeterminate":
        if reply := reply_for_lost_result(call, verdict, answer):
            return reply
        if shows_question(interrupt, entry, question):
            if verdict.action in ("client", "send"):
                return hand_to_client(call, verdict, entry)
            return execute(call, verdict, entry)
    if verdict.repeatable and (is_allowed or is_still_approved(call, verdict, entry, interrupt)):
        return execute(call, verdict, entry)
    if pending.moved_on or is_unattended(pending.session):
        return Reply(call, LOST, "skipped", status="indeterminate")
    return question


def reply_for_lost_result(call: ToolCall, verdict: Verdict, answer: Answer) -> Reply | None:
    """Return the result that a person gives to a call whose own is lost; None to run it again."""
    if answer["status"] == "cancelled":
        feedback = reason_of(answer)
        text = f"{LOST}{f' The user says: {feedback}' if feedback else ''}"
        return Reply(call, text, "skipped", status="indeterminate", feedback=feedback)
    payload = answer["payload"]
    if payload["action"] == "result":
        return Reply(call, payload.get("content", ""), "done", is_error=False, status="ok")
    if payload["action"] == "skip" or verdict.action not in ("run", "ask", "client", "send"):
        return Reply(call, LOST, "skipped", status="indeterminate")
    return None


def is_still_approved(
    call: ToolCall, verdict: Verdict, entry: LedgerEntry, interrupt: Interrupt
) -> bool:
    """Return whether the document still has the approval of exactly this started call."""
    answer: Answer = interrupt.get("answer") or {}
    payload = answer.get("payload") if answer.get("status") == "resolved" else None
    if not isinstance(payload, dict) or payload.get("approved") is not True:
        return False
    if verdict.action != "ask" or "edited_args" in payload:  # what was shown is not what ran
        return False
    return shows_question(interrupt, entry, ask_approval(call, verdict, entry))


def ask_for_tool(call: ToolCall, verdict: Verdict, entry: LedgerEntry) -> Ask:
    """Return the question that a tool has asked the person during its call."""
    question = entry["input"]
    reason, schema, members = asked_by(question)
    text = str(question.get("message", ""))
    asked = interrupt_for_call(call, reason, "waiting", verdict, entry, text, schema)
    asked.interrupt.update(members)
    return asked


def ask_person(call: ToolCall, verdict: Verdict, entry: LedgerEntry) -> Reply | Ask:
    """Return the question of a tool whose result is the person's answer.

    Returns a failed result if its `response_schema` cannot be used.
    """
    args = verdict.args or {}
    schema = args.get("response_schema") or {"type": "string"}
    if misfits := check_schema(schema, FORM_COST):  # no answer could be valid
        text = f"response_schema cannot be used: {misfits[0]}"
        return Reply(call, text, "failed", status="invalid_arguments")
    text = str(args.get("question", ""))
    interrupt = interrupt_for_call(call, "input_required", "waiting", verdict, entry, text, schema)
    if args.get("suggestions"):
        interrupt.interrupt["suggestions"] = args["suggestions"]
    return interrupt


def hand_to_client(
    call: ToolCall, verdict: Verdict, entry: LedgerEntry, state: str = "waiting"
) -> Ask | SendToClient:
    """Return the request for a result of a page tool, or the notice of a call without one.

    A reason in the verdict says why the page must ask the person first.
    """
    if verdict.action == "send":
        return SendToClient(call, verdict.args or {})
    text = f"Run {call['function']['name']} in the page"
    request = interrupt_for_call(call, "client_tool", state, verdict, entry, text)
    if verdict.reason:
        request.interrupt["confirm"] = verdict.reason
    return request


def action_with_client(
    pending: PendingCall,
) -> ClientResult | SendToClient | Reply | Ask | None:
    """Return what to do about a call that was handed to the page.

    It stays with the page, even if the session no longer declares the tool, until the page answers
    or the user moves on; `started` is the page's own write-ahead mark. An answer is for the
    arguments that were handed over: if they change, the call is handed over again. None for a tool
    of the server that no page has answered.
    """
    call, entry, interrupt = pending.call, pending.entry, pending.interrupt
    answer = interrupt.get("answer")
    begun = entry["state"] == "started"
    if answer is None and pending.moved_on:
        status = "indeterminate" if begun else "skipped"
        return Reply(call, LOST if begun else SUPERSEDED, "skipped", status=status)
    if answer is not None and answer["status"] == "cancelled":
        return cancellation_reply(call, answer)
    verdict = pending.toolbox.verdict(pending.session, call)
    if verdict.action in ("client", "send"):
        new_request = hand_to_client(call, verdict, entry, "started" if begun else "waiting")
        changed = entry.get("fingerprint") not in (None, verdict.fingerprint)
        if changed or (
            isinstance(new_request, Ask) and not is_same_question(interrupt, new_request.interrupt)
        ):
            return new_request
    if answer is not None:
        return ClientResult(call, answer.get("payload") or {})
    if verdict.action in ("run", "ask", "question"):
        return None
    return Ask({**interrupt, "tool": call["function"]["name"], "args": written_args(call)}, entry)


def written_args(call: ToolCall) -> Json:
    """Return a call's arguments as the model wrote them; {} if they are not an object."""
    try:
        arguments = loads(call["function"]["arguments"])
    except JSONError:
        return {}
    return dict(browser_safe(arguments)) if isinstance(arguments, dict) else {}


def reason_of(answer: Answer) -> str:
    """Return the reason that a person gave for cancelling, "" if none."""
    payload = answer.get("payload")
    reason = payload.get("reason") if isinstance(payload, dict) else None
    return reason if isinstance(reason, str) else ""


def cancellation_reply(call: ToolCall, answer: Answer) -> Reply:
    """Return the result of a call whose interrupt was cancelled."""
    feedback = reason_of(answer)
    text = f"The user cancelled this call.{f' Reason: {feedback}' if feedback else ''}"
    return Reply(call, text, "skipped", status="skipped", feedback=feedback)


def ask_approval(call: ToolCall, verdict: Verdict, entry: LedgerEntry) -> Ask:
    """Return the request to approve a call."""
    text = f"Allow {call['function']['name']}?"
    if "input" in entry:
        text = f"{text} {answer_sentence(entry['input'])}"
    if changes := verdict.shown.get("changes"):
        text = f"{text} {changes['message']}"
    request = interrupt_for_call(call, "tool_call", "asking", verdict, entry, text)
    request.interrupt.update(verdict.shown)
    return request


def interrupt_for_call(
    call: ToolCall,
    reason: str,
    state: str,
    verdict: Verdict,
    entry: LedgerEntry,
    message: str,
    schema: Json | None = None,
) -> Ask:
    """Return an interrupt about a call. `schema`: of its answer, by default that of the reason."""
    interrupt: Interrupt = {
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
    call: ToolCall,
    verdict: Verdict,
    entry: LedgerEntry,
    *,
    edited: Json | None = None,
    grant: Grant | None = None,
    policy: Json | None = None,
) -> Execute:
    """Return the execution of a call, with its next attempt in the ledger entry.

    `edited`: arguments that replace the model's. `grant`: to be remembered for the session.
    `policy`: changes to the network of the call that the person approved.
    """
    started = ledger_entry(call, verdict, entry, "started", entry.get("attempt", 0) + 1)
    if edited is not None:
        started["args"] = edited
    if policy is not None:
        started["policy"] = policy
    return Execute(
        *(call, verdict.args or {}, started, verdict.repeatable, grant, verdict.parallel_safe),
        repairs=tuple(verdict.repairs),
        approved=verdict.action == "ask",
        like=verdict.like,
        file_access=verdict.file_access,
    )


def ledger_entry(
    call: ToolCall, verdict: Verdict, entry: LedgerEntry, state: str, attempt: int
) -> LedgerEntry:
    """Return the entry with this state, attempt and the verdict's fingerprint."""
    kept = entry.copy()
    kept.pop("name", None)
    kept.pop("state", None)
    return {
        **kept,
        "name": call["function"]["name"],
        "fingerprint": verdict.fingerprint,
        "state": state,
        "attempt": attempt,
    }


def new_grant(session: Session, call: ToolCall, payload: Json, shown: Interrupt) -> Grant | None:
    """Return the grant to remember; None if it exists already or there are too many."""
    if payload.get("remember") != "session":
        return None
    name, decision = call["function"]["name"], "allow" if payload["approved"] else "deny"
    grant: Grant = {"tool": name, "decision": decision}
    if payload.get("match"):
        grant = {"tool": name, "match": payload["match"], "decision": decision}
    if payload["approved"] and "declaration" in shown:
        grant["declaration"] = shown["declaration"]
    grants = session["grants"]
    return None if grant in grants or len(grants) >= MOST["grants"] else grant


def with_args(call: ToolCall, args: Json) -> ToolCall:
    """Return the call with other arguments, a dict in place of the JSON text."""
    return {**call, "function": {**call["function"], "arguments": args}}


def truncation_error(message: Message, call: ToolCall) -> str:
    """Return the error text for a call that was cut off, else "".

    Only the last call of a message can be: the model reached its token limit, or its answer broke
    off before any arguments.
    """
    reason = message.get("meta", {}).get("finish_reason") or "stop"
    calls = message.get("tool_calls") or [call]
    if calls[-1]["id"] != call["id"] or reason in ("tool_calls", "stop"):
        return ""
    if ended_by(message) == "length":
        return "Not run: the model's answer was cut off by its length limit."
    arguments = call["function"]["arguments"]
    nothing = isinstance(arguments, str) and not arguments.strip()
    return f"Not run: the model's answer broke off in this call ({reason})." if nothing else ""


def as_text(value: Any) -> str:
    """Return text as it is, None as "", and any other value as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else dumps(value)


FORM_COST = 20_000  # limit for the patterns of one question; a message may have hundreds of them
SUPERSEDED = "Not run: superseded by a new user message."
LOST = "This call was started, but its result was lost; it may or may not have taken effect."
