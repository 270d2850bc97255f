"""The route `POST /agui/{agent}`: AG-UI's RunAgentInput in, its events out.

protocols/agui/request.py makes a session of the body, protocols/agui/events.py converts the events
of the run. The response is always a stream, of frames with `data:` only.
"""

from __future__ import annotations

from ...api.router import Call
from ...api.run_stream import Runs
from ...errors import Problem
from ...http import sse
from ...session.events import Event, dumps
from . import events, request


class Agui:
    """The handler of AG-UI's only route."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    refusal = staticmethod(request.refusal)

    async def post(self, call: Call) -> None:
        """Run a RunAgentInput and send its events.

        Raises Problem for errors before the run begins.
        """
        body = await self._runs.read(call, "request_invalid")
        given = request.read(body, call.at["agent"])
        try:
            async with self._runs.begin(call, given.session) as run:

                def frame(event: Event, name: str, number: int) -> bytes:
                    """Return the frames of an event."""
                    return b"".join(
                        sse.encode(dumps(each)) for each in events.told(event, run.session, given)
                    )

                await self._runs.stream(call, run, frame, _cut)
        except Problem as problem:
            raise request.refused(problem, given) from None


def _cut() -> bytes:
    return sse.encode(dumps(events.cut()))
