"""The permission mode in the page: the chip, the buttons of an approval, where it is missing."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path

from ..tooling.child import Yaa
from . import walks


class PermissionModes(walks.OneEngine):
    def check(self, browser: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder).chmod(0o777)  # tools may have a user of their own
            folders = {"real": {"path": folder, "mode": "write"}}
            with Yaa({"server": {"discover": False, "folders": folders}}, at_once=True) as yaa:
                self.walk("permission", browser, {"url": yaa.link})


if __name__ == "__main__":
    unittest.main()
