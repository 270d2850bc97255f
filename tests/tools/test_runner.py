"""Real child processes: each promise of the runner, and what it does about each kind of trouble."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

from server.lib.runtime.accounts import Accounts, Rules
from server.lib.sandbox.package import Package
from server.lib.sandbox.policy import SandboxPolicy
from server.lib.sandbox.process import CHUNK
from server.lib.sandbox.worker_pool import WorkerPool
from server.lib.strict_json import dumps
from server.tools.result import envelope
from server.tools.runner import Job, Outcome, ToolRunner

from ..chaos.processes import until
from ..tooling import patience, turns

LIMITS: dict[str, float] = {
    "wall_s": 200,  # of the machine at its slowest: tests of this limit have their own
    "cpu_s": 20,
    "memory_mb": 400,
    "file_mb": 8,
    "output_kb": 64,
    "processes": 24,
    "open_files": 64,
}
SHELL = ("module", "server.tools.builtin.shell", "shell")
PYTHON = ("module", "server.tools.builtin.shell", "python")
ROOT = Path(__file__).resolve().parents[2]
WAIT_S = 10


def alive(pid: int) -> bool:
    """Whether a process is there and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def gone(pid: int) -> bool:
    """Wait, with an end, until a process is gone."""
    return until(lambda: not alive(pid), patience.seconds(WAIT_S))


def empty(folder: Path) -> bool:
    """Wait, with an end, until no process has this working folder."""

    def is_empty() -> bool:
        return folder not in map(working_folder, Path("/proc").glob("[0-9]*"))

    return until(is_empty, patience.seconds(WAIT_S))


def working_folder(process: Path) -> Path | None:
    try:
        return (process / "cwd").readlink()
    except OSError:
        return None


def open_files() -> int:
    return len([*Path("/proc/self/fd").iterdir()])


class Case(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.home = Path(holder.name)
        self.runner = ToolRunner(self.home)

    async def run_tool(
        self, where: tuple[str, str, str], args: dict[str, Any], **limits: float
    ) -> Outcome:
        self.output = ""
        job = Job(where, args, "s1", {**LIMITS, **limits})
        return await self.runner.run(job, self.print)

    def print(self, text: str) -> None:
        self.output += text

    async def begun(self, job: Job) -> asyncio.Task[Outcome]:
        """The call, once it has printed something."""
        self.output, printed = "", asyncio.Event()

        def emit(text: str) -> None:
            self.print(text)
            printed.set()

        call = asyncio.create_task(self.runner.run(job, emit))
        call.add_done_callback(lambda _: printed.set())
        await printed.wait()
        self.assertFalse(call.done())
        return call

    async def cut(self, job: Job) -> None:
        """A call that nobody wants any more once it has printed something."""
        call = await self.begun(job)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)

    async def shell(self, command: str, **limits: float) -> Outcome:
        return await self.run_tool(SHELL, {"command": command}, **limits)

    def owned(self, source: str) -> str:
        path = self.home / "tool.py"
        path.write_text(source)
        return str(path)


class Folders(Case):
    def test_whose_they_are(self) -> None:
        """The empty owner's are named as they were before keys had owners."""
        known = hashlib.sha256(b"s1").hexdigest()[:32]
        self.assertEqual(self.runner.folder("s1"), self.home.resolve() / "workspaces" / known)
        pairs = [
            *(("", "s1"), ("ann", "s1"), ("bob", "s1"), ("ann", "s2"), ("ann", ""), ("a", "nns1")),
            *(
                ("anns1", ""),
                ("", "anns1"),
                ("", "ann\xffs1"),
                ("ann\xff", "s1"),
                ("ann", "\xffs1"),
            ),
            *(("\ud800", "s1"), ("ann", "\ud800"), ("ann", "\udcff" + "s1"), ("", "ann\udcffs1")),
        ]
        names = {self.runner.folder(session_id, owner).name for owner, session_id in pairs}
        self.assertEqual(len(names), len(pairs))
        self.assertTrue(all(re.fullmatch(r"[0-9a-f]{32}", name) for name in names))

    async def test_a_call_runs_in_that_of_its_owner(self) -> None:
        for owner in ("", "ann", "bob"):
            job = Job(SHELL, {"command": "ls; touch here"}, "s1", LIMITS, owner=owner)
            await self.runner.run(job, self.fail)
            self.assertTrue((self.runner.folder("s1", owner) / "here").exists())

    async def test_a_call_of_the_servers_own_has_a_fresh_one(self) -> None:
        for command in ("ls; mkdir a; touch a/b; ln -s /etc c", "exit 3", "sleep 60"):
            job = Job(SHELL, {"command": command}, None, {**LIMITS, "wall_s": 1})
            await self.runner.run(job, self.fail)
            self.assertEqual(list(self.runner.workspaces.iterdir()), [])


class Priorities(Case):
    async def test_calls_at_once_of_one_person_stand_back(self) -> None:
        """The processor goes to whoever has fewer calls: the second of a person is behind."""
        self.runner = ToolRunner(self.home, accounts=Accounts(Rules({}, people=2)))
        said: list[str] = []
        with self.runner.accounts.call("ann"):
            for owner in ("ann", "bob"):
                job = Job(SHELL, {"command": "nice"}, "s1", LIMITS, owner=owner)
                await self.runner.run(job, said.append)
        own = os.nice(0)
        self.assertEqual(said, [f"{min(19, own + 6)}\n", f"{own}\n"])
        self.assertEqual(self.runner.accounts.pools["calls"].total, 0)


class Starts(Case):
    async def test_one_that_is_given_up_leaves_nothing(self) -> None:
        """A person stops a run in the very moment in which a call begins: it must not go on for
        nobody, and what would end it must not stay open."""
        await self.shell("true")  # what is opened once is open
        before = open_files()
        for rounds in range(8):
            source = self.runner.run(Job(SHELL, {"command": "sleep 60"}, "s1", LIMITS))
            task = asyncio.create_task(source)
            for _ in range(rounds):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        deadline = time.monotonic() + patience.seconds(WAIT_S)
        while open_files() > before and time.monotonic() < deadline:
            await asyncio.sleep(0.005)
        self.assertLessEqual(open_files(), before)
        self.assertTrue(empty(self.runner.folder("s1")))


class Packages(Case):
    async def test_the_processes_of_a_package_end_with_the_runner(self) -> None:
        class Proven(ToolRunner):
            async def _attempt(self, *_: Any) -> Any:
                return {"works": {}, "escapes": {}}

        runner, package = Proven(self.home, WorkerPool(SandboxPolicy("C"))), Package("kit")
        self.assertEqual(await runner.admit(package), "")
        assert package.pool is not None
        ends: list[str] = []
        package.pool.close = lambda: ends.append("kit")  # type: ignore[method-assign]
        runner.close()
        self.assertEqual(ends, ["kit"])


@turns.tests(2)
class Results(Case):
    async def test_a_command(self) -> None:
        found = await self.shell("echo out; echo err >&2; printf 'é世'; exit 3")
        self.assertEqual(found.status, "ok")
        self.assertEqual(found.result["exit_code"], 3)
        self.assertEqual(sorted(found.result["output"].split("\n")), ["err", "out", "é世"])
        self.assertIn("out", self.output)
        self.assertGreater(found.usage["wall_ms"], 0)

    async def test_output_that_is_not_text(self) -> None:
        found = await self.shell(r"printf 'a\377\000b'")
        self.assertEqual(found.result["output"], "a\ufffd\0b")

    async def test_the_folder_is_the_sessions_own(self) -> None:
        await self.shell("echo kept > file")
        self.assertEqual((await self.shell("cat file; pwd")).result["output"].split()[0], "kept")
        self.assertEqual(self.runner.folder("s1").stat().st_mode & 0o777, 0o700)
        os.utime(self.runner.folder("s1"), (0, 0))
        await self.shell("cat file")
        self.assertGreater(self.runner.folder("s1").stat().st_mtime, 0, "when it was last used")
        for session_id in ("../../x", "/etc", "a\0b", "\ud800", "x" * 5000):
            folder = self.runner.folder(session_id)
            self.assertEqual(folder.parent, self.home / "workspaces")
            self.assertRegex(folder.name, r"^[0-9a-f]{32}$")

    async def test_nothing_of_the_servers_environment(self) -> None:
        os.environ["YAA_TEST_SECRET"] = "canary-7"
        try:
            found = await self.shell("env; cat /proc/self/environ")
        finally:
            del os.environ["YAA_TEST_SECRET"]
        self.assertNotIn("canary-7", found.result["output"])

    async def test_the_time_zone_is_the_servers(self) -> None:
        path = self.owned(
            "import time\nfrom yaa import tool\n"
            "@tool\ndef zone() -> str: return time.strftime('%Z')\n"
        )
        before = os.environ.get("TZ")
        os.environ["TZ"] = "EST5"
        try:
            found = await self.run_tool(("file", path, "zone"), {})
            said = await self.shell("date +%Z")
        finally:
            del os.environ["TZ"]
            if before is not None:
                os.environ["TZ"] = before
        self.assertEqual((found.result, said.result["output"]), ("EST", "EST\n"))

    async def test_what_is_left_in_the_background_may_talk_on(self) -> None:
        for talk in ("echo on; sleep 0.02", "echo on"):
            with self.subTest(talk):
                command = f"echo said; (while :; do {talk}; done) &"
                found = await self.shell(command, output_kb=10_000)
                self.assertEqual(found.status, "ok", found)
                self.assertTrue(found.result["output"].startswith("said\n"))

    async def test_files_that_their_owner_has_closed(self) -> None:
        found = await self.shell("echo done; echo x > f; chmod 000 f; exit 3")
        self.assertEqual(found.result, {"exit_code": 3, "output": "done\n"})
        where = ("module", "server.tools.builtin.files", "write_file")
        written = await self.run_tool(where, {"path": "f", "content": "new"})
        self.assertEqual((written.status, written.attachments[0]["bytes"]), ("ok", 3))

    async def test_a_folder_that_a_tool_has_closed(self) -> None:
        await self.shell("chmod 000 .")
        self.assertEqual((await self.shell("echo back")).result["output"], "back\n")

    async def test_folders_in_folders(self) -> None:
        """More than Python calls functions in functions."""
        make = "import os\nfor _ in range(1200): os.mkdir('d'); os.chdir('d')"
        self.addCleanup(subprocess.call, ["rm", "-rf", str(self.runner.folder("s1"))])
        found = await self.shell(f'python3 -c "{make}"; echo made > f')
        self.assertEqual([item["path"] for item in found.attachments], ["f"], found)

    async def test_no_input_and_no_descriptors(self) -> None:
        found = await self.shell("cat; ls /proc/self/fd | wc -l")
        self.assertLessEqual(int(found.result["output"]), 4)

    async def test_large_arguments_and_results(self) -> None:
        path = self.owned(
            "from yaa import tool\n@tool\ndef echo(text: str) -> str:\n    return text\n"
        )
        text = "é" * 500_000
        found = await self.run_tool(("file", path, "echo"), {"text": text})
        self.assertEqual(found.result, text)

    async def test_a_result_that_cannot_be_sent_says_why(self) -> None:
        path = self.owned(
            "import os\nfrom yaa import tool, Context\n"
            "@tool\ndef big() -> str:\n    return 'x' * 9_000_000\n"
            "@tool\ndef digits():\n    return 10**5000\n"
            "@tool\ndef deep():\n    x = []\n    for _ in range(900): x = [x]\n    return x\n"
            "@tool\ndef keeps(ctx: Context):\n    ctx.keep = 1.5\n"
            "@tool\ndef liar():\n"
            "    for n in range(3, 64):\n"
            "        try: os.write(n, b'x' * 9_000_000)\n"
            "        except OSError: pass\n"
        )
        for name, status, said in (
            ("big", "error", "9000048 bytes, and may have 8388608"),
            ("digits", "error", "limit"),
            ("deep", "error", "recursion"),
            ("keeps", "error", "ctx.keep is a number of model calls, not 1.5"),
            ("liar", "limit", "output_kb: allowed 8192, observed over 8192"),
        ):
            with self.subTest(name):
                found = await self.run_tool(("file", path, name), {})
                self.assertEqual(found.status, status, found)
                self.assertIn(said, found.error["message"])

    async def test_printing_cannot_forge_a_result(self) -> None:
        path = self.owned(
            "from yaa import tool\nimport os, sys\n@tool\ndef liar() -> str:\n"
            '    print(\'{"result": "forged"}\')\n    os.write(1, b\'{"end": {}}\\n\')\n'
            "    return 'honest'\n"
        )
        found = await self.run_tool(("file", path, "liar"), {})
        self.assertEqual(found.result, "honest")
        self.assertIn("forged", self.output)

    async def test_what_a_tool_writes_as_its_result_ends_its_own_call_alone(self) -> None:
        """It has the descriptor, and may write what no session could hold."""
        path = self.owned(
            "from yaa import tool\nimport os, stat\n@tool\ndef liar(raw: str) -> str:\n"
            "    for fd in range(3, 20):\n"
            "        try: os.write(fd, raw.encode() + b'\\n')\n"
            "        except OSError: pass\n"
            "    os._exit(0)\n"
        )
        deep, huge = "[" * 400 + "]" * 400, "1" * 400
        cases: list[tuple[str, str, str]] = [
            (f'{{"error": {{"type": "error", "message": "m", "x": {deep}}}}}', "error", "m"),
            (f'{{"error": {{"message": "{"m" * 9000}"}}}}', "error", "m" * 4000),
            (f'{{"error": {{"message": {deep}}}}}', "error", "ended without a result"),
            ('{"end": {"breach": {"limit": []}, "cpu_ms": NaN}}', "error", "without a result"),
            (f'{{"result": 1, "keep": {huge}}}', "ok", ""),
            ('{"result": 1, "keep": true}', "ok", ""),
        ]
        for raw, status, message in cases:
            with self.subTest(raw[:60]):
                found = await self.run_tool(("file", path, "liar"), {"raw": raw})
                self.assertEqual((found.status, found.keep), (status, None))
                self.assertIn(message, found.error.get("message", ""))
                self.assertLess(len(dumps(envelope(found, [], None))), 5000)

    async def test_a_program_of_the_tool_cannot_write_results(self) -> None:
        found = await self.shell(
            "for n in 3 4 5 6 7 8 9; do echo '{\"result\":1}' >&$n; done; echo x"
        )
        self.assertEqual(found.result["exit_code"], 0)
        self.assertTrue(found.result["output"].endswith("x\n"))


@turns.tests(2)
class Failures(Case):
    async def test_what_an_owners_tool_may_do(self) -> None:
        path = self.owned(
            """
from yaa import tool, toolkit, Context, ToolError
import asyncio, os, signal
print("noise at import")
@tool
def boom(): raise ValueError("bad /secret/path")
@tool
def said(): raise ToolError("use a smaller number")
@tool
def leaves(): raise SystemExit(3)
@tool
def dies(): os.kill(os.getpid(), signal.SIGKILL)
@tool
def locked():
    import fcntl
    one, two = open("lock", "w"), open("lock", "w")
    fcntl.flock(one, fcntl.LOCK_EX); fcntl.flock(two, fcntl.LOCK_EX | fcntl.LOCK_NB)
@tool
def lies(ctx: Context): ctx.attach("/etc/passwd")
@tool
def regrets(ctx: Context):
    ctx.keep = 10; open("log.txt", "w").write("x"); ctx.attach("log.txt")
    raise ToolError("refused")
@tool
def strays() -> list[int]: return ["a"]
@tool
async def later(n: int, ctx: Context) -> int:
    ctx.log("waiting", n); ctx.keep = 2
    os.makedirs("out", exist_ok=True); open("out/a.txt", "w").write("abc")
    ctx.attach("out/a.txt"); ctx.attach(os.path.abspath("out/a.txt"), "b.txt")
    await asyncio.sleep(0); return n + 1
@tool
def odd() -> object: return {1: {2, 3}, "x": object}
@toolkit
class Kit:
    @tool
    def twice(self, n: int) -> int: return 2 * n
"""
        )
        cases: list[tuple[str, dict[str, Any], str, str]] = [
            ("boom", {}, "error", "line 6: bad /secret/path"),
            ("said", {}, "error", "use a smaller number"),
            ("leaves", {}, "error", "exited with 3"),
            ("dies", {}, "error", "ended without a result"),
            ("locked", {}, "error", "temporarily unavailable"),
            ("lies", {}, "error", "outside of the session's folder"),
            ("gone", {}, "error", "no longer has a tool"),
        ]
        for name, args, status, message in cases:
            with self.subTest(name):
                found = await self.run_tool(("file", path, name), args)
                self.assertEqual(found.status, status)
                self.assertIn(message, found.error["message"])
                self.assertNotIn("Traceback", str(found.error))
        found = await self.run_tool(("file", path, "later"), {"n": "4"})
        self.assertEqual((found.result, found.keep, found.logs), (5, 2, ("waiting 4",)))
        about = {"path": "out/a.txt", "name": "b.txt", "media_type": "text/plain", "bytes": 3}
        self.assertEqual(found.attachments, (about,), "the last name counts")
        self.assertIn("noise at import", self.output)
        failed = await self.run_tool(("file", path, "regrets"), {})
        self.assertEqual((failed.status, failed.keep), ("error", 10))
        self.assertEqual([item["path"] for item in failed.attachments], ["log.txt"])
        strays = await self.run_tool(("file", path, "strays"), {})
        self.assertEqual(strays.result, ["a"], "an annotation informs, and refuses nothing")
        self.assertIn("annotation says: /0: expected integer", strays.logs[0])
        self.assertEqual((await self.run_tool(("file", path, "Kit_twice"), {"n": 4})).result, 8)
        wrong = await self.run_tool(("file", path, "later"), {"n": "x"})
        self.assertIn("expected integer", wrong.error["message"])

    async def test_broken_files_say_what_is_wrong(self) -> None:
        cases = [
            ("\nimport nothing_here", "line 2: .*nothing_here"),
            ("def f(:", r"line 1\)$"),
            ("raise RuntimeError('no')", "^line 1: no$"),
            ("def f():\n  raise KeyError\nclass A:\n  x = f()", "^line 2: $"),
            ("raise KeyboardInterrupt", "^line 1: $"),
        ]
        for source, message in cases:
            with self.subTest(source):
                found = await self.run_tool(("describe", self.owned(source), ""), {})
                self.assertEqual(found.status, "error")
                self.assertRegex(found.error["message"], message)
        path = self.home / "tool.py"
        for data in (b"x = '\xe9'", b"# coding: nothing\n"):
            path.write_bytes(data)
            found = await self.run_tool(("describe", str(path), ""), {})
            self.assertEqual(found.status, "error")
            self.assertRegex(found.error["message"], "decode|encoding")
        source = "from yaa import tool\n@tool\ndef f(*args): ...\n@tool\ndef g() -> None: ..."
        found = await self.run_tool(("describe", self.owned(source), ""), {})
        bad, good = found.result  # one bad function costs its file no other
        self.assertIn("args", bad["problem"])
        self.assertEqual((bad["name"], good["name"]), ("f", "g"))

    @unittest.skipUnless(sys.platform == "linux", "needs /proc")
    async def test_a_call_that_finds_no_descriptors_leaves_none_open(self) -> None:
        """They are short already, and would be for ever."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        await self.shell("true")
        before = open_files()
        resource.setrlimit(resource.RLIMIT_NOFILE, (before + 50, hard))
        failed = 0
        try:
            for free in range(8):
                held: list[int] = []
                with contextlib.suppress(OSError):
                    while True:
                        held.append(os.open("/dev/null", os.O_RDONLY))
                for _ in range(free):
                    os.close(held.pop())
                found = await self.shell("true")
                failed += found.status == "error"
                for each in held:
                    os.close(each)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        self.assertGreaterEqual(failed, 4)
        ends = time.monotonic() + patience.seconds(WAIT_S)
        while open_files() > before and time.monotonic() < ends:  # pipes close in their own time
            await asyncio.sleep(0.005)
        self.assertLessEqual(open_files(), before)


@turns.tests(2)
class Breaches(Case):
    """Every limit: its name, what it allows, what was seen."""

    async def breach(self, command: str, limit: str, allowed: float) -> Outcome:
        found = await self.shell(command, **{limit: allowed})
        self.assertEqual(found.status, "timeout" if limit == "wall_s" else "limit", found)
        details = found.error["details"]
        self.assertEqual((details["limit"], details["allowed"]), (limit, allowed))
        self.assertIn(limit, found.error["message"])
        self.assertTrue(details["observed"])
        return found

    async def test_wall(self) -> None:
        await self.breach("sleep 60", "wall_s", 0.3)

    async def test_wall_when_signals_are_ignored(self) -> None:
        await self.breach("trap '' TERM INT HUP; while :; do sleep 0.05; done", "wall_s", 0.5)

    async def test_memory(self) -> None:
        hungry = f"{sys.executable} -c 'x = bytearray(10**9); x[::4096] = x[::4096]; input()'"
        await self.breach(f"{hungry}; sleep 5", "memory_mb", 100)

    async def test_a_command_goes_on_beyond_the_limit_of_output(self) -> None:
        """Its exit code and end are there, and what it did; only so much is shown meanwhile."""
        command = "yes | head -c 3000000; touch made; echo end; exit 3"
        job = Job(SHELL, {"command": command}, "s1", {**LIMITS, "output_kb": 32})
        self.output = ""
        done = await self.runner.run(job, self.print)
        self.assertEqual((done.status, done.result["exit_code"]), ("ok", 3), done)
        self.assertTrue(done.result["output"].endswith("y\nend\n"))
        self.assertEqual(done.result["output_dropped"], 3_000_004 - 48_000)
        self.assertEqual([item["path"] for item in done.attachments], ["made"])
        self.assertLessEqual(len(self.output), 32 * 1024)
        self.assertIn("more than output_kb allows", self.output)

    async def test_output_of_a_tool_beyond_the_limit_is_not_read(self) -> None:
        """Nor is the call given its moment to end: what it says can have no reader."""
        path = self.owned("from yaa import tool\n@tool\ndef talk():\n    while 1: print('y')\n")
        job = Job(("file", path, "talk"), {}, "s1", {**LIMITS, "output_kb": 32})
        self.output = ""
        self.assertEqual((await self.runner.run(job, self.print)).status, "limit")
        self.assertLessEqual(len(self.output), 32 * 1024 + CHUNK)

    async def test_processes(self) -> None:
        await self.breach("for i in $(seq 40); do sleep 30 & done; wait", "processes", 12)

    async def test_a_fork_bomb(self) -> None:
        """One that ends by itself at 127, since the kernel would not stop one of root's."""
        bomb = "bomb() { [ $1 = 0 ] || { bomb $(($1 - 1)) & bomb $(($1 - 1)) & }; sleep 20; }; "
        found = await self.shell(f"{bomb} bomb 6", processes=16)
        self.assertEqual(found.status, "limit")
        folder = self.runner.folder("s1")
        self.assertTrue(await asyncio.to_thread(empty, folder))

    async def test_those_that_have_ended_are_no_crowd(self) -> None:
        """They are counted at first, and the call waits for that; then it goes on."""
        code = (
            "import os, time\n"
            "for _ in range(50):\n"
            "    if not (child := os.fork()): os._exit(0)\n"
            "    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)\n"  # it has, and is there
            "time.sleep(0.3)\n"
            "print('done')\n"
        )
        found = await self.run_tool(PYTHON, {"code": code}, processes=24)
        self.assertEqual(found.result, {"exit_code": 0, "output": "done\n"}, found)

    async def test_processor_time(self) -> None:
        path = self.owned("from yaa import tool\n@tool\ndef spin():\n    while True: pass\n")
        found = await self.run_tool(("file", path, "spin"), {}, cpu_s=1)
        self.assertEqual(found.error["details"]["limit"], "cpu_s")

    async def test_file_size(self) -> None:
        path = self.owned(
            "from yaa import tool\n@tool\ndef fill():\n"
            "    open('big', 'wb').write(b'x' * 3_000_000)\n"
        )
        found = await self.run_tool(("file", path, "fill"), {}, file_mb=1)
        self.assertEqual(found.error["details"]["limit"], "file_mb")

    async def test_a_built_in_tool_at_a_limit(self) -> None:
        where = ("module", "server.tools.builtin.files", "write_file")
        found = await self.run_tool(where, {"path": "f", "content": "x" * 3_000_000}, file_mb=1)
        self.assertEqual(found.error.get("details", {}).get("limit"), "file_mb", found)
        self.assertEqual((await self.shell("ls -A")).result["output"], "")

    async def test_processes_of_a_tool(self) -> None:
        for start in ("os.fork()", "os.posix_spawn('/bin/true', ['true'], {})"):
            path = self.owned(
                "import os, resource\nfrom yaa import tool\n@tool\ndef forks():\n"
                "    os.setresuid(65534, 65534, 65534) if os.getuid() == 0 else None\n"
                "    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))\n"
                f"    {start}\n"
            )
            found = await self.run_tool(("file", path, "forks"), {})
            with self.subTest(start):
                self.assertEqual(found.error.get("details", {}).get("limit"), "processes", found)

    async def test_open_files(self) -> None:
        path = self.owned(
            "from yaa import tool\n@tool\ndef hoard():\n"
            "    x = [open('/dev/null') for _ in range(99)]\n"
        )
        found = await self.run_tool(("file", path, "hoard"), {}, open_files=32)
        self.assertEqual(found.error["details"]["limit"], "open_files")


PATIENT = """
import os, time
from yaa import tool, Context

@tool
def tidy(ctx: Context) -> None:
    print("started", flush=True)
    while not ctx.cancelled:
        time.sleep(0.01)
    open("tidied", "w").write("yes")

@tool
async def tidy_async(ctx: Context) -> None:
    await __import__("asyncio").to_thread(print, "started", flush=True)
    while not ctx.cancelled:
        await __import__("asyncio").sleep(0.01)
    open("tidied", "w").write("yes")

@tool
def deaf(ctx: Context) -> None:
    open("beat", "w").close()
    print("started", flush=True)
    while True:
        open("beat", "a").write(".")
        time.sleep(0.01)

@tool
def unaware() -> None:
    time.sleep(300)
"""


@turns.tests(2)
class Cancelled(Case):
    """`ctx.cancelled`: a call that is being ended has a moment, if it looks."""

    async def tidied(self) -> str:
        found = await self.shell("until [ -e tidied ]; do sleep 0.02; done; cat tidied; rm tidied")
        return str(found.result["output"])

    async def test_at_its_deadline(self) -> None:
        path = self.owned(PATIENT)
        for name in ("tidy", "tidy_async"):
            with self.subTest(name):
                found = await self.run_tool(("file", path, name), {}, wall_s=patience.seconds(3))
                self.assertEqual(found.error["details"]["limit"], "wall_s")
                self.assertEqual(await self.tidied(), "yes")

    async def test_when_nobody_listens(self) -> None:
        job = Job(("file", self.owned(PATIENT), "tidy"), {}, "s1", LIMITS)
        await self.cut(job)
        self.assertEqual(self.output, "started\n")
        self.assertEqual(await self.tidied(), "yes")

    async def test_nobody_lives_on_by_not_looking(self) -> None:
        job = Job(("file", self.owned(PATIENT), "deaf"), {}, "s1", LIMITS)
        await self.cut(job)
        stops = 'until a=$(wc -c <beat); sleep 0.5; [ "$a" = "$(wc -c <beat)" ]; do :; done'
        found = await self.shell(stops)
        self.assertEqual(found.status, "ok", found)

    async def test_whoever_does_not_look_ends_all_the_same(self) -> None:
        path = self.owned(PATIENT)
        for name, most in (("deaf", 5), ("unaware", 2)):
            with self.subTest(name):
                found = await self.run_tool(("file", path, name), {}, wall_s=0.3)
                self.assertEqual(found.status, "timeout")
                self.assertLess(found.usage["wall_ms"], patience.seconds(most) * 1000)


@unittest.skipUnless(sys.platform == "linux", "needs /proc")
class NothingStays(Case):
    async def pids(self, command: str) -> tuple[Outcome, list[int]]:
        found = await self.shell(command)
        return found, [int(word) for word in self.output.split() if word.isdigit()]

    async def test_background_and_detached_processes_end_with_the_call(self) -> None:
        found, pids = await self.pids(
            "sleep 300 & echo $!; setsid sh -c 'echo $$ > one; exec sleep 300' & "
            "(setsid sh -c 'echo $$ > two; exec sleep 300' &) ; "
            "until [ -s one ] && [ -s two ]; do sleep 0.02; done; cat one two"
        )
        self.assertEqual(found.status, "ok")
        self.assertEqual(len(pids), 3)
        for pid in pids:
            self.assertTrue(gone(pid), f"{pid} is still there")

    async def test_closing_the_run_kills_it(self) -> None:
        job = Job(SHELL, {"command": "setsid sleep 300 & echo $!; sleep 300"}, "s1", LIMITS)
        await self.cut(job)
        pid = int(self.output.split()[0])
        self.assertTrue(await asyncio.to_thread(gone, pid))

    async def test_a_server_that_is_killed_takes_its_tools_along(self) -> None:
        script = (
            "import asyncio, sys\nfrom pathlib import Path\n"
            "from server.tools.runner import Job, ToolRunner\n"
            "async def main():\n"
            f"    job = Job({SHELL!r}, {{'command': 'setsid sleep 300 & echo $!; sleep 300'}},"
            f" 's', {LIMITS!r})\n"
            f"    runner = ToolRunner(Path({str(self.home)!r}))\n"
            "    await runner.run(job, lambda text: print(text, flush=True))\n"
            "asyncio.run(main())\n"
        )
        server = subprocess.Popen(
            [sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        try:
            assert server.stdout is not None
            pid = int(await asyncio.to_thread(server.stdout.readline))
            self.assertTrue(alive(pid))
            server.send_signal(signal.SIGKILL)
            self.assertTrue(await asyncio.to_thread(gone, pid))
        finally:
            server.kill()
            server.wait()
            assert server.stdout is not None
            server.stdout.close()


if __name__ == "__main__":
    unittest.main()
