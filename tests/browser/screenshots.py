"""Takes the pictures of the documentation: `python3 -m tests.browser.screenshots [--all FOLDER]`.

Run by hand when a screen changes, and look at every one of them. `--all` takes each screen in each
size, theme and language; without it only those that docs/screens.md shows.
"""

from __future__ import annotations

import argparse
import re
from contextlib import ExitStack
from pathlib import Path

from ..tooling import tools
from ..tooling.child import Yaa
from .folder_servers import FolderServers
from .walks import walk

IMAGES = tools.ROOT / "docs" / "images"
PAGE = tools.ROOT / "docs" / "screens.md"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python3 -m tests.browser.screenshots")
    parser.add_argument("--all", type=Path, metavar="FOLDER")
    options = parser.parse_args()
    folder = options.all or IMAGES
    folder.mkdir(parents=True, exist_ok=True)
    chosen = [] if options.all else re.findall(r"images/([\w-]+)\.webp", PAGE.read_text())
    with Yaa({"server": {"discover": False}}) as yaa:
        job = {"url": yaa.link, "folder": str(folder), "chosen": chosen, "label": "pictures"}
        walked = walk("screenshots.mjs", "chromium", job, {})
    if walked.error:
        raise SystemExit(walked.error)
    take_files(folder)
    files = sorted(folder.glob("*.webp"))
    print(
        f"{len(files)} pictures, {sum(one.stat().st_size for one in files) / 1e6:.1f} MB: {folder}"
    )


def take_files(folder: Path) -> None:
    """Take the pictures of the files panel, for which a server has real folders."""
    with ExitStack() as stack:
        servers = FolderServers(stack)
        job = {"url": servers.url, "pictures": str(folder), "label": "files-pictures"}
        walked = walk("files.mjs", "chromium", job, servers.asks)
    if walked.error:
        raise SystemExit(walked.error)


if __name__ == "__main__":
    main()
