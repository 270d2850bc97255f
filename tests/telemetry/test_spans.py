"""W3C trace context, and spans as the JSON of OTLP."""

from __future__ import annotations

import unittest

from server.telemetry import tracing

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


class TraceContext(unittest.TestCase):
    def test_what_is_read(self) -> None:
        for text, sampled in (
            (f"00-{TRACE}-{SPAN}-01", True),
            (f"00-{TRACE}-{SPAN}-00", False),
            (f" 00-{TRACE}-{SPAN}-03 ", True),
            (f"cc-{TRACE}-{SPAN}-01-what-comes-later", True),
        ):
            with self.subTest(text=text):
                found = tracing.parse(text)
                assert found is not None
                self.assertEqual((found.trace_id, found.span_id), (TRACE, SPAN))
                self.assertEqual((found.sampled, found.shared), (sampled, True))

    def test_what_is_refused(self) -> None:
        for text in (
            "",
            "garbage",
            f"00-{TRACE}-{SPAN}",
            f"00-{TRACE}-{SPAN}-01-x",
            f"ff-{TRACE}-{SPAN}-01",
            f"00-{'0' * 32}-{SPAN}-01",
            f"00-{TRACE}-{'0' * 16}-01",
            f"00-{TRACE}-{SPAN.upper()}-01",
            f"00-{TRACE[1:]}-{SPAN}-01",
            f"00-{TRACE}-{SPAN}-1",
            f"00-{TRACE}-{SPAN}-01\r\nx: y",
        ):
            with self.subTest(text=text):
                self.assertIsNone(tracing.parse(text))
                self.assertRegex(tracing.begin(text).trace_id, "^[0-9a-f]{32}$")
                self.assertFalse(tracing.begin(text).shared)

    def test_only_a_trace_of_others_or_ours_is_passed_on(self) -> None:
        for context, expected in (
            (None, {}),
            (tracing.TraceContext(TRACE, SPAN), {}),
            (
                tracing.TraceContext(TRACE, SPAN, shared=True),
                {"traceparent": f"00-{TRACE}-{SPAN}-01"},
            ),
        ):
            token = tracing.current.set(context)
            self.addCleanup(tracing.current.reset, token)
            self.assertEqual(tracing.trace_headers(), expected)
            self.doCleanups()


class Otlp(unittest.TestCase):
    def test_a_request(self) -> None:
        parent = tracing.TraceContext(TRACE, SPAN)
        span = tracing.child(
            parent, "chat m", tracing.CLIENT, n=1, f=0.5, b=True, s="é", a=["x", "y"]
        )
        span.start_ns, span.end_ns, span.error = 5, 3, "boom"
        (resource,) = tracing.otlp([span], {"service.name": "yaa"}, "1")["resourceSpans"]
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
