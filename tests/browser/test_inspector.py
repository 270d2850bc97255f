"""What there is to see of a run, in two browsers: pictures, gauge, inspector, slider, desk."""

from __future__ import annotations

import unittest

from ..tooling.child import Yaa
from . import walks


def release(yaa: Yaa) -> None:
    """What a program of the walk waits for, in the workspace of whichever session."""
    for workspace in (yaa.home / "workspaces").iterdir():
        (workspace / "go").touch()


class Inspector(walks.OneEngine):
    def check(self, browser: str) -> None:
        with Yaa({"server": {"discover": False}}, at_once=True) as yaa:
            self.walk("inspector", browser, {"url": yaa.link}, {"go": lambda: release(yaa)})


if __name__ == "__main__":
    unittest.main()
