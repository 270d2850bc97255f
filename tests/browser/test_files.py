"""The story of a folder that an agent works on, in two browsers."""

from __future__ import annotations

import unittest

from ..tooling import tools
from ..tooling.child import Child
from . import walks

SERVER = tools.ROOT / "tests" / "browser" / "workspace-server.mjs"
STARTS_S = 60.0


class Files(walks.Both):
    def check(self, browser: str) -> None:
        server = Child([str(tools.program_node().path), str(SERVER)])
        try:
            url = server.wait_for(r"listening on (\S+)", STARTS_S)[1]
            self.walk("files", browser, {"url": url}, expected=may_fail)
        finally:
            server.kill()


def may_fail(complaint: walks.Complaint) -> bool:
    """A piece of an upload that is cut off; a file that is new is looked for before it is there."""
    return walks.failed(complaint)


if __name__ == "__main__":
    unittest.main()
