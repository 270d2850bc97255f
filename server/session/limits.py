"""What the runs of a key may use at most: the server's limits, narrowed by the key's own. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Limits = Mapping[str, Any]

ALONE = ("max_parallel_calls", "max_request_size", "max_values")
GROUPS = ("session", "tool")  # objects of limits


def capped(wanted: Limits, *ceilings: Limits) -> dict[str, Any]:
    """Limits under others, such as a session's under the server's: those may only be narrowed.
    None means no limit."""
    limits = dict(wanted)
    for name, ceiling in (item for each in ceilings for item in each.items()):
        if ceiling is not None:
            own = limits.get(name)
            limits[name] = ceiling if own is None else min(own, ceiling)
    return limits


def narrowed(limits: Limits, *others: Limits) -> dict[str, Any]:
    """`server.limits` under those of keys: whatever of ALONE and GROUPS they say."""
    found = dict(limits)
    for other in others:
        found |= capped(
            {name: found.get(name) for name in ALONE if name in found},
            {name: other[name] for name in ALONE if name in other},
        )
        for group in GROUPS:
            if group in other:
                found[group] = capped(found.get(group) or {}, other[group])
    return found


@dataclass(frozen=True)
class Ceilings:
    """`server`: `server.limits`; `own`: by owner (api.auth.Key), those of the keys that say any."""

    server: Limits
    own: Mapping[str, Limits]

    @classmethod
    def of_keys(cls, server: Limits, keys: Iterable[tuple[str, Limits]]) -> Ceilings:
        """From (owner, limits of a key): one person's keys have the narrowest of all of them."""
        own: dict[str, Limits] = {}
        for owner, limits in keys:
            own[owner] = narrowed(own.get(owner, server), limits)
        return cls(server, own)

    def of(self, owner: str) -> Limits:
        """`server.limits` as they are for the keys of this owner."""
        return self.own.get(owner, self.server)
