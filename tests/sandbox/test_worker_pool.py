"""Workers: one call each, replaced when they die, and nothing left of them whoever is killed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import unittest
from pathlib import Path

from server.lib.sandbox import supervisor
from server.lib.sandbox.policy import SandboxPolicy
from server.lib.sandbox.probe import closed_to_others
from server.lib.sandbox.worker_pool import STOP_S, WorkerPool
from server.tools.runner import Job

from ..chaos.processes import born, left, until
from ..tooling import patience
from ..tools.test_runner import LIMITS, PATIENT, ROOT, SHELL
from .test_battery import STRANGER, reachable_python
from .test_tiers import OPTIONS, Sandboxed

WAIT_S = 10
CALLS = 8  # that run when the server is killed


def with_words(*words: str) -> list[int]:
    """Processes that have one of these in their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes()
        except OSError:
            continue
        if any(word.encode() in line for word in words) and int(path.parent.name) != os.getpid():
            found.append(int(path.parent.name))
    return found


def mounts() -> set[str]:
    """What is mounted here, without the small disks of other tests, whose source is `none`."""
    found = Path("/proc/self/mountinfo").read_text().splitlines()
    return {line for line in found if line.partition(" - ")[2].split()[1] != "none"}


def none_left(*words: str) -> bool:
    """Wait, with an end, until there is none."""
    deadline = time.monotonic() + patience.seconds(WAIT_S)
    while with_words(*words):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.005)
    return True


# A worker whose zygote ends before the worker can ask to follow it; prints what it says.
ORPHAN = """
import os, socket
from server.lib.sandbox import syscalls, worker
from server.lib.sandbox.policy import SandboxPolicy

zygote = os.fork()
if not zygote:
    os._exit(0)
ended = syscalls.pidfd_open(zygote)
os.waitpid(zygote, 0)
ours, theirs = socket.socketpair()
if not os.fork():
    ours.close()
    worker.serve(theirs.fileno(), SandboxPolicy("A", run_as={run_as}, read=("/usr",)), b"", ended)
theirs.close()
print(ours.recv(1000))
"""


class Dying(WorkerPool):
    """Its workers are killed when they are ready, just before they get their call."""

    def __init__(self, policy: SandboxPolicy, times: int) -> None:
        super().__init__(policy)
        self.times = times

    def take(self, network: str | None = None) -> socket.socket:
        worker = super().take(network)
        if self.times:
            self.times -= 1
            worker.recv(1, socket.MSG_PEEK)  # it says that it is ready
            deadline = time.monotonic() + patience.seconds(WAIT_S)
            while (left := supervisor.descendants(self.pid)) and time.monotonic() < deadline:
                for pid in left:  # more of them may still be coming
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                os.sched_yield()
            while self._waiting:  # whose deaths may not be known yet
                self._waiting.pop().close()
        return worker


class Zygote(unittest.TestCase):
    def test_it_starts_without_what_only_the_server_needs(self) -> None:
        """An event loop takes half as long to load as all the rest of it."""
        code = "import sys, server.lib.sandbox.zygote as zygote;"
        code += " print({'asyncio', 'ssl'} & sys.modules.keys())"
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True)
        self.assertEqual(done.stdout, b"set()\n", done.stderr)


class Workers(Sandboxed):
    async def test_each_call_has_a_worker_of_its_own(self) -> None:
        await self.shell("echo x > /tmp/left; echo y > /dev/shm/left; sleep 60 &")
        found = await self.shell("ls /tmp/left /dev/shm/left; ps -e | grep sleep")
        self.assertNotEqual(found.result["exit_code"], 0, found.result)

    async def test_many_at_once(self) -> None:
        async def one(number: int) -> str:
            job = Job(SHELL, {"command": f"sleep 0.05; echo {number}"}, f"s{number}", LIMITS)
            outcome = await self.runner.run(job)
            return str(outcome.result and outcome.result["output"])

        found = await asyncio.gather(*map(one, range(12)))
        self.assertEqual(found, [f"{number}\n" for number in range(12)])

    async def test_a_zygote_that_is_killed_is_replaced(self) -> None:
        assert self.runner.pool is not None
        first = self.runner.pool.pid
        os.kill(first, signal.SIGKILL)
        self.runner.pool._zygote.wait()  # type: ignore[union-attr]
        self.assertEqual((await self.shell("echo back")).result["output"], "back\n")
        self.assertNotEqual(self.runner.pool.pid, first)

    async def test_a_worker_that_dies_before_the_call_is_replaced_once(self) -> None:
        assert self.runner.pool is not None
        for times, said in ((1, "back\n"), (2, "nothing was run")):
            with self.subTest(times=times):
                pool = Dying(self.runner.pool.policy, times)
                self.addCleanup(pool.close)
                self.runner.pool, proven = pool, self.runner.pool
                found = await self.shell("echo ran >> ran; echo back")
                self.runner.pool = proven
                text = found.result["output"] if times == 1 else found.error["message"]
                self.assertIn(said, text)
                self.assertEqual(pool.times, 0)
        self.assertEqual((await self.shell("cat ran")).result["output"], "ran\n")

    async def test_a_call_has_its_moment_when_the_server_stops(self) -> None:
        path = self.owned(PATIENT.replace("open(", "time.sleep(0.5); open("))
        for name, tidied in (("tidy", True), ("deaf", False)):
            with self.subTest(name):
                job = Job(("file", path, name), {}, name, LIMITS)
                await self.cut(job)
                began = time.monotonic()
                self.runner.close()
                self.assertLess(time.monotonic() - began, patience.seconds(STOP_S))
                self.assertEqual((self.runner.folder(name) / "tidied").exists(), tidied)

    async def test_workspaces_that_are_replaced_meanwhile(self) -> None:
        """A worker that waits has the folder that was there when it was made."""
        await self.shell("true")  # the next ones wait
        self.runner.workspaces.rename(self.home / "workspaces-before")
        self.assertEqual((await self.shell("echo back > f; cat f")).result["output"], "back\n")
        self.assertFalse(any((self.home / "workspaces-before").glob("*/f")))

    async def test_a_zygote_that_is_killed_takes_calls_along(self) -> None:
        if self.runner.sandbox["tier"] != "A":
            self.skipTest("in tier B a call that runs comes to its end")
        assert self.runner.pool is not None
        mark = f"4242.{os.getpid()}"
        command = f"setsid sleep {mark} & echo on; sleep {mark}"
        job = Job(SHELL, {"command": command}, "s", LIMITS)
        zygote = self.runner.pool.pid
        outcome = await self.runner.run(job, lambda _: os.kill(zygote, signal.SIGKILL))
        self.assertEqual(outcome.status, "error")
        self.assertTrue(await asyncio.to_thread(none_left, mark))


CROWDED = """
import resource
from server.lib.sandbox.policy import SandboxPolicy
from server.lib.sandbox.worker_pool import WorkerPool

def allow(processes):
    resource.prlimit(pool.pid, resource.RLIMIT_NPROC, (processes, most))

def said(worker):
    return "ready" if b"ready" in worker.recv(99) else "no worker"

pool = WorkerPool(SandboxPolicy("C"))
running = pool.take()
first, (_, most) = pool.pid, resource.prlimit(pool.pid, resource.RLIMIT_NPROC)
print(said(running))
allow(1)
pool.renew()
print(said(pool.take()))
allow(most)
pool.renew()
print(said(pool.take()))
print("the same" if pool.pid == first else "another")
pool.close()
"""


@unittest.skipUnless(sys.platform == "linux", "prlimit(2)")
class Crowded(unittest.TestCase):
    def test_a_worker_that_cannot_be_made_costs_the_others_nothing(self) -> None:
        """They would end with the zygote. The kernel counts the processes of normal users only."""
        root = os.geteuid() == 0
        python = reachable_python() if root else sys.executable
        if python is None or closed_to_others((), ROOT):
            self.skipTest("no interpreter or checkout that another user can read")
        user = STRANGER if root else None
        done = subprocess.run(
            [python, "-B", "-c", CROWDED],
            cwd=ROOT,
            user=user,
            group=user,
            extra_groups=[] if root else None,
            capture_output=True,
            text=True,
            timeout=patience.seconds(6 * WAIT_S),
        )
        said = ["ready", "no worker", "ready", "the same"]
        self.assertEqual(done.stdout.splitlines(), said, done.stderr)


@unittest.skipUnless(sys.platform == "linux", "needs /proc")
class Killed(Sandboxed):
    async def test_a_server_that_is_killed_leaves_nothing(self) -> None:
        """At each tier, under load: tools, what they detached, the workers that wait, and the
        zygote. The workspaces stay, and nothing else."""
        before = mounts()
        for most in ("A", "C"):
            with self.subTest(most=most):
                await self.kill_a_server(most)
        self.assertEqual(mounts(), before)

    async def kill_a_server(self, most: str) -> None:
        mark = f"4243.{os.getpid()}"
        self.home.chmod(0o711)
        script = (
            "import asyncio, sys\nfrom pathlib import Path\n"
            "from server.tools.runner import Job, ToolRunner\n"
            "async def main():\n"
            f"    runner = ToolRunner(Path({str(self.home)!r}))\n"
            f"    await runner.open({OPTIONS!r}, {most!r})\n"
            "    async def one(name):\n"
            f"        command = 'echo x > file; setsid sleep {mark} & echo x; sleep {mark}'\n"
            f"        job = Job({SHELL!r}, {{'command': command}}, name, {LIMITS!r})\n"
            "        pid = runner.pool.pid if runner.pool else 0\n"
            "        await runner.run(job, lambda _: print(pid, flush=True))\n"
            f"    await asyncio.gather(*map(one, {[f's{n}' for n in range(CALLS)]!r}))\n"
            "asyncio.run(main())\n"
        )
        server = subprocess.Popen(
            [sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        try:
            assert server.stdout is not None
            for _ in range(CALLS):
                zygote = int(await asyncio.to_thread(server.stdout.readline))
            if zygote == 0:
                self.skipTest(f"tier {most} does not exist here")
            # One that becomes another program has no command line for a moment.
            self.assertTrue(
                until(lambda: len(with_words(mark)) >= 2 * CALLS, patience.seconds(WAIT_S))
            )
            workers = born({zygote})
            server.send_signal(signal.SIGKILL)
            self.assertTrue(await asyncio.to_thread(none_left, mark))
            self.assertTrue(until(lambda: not left(workers), patience.seconds(WAIT_S)))
            names = sorted(path.name for path in self.home.iterdir())
            self.assertEqual(names, ["objects", "skill_files", "workspace_state", "workspaces"])
            files = [path.name for path in self.home.glob("workspaces/*/*")]
            self.assertEqual(files, ["file"] * CALLS)
        finally:
            server.kill()
            server.wait()
            assert server.stdout is not None
            server.stdout.close()


if __name__ == "__main__":
    unittest.main()


class Orphans(Sandboxed):
    async def test_a_worker_whose_zygote_ended_meanwhile_ends(self) -> None:
        if self.runner.sandbox["tier"] != "A":
            self.skipTest("only in tier A does a worker change its parent")
        command = [sys.executable, "-c", ORPHAN.format(run_as=OPTIONS["run_as"])]
        said = await asyncio.to_thread(
            subprocess.run, command, cwd=ROOT, capture_output=True, text=True, check=True
        )
        self.assertEqual(said.stdout, "b''\n", said.stderr)
