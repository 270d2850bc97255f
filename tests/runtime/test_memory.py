"""How many arenas glibc has, in processes whose threads take memory."""

from __future__ import annotations

import ctypes
import re
import resource
import subprocess
import sys
import unittest
from pathlib import Path

from ..tooling.child import Yaa
from ..tooling.tools import ROOT

ARENA = 64 << 20  # bytes that glibc reserves for an arena, beside the first
TAKES = """
import ctypes, sys, threading
from server.lib.runtime.memory import set_up_heap
{first}
threads = [threading.Thread(target=ctypes.CDLL(None).malloc, args=(1000,)) for _ in range(4)]
for each in threads:
    each.start()
    each.join()
print(open("/proc/self/maps").read())
"""


def arenas(maps: str) -> int:
    """How many arenas there are beside the first: two mappings, used and reserved, of that size."""
    spans = [
        (int(low, 16), int(high, 16), rights)
        for low, high, rights in re.findall(r"(?m)^(\w+)-(\w+) (\S+)", maps)
    ]
    pairs = zip(spans, spans[1:], strict=False)
    return sum(
        (used[2], rest[2]) == ("rw-p", "---p")
        and used[1] == rest[0]
        and rest[1] - used[0] == ARENA
        and used[0] % ARENA == 0
        for used, rest in pairs
    )


@unittest.skipUnless(hasattr(ctypes.CDLL(None), "malloc_info"), "this is not glibc")
class Arenas(unittest.TestCase):
    def maps(self, first: str) -> str:
        command = [sys.executable, "-c", TAKES.format(first=first)]
        return subprocess.run(
            command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True
        ).stdout

    def test_threads_share_one(self) -> None:
        self.assertGreater(arenas(self.maps("")), 0)  # else nothing is seen below either
        self.assertEqual(arenas(self.maps("set_up_heap()")), 0)

    def test_a_server_has_one(self) -> None:
        """It has imported its agent in a thread."""
        with Yaa() as yaa:
            assert yaa.child is not None
            maps = Path(f"/proc/{yaa.child.process.pid}/maps").read_text()
        self.assertEqual(arenas(maps), 0)

    def test_what_is_free_between_is_given_back(self) -> None:
        """As after large requests, of which something small is kept."""
        program = (
            "from server.lib.runtime.memory import give_back\n"
            "def pages(): return int(open('/proc/self/statm').read().split()[1])\n"
            "made = [b'x' * (100_000 + n) for n in range(500)]; kept = made[49::50]\n"
            "del made; before = pages(); give_back(); print(before - pages())"
        )
        command = [sys.executable, "-c", program]
        said = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
        self.assertGreater(int(said) * resource.getpagesize() >> 10, 40_000, "KiB of 48,000")


if __name__ == "__main__":
    unittest.main()
