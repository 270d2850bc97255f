"""A clock that was a year ahead and is right again: no sign-in is valid for a year."""

from __future__ import annotations

import unittest

from server.extensions.mcp.oauth import sign_in
from server.extensions.mcp.oauth.metadata import OAuthError

YEAR = 365 * 86_400.0


class Texts(unittest.TestCase):
    def test_a_sign_in_is_not_valid_for_a_year(self) -> None:
        key, now = b"k" * 32, 1.8e9
        for until, is_good in ((now + 800, True), (now - 1, False), (now + YEAR, False)):
            state = sign_in._seal(key, {"until": until, "nonce": "n"})
            with self.subTest(until=until - now):
                if is_good:
                    self.assertEqual(sign_in._open(key, state, now)["nonce"], "n")
                else:
                    with self.assertRaises(OAuthError):
                        sign_in._open(key, state, now)


if __name__ == "__main__":
    unittest.main()
