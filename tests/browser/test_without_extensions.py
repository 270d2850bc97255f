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
    extensions = ROOT / "server" / "extensions"
    gone = {extensions: [path.name for path in extensions.iterdir() if path.is_dir()]}
    gone[ROOT / "client" / "js"] = ["ext"]
    for folder in ("server", "client"):
        shutil.copytree(
            ROOT / folder,
            target / folder,
            ignore=lambda place, _: ["__pycache__", *gone.get(Path(place), ())],
        )
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


class WithoutSettings(walks.OneEngine):
    """The whole page, of a server whose extensions do not act."""

    def check(self, browser: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder) / "home"
            with Yaa({"server": {"discover": False, "extensions": []}}, home=home) as yaa:
                self.walk("without-settings", browser, {"url": yaa.link})


if __name__ == "__main__":
    unittest.main()
