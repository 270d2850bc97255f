"""W3C trace context: what is read, and to whom it is passed on."""

from __future__ import annotations

import unittest

from server.telemetry import trace_context

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
                found = trace_context.parse(text)
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
                self.assertIsNone(trace_context.parse(text))
                self.assertRegex(trace_context.begin(text).trace_id, "^[0-9a-f]{32}$")
                self.assertFalse(trace_context.begin(text).shared)

    def test_only_a_trace_of_others_or_ours_is_passed_on(self) -> None:
        for context, expected in (
            (None, {}),
            (trace_context.TraceContext(TRACE, SPAN), {}),
            (
                trace_context.TraceContext(TRACE, SPAN, shared=True),
                {"traceparent": f"00-{TRACE}-{SPAN}-01"},
            ),
        ):
            token = trace_context.current.set(context)
            self.addCleanup(trace_context.current.reset, token)
            self.assertEqual(trace_context.trace_headers(), expected)
            self.doCleanups()


if __name__ == "__main__":
    unittest.main()
