"""Spans as the JSON of OTLP."""

from __future__ import annotations

import unittest

from server.extensions.tracing import spans
from server.telemetry.trace_context import TraceContext

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


class Otlp(unittest.TestCase):
    def test_a_request(self) -> None:
        parent = TraceContext(TRACE, SPAN)
        span = spans.child(parent, "chat m", spans.CLIENT, n=1, f=0.5, b=True, s="é", a=["x", "y"])
        span.start_ns, span.end_ns, span.error = 5, 3, "boom"
        (resource,) = spans.otlp([span], {"service.name": "yaa"}, "1")["resourceSpans"]
        (told,) = resource["scopeSpans"][0]["spans"]
        self.assertEqual(told.pop("spanId"), span.context.span_id)
        self.assertEqual(
            told,
            {
                "traceId": TRACE,
                "parentSpanId": SPAN,
                "flags": 1,
                "name": "chat m",
                "kind": 3,
                "startTimeUnixNano": "5",
                "endTimeUnixNano": "5",
                "attributes": [
                    {"key": "n", "value": {"intValue": "1"}},
                    {"key": "f", "value": {"doubleValue": 0.5}},
                    {"key": "b", "value": {"boolValue": True}},
                    {"key": "s", "value": {"stringValue": "é"}},
                    {
                        "key": "a",
                        "value": {
                            "arrayValue": {"values": [{"stringValue": "x"}, {"stringValue": "y"}]}
                        },
                    },
                ],
                "status": {"code": 2, "message": "boom"},
            },
        )


if __name__ == "__main__":
    unittest.main()
