"""The handlers of `/settings/runs`, for owners: who runs what here, and the last runs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..agent.loop import BaseAgent
from ..errors import Problem
from ..lib.runtime.accounts import Request
from ..telemetry.recent_runs import RecentRuns, of_process
from .router import RequestContext, Route
from .settings import owners_only


class SettingsRuns:
    """The runs of this process. `requests`: those that are being served, of all people."""

    def __init__(
        self, agent: BaseAgent, requests: Iterable[Request], runs: RecentRuns = of_process
    ) -> None:
        self._agent, self._requests, self._runs = agent, requests, runs

    def routes(self) -> dict[tuple[str, str], Route]:
        """Return (method, path) -> route."""
        return {
            ("GET", "/settings/runs"): Route(owners_only(self.get)),
            ("DELETE", "/settings/runs/{run}"): Route(owners_only(self.delete)),
        }

    async def get(self, call: RequestContext) -> None:
        """Send the runs that go on, and those that have ended, the last first."""
        sessions = {run: session_id for (_, session_id), run in self._agent.active_runs()}
        active: list[dict[str, Any]] = [
            {
                "at": round(each.began * 1000),
                "run": each.run,
                "session": sessions[each.run],
                "key_name": each.key.name,
            }
            for each in self._requests
            if each.run in sessions
        ]
        active.sort(key=lambda each: each["at"], reverse=True)
        await call.json({"active": active, "runs": self._runs.listing()})

    async def delete(self, call: RequestContext) -> None:
        """End a run of anybody, with its calls. The answer says whether it has ended."""
        wanted = call.at["run"]
        for (owner, session_id), run in self._agent.active_runs():
            if run == wanted:
                ended = await self._agent.stop_session(owner, session_id, "stopped_by_owner")
                await call.json({"run": run, "stopped": bool(ended)})
                return
        text = f"No run {wanted[:64]!r} goes on in this process"
        raise Problem("not_found", f"{text}: it has ended, or another worker has it")
