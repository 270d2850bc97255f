"""Predicates for the values of the keyword `format`.

FORMATS maps names to predicates; a format that is not in it is an annotation. Each predicate checks
the whole text against the RFC's grammar, ASCII only, without I/O, in linear time.

Not covered: `hostname` checks the form of an A-label (`xn--…`) and that it is Punycode, not that it
is a valid IDNA 2008 name; that needs tables the standard library doesn't have.
"""

from __future__ import annotations

import datetime
import ipaddress
import re
from collections.abc import Callable

from .regex import parse

EXAMPLES = {
    "date-time": "2026-11-21T10:00:00Z",
    "date": "2026-11-21",
    "time": "10:00:00Z",
    "duration": "PT1H30M",
    "email": "name@example.org",
    "hostname": "example.org",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.org/",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
}

_TIME = re.compile(
    r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))"
)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DURATION = re.compile(  # RFC 3339 appendix A: no gaps between units, weeks alone
    r"P(?:[0-9]+W"
    r"|(?:[0-9]+Y(?:[0-9]+M(?:[0-9]+D)?)?|[0-9]+M(?:[0-9]+D)?|[0-9]+D)"
    r"(?:T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S))?"
    r"|T(?:[0-9]+H(?:[0-9]+M(?:[0-9]+S)?)?|[0-9]+M(?:[0-9]+S)?|[0-9]+S))"
)
_UUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_LOCAL = re.compile(  # RFC 5321 section 4.1.2
    r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
    r'|"(?:[ !#-\[\]-~]|\\[ -~])*"'
)
_PCHAR = r"(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})"
_URI = re.compile(  # RFC 3986 appendix A
    r"[A-Za-z][A-Za-z0-9+.-]*:"
    r"(?://(?:(?:[A-Za-z0-9._~!$&'()*+,;=:-]|%[0-9A-Fa-f]{2})*@)?"
    r"(?:\[(?P<address>[^\]\[]*)\]|(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*)(?::[0-9]*)?"
    rf"(?:/{_PCHAR}*)*"
    rf"|/(?:{_PCHAR}+(?:/{_PCHAR}*)*)?|{_PCHAR}+(?:/{_PCHAR}*)*|)"
    rf"(?:\?(?:{_PCHAR}|[/?])*)?(?:#(?:{_PCHAR}|[/?])*)?"
)
_FUTURE_ADDRESS = re.compile(r"v[0-9A-Fa-f]+\.[A-Za-z0-9._~!$&'()*+,;=:-]+")


def date_time(text: str) -> bool:
    """Check RFC 3339 section 5.6: `2026-11-21T10:00:00Z`, with a mandatory offset."""
    return text[10:11] in ("T", "t") and date(text[:10]) and time(text[11:])


def date(text: str) -> bool:
    """Check RFC 3339 `full-date`: `2026-11-21`."""
    # Year 0000 is allowed and a leap year, but not a datetime.date.
    common = text.replace("0000", "2000", 1) if text.startswith("0000") else text
    return bool(_DATE.fullmatch(text)) and _accepted(datetime.date.fromisoformat, common)


def time(text: str) -> bool:
    """Check RFC 3339 `full-time`. A second 60 exists only at 23:59 UTC (section 5.7)."""
    match = _TIME.fullmatch(text)
    if not match:
        return False
    hour, minute, second = (int(part) for part in match.group(1, 2, 3))
    away_hours, away_minutes = int(match[5] or 0), int(match[6] or 0)
    if hour > 23 or minute > 59 or second > 60 or away_hours > 23 or away_minutes > 59:
        return False
    offset = (away_hours * 60 + away_minutes) * (-1 if match[4] == "-" else 1)
    return second < 60 or (hour * 60 + minute - offset) % 1440 == 1439


def email(text: str) -> bool:
    """Check an address by RFC 5321 section 4.1.2, with a host name or an address literal."""
    local, _, domain = text.rpartition("@")
    if not _LOCAL.fullmatch(local):
        return False
    if domain.startswith("[") and domain.endswith("]"):
        literal = domain[1:-1]
        return ipv6(literal[5:]) if literal.startswith("IPv6:") else ipv4(literal)
    return hostname(domain)


def hostname(text: str) -> bool:
    """Check RFC 1123 section 2.1.

    `--` at the third place is allowed only in A-labels (RFC 5891 section 4.2.3.1).
    """
    return len(text) <= 253 and all(_host_label(label) for label in text.split("."))


def _host_label(label: str) -> bool:
    if not _LABEL.fullmatch(label):
        return False
    if label[2:4] != "--":
        return True
    if label[:4].lower() != "xn--":
        return False
    try:
        return not label[4:].encode().decode("punycode").isascii()
    except ValueError:
        return False


def ipv4(text: str) -> bool:
    """Check a dotted IPv4 address."""
    return len(text) <= 15 and text.isascii() and _accepted(ipaddress.IPv4Address, text)


def ipv6(text: str) -> bool:
    """Check an IPv6 address without a zone."""
    plain = len(text) <= 45 and text.isascii() and "%" not in text
    return plain and _accepted(ipaddress.IPv6Address, text)


def _accepted(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


def uri(text: str) -> bool:
    """Check a URI by RFC 3986 appendix A; a scheme is required."""
    match = _URI.fullmatch(text)
    if not match:
        return False
    address = match["address"]
    return address is None or ipv6(address) or _FUTURE_ADDRESS.fullmatch(address) is not None


FORMATS: dict[str, Callable[[str], bool]] = {
    "date-time": date_time,
    "date": date,
    "time": time,
    "duration": lambda text: _DURATION.fullmatch(text) is not None,
    "email": email,
    "hostname": hostname,
    "ipv4": ipv4,
    "ipv6": ipv6,
    "uri": uri,
    "uuid": lambda text: _UUID.fullmatch(text) is not None,
    "regex": lambda text: _accepted(parse, text),
}
