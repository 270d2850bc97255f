"""Whoever a tool calls is told of the span of that call."""

from __future__ import annotations

import unittest

from ..mcp_with_rest import test_trace_context as told
from ..tracing.test_run_trace import Kept


class Spans(told.Told):
    async def test_each_call_is_a_span_of_its_own(self) -> None:
        kept = Kept()
        (rest,), (mcp,) = await self.told(told.HEADER, kept.part)
        calls = {s.name: s.context for s in kept.spans if s.name.startswith("execute_tool")}
        self.assertEqual(rest, calls["execute_tool sky_day"].traceparent)
        self.assertEqual(mcp, calls["execute_tool mcp__s__echo"].traceparent)
        self.assertEqual({context.trace_id for context in calls.values()}, {told.TRACE})
        self.assertEqual(len({told.CALLER, *(each.span_id for each in calls.values())}), 3)


if __name__ == "__main__":
    unittest.main()
