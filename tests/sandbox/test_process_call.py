"""What a call in a worker learns of its supervisor's end, with sockets in the worker's place."""

from __future__ import annotations

import asyncio
import json
import os
import select
import socket
import tempfile
import unittest

from server.lib.sandbox.network_policy import NetworkPolicy
from server.lib.sandbox.policy import WORKSPACE, Mount, SandboxPolicy
from server.lib.sandbox.process import Job, Outcome, SandboxedProcess, write_all
from server.lib.sandbox.process_call import ProcessCall
from server.lib.sandbox.worker_pool import WorkerPool

from ..tooling import patience
from ..tools.test_runner import LIMITS, SHELL, WAIT_S, open_files

FAILED = b'{"failed": "unshare: Operation not permitted"}\n'
TAKEN = b'{"taken": true}\n'
END = json.dumps({"end": {"code": 3, "cpu_ms": 7}}).encode() + b"\n"


class OnePool(WorkerPool):
    """A pool of one worker, which is this socket."""

    def __init__(self, worker: socket.socket) -> None:
        super().__init__(SandboxPolicy("A"))
        self.worker = worker

    def take(self, network: str | None = None) -> socket.socket:
        return self.worker


class Requests(unittest.TestCase):
    def test_a_process_that_has_ended_is_passed_over(self) -> None:
        """Its pipe is broken, or closed by then, while a thread is to write."""
        for is_closed in (False, True):
            for last in (False, True):
                with self.subTest(is_closed=is_closed, last=last):
                    read, write = os.pipe()
                    os.close(read)
                    with os.fdopen(write, "wb", buffering=0) as pipe:
                        if is_closed:
                            pipe.close()
                        write_all(pipe, b"x", last=last)


class Supervisor(unittest.IsolatedAsyncioTestCase):
    async def outcome(self, words: list[bytes], *, unread: bool) -> Outcome:
        """Of a call whose supervisor says this and leaves, with the call unread or read."""
        ours, theirs = socket.socketpair()

        def supervise() -> None:
            with theirs:
                if unread:
                    select.select([theirs], [], [], patience.seconds(WAIT_S))
                else:
                    size = int.from_bytes(theirs.recv(8), "big")
                    theirs.recv(size, socket.MSG_WAITALL)
                for each in words:
                    theirs.sendall(each)

        with tempfile.TemporaryDirectory() as folder:
            leaving = asyncio.ensure_future(asyncio.to_thread(supervise))
            job = Job(SHELL, {"command": "true"}, "s", LIMITS)
            process = SandboxedProcess(
                job, (Mount(WORKSPACE, folder),), None, OnePool(ours), NetworkPolicy()
            )
            await process.start()
            await leaving  # whatever comes first on the way here, nothing of it is lost
            for _ in range(5):
                await asyncio.sleep(0)
            found = await ProcessCall(job, process).run(bool)
            process.kill()
            return found

    async def test_its_last_word_is_heard(self) -> None:
        none = "the sandbox's worker ended before the call began; nothing was run"
        failed = "the sandbox could not be made: unshare: Operation not permitted"
        ended = "the tool's process ended without a result (exit 3)"
        for words, unread, status, message in (
            ([FAILED], True, "sandbox_unavailable", failed),
            ([FAILED], False, "sandbox_unavailable", failed),
            ([bytes([byte]) for byte in FAILED], True, "sandbox_unavailable", failed),
            ([], True, "error", none),
            ([b"no JSON\n", FAILED[:-1]], True, "error", none),
            ([TAKEN], False, "error", "the tool's process ended without a result (exit unknown)"),
            ([TAKEN, END], False, "error", ended),
            ([*(bytes([byte]) for byte in TAKEN + END)], False, "error", ended),
        ):
            with self.subTest(words=words, unread=unread):
                found = await self.outcome(words, unread=unread)
                self.assertEqual((found.status, found.error["message"]), (status, message))
                self.assertEqual(found.usage.get("cpu_ms", 0), 7 if message == ended else 0)

    async def test_one_that_is_given_up_as_it_begins_leaves_nothing_open(self) -> None:
        before = open_files()
        job = Job(SHELL, {"command": "true"}, "s", LIMITS)
        with tempfile.TemporaryDirectory() as folder:
            for turns in range(1, 9):  # what is awaited has begun
                ours, theirs = socket.socketpair()
                process = SandboxedProcess(
                    job, (Mount(WORKSPACE, folder),), None, OnePool(ours), NetworkPolicy()
                )
                task = asyncio.create_task(process.start())
                for _ in range(turns):
                    await asyncio.sleep(0)
                task.cancel()
                (failure,) = await asyncio.gather(task, return_exceptions=True)
                if failure is None:
                    process.kill()
                theirs.close()
        for _ in range(20):  # transports close in their own time
            await asyncio.sleep(0)
        self.assertLessEqual(open_files(), before)


if __name__ == "__main__":
    unittest.main()
