"""Spans as plain values, W3C trace context, and the JSON of OTLP.

https://www.w3.org/TR/trace-context/ (`traceparent`). In the JSON of OTLP
(https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding) ids are hex, 64-bit numbers are
strings, kinds are numbers. telemetry/trace.py makes the spans, telemetry/otlp.py sends them.
"""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple

INTERNAL, CLIENT = 1, 3  # SpanKind
OK, ERROR = 1, 2  # Status.code


class Context(NamedTuple):
    """A position in a trace.

    `span_id` is "" at the root. `told`: whether the trace may be passed on to other servers,
    because the caller sent it or it is exported.
    """

    trace_id: str
    span_id: str = ""
    sampled: bool = True
    told: bool = False

    @property
    def traceparent(self) -> str:
        """Return the value of the header `traceparent`."""
        return f"00-{self.trace_id}-{self.span_id}-{'01' if self.sampled else '00'}"


current: ContextVar[Context | None] = ContextVar("yaa_trace", default=None)


def begin(traceparent: str = "") -> Context:
    """Return the context of a request: that of its `traceparent`, else a new trace."""
    return parse(traceparent) or Context(secrets.token_hex(16))


def parse(traceparent: str) -> Context | None:
    """Parse a `traceparent`; None if it is invalid.

    Later versions are read as far as version 00 goes (Trace Context 4.3).
    """
    match = _TRACEPARENT.fullmatch(traceparent.strip())
    if match is None or match[1] == "ff" or (match[1] == "00" and match[5]):
        return None
    if set(match[2]) == {"0"} or set(match[3]) == {"0"}:
        return None
    return Context(match[2], match[3], bool(int(match[4], 16) & 1), told=True)


def outgoing() -> dict[str, str]:
    """Return the header, or entry of MCP's `_meta`, for requests to other servers; {} for none."""
    context = current.get()
    return {"traceparent": context.traceparent} if context and context.told else {}


_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")


@dataclass
class Span:
    """One timed operation.

    Times are in nanoseconds since 1970. Attributes are strings, numbers, booleans and lists of
    strings. `error` is "" on success.
    """

    name: str
    kind: int
    context: Context
    parent_id: str = ""
    start_ns: int = field(default_factory=time.time_ns)
    end_ns: int = 0
    attributes: dict[str, Any] = field(default_factory=dict)
    error: str = ""


def child(parent: Context, name: str, kind: int = INTERNAL, **attributes: Any) -> Span:
    """Return a span below `parent` that begins now."""
    context = Context(parent.trace_id, secrets.token_hex(8), parent.sampled, parent.told)
    return Span(name, kind, context, parent.span_id, attributes=attributes)


def otlp(spans: Iterable[Span], resource: Mapping[str, Any], version: str) -> dict[str, Any]:
    """Return the spans as an ExportTraceServiceRequest."""
    scope = {"name": "yaa", "version": version}
    found = [{"scope": scope, "spans": [_span(span) for span in spans]}]
    about = {"attributes": _attributes(resource)}
    return {"resourceSpans": [{"resource": about, "scopeSpans": found}]}


def _span(span: Span) -> dict[str, Any]:
    status: dict[str, Any] = {"code": ERROR, "message": span.error} if span.error else {}
    return {
        "traceId": span.context.trace_id,
        "spanId": span.context.span_id,
        **({"parentSpanId": span.parent_id} if span.parent_id else {}),
        "flags": int(span.context.sampled),
        "name": span.name,
        "kind": span.kind,
        "startTimeUnixNano": str(span.start_ns),
        "endTimeUnixNano": str(max(span.end_ns, span.start_ns)),
        "attributes": _attributes(span.attributes),
        "status": status,
    }


def _attributes(values: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _any(value)} for key, value in values.items()]


def _any(value: Any) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case list() | tuple():
            return {"arrayValue": {"values": [_any(item) for item in value]}}
        case str():
            return {"stringValue": value}
    return {"stringValue": json.dumps(value, ensure_ascii=False)}
