"""Requests of OAuth and their answers, without a network."""

from __future__ import annotations

import base64
import math
import unittest
from typing import Any
from urllib.parse import parse_qs, urlsplit

from server.extensions.mcp.oauth.grants import (
    ClientId,
    GrantError,
    authorization_url,
    client_document,
    code_of,
    pkce_challenge,
    read_registration,
    read_response,
    read_tokens,
    refusal,
    registration_method,
    token_request,
)
from server.extensions.mcp.oauth.metadata import Issuer, OAuthError

ISSUER = Issuer("https://as", "https://as/a", "https://as/t", sends_iss=True)
QUIET = Issuer("https://as", "https://as/a", "https://as/t")
TOKEN = {"access_token": "secret-a", "token_type": "bearer"}
LIVES: list[tuple[Any, float]] = [
    (3600, 1000 + 3570.0),
    ("100", 1090.0),
    (10, 1009.0),
    (0, 1000.0),
    (-5, 1000.0),
    (None, math.inf),
    ("soon", math.inf),
    (True, math.inf),
    (1e300, math.inf),
    ([1], math.inf),
    (10**400, math.inf),
]
METHODS: list[tuple[Any, Any, Any, str]] = [
    # accepted, the registration's method, its secret -> method
    (None, None, None, "none"),
    (None, None, "s", "client_secret_basic"),
    (("client_secret_post",), None, "s", "client_secret_post"),
    (
        ("client_secret_basic", "client_secret_post"),
        "client_secret_post",
        "s",
        "client_secret_post",
    ),
    (("none",), "none", "s", "none"),
    (("private_key_jwt",), "private_key_jwt", "s", "client_secret_basic"),
]


class Grants(unittest.TestCase):
    def test_pkce_is_that_of_the_standard(self) -> None:
        verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"  # RFC 7636 appendix B
        wanted = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
        self.assertEqual(pkce_challenge(verifier), wanted)

    def test_authorization_addresses_keep_their_query(self) -> None:
        url = authorization_url(
            "https://as/a?tenant=x&y", {"scope": "a b", "prompt": "", "u": "\u00e9&"}
        )
        self.assertEqual(
            parse_qs(urlsplit(url).query), {"tenant": ["x"], "scope": ["a b"], "u": ["\u00e9&"]}
        )
        self.assertTrue(url.startswith("https://as/a?tenant=x&y&"))

    def test_responses(self) -> None:
        wanted = {"code": "c", "state": "s"}
        for text in ("?code=c&state=s", "code=c&state=s", " http://h/cb?code=c&state=s#x \n"):
            self.assertEqual(read_response(text), wanted)
        many = "&".join(f"k{n}=1" for n in range(40))
        self.assertEqual(read_response(f"?state=s&{many}")["state"], "s")
        for text in (
            "",
            "hello",
            "?code=c",
            "?state=",
            "?state=a&state=b",
            "?code=1&code=2&state=s",
        ):
            with self.subTest(text), self.assertRaisesRegex(OAuthError, "code` and `state"):
                read_response(text)

    def test_a_response_of_another_sender_is_refused_before_it_is_believed(self) -> None:
        self.assertEqual(code_of({"code": "c", "iss": "https://as"}, ISSUER), "c")
        self.assertEqual(code_of({"code": "c"}, QUIET), "c")
        for params, issuer, words in (
            ({"code": "c"}, ISSUER, "does not name https://as"),
            ({"code": "c", "iss": "https://evil"}, ISSUER, "is from 'https://evil'"),
            ({"code": "c", "iss": "https://evil"}, QUIET, "is from 'https://evil'"),
            ({"code": "c", "iss": "https://as/"}, QUIET, "is from"),
            ({"code": "c", "iss": "HTTPS://as"}, QUIET, "is from"),
            ({"error": "x", "iss": "https://evil"}, QUIET, "is from"),
            ({"error": "access_denied", "error_description": "no"}, QUIET, r"access_denied \(no\)"),
            ({}, QUIET, "has no code"),
        ):
            with self.subTest(params), self.assertRaisesRegex(OAuthError, words):
                code_of(params, issuer)

    def test_refusals_are_shown_in_part(self) -> None:
        found = refusal({"error": "invalid_grant", "error_description": "a\x1b[1m\n" + "x" * 9_999})
        self.assertEqual(found.code, "invalid_grant")
        self.assertNotIn("\x1b", str(found))
        self.assertLess(len(str(found)), 400)
        self.assertIn("without a code", str(refusal({})))
        self.assertIn("without a code", str(refusal({"error": "<script>"})))
        self.assertIsInstance(found, GrantError)

    def test_a_client_proves_itself_as_the_method_says(self) -> None:
        for method, header, members in (
            ("none", "", {"client_id": ["i:d"]}),
            (
                "client_secret_basic",
                "Basic " + base64.b64encode(b"i%3Ad:s%2F%20").decode(),
                {"client_id": ["i:d"]},
            ),
            ("client_secret_post", "", {"client_id": ["i:d"], "client_secret": ["s/ "]}),
        ):
            with self.subTest(method):
                headers, body = token_request(ClientId("i:d", "s/ ", method), {"a": "b", "c": ""})
                self.assertEqual(headers.get("Authorization", ""), header)
                self.assertEqual(parse_qs(body.decode()), {"a": ["b"], **members})

    def test_secrets_are_not_in_the_text_of_objects(self) -> None:
        self.assertNotIn("secret", str(ClientId("i", "secret", "none")))
        self.assertNotIn("secret", str(read_tokens({**TOKEN, "refresh_token": "secret-r"}, 0)))

    def test_lifetimes(self) -> None:
        for told, wanted in LIVES:
            with self.subTest(told):
                found = read_tokens({**TOKEN, "expires_in": told}, 1000)
                self.assertEqual(found.renew_at, wanted)

    def test_tokens_that_cannot_be_sent(self) -> None:
        for more in (
            {"access_token": ""},
            {"access_token": None},
            {"access_token": "a\r\nX-Evil: 1"},
            {"access_token": "a" * 20_000},
            {"access_token": "\u2603"},
            {"token_type": "mac"},
            {"token_type": None},
        ):
            with self.subTest(str(more)[:40]), self.assertRaises(OAuthError):
                read_tokens({**TOKEN, **more}, 0)
        self.assertEqual(read_tokens({**TOKEN, "refresh_token": "a\nb"}, 0).refresh, "")
        self.assertIsNone(read_tokens(TOKEN, 0).scopes)
        self.assertEqual(read_tokens({**TOKEN, "scope": "a b"}, 0).scopes, ("a", "b"))

    def test_registrations(self) -> None:
        for accepted, method, secret, wanted in METHODS:
            told = {"client_id": "i", "client_secret": secret, "token_endpoint_auth_method": method}
            with self.subTest(told, accepted=accepted):
                self.assertEqual(read_registration(told, accepted).method, wanted)
        for told in ({}, {"client_id": 5}, {"client_id": "a b"}, {"client_id": ""}):
            with self.subTest(told), self.assertRaises(OAuthError):
                read_registration(told, None)
        self.assertEqual(registration_method(None), "none")
        self.assertEqual(registration_method(("client_secret_post",)), "client_secret_post")
        document = client_document("http://127.0.0.1:1/callback", "none")
        self.assertEqual(document["application_type"], "native")
        self.assertIn("refresh_token", document["grant_types"])
        self.assertEqual(client_document("https://h/cb", "none")["application_type"], "web")
