"""Parse what MCP servers and authorization servers publish about the sign-in.

`sign_in` fetches the documents; here they are judged. Sources: RFC 9728 (protected resource
metadata), RFC 8414 (authorization server metadata), the authorization chapter of MCP 2026-07-28 and
its 2025-03-26 predecessor. Everything in them is written by strangers. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

from ....json_types import Json
from ....lib.http.parser import is_loopback

MAX_CHALLENGE = 8_192  # characters of a WWW-Authenticate header that are read
MAX_URL = 2_048
MAX_SCOPES = 100

_PIECE = re.compile(
    r"[\s,]*(?:(?P<name>[!#$%&'*+.^_`|~0-9A-Za-z-]+)[ \t]*=[ \t]*"
    r'(?P<value>"(?:[^"\\]|\\.)*"|[^\s,"]+)|(?P<scheme>[!#$%&\'*+.^_`|~0-9A-Za-z/-]+=*))'
)
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,200}")  # RFC 6749 section 3.3


# Why a sign-in cannot go on, for clients that say it in other words.
UNUSABLE = "unusable"  # what the server or its authorization server publishes
UNREACHABLE, UNSAFE, REFUSED = "unreachable", "unsafe", "refused"
UNREGISTERED = "unregistered"  # no client id, and none to be had
BEGIN_AGAIN = "begin_again"  # too late, or not begun here
MISCONFIGURED = "misconfigured"  # the entry of the server, or a file of the home folder
REASONS = (UNUSABLE, UNREACHABLE, UNSAFE, REFUSED, UNREGISTERED, BEGIN_AGAIN, MISCONFIGURED)


class OAuthError(Exception):
    """The sign-in cannot go on. The text has no token, code, or client secret.

    `reason`: one of REASONS.
    """

    def __init__(self, text: str, reason: str = UNUSABLE) -> None:
        super().__init__(text)
        self.reason = reason


# -- the challenge --------------------------------------------------------------------------------


def bearer_challenge(header: str) -> dict[str, str] | None:
    """Return the parameters of a `Bearer` challenge in WWW-Authenticate; None if none.

    Names are lower-case. The first of repeated parameters counts.
    """
    found: dict[str, str] | None = None
    scheme, at, header = "", 0, header[:MAX_CHALLENGE]
    while piece := _PIECE.match(header, at):
        at = piece.end()
        if piece["scheme"]:
            scheme = piece["scheme"].lower()
            if scheme == "bearer":
                found = {} if found is None else found
        elif scheme == "bearer" and found is not None:
            found.setdefault(piece["name"].lower(), _unquoted(piece["value"]))
    return found


def _unquoted(value: str) -> str:
    return re.sub(r"\\(.)", r"\1", value[1:-1]) if value.startswith('"') else value


def scopes_in(value: Any) -> tuple[str, ...]:
    """Return the scopes in a text or a list, each once; what is no scope is left out."""
    parts = value.split() if isinstance(value, str) else value if isinstance(value, list) else ()
    fit = (each for each in parts if isinstance(each, str) and _SCOPE.fullmatch(each))
    return tuple(dict.fromkeys(fit))[:MAX_SCOPES]


def merge_scopes(*groups: Iterable[str]) -> tuple[str, ...]:
    """Return the scopes of all groups, each once."""
    return tuple(dict.fromkeys(scope for group in groups for scope in group))[:MAX_SCOPES]


# -- addresses ------------------------------------------------------------------------------------


def safe_url(value: Any, name: str) -> str:
    """Return an address that a code or token may be sent to. Raises OAuthError.

    It is https, or http on this machine, without a user and a fragment. `name` is for the message.
    """
    parts = _split(value)
    if parts is None or parts.username is not None or parts.fragment or len(value) > MAX_URL:
        raise OAuthError(f"its {name} is not an https address", UNSAFE)
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        text = f"its {name} {parts.scheme}://{parts.netloc[:100]} is not encrypted"
        raise OAuthError(f"{text}: a sign-in wants https", UNSAFE)
    return str(value)


def _split(value: Any) -> SplitResult | None:
    """Return the parts of an http or https address, None for anything else."""
    try:
        parts = urlsplit(value) if isinstance(value, str) and value.isascii() else None
        usable = parts is not None and parts.scheme in ("http", "https") and parts.hostname
        _ = parts and parts.port  # raises ValueError for what is no port
    except ValueError:
        return None
    clean = usable and not re.search(r"[\x00-\x20\x7f\\]", str(value))
    return parts if clean else None


def origin_of(url: str) -> str:
    """Return `scheme://host[:port]` of an address."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}".lower()


def covers(resource: str, url: str) -> bool:
    """Return whether a resource is an address, or a path above it on the same origin."""
    whole, part = _split(resource), _split(url)
    if whole is None or part is None or origin_of(resource) != origin_of(url):
        return False
    above = whole.path.rstrip("/")
    same = part.path.rstrip("/") == above and whole.query in ("", part.query)
    return same or (not whole.query and part.path.startswith(f"{above}/"))


def resource_addresses(url: str) -> list[str]:
    """Return the addresses of the metadata of a protected resource, the likeliest first."""
    path = urlsplit(url).path.rstrip("/")
    base = f"{origin_of(url)}/.well-known/oauth-protected-resource"
    return [base + path, base] if path else [base]


def issuer_addresses(issuer: str) -> list[str]:
    """Return the addresses of the metadata of an authorization server, the likeliest first."""
    parts = urlsplit(issuer)
    base, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    names = [f"{base}/.well-known/oauth-authorization-server{path}"]
    names.append(f"{base}/.well-known/openid-configuration{path}")
    return [*names, f"{base}{path}/.well-known/openid-configuration"] if path else names


# -- documents ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Resource:
    """A protected MCP server: its identifier, authorization servers and scopes."""

    resource: str
    issuers: tuple[str, ...]
    scopes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Issuer:
    """An authorization server. `auth_methods`: None if it does not say.

    sends_iss: its responses name it (RFC 9207). takes_urls: a client id may be the address of a
    metadata document. scopes: those that it offers.
    """

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    registration_endpoint: str = ""
    auth_methods: tuple[str, ...] | None = None
    scopes: tuple[str, ...] = ()
    sends_iss: bool = False
    takes_urls: bool = False


def read_resource(document: Json, url: str) -> Resource:
    """Return the metadata of the MCP server at `url`. Raises OAuthError.

    A document about another resource is refused: its tokens would be for somebody else.
    """
    resource = document.get("resource")
    if not isinstance(resource, str) or not covers(resource, url):
        raise OAuthError(f"its metadata is about {str(resource)[:200]!r}, another address", UNSAFE)
    listed = document.get("authorization_servers")
    listed = listed if isinstance(listed, list) else []
    issuers = tuple(safe_url(each, "authorization server") for each in listed[:20])
    if not issuers:
        raise OAuthError("its metadata names no authorization server")
    return Resource(resource, issuers, scopes_in(document.get("scopes_supported")))


def read_issuer(document: Json, issuer: str, *, interactive: bool = True) -> Issuer:
    """Return the metadata of the authorization server `issuer`. Raises OAuthError.

    `interactive`: a person signs in, so it must have a page for that and support PKCE with S256.
    """
    if not is_same_issuer(document.get("issuer"), issuer):
        told = str(document.get("issuer"))[:200]
        raise OAuthError(f"the authorization server {issuer} calls itself {told!r}", UNSAFE)
    methods = document.get("code_challenge_methods_supported")
    if interactive and not (isinstance(methods, list) and "S256" in methods):
        text = f"the authorization server {issuer} does not say that it checks PKCE with S256"
        raise OAuthError(f"{text}; a sign-in there would not be safe", UNSAFE)
    page = document.get("authorization_endpoint")
    registers = document.get("registration_endpoint")
    accepts = document.get("token_endpoint_auth_methods_supported")
    return Issuer(
        str(document["issuer"]),
        safe_url(page, "authorization_endpoint") if interactive else "",
        safe_url(document.get("token_endpoint"), "token_endpoint"),
        safe_url(registers, "registration_endpoint") if registers is not None else "",
        tuple(map(str, accepts[:20])) if isinstance(accepts, list) else None,
        scopes_in(document.get("scopes_supported")),
        document.get("authorization_response_iss_parameter_supported") is True,
        document.get("client_id_metadata_document_supported") is True,
    )


def is_same_issuer(told: Any, issuer: str) -> bool:
    """Return whether metadata is that of an issuer.

    `https://a` and `https://a/` are the same address (RFC 3986 section 6.2.3), and many servers
    write the one here and the other there; nothing else is normalized.
    """
    if not isinstance(told, str):
        return False
    bare = not urlsplit(issuer).path.strip("/")
    return told == issuer or (bare and told.rstrip("/") == issuer.rstrip("/"))


def early_issuer(url: str) -> Issuer:
    """Return the addresses of an MCP server without any metadata, as MCP 2025-03-26 had them."""
    origin = origin_of(safe_url(url, "url"))
    paths = (f"{origin}/authorize", f"{origin}/token", f"{origin}/register")
    return Issuer(origin, *paths)


def first_issuer(resource: Resource, known: str, wanted: str) -> str:
    """Return the authorization server to use: the configured one, the known one, or the first.

    Raises OAuthError if the configured one is not offered.
    """
    for name in filter(None, (wanted, known)):
        for issuer in resource.issuers:
            if is_same_issuer(name, issuer):
                return issuer
    if wanted:
        offered = ", ".join(resource.issuers)[:300]
        raise OAuthError(f"oauth.issuer is {wanted}, but it offers {offered}", MISCONFIGURED)
    return resource.issuers[0]


def read_challenge(headers: Mapping[str, str]) -> dict[str, str] | None:
    """Return `bearer_challenge` of a response's headers."""
    return bearer_challenge(headers.get("www-authenticate", ""))
