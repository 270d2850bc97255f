"""Why there is no answer, as the page says it: no server, no key, a wrong one, no leave."""

from __future__ import annotations

import unittest
from contextlib import ExitStack
from urllib.parse import urlsplit

from tests.tooling import tools
from tests.tooling.child import Yaa
from tests.tooling.relay import Relay

from .test_walk import PAGE, REQUEST_FAILED
from .walks import NEEDED, walk

BROWSER_WORDS = (*REQUEST_FAILED, "CORS policy")


class Failures(unittest.TestCase):
    maxDiff = None

    def check(self, browser: str) -> None:
        with ExitStack() as stack:
            plain = {"server": {"discover": False}}
            strict = {"server": {"discover": False, "cors_origins": ["https://example.org"]}}
            yaa = stack.enter_context(Yaa(plain))
            other = stack.enter_context(Yaa(strict))
            place = urlsplit(yaa.url)
            relay = stack.enter_context(Relay(place.hostname or "", place.port or 0))
            relay.refuse(True)
            job = {
                "url": PAGE.as_uri(),
                "server": yaa.url,
                "key": yaa.key,
                "strict": other.url,
                "down": relay.url,
                "label": f"{browser}-failures",
            }
            walked = walk("failures.mjs", browser, job, {"start": lambda: relay.refuse(False)})
        self.assertEqual(walked.error, "", walked.complaints)
        loud = [
            one for one in walked.complaints if not any(w in one["text"] for w in BROWSER_WORDS)
        ]
        self.assertEqual(loud, [], "nothing but what browsers say of requests that fail")

    @tools.needs(*NEEDED, tools.package("axe-core"), tools.browser("chromium"))
    def test_chromium(self) -> None:
        self.check("chromium")

    @tools.needs(*NEEDED, tools.package("axe-core"), tools.browser("firefox"))
    def test_firefox(self) -> None:
        self.check("firefox")


if __name__ == "__main__":
    unittest.main()
