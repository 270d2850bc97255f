"""Protection against server-side request forgery: only public addresses are allowed.

`client` uses it for URLs from sessions and for fetched pages. A name is resolved once and the
connection goes to the checked address, so DNS rebinding between check and use has no effect.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable
from functools import lru_cache

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], Awaitable[list[str]]]  # (host, port) → addresses

# An IPv6 range that embeds IPv4 addresses and that `ipaddress` calls global.
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
# Special ranges that `ipaddress` calls global in some supported Pythons. The position of the IPv4
# address inside 64:ff9b:1::/48 depends on the local network (RFC 8215), so all of it is refused.
_SPECIAL = tuple(
    map(
        ipaddress.ip_network,
        ("192.0.0.0/24", "192.88.99.0/24", "fec0::/10", "2001::/23", "3fff::/20", "5f00::/16")
        + ("64:ff9b:1::/48",),
    )
)
# A public address that reaches the host's own services inside Azure: DNS and agents
# (learn.microsoft.com, "What is IP address 168.63.129.16?"). Those of other clouds are link-local,
# unique local or in the shared range 100.64.0.0/10, which are not global anyway.
_NOT_PUBLIC = (*_SPECIAL, ipaddress.ip_network("168.63.129.16/32"))
_IPV4_COMPATIBLE = ipaddress.IPv6Network("::/96")


def is_public(text: str) -> bool:
    """Return whether `text` is an address of the public internet; False for a name.

    IPv6 addresses that embed an IPv4 address are judged by that one.
    """
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
    """Parse an address and drop its zone; None for a name."""
    try:
        return ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None


async def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a host, in the system's order. Raises OSError."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


async def resolve_public(host: str, port: int, ask: Resolve = resolve) -> list[str]:
    """Return the addresses of a host if all are public, else []. Raises OSError."""
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
