"""Without the folders of the extensions, the server's and the page's, the rest of both works."""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

from ..tooling.child import Yaa
from ..tooling.own_model import write_model
from ..tooling.tools import ROOT
from . import walks

GROUP = re.compile(r"<template data-group=(?:(?!</template>).)*</template>\n", re.S)


def copy_without_extensions(target: Path) -> None:
    """Copy the server and the page, without what may be deleted: folders and the page's groups."""
    extensions = {path.name for path in (ROOT / "server" / "extensions").iterdir() if path.is_dir()}
    for folder in ("server", "client"):
        leaves_out = shutil.ignore_patterns(
            "__pycache__", *(extensions if folder == "server" else ("ext",))
        )
        shutil.copytree(ROOT / folder, target / folder, ignore=leaves_out)
    shutil.copy(ROOT / "config.default.json", target)
    page = target / "client" / "index.html"
    page.write_text(
        GROUP.sub(lambda group: "" if "js/ext/" in group[0] else group[0], page.read_text())
    )


class WithoutExtensions(walks.OneEngine):
    def check(self, browser: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            copy_without_extensions(Path(folder))
            command = [sys.executable, "-m", "server"]
            settings = {"server": {"discover": False}}
            home = write_model(Path(folder) / "home")
            with Yaa(settings, command=command, cwd=Path(folder), home=home) as yaa:
                self.walk("without-extensions", browser, {"url": yaa.link})


if __name__ == "__main__":
    unittest.main()
