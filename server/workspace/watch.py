"""What changed in a folder since the last look, by inotify: the names, so that only they are read.

Optional: where inotify is not there, a limit is reached or events were lost, `changes` says None
and everything is looked at. Only file systems are watched whose changes all go through this kernel.
A program that writes to memory mapped from a file is seen when it lets the file go.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

from .trees import Place

MAX_FOLDERS = 20_000  # watches; the kernel's limit is for all of a user's programs
EVENT = struct.Struct("iIII")
READ = 1 << 16
IN_MODIFY, IN_ATTRIB, IN_CLOSE_WRITE = 0x2, 0x4, 0x8
IN_MOVED_FROM, IN_MOVED_TO, IN_CREATE, IN_DELETE = 0x40, 0x80, 0x100, 0x200
IN_DELETE_SELF, IN_MOVE_SELF = 0x400, 0x800
IN_UNMOUNT, IN_Q_OVERFLOW, IN_IGNORED, IN_ISDIR = 0x2000, 0x4000, 0x8000, 0x40000000
IN_ONLYDIR = 0x01000000
MASK = (
    IN_MODIFY
    | IN_ATTRIB
    | IN_CLOSE_WRITE
    | IN_MOVED_FROM
    | IN_MOVED_TO
    | IN_CREATE
    | IN_DELETE
    | IN_DELETE_SELF
    | IN_MOVE_SELF
    | IN_ONLYDIR
)
# statfs(2): ext2 to ext4, xfs, btrfs, tmpfs, f2fs, overlayfs, zfs, bcachefs
LOCAL = frozenset(
    (0xEF53, 0x58465342, 0x9123683E, 0x01021994, 0xF2F52010, 0x794C7630, 0x2FC12FC1, 0xCA451A4E)
)


@dataclass
class Changes:
    """Names that changed, by folder; and the folders among them that may be others than before."""

    names: dict[Place, set[str]] = field(default_factory=dict)
    new: set[Place] = field(default_factory=set)


class Watch:
    """Watches folders that are added one by one, each with all that is directly in it."""

    def __init__(self, top: int) -> None:
        """Begin for the tree below an open folder; `works` is False where that cannot be."""
        self.works = False
        self._descriptor = -1
        self._places: dict[int, Place] = {}
        self._numbers: dict[Place, int] = {}
        self._device = os.fstat(top).st_dev
        try:
            self._libc = ctypes.CDLL(None, use_errno=True)
            if _file_system(self._libc, top) in LOCAL:
                self._descriptor = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        except (AttributeError, OSError):  # no Linux
            return
        self.works = self._descriptor >= 0

    def close(self) -> None:
        """End it; nothing is watched any more."""
        self.works = False
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1
        self._places.clear()
        self._numbers.clear()

    def add(self, folder: int, place: Place) -> None:
        """Watch an open folder, before it is read."""
        if not self.works:
            return
        if len(self._places) >= MAX_FOLDERS or os.fstat(folder).st_dev != self._device:
            self.close()
            return
        # By the descriptor, so that no link on the way is followed and no path is too long.
        number = self._libc.inotify_add_watch(
            self._descriptor, f"/proc/self/fd/{folder}".encode(), MASK
        )
        if number < 0:
            self.close()
            return
        if self._numbers.get(place) == number:
            return
        self._forget(place)
        if number in self._places:  # the folder was moved here
            self._numbers.pop(self._places[number], None)
        self._places[number] = place
        self._numbers[place] = number

    def drop(self, place: Place) -> None:
        """Stop watching a folder that is gone."""
        if self.works:
            self._forget(place)

    def _forget(self, place: Place) -> None:
        number = self._numbers.pop(place, None)
        if number is not None and self._places.get(number) == place:
            del self._places[number]
            self._libc.inotify_rm_watch(self._descriptor, number)

    def changes(self) -> Changes | None:
        """Return what changed since the last call; None if everything must be looked at."""
        if not self.works:
            return None
        found = Changes()
        lost = False
        for number, mask, name in self._events():
            if mask & IN_Q_OVERFLOW:
                lost = True
            if mask & IN_UNMOUNT:
                self.close()
                return None
            place = self._places.get(number)
            if place is None:
                continue
            if mask & IN_IGNORED:
                del self._places[number]
                self._numbers.pop(place, None)
            elif name:
                found.names.setdefault(place, set()).add(name)
                if mask & IN_ISDIR and mask & (IN_CREATE | IN_MOVED_TO):
                    found.new.add((*place, name))
            elif not place and mask & (IN_DELETE_SELF | IN_MOVE_SELF):
                self.close()
                return None
        return None if lost else found

    def _events(self) -> Iterator[tuple[int, int, str]]:
        while True:
            try:
                data = os.read(self._descriptor, READ)
            except BlockingIOError:
                return
            at = 0
            while at < len(data):
                number, mask, _cookie, length = EVENT.unpack_from(data, at)
                at += EVENT.size
                yield number, mask, os.fsdecode(data[at : at + length].rstrip(b"\0"))
                at += length


def _file_system(libc: ctypes.CDLL, descriptor: int) -> int:
    """Return the type of a file system as statfs(2) names it."""
    room = ctypes.create_string_buffer(512)
    if libc.fstatfs(descriptor, room):
        raise OSError(ctypes.get_errno(), "statfs")
    return int(ctypes.c_long.from_buffer(room).value) & 0xFFFFFFFF
