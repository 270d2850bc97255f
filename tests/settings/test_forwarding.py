"""What of a request may be forwarded: by name, while it lasts, no key of the server."""

from __future__ import annotations

import re
import unittest

from server.settings import forwarding
from server.settings.forwarding import ForwardedValues, RequestOver, secrets

SENT = {
    "authorization": "Bearer abcdef.ghijkl",
    "x-user-id": "anna-4711",
    "x-empty": "",
    "cookie": 'a=1; SID="quoted-value"; sid=small-letters; broken; b=x=y, SID=second-one',
}


def held(*wanted: str, key: str = "\0") -> ForwardedValues:
    return ForwardedValues(SENT, wanted, lambda text: key in text)


class Forwarded(unittest.TestCase):
    def test_what_is_named(self) -> None:
        one = held("Authorization", "X-USER-ID", "x-empty", "x-absent", "cookie:SID")
        self.assertEqual(
            one.select_headers(["X-User-Id", "x-empty", "x-absent"]), {"x-user-id": "anna-4711"}
        )
        both = {"cookie": 'SID="quoted-value"; SID=second-one'}
        self.assertEqual(
            one.select_headers(["cookie:SID"]), both, "names of cookies have their case"
        )
        self.assertEqual(one.select_headers([]), {})
        self.assertEqual(held("x-user-id").select_headers(["authorization"]), {}, "not held at all")
        self.assertEqual(held("cookie:b").select_headers(["cookie:b"]), {"cookie": "b=x=y"})

    def test_no_key_of_the_server(self) -> None:
        one = held("authorization", "x-user-id", "cookie:SID", key="second")
        self.assertEqual(one.select_headers(["cookie:SID"]), {"cookie": 'SID="quoted-value"'})
        self.assertEqual(held("authorization", key="abcdef").select_headers(["authorization"]), {})

    def test_nothing_is_there_after_the_request_and_nothing_is_shown(self) -> None:
        one = held("x-user-id")
        self.assertNotIn("anna", f"{one!r} {one} {[one]}")
        one.forget()
        self.assertRaises(RequestOver, one.select_headers, ["x-user-id"])
        self.assertEqual((one._headers, one._cookies), ({}, []))

    def test_where_there_is_no_request(self) -> None:
        self.assertEqual(forwarding.headers_to_forward(["x-user-id"]), {})

    def test_names(self) -> None:
        for name in ("Authorization", "X-User-Id", "accept-language", "cookie:SID", "Cookie:a.b"):
            self.assertTrue(re.fullmatch(forwarding.NAME, name), name)
        for name in ("Cookie", "HOST", "Sec-Fetch-Site", "content-type", "cookie:", "a:b", "a b"):
            self.assertFalse(re.fullmatch(forwarding.NAME, name), name)

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
