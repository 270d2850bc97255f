"""One that never ends, with a server and a program in a session of its own."""

import os
import subprocess
import threading
import unittest
from pathlib import Path

from ..child import Yaa


class Serves(unittest.TestCase):
    def test_it(self) -> None:
        with Yaa({"server": {"discover": False}}):
            subprocess.Popen(["sleep", "999"], start_new_session=True)
            Path(os.environ["TESTS_READY"], "unit").touch()
            threading.Event().wait()
