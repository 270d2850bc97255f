"""What a person does to a session in the page: branches, edits, approvals, in two browsers.

The model is the built-in demo, so what its tools return is what the answers say.
"""

from __future__ import annotations

import unittest

from ..tooling.child import Yaa
from . import walks
from .test_inspector import release


class Branches(walks.OneEngine):
    name = "branches"

    def check(self, browser: str) -> None:
        with Yaa({"server": {"discover": False}}) as yaa:
            asks = {"go": lambda: release(yaa)}
            self.walk(self.name, browser, {"url": yaa.link}, asks, expected=expected)


class Approvals(Branches):
    name = "approvals"


class TypedAnswers(Branches):
    name = "typed-answer"


def expected(complaint: walks.Complaint) -> bool:
    """A run that was stopped may still be ending when the next one is sent; that one waits."""
    return complaint["step"] == "or stops it" and "409" in complaint["text"]


if __name__ == "__main__":
    unittest.main()
