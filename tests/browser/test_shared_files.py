"""What two tabs of a browser do at once with the files, copies and branches of one session."""

from __future__ import annotations

import unittest
from contextlib import ExitStack

from . import walks
from .folder_servers import FolderServers


class SharedFiles(walks.OneEngine):
    def check(self, browser: str) -> None:
        with ExitStack() as stack:
            servers = FolderServers(stack)
            job = {"url": servers.url}
            self.walk("shared-files", browser, job, servers.asks, expected=is_away)


def is_away(complaint: walks.Complaint) -> bool:
    """Whether it is what comes of a server that does not have the files yet."""
    return complaint["step"].startswith("a ZIP file") and walks.failed(complaint)


if __name__ == "__main__":
    unittest.main()
