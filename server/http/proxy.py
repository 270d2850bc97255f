"""Proxies from the environment: HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY, in either case.

Used by `client`. Loopback hosts are never reached through a proxy, and no message holds a proxy's
password.
"""

from __future__ import annotations

import base64
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from .headers import is_loopback


@dataclass(frozen=True)
class Proxy:
    """An HTTP proxy. `authorization` is the value of Proxy-Authorization, or ""."""

    scheme: str
    host: str
    port: int
    authorization: str = field(default="", repr=False)


def proxy_for(scheme: str, host: str, port: int, env: Mapping[str, str]) -> Proxy | None:
    """Return the proxy for an origin, or None. Raises ValueError for an unusable proxy URL."""
    if is_loopback(host) or _excepted(host, port, _setting(env, "no_proxy")):
        return None
    url = _setting(env, f"{scheme}_proxy") or _setting(env, "all_proxy")
    if not url:
        return None
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        its_port = parts.port or (443 if parts.scheme == "https" else 80)
        if "@" in parts.path + parts.query + parts.fragment:
            raise ValueError
    except ValueError:  # its text may quote the password: in "me:pa#ss@host" the port is "pa"
        text = f"the proxy for {scheme} is no address such as http://name:3128"
        raise ValueError(f"{text}; in a password # / ? are written %23 %2F %3F") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"the {parts.scheme} proxy for {scheme} is not an HTTP one")
    authorization = ""
    if parts.username:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = "Basic " + base64.b64encode(pair.encode()).decode()
    return Proxy(parts.scheme, parts.hostname, its_port, authorization)


def _setting(env: Mapping[str, str], name: str) -> str:
    return (env.get(name) or env.get(name.upper()) or "").strip()


def _excepted(host: str, port: int, exceptions: str) -> bool:
    """Return whether NO_PROXY excludes a host: names with subdomains, addresses, ranges, ports.

    The syntax is that of curl and Go.
    """
    host = host.lower().rstrip(".")
    for entry in exceptions.lower().replace(",", " ").split():
        name, colon, number = entry.rpartition(":")
        if colon and number.isdecimal() and ":" not in name:
            if int(number) != port:
                continue
            entry = name
        suffix = entry.removeprefix("*").removeprefix(".")
        if entry == "*" or host == suffix or (suffix and host.endswith(f".{suffix}")):
            return True
        if "/" in entry and _in_range(host, entry):
            return True
    return False


def _in_range(host: str, network: str) -> bool:
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False
