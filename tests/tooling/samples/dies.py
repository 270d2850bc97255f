"""One that takes its process along."""

import os
import signal
import unittest


class Dies(unittest.TestCase):
    def test_it(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)
