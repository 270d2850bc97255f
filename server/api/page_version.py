"""Name the page's files by what is in them, so that browsers keep them without asking again.

A served index.html names its scripts below `v/<version>/`, where the version is a digest of the
page with all of them. The scripts that open the page are one file there (BUNDLE), since each
request costs a round trip. On disk the page stays as it is, and opens without a server.

A version is read at once and kept as a whole, so that files of two versions never meet in a page.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from .file_contents import Content, Stamp, digest, stamp_of

FOLDER = "v"
BUNDLE = "page.js"
INDEX = "index.html"
WORKER = "service-worker.js"

# The page's own tags. Those with `defer` open it; the others stand in templates.
_SCRIPT = re.compile(r'<script (defer )?src="([\w./-]+)"></script>(\n *)?')
_INSTALL = """\
  <link rel="manifest" href="manifest.webmanifest" crossorigin="use-credentials">
  <link rel="apple-touch-icon" href="icons/apple-touch-icon.png">
</head>"""


class PageVersion(NamedTuple):
    """One state of the page. `contents`: what is below `v/<tag>/`, by name."""

    tag: str
    stamps: Mapping[Path, Stamp]  # of the files that it was made of
    contents: Mapping[str, Content]
    document: Content  # index.html with the addresses of this version
    worker: Content | None  # the script that keeps this version for when there is no server


class PageVersions:
    """The versions of the page in a folder. `find` returns the path of a file of the page by its
    name, or None; `offline`: whether browsers may keep the page.
    """

    def __init__(self, find: Callable[[str], Path | None], *, offline: bool) -> None:
        self._find = find
        self._offline = offline
        self._newest: PageVersion | None = None

    def has(self, name: str) -> bool:
        """Return whether a name is one of a file of any version."""
        parts = name.split("/", 2)
        return len(parts) == 3 and parts[0] == FOLDER

    def get(self, name: str) -> Content | None:
        """Return the content of `v/<tag>/<file>` in the newest version known so far, or None."""
        if self._newest is None or not self.has(name):
            return None
        _, tag, file = name.split("/", 2)
        return self._newest.contents.get(file) if tag == self._newest.tag else None

    def refresh(self) -> PageVersion | None:
        """Return the version that is on the disk now; None without a page. May be called in a
        thread: two at once give the same.
        """
        if self._newest is None or not _is_unchanged(self._newest.stamps):
            self._newest = self._read()
        return self._newest

    def _read(self) -> PageVersion | None:
        stamps: dict[Path, Stamp] = {}

        def read(name: str) -> Content | None:
            """Return the content of a file of the page; None if there is none."""
            try:
                if path := self._find(name):
                    stamps[path] = stamp_of(path)  # before it is read: a change is seen later
                    return Content(name, path.read_bytes())
            except OSError:
                pass
            return None

        if (index := read(INDEX)) is None:
            return None
        page = index.body.decode("utf-8", "replace")
        first = [match[2] for match in _SCRIPT.finditer(page) if match[1]]
        later = [match[2] for match in _SCRIPT.finditer(page) if not match[1]]
        found = {name: content for name in (*first, *later) if (content := read(name))}
        worker = read(WORKER) if self._offline else None
        if opening := [found[name].body for name in first if name in found]:
            found[BUNDLE] = Content(BUNDLE, b";\n".join(opening))
        made_of = (index, *([worker] if worker else []), *found.values())
        tag = digest("".join(content.digest for content in made_of).encode())
        text = _rewritten(page, tag, found, installable=self._offline)
        names = [name for name in (BUNDLE, *later) if name in found]
        script = _worker_text(tag, names, worker.body) if worker else None
        return PageVersion(tag, stamps, found, Content(INDEX, text), script)


def _is_unchanged(stamps: Mapping[Path, Stamp]) -> bool:
    try:
        return all(stamp_of(path) == stamp for path, stamp in stamps.items())
    except OSError:
        return False


def _rewritten(page: str, tag: str, found: Mapping[str, Content], *, installable: bool) -> bytes:
    """Return index.html with the addresses of this version. A file that is missing keeps its own
    address, and the browser says that it is missing.
    """
    is_bundled = False
    # Browsers load what is deferred only after what is not: without this, a round trip later.
    early = f'<link rel="preload" as="script" href="{FOLDER}/{tag}/{BUNDLE}">\n  '

    def address(match: re.Match[str]) -> str:
        """Return a script's tag with its address in this version, "" if it is in the bundle."""
        nonlocal is_bundled
        defer, name, rest = match[1] or "", match[2], match[3] or ""
        if name not in found:
            return match[0]
        if defer and is_bundled:
            return ""
        is_bundled = is_bundled or bool(defer)
        name = BUNDLE if defer else name
        return f'<script {defer}src="{FOLDER}/{tag}/{name}"></script>{rest}'

    text = _SCRIPT.sub(address, page)
    if BUNDLE in found:
        text = text.replace("<script", f"{early}<script", 1)
    return (text.replace("</head>", _INSTALL, 1) if installable else text).encode()


def _worker_text(tag: str, names: list[str], script: bytes) -> Content:
    """Return the script that keeps the page, which begins with what is to be kept."""
    files = list(dict.fromkeys(f"{FOLDER}/{tag}/{name}" for name in names))
    kept = {"version": tag, "files": files}
    return Content(WORKER, f"self.page = {json.dumps(kept)};\n".encode() + script)
