"""What the network may change of the search."""

from __future__ import annotations

import unittest

from server.extensions.settings.host_access import find_openings

from ...fakes import DEFAULTS


class Search(unittest.TestCase):
    def test_over_the_network_its_address_stays(self) -> None:
        """All else of it can be changed by an owner's key, and what comes later cannot."""
        for key in (*DEFAULTS["server"]["search"], "a_later_key"):
            found = [each.name for each in find_openings({}, {"search": {key: "http://10.0.0.1"}})]
            stays = key in ("url", "a_later_key")
            self.assertEqual(found, [f"server.search.{key}"] if stays else [], key)


if __name__ == "__main__":
    unittest.main()
