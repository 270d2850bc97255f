"""Signatures of the curve P-256 by the vectors of RFC 6979, and keys as programs write them."""

from __future__ import annotations

import base64
import json
import unittest

from server.tools.mcp.oauth.es256 import N, SigningKey, read_pem
from server.tools.mcp.oauth.grants import from_base64_url
from server.tools.mcp.oauth.metadata import OAuthError

# RFC 6979 appendix A.2.5, with SHA-256
NUMBER = 0xC9AFA9D845BA75166B5C215767B1D6934E50C3DB36E89B127B8A622B120F6721
X = 0x60FED4BA255A9D31C961EB74C6356D68C049B8923B61FA6CE669622E60F29FB6
Y = 0x7903FE1008B8BC99A41AE9E95628BC64F2F1B20C2D7E9F5177A3C294D4462299
SIGNATURES = {
    b"sample": "EFD48B2AACB6A8FD1140DD9CD45E81D69D2C877B56AAF991C34D0EA84EAF3716"
    "F7CB1C942D657C41D436C7A1B6E29F65F3E900DBB9AFF4064DC4AB2F843ACDA8",
    b"test": "F1ABB023518351CD71D881567B1EA663ED3EFCF6C5132B354F28D3B0B7D38367"
    "019F4113742A2B14BD25926B49C649155F267E60D3814B4C0CC84250E46F0083",
}
CURVE = bytes.fromhex("06082a8648ce3d030107")
PUBLIC = b"\x03\x42\x00\x04" + X.to_bytes(32) + Y.to_bytes(32)


def wrapped(mark: int, *parts: bytes) -> bytes:
    """A value of DER: its mark, its length, its parts."""
    whole = b"".join(parts)
    size = len(whole)
    return bytes([mark, size] if size < 128 else [mark, 0x81, size]) + whole


def pem(name: str, der: bytes) -> str:
    text = base64.encodebytes(der).decode()
    return f"-----BEGIN {name}-----\n{text}-----END {name}-----\n"


INSIDE = (b"\x02\x01\x01\x04\x20", NUMBER.to_bytes(32))
SEC1 = wrapped(0x30, *INSIDE, wrapped(0xA0, CURVE), wrapped(0xA1, PUBLIC))
KIND = wrapped(0x30, bytes.fromhex("06072a8648ce3d0201"), CURVE)
PKCS8 = wrapped(
    0x30,
    b"\x02\x01\x00",
    KIND,
    wrapped(0x04, wrapped(0x30, *INSIDE, wrapped(0xA1, PUBLIC))),
)


class Signing(unittest.TestCase):
    def test_the_vectors_of_the_standard(self) -> None:
        key = SigningKey.of(NUMBER)
        self.assertEqual((key.x, key.y), (X, Y))
        for message, wanted in SIGNATURES.items():
            self.assertEqual(key.sign(message).hex().upper(), wanted)

    def test_keys_are_numbers_of_the_curve(self) -> None:
        for number in (0, N, -1, N + 5):
            with self.subTest(number), self.assertRaises(OAuthError):
                SigningKey.of(number)
        self.assertNotEqual(SigningKey.new(), SigningKey.new())
        self.assertNotIn(str(NUMBER), repr(SigningKey.of(NUMBER)))

    def test_keys_are_read_in_both_forms(self) -> None:
        for text in (
            pem("EC PRIVATE KEY", SEC1),
            pem("PRIVATE KEY", PKCS8),
            "Key:\r\n" + pem("PRIVATE KEY", PKCS8).replace("\n", "\r\n"),
        ):
            self.assertEqual(read_pem(text), SigningKey.of(NUMBER))

    def test_what_is_no_such_key_is_refused_without_being_shown(self) -> None:
        other = PKCS8.replace(CURVE, bytes.fromhex("06082a8648ce3d030108"))
        for text in (
            "",
            "secret words",
            pem("ENCRYPTED PRIVATE KEY", PKCS8),
            pem("RSA PRIVATE KEY", PKCS8),
            pem("PRIVATE KEY", other),
            pem("PRIVATE KEY", PKCS8[:40]),
            "-----BEGIN PRIVATE KEY-----\nA\n-----END PRIVATE KEY-----",
        ):
            with self.subTest(text[:40]), self.assertRaises(OAuthError) as caught:
                read_pem(text)
            self.assertIn("wanted an EC key of the curve P-256", str(caught.exception))
            self.assertNotIn("secret words", str(caught.exception))

    def test_a_web_token_has_its_three_parts(self) -> None:
        key = SigningKey.of(NUMBER)
        head, body, signature = key.jwt({"typ": "x"}, {"a": "\u00e9"}).split(".")
        self.assertEqual(json.loads(from_base64_url(head)), {"alg": "ES256", "typ": "x"})
        self.assertEqual(json.loads(from_base64_url(body)), {"a": "\u00e9"})
        self.assertEqual(from_base64_url(signature), key.sign(f"{head}.{body}".encode()))
        self.assertEqual(from_base64_url(key.public()["x"]), X.to_bytes(32))
