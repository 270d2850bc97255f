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

from tests.tooling import tools

from .test_walk import PAGE, TOOL, Servers
from .walks import NEEDED, walk

TEXT = "Ä file,\nwith 2 lines\n"
# The browser's own words about what the sandbox's policy refused, and about the first look from
# disk, before the page knows the server and its key.
REFUSED = (
    *("Content-Security-Policy", "Content Security Policy", "NetworkError"),
    "can’t establish a connection",  # Firefox of an EventSource; the trap knows that it did not try
)
FIRST_LOOK = ("Failed to load resource", "NetworkError", "Cross-Origin Request Blocked")


class PageTools(unittest.TestCase):
    maxDiff = None

    def check(self, browser: str, place: str) -> None:
        with ExitStack() as stack:
            servers = Servers(stack)
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="yaa-pick-")))
            (folder / "notes.txt").write_text(TEXT)
            trap = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            trap.setblocking(False)
            url = servers.relay.url
            job = {
                "url": PAGE.as_uri() if place == "file" else f"{url}/#key={servers.key}",
                "server": url,
                "key": servers.key,
                "place": place,
                "tool": TOOL,
                "file": str(folder / "notes.txt"),
                "text": TEXT,
                "trap": f"http://127.0.0.1:{trap.getsockname()[1]}",
                "label": f"{browser}-{place}-page",
            }
            walked = walk("page-tools.mjs", browser, job, {})
            with self.assertRaises(BlockingIOError, msg="something in the sandbox connected"):
                trap.accept()
        self.assertEqual(walked.error, "", walked.complaints)
        loud = [
            item
            for item in walked.complaints
            if not (item["step"] == "nothing gets out" and any(w in item["text"] for w in REFUSED))
            and not (
                item["step"] == "open"
                and place == "file"
                and any(w in item["text"] for w in FIRST_LOOK)
            )
        ]
        self.assertEqual(loud, [], "the console is quiet")
        self.assertGreater(walked.steps["a loop without end"]["frames"], 10, "the page froze")

    @tools.needs(*NEEDED, tools.browser("chromium"))
    def test_chromium_from_disk(self) -> None:
        self.check("chromium", "file")

    @tools.needs(*NEEDED, tools.browser("firefox"))
    def test_firefox_served(self) -> None:
        self.check("firefox", "served")


if __name__ == "__main__":
    unittest.main()
