"""The tools of the page in two browsers, from disk and served: switched on, run, stopped, asked
about, cut off by a reload. What a model's JavaScript could reach, and what a loop without end does
to the page, is tried here and nowhere else.
"""

from __future__ import annotations

import socket
import tempfile
import unittest
from contextlib import ExitStack
from pathlib import Path

from . import walks
from .test_main_flow import TOOL, Servers

TEXT = "Ä file,\nwith 2 lines\n"
REFUSED = (
    *("Content-Security-Policy", "Content Security Policy", "NetworkError"),
    "can’t establish a connection",  # Firefox of an EventSource; the trap knows that it did not try
)


class ClientTools(walks.Both):
    def check(self, browser: str) -> None:
        place = "file" if browser == "chromium" else "served"
        with ExitStack() as stack:
            servers = Servers(stack)
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="yaa-pick-")))
            (folder / "notes.txt").write_text(TEXT)
            trap = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            trap.setblocking(False)
            url = servers.relay.url
            job = {
                "url": walks.PAGE.as_uri() if place == "file" else f"{url}/#key={servers.key}",
                "server": url,
                "key": servers.key,
                "place": place,
                "tool": TOOL,
                "file": str(folder / "notes.txt"),
                "text": TEXT,
                "trap": f"http://127.0.0.1:{trap.getsockname()[1]}",
            }
            walked = self.walk(
                "client-tools",
                browser,
                job,
                expected=lambda one: refused(one) or (place == "file" and from_disk(one)),
            )
            with self.assertRaises(BlockingIOError, msg="something in the sandbox connected"):
                trap.accept()
        self.assertGreater(walked.steps["a loop without end"]["frames"], 10, "the page froze")


def from_disk(complaint: walks.Complaint) -> bool:
    """A page that knows no server and no key: before it is told, and when its storage is gone."""
    knows_nothing = complaint["step"] == "open" or complaint["step"].startswith("a page from disk")
    return knows_nothing and walks.failed(complaint)


def refused(complaint: walks.Complaint) -> bool:
    """The browser's own words about what the sandbox's policy refused."""
    return complaint["step"] == "nothing gets out" and any(w in complaint["text"] for w in REFUSED)


if __name__ == "__main__":
    unittest.main()
