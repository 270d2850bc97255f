"""What of a request is forwarded: by name, while it lasts, no key of the server."""

from __future__ import annotations

import unittest
from collections.abc import Mapping

from server.api import request_headers
from server.api.request_headers import RequestHeaders, RequestOver
from server.extensions.rest.extension import FORWARD
from server.extensions.rest.forwarding import headers_to_forward, secrets

SENT = {
    "authorization": "Bearer abcdef.ghijkl",
    "x-user-id": "anna-4711",
    "x-empty": "",
    "cookie": 'a=1; SID="quoted-value"; sid=small-letters; broken; b=x=y, SID=second-one',
}


class Forwarded(unittest.TestCase):
    def hold(self, key: str = "\0") -> RequestHeaders:
        """Begin a request with SENT, at a server with this key."""
        held = RequestHeaders(SENT, lambda text: key in text)
        token = request_headers.current.set(held)
        self.addCleanup(request_headers.current.reset, token)
        return held

    def told(self, *names: str) -> Mapping[str, str]:
        return headers_to_forward(names)

    def test_what_is_named(self) -> None:
        self.hold()
        told = self.told("X-USER-ID", "x-empty", "x-absent")
        self.assertEqual(told, {"x-user-id": "anna-4711"})
        both = {"cookie": 'SID="quoted-value"; SID=second-one'}
        self.assertEqual(self.told("cookie:SID"), both, "names of cookies have their case")
        self.assertEqual(self.told("cookie:b"), {"cookie": "b=x=y"})
        self.assertEqual(self.told("cookie:absent"), {})
        self.assertEqual(self.told(), {})

    def test_no_key_of_the_server(self) -> None:
        self.hold(key="second")
        named = ("authorization", "x-user-id", "cookie:SID")
        headers = {name: SENT[name] for name in named[:2]}
        self.assertEqual(self.told(*named), headers | {"cookie": 'SID="quoted-value"'})
        self.hold(key="abcdef")
        self.assertEqual(self.told("authorization"), {})

    def test_nothing_is_there_after_the_request_and_nothing_is_shown(self) -> None:
        held = self.hold()
        self.assertNotIn("anna", f"{held!r} {held} {[held]}")
        held.forget()
        self.assertRaises(RequestOver, self.told, "x-user-id")
        self.assertRaises(RequestOver, self.told, "cookie:SID")
        self.assertEqual(self.told(), {}, "what asks for nothing does not need the request")

    def test_where_there_is_no_request(self) -> None:
        self.assertEqual(self.told("x-user-id"), {})

    def test_names(self) -> None:
        for name in ("Authorization", "X-User-Id", "accept-language", "cookie:SID", "Cookie:a.b"):
            self.assertTrue(FORWARD.holds(name), name)
        for name in ("Cookie", "HOST", "Sec-Fetch-Site", "content-type", "cookie:", "a:b", "a b"):
            self.assertFalse(FORWARD.holds(name), name)

    def test_every_form_in_which_it_may_come_back(self) -> None:
        found = secrets(
            {
                "authorization": "Bearer abcdef",
                "x-user-id": "Jos\xc3\xa9-4711",
                "cookie": 'a="b%2Dcdef"; s=short',
            }
        )
        wanted = {"Bearer abcdef", "abcdef", "José-4711", '"b%2Dcdef"', "b%2Dcdef", '"b-cdef"'}
        self.assertLessEqual(wanted, set(found))
        self.assertNotIn("short", found)
        self.assertEqual(found, sorted(found, key=len, reverse=True))


if __name__ == "__main__":
    unittest.main()
