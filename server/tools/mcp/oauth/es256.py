"""Sign with ECDSA on the curve P-256 and SHA-256, which JOSE calls ES256 (RFC 7518 section 3.4).

For the proofs of clients that have a key instead of a secret. The nonce of a signature is derived
from key and message (RFC 6979), so no weak source of randomness can give the key away. Python's
integers do not take constant time: what follows from that is in docs/design/security.md. Pure.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field

from ....json_types import Json
from .grants import base64_url
from .metadata import MISCONFIGURED, OAuthError

# SEC 2 section 2.4.2: y² = x³ - 3x + b over the field of P, where G generates N points.
P = 0xFFFFFFFF00000001000000000000000000000000FFFFFFFFFFFFFFFFFFFFFFFF
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
G = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)
SIZE = 32  # bytes of a number

Point = tuple[int, int] | None  # None: the point at infinity

_P256 = bytes.fromhex("06082a8648ce3d030107")  # the object identifier of the curve, in DER


@dataclass(frozen=True)
class SigningKey:
    """A private key and its public point."""

    number: int = field(repr=False)
    x: int
    y: int

    @classmethod
    def of(cls, number: int) -> SigningKey:
        """Return the key of a private number. Raises OAuthError if it is none."""
        if not 0 < number < N:
            raise OAuthError("the private key is no key of the curve P-256", MISCONFIGURED)
        point = _multiply(number, G)
        assert point is not None
        return cls(number, *point)

    @classmethod
    def new(cls) -> SigningKey:
        """Return a new random key."""
        return cls.of(secrets.randbelow(N - 1) + 1)

    def public(self) -> Json:
        """Return the public key as JWK, with the members of its thumbprint (RFC 7638)."""
        x, y = (base64_url(each.to_bytes(SIZE)) for each in (self.x, self.y))
        return {"crv": "P-256", "kty": "EC", "x": x, "y": y}

    def sign(self, message: bytes) -> bytes:
        """Return the signature of a message: two numbers of 32 bytes."""
        digest = hashlib.sha256(message).digest()
        z = int.from_bytes(digest) % N
        for k in _nonces(self.number, digest):
            point = _multiply(k, G)
            assert point is not None
            r = point[0] % N
            s = pow(k, -1, N) * (z + r * self.number) % N
            if r and s:
                return r.to_bytes(SIZE) + s.to_bytes(SIZE)
        raise AssertionError("unreachable")

    def jwt(self, header: Json, claims: Json) -> str:
        """Return a signed JSON Web Token in the compact form."""
        parts = ({"alg": "ES256", **header}, claims)
        text = ".".join(base64_url(json.dumps(each).encode()) for each in parts)
        return f"{text}.{base64_url(self.sign(text.encode()))}"


def read_pem(text: str) -> SigningKey:
    """Return the key in a PEM text: PKCS #8 or SEC 1, not encrypted. Raises OAuthError."""
    wanted = "wanted an EC key of the curve P-256, PEM, not encrypted"
    found = re.search(
        r"-----BEGIN (EC )?PRIVATE KEY-----([A-Za-z0-9+/=\s]+)-----END (?:EC )?PRIVATE KEY-----",
        text,
    )
    try:
        der = base64.b64decode(found[2]) if found else b""
    except binascii.Error:
        der = b""
    if _P256 not in der:
        raise OAuthError(f"the private key cannot be read: {wanted}", MISCONFIGURED)
    # The private number is the first octet string of 32 bytes: of ECPrivateKey (RFC 5915), which
    # PKCS #8 wraps into another octet string.
    at = der.find(b"\x02\x01\x01\x04\x20")
    if at < 0 or len(der) < at + 5 + SIZE:
        raise OAuthError(f"the private key cannot be read: {wanted}", MISCONFIGURED)
    return SigningKey.of(int.from_bytes(der[at + 5 : at + 5 + SIZE]))


# -- the curve ------------------------------------------------------------------------------------


def _multiply(number: int, point: Point) -> Point:
    """Return `number` times a point, with the same steps for every number (Montgomery ladder)."""
    low: Point = None
    high = point
    for bit in range(255, -1, -1):
        if number >> bit & 1:
            low, high = _add(low, high), _add(high, high)
        else:
            low, high = _add(low, low), _add(low, high)
    return low


def _add(one: Point, other: Point) -> Point:
    if one is None or other is None:
        return other if one is None else one
    if one[0] == other[0] and (one[1] + other[1]) % P == 0:
        return None
    if one == other:
        slope = (3 * one[0] * one[0] - 3) * pow(2 * one[1], -1, P) % P
    else:
        slope = (other[1] - one[1]) * pow(other[0] - one[0], -1, P) % P
    x = (slope * slope - one[0] - other[0]) % P
    return x, (slope * (one[0] - x) - one[1]) % P


def _nonces(number: int, digest: bytes) -> Iterator[int]:
    """Yield candidates for the nonce of a signature (RFC 6979 section 3.2)."""
    seed = number.to_bytes(SIZE) + (int.from_bytes(digest) % N).to_bytes(SIZE)
    key, value = bytes(SIZE), b"\x01" * SIZE
    for mark in (b"\x00", b"\x01"):
        key = hmac.digest(key, value + mark + seed, "sha256")
        value = hmac.digest(key, value, "sha256")
    while True:
        value = hmac.digest(key, value, "sha256")
        if 0 < (found := int.from_bytes(value)) < N:
            yield found
        key = hmac.digest(key, value + b"\x00", "sha256")
        value = hmac.digest(key, value, "sha256")
