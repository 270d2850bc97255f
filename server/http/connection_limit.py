"""The limits on the number of connections, and which connection is closed for a new one.

At the limit a new connection replaces the one that has waited longest for a request. Connections in
a request are never closed for it. If all are in a request, the new one stays open until its head
has arrived: spared paths such as `/health` are still answered, others get 503.
"""

from __future__ import annotations

import ipaddress
from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

SPARE = 8  # connections without a place that may wait for their head at the same time


class Occupant(Protocol):
    """The interface of a connection that `Places` uses."""

    network: str  # from `network_of`

    def is_sending(self) -> bool:
        """Return whether a part of an answer is not sent yet."""

    def give_way(self) -> None:
        """Close the connection, which waits for a request."""

    def turn_away(self) -> None:
        """Answer 503 and close the connection."""


class Places:
    """At most `most` connections, and at most `most_each` of one network (0: no limit).

    `warn` is called with a text when a limit is reached, and again only after the number has
    fallen to half of it.
    """

    def __init__(self, most: int, most_each: int, warn: Callable[[str], None]) -> None:
        self._most, self._most_each, self._warn = most, most_each, warn
        self._inside: set[Occupant] = set()
        self._each: dict[str, int] = {}  # number of places by network
        self._waiting: OrderedDict[Occupant, None] = OrderedDict()  # with a place; longest first
        self._spare: OrderedDict[Occupant, None] = OrderedDict()  # without one; longest first
        self._warned: set[str] = set()  # networks; "" is for all together

    def take(self, one: Occupant) -> str:
        """Give a new connection a place. Return why there is none, or "" if there is one.

        May close the connection that has waited longest. If more than SPARE connections without a
        place wait for their head, the oldest of them is refused.
        """
        if self._most_each and self._each.get(one.network, 0) >= self._most_each:
            network, reason = one.network, f"All {self._most_each} connections of one address"
        elif len(self._inside) >= self._most:
            network, reason = "", f"All {self._most} connections"
        else:
            self._enter(one)
            return ""
        self._tell(network)
        other = self._longest_waiting(network)
        if other is None:
            self._spare[one] = None
            if len(self._spare) > SPARE:
                self._spare.popitem(last=False)[0].turn_away()
            return f"{reason} are taken; try again shortly."
        self._remove(other)
        other.give_way()
        self._enter(one)
        return ""

    def begin(self, one: Occupant) -> None:
        """Note that a request has arrived on this connection."""
        self._waiting.pop(one, None)
        self._spare.pop(one, None)

    def end(self, one: Occupant) -> None:
        """Note that the request is answered and the connection waits again."""
        if one in self._inside:
            self._waiting[one] = None
            self._waiting.move_to_end(one)

    def leave(self, one: Occupant) -> None:
        """Free the place of a closed connection, if it has one."""
        self._remove(one)
        if len(self._inside) <= self._most // 2:
            self._warned.discard("")
        if one.network and self._each.get(one.network, 0) <= self._most_each // 2:
            self._warned.discard(one.network)

    def _remove(self, one: Occupant) -> None:
        self.begin(one)
        if one not in self._inside:
            return
        self._inside.remove(one)
        if one.network:
            self._each[one.network] -= 1
            if not self._each[one.network]:
                del self._each[one.network]

    def _enter(self, one: Occupant) -> None:
        self._inside.add(one)
        self._waiting[one] = None
        if one.network:
            self._each[one.network] = self._each.get(one.network, 0) + 1

    def _tell(self, network: str) -> None:
        if network in self._warned:
            return
        self._warned.add(network)
        which = f"{self._most} connections of server.limits.max_connections are taken"
        if network:
            which = f"{self._most_each} connections of server.limits.max_connections_per_address"
            which += f" are taken by {network}"
        self._warn(f"all {which}: one that is idle is closed for each new one, or that gets 503")

    def _longest_waiting(self, network: str) -> Occupant | None:
        for one in self._waiting:
            if network in ("", one.network) and not one.is_sending():
                return one
        return None


def network_of(peer: str) -> str:
    """Return the part of an address that a client cannot easily change: IPv4, or an IPv6 /64.

    Return "" for loopback addresses, which may be those of a proxy, and for an invalid address.
    """
    try:
        address = ipaddress.ip_address(peer.partition("%")[0])
    except ValueError:
        return ""
    if address.is_loopback:
        return ""
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)
