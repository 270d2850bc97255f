"""The interrupt for a request over the budget or the window, with nothing left to leave out.

It lists the largest messages and the possible remedies. Pure.
"""

from __future__ import annotations

from typing import Any

from ..session.interrupt_answers import ANSWERS
from .budget import Budget
from .ops import ops_of, pinned
from .strategies import STRATEGIES

Session = dict[str, Any]
Remedy = dict[str, Any]

_WORDS = {
    "raise_budget": "set config.context.budget to {value} or more",
    "raise_max_context": "set config.yaa.max_context to {value} or more",
    "enable_context": "set config.context.enabled to true",
    "enable_strategies": "add {names} to config.context.strategies",
    "unpin": "unpin messages that are not needed",
    "clear_exempt_tools": "take tools out of config.context.exempt_tools",
    "shorten": "shorten the largest messages",
    "choose_model": "choose a model with a larger window",
}


def interrupt(
    session: Session, budget: Budget, largest: list[dict[str, Any]], observed: int
) -> dict[str, Any]:
    """Return the interrupt: {limit: context_overflow, bound, allowed, observed, largest, remedies}.

    `bound`: `budget` or `window`. `allowed` and `observed` are in tokens. `remedies`: what could be
    done, as {action, …}.
    """
    of_budget = budget.window is None or (budget.bound or 0) < budget.window
    remedies = _remedies(session, budget, largest, observed)
    what = "config.context.budget" if of_budget else "the window of the model"
    could = ", or ".join(_WORDS[each["action"]].format(**_said(each)) for each in remedies)
    return {
        "id": "int-context_overflow",
        "reason": "limit",
        "limit": "context_overflow",
        "bound": "budget" if of_budget else "window",
        "allowed": budget.bound,
        "observed": observed,
        "largest": largest,
        "remedies": remedies,
        "message": (
            f"The next request would have about {observed} tokens, more than {what} allows"
            f" ({budget.bound}), and nothing more can be left out. What could be done: {could}."
        ),
        "response_schema": ANSWERS["limit"],
    }


def _remedies(
    session: Session, budget: Budget, largest: list[dict[str, Any]], observed: int
) -> list[Remedy]:
    """Return the remedies that apply, as {action, …}."""
    wanted = session["config"]["context"]
    found: list[Remedy] = []
    fits = budget.window is None or observed <= budget.window
    if fits:
        found.append({"action": "raise_budget", "value": observed})
    if not wanted["enabled"]:
        found.append({"action": "enable_context"})
    if names := [name for name in STRATEGIES if name not in wanted["strategies"]]:
        found.append({"action": "enable_strategies", "names": names})
    there = {message.get("id") for message in session["messages"]}
    if ids := sorted(pinned(ops_of(session)) & there):
        found.append({"action": "unpin", "ids": ids})
    if wanted["exempt_tools"]:
        found.append({"action": "clear_exempt_tools"})
    found.append({"action": "shorten", "ids": [each["id"] for each in largest]})
    if not fits:
        own = session["config"]["yaa"].get("max_context")
        if own and own == budget.window:
            found.append({"action": "raise_max_context", "value": observed})
        found.append({"action": "choose_model"})
    return found


def _said(remedy: Remedy) -> dict[str, Any]:
    return {**remedy, "names": ", ".join(remedy.get("names", ()))}
