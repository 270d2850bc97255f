"""What can be done about one tool call, and what deciding asks of the toolbox.

In the walk: agent/call_decisions.py plans one of these for every call without a result,
agent/decide.py sorts them, the loop performs them. Plain values; nothing here decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

Session = dict[str, Any]
Call = dict[str, Any]


def unattended(session: Session) -> bool:
    """Whether nobody is there to approve or answer: what would ask is denied, never allowed."""
    return session["config"].get("yaa", {}).get("unattended") is True


class Verdict(Protocol):
    """What the policy says of one call; made by the toolbox (tools/policy.py)."""

    @property
    def action(self) -> str: ...  # run, ask, deny, error, question, client, send, wait
    @property
    def reason(self) -> str: ...
    @property
    def args(self) -> dict[str, Any] | None: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def repeatable(self) -> bool: ...  # read-only or idempotent
    @property
    def parallel_safe(self) -> bool: ...  # may run beside others that are
    @property
    def repairs(self) -> list[str]: ...  # what was changed in the arguments
    @property
    def status(self) -> str: ...  # of the result, where the action is `error`
    @property
    def may_ask(self) -> bool: ...  # its tool may ask the person in the middle of a call
    @property
    def like(self) -> str: ...  # the tool that hooks know it as, if that is another name
    @property
    def offer(self) -> dict[str, Any]: ...  # what an approval may change of the call's network


class Toolbox(Protocol):
    """The part of the toolbox that deciding needs."""

    def verdict(self, session: Session, call: Call) -> Verdict: ...
    def declared(self, session: Session) -> list[dict[str, Any]]: ...


@dataclass(frozen=True)
class Execute:
    """Run the tool. `entry` is the ledger entry that says so, written before it starts; `repairs`
    says what was changed in the arguments so that they fit; `approved`, that a person allowed what
    the policy asks about; `like`, the tool that hooks know it as, if that is another name."""

    call: Call
    args: dict[str, Any]
    entry: dict[str, Any]
    repeatable: bool
    grant: dict[str, Any] | None = None
    parallel_safe: bool = False
    repairs: tuple[str, ...] = ()
    since_ms: int | None = None  # when it was asked about, or else made; None where nobody knows
    approved: bool = False
    like: str = ""


@dataclass(frozen=True)
class Recover:
    """Fetch the result that this host still holds of an execution that was cut."""

    call: Call
    attempt: int
    superseded: bool = False  # the user has moved on: it is ended if it still runs


@dataclass(frozen=True)
class Reply:
    """Answer the call without running anything. `feedback`: what the person said of it, alone."""

    call: Call
    content: str
    state: str
    is_error: bool = True
    status: str = ""
    grant: dict[str, Any] | None = None
    feedback: str = ""


@dataclass(frozen=True)
class Given:
    """Record what the page gave: `payload` is its answer, {content, is_error?}."""

    call: Call
    payload: dict[str, Any]


@dataclass(frozen=True)
class Send:
    """Answer the call with the word that it was sent to the page, which acts on that event."""

    call: Call
    args: dict[str, Any]


Job = Execute | Recover | Reply | Given | Send


@dataclass(frozen=True)
class Ask:
    """Leave the call to people: the interrupt they see and the ledger entry beside it."""

    interrupt: dict[str, Any]
    entry: dict[str, Any]


@dataclass(frozen=True)
class Wait:
    """Leave the call until one before it has its result, which this one's arguments name."""
