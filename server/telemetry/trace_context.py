"""The position of a request in a trace: W3C trace context.

https://www.w3.org/TR/trace-context/ (`traceparent`). It is in the log, and goes on to the servers
that a run calls; what a run did in it is recorded by who takes part in the run.
"""

from __future__ import annotations

import re
import secrets
from contextvars import ContextVar
from typing import NamedTuple


class TraceContext(NamedTuple):
    """A position in a trace.

    `span_id` is "" at the root. `shared`: whether the trace may be passed on to other servers,
    because the caller sent it or it is exported.
    """

    trace_id: str
    span_id: str = ""
    sampled: bool = True
    shared: bool = False

    @property
    def traceparent(self) -> str:
        """Return the value of the header `traceparent`."""
        return f"00-{self.trace_id}-{self.span_id}-{'01' if self.sampled else '00'}"


current: ContextVar[TraceContext | None] = ContextVar("yaa_trace", default=None)


def begin(traceparent: str = "") -> TraceContext:
    """Return the context of a request: that of its `traceparent`, else a new trace."""
    return parse(traceparent) or TraceContext(secrets.token_hex(16))


def parse(traceparent: str) -> TraceContext | None:
    """Parse a `traceparent`; None if it is invalid.

    Later versions are read as far as version 00 goes (Trace Context 4.3).
    """
    match = _TRACEPARENT.fullmatch(traceparent.strip())
    if match is None or match[1] == "ff" or (match[1] == "00" and match[5]):
        return None
    if set(match[2]) == {"0"} or set(match[3]) == {"0"}:
        return None
    return TraceContext(match[2], match[3], bool(int(match[4], 16) & 1), shared=True)


def trace_headers() -> dict[str, str]:
    """Return the header, or entry of MCP's `_meta`, for requests to other servers; {} for none."""
    context = current.get()
    return {"traceparent": context.traceparent} if context and context.shared else {}


_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
