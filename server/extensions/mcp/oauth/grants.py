"""Make the requests of OAuth 2.1 and read their answers.

Sources: the draft draft-ietf-oauth-v2-1, RFC 7636 (PKCE), RFC 8707 (resource), RFC 9207 (`iss`),
RFC 7591 (registration). Pure.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from ....json_types import Json
from .metadata import BEGIN_AGAIN, REFUSED, UNSAFE, Issuer, OAuthError, scopes_in

MAX_TOKEN = 16_384  # characters
MAX_LIFE_S = 10 * 365 * 86_400.0
MARGIN_S = 30.0  # a token is renewed this long before its end, or a tenth of its life
SAID = 300  # characters of an error description that are shown

_TOKEN = re.compile(rf"[\x21-\x7e]{{1,{MAX_TOKEN}}}")
_CODE = re.compile(r"[a-z0-9_.-]{1,60}", re.IGNORECASE)


class GrantError(OAuthError):
    """The authorization server refused; `code` is its error code, such as `invalid_grant`."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text, REFUSED)
        self.code = code


@dataclass(frozen=True)
class ClientId:
    """This client at one authorization server. `method`: how it proves itself there."""

    id: str
    secret: str = field(default="", repr=False)
    method: str = "none"

    def document(self) -> Json:
        """Return the record for the token file."""
        return {"id": self.id, "secret": self.secret, "method": self.method}


@dataclass(frozen=True)
class Tokens:
    """An access token and what belongs to it. `renew_at`: seconds since 1970, inf for never."""

    access: str = field(repr=False)
    refresh: str = field(default="", repr=False)
    renew_at: float = math.inf
    scopes: tuple[str, ...] | None = None  # None: those that were asked for


# -- authorization --------------------------------------------------------------------------------


def pkce_challenge(verifier: str) -> str:
    """Return the S256 code challenge of a verifier (RFC 7636 section 4.2)."""
    return base64_url(hashlib.sha256(verifier.encode()).digest())


def base64_url(data: bytes) -> str:
    """Return bytes as base64url text without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def from_base64_url(text: str) -> bytes:
    """Return the bytes of `base64_url`. Raises ValueError."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def authorization_url(endpoint: str, params: Mapping[str, str]) -> str:
    """Return the address at which the person signs in; what its query has already is kept."""
    more = urlencode({key: value for key, value in params.items() if value}, quote_via=quote)
    return f"{endpoint}{'&' if urlsplit(endpoint).query else '?'}{more}"


def read_response(response: str) -> dict[str, str]:
    """Return the parameters of an authorization response: an address, or its query alone.

    Raises OAuthError if one is repeated (RFC 6749 section 3.1) or it has no `state`.
    """
    text = response.strip()
    query = text.partition("?")[2].partition("#")[0] if "?" in text else text
    pairs = parse_qsl(query[:MAX_TOKEN], keep_blank_values=True, max_num_fields=50)
    found = dict(pairs)
    if len(found) != len(pairs) or not found.get("state"):
        text = "this is not the address that the sign-in ended at"
        raise OAuthError(f"{text}: it has `code` and `state` in it", BEGIN_AGAIN)
    return found


def code_of(params: Mapping[str, str], issuer: Issuer) -> str:
    """Return the code of an authorization response whose state has been checked.

    `iss` is compared as text, before anything else is believed (RFC 9207 section 2.4). Raises
    GrantError for a refusal, OAuthError otherwise.
    """
    told = params.get("iss")
    if told is None and issuer.sends_iss:
        raise OAuthError(
            f"the answer does not name {issuer.issuer} as its sender; it is not used", UNSAFE
        )
    if told is not None and told != issuer.issuer:
        raise OAuthError(f"the answer is from {told[:200]!r}, not from {issuer.issuer}", UNSAFE)
    if "error" in params:
        raise refusal(params)
    if not (code := params.get("code")):
        raise OAuthError("the answer has no code")
    return code


def refusal(told: Mapping[str, Any]) -> GrantError:
    """Return the error in an answer, with its description shortened."""
    code = str(told.get("error") or "")
    code = code if _CODE.fullmatch(code) else "an error without a code"
    words = re.sub(r"[^\x20-\x7e]", " ", str(told.get("error_description") or ""))[:SAID]
    return GrantError(code, f"the authorization server refused: {code}{words and f' ({words})'}")


# -- tokens ---------------------------------------------------------------------------------------


def token_request(client: ClientId, fields: Mapping[str, str]) -> tuple[dict[str, str], bytes]:
    """Return headers and body of a token request, with the client's proof of itself.

    The id is always in the body: servers made with the official SDKs want it there.
    """
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
    sent = {key: value for key, value in {**fields, "client_id": client.id}.items() if value}
    if client.method == "client_secret_basic":  # RFC 6749 section 2.3.1: each part is encoded
        pair = f"{quote(client.id, safe='')}:{quote(client.secret, safe='')}"
        headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
    elif client.method == "client_secret_post":
        sent["client_secret"] = client.secret
    return headers, urlencode(sent).encode()


def read_tokens(document: Json, now: float) -> Tokens:
    """Return the tokens of a successful answer at `now`, seconds since 1970. Raises OAuthError."""
    access, refresh = document.get("access_token"), document.get("refresh_token")
    kind = document.get("token_type")
    if not isinstance(access, str) or not _TOKEN.fullmatch(access):
        raise OAuthError("the authorization server sent no usable access token")
    if not isinstance(kind, str) or kind.lower() != "bearer":
        raise OAuthError(f"the authorization server sent a token of the type {str(kind)[:40]!r}")
    if not isinstance(refresh, str) or not _TOKEN.fullmatch(refresh):
        refresh = ""
    scope = document.get("scope")
    scopes = scopes_in(scope) if isinstance(scope, str) else None
    return Tokens(access, refresh, _renewal(document.get("expires_in"), now), scopes)


def _renewal(lifetime: Any, now: float) -> float:
    """Return when a token should be renewed; some servers send its lifetime as text."""
    try:
        seconds = math.nan if isinstance(lifetime, bool) else float(lifetime)
    except (TypeError, ValueError, OverflowError):
        return math.inf
    if not math.isfinite(seconds) or seconds > MAX_LIFE_S:
        return math.inf
    seconds = max(0.0, seconds)
    return now + seconds - min(MARGIN_S, seconds / 10)


def auth_method(accepted: Iterable[str] | None, told: Any, secret: str) -> str:
    """Return how a client proves itself: as its registration says, else as the server accepts."""
    known = ("client_secret_basic", "client_secret_post")
    if not secret:
        return "none"
    if told in known:
        return str(told)
    offered = known if accepted is None else tuple(accepted)
    return next((each for each in known if each in offered), known[0])


# -- registration ---------------------------------------------------------------------------------


def client_document(redirect_uri: str, method: str, scopes: Iterable[str] = ()) -> Json:
    """Return what this client says of itself: for dynamic registration, or as a document."""
    told: Json = {
        "client_name": "yaa",
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
        "application_type": "native" if redirect_uri.startswith("http:") else "web",
    }
    return {**told, "scope": " ".join(scopes)} if scopes else told


def registration_method(accepted: tuple[str, ...] | None) -> str:
    """Return the method to register with: without a secret, where the server allows it."""
    if accepted is None or "none" in accepted:
        return "none"
    return auth_method(accepted, None, "wanted")


def read_registration(document: Json, accepted: tuple[str, ...] | None) -> ClientId:
    """Return this client as the authorization server has registered it. Raises OAuthError."""
    found, secret = document.get("client_id"), document.get("client_secret")
    if not isinstance(found, str) or not _TOKEN.fullmatch(found):
        raise OAuthError("the authorization server registered no usable client id")
    if not isinstance(secret, str) or not _TOKEN.fullmatch(secret):
        secret = ""
    told = document.get("token_endpoint_auth_method")
    method = "none" if told == "none" else auth_method(accepted, told, secret)
    return ClientId(found, secret, method)


# -- state ----------------------------------------------------------------------------------------


def sign(key: bytes, text: str) -> str:
    """Return the signature of a text, as base64url."""
    return base64_url(hmac.digest(key, text.encode(), "sha256"))
