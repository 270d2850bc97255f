"""The lock that calls share and a restore has alone."""

from __future__ import annotations

import asyncio
import fcntl
import os
import tempfile
import unittest
from pathlib import Path

from server.lib.sandbox.folders import make_folders
from server.workspace.errors import WorkspaceError
from server.workspace.places import Places
from server.workspace.shared_lock import share_lock


class Lock(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.place = Places(Path(holder.name)).find("", "s")
        make_folders(self.place.for_operations(), 0)
        self.file = self.place.state / "lock"

    def alone(self) -> int:
        descriptor = os.open(self.file, os.O_RDWR | os.O_CREAT, 0o600)
        self.addCleanup(os.close, descriptor)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return descriptor

    async def test_calls_share_it(self) -> None:
        async with share_lock(self.place, 0), share_lock(self.place, 0):
            with self.assertRaises(BlockingIOError):
                self.alone()
        self.alone()

    async def test_a_call_waits_for_a_restore(self) -> None:
        held = self.alone()
        with self.assertRaises(WorkspaceError) as caught:
            async with share_lock(self.place, 0, 0):
                self.fail("it was not held")
        self.assertEqual(caught.exception.code, "busy")

        async def call() -> str:
            async with share_lock(self.place, 0):
                return "began"

        waiting = asyncio.create_task(call())
        done, _ = await asyncio.wait([waiting], timeout=0.1)
        self.assertEqual(done, set())
        fcntl.flock(held, fcntl.LOCK_UN)
        self.assertEqual(await waiting, "began")

    async def test_a_link_in_its_place(self) -> None:
        target = self.place.state / "target"
        self.file.symlink_to(target)
        with self.assertRaises(OSError):
            async with share_lock(self.place, 0):
                self.fail("it was followed")
        self.assertFalse(target.exists())


if __name__ == "__main__":
    unittest.main()
