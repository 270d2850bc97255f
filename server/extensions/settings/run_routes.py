"""The handlers of `/settings/runs`, for owners: who runs what here, and the last runs."""

from __future__ import annotations

from ...api.router import RequestContext, Route, owners_only
from ...api.sessions import Runs
from ...errors import Problem
from ...telemetry.recent_runs import RecentRuns, of_process


class SettingsRuns:
    """The runs of this process, of all people."""

    def __init__(self, runs: Runs, recent: RecentRuns = of_process) -> None:
        self._runs, self._recent = runs, recent

    def routes(self) -> dict[tuple[str, str], Route]:
        """Return (method, path) -> route."""
        return {
            ("GET", "/settings/runs"): Route(owners_only(self.get)),
            ("DELETE", "/settings/runs/{run}"): Route(owners_only(self.delete)),
        }

    async def get(self, call: RequestContext) -> None:
        """Send the runs that go on, and those that have ended, the last first."""
        await call.json({"active": self._runs.active(), "runs": self._recent.listing()})

    async def delete(self, call: RequestContext) -> None:
        """End a run of anybody, with its calls. The answer says whether it has ended."""
        wanted = call.at["run"]
        ended = await self._runs.end(wanted, "stopped_by_owner")
        if ended is None:
            text = f"No run {wanted[:64]!r} goes on in this process"
            raise Problem("not_found", f"{text}: it has ended, or another worker has it")
        await call.json({"run": wanted, "stopped": ended})
