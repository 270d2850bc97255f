"""Say whether another user of this machine may have written what the server is about to use."""

from __future__ import annotations

import errno
import grp
import os
import pwd
import stat
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

Account = tuple[str, int, int]  # name, user id, id of the first group


def distrust_reason(path: Path) -> str:
    """Return why this file must not be used, "" if it may be.

    The folders count that the file lies in, and that a link to it lies in.
    """
    try:
        about, target = path.stat(), path.resolve()
    except OSError as error:
        return str(error.strerror)
    if not stat.S_ISREG(about.st_mode):
        return "it is no file"
    if why := _writers(about):
        return f"it {why}"
    for folder in {path.parent, target.parent}:
        if why := folder_distrust_reason(folder, may_be_sticky=True):
            return f"its folder {why}"
    return ""


def folder_distrust_reason(folder: Path, *, may_be_sticky: bool = False) -> str:
    """Return why what lies in a folder may be somebody else's, "" if it is not.

    In a sticky folder others can add files, and change only their own.
    """
    try:
        about = folder.stat()
    except OSError as error:
        return str(error.strerror)
    if may_be_sticky and about.st_mode & stat.S_ISVTX and about.st_uid in (os.getuid(), 0):
        return ""
    return _writers(about)


def follow_links(path: Path) -> Path:
    """Return where a path leads that is about to be written. Raises OSError.

    That is also for a link of another user, who would choose what is overwritten. The kernel
    refuses those in folders such as /tmp, but not to a program that reads the link itself.
    """
    for each in (path, *path.parents):
        with suppress(FileNotFoundError):
            about = each.lstat()
            if stat.S_ISLNK(about.st_mode) and about.st_uid not in (os.getuid(), 0):
                raise PermissionError(errno.EPERM, f"{each} is a link of another user")
    return path.resolve()


def is_shared(group: int, members: Iterable[str], accounts: Collection[Account], user: int) -> bool:
    """Return whether a group has others than `user` and root.

    Many systems give each user a group, and let it write what the user makes.
    """
    ours = {name for name, uid, _ in accounts if uid in (user, 0)}
    others = any(gid == group and uid not in (user, 0) for _, uid, gid in accounts)
    return others or not ours.issuperset(members)


def _writers(about: os.stat_result) -> str:
    """Return who else may write a file or folder, as the end of a sentence."""
    if about.st_uid not in (os.getuid(), 0):
        return "belongs to another user: chown it, or start yaa as that user"
    if about.st_mode & stat.S_IWOTH or (about.st_mode & stat.S_IWGRP and _group(about.st_gid)):
        return "can be written by others: chmod go-w"
    return ""


def _group(group: int) -> bool:
    try:
        members = grp.getgrgid(group).gr_mem
    except KeyError:  # a group without a name, as in containers
        members = []
    accounts = [(each.pw_name, each.pw_uid, each.pw_gid) for each in pwd.getpwall()]
    return is_shared(group, members, accounts, os.getuid())
