"""Prove with each request that whoever sends a token has the key it is bound to (DPoP, RFC 9449).

A stolen token is of no use without the key. The key is made at the sign-in and kept with the token.
Pure, but for random ids.
"""

from __future__ import annotations

import hashlib
import secrets
from urllib.parse import urlsplit

from .es256 import SIZE, SigningKey
from .grants import base64_url, from_base64_url
from .metadata import OAuthError

ALGORITHM = "ES256"


def proof(
    key: SigningKey, method: str, url: str, now: float, nonce: str = "", token: str = ""
) -> str:
    """Return the header `DPoP` of one request. `token`: the access token that it carries."""
    target = urlsplit(url)._replace(query="", fragment="").geturl()
    claims = {"jti": secrets.token_urlsafe(16), "htm": method, "htu": target, "iat": int(now)}
    if nonce:
        claims["nonce"] = nonce
    if token:
        claims["ath"] = base64_url(hashlib.sha256(token.encode()).digest())
    return key.jwt({"typ": "dpop+jwt", "jwk": key.public()}, claims)


def key_text(key: SigningKey) -> str:
    """Return a key as it is kept."""
    return base64_url(key.number.to_bytes(SIZE))


def read_key(text: str) -> SigningKey | None:
    """Return the key of `key_text`; None for anything else."""
    try:
        return SigningKey.of(int.from_bytes(from_base64_url(text)))
    except (ValueError, OAuthError):
        return None
