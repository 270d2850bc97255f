"""The settings of HTTP APIs: their kinds, and what is secret."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.config import Config, ConfigError, load
from server.lib.strict_json import dumps


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


if __name__ == "__main__":
    unittest.main()
