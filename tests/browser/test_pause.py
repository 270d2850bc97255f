"""Asking before every call while what the page knows of the server is late, lost or of before."""

from __future__ import annotations

import unittest

from ..tooling.child import Yaa
from . import walks


class Pause(walks.OneEngine):
    def check(self, browser: str) -> None:
        with Yaa({"server": {"discover": False}}, at_once=True) as yaa:
            self.walk("pause", browser, {"url": yaa.link}, expected=expected)


def expected(complaint: walks.Complaint) -> bool:
    """The network is bad on purpose."""
    return walks.failed(complaint) or "outage" in complaint["step"]


if __name__ == "__main__":
    unittest.main()
