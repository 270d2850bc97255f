"""Values for the verdict and the action on one tool call, and what decisions need of the toolbox.

agent/call_decisions.py plans one action for every call without a result, agent/decide.py orders
them, the loop performs them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from ..json_types import Grant, Interrupt, Json, LedgerEntry, Session, ToolCall


def is_unattended(session: Session) -> bool:
    """Return whether no person can approve or answer: calls that would ask are then denied."""
    return session["config"].get("yaa", {}).get("unattended") is True


@dataclass(frozen=True)
class Verdict:
    """The decision of the policy (tools/policy.py) on one call.

    action: run, ask, deny, error, question, client (hand it to the page and wait), send (hand it to
    the page without waiting) or wait (for the result of an earlier call of the message).
    args: the arguments with which the call would run.
    repeatable: it may run again after an interrupted run.
    parallel_safe: it may run beside other calls that are parallel safe.
    shown: members of the request for approval; see tools/policy.py `approval_members`.
    may_ask: the tool may ask the person a question during the call.
    file_access: what the call does with the files of the workspace: "read", "write" or "".
    """

    action: str
    reason: str = ""
    args: dict[str, Any] | None = None
    fingerprint: str = ""
    repeatable: bool = False
    parallel_safe: bool = False
    status: str = "invalid_arguments"  # of the call's result, for action `error`
    repairs: list[str] = field(default_factory=list)
    shown: Interrupt = field(default_factory=Interrupt)
    may_ask: bool = False
    like: str = ""  # equivalent tool whose hooks and policies apply; "" if none
    file_access: str = ""


class Toolbox(Protocol):
    """Methods of the toolbox that decisions need."""

    def verdict(self, session: Session, call: ToolCall) -> Verdict:
        """Return the verdict on one call."""
        ...

    def declarations(self, session: Session) -> list[Json]:
        """Return the tools that are declared to the model."""
        ...


@dataclass(frozen=True)
class Execute:
    """Run the tool.

    entry     the call log entry that is written before it starts
    repairs   changes that were made to the arguments so that they fit
    since_ms  when it was asked about, else when it was made; None if unknown
    approved  whether a person allowed a call that the policy asks about
    like      the other tool name by which hooks treat it, "" for its own
    """

    call: ToolCall
    args: Json
    entry: LedgerEntry
    repeatable: bool
    grant: Grant | None = None
    parallel_safe: bool = False
    repairs: tuple[str, ...] = ()
    since_ms: int | None = None
    approved: bool = False
    like: str = ""
    file_access: str = ""


@dataclass(frozen=True)
class Recover:
    """Fetch the result that this host still has of an execution whose run was cut off."""

    call: ToolCall
    attempt: int
    superseded: bool = False  # a newer user message: end it if it still runs


@dataclass(frozen=True)
class Reply:
    """Answer the call without running anything. `feedback`: only what the person wrote."""

    call: ToolCall
    content: str
    state: str
    is_error: bool = True
    status: str = ""
    grant: Grant | None = None
    feedback: str = ""


@dataclass(frozen=True)
class ClientResult:
    """Record the result from the client: `payload` is its answer, {content, is_error?}."""

    call: ToolCall
    payload: Json


@dataclass(frozen=True)
class SendToClient:
    """Answer the call with a notice that it was sent to the client, which acts on that event."""

    call: ToolCall
    args: Json


Job = Execute | Recover | Reply | ClientResult | SendToClient


@dataclass(frozen=True)
class Ask:
    """Leave the call to people: the interrupt for them and the call log entry."""

    interrupt: Interrupt
    entry: LedgerEntry


@dataclass(frozen=True)
class Wait:
    """Leave the call until an earlier one, which its arguments name, has its result."""
