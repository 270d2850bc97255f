"""May this call run? One pure function over the tool, the server's word and the session's.

The order (docs/reference/tools.md, "Asking first"): the server denies → the agent denies → the
session denies → the server's ceiling or the agent says ask → grants and `auto_approve` → the agent
says auto → the tool's own default. A stored approval for the same fingerprint is consulted by
session/calls.py, which can turn an `ask` into a run and nothing else. Pure.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from ..jsontext import canonical
from ..sandbox import reach
from ..sandbox.reach import NETWORKS, Reach
from ..session import definition
from ..session.jobs import unattended
from .tool import BaseTool

Session = dict[str, Any]


@dataclass(frozen=True)
class Verdict:
    """run, ask, deny, error, question, client (hand it to the page), send (tell the page), or wait
    for the result of a call before it; with the reason, and the arguments as they would run.
    `repeatable`: executing twice does no harm; `parallel_safe`: it may run beside others that are.
    `offer`: the network of the call, and the hosts that an approval may add to it."""

    action: str
    reason: str = ""
    args: dict[str, Any] | None = None
    fingerprint: str = ""
    repeatable: bool = False
    parallel_safe: bool = False
    status: str = "invalid_arguments"  # what an error is called in the call's result
    repairs: list[str] = field(default_factory=list)
    offer: dict[str, Any] = field(default_factory=dict)


def fingerprint(name: str, args: dict[str, Any]) -> str:
    """What an approval is for: a SHA-256 of the tool's name and its canonical arguments."""
    return f"sha256:{hashlib.sha256(f'{name}{chr(10)}{canonical(args)}'.encode()).hexdigest()}"


def decide(tool: BaseTool, args: dict[str, Any], ceiling: str, session: Session) -> tuple[str, str]:
    """(action, reason) for arguments that fit. `ceiling`: the server's deny, ask or auto. Where
    nobody can be asked, whatever would ask is denied: never the other way round."""
    action, reason = _decided(tool, args, ceiling, session)
    asks = action == "ask" or (action == "run" and tool.kind == "question")
    if asks and unattended(session):
        return "deny", f"nobody can be asked about {tool.name} here"
    return action, reason


def _decided(
    tool: BaseTool, args: dict[str, Any], ceiling: str, session: Session
) -> tuple[str, str]:
    own = session["config"].get("tool", {}).get(tool.name, {})
    grants = [grant["decision"] for grant in session["grants"] if covers(grant, tool.name, args)]
    if ceiling == "deny":
        return "deny", f"this server does not allow {tool.name}"
    agents = definition.word(session, tool.name, page=tool.kind == "client")
    if agents == "deny":
        return "deny", f"the agent {definition.of(session)['name']} does not use {tool.name}"
    if own.get("deny") or "deny" in grants:
        return "deny", f"this session does not allow {tool.name}"
    if ceiling == "ask":
        return "ask", "this server asks about it always"
    if agents == "ask":
        return "ask", f"the agent {definition.of(session)['name']} asks about it always"
    if "allow" in grants:
        return "run", "granted for this session"
    if "auto_approve" in own:
        return ("run", "auto_approve") if own["auto_approve"] else ("ask", "auto_approve is off")
    if agents == "auto":
        return "run", f"the agent {definition.of(session)['name']} need not ask"
    if tool.kind == "client":
        return "run", "the page asks where it has to"
    return ("run", "it only reads") if tool.read_only else ("ask", "it may change things")


def covers(grant: dict[str, Any], name: str, args: dict[str, Any]) -> bool:
    """Whether a grant is about this call. `match` holds a pattern for each argument it cares
    about; patterns are matched against text, so only text arguments can match."""
    if grant["tool"] != name:
        return False
    return all(
        isinstance(args.get(key), str) and fnmatchcase(args[key], pattern)
        for key, pattern in grant.get("match", {}).items()
    )


def narrowed(
    wanted: dict[str, Any], required: dict[str, Any], most: dict[str, Any]
) -> dict[str, Any]:
    """The limits of one call: the session's, or what the tool needs where that is more, and never
    more than the server's."""
    limits = {name: max(value, required.get(name, 0)) for name, value in wanted.items()}
    return {name: min(limits.get(name, ceiling), ceiling) for name, ceiling in most.items()}


def reach_of(
    base: Reach, session: Session, name: str, asked: dict[str, Any] | None, addable: list[str]
) -> Reach | str:
    """The network of one call: the server's, narrowed by the session for this tool, and widened by
    what a person approved for this call out of `addable`; or why that cannot be."""
    own = session["config"].get("tool", {}).get(name, {})
    narrower = reach.narrowed(base, own.get("network"))
    return reach.widened(narrower, asked, addable) if asked else narrower


def enforceable(wanted: Reach, tier: str) -> str:
    """Why a tier cannot keep a call to its network; empty if it can."""
    if tier in ("none", "C") and wanted.network != "full":
        return f"at tier {tier} this server cannot keep a tool from the network"
    if tier == "B" and wanted.network == "proxy":
        return "a filtered network needs tier A"
    return ""


def exceeded(required: dict[str, Any], most: dict[str, Any], network: str) -> str:
    """What a tool needs beyond the server's limits and its network, in words; empty if nothing."""
    over = [
        f"{name} {value:g} (this server allows {most[name]:g})"
        for name, value in required.items()
        if name in most and value > most[name]
    ]
    need = required.get("network", "off")
    if NETWORKS.index(need) > NETWORKS.index(network):
        over.append(f"network {need} (this server allows {network})")
    return ", ".join(over)
