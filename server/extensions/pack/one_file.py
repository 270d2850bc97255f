"""Put all of yaa into one file that Python 3.11 or later can run.

The file is a zip with a shebang line. At first start it unpacks itself into the user's cache and
runs from there, since the sandbox's zygote and the client need real files. Equal sources give equal
bytes.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import shlex
import zipfile
from argparse import Namespace
from collections.abc import Iterator, Mapping
from pathlib import Path

from ...api.static import content_type
from ...config import Config, ConfigError, expand_path, shipped_path
from ...settings.file_trust import follow_links

SHEBANG = b"#!/usr/bin/env python3\n"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")  # of a packed file or folder
EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time in the zip format

# Runs first, on any Python: old versions must be able to parse it.
STARTER = '''\
"""yaa in one file. It unpacks itself once, then runs from there."""
import atexit
import grp
import os
import pwd
import shutil
import stat
import sys
import tempfile
import zipfile

if sys.version_info < (3, 11):
    sys.exit("yaa needs Python 3.11 or later; this is %d.%d" % sys.version_info[:2])


def is_ours(place):
    """Tell whether only we and root can put another folder in the place of this one."""
    while True:
        about = os.stat(place)
        open_to = 0 if about.st_mode & stat.S_ISVTX else about.st_mode
        if about.st_uid not in (0, os.getuid()) or open_to & stat.S_IWOTH:
            return False
        if open_to & stat.S_IWGRP and is_shared(about.st_gid):
            return False
        if place == os.path.dirname(place):
            return True
        place = os.path.dirname(place)


def is_shared(group):
    """Tell whether others are in a group; many systems give each user one."""
    accounts = pwd.getpwall()
    ours = {one.pw_name for one in accounts if one.pw_uid in (0, os.getuid())}
    try:
        members = grp.getgrgid(group).gr_mem
    except KeyError:
        members = []
    first = {one.pw_name for one in accounts if one.pw_gid == group}
    return bool((first | set(members)) - ours)


def unpacked(archive, digest):
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    place = os.path.join(os.path.realpath(cache), "yaa", digest)
    try:
        if not os.path.isabs(cache):  # a user without a home, as in a container
            raise OSError
        os.makedirs(os.path.dirname(place), 0o755, exist_ok=True)
        if not is_ours(os.path.dirname(place)):
            raise OSError
        if not os.path.isdir(place):
            draft = tempfile.mkdtemp(dir=os.path.dirname(place))
            os.chmod(draft, 0o755)
            unpack(archive, draft)
            try:
                os.rename(draft, place)
            except OSError:  # another one was first
                shutil.rmtree(draft, ignore_errors=True)
        if is_ours(place):
            return place
    except OSError:
        pass  # a read-only home, none, or one of another user: a folder for this time only
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


def perform(config: Config, env: Mapping[str, str], options: Namespace) -> int:
    """Write the file, and print how to start it. Raises ConfigError."""
    target = expand_path(options.file, "FILE")
    try:
        size = pack(target)
    except OSError as error:
        raise ConfigError(f"{target}: {error.strerror}") from None
    print(f"{target}: {size >> 10} KiB; start it with python3 {shlex.quote(str(target))}")
    return 0


def pack(target: Path) -> int:
    """Write the file atomically and return its size in bytes. Raises OSError."""
    target = follow_links(target)  # replace the target of a link, not the link
    if target.exists() and not target.is_file():  # never replace a device
        raise OSError(errno.EINVAL, "is no file")
    sources = dict(sorted(_sources()))
    digest = hashlib.sha256()
    for name, path in sources.items():
        digest.update(f"{name}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    draft = target.with_name(f".{target.name[:100]}.{secrets.token_hex(8)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(draft, flags, 0o600), "wb") as file:
            file.write(SHEBANG)
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
                starter = STARTER.replace("@DIGEST@", digest.hexdigest()[:32])
                archive.writestr(zipfile.ZipInfo("__main__.py", EPOCH), starter)
                for name, path in sources.items():
                    entry = zipfile.ZipInfo(name, EPOCH)
                    entry.compress_type = zipfile.ZIP_DEFLATED
                    entry.external_attr = 0o644 << 16
                    archive.writestr(entry, path.read_bytes())
            os.fchmod(file.fileno(), 0o755)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
    return target.stat().st_size


def _sources() -> Iterator[tuple[str, Path]]:
    """Yield (name in the archive, file) of each source file.

    Files left in the folders by an editor or the system are skipped.
    """
    package, client = Path(__file__).parents[2], shipped_path("client")
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
