"""The story of a folder that an agent works on, at real servers."""

from __future__ import annotations

import unittest
from contextlib import ExitStack

from . import walks
from .folder_servers import FolderServers


class Files(walks.OneEngine):
    def check(self, browser: str) -> None:
        with ExitStack() as stack:
            servers = FolderServers(stack)
            self.walk("files", browser, {"url": servers.url}, servers.asks, expected=may_fail)


class ReviewBar(walks.OneEngine):
    """What a run left in a copy is said over the field."""

    def check(self, browser: str) -> None:
        with ExitStack() as stack:
            servers = FolderServers(stack)
            self.walk("review-bar", browser, {"url": servers.url}, servers.asks, expected=may_fail)


def may_fail(complaint: walks.Complaint) -> bool:
    """Whether it is what comes of another server in the place of the first.

    The page asks for files while there is none, and then for trees that are not there. A layer that
    has changed is refused.
    """
    if not walks.failed(complaint):
        return False
    gone = any(words in complaint["text"] for words in ("/diff?from=", "/files?tree="))
    moved = "/apply?folder=" in complaint["text"] and "409" in complaint["text"]
    return gone or moved or complaint["step"].startswith("it goes on at another")


if __name__ == "__main__":
    unittest.main()
