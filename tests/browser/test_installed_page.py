"""The page that is loaded once and kept: updates, no server, what other apps share with it."""

from __future__ import annotations

import tempfile
import unittest
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..tooling.child import Yaa
from . import walks


class InstalledPage(walks.Both):
    def check(self, browser: str) -> None:
        with ExitStack() as stack:
            home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            yaa = stack.enter_context(Yaa(config(True), home=home, at_once=True))
            plain = stack.enter_context(Yaa(config(False), at_once=True))
            port = urlsplit(yaa.url).port
            job = {
                "url": yaa.link,
                "plain": plain.link,
                "plainUrl": plain.url,
                "lan": f"http://lan.yaa.test:{port}/",
            }

            def restart() -> None:
                again = Yaa(config(False), home=home, arguments=("--port", str(port)), at_once=True)
                stack.enter_context(again)

            asks = {"stop": yaa.kill, "restart": restart}
            self.walk("installed-page", browser, job, asks, expected=expected)


def config(offline: bool) -> dict[str, Any]:
    return {"server": {"discover": False, "offline_page": offline, "hosts": ["lan.yaa.test"]}}


def expected(complaint: walks.Complaint) -> bool:
    """What the browser says of requests that are refused, and of a server that is away."""
    words = ("CORS policy", "Content-Security-Policy", "Content Security Policy", "TrustedScript")
    return walks.failed(complaint) or any(each in complaint["text"] for each in words)


if __name__ == "__main__":
    unittest.main()
