"""Everything that the runner promises (tests/tools/test_runner.py), in the sandbox that is proven
here, in turns: the same cases, other workers."""

from __future__ import annotations

import re
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.lib.sandbox.policy import SCRATCH_FILES
from server.tools.runner import Outcome

from ..fakes import DEFAULTS
from ..tooling import turns
from ..tools import test_runner

PYTHON = ("module", "server.tools.builtin.shell", "python")
OPTIONS: dict[str, Any] = DEFAULTS["server"]["sandbox"]


class Sandboxed(test_runner.Case):
    """The runner of each test, opened."""

    async def asyncSetUp(self) -> None:
        await self.runner.open(OPTIONS)
        self.addCleanup(self.runner.close)
        if self.runner.sandbox["tier"] not in ("A", "B"):
            self.skipTest(f"no sandbox here: {self.runner.sandbox['tried']}")

    async def run_tool(
        self, where: tuple[str, str, str], args: dict[str, Any], **limits: float
    ) -> Outcome:
        found = await super().run_tool(where, args, **limits)
        self.assertEqual(found.tier, self.runner.sandbox["tier"])
        return found


@turns.tests(2)
class Results(Sandboxed, test_runner.Results):
    pass


class Read(Sandboxed):
    """Programs that the owner lets tools read: no other file beside them, and none changes."""

    async def asyncSetUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.kit = Path(holder.name)
        self.kit.chmod(0o755)
        for name in ("bin", "beside"):
            (self.kit / name).mkdir()
            program = self.kit / name / "hello"
            program.write_text("#!/bin/sh\necho hello\n")
            program.chmod(0o755)
        given = {**OPTIONS, "read": [f"{self.kit}/bin"]}
        await self.runner.open(given)
        self.addCleanup(self.runner.close)
        if self.runner.sandbox["tier"] not in ("A", "B"):
            self.skipTest(f"no sandbox here: {self.runner.sandbox['tried']}")

    async def test_a_program_runs_and_stays(self) -> None:
        program = self.kit / "bin" / "hello"
        found = await self.shell(f"{program}; echo more >> {program}; touch {self.kit}/bin/new")
        self.assertTrue(found.result["output"].startswith("hello\n"), found.result)
        self.assertEqual([each.name for each in (self.kit / "bin").iterdir()], ["hello"])
        self.assertEqual(program.read_text(), "#!/bin/sh\necho hello\n")

    async def test_what_lies_beside_is_not_reached(self) -> None:
        found = await self.shell(f"cat {self.kit}/beside/hello")
        self.assertNotEqual(found.result["exit_code"], 0)
        self.assertNotIn("echo hello", found.result["output"])


@turns.tests(2)
class Failures(Sandboxed, test_runner.Failures):
    pass


@turns.tests(2)
class Cancelled(Sandboxed, test_runner.Cancelled):
    pass


@turns.tests(2)
class Breaches(Sandboxed, test_runner.Breaches):
    async def test_memory(self) -> None:
        hungry = "python3 -c 'x = bytearray(10**9); x[::4096] = x[::4096]; input()'"
        await self.breach(f"{hungry}; sleep 5", "memory_mb", 100)

    async def test_the_kernel_stops_what_is_faster_than_the_looks(self) -> None:
        """Twice the processes and room for threads; of memory what the looks may come late by."""
        ask = "import resource as r; print(*map(r.getrlimit, (r.RLIMIT_NPROC, r.RLIMIT_DATA)))"
        found = await self.shell(f"python3 -c '{ask}'", processes=10, memory_mb=100)
        processes, data = re.findall(r"\((\d+), (\d+)\)", found.result["output"])
        crowd = 0 if self.runner.sandbox["tier"] == "A" else 10_000  # of the user, at tier B
        self.assertTrue(all(84 <= int(each) <= 84 + crowd for each in processes), processes)
        self.assertEqual(data, (str((100 + 1024) << 20),) * 2)

    async def test_disk(self) -> None:
        """Many files, each within what a file may be."""
        fill = "for i in 1 2 3 4 5 6; do head -c 4000000 /dev/zero > f$i; done; sleep 9"
        await self.breach(fill, "disk_mb", 16)

    async def test_disk_of_short_calls(self) -> None:
        """Each is over before anybody looks; what is too much can be deleted."""
        fill = "for i in 1 2 3; do head -c 3000000 /dev/zero > $0$i; done"
        first = await self.shell(fill.replace("$0", "a"), disk_mb=16)
        self.assertEqual(first.status, "ok", first.error)
        second = await self.shell(fill.replace("$0", "b"), disk_mb=16)
        self.assertEqual(second.error["details"]["limit"], "disk_mb")
        third = await self.shell("rm a? b?", disk_mb=16)
        self.assertEqual(third.status, "ok", third.error)

    async def test_files_without_a_byte(self) -> None:
        """In memory each takes a kilobyte that no process has."""
        if self.runner.sandbox["tier"] != "A":
            self.skipTest("no files in memory")
        found = await self.shell("df --output=itotal /tmp /dev/shm")
        most = [int(word) for word in found.result["output"].split()[1:]]
        self.assertEqual(most, [SCRATCH_FILES] * 2)

    async def test_what_waits_in_sockets(self) -> None:
        """No process has that memory, so a tool cannot ask for more of it."""
        fill = (
            "import socket\n"
            "for wanted in (None, 1 << 26):\n"
            "    one, other = socket.socketpair()\n"
            "    one.setblocking(False)\n"
            "    if wanted: one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, wanted)\n"
            "    sent = 0\n"
            "    try:\n"
            "        while True: sent += one.send(bytes(4096))\n"
            "    except BlockingIOError: print(sent)\n"
        )
        found = await self.run_tool(PYTHON, {"code": fill})
        first, second = found.result["output"].split()
        self.assertEqual(first, second)

    async def test_processor_time_of_many(self) -> None:
        """Each of them stays below the limit that the kernel keeps for one process."""
        spin = 'python3 -c "import time\nwhile time.process_time() < 0.4: pass"; '
        await self.breach(f"{spin * 9}", "cpu_s", 1)


if __name__ == "__main__" and sys.platform == "linux":
    unittest.main()
