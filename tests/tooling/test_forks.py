"""What forks.py starts is what a new interpreter would be: the same output, code and signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from . import forks, suite, tools
from .patience import seconds

setUpModule = forks.use
SERVER = [sys.executable, "-W", "error", "-m", "server"]


@unittest.skipUnless(sys.platform == "linux", "forks are for Linux")
class CanFork(unittest.TestCase):
    def test_only_what_the_interpreter_would_not_read_differs(self) -> None:
        here = dict(os.environ)
        for command, env, cwd, expected in (
            (SERVER, here, tools.ROOT, True),
            ([sys.executable, "-m", "server", "run"], here, tools.ROOT, True),
            (SERVER, here | {"YAA_PORT": "0", "PYTHONUNBUFFERED": "1"}, tools.ROOT, True),
            (SERVER, here | {"PYTHONIOENCODING": "latin-1"}, tools.ROOT, False),
            (SERVER, here | {"LC_ALL": "C.x"}, tools.ROOT, False),
            (SERVER, here, Path("/"), False),
            (SERVER, here | {"PYTHONPATH": str(tools.ROOT)}, Path("/"), True),
            (SERVER, here | {"PYTHONPATH": f"/x:{tools.ROOT}"}, Path("/"), False),
            ([sys.executable, "-W", "error", "-P", "-m", "server"], here, tools.ROOT, True),
            ([sys.executable, "-u", "-m", "server"], here, tools.ROOT, False),
            ([sys.executable, "-c", "pass"], here, tools.ROOT, False),
            ([sys.executable, "-m", "tests.bench.provider", "x"], here, tools.ROOT, True),
            ([sys.executable, "-m", "tests.bench"], here, tools.ROOT, False),
            (["/usr/bin/other", "-m", "server"], here, tools.ROOT, False),
        ):
            with self.subTest(command=command, cwd=cwd):
                self.assertEqual(forks.can_fork(command, env, cwd), expected)

    def test_a_suite_forks_in_every_module(self) -> None:
        lines = (
            "import os, sys; from tests.tooling import forks, tools",
            "asked = ([sys.executable, '-m', 'server'], dict(os.environ), tools.ROOT)",
            "print(forks.can_fork(*asked)); forks.use_always(); print(forks.can_fork(*asked))",
        )
        command = [sys.executable, "-c", "\n".join(lines)]
        done = subprocess.run(command, cwd=tools.ROOT, capture_output=True, text=True)
        self.assertEqual((done.stdout.split(), done.stderr), (["False", "True"], ""))


@unittest.skipUnless(sys.platform == "linux", "forks are for Linux")
class Fork(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.env = dict(os.environ) | {"YAA_HOME": folder.name, "YAA_SERVER__DISCOVER": "false"}

    def test_a_fork_says_what_an_interpreter_says(self) -> None:
        for arguments, env, give in (
            (["--help"], {}, b""),
            (["--check"], {"YAA_PORT": "x"}, b""),
            (["run"], {}, b"[]"),
            (["run"], {}, b"[" * 200_000),
            (["run", "--say", "calc 6*7", "--text"], {}, b""),
        ):
            with self.subTest(arguments):
                command, variables = [*SERVER, *arguments], self.env | env
                real = subprocess.run(
                    command, cwd=tools.ROOT, env=variables, input=give, capture_output=True
                )
                expected = (real.returncode, real.stdout.decode(), real.stderr.decode())
                forked = forks.run(command, variables, give, timeout=seconds(30))
                self.assertEqual((forked.returncode, forked.stdout, forked.stderr), expected)

    def test_its_variables_and_its_session_are_its_own(self) -> None:
        for number in range(3):
            process = forks.Fork([*SERVER, "run"], self.env, keep_input=True, new_session=True)
            self.assertEqual(os.getsid(process.pid), process.pid)  # at once: it may be signalled
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate(b"", seconds(30))
            self.assertEqual(process.returncode, -signal.SIGKILL, number)
        os.environ["YAA_PORT"] = "x"  # of this one, when the process that forks began
        self.addCleanup(os.environ.pop, "YAA_PORT")
        server = forks.Server()
        unittest.addModuleCleanup(server.close)
        forks.use_server(server)
        done = forks.run([*SERVER, "--check"], self.env, timeout=seconds(30))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_suite_hears_that_a_program_is_started(self) -> None:
        heard: list[str] = []
        sys.addaudithook(lambda event, _: heard.append(event) if event in suite.STARTS else None)
        forks.run([*SERVER, "--help"], self.env, timeout=seconds(30))
        self.assertEqual(heard, ["os.fork"])

    def test_it_is_waited_for_and_ended_by_signals(self) -> None:
        for number in (signal.SIGKILL, signal.SIGTERM):
            process = forks.Fork([*SERVER, "run"], self.env, keep_input=True)
            assert process.stdin is not None
            self.assertIsNone(process.poll())
            with self.assertRaises(subprocess.TimeoutExpired):
                process.wait(0)
            process.send_signal(number)
            process.communicate(b"", seconds(30))
            self.assertEqual(process.returncode, -number)
            self.assertEqual(process.wait(), -number)
            process.kill()  # it is gone: nobody else is ended


if __name__ == "__main__":
    unittest.main()
