"""Sessions from somebody else, in two browsers: imported, restored, opened as a saved page."""

from __future__ import annotations

import tempfile
import unittest

from ..tooling.child import Yaa
from . import walks


class UntrustedSessions(walks.OneEngine):
    def check(self, browser: str) -> None:
        with (
            Yaa({"server": {"discover": False}}, at_once=True) as yaa,
            tempfile.TemporaryDirectory() as folder,
        ):
            job = {"url": yaa.link, "server": yaa.url, "key": yaa.key, "folder": folder}
            self.walk("untrusted-sessions", browser, job, expected=may_fail)


def may_fail(complaint: walks.Complaint) -> bool:
    """The file that the saved page shows is not on this server."""
    return complaint["step"].startswith("and tells") and walks.failed(complaint)


if __name__ == "__main__":
    unittest.main()
