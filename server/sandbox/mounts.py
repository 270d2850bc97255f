"""The file system of a tool in tier A, built in a mount namespace of its own.

`build` runs before there is a call: it makes everything but the workspace and detaches the old
root. Until `choose` all workspaces are at the call's place; `choose` leaves one of them. No mount
point is ever made below a path that a tool could have written to (CVE-2026-87766): the root is new
and used once.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from . import syscalls
from .policy import DEVICES, SCRATCH_FILES, SCRATCH_MB, SETTINGS, SYSTEM, WORKSPACE, Policy

# Possible places for the new root while it is built; nothing is mounted from there.
PLACES = ("/sys", "/mnt", "/media", "/srv")
FILES = syscalls.ATTR_RDONLY | syscalls.ATTR_NOSUID
SCRATCH = syscalls.MS_NOSUID | syscalls.MS_NODEV
OWN = syscalls.ATTR_NOSUID | syscalls.ATTR_NODEV
LINKS = {"fd": "fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}


def build(policy: Policy) -> None:
    """Make the new root and change to it for good.

    Needs the capabilities of the mount namespace. Raises OSError.
    """
    os.umask(0o022)
    syscalls.mount(None, "/", syscalls.MS_REC | syscalls.MS_PRIVATE)
    new = next(place for place in PLACES if Path(place).is_dir())
    syscalls.mount("tmpfs", new, SCRATCH, "size=1m,mode=755")
    for name in ("proc", "tmp", "dev", "dev/shm", WORKSPACE.lstrip("/")):
        Path(new, name).mkdir()
    scratch = f"size={SCRATCH_MB}m,nr_inodes={SCRATCH_FILES},mode=1777"
    syscalls.mount("tmpfs", f"{new}/tmp", SCRATCH, scratch)
    for path in (*SYSTEM, *SETTINGS, *policy.read):
        copy(path, new, FILES | syscalls.ATTR_NODEV)
    for path in DEVICES:
        copy(path, new, syscalls.ATTR_NOSUID | syscalls.ATTR_NOEXEC)
    for name, target in LINKS.items():
        Path(new, "dev", name).symlink_to(f"/proc/self/{target}")
    syscalls.mount("tmpfs", f"{new}/dev/shm", SCRATCH | syscalls.MS_NOEXEC, scratch)
    syscalls.mount("proc", f"{new}/proc", SCRATCH | syscalls.MS_NOEXEC)
    syscalls.bind(policy.workspaces, new + WORKSPACE, OWN)
    syscalls.pivot(new)
    syscalls.freeze("/")


def copy(path: str, new: str, attributes: int) -> None:
    """Repeat a path in the new root, if it exists: symlinks of SYSTEM as such, all else mounted."""
    source, target = Path(path), Path(new + path)
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_symlink() and path in SYSTEM:
        target.symlink_to(source.readlink())
    elif source.is_dir():
        target.mkdir(exist_ok=True)
        syscalls.bind(path, str(target), attributes)
    elif source.exists():
        target.touch()
        syscalls.bind(path, str(target), attributes)


def choose(name: str, inode: int) -> None:
    """Replace the mount of all workspaces by one of them.

    Raises OSError if its inode is another one: the folder was replaced since `build`.
    """
    own = syscalls.copy_of(f"{WORKSPACE}/{name}", OWN, follow=False)
    if os.fstat(own).st_ino != inode:
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), name)
    syscalls.detach(WORKSPACE)
    syscalls.attach(own, WORKSPACE)
