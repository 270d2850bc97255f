"""The story of a folder that an agent works on, at real servers, in two browsers."""

from __future__ import annotations

import unittest
from contextlib import ExitStack

from . import walks
from .folder_servers import FolderServers


class Files(walks.Both):
    def check(self, browser: str) -> None:
        with ExitStack() as stack:
            servers = FolderServers(stack)
            self.walk("files", browser, {"url": servers.url}, servers.asks, expected=may_fail)


def may_fail(complaint: walks.Complaint) -> bool:
    """While one server takes the place of another, the page asks for files that are not there."""
    return complaint["step"].startswith("it goes on at another") and walks.failed(complaint)


if __name__ == "__main__":
    unittest.main()
