"""Takes the pictures of the documentation: `python3 -m tests.browser.screenshots [--all FOLDER]`.

Run by hand when a screen changes, and look at every one of them. `--all` takes each screen in each
size, theme and language; without it only those that docs/screens.md shows.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from ..tooling import tools
from ..tooling.child import Yaa
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
    files = sorted(folder.glob("*.webp"))
    print(
        f"{len(files)} pictures, {sum(one.stat().st_size for one in files) / 1e6:.1f} MB: {folder}"
    )


if __name__ == "__main__":
    main()
