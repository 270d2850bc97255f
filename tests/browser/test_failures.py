"""Why there is no answer, as the page says it: no server, no key, a wrong one, no leave."""

from __future__ import annotations

import unittest
from contextlib import ExitStack
from urllib.parse import urlsplit

from ..tooling.child import Yaa
from ..tooling.relay import Relay
from . import walks


class Failures(walks.OneEngine):
    def check(self, browser: str) -> None:
        with ExitStack() as stack:
            plain = {"server": {"discover": False}}
            strict = {"server": {"discover": False, "cors_origins": ["https://example.org"]}}
            yaa = stack.enter_context(Yaa(plain, at_once=True))
            other = stack.enter_context(Yaa(strict, at_once=True))
            place = urlsplit(yaa.url)
            relay = stack.enter_context(Relay(place.hostname or "", place.port or 0))
            relay.refuse(True)
            job = {
                "url": walks.PAGE.as_uri(),
                "server": yaa.url,
                "key": yaa.key,
                "strict": other.url,
                "down": relay.url,
            }
            asks = {"start": lambda: relay.refuse(False)}
            self.walk("failures", browser, job, asks, expected=refused)


def refused(complaint: walks.Complaint) -> bool:
    return walks.failed(complaint) or "CORS policy" in complaint["text"]


if __name__ == "__main__":
    unittest.main()
