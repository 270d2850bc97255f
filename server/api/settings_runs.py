"""The handler of `GET /settings/runs`: the last runs of this process, for owners' keys."""

from __future__ import annotations

from ..telemetry.recent_runs import RecentRuns, of_process
from .router import RequestContext, Route
from .settings import owners_only


class SettingsRuns:
    """The last runs."""

    def __init__(self, runs: RecentRuns = of_process) -> None:
        self._runs = runs

    def routes(self) -> dict[tuple[str, str], Route]:
        """Return (method, path) -> route."""
        return {("GET", "/settings/runs"): Route(owners_only(self.get))}

    async def get(self, call: RequestContext) -> None:
        """Send the runs, the last first."""
        await call.json({"runs": self._runs.listing()})
