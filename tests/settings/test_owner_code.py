"""server/settings/owner_code.py."""

from __future__ import annotations

import asyncio
import os
import tempfile
import threading
import unittest
from pathlib import Path
from types import ModuleType

from server.settings.owner_code import UnfinishedCalls, load


class Trusted(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="yaa-trusted-")))
        self.path = self.folder / "mine.py"

    def value(self) -> object:
        module = load(self.path, "hooks")
        assert isinstance(module, ModuleType), module
        return module.VALUE

    def test_a_file_that_changes_in_the_same_second_and_keeps_its_size(self) -> None:
        for value in (1, 2, 3):
            self.path.write_text(f"VALUE = {value}\n")
            os.utime(self.path, (1_700_000_000, 1_700_000_000))
            self.assertEqual(self.value(), value)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["mine.py"])

    def test_what_a_file_raises_is_said(self) -> None:
        for source, said in (
            ("1 / 0", "ZeroDivisionError: division by zero"),
            ("def (:", "SyntaxError in line 1"),
            ("raise SystemExit(3)", "SystemExit: 3"),
            ("\0", "source code string cannot contain null bytes"),
        ):
            with self.subTest(source):
                self.path.write_text(source)
                self.assertIn(said, str(load(self.path, "hooks")))

    def test_files_that_others_may_write(self) -> None:
        self.path.write_text("VALUE = 1\n")
        self.path.chmod(0o602)
        self.assertEqual(load(self.path, "hooks"), "it can be written by others: chmod go-w")


class Unfinished(unittest.IsolatedAsyncioTestCase):
    async def test_a_call_that_does_not_end_is_given_up_and_counted(self) -> None:
        free = threading.Event()
        self.addCleanup(free.set)
        calls, owner = UnfinishedCalls(2), object()
        for _ in range(2):
            self.assertEqual(calls.refusal(owner), "")
            self.assertIsNone(await calls.call(owner, free.wait, is_async=False, limit_s=0.01))
        self.assertEqual(calls.refusal(owner), "is not called: 2 earlier calls have not come back")
        self.assertEqual(calls.refusal(object()), "", "of that object alone")
        free.set()
        while calls.refusal(owner):
            await asyncio.sleep(0)

    async def test_an_async_call_is_cancelled(self) -> None:
        calls, owner = UnfinishedCalls(1), object()
        never = asyncio.Event()
        self.assertIsNone(await calls.call(owner, never.wait, is_async=True, limit_s=0.01))
        while calls.refusal(owner):
            await asyncio.sleep(0)

    async def test_what_a_call_gives_and_raises(self) -> None:
        calls = UnfinishedCalls(1)
        for is_async in (False, True):

            async def later(value: int) -> float:
                return 6 / value

            def now(value: int) -> float:
                return 6 / value

            function = later if is_async else now
            for value in (2, 0):
                with self.subTest(is_async=is_async, value=value):
                    outcome = await calls.call(self, function, value, is_async=is_async, limit_s=60)
                    assert outcome is not None
                    self.assertEqual(outcome.value, 3 if value else None)
                    self.assertIs(type(outcome.error), type(None) if value else ZeroDivisionError)


if __name__ == "__main__":
    unittest.main()
