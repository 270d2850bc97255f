"""Names of limits and choices that sessions and the configuration share, and limits of API keys.

The limits for the runs of a key are the server's, narrowed by the key's own. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from ..json_types import Interrupt, Json, RunInfo
from ..lib.strict_json import LARGEST_COUNT

Limits = Mapping[str, Any]
NO_LIMITS: Limits = {}

LIMITS = ("max_steps", "max_tokens", "max_cost_micro", "max_wall_s", "max_consecutive_errors")
SPENT = {  # limit -> its counter in `run`, and the counter's units in one of the limit
    "max_steps": ("step", 1),
    "max_tokens": ("tokens", 1),
    "max_cost_micro": ("cost_micro", 1),
    "max_wall_s": ("wall_ms", 1000),
}
# Path of a list or object in a session -> the most entries it may have. Only those whose entries
# are compared with each other or written again for each call; the cost of all others is linear.
MOST = {
    "messages": 100_000,
    "messages/*/tool_calls": 256,
    "interrupts": 1_000,
    "grants": 1_000,
    "grants/*/match": 20,
    "tools": 256,
    "plan/tasks": 100,
    "config/agent/tools": 256,
    "config/limits/tool": 100,
    "config/prompt": 100,
}
# Of one tool call. Seconds may have a fraction.
TOOL_SECONDS = ("wall_s", "cpu_s")
TOOL_SIZES = ("memory_mb", "file_mb", "disk_mb", "output_kb", "processes", "open_files")
TOOL_MODES = ("auto", "native", "json_schema", "text")
# Which calls a session asks about, the strictest first (tools/permission_mode.py).
BEYOND_RULES = ("edits_run", "copy_runs")
ASK = ("every_call", "by_rules", *BEYOND_RULES)
# The APIs that a session may name for a provider of its own; "" stands for the API of the vendor.
APIS = ("", "chat", "responses", "messages")

ALONE = ("max_parallel_calls", "max_request_size", "max_values")
GROUPS = ("session", "tool")  # objects of limits


def cap_limits(base: Limits, *ceilings: Limits) -> dict[str, Any]:
    """Return limits narrowed by ceilings, such as a session's by the server's.

    None means no limit.
    """
    limits = dict(base)
    for name, ceiling in (item for each in ceilings for item in each.items()):
        if ceiling is not None:
            own = limits.get(name)
            limits[name] = ceiling if own is None else min(own, ceiling)
    return limits


def extend_limits(limits: Limits, run: RunInfo, ceilings: Limits) -> dict[str, Any]:
    """Return limits with what a person has added to them (`run.extended`).

    From what was used on, one POST has at most the server's ceiling: a document says itself what
    was used and added.
    """
    extended, found = run.get("extended", {}), dict(limits)
    for name in SPENT:
        limit = found.get(name)
        if limit is not None and name in extended:
            most = max(limit, _used(run, name) + _ceiling(ceilings, name))
            found[name] = min(limit + extended[name], most)
    return found


def kept_extensions(extended: Any, run: RunInfo, ceilings: Limits) -> dict[str, float]:
    """Return `run.extended` of a document: no more than the server can have granted so far."""
    found: dict[str, float] = {}
    for name in SPENT:
        if isinstance(extended, dict) and (more := amount(extended.get(name))):
            found[name] = min(more, _used(run, name) + _ceiling(ceilings, name))
    return found


def go_on(run: RunInfo, interrupt: Interrupt, extend: Json, ceilings: Limits) -> None:
    """Note in `run` that a person answered a limit with "continue": so much more from now on.

    Without a number as much as the limit first was. The server's ceiling is the most at once.
    """
    name = interrupt.get("limit")
    allowed, observed = amount(interrupt.get("allowed")), amount(interrupt.get("observed"))
    if name == "max_consecutive_errors":
        run["forgiven"] += int(observed)
    elif name in SPENT:
        before = run.get("extended", {})
        had = before.get(name, 0)
        asked = min(extend.get(name, max(0, allowed - had)), _ceiling(ceilings, name))
        beyond = math.ceil(max(0, observed - allowed))
        run["extended"] = {**before, name: min(had + beyond + asked, LARGEST_COUNT)}


def amount(value: Any) -> float:
    """Return a number of a document, from 0 to the largest count; 0 for anything else."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return max(0, min(value, LARGEST_COUNT)) if number else 0


def _used(run: RunInfo, name: str) -> float:
    """Return how much of a limit its counter says."""
    counter, unit = SPENT[name]
    counters: Any = run  # by name
    number: float = counters.get(counter, 0)
    return number if unit == 1 else number / unit


def _ceiling(ceilings: Limits, name: str) -> float:
    found = ceilings.get(name)
    return LARGEST_COUNT if found is None else cast(float, found)


def narrow_limits(limits: Limits, *others: Limits) -> dict[str, Any]:
    """Return `server.limits` narrowed by those of keys, which may set any of ALONE and GROUPS."""
    found = dict(limits)
    for other in others:
        found |= cap_limits(
            {name: found.get(name) for name in ALONE if name in found},
            {name: other[name] for name in ALONE if name in other},
        )
        for group in GROUPS:
            if group in other:
                found[group] = cap_limits(found.get(group) or {}, other[group])
    return found


@dataclass(frozen=True)
class LimitCeilings:
    """Limits by owner of keys.

    server  `server.limits`
    own     owner (api.auth.Key) -> limits, for owners whose keys set any
    """

    server: Limits
    own: Mapping[str, Limits]

    @classmethod
    def of_keys(cls, server: Limits, keys: Iterable[tuple[str, Limits]]) -> LimitCeilings:
        """Make it from (owner, limits of a key).

        All keys of an owner get the narrowest limits of any.
        """
        own: dict[str, Limits] = {}
        for owner, limits in keys:
            own[owner] = narrow_limits(own.get(owner, server), limits)
        return cls(server, own)

    def of(self, owner: str) -> Limits:
        """Return `server.limits` as they apply to the keys of this owner."""
        return self.own.get(owner, self.server)
