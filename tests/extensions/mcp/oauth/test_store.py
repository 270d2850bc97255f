"""Files of tokens: modes, damage, two processes at once."""

from __future__ import annotations

import asyncio
import json
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from server.extensions.mcp.oauth.metadata import OAuthError
from server.extensions.mcp.oauth.store import TokenStore

HOLDER = """
import asyncio, sys
from pathlib import Path
from server.extensions.mcp.oauth.store import TokenStore

async def main():
    file = TokenStore(Path(sys.argv[1])).record("https://a", "")
    async with file.lock():
        print("held", flush=True)
        sys.stdin.readline()
        file.write({"by": "the other process"})

asyncio.run(main())
"""


class Store(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory())) / "home" / "oauth"
        self.store = TokenStore(self.folder)
        self.file = self.store.record("https://a", "")

    def test_records_are_separate_and_private(self) -> None:
        self.file.write({"a": 1})
        for url, client in (("https://a/", ""), ("https://a", "x"), ("https://b", "")):
            self.assertEqual(self.store.record(url, client).read(), {})
        self.assertEqual(self.store.record("https://a", "").read(), {"a": 1})
        [path] = self.folder.iterdir()
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(self.folder.stat().st_mode), 0o700)
        path.chmod(0o644)
        self.file.read()
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)

    def test_a_write_changes_the_stamp(self) -> None:
        stamps = [self.file.stamp()]
        for number in range(3):
            self.file.write({"n": number})
            stamps.append(self.file.stamp())
        self.assertEqual(len(set(stamps)), 4)
        self.file.remove()
        self.file.remove()
        self.assertEqual(self.file.stamp(), ())

    def test_what_cannot_be_read_is_nothing(self) -> None:
        self.file.write({})
        [path] = self.folder.iterdir()
        for data in (b"", b"\xff", b"[1]", b"{" * 10_000, b'{"a": "' + b"x" * (2 << 20) + b'"}'):
            path.write_bytes(data)
            self.assertEqual(self.file.read(), {})

    def test_a_folder_that_cannot_be_made_is_named_without_its_path(self) -> None:
        for folder in (Path("/dev/null/oauth"), Path("/proc/1/oauth")):
            with self.subTest(folder), self.assertRaises(OAuthError) as caught:
                TokenStore(folder).record("https://a", "").write({})
            self.assertIn("oauth of the home folder cannot be written", str(caught.exception))
            self.assertNotIn(str(folder), str(caught.exception))

    def test_the_signing_key_is_made_once(self) -> None:
        key = self.store.signing_key()
        self.assertEqual(len(key), 32)
        self.assertEqual(TokenStore(self.folder).signing_key(), key)
        (self.folder / "state.key").write_bytes(b"short")
        with self.assertRaisesRegex(OAuthError, "delete it"):
            self.store.signing_key()
        self.assertEqual((self.folder / "state.key").read_bytes(), b"short")

    async def test_tasks_of_one_process_exclude_each_other(self) -> None:
        async def add() -> None:
            async with self.file.lock():
                known = self.file.read().get("n", 0)
                await asyncio.sleep(0)
                self.file.write({"n": known + 1})

        await asyncio.gather(*(add() for _ in range(20)))
        self.assertEqual(self.file.read(), {"n": 20})

    async def test_a_process_that_holds_the_lock_is_waited_for(self) -> None:
        command = [sys.executable, "-c", HOLDER, str(self.folder)]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as other:
            assert other.stdout is not None
            assert other.stdin is not None
            self.assertEqual(other.stdout.readline(), "held\n")

            async def take() -> str:
                async with self.file.lock():
                    return json.dumps(self.file.read())

            waiting = asyncio.create_task(take())
            for _ in range(5):
                await asyncio.sleep(0)
            self.assertFalse(waiting.done())
            other.stdin.write("\n")
            other.stdin.flush()
            self.assertEqual(await waiting, '{"by": "the other process"}')
