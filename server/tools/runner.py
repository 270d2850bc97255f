"""Runner of tool calls in child processes.

`ToolRunner.run(job, emit)` passes output on as text, and returns an `Outcome`. Before `open` a call
runs in a plain child (tier `none`); afterwards in a worker of the strongest sandbox that was proven
here (sandbox/probe.py). The server opens no path inside a session's workspace.
"""

from __future__ import annotations

import asyncio
import functools
import platform
import shutil
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from importlib.util import decode_source
from pathlib import Path
from typing import Any

from ..errors import Problem
from ..json_types import Json
from ..lib.runtime.accounts import Accounts
from ..lib.sandbox.folders import identities, make_folders
from ..lib.sandbox.kept_processes import KeptProcesses
from ..lib.sandbox.network_policy import NetworkPolicy
from ..lib.sandbox.package import Package, closed_folder
from ..lib.sandbox.policy import WORKSPACE, Mount, links_to, outermost_folders
from ..lib.sandbox.probe import escape_targets, make_proof, pool_for, prove, verdict
from ..lib.sandbox.process import Job, Outcome, PlainProcess, Process, SandboxedProcess
from ..lib.sandbox.process_call import Emit, ProcessCall
from ..lib.sandbox.warm_pools import WarmPools
from ..lib.sandbox.worker_pool import WAITING, WorkerPool
from ..session.workspace_error import WorkspaceError
from . import child_calls, trials
from .session_files import CALL_FILES, STATES, STORE, WORKSPACES, SessionFiles

__all__ = ["OWN_LIMITS", "Job", "Outcome", "ToolRunner"]

FindMounts = Callable[[Job], Iterable[Mount]]  # raises OSError
STALE_S = 600
# Of calls of the server's own that need little.
OWN_LIMITS: dict[str, float] = {
    "wall_s": 20,
    "cpu_s": 20,
    "memory_mb": 1024,
    "file_mb": 1,
    "output_kb": 256,
    "processes": 64,
    "open_files": 256,
}


class ToolRunner:
    """Runs jobs in child processes.

    `home`: parent of the `workspaces` folder. `pool`: sandbox workers; None for plain children.
    `host`: the operating system. `most`, `idle_s`: number and idle time of the processes of
    stateful toolkits (sandbox/kept_processes.py). `accounts`: what people hold of the process.
    """

    def __init__(
        self,
        home: Path,
        pool: WorkerPool | None = None,
        *,
        most: int = 16,
        idle_s: float = 600,
        files: SessionFiles | None = None,
        accounts: Accounts | None = None,
    ) -> None:
        self.accounts = accounts or Accounts()
        self._processes = KeptProcesses(most, idle_s)
        self._pools: list[WorkerPool] = []  # of the owner's packages
        self._warm = WarmPools()
        self.files = files or SessionFiles(home)
        self.files.starter = self
        self.workspaces = self.files.home / WORKSPACES
        self.more_mounts: list[FindMounts] = []  # beside the folders of a session
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
        for name in (STATES, STORE, CALL_FILES):
            (home / name).mkdir(exist_ok=True)
            (home / name).chmod(self.workspaces.stat().st_mode & 0o711)  # below tier A users pass
        self._remove_stale()
        roots, early = self.files.roots, child_calls.PRELOAD
        if proof is None:
            self.pool, self.sandbox = await prove(home, options, most, self._attempt, roots, early)
        else:
            self.pool, self.sandbox = pool_for(options, proof, roots, early), proof
        self.reach = NetworkPolicy(
            self.sandbox["network"],
            tuple(options.get("hosts", ())),
            tuple(options.get("ports", ())),
        )
        self.addable = options.get("hosts_on_approval", []) if self.sandbox["tier"] == "A" else []
        self._warm.open(options["idle_s"])
        if self.pool is not None and proof is None:
            self._warm.touch(self.pool)
        await self.files.open()

    def _remove_stale(self) -> None:
        """Remove folders of the server's own calls that a killed server left behind."""
        for folder in self.workspaces.glob(f"{trials.OWN}*"):
            with suppress(OSError):
                if time.time() - folder.stat().st_mtime > STALE_S:
                    shutil.rmtree(folder, ignore_errors=True)

    def close(self) -> None:
        """End idle workers and the processes of stateful toolkits.

        Running calls end with their tasks.
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
        links = (*policy.links, *links_to(package.interpreter))
        policy = replace(policy, read=read, links=links, preload=policy.preload + package.preload)
        pool = WorkerPool(policy, package.interpreter)
        try:
            with escape_targets(self.workspaces.parent) as facts:
                attempts = await self._attempt(pool, policy.network, facts)
            wrong = verdict(policy.tier, policy.network, attempts)
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
        run = ToolRunner(self.workspaces.parent, pool).run_own
        return await trials.try_escapes(run, self.workspaces, pool.policy, network, facts)

    def folder(self, session_id: str, owner: str = "") -> Path:
        """Return the own folder of a session of `owner` (`owner` of api/auth.py Key)."""
        return self.files.own(owner, session_id)

    async def run(self, job: Job, emit: Emit = bool) -> Outcome:
        """Run a call: pass its output to `emit` as it comes, and return its Outcome.

        Errors of the tool raise nothing. Cancelling it kills the call and everything it started.
        """
        if job.session_id is None:
            with trials.own_folder(self.workspaces) as folder:
                return await self.run_own(job, (Mount(WORKSPACE, folder, own=True),), emit)
        try:
            place = self.files.get(job.owner, job.session_id, job.folder)
            more = (mount for find in self.more_mounts for mount in find(job))
            async with place.hold(self.run_as):  # nobody restores the workspace meanwhile
                return await self.run_own(job, (*place.for_tools(), *more), emit)
        except (Problem, WorkspaceError) as error:
            return self._failure(error.code, error.detail)
        except OSError as error:
            return self._failure("error", f"the tool could not be started: {error.strerror}")

    def _failure(self, kind: str, message: str) -> Outcome:
        """Return the outcome of a call that was not begun."""
        error = {"type": kind, "message": message}
        return Outcome("error", error=error, tier=self.sandbox["tier"])

    async def run_own(self, job: Job, mounts: tuple[Mount, ...], emit: Emit = bool) -> Outcome:
        """Run a call in these folders: one of the server itself, or of a session (`run`)."""
        with self.accounts.call(job.owner) as nice:
            job = replace(job, nice=nice, calls=child_calls.__name__)
            try:
                source = await self._source(job)
                if job.stateful:
                    make_folders(mounts, self.run_as)
                    code = source or str(job.package.version if job.package else 0)
                    start = functools.partial(self.start, mounts=mounts, source=source)
                    return await self._processes.run(job, code + identities(mounts), start, emit)
                began, outcome = await self._run_once(job, mounts, source, emit)
                if not began:
                    if pool := self._pool_of(job):
                        pool.renew()
                    _, outcome = await self._run_once(job, mounts, source, emit)
                return outcome
            except (OSError, SyntaxError, UnicodeDecodeError) as error:
                why = error.strerror if isinstance(error, OSError) else error
                return self._failure("error", f"the tool could not be started: {why}")

    async def _run_once(
        self, job: Job, mounts: tuple[Mount, ...], source: str | None, emit: Emit
    ) -> tuple[bool, Outcome]:
        """Return (whether the call began, its outcome), of one attempt. Raises OSError."""
        process = await self.start(job, mounts, source)
        try:
            outcome = await ProcessCall(job, process).run(emit)
        finally:
            process.kill()
            if job.session_id is not None and (pool := self._pool_of(job)):
                self._warm.touch(pool, WAITING)
        return process.began, outcome

    def _pool_of(self, job: Job) -> WorkerPool | None:
        return job.package.pool if job.package else self.pool

    async def _source(self, job: Job) -> str | None:
        """Return the text of the owner's file, which a worker cannot open; None for other jobs.

        Raises OSError, SyntaxError, UnicodeDecodeError.
        """
        if job.where[0] not in ("file", "describe") or (self.pool is None and not job.stateful):
            return None
        return decode_source(await asyncio.to_thread(Path(job.where[1]).read_bytes))

    @property
    def tier(self) -> str:
        """Return the tier of the sandbox."""
        return self.pool.policy.tier if self.pool else "none"

    @property
    def run_as(self) -> int:
        """Return the user of tools if the server is root, else 0."""
        return self.pool.policy.run_as if self.pool else 0

    def renew(self) -> None:
        """Discard the workers that wait."""
        if self.pool is not None:
            self.pool.renew()

    async def start(
        self, job: Job, mounts: tuple[Mount, ...], source: str | None = None
    ) -> Process:
        """Start a process for one call, or for all calls of a kept process. Raises OSError."""
        make_folders(mounts, self.run_as)
        process = self._process(job, mounts, source)
        await process.start()
        return process

    def _process(self, job: Job, mounts: tuple[Mount, ...], source: str | None) -> Process:
        if self.pool is None:
            return PlainProcess(job, mounts)
        if (pool := self._pool_of(job)) is None:
            raise OSError(0, "its package has no sandbox")
        process = SandboxedProcess(job, mounts, source, pool, job.reach or self.reach)
        self._warm.touch(pool)
        return process
