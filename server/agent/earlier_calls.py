"""What this host knows of calls that it has begun before, or that a person has denied here.

`BegunCalls` looks at the claims once, when a run opens: no denial, edit or new message may stand in
place of the result of a call that has run (docs/reference/session.md, "Resume rules", rule 5).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ..json_types import Answer, Change, Event, Interrupt, LedgerEntry, Session
from ..lib.strict_json import dumps
from ..session.call_actions import Reply
from ..session.events import put
from ..tools.execution_claims import Claims
from ..tools.running_calls import Key
from .call_decisions import FORGOTTEN, SUPERSEDED, interrupts_by_call, unanswered_calls
from .run_records import RecordWriter

NOT_BEGUN = ("proposed", "asking", "waiting")  # states of calls that the document does not run
RAN_BEFORE = "This call ran on this server before, and this is its result from then."
DENIED = "denied"  # the fingerprint with which a call is claimed that a person has denied
DENIED_BEFORE: Answer = {
    "status": "resolved",
    "payload": {"approved": False, "reason": "It was denied here before."},
}


class BegunCalls:
    """The calls of one run that this host has claimed."""

    def __init__(
        self, session: Session, claims: Claims, owner: str, clock: Callable[[], int]
    ) -> None:
        self._session, self._claims, self._owner, self._clock = session, claims, owner, clock

    def look(self, not_begun: Iterable[str], ran_before: set[str]) -> tuple[int, list[Change]]:
        """Return the owner's horizon, and the changes of the calls without a result.

        A call that this host has begun is `started` and added to `ran_before`. A call that a person
        has denied stays denied. One of `not_begun`, which was announced only, is `proposed` again.
        """
        ledger = self._session["calls"]
        if not ledger or not (pending := unanswered_calls(self._session)):
            return 0, []
        changes: list[Change] = []
        interrupts = self._session["interrupts"]
        places = {each.get("call_id"): n for n, each in enumerate(interrupts)}
        for call, _, _ in pending:
            call_id = call["id"]
            entry = ledger.get(call_id) or {"state": "proposed"}
            if entry["state"] == "started" and call_id in not_begun and call_id not in places:
                changes += self._unannounced(call_id, entry)
            if entry["state"] not in NOT_BEGUN:
                continue
            attempt = entry.get("attempt", 0) + 1
            claim = self._claims.claimed_as(*self._key(call_id, attempt))
            if claim == DENIED and "answer" in interrupts_by_call(self._session).get(call_id, {}):
                place = str(places[call_id])
                changes.append(put("interrupts", place, "answer", value=DENIED_BEFORE))
            elif claim not in (None, DENIED):
                begun = {"state": "started", "attempt": attempt, "fingerprint": claim}
                ran_before.add(call_id)
                name = call["function"]["name"]
                changes.append(put("calls", call_id, value={"name": name, **entry, **begun}))
        return self._claims.horizon(self._owner), changes

    def _unannounced(self, call_id: str, entry: LedgerEntry) -> list[Change]:
        """Return the change of a call that the client knows as `started` and that did not begin.

        A call with an interrupt is not changed: its approval may have started it on another host.
        """
        attempt = entry.get("attempt", 1)
        if self._claims.claimed_as(*self._key(call_id, attempt)) is not None:
            return []
        return [put("calls", call_id, value={**entry, "state": "proposed", "attempt": attempt - 1})]

    def claim_denial(self, call_id: str) -> bool:
        """Claim a call that a person denies or cancels, so that a late approval does not run it.

        Return False if it has begun meanwhile.
        """
        interrupt = interrupts_by_call(self._session).get(call_id, {})
        if "answer" not in interrupt or interrupt["reason"] != "tool_call":
            return True  # the policy denies it, or it is the page's
        entry = self._session["calls"].get(call_id) or {}
        key = self._key(call_id, entry.get("attempt", 0) + 1)
        with suppress(OSError):
            taken = self._claims.take(*key, DENIED, self._clock())
            return taken or self._claims.claimed_as(*key) == DENIED
        return True

    def release(self, key: Key, record: RecordWriter) -> None:
        """Take back the claim of a call that did not begin."""
        self._claims.release(*key)
        record.ran[key[1]] = ""

    def _key(self, call_id: str, attempt: int) -> Key:
        return (self._owner, self._session["id"]), call_id, attempt


def without_claim(reply: Reply, interrupt: Interrupt, moved_on: bool, *, is_old: bool) -> Reply:
    """Return the reply, which does not say that a call did not run if nobody knows.

    That is a call which is too old, and which a person does not want, or has moved on from.
    """
    asked: Interrupt = interrupt or {"reason": "tool_call", "message": ""}
    is_old |= FORGOTTEN in asked.get("message", "")
    if not is_old or asked["reason"] != "tool_call" or reply.status not in ("denied", "skipped"):
        return reply
    if not moved_on and "answer" not in asked:  # the policy or the mode denies it
        return reply
    text = "The user has moved on from this call." if reply.content == SUPERSEDED else reply.content
    return replace(reply, content=f"{text} {FORGOTTEN}", state="skipped", status="indeterminate")


def of_earlier(event: Event, interrupt: Interrupt | None, *, ran_before: bool) -> Event:
    """Return the result of a call that had begun, with what a person wanted of it instead.

    `ran_before`: its document did not know that it had begun.
    """
    if ran_before:
        metadata = event["metadata"]["yaa"]
        result = {**metadata.get("result", {}), "hint": RAN_BEFORE}
        event = {**event, "metadata": {"yaa": {**metadata, "result": result}}}
    answer: Any = (interrupt or {}).get("answer") or {}
    payload = answer.get("payload") if isinstance(answer.get("payload"), dict) else {}
    if "edited_args" in payload:
        wish = f"wanted the arguments {dumps(payload['edited_args'])}"
    elif answer.get("status") == "cancelled":
        wish = "cancelled this call"
    elif answer and payload.get("approved") is False:
        wish = "denied this call"
    else:
        return event
    reason = f" Reason: {payload['reason']}" if payload.get("reason") else ""
    note = f"[The user {wish}, but it had begun before, and this is its result.{reason}]"
    return {**event, "content": f"{event['content']}\n{note}"}
