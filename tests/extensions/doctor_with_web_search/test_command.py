"""The doctor says who searches the web, or what is missing."""

from __future__ import annotations

import unittest

from ...test_main import Case
from ...tooling import forks

setUpModule = forks.use


class Search(Case):
    def test_who_searches(self) -> None:
        self.home.mkdir(mode=0o700)
        key = "canary-of-doctor"
        search = {"YAA_SERVER__SEARCH__PROVIDER": "brave", "YAA_SERVER__SEARCH__API_KEY": key}
        done = self.yaa("doctor", env=search | {"YAA_PORT": "0"})
        self.assertRegex(done.stdout, r"ok +search +Brave, with its key")
        self.assertNotIn(key, done.stdout)

    def test_nobody_searches(self) -> None:
        done = self.yaa("doctor", env={"YAA_PORT": "0"})
        self.assertRegex(done.stdout, r"off +search +web_search is not offered")
        why = "→ server.discover is off: set server.search.url, or its provider and api_key"
        self.assertIn(why, done.stdout)


if __name__ == "__main__":
    unittest.main()
