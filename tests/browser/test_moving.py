"""Sessions exported, opened, continued, imported and found again, from disk, in two browsers."""

from __future__ import annotations

import tempfile
import unittest

from tests.tooling.child import Yaa

from . import walks

# A page from disk asks at the usual port before it is told another; a wrong key is refused.
MAY_FAIL = {
    "open",
    "what is written is there after a reload",
    "and goes on",
    "what is said while its server is away is not lost",
    "and stays, when it is told to",
}


class Moving(walks.Both):
    def check(self, browser: str) -> None:
        with Yaa({"server": {"discover": False}}) as yaa, tempfile.TemporaryDirectory() as folder:
            job = {
                "url": walks.PAGE.as_uri(),
                "server": yaa.url,
                "key": yaa.key,
                "folder": folder,
            }
            self.walk("moving", browser, job, expected=may_fail)


def may_fail(complaint: walks.Complaint) -> bool:
    return complaint["step"] in MAY_FAIL and walks.failed(complaint)


if __name__ == "__main__":
    unittest.main()
