"""Log and trace one run. Changes nothing: a run is the same with and without it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..models.registry import Model
from ..session import usage
from ..session.fold import extra
from ..telemetry import log
from ..telemetry import trace as tracing
from . import delta_log, model_call_log

Event = dict[str, Any]
Session = dict[str, Any]

MODELS = ("TEXT_MESSAGE_", "REASONING_", "TOOL_CALL_")  # prefixes of a model's events

logger = log.get("run")


class Witness:
    """The log lines and the trace of one run.

    key_name      of the API key
    tells_deltas  `server.log.model_deltas`
    tells_calls   `server.log.model_calls`
    results       the state in the call log of each call that has got its result
    """

    def __init__(
        self,
        session: Session,
        model: Model,
        key_name: str,
        sink: tracing.Sink | None,
        *,
        tells_deltas: bool,
        tells_calls: bool = True,
    ) -> None:
        self._session = session
        self._about = {"key_name": key_name, "model": model.model}
        self._used = dict(session.get("usage", {}))
        self._first_message = len(session.get("messages") or [])
        self.results: list[str] = []
        self._deltas = delta_log.Deltas() if tells_deltas and delta_log.wanted() else None
        self._calls = model_call_log.Calls(model.model, on=tells_calls)
        self._call: model_call_log.Call | None = None
        self._stage = ""
        self._trace = tracing.of_run(sink, session, model.model, model.api)

    def see(self, event: Event) -> None:
        """Record an event that the session has folded."""
        self._trace.see(event)
        kind = event["type"]
        if kind == "STEP_STARTED":
            self._stage = event["stepName"]
        elif self._call is not None:
            self._call.see(event)
        if kind == "TOOL_CALL_RESULT":
            self.results.append(extra(event).get("state", "done"))
        elif self._deltas is None:
            return
        elif kind == "STEP_STARTED":
            self._deltas.step(event["stepName"])
        elif kind.startswith(MODELS):
            self._deltas.see(event)

    def asks(self, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> None:
        """Record a request to the model, before it is sent."""
        self._trace.asks(messages, tools)
        self._call = self._calls.begin(self._stage, messages, tools)

    def not_answered(self, error: Event) -> None:
        """Record a RUN_ERROR of the model, after which the run may continue."""
        if self._call is not None:
            self._call.see(error)

    @contextmanager
    def aside(self, messages: Sequence[Event] = ()) -> Iterator[Callable[[Event], None]]:
        """Record a model call beside the conversation. Yields a function that takes its events."""
        calls = model_call_log.Calls(self._about["model"], on=self._calls.on)
        call = calls.begin("beside", messages, [])

        with self._trace.aside() as trace:

            def see(event: Event) -> None:
                """Record one event of the call."""
                trace(event)
                call.see(event)

            try:
                yield see
            finally:
                call.end("timeout")

    def end(self, run_id: str, session_id: str, ms: int) -> None:
        """Log the run's line and end its trace."""
        if self._deltas:
            self._deltas.flush()
        if self._call is not None:
            self._call.end(model_call_log.CUT)
        made = len(self.results)
        told = usage.told(self._session, self._used, self._first_message, made)
        logger.info({"run": run_id, "session": session_id, **self._about, "ms": ms, **told})
        self._trace.end()
