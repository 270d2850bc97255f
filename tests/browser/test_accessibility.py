"""Every screen without barriers, in both themes, narrow, and by ear; and on to another server."""

from __future__ import annotations

import unittest
from contextlib import ExitStack

from ..tooling.child import Yaa
from . import walks

# The second server allows less, so that something is different there.
OTHER = {"server": {"discover": False, "limits": {"session": {"max_steps": 7}}}}


class Accessibility(walks.OneEngine):
    def check(self, browser: str) -> None:
        with ExitStack() as stack:
            yaa = stack.enter_context(Yaa({"server": {"discover": False}}, at_once=True))
            other = stack.enter_context(Yaa(OTHER, at_once=True))
            job = {"url": yaa.link, "other": other.url, "otherKey": other.key}
            self.walk("accessibility", browser, job, expected=asks_a_frame)


def asks_a_frame(complaint: walks.Complaint) -> bool:
    """axe-core asks every frame of the page; the preview's has no origin, and Firefox says so."""
    return "‘postMessage’" in complaint["text"]


if __name__ == "__main__":
    unittest.main()
