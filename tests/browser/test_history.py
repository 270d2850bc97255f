"""What stays in a browser's profile of a sign-in by a link: no key outside the page's storage."""

from __future__ import annotations

import unittest

from server.api.sign_in_codes import SignInCodes
from server.errors import Problem

from ..tooling.child import Yaa
from . import walks


class History(walks.OneEngine):
    def check(self, browser: str) -> None:
        with Yaa({"server": {"discover": False}}, at_once=True) as yaa:
            code = SignInCodes(yaa.home).make(yaa.key)
            job = {
                "url": yaa.url,
                "link": f"{yaa.url}/#code={code}",
                "key": yaa.key,
                "code": code,
                "alone": True,
                "prefs": {"places.history.enabled": True},
            }
            kept = self.walk("history", browser, job, expected=walks.failed).steps["what is kept"]
            self.assertEqual(kept["key"], [])
            self.assertGreater(kept["storage"], 0, "the page keeps it")
            self.assertNotEqual(kept["code"], [], "the history is there, and was looked at")
            with self.assertRaises(Problem):
                SignInCodes(yaa.home).redeem(code)


if __name__ == "__main__":
    unittest.main()
