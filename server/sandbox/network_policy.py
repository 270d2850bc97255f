"""What the network of one call lets through: as a value, and how it may change.

The server's configuration says what a call has by itself and what an approval may add to that; a
session may only take away. The rule of the file: pure, and nothing beyond the configuration comes
out, whatever goes in.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

NETWORKS = ("off", "proxy", "full")  # narrowest first
NAME = re.compile(r"[a-z0-9_]([a-z0-9_.-]{0,252})")
MOST_HOSTS = 32  # that one approval may add


class Reach(NamedTuple):
    """network: off, proxy (only to `hosts`, through sandbox/netproxy.py) or full (the machine's
    own). hosts: `name`, `*.suffix` or `*` for public addresses; `name:port`, an address or a
    network for what may be private, too. ports: where an entry names none."""

    network: str = "off"
    hosts: tuple[str, ...] = ()
    ports: tuple[int, ...] = (80, 443)

    def lets(self, host: str, port: int) -> str:
        """`public` or `any`: which addresses a host may have; "" where it is not let through.
        `host` in lower case, without a dot at its end."""
        kinds = {_kind(entry.lower(), host, port, self.ports) for entry in self.hosts}
        return "any" if "any" in kinds else "public" if "public" in kinds else ""

    def words(self) -> str:
        """For people and models."""
        ports = ", ".join(map(str, self.ports))
        if self.network != "proxy":
            return {"off": "no network", "full": "the whole network"}[self.network]
        return f"{', '.join(self.hosts) or 'no host'} (ports {ports} where none is named)"


def problem(entry: str) -> str:
    """What is wrong with an entry of `hosts`; "" for nothing."""
    host, port = split(entry.lower())
    if "/" in entry:
        try:
            ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return f"{entry} is no network such as 192.168.1.0/24"
        return ""
    if port is not None and not 0 < port < 65536:
        return f"{entry} names no port"
    named = host.removeprefix("*.")
    fits = host == "*" or address_of(host) is not None or NAME.fullmatch(named)
    if not fits or (port is not None and "*" in host):
        return f"{entry} is no host, *.suffix, host:port, address or network"
    return ""


def split(entry: str) -> tuple[str, int | None]:
    """`host`, `host:port`, `[address]:port` or an address: (host, port)."""
    host, colon, port = entry.rpartition(":")
    if entry.startswith("[") and host.endswith("]"):
        return host[1:-1], int(port) if port.isdecimal() else 0
    if colon and ":" not in host:
        return host, int(port) if port.isdecimal() and port.isascii() else 0
    return entry.strip("[]"), None


def narrowed(reach: Reach, network: str | None) -> Reach:
    """What a session leaves of it."""
    if network in NETWORKS and NETWORKS.index(network) < NETWORKS.index(reach.network):
        return reach._replace(network=network)
    return reach


def widened(reach: Reach, asked: dict[str, Any], addable: Iterable[str]) -> Reach | str:
    """With what an approval asks for (`{network?, hosts?}`) out of `addable`, the configuration's
    `hosts_on_approval`; or, in words, why not. The network it names may be narrower as well."""
    hosts, network = asked.get("hosts") or [], asked.get("network")
    if not isinstance(hosts, list) or len(hosts) > MOST_HOSTS or network not in (None, *NETWORKS):
        return f"an approval's policy is a network and a list of at most {MOST_HOSTS} hosts"
    held = Reach("proxy", tuple(addable), reach.ports)
    own = reach.hosts if reach.network != "off" else ()
    for host in hosts:
        if not isinstance(host, str) or not (host in own or _among(host, held)):
            return f"this server does not let an approval open {str(host)[:100]!r}"
    if hosts and network is None:
        network = "proxy" if reach.network == "off" else reach.network
    if network == "proxy" and reach.network == "off" and hosts:
        return reach._replace(network="proxy", hosts=tuple(hosts))
    if network is not None and NETWORKS.index(network) > NETWORKS.index(reach.network):
        return f"this server does not let an approval open the network {network!r}"
    if network == "proxy" and reach.network == "full":
        return reach._replace(network="proxy", hosts=tuple(hosts))
    return narrowed(reach, network)._replace(hosts=(*reach.hosts, *hosts))


def _among(host: str, held: Reach) -> bool:
    """Whether an entry is one of those held, or a plain name that they cover. A name with a port
    or an address may be private, so only the owner's own spelling of it will do."""
    if host in held.hosts:
        return True
    plain = NAME.fullmatch(host) is not None and address_of(host) is None
    return plain and held.lets(host, held.ports[0] if held.ports else 443) == "public"


def _kind(entry: str, host: str, port: int, ports: tuple[int, ...]) -> str:
    address = address_of(host)
    if "/" in entry:
        network = ipaddress.ip_network(entry, strict=False)
        inside = address is not None and address.version == network.version and address in network
        return "any" if inside and port in ports else ""
    named, own_port = split(entry)
    if own_port is not None:
        return "any" if _same(named, host) and port == own_port else ""
    if port not in ports:
        return ""
    if address_of(named) is not None:
        return "any" if _same(named, host) else ""
    fits = entry == "*" or host == named or (entry[:2] == "*." and host.endswith(entry[1:]))
    return "public" if fits else ""


def _same(one: str, other: str) -> bool:
    address = address_of(one)
    return one == other or (address is not None and address == address_of(other))


def address_of(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
