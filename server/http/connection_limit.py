"""Which connections a server keeps when more come than it may have.

A new connection takes the place of the one that has waited longest for a request. Connections in a
request are never ended for it: if all are, the new one stays only until its head says whether it
asks for what is answered all the same, such as `/health`.
"""

from __future__ import annotations

import ipaddress
from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

SPARE = 8  # connections without a place whose head is waited for


class Occupant(Protocol):
    """What is asked of a connection."""

    network: str  # of `network_of`

    def is_sending(self) -> bool:
        """Whether a part of an answer has not left yet."""

    def give_way(self) -> None:
        """Close: it waits, and its place is taken."""

    def turn_away(self) -> None:
        """Answer that there is no place."""


class Places:
    """At most `most` connections, and `most_each` of one network (0: no bound). `warn` is called
    with a text when one of the bounds is met, and again only after half of them have gone."""

    def __init__(self, most: int, most_each: int, warn: Callable[[str], None]) -> None:
        self._most, self._most_each, self._warn = most, most_each, warn
        self._inside: set[Occupant] = set()
        self._each: dict[str, int] = {}  # how many of a network are inside
        self._waiting: OrderedDict[Occupant, None] = OrderedDict()  # inside; the longest first
        self._spare: OrderedDict[Occupant, None] = OrderedDict()  # without a place; the same
        self._warned: set[str] = set()  # networks; "" is for all together

    def take(self, one: Occupant) -> str:
        """Give a new connection a place: it waits for a request. Return why there is none."""
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
        """Note that a request is here."""
        self._waiting.pop(one, None)
        self._spare.pop(one, None)

    def end(self, one: Occupant) -> None:
        """Note that it is answered."""
        if one in self._inside:
            self._waiting[one] = None
            self._waiting.move_to_end(one)

    def leave(self, one: Occupant) -> None:
        """Free its place, if it has one."""
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
    """Return what a client can hardly change of its address: all of IPv4, 64 bits of IPv6. Empty
    for this machine, whose connections may be those of a proxy, and where there is no address."""
    try:
        address = ipaddress.ip_address(peer.partition("%")[0])
    except ValueError:
        return ""
    if address.is_loopback:
        return ""
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, 64), strict=False))
    return str(address)
