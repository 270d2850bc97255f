"""Runner of tool calls in child processes.

`ToolRunner.run(job)` yields output as text, then an `Outcome`. Closing the generator kills the call
and everything it started. Before `open` a call runs in a plain child (tier `none`); afterwards in a
worker of the strongest sandbox that was proven here (sandbox/probe.py). The server opens no path
inside a session's workspace.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import os
import platform
import secrets
import shutil
import time
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing, suppress
from dataclasses import replace
from importlib.util import decode_source
from pathlib import Path
from typing import Any

from ..json_types import Json
from ..sandbox import selftest
from ..sandbox.network_policy import NetworkPolicy
from ..sandbox.policy import outermost_folders
from ..sandbox.probe import escape_targets, make_proof, pool_for, prove, verdict
from ..sandbox.process import Job, Outcome, PlainProcess, Process, SandboxedProcess
from ..sandbox.process_call import ProcessCall
from ..sandbox.python_packages import Package, closed_folder
from ..sandbox.warm_pools import WarmPools
from ..sandbox.worker_pool import WAITING, WorkerPool
from .stateful_tools import KeptProcesses

__all__ = ["Job", "Outcome", "ToolRunner"]

CANARY_LIMITS: dict[str, float] = {
    "wall_s": 10,
    "cpu_s": 10,
    "memory_mb": 512,
    "file_mb": 16,
    "output_kb": 64,
    "processes": 64,
    "open_files": 256,
}


OWN = "own-"  # prefix of folders for the server's own calls; sessions' names have no dash
STALE_S = 600


class ToolRunner:
    """Runs jobs in child processes.

    `home`: parent of the `workspaces` folder. `pool`: sandbox workers; None for plain children.
    `host`: the operating system. `most`, `idle_s`: number and idle time of the processes of
    stateful toolkits (stateful_tools.py).
    """

    def __init__(
        self, home: Path, pool: WorkerPool | None = None, *, most: int = 16, idle_s: float = 600
    ) -> None:
        self._processes = KeptProcesses(most, idle_s)
        self._pools: list[WorkerPool] = []  # of the owner's packages
        self._warm = WarmPools()
        self.workspaces = home.resolve() / "workspaces"
        self.pool = pool
        self.sandbox = make_proof(pool.policy.tier if pool else "none", "off", {})
        self.reach = NetworkPolicy(self.sandbox["network"])
        self.addable: list[str] = []  # hosts that an approval may add, at tier A
        self.host = f"{platform.system()} ({platform.machine()})"

    async def open(
        self, options: dict[str, Any], most: str = "A", proof: Json | None = None
    ) -> None:
        """Use the strongest sandbox up to the tier `most`, from `proof` or proven now.

        `options`: server.sandbox.
        """
        home = self.workspaces.parent
        self.workspaces.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._remove_stale()
        if proof is None:
            self.pool, self.sandbox = await prove(home, options, most, self._attempt)
        else:
            self.pool, self.sandbox = pool_for(home, options, proof), proof
        self.reach = NetworkPolicy(
            self.sandbox["network"],
            tuple(options.get("hosts", ())),
            tuple(options.get("ports", ())),
        )
        self.addable = options.get("hosts_on_approval", []) if self.sandbox["tier"] == "A" else []
        self._warm.open(options["idle_s"])
        if self.pool is not None and proof is None:
            self._warm.touch(self.pool)

    def _remove_stale(self) -> None:
        """Remove folders of the server's own calls that a killed server left behind."""
        for folder in self.workspaces.glob(f"{OWN}*"):
            with suppress(OSError):
                if time.time() - folder.stat().st_mtime > STALE_S:
                    shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """End idle workers and the processes of stateful toolkits.

        Running calls end with their generators.
        """
        self._warm.close()
        self._processes.close()
        for pool in (*self._pools, *([self.pool] if self.pool else ())):
            pool.close()

    def prepare(self, packages: Iterable[Package | None]) -> None:
        """Have a worker wait for a call: tools of these packages, None for all others, are offered.

        May be called in any thread.
        """
        if self.pool is not None:
            pools = (package.pool if package else self.pool for package in packages)
            self._warm.offer(filter(None, pools))

    def release_workers(self) -> None:
        """End the processes that wait for a call, until one is needed or a tool is offered."""
        self._warm.release()

    async def admit(self, package: Package) -> str:
        """Create and prove the sandbox for calls of a package.

        Returns why that is impossible; "" on success.
        """
        if self.pool is None:
            return ""
        policy = self.pool.policy
        if policy.run_as and (place := closed_folder(policy.run_as, package)):
            user = f"user {policy.run_as} (server.sandbox.run_as)"
            return f"{user} may not read {place}: allow it with chmod -R o+rX {place}"
        read = outermost_folders(map(Path, (*policy.read, *package.roots)))
        pool = WorkerPool(replace(policy, read=read), package.interpreter)
        try:
            with escape_targets(self.workspaces.parent) as facts:
                found = await self._attempt(pool, policy.network, facts)
            wrong = verdict(policy.tier, policy.network, found)
        except OSError as error:
            wrong = error.strerror or str(error)
        except BaseException:  # includes cancellation during the proof
            pool.close()
            raise
        if wrong:
            pool.close()
            return f"its sandbox: {wrong}"
        package.pool = pool
        self._pools.append(pool)
        self._warm.touch(pool)
        return ""

    async def _attempt(
        self, pool: WorkerPool, network: str, facts: dict[str, Any]
    ) -> dict[str, dict[str, str]]:
        where = ("module", selftest.__name__, selftest.attempts.__name__)
        reach = NetworkPolicy(network)
        job = Job(where, {"facts": facts}, None, CANARY_LIMITS, reach=reach)
        async with aclosing(ToolRunner(self.workspaces.parent, pool).run(job)) as items:
            async for item in items:
                if isinstance(item, Outcome):
                    if item.status == "ok":
                        return dict(item.result)
                    raise OSError(0, str(item.error.get("message")))
        raise OSError(0, "the canary did not come back")

    def folder(self, session_id: str, owner: str = "") -> Path:
        """Return the workspace of a session of `owner` (`owner` of api/auth.py Key).

        Its name is a hash, since both are arbitrary strings. The separating byte occurs in no UTF-8
        text.
        """
        told = session_id.encode("utf-8", "surrogatepass")
        if owner:
            told = owner.encode("utf-8", "surrogatepass") + b"\xff" + told
        return self.workspaces / hashlib.sha256(told).hexdigest()[:32]

    async def run(self, job: Job) -> AsyncGenerator[str | Outcome, None]:
        """Yield live output as it comes, then one Outcome. Errors of the tool raise nothing."""
        if job.session_id is None:
            folder = self.workspaces / f"{OWN}{secrets.token_hex(16)}"
        else:
            folder = self.folder(job.session_id, job.owner)
        try:
            async with aclosing(self._run(job, folder)) as items:
                async for item in items:
                    yield item
        finally:
            if job.session_id is None:
                shutil.rmtree(folder, ignore_errors=True)

    async def _run(self, job: Job, folder: Path) -> AsyncGenerator[str | Outcome, None]:
        pool = job.package.pool if job.package else self.pool
        for once_more in (True, False):
            try:
                source = await self._source(job)
                if job.stateful:
                    code = source or str(job.package.version if job.package else 0)
                    start = functools.partial(self._start, folder=folder, source=source)
                    async with aclosing(self._processes.run(job, code, start)) as items:
                        async for item in items:
                            yield item
                    return
                process = await self._start(job, folder, source)
            except (OSError, SyntaxError, UnicodeDecodeError) as error:
                why = error.strerror if isinstance(error, OSError) else error
                said = {"type": "error", "message": f"the tool could not be started: {why}"}
                yield Outcome("error", error=said, tier=self.sandbox["tier"])
                return
            call = ProcessCall(job, process)
            try:
                async for text in call.output():
                    yield text
                outcome = await call.outcome()
            finally:
                process.kill()
                if pool is not None and job.session_id is not None:
                    self._warm.touch(pool, WAITING)
            if process.began or not once_more:
                yield outcome
                return
            if pool is not None:
                pool.renew()

    async def _source(self, job: Job) -> str | None:
        """Return the text of the owner's file, which a worker cannot open; None for other jobs.

        Raises OSError, SyntaxError, UnicodeDecodeError.
        """
        if job.where[0] not in ("file", "describe") or (self.pool is None and not job.stateful):
            return None
        return decode_source(await asyncio.to_thread(Path(job.where[1]).read_bytes))

    async def _start(self, job: Job, folder: Path, source: str | None) -> Process:
        """Start a process for one call, or for all calls of a stateful toolkit. Raises OSError."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.stat().st_mode & 0o700 != 0o700:  # changed by a tool
            folder.chmod(0o700)
        with suppress(OSError):  # result.py removes unused workspaces by this time
            os.utime(folder)
        process = self._process(job, folder, source)
        await process.start()
        return process

    def _process(self, job: Job, folder: Path, source: str | None) -> Process:
        if self.pool is None:
            return PlainProcess(job, folder)
        pool = self.pool
        if job.package is not None:
            if job.package.pool is None:
                raise OSError(0, "its package has no sandbox")
            pool = job.package.pool
        if pool.policy.run_as:
            # Safe by path: nobody else may write in the parent folder.
            os.chown(folder, pool.policy.run_as, pool.policy.run_as, follow_symlinks=False)
        reach = job.reach or self.reach
        process = SandboxedProcess(job, folder, source, pool, reach)
        self._warm.touch(pool)
        return process
