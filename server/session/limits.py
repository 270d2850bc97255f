"""Names of limits and choices that sessions and the configuration share, and limits of API keys.

The limits for the runs of a key are the server's, narrowed by the key's own. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Limits = Mapping[str, Any]

LIMITS = ("max_steps", "max_tokens", "max_cost_micro", "max_wall_s", "max_consecutive_errors")
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
NETWORKS = ("off", "proxy", "full")  # narrowest first
# The APIS of providers -> the path of their requests; "" stands for the API of the vendor.
API_PATHS = {"chat": "/chat/completions", "responses": "/responses", "messages": "/messages"}
APIS = ("", *API_PATHS)

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
