"""One that never ends, in the middle of a browser's walk."""

import os
import threading
import unittest
from pathlib import Path

from ...browser import walks
from ...browser.test_driver import PAGE


class Walks(unittest.TestCase):
    def check(self, browser: str) -> None:
        def echo() -> None:
            Path(os.environ["TESTS_READY"], browser).touch()
            threading.Event().wait()

        job = {"url": PAGE.as_uri(), "label": f"{browser}-interrupted"}
        walks.walk("driver-selftest.mjs", browser, job, {"echo": echo})

    def test_chromium(self) -> None:
        self.check("chromium")

    def test_firefox(self) -> None:
        self.check("firefox")
