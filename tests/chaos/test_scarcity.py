"""A server without descriptors, threads, processes, disk or memory goes on.

`python3 -m tests.chaos.scarcity` fails every call in turn; this takes some of them.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import unittest
from pathlib import Path
from urllib.parse import urlsplit

from ..extensions import needs
from ..tooling import turns
from ..tooling.api import Api
from ..tooling.child import Yaa
from ..tooling.tools import ROOT
from . import processes
from .scarcity import CONFIG, KINDS, session
from .test_full_disk import answers

LIMITED = (
    "import os, resource, sys; n = int(sys.argv.pop(1));"
    " resource.setrlimit(resource.RLIMIT_NOFILE, (n, n));"
    " os.execv(sys.executable, [sys.executable, '-m', 'server', *sys.argv[1:]])"
)
HALF = b"POST /session HTTP/1.1\r\nHost: localhost\r\n"
BODY = b"Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{"


@needs("settings")  # they say when nothing runs any more
@unittest.skipUnless(Path("/proc/self/fd").exists(), "counts what Linux counts")
class Scarcity(unittest.TestCase):
    def test_every_resource(self) -> None:
        command = [sys.executable, "-m", "tests.chaos.scarcity", *turns.share(KINDS, 3)]
        done = subprocess.run(
            [*command, "--stride", "40", "--brief"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        lines = done.stdout.splitlines()
        self.assertFalse([line for line in lines if line.startswith("  ")], done.stdout)
        self.assertEqual((done.returncode, lines[-1:]), (0, ["0 wrong"]), done.stdout)

    def test_more_connections_than_descriptors(self) -> None:
        """Requests of which half has come, without a key, and slow bodies with one."""
        for files, count in ((256, 300), (1024, 1100)):
            command = [sys.executable, "-c", LIMITED, str(files)]
            with self.subTest(files=files), Yaa(CONFIG, command=command) as yaa:
                place = urlsplit(yaa.url)
                key = f"Authorization: Bearer {yaa.key}\r\n".encode()
                for begin in (HALF, HALF + key + BODY):
                    with contextlib.ExitStack() as stack:
                        for _ in range(count):
                            with contextlib.suppress(OSError):  # one that was refused
                                address = (place.hostname or "", place.port or 0)
                                one = socket.create_connection(address)
                                stack.enter_context(one).sendall(begin)
                        # Those that were refused linger, and beyond so many none is let in.
                        self.assertTrue(processes.until(lambda: answers(Api(yaa.url)), 60))
                    done = Api(yaa.url, yaa.key).run(session(f"s{len(begin)}"))
                    self.assertEqual(done["status"], "completed")
                assert yaa.child is not None
                self.assertRegex(
                    yaa.child.output, rf"{files} files may be open, so max_connections"
                )


if __name__ == "__main__":
    unittest.main()
