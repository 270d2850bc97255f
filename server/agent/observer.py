"""What the owner learns of a run: its lines in the log, and its trace.

In the walk: `agent.Run` shows every event that it has folded, and says when nothing follows. The
rule of the file: it looks and never acts; a run is the same whoever looks.
"""

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

MODELS = ("TEXT_MESSAGE_", "REASONING_", "TOOL_CALL_")  # what a model says begins like this

logger = log.get("run")


class Witness:
    """Of one run. `key_name`: whose API key it was; `tells_deltas`: `server.log.model_deltas`,
    `tells_calls`: `server.log.model_calls`.

    results  how each call ended that has got its result, as the ledger has it
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
        """An event that the session has folded."""
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
        """What the model is about to be asked."""
        self._trace.asks(messages, tools)
        self._call = self._calls.begin(self._stage, messages, tools)

    def not_answered(self, error: Event) -> None:
        """A RUN_ERROR of the model, with which the run may go on."""
        if self._call is not None:
            self._call.see(error)

    @contextmanager
    def aside(self, messages: Sequence[Event] = ()) -> Iterator[Callable[[Event], None]]:
        """A call of the model beside the conversation; its events are shown to what this gives."""
        calls = model_call_log.Calls(self._about["model"], on=self._calls.on)
        call = calls.begin("beside", messages, [])

        with self._trace.aside() as trace:

            def see(event: Event) -> None:
                trace(event)
                call.see(event)

            try:
                yield see
            finally:
                call.end("timeout")

    def end(self, run_id: str, session_id: str, ms: int) -> None:
        """Nothing follows: the run's line in the log."""
        if self._deltas:
            self._deltas.flush()
        if self._call is not None:
            self._call.end(model_call_log.CUT)
        made = len(self.results)
        told = usage.told(self._session, self._used, self._first_message, made)
        logger.info({"run": run_id, "session": session_id, **self._about, "ms": ms, **told})
        self._trace.end()
