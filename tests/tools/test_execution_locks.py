"""Locks between processes: refused while another one has them, free once it is gone."""

from __future__ import annotations

import sys
import tempfile
import unittest
from pathlib import Path

from server.tools.execution_claims import Locks

from ..tooling.child import Child

HOLDER = """
import sys
from pathlib import Path
from server.tools.execution_claims import Locks
locks = Locks(Path(sys.argv[1]))
print("taken", locks.take(sys.argv[2]), flush=True)
sys.stdin.read()
"""


class Between(unittest.TestCase):
    def setUp(self) -> None:
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.file = Path(folder) / "claims.lock"
        self.locks = Locks(self.file)
        self.addCleanup(self.locks.close)

    def holder(self, name: str) -> Child:
        child = Child([sys.executable, "-c", HOLDER, str(self.file), name], keep_input=True)
        self.addCleanup(child.kill)
        return child

    def test_another_process_has_it_until_it_is_gone(self) -> None:
        for name in ("ses_1", "", "a" * 9999, "\udc00\U0001f600"):
            with self.subTest(name=name[:20]):
                asked = name if name.isascii() else "other"
                child = self.holder(asked)
                child.wait_for("taken True", 20)
                self.assertEqual((self.locks.take(asked), self.locks.is_held(asked)), (False, True))
                self.assertFalse(self.locks.is_held(f"{asked}-"))
                child.kill()
                self.assertFalse(self.locks.is_held(asked), "asking does not take it")
                self.assertTrue(self.locks.take(name))
                self.assertFalse(self.locks.is_held(name), "ours is nobody else's")
                self.locks.free(name)

    def test_what_is_freed_another_may_take(self) -> None:
        self.assertTrue(self.locks.take("a") and self.locks.take("b"))
        self.holder("a").wait_for("taken False", 20)
        self.locks.free("a")
        self.locks.free("never taken")
        self.holder("a").wait_for("taken True", 20)
        self.holder("b").wait_for("taken False", 20)

    def test_a_shared_lock_is_freed_by_the_last(self) -> None:
        with self.locks.share("a") as alone:
            with self.locks.share("a") as second, self.locks.share("b") as other:
                self.assertEqual((alone, second, other), (True, False, True))
            self.holder("a").wait_for("taken False", 20)
            self.holder("b").wait_for("taken True", 20)
        self.holder("a").wait_for("taken True", 20)
        with self.locks.share("a") as alone:
            self.assertFalse(alone, "another process has it")

    def test_without_a_file_or_a_place_for_it_there_is_only_this_process(self) -> None:
        closed = Path("/sys/locks-of-mine")  # where not even root may make a file
        for locks in (Locks(), Locks(self.file / "nowhere"), Locks(closed)):
            self.assertTrue(locks.take("a"))
            self.assertFalse(locks.is_held("a"))
            locks.free("a")
            locks.close()


if __name__ == "__main__":
    unittest.main()
