"""Count the runs of a process, and send the counters of all processes."""

from __future__ import annotations

from collections.abc import Mapping

from ...agent.loop import STOP_REASONS
from ...agent.run_parts import RunPart
from ...api.router import RequestContext, Route
from ...json_types import Event, Session
from ...session.fold import yaa_metadata
from ..parts import Host, Parts
from .counters import Row

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class MetricsParts(Parts):
    """The route of the counters, and what counts runs."""

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        assert isinstance(host.process, Row)
        self._row = host.process

    def routes(self) -> Mapping[tuple[str, str], Route]:
        """Return the route of the counters. It needs a key."""
        return {("GET", "/metrics"): Route(self._get)}

    async def _get(self, call: RequestContext) -> None:
        await call.reply(200, self._row.text().encode(), {"Content-Type": CONTENT_TYPE})

    def run_part(self, session: Session, about: Mapping[str, str]) -> RunPart:
        """Return what counts the run."""
        return RunCounter(self._row, session)


class RunCounter(RunPart):
    """Counts one run, the results of its calls and its tokens."""

    watched = ("TOOL_CALL_RESULT", "RUN_ERROR")

    def __init__(self, row: Row, session: Session) -> None:
        self._row, self._session = row, session
        self._used = session.get("usage", {}).copy()
        self._results: list[str] = []
        self._stop_code = ""

    def start(self) -> None:
        """Count the run as going on."""
        self._row.count_run_start()

    def see(self, event: Event) -> None:
        """Keep the state of a call with its result, and the code with which the run was stopped."""
        if event["type"] == "TOOL_CALL_RESULT":
            self._results.append(yaa_metadata(event).get("state", "done"))
        elif event.get("code") in STOP_REASONS:
            self._stop_code = event["code"]

    def end(self, seconds: float) -> None:
        """Count how it ended."""
        ended = self._results, self._used, seconds, self._stop_code
        self._row.count_run_end(self._session, *ended)
