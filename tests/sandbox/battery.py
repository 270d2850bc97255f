"""`python -m tests.sandbox.battery TIER`: a server with things to protect, every attempt of
attacks.py against it, and ordinary work. Prints one JSON object. A program of its own, so that it
can be run as another user.

Tier `none` is the control: plain children and a server that does not protect itself. An attempt
that gets through there is one that a sandbox has to stop, and counts; one that does not says
nothing on this machine, whatever a sandbox does about it. Its attempts are forks of this process,
which has loaded them once; what people do all day runs as a server without a sandbox runs it."""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import resource
import shutil
import socket
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from server.lib.sandbox import child
from server.lib.sandbox.probe import closed_to_others
from server.tools import child_calls, user_tools
from server.tools.runner import Job, Outcome, ToolRunner

LIMITS: dict[str, float] = {
    "wall_s": 200,  # of the machine at its slowest
    "cpu_s": 20,
    "memory_mb": 512,
    "file_mb": 64,
    "disk_mb": 256,
    "output_kb": 256,
    "processes": 64,
    "open_files": 256,
}
SHELL = ("module", "server.tools.builtin.shell", "shell")
ATTACKS = Path(__file__).with_name("attacks.py")
WORD = "yaa-canary-7c1e"
LIBC = ctypes.CDLL(None)
SEGMENT = 0x79000000 | os.getpid() & 0xFFFFFF  # the key of a piece of System V memory

# What people do all day: name → (program it needs, command that must succeed).
CONTROLS = {
    "pipe": ("sh", "seq 100 | sort -r | head -n 1 | grep -q 99"),
    "heredoc": ("sh", "cat <<X | grep -q text\ntext\nX"),
    "substitution": ("bash", "bash -c 'diff <(echo a) <(echo a)'"),
    "background": ("sh", "sleep 0.01 & wait $!"),
    # A tool's own doing, which the next call has to be able to mend.
    "a file in the place of a folder": ("sh", "rm -rf ~/.tmp; echo x > ~/.tmp"),
    "a file that is taken away": ("sh", "rm -f ~/.tmp"),
    "mktemp": ("mktemp", "f=$(mktemp) && echo x > $f && rm $f"),
    "ps": ("ps", "ps -e | grep -q sh"),
    "tar": ("tar", "mkdir -p t && echo x > t/a && tar czf t.tgz t && tar tzf t.tgz | grep -q t/a"),
    "git": (
        "git",
        "git init -q r && cd r && echo x > a && git add a &&"
        " git -c user.name=x -c user.email=x@y commit -qm m && git log | grep -q m",
    ),
    "gcc": ("gcc", "echo 'int main(){return 0;}' > m.c && gcc m.c -o m && ./m"),
    "make": ("make", "printf 'a:\\n\\ttouch a\\n' > Makefile && make -s a && test -f a"),
    "node": ("node", "node -e 'console.log(6*7)' | grep -q 42"),
    "node child": ("node", 'node -e \'require("child_process").execSync("true")\''),
    "java": ("java", "java -version"),
    "perl": ("perl", "perl -e 'print 42' | grep -q 42"),
    "sqlite": ("sqlite3", "sqlite3 d.db 'create table t(x); insert into t values(1)'"),
    "run a script": ("sh", "printf '#!/bin/sh\\necho hi' > s.sh && chmod +x s.sh && ./s.sh"),
    "copy with modes": ("cp", "echo x > c1 && cp -p c1 c2 && touch -d 2001-01-01 c2"),
    "find and xargs": ("find", "find . -type f | xargs -n 1 echo | wc -l"),
    "sed in place": ("sed", "echo a > e && sed -i s/a/b/ e && grep -q b e"),
    "copy with all": ("cp", "echo x > c3 && cp -a c3 c4 && mv c4 c5 && ls -l c5 && rm c5"),
    "copy in python": ("python3", 'python3 -c \'import shutil; shutil.copy2("/etc/passwd", "p")\''),
    "follow a file": (
        "tail",
        "echo x > f && { (sleep 0.2; echo y >> f) & } && tail -f --pid=$! f | grep -q y",
    ),
    "links": ("ln", "echo x > l && ln -s l m1 && ln l m2 && cat m1 m2"),
    "fifo": ("mkfifo", "mkfifo p && (echo x > p &) && grep -q x p"),
    "python": ("python3", "python3 -c 'import json, ssl, sqlite3, ctypes'"),
    "threads": (
        "python3",
        "python3 -c 'from concurrent.futures import ThreadPoolExecutor as T\n"
        "with T(8) as t: assert sum(t.map(abs, range(50)))'",
    ),
    "venv": ("python3", "python3 -m venv --without-pip v && v/bin/python -c 1"),
    "asyncio": (
        "python3",
        "python3 -c 'import asyncio\n"
        'async def f(): await (await asyncio.create_subprocess_exec("true")).wait()\n'
        "asyncio.run(f())'",
    ),
    "pool": (
        "python3",
        "python3 -c 'from multiprocessing import get_context\n"
        'with get_context("fork").Pool(3) as p: assert p.map(abs, [-1, 2]) == [1, 2]\'',
    ),
}


class Victim:
    """A server's home with a secret, another session, open ports, and a word in the environment."""

    def __init__(self, home: Path) -> None:
        self.home, self.runner = home, ToolRunner(home)
        self.secret = home / "secret"
        self.secret.write_text("secret")
        self.open = self.secret.open("rb")
        self.word = ctypes.create_string_buffer(WORD.encode())
        self.shared = LIBC.shmget(SEGMENT, 4096, 0o1600)  # IPC_CREAT, for the owner
        (home / "workspaces").mkdir(mode=0o711)
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.abstract, self.by_path = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
        self.abstract.bind("\0" + home.name)
        self.by_path.bind(str(home / "socket"))
        for listener in (self.abstract, self.by_path):
            listener.listen()
        self.letters = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.letters.bind(str(home / "letters"))
        (home / "letters").chmod(0o777)  # as a system's log has it

    def close(self) -> None:
        for held in (self.tcp, self.abstract, self.by_path, self.letters, self.open):
            held.close()
        LIBC.shmctl(self.shared, 0, None)  # IPC_RMID
        self.runner.close()

    def facts(self) -> dict[str, Any]:
        """Everything in its place again: an attempt may have moved it."""
        self.secret.unlink(missing_ok=True)
        self.secret.write_text("secret")
        self.secret.chmod(0o600)
        other = self.home / "workspaces" / "other" / "file"
        other.parent.mkdir(exist_ok=True, mode=0o700)
        other.write_text("other")
        (self.home / "empty").mkdir(exist_ok=True)
        anyone = self.home / "anyone"
        anyone.write_text("anyone")
        anyone.chmod(0o666)
        with suppress(OSError):  # of a file system without them
            os.setxattr(anyone, "user.origin", b"secret")
        return {
            "secret": str(self.secret),
            "other": str(other),
            "anyone": str(anyone),
            "code": str(Path(__file__).resolve().parents[2] / "server" / "app.py"),
            "disk": "/dev/vda",
            "server": os.getpid(),
            "zygote": self.runner.pool.pid if self.runner.pool else os.getpid(),
            "control": self.runner.pool is None,
            "fd": self.open.fileno(),
            "address": ctypes.addressof(self.word),
            "cores": sorted(os.sched_getaffinity(0)),
            "nice": os.getpriority(os.PRIO_PROCESS, 0),
            "port": self.tcp.getsockname()[1],
            "name": self.home.name,
            "path": str(self.home / "socket"),
            "letters": str(self.home / "letters"),
            "shm": SEGMENT,
            "word": WORD,
            "host": socket.gethostname(),
        }

    async def call(self, where: tuple[str, str, str], args: dict[str, Any]) -> Outcome:
        return await self.runner.run(Job(where, args, "attacker", LIMITS))

    async def attempt(self, name: str) -> dict[str, str]:
        """What came of one attempt."""
        where, args = ("file", str(ATTACKS), "attempt"), {"name": name, "facts": self.facts()}
        if self.runner.pool is None:
            told = forked(
                Job(where, args, None, LIMITS, calls=child_calls.__name__),
                self.runner.folder("attacker"),
            )
            return told.get("result") or {"came": "", "by": str(told["error"])}
        found = await self.call(where, args)
        return found.result if found.status == "ok" else {"came": "", "by": str(found.error)}

    async def attacked(self) -> tuple[dict[str, str], dict[str, str]]:
        """What got through, and what stopped the others."""
        names = (await self.call(("file", str(ATTACKS), "names"), {})).result
        through: dict[str, str] = {}
        stopped: dict[str, str] = {}
        for name in names:
            before = resource.getrlimit(resource.RLIMIT_CPU), os.getpriority(os.PRIO_PROCESS, 0)
            said = await self.attempt(name)
            harm = self.harmed()
            if came := said["came"] or harm:
                through[name] = came
            else:
                stopped[name] = said["by"]
            if before != (
                resource.getrlimit(resource.RLIMIT_CPU),
                os.getpriority(os.PRIO_PROCESS, 0),
            ):
                through[name] = "the server's limits changed"
        return through, stopped

    def harmed(self) -> str:
        """What became of the server's things, whatever the attempt said."""
        planted = sorted(self.home.glob("planted*"))
        for path in planted:
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        if planted:
            return "something was planted"
        try:
            whole = self.secret.read_text() == "secret" and not self.secret.stat().st_mode & 0o077
        except OSError:
            whole = False
        return "" if whole else "the secret changed"

    async def worked(self) -> dict[str, str]:
        """What ordinary work did not work; a program that is not installed is left out."""
        broken = {}
        for name, (program, command) in CONTROLS.items():
            if shutil.which(program, path="/usr/bin:/bin") is None:
                continue
            folder = f"mkdir -p c && cd c && rm -rf ./* && {command}"
            found = await self.call(SHELL, {"command": folder})
            if found.status != "ok" or found.result["exit_code"] != 0:
                broken[name] = str(found.result or found.error)[-300:]
        return broken


def forked(job: Job, folder: Path) -> dict[str, Any]:
    """Run a call as a plain child does (lib/sandbox/child.py), in a fork; return its result, or its
    error."""
    user_tools.load(job.where[1], None)
    request, ask = os.pipe()
    answer, results = os.pipe()
    lifeline, end = os.pipe()
    pid = os.fork()
    if pid == 0:
        for ours in (ask, answer, end):
            os.close(ours)
        os.setsid()
        for output in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), output)
        child.main(request, results, lifeline)
    for theirs in (request, results, lifeline):
        os.close(theirs)
    about = {**job.request(), "folder": str(folder), "guarded": False}
    with os.fdopen(answer, "rb") as told:
        child.write_all(ask, json.dumps(about).encode() + b"\n")
        os.close(ask)
        messages = [json.loads(line) for line in told]
    os.close(end)
    os.waitpid(pid, 0)
    found: dict[str, Any] = next(
        (each for each in messages if "result" in each or "error" in each),
        {"error": f"no result: {messages}"},
    )
    return found


async def main(tier: str) -> dict[str, Any]:
    os.environ["YAA_TEST_WORD"] = WORD
    os.environ["PATH"] = f"/home/{WORD}/bin:/usr/bin:/bin"
    with tempfile.TemporaryDirectory(prefix="yaa-") as name:
        home = Path(name)
        home.chmod(0o711)
        victim = Victim(home)
        try:
            if tier != "none":
                await victim.runner.open({"network": "off", "run_as": 61321, "idle_s": 300}, tier)
            found = {"sandbox": victim.runner.sandbox, "uid": os.getuid()}
            if victim.runner.sandbox["tier"] != tier:
                return found
            through, stopped = await victim.attacked()
            broken = await victim.worked()
            found |= {"through": through, "stopped": stopped}
            return {**found, "broken": broken, "controls": len(CONTROLS)}
        finally:
            victim.close()


if __name__ == "__main__":
    if closed_to_others((), Path(__file__).parent):
        sys.exit("the checkout is closed to other users")
    print(json.dumps(asyncio.run(main(sys.argv[1]))))
