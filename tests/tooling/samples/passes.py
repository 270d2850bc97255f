"""One that passes."""

import unittest


class Passes(unittest.TestCase):
    def test_it(self) -> None:
        pass
