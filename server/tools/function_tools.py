"""Tools that are marked functions: built in, of the owner's `tools/` folder, of his packages.

They run in a child process in the sandbox (runner.py). Some built-in ones are bounded and harmless,
and run in the server.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..json_types import Json, Session
from ..lib.sandbox.host_programs import protected_part
from ..lib.sandbox.network_policy import NetworkPolicy
from ..lib.sandbox.package import Package
from ..session.skills import kept_hashes
from . import builtin
from .base import Emit, Invocation, Tool, failure, hints_of, resources_of
from .decorators import Context, ToolError
from .permission_mode import Permission
from .policy import enforceable, reach_of
from .runner import Job, Outcome, ToolRunner
from .shell_commands import only_looks


@dataclass(frozen=True, kw_only=True)
class InlineTool(Tool):
    """A function that runs in the server."""

    function: Callable[..., Any] = field(compare=False)

    async def run(self, call: Invocation, emit: Emit) -> Outcome:
        """Call the function."""
        started = time.monotonic()
        result = self.function(Context({}, lambda _: None), **call.args)
        return Outcome("ok", result, usage={"wall_ms": round((time.monotonic() - started) * 1000)})


@dataclass(frozen=True, kw_only=True)
class ChildTool(Tool):
    """A function that runs in a child process.

    where: ("module", name, function), ("file", path, function), or the name of a module whose
    `perform` is given the request (child_calls.py), with two texts that it knows.
    work: what a permission mode must allow for a call to run unasked; "" for none (permission.py).
    """

    where: tuple[str, str, str]
    runner: ToolRunner = field(compare=False)
    work: str = ""
    package: Package | None = field(default=None, compare=False)
    brief: Callable[[Any], str] | None = field(default=None, compare=False)  # builtin.BRIEF

    sandboxed = True

    def runs_in(self, permission: Permission, args: dict[str, Any]) -> bool:
        """Return whether a call runs unasked in this mode.

        Not if it changes what programs on the owner's machine run or obey, once it is applied.
        """
        if self.work == "edit" and protected_part(
            Path(args.get("path", "")).parts, lambda _: (), lambda _: False
        ):
            return False
        looks = "look" in permission.work and only_looks(str(args.get("command", "")))
        return self.work in permission.work or (self.work == "program" and looks)

    def reach(
        self, session: Session, approved: dict[str, Any] | None = None
    ) -> NetworkPolicy | str:
        """Return the network of a call, or why it is impossible; see policy.py `reach_of`."""
        base, addable = self.runner.reach, self.runner.addable
        return reach_of(base, session, self.name, approved, addable, self.like)

    def offer(self, session: Session) -> dict[str, Any]:
        """Return the network of a call whose approval may change it; {} if it cannot."""
        reach, addable = self.reach(session), self.runner.addable
        if not addable or isinstance(reach, str):
            return {}
        return {
            "network": reach.network,
            "hosts": list(reach.hosts) if reach.network == "proxy" else [],
            "hosts_on_approval": addable,
        }

    def job(self, call: Invocation, reach: NetworkPolicy) -> Job:
        """Return the job of a call for the runner."""
        return Job(
            *(self.where, call.args, call.session["id"], call.limits),
            state=call.session.get("ext", {}),
            reach=reach,
            owner=call.owner,
            folder=call.folder,
            package=self.package,
            skills=kept_hashes(call.session),
        )

    async def run(self, call: Invocation, emit: Emit) -> Outcome:
        """Run the function in a child process, with the network that a person approved."""
        approved = call.ledger.get("policy")
        reach = self.reach(call.session, approved if isinstance(approved, dict) else None)
        if isinstance(reach, str):
            return failure(f"not run: {reach}", "policy_exceeded")
        if beyond := enforceable(reach, self.runner.sandbox["tier"]):
            return failure(f"not run: {beyond}", "policy_exceeded")
        outcome = await self.runner.run(self.job(call, reach), emit)
        if self.brief and outcome.status == "ok":
            return replace(outcome, text=self.brief(outcome.result))
        return outcome


class StatefulTool(ChildTool):
    """A method of a stateful toolkit: its calls of one session share a process."""

    stateful = True

    def job(self, call: Invocation, reach: NetworkPolicy) -> Job:
        """Return the job of a call, with what the session knows of the process."""
        before = last_process(call.session, self.origin)
        return replace(super().job(call, reach), stateful=self.origin, before=before)


def builtin_tool(function: Callable[..., Any], runner: ToolRunner) -> Tool:
    """Return the tool of a function of builtin/."""
    like = builtin.LIKE.get(function.__name__, "")
    if function in builtin.INLINE:
        return InlineTool.of(function, like=like, function=function)
    where = ("module", function.__module__, function.__name__)
    return ChildTool.of(
        function,
        like=like,
        where=where,
        runner=runner,
        brief=builtin.BRIEF.get(function),
        work=builtin.WORK.get(function, ""),
    )


def owner_tool(
    origin: str,
    where: tuple[str, str, str],
    about: dict[str, Any],
    runner: ToolRunner,
    package: Package | None = None,
) -> Tool:
    """Return the tool of an owner's function. Raises ToolError if it could not be described.

    `about`: from a child process, see user_tools.py.
    """
    if "problem" in about:
        raise ToolError(about["problem"])
    options, (kit, of_all) = about["options"], about["toolkit"]
    hints = hints_of(options)
    stateful = about["stateful"] or (package is not None and package.stateful)
    return (StatefulTool if stateful else ChildTool)(
        *(about["name"], about["description"], about["parameters"]),
        origin=origin,
        # Parallel calls cannot share the process of a stateful tool.
        hints={**hints, "parallel_safe": hints["parallel_safe"] and not stateful},
        required_resources=resources_of(options),
        keep=options.get("keep"),
        returns=about["returns"],
        toolkit=(kit, of_all),
        where=where,
        runner=runner,
        package=package,
    )


def owner_tools(
    origin: str, kind: str, described: Iterable[Json], runner: ToolRunner, package: Package | None
) -> Iterator[Tool | str]:
    """Yield the tools of an owner's functions, or for each the reason why there is none.

    `kind`: the first part of `ChildTool.where`; each function says the second, its `target`.
    """
    for about in described:
        where = (kind, about["target"], about["name"])
        try:
            yield owner_tool(origin, where, about, runner, package)
        except ToolError as error:
            yield f"{about['name']}: {error}"


def last_process(session: Session, of: str) -> dict[str, Any] | None:
    """Return {of, id, calls} from the session's last result of this toolkit, or None."""
    for message in reversed(session.get("messages", ())):
        result = message.get("result")
        process = result.get("process") if isinstance(result, dict) else None
        if isinstance(process, dict) and process.get("of") == of:
            return process
    return None
