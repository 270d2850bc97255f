"""What the network may change of transcription."""

from __future__ import annotations

import unittest

from server.extensions.settings.host_access import find_openings


class Transcription(unittest.TestCase):
    def test_an_owners_key_may_name_it_over_the_network(self) -> None:
        after = {"providers": {"voice": {"transcription": "w"}}}
        self.assertEqual([*find_openings({}, after)], [])


if __name__ == "__main__":
    unittest.main()
