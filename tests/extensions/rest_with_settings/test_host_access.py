"""What the network may change of HTTP APIs."""

from __future__ import annotations

import unittest
from typing import Any

from server.extensions.rest.extension import API
from server.extensions.settings.host_access import NETWORK, find_openings, find_redirects

OLD: dict[str, Any] = {"rest": {"r": {"base_url": "http://r", "headers": {"X": "h"}}}}


class Settings(unittest.TestCase):
    def test_what_the_network_may_change(self) -> None:
        """Neither where an API is, nor a file of this machine, nor what it is told of callers."""
        rules = NETWORK["rest"]["*"]
        self.assertEqual(set(rules), {"headers", "query", "timeout_s", "max_kb", "operations"})
        for key in (*API, "a_later_key"):
            with self.subTest(key):
                found = find_openings({}, {"rest": {"x": {key: "https://8.8.8.8"}}})
                wanted = [] if key in rules else [f"server.rest.x.{key}"]
                self.assertEqual([each.name for each in found], wanted)

    def test_a_secret_stays_with_its_address(self) -> None:
        other = {"rest": {"r": {**OLD["rest"]["r"], "base_url": "http://evil.example"}}}
        self.assertEqual([*find_redirects(OLD, other)], ["server.rest.r"])
        self.assertEqual([*find_redirects(OLD, OLD)], [])


if __name__ == "__main__":
    unittest.main()
