"""The settings of HTTP APIs: their kinds, what is secret, what the network may change."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.api.host_access import NETWORK, find_openings, find_redirects
from server.config import Config, ConfigError, load
from server.extensions.rest.extension import API
from server.lib.strict_json import dumps

OLD: dict[str, Any] = {"rest": {"r": {"base_url": "http://r", "headers": {"X": "h"}}}}


def loaded(**api: Any) -> Config:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "config.json"
        file.write_text(dumps({"server": {"rest": {"r": api}}}))
        return load(Path(folder), file, {}, {})


class Settings(unittest.TestCase):
    def test_what_is_wrong_is_told_without_secrets(self) -> None:
        for api, told in (
            ({"query": "key=hush-hush"}, 'server.rest.r.query is "***", wanted an object'),
            (
                {"headers": {"X-Key": ["hush-hush"]}},
                'server.rest.r.headers.X-Key is "***", wanted a string',
            ),
            ({"time_s": 1}, "server.rest.r.time_s"),
            ({"max_kb": 0.5}, "server.rest.r.max_kb is 0.5, wanted a whole number"),
        ):
            with self.subTest(api), self.assertRaises(ConfigError) as caught:
                loaded(**api)
            self.assertIn(told, str(caught.exception))
            self.assertNotIn("hush", str(caught.exception))

    def test_secrets(self) -> None:
        self.assertEqual(loaded(headers={"X-Key": "s6"}).secrets(), ["s6"])
        query = {"appid": "0123456789abcdef", "units": "metric", "api_key": "short-1"}
        self.assertEqual(sorted(loaded(query=query).secrets()), ["0123456789abcdef", "short-1"])

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
