"""Which addresses a stranger may make this server talk to: public ones, and no others.

In the walk: `client` asks here before it connects for a session's own URL or a fetched page. The
name is resolved once and the connection goes to the address that was judged, so that a name that
changes its mind between check and use (DNS rebinding) gains nothing.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable
from functools import lru_cache

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], Awaitable[list[str]]]  # (host, port) → addresses

# IPv6 ranges that carry an IPv4 address and are called global all the same.
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
# Special ranges that the `ipaddress` of some supported Pythons still takes for global. Where in
# 64:ff9b:1::/48 an IPv4 address stands is the local network's to choose (RFC 8215).
_SPECIAL = tuple(
    map(
        ipaddress.ip_network,
        ("192.0.0.0/24", "192.88.99.0/24", "fec0::/10", "2001::/23", "3fff::/20", "5f00::/16")
        + ("64:ff9b:1::/48",),
    )
)
# Of the public internet by number, and inside a cloud the host's own voice: Azure's DNS and agents
# (learn.microsoft.com, "What is IP address 168.63.129.16?"). Those of others are link-local, unique
# local, or in the shared range 100.64.0.0/10, and not global to begin with.
_NOT_PUBLIC = (*_SPECIAL, ipaddress.ip_network("168.63.129.16/32"))
_IPV4_COMPATIBLE = ipaddress.IPv6Network("::/96")


def is_public(text: str) -> bool:
    """Whether an address is one of the public internet, seen through every IPv6 disguise."""
    address = address_of(text)
    if address is None:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        inner = _embedded(address)
        if inner is not None:
            return is_public(str(inner))
    special = address.is_multicast or address.is_reserved or address.is_unspecified
    return address.is_global and not special and not any(address in net for net in _NOT_PUBLIC)


@lru_cache(maxsize=256)
def address_of(text: str) -> Address | None:
    """`text` as an address, without its zone; None for a name."""
    try:
        return ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None


async def resolve(host: str, port: int) -> list[str]:
    """The addresses of a host, in the system's order. Raises OSError."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


async def resolve_public(host: str, port: int, ask: Resolve = resolve) -> list[str]:
    """The addresses of a host, if all are public; [] if any is not. Raises OSError."""
    addresses = await ask(host, port)
    return addresses if all(map(is_public, addresses)) else []


def _embedded(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    if address.ipv4_mapped:
        return address.ipv4_mapped
    if address.sixtofour:
        return address.sixtofour
    if address.teredo:
        return address.teredo[1]
    if any(address in network for network in (_NAT64, _IPV4_COMPATIBLE)):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return None
