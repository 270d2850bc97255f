"""The whole walk: from disk in two browsers; served or by a name of the LAN, by turns, in Chromium.

The server is a real process, the model a scripted one, and between page and server stands a relay
that can cut every connection. With TESTS_PICTURES=1 pictures of the way are taken
into .cache/tests/screenshots, as of every walk.
"""

from __future__ import annotations

import tempfile
import unittest
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ..bench import peers
from ..tooling import turns
from ..tooling.child import Yaa
from ..tooling.relay import Relay
from . import walks

TOOL = "datetime"
# Steps in which a request has to fail: the line is cut; a page from disk asks at the usual port,
# then asks without a key, before it is told.
MAY_FAIL = {
    ("open", "file"),
    *(("cut in the middle", place) for place in ("served", "file", "name")),
}
# Chromium says it of every file that a page of plain http saves.
SAVED_OVER_HTTP = "This file should be served over HTTPS"


def config(provider: str) -> dict[str, Any]:
    """The benchmark's, with one tool that nobody may call without asking."""
    found = peers.config(provider)
    found["server"]["tools"] = {TOOL: {"ceiling": "ask"}}
    found["server"]["hosts"] = ["yaa.test"]
    return found


class Servers:
    """A server behind a relay, to be replaced by another one that knows nothing of the first."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._config = config(peers.start(stack, "tests.bench.provider"))
        self._yaa = stack.enter_context(Yaa(self._config, at_once=True))
        self.second = stack.enter_context(Yaa(self._config, at_once=True))
        self.key = self._yaa.key
        self.relay = stack.enter_context(Relay(*place_of(self._yaa)))

    def another(self) -> None:
        """Kills the server and puts a new one, with a home of its own, at the same address."""
        self._yaa.kill()
        home = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="yaa-home-")))
        (home / "key").write_text(self.key)
        self._yaa = self._stack.enter_context(Yaa(self._config, home=home, at_once=True))
        self.relay.target = place_of(self._yaa)


def place_of(yaa: Yaa) -> tuple[str, int]:
    place = urlsplit(yaa.url)
    return place.hostname or "", place.port or 0


def expected(complaint: walks.Complaint, place: str) -> bool:
    at = (complaint["step"], place)
    if at == ("export", "name"):
        return SAVED_OVER_HTTP in complaint["text"]
    return at in MAY_FAIL and walks.failed(complaint)


class Served(walks.OneEngine):
    place = "served"

    def check(self, browser: str) -> None:
        place = self.place
        if place not in ("file", *turns.share(("served", "name"), 2)):
            self.skipTest(turns.ELSEWHEN)
        with ExitStack() as stack:
            servers = Servers(stack)
            url = servers.relay.url
            if place == "name":  # what a machine of the LAN is called (see driver.mjs)
                url = url.replace("127.0.0.1", "yaa.test")
            page = walks.PAGE.as_uri() if place == "file" else f"{url}/#key={servers.key}"
            job = {
                "url": page,
                "server": url,
                "key": servers.key,
                "place": place,
                "tool": TOOL,
                "folder": stack.enter_context(tempfile.TemporaryDirectory()),
                "second": {"url": servers.second.url, "key": servers.second.key},
                "label": f"{browser}-{place}",
            }
            asks = {"cut": servers.relay.cut, "another server": servers.another}
            self.walk("main-flow", browser, job, asks, lambda one: expected(one, place))


class FromDisk(Served):
    place, one_engine = "file", False


class ByName(Served):
    place = "name"


class FirstUse(walks.OneEngine):
    """With the demo model and no settings at all, as on the first day."""

    def check(self, browser: str) -> None:
        with Yaa({"server": {"discover": False}}, at_once=True) as yaa:
            self.walk("first-use", browser, {"url": yaa.link})


if __name__ == "__main__":
    unittest.main()
