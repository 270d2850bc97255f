"""One that never ends."""

import threading
import unittest


class Hangs(unittest.TestCase):
    def test_it(self) -> None:
        threading.Event().wait()
