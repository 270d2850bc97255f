"""The command `pack`: put all of yaa into one file that Python 3.11 or later can run.

The file is a zip with a shebang line. At first start it unpacks itself into the user's cache and
runs from there, since the sandbox's zygote and the client need real files. Equal sources give equal
bytes.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

from ..api.static import content_type
from ..config import shipped_path

SHEBANG = b"#!/usr/bin/env python3\n"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")  # of a packed file or folder
EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time in the zip format

# Runs first, on any Python: old versions must be able to parse it.
STARTER = '''\
"""yaa in one file. It unpacks itself once, then runs from there."""
import atexit
import os
import shutil
import sys
import tempfile
import zipfile

if sys.version_info < (3, 11):
    sys.exit("yaa needs Python 3.11 or later; this is %d.%d" % sys.version_info[:2])


def unpacked(archive, digest):
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    place = os.path.join(cache, "yaa", digest)
    try:
        if not os.path.isabs(place):  # a user without a home, as in a container
            raise OSError
        if not os.path.isdir(place):
            os.makedirs(os.path.dirname(place), exist_ok=True)
            draft = tempfile.mkdtemp(dir=os.path.dirname(place))
            os.chmod(draft, 0o755)
            unpack(archive, draft)
            try:
                os.rename(draft, place)
            except OSError:  # another one was first
                shutil.rmtree(draft, ignore_errors=True)
        if os.stat(place).st_uid == os.getuid():
            return place
    except OSError:
        pass  # a read-only home, or none: a folder for this time only
    place, owner = tempfile.mkdtemp(prefix="yaa-"), os.getpid()
    os.chmod(place, 0o755)
    atexit.register(lambda: os.getpid() == owner and shutil.rmtree(place, ignore_errors=True))
    unpack(archive, place)
    return place


def unpack(archive, place):
    with zipfile.ZipFile(archive) as source:
        source.extractall(place, [name for name in source.namelist() if name != "__main__.py"])


if __name__ == "__main__":
    sys.path[0] = unpacked(os.path.dirname(os.path.abspath(__file__)), "@DIGEST@")
    from yaa.__main__ import main

    sys.exit(main())
'''


def pack(target: Path) -> int:
    """Write the file atomically and return its size in bytes. Raises OSError."""
    target = Path(os.path.realpath(target))  # replace the target of a link, not the link
    if target.exists() and not target.is_file():  # never replace a device
        raise OSError(errno.EINVAL, "is no file")
    sources = dict(sorted(_sources()))
    digest = hashlib.sha256()
    for name, path in sources.items():
        digest.update(f"{name}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    draft = target.with_name(f".{target.name}.draft")
    try:
        with draft.open("wb") as file:
            file.write(SHEBANG)
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
                starter = STARTER.replace("@DIGEST@", digest.hexdigest()[:32])
                archive.writestr(zipfile.ZipInfo("__main__.py", EPOCH), starter)
                for name, path in sources.items():
                    entry = zipfile.ZipInfo(name, EPOCH)
                    entry.compress_type = zipfile.ZIP_DEFLATED
                    entry.external_attr = 0o644 << 16
                    archive.writestr(entry, path.read_bytes())
        draft.chmod(0o755)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
    return target.stat().st_size


def _sources() -> Iterator[tuple[str, Path]]:
    """Yield (name in the archive, file) of each source file.

    Files left in the folders by an editor or the system are skipped.
    """
    package, client = Path(__file__).parents[1], shipped_path("client")
    yield "yaa/config.default.json", shipped_path("config.default.json")
    for folder, prefix, is_shipped in (
        (package, "yaa", lambda name: name.endswith((".py", ".json"))),
        (client, "yaa/client", content_type),
    ):
        for path in folder.rglob("*"):
            inside = path.relative_to(folder)
            if (
                is_shipped(inside.as_posix())
                and all(map(_NAME.fullmatch, inside.parts))
                and path.is_file()
                and path.resolve().is_relative_to(folder.resolve())
            ):
                yield f"{prefix}/{inside.as_posix()}", path
