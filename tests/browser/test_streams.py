"""At most four runs stream at once, over all tabs: with locks, or with leases on plain http."""

from __future__ import annotations

import unittest
from contextlib import ExitStack

from tests.bench import peers
from tests.tooling import tools
from tests.tooling.child import Yaa

from .walks import NEEDED, walk


class Streams(unittest.TestCase):
    maxDiff = None

    def check(self, browser: str, name: str = "127.0.0.1") -> None:
        with ExitStack() as stack:
            config = peers.config(peers.start(stack, "tests.bench.provider"))
            config["server"] |= {"hosts": ["yaa.test"], "tools": {"datetime": {"ceiling": "ask"}}}
            yaa = stack.enter_context(Yaa(config))
            url = yaa.link.replace("127.0.0.1", name)
            walked = walk("streams.mjs", browser, {"url": url, "label": f"{browser}-streams"}, {})
        self.assertEqual(walked.error, "", walked.complaints)
        self.assertEqual(walked.complaints, [], "the console is quiet")

    @tools.needs(*NEEDED, tools.browser("chromium"))
    def test_chromium_by_name(self) -> None:
        self.check("chromium", "yaa.test")

    @tools.needs(*NEEDED, tools.browser("firefox"))
    def test_firefox(self) -> None:
        self.check("firefox")


if __name__ == "__main__":
    unittest.main()
