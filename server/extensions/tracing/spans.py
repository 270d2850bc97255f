"""Spans as plain values, and as the JSON of OTLP.

In that JSON (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding) ids are hex, 64-bit
numbers are strings, kinds are numbers.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...telemetry.trace_context import TraceContext

INTERNAL, CLIENT = 1, 3  # SpanKind


@dataclass
class Span:
    """One timed operation.

    Times are in nanoseconds since 1970. Attributes are strings, numbers, booleans and lists of
    strings. `error` is "" on success.
    """

    name: str
    kind: int
    context: TraceContext
    parent_id: str = ""
    start_ns: int = field(default_factory=time.time_ns)
    end_ns: int = 0
    attributes: dict[str, Any] = field(default_factory=dict)
    error: str = ""


def child(parent: TraceContext, name: str, kind: int = INTERNAL, **attributes: Any) -> Span:
    """Return a span below `parent` that begins now."""
    context = TraceContext(parent.trace_id, secrets.token_hex(8), parent.sampled, parent.shared)
    return Span(name, kind, context, parent.span_id, attributes=attributes)


def otlp(spans: Iterable[Span], resource: Mapping[str, Any], version: str) -> dict[str, Any]:
    """Return the spans as an ExportTraceServiceRequest."""
    scope = {"name": "yaa", "version": version}
    found = [{"scope": scope, "spans": [_span(span) for span in spans]}]
    about = {"attributes": _attributes(resource)}
    return {"resourceSpans": [{"resource": about, "scopeSpans": found}]}


def _span(span: Span) -> dict[str, Any]:
    status: dict[str, Any] = {"code": 2, "message": span.error} if span.error else {}
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
