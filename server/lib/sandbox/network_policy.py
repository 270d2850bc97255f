"""The network policy of one call, as a value, and how sessions and approvals change it. Pure.

The server's configuration says what a call has by default and what an approval may add to that. A
session may only take away. No input yields more than the configuration allows.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

NETWORKS = ("off", "proxy", "full")  # narrowest first
NAME = re.compile(r"[a-z0-9_]([a-z0-9_.-]{0,252})")
MOST_HOSTS = 32  # that one approval may add


class NetworkPolicy(NamedTuple):
    """What a call may connect to.

    network  off, proxy (only to `hosts`, through netproxy.py) or full (the machine's own)
    hosts    `name`, `*.suffix` or `*` for public addresses; `name:port`, an address or a network
             for private ones, too
    ports    for entries of `hosts` without a port
    """

    network: str = "off"
    hosts: tuple[str, ...] = ()
    ports: tuple[int, ...] = (80, 443)

    def addresses_allowed(self, host: str, port: int) -> str:
        """Return which addresses a host may have: `public` or `any`; "" if it is not allowed.

        `host` is in lower case, without a dot at its end.
        """
        kinds = {_kind(entry.lower(), host, port, self.ports) for entry in self.hosts}
        return "any" if "any" in kinds else "public" if "public" in kinds else ""

    def describe(self) -> str:
        """Describe the policy in words, for people and models."""
        ports = ", ".join(map(str, self.ports))
        if self.network != "proxy":
            return {"off": "no network", "full": "the whole network"}[self.network]
        return f"{', '.join(self.hosts) or 'no host'} (ports {ports} where none is named)"


def entry_problem(entry: str) -> str:
    """Return what is wrong with an entry of `hosts`; "" for nothing."""
    host, port = split_port(entry.lower())
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


def split_port(entry: str) -> tuple[str, int | None]:
    """Split `host`, `host:port`, `[address]:port` or an address into (host, port).

    The port is None if there is none, 0 if it is not a number.
    """
    host, colon, port = entry.rpartition(":")
    if entry.startswith("[") and host.endswith("]"):
        return host[1:-1], int(port) if port.isdecimal() else 0
    if colon and ":" not in host:
        return host, int(port) if port.isdecimal() and port.isascii() else 0
    return entry.strip("[]"), None


def narrow(reach: NetworkPolicy, network: str | None) -> NetworkPolicy:
    """Return the policy with a session's `network`, if that is narrower."""
    if network in NETWORKS and NETWORKS.index(network) < NETWORKS.index(reach.network):
        return reach._replace(network=network)
    return reach


def widen(
    reach: NetworkPolicy, asked: dict[str, Any], addable: Iterable[str]
) -> NetworkPolicy | str:
    """Return the policy with what an approval asks for, or why it cannot have it.

    `asked`: `{network?, hosts?}`. `addable`: the configuration's `hosts_on_approval`. The network
    asked for may also be narrower.
    """
    hosts, network = asked.get("hosts") or [], asked.get("network")
    if not isinstance(hosts, list) or len(hosts) > MOST_HOSTS or network not in (None, *NETWORKS):
        return f"an approval's policy is a network and a list of at most {MOST_HOSTS} hosts"
    held = NetworkPolicy("proxy", tuple(addable), reach.ports)
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
    return narrow(reach, network)._replace(hosts=(*reach.hosts, *hosts))


def _among(host: str, held: NetworkPolicy) -> bool:
    """Return whether an entry is in `held`, or is a plain name that `held` covers.

    A name with a port or an address may be private, so it must be in `held` as it is.
    """
    if host in held.hosts:
        return True
    plain = NAME.fullmatch(host) is not None and address_of(host) is None
    return plain and held.addresses_allowed(host, held.ports[0] if held.ports else 443) == "public"


def _kind(entry: str, host: str, port: int, ports: tuple[int, ...]) -> str:
    address = address_of(host)
    if "/" in entry:
        network = ipaddress.ip_network(entry, strict=False)
        inside = address is not None and address.version == network.version and address in network
        return "any" if inside and port in ports else ""
    named, own_port = split_port(entry)
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
    """Parse an IP address; None if the text is not one."""
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
