"""Values for the action on one tool call, and the protocols of the toolbox that decisions need.

agent/call_decisions.py plans one action for every call without a result, agent/decide.py orders
them, the loop performs them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ..types import Grant, Interrupt, Json, LedgerEntry, Session, ToolCall


def unattended(session: Session) -> bool:
    """Return whether no person can approve or answer: calls that would ask are then denied."""
    return session["config"].get("yaa", {}).get("unattended") is True


class Verdict(Protocol):
    """Decision of the policy on one call, made by the toolbox (tools/policy.py)."""

    @property
    def action(self) -> str:
        """Return run, ask, deny, error, question, client, send or wait."""
        ...

    @property
    def reason(self) -> str:
        """Return why, for the person or the model."""
        ...

    @property
    def args(self) -> Json | None:
        """Return the arguments as they would run, None if there are none."""
        ...

    @property
    def fingerprint(self) -> str:
        """Return the SHA-256 of the tool's name and its canonical arguments."""
        ...

    @property
    def repeatable(self) -> bool:
        """Return whether running it twice does no harm: it is read-only or idempotent."""
        ...

    @property
    def parallel_safe(self) -> bool:
        """Return whether it may run beside other calls that are parallel-safe."""
        ...

    @property
    def repairs(self) -> list[str]:
        """Return the changes that were made to the arguments."""
        ...

    @property
    def status(self) -> str:
        """Return the status of the call's result if the action is `error`."""
        ...

    @property
    def may_ask(self) -> bool:
        """Return whether the tool may ask the person during a call."""
        ...

    @property
    def like(self) -> str:
        """Return the other tool name by which hooks and policies treat it, "" for its own."""
        ...

    @property
    def offer(self) -> Json:
        """Return the network of the call and the hosts that an approval may add."""
        ...


class Toolbox(Protocol):
    """Methods of the toolbox that decisions need."""

    def verdict(self, session: Session, call: ToolCall) -> Verdict:
        """Return the verdict on one call."""
        ...

    def declared(self, session: Session) -> list[Json]:
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
class Given:
    """Record the result from the client: `payload` is its answer, {content, is_error?}."""

    call: ToolCall
    payload: Json


@dataclass(frozen=True)
class Send:
    """Answer the call with a notice that it was sent to the client, which acts on that event."""

    call: ToolCall
    args: Json


Job = Execute | Recover | Reply | Given | Send


@dataclass(frozen=True)
class Ask:
    """Leave the call to people: the interrupt for them and the call log entry."""

    interrupt: Interrupt
    entry: LedgerEntry


@dataclass(frozen=True)
class Wait:
    """Leave the call until an earlier one, which its arguments name, has its result."""
