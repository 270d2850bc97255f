"""What servers publish about a sign-in: challenges, addresses, documents of strangers."""

from __future__ import annotations

import unittest
from typing import Any

from server.extensions.mcp.oauth.metadata import (
    OAuthError,
    bearer_challenge,
    covers,
    early_issuer,
    first_issuer,
    is_same_issuer,
    issuer_addresses,
    merge_scopes,
    read_issuer,
    read_resource,
    resource_addresses,
    safe_url,
    scopes_in,
)

CHALLENGES: list[tuple[str, dict[str, str] | None]] = [
    ("", None),
    ("Basic realm=x", None),
    ("Bearer", {}),
    ('bearer realm="a, b=c", scope="x y"', {"realm": "a, b=c", "scope": "x y"}),
    ('Bearer a="q\\"uo\\\\te"', {"a": 'q"uo\\te'}),
    ('Basic realm="x", Bearer error=invalid_token', {"error": "invalid_token"}),
    ('Negotiate abc==, Bearer scope="s"', {"scope": "s"}),
    ('Bearer scope="a", scope="b"', {"scope": "a"}),
    ('Bearer SCOPE = "a"', {"scope": "a"}),
    ('Bearer scope="not ended', {}),
    ("Bearer scope=a, Digest scope=b", {"scope": "a"}),
    ("\u2603, Bearer", None),
    ("Bearer " + "x=y, " * 100_000, {"x": "y"}),
    ('Bearer a="' + "\\" * 100_000, {}),
]
UNSAFE = [
    *("", "x", "ftp://a/", "http://a.example/", "https://user@a/", "https://a/#f", "https://a b/"),
    *("javascript:alert(1)", "https://a\\b/", "https://a:99999/", "https:///x", "http://10.0.0.1/"),
    *("https://\u2603.example/", "https://a/" + "x" * 3_000, "https://[::1", "file:///etc/passwd"),
    *(None, 5, ["https://a/"], "http://127.0.0.1.example/", "https://a/\n"),
]
SAFE = ["https://a.example/x?y=z", "http://127.0.0.1:8/", "http://localhost/x", "http://[::1]:8/"]
COVERED: list[tuple[str, str, bool]] = [
    ("https://a/mcp", "https://a/mcp", True),
    ("https://a/mcp", "https://a/mcp/", True),
    ("https://a/mcp/", "https://a/mcp", True),
    ("https://a", "https://a/mcp", True),
    ("https://A/", "https://a/mcp", True),
    ("https://a/mcp", "https://a/mcp/deeper", True),
    ("https://a/mcp", "https://a/mcpx", False),
    ("https://a/mcp", "https://a/", False),
    ("https://a/mcp", "http://a/mcp", False),
    ("https://a/mcp", "https://a:444/mcp", False),
    ("https://a/mcp", "https://evil.example/mcp", False),
    ("https://a/mcp", "https://a/mcp?t=1", True),
    ("https://a/mcp?t=1", "https://a/mcp?t=2", False),
    ("nonsense", "https://a/mcp", False),
]
ISSUER: dict[str, Any] = {
    "issuer": "https://as.example",
    "authorization_endpoint": "https://as.example/authorize",
    "token_endpoint": "https://as.example/token",
    "code_challenge_methods_supported": ["plain", "S256"],
}
HOSTILE_ISSUERS: list[tuple[dict[str, Any], str]] = [
    ({"issuer": "https://evil.example"}, "calls itself 'https://evil.example'"),
    ({"issuer": "https://as.example/path"}, "calls itself"),
    ({"issuer": "https://AS.example"}, "calls itself"),
    ({"issuer": None}, "calls itself"),
    ({"issuer": ["https://as.example"]}, "calls itself"),
    ({"code_challenge_methods_supported": ["plain"]}, "PKCE with S256"),
    ({"code_challenge_methods_supported": None}, "PKCE with S256"),
    ({"code_challenge_methods_supported": "S256"}, "PKCE with S256"),
    ({"authorization_endpoint": "http://as.example/authorize"}, "is not encrypted"),
    ({"authorization_endpoint": "javascript:alert(1)"}, "is not an https address"),
    ({"token_endpoint": "http://as.example/token"}, "its token_endpoint http://as.example"),
    ({"token_endpoint": None}, "its token_endpoint is not"),
    ({"registration_endpoint": "http://as.example/r"}, "registration_endpoint"),
]


class Metadata(unittest.TestCase):
    def test_challenges(self) -> None:
        for header, wanted in CHALLENGES:
            with self.subTest(header[:40]):
                self.assertEqual(bearer_challenge(header), wanted)

    def test_addresses_that_take_a_code_are_encrypted_or_of_this_machine(self) -> None:
        for url in UNSAFE:
            with self.subTest(str(url)[:40]), self.assertRaises(OAuthError):
                safe_url(url, "x")
        for url in SAFE:
            self.assertEqual(safe_url(url, "x"), url)

    def test_what_a_resource_covers(self) -> None:
        for resource, url, wanted in COVERED:
            with self.subTest(resource=resource, url=url):
                self.assertEqual(covers(resource, url), wanted)

    def test_well_known_addresses(self) -> None:
        known = "https://a.example/.well-known/"
        self.assertEqual(
            resource_addresses("https://a.example/v1/mcp/"),
            [f"{known}oauth-protected-resource/v1/mcp", f"{known}oauth-protected-resource"],
        )
        bare = [f"{known}oauth-protected-resource"]
        self.assertEqual(resource_addresses("https://a.example/"), bare)
        self.assertEqual(
            issuer_addresses("https://a.example/t1/"),
            [
                f"{known}oauth-authorization-server/t1",
                f"{known}openid-configuration/t1",
                "https://a.example/t1/.well-known/openid-configuration",
            ],
        )
        both = [f"{known}oauth-authorization-server", f"{known}openid-configuration"]
        self.assertEqual(issuer_addresses("https://a.example"), both)

    def test_resources(self) -> None:
        url = "https://a.example/mcp"
        fit = {"resource": url, "authorization_servers": ["https://as.example"]}
        found = read_resource({**fit, "scopes_supported": ["a", 5, "b c", "a"]}, url)
        self.assertEqual((found.issuers, found.scopes), (("https://as.example",), ("a",)))
        for more, words in (
            ({"resource": "https://evil.example/mcp"}, "another address"),
            ({"resource": None}, "another address"),
            ({"authorization_servers": []}, "names no authorization server"),
            ({"authorization_servers": "https://as.example"}, "names no"),
            ({"authorization_servers": ["http://as.example"]}, "is not encrypted"),
            ({"authorization_servers": [5]}, "is not an https address"),
        ):
            with self.subTest(more), self.assertRaisesRegex(OAuthError, words):
                read_resource({**fit, **more}, url)

    def test_hostile_issuers(self) -> None:
        self.assertFalse(read_issuer(ISSUER, "https://as.example").sends_iss)
        for more, words in HOSTILE_ISSUERS:
            with self.subTest(more), self.assertRaisesRegex(OAuthError, words):
                read_issuer({**ISSUER, **more}, "https://as.example")

    def test_a_program_needs_neither_a_page_nor_pkce(self) -> None:
        bare = {key: ISSUER[key] for key in ("issuer", "token_endpoint")}
        found = read_issuer(bare, "https://as.example", interactive=False)
        self.assertEqual(found.authorization_endpoint, "")

    def test_issuers_are_the_same_but_for_the_slash_of_an_empty_path(self) -> None:
        for told, issuer, same in (
            ("https://a", "https://a", True),
            ("https://a/", "https://a", True),
            ("https://a", "https://a/", True),
            ("https://a/t", "https://a/t/", False),
            ("https://a", "http://a", False),
            ("https://A", "https://a", False),
            (None, "https://a", False),
        ):
            with self.subTest(told=told, issuer=issuer):
                self.assertEqual(is_same_issuer(told, issuer), same)

    def test_which_issuer(self) -> None:
        document = {
            "resource": "https://a/mcp",
            "authorization_servers": ["https://one", "https://two"],
        }
        resource = read_resource(document, "https://a/mcp")
        self.assertEqual(first_issuer(resource, "", ""), "https://one")
        self.assertEqual(first_issuer(resource, "https://two", ""), "https://two")
        self.assertEqual(first_issuer(resource, "https://gone", ""), "https://one")
        self.assertEqual(first_issuer(resource, "https://one", "https://two"), "https://two")
        with self.assertRaisesRegex(OAuthError, "oauth.issuer is https://three, but it offers"):
            first_issuer(resource, "", "https://three")

    def test_scopes(self) -> None:
        self.assertEqual(scopes_in(' a b\ta "q" \u2603 '), ("a", "b"))
        self.assertEqual(scopes_in(None), ())
        self.assertEqual(len(scopes_in([f"s{n}" for n in range(1_000)])), 100)
        self.assertEqual(merge_scopes(("a", "b"), ("b", "c")), ("a", "b", "c"))

    def test_a_server_without_metadata(self) -> None:
        found = early_issuer("https://a.example/v1/mcp")
        self.assertEqual(found.token_endpoint, "https://a.example/token")
        with self.assertRaises(OAuthError):
            early_issuer("http://a.example/mcp")
