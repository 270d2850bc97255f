"""The same as tests/chaos/test_masking.py with traces: not one secret is in their file, or sent to
whoever takes them."""

from __future__ import annotations

import json
import re
import unittest
from pathlib import Path
from typing import Any

from ....chaos import test_masking
from ..test_exporter import Receiver, attributes, spans_in


class Traced(test_masking.Walk):
    def more(self) -> dict[str, Any]:
        self.receiver = Receiver()
        self.addCleanup(self.receiver.close)
        return {"tracing": {"url": self.receiver.url, "content": True, "file": "traces.jsonl"}}

    def written(self, home: Path) -> dict[str, str]:
        (file,) = home.glob("logs/traces.jsonl")
        self.traced = file.read_text()
        sent = json.dumps([body for *_, body in self.receiver.requests])
        return {"file": self.traced, "traces": sent}

    def check(self, model: test_masking.Model, runs: int) -> None:
        """All runs in the trace of their request, and the provider is told of it."""
        self.assertGreaterEqual(len(self.receiver.spans()), 4 * runs)
        found = [s for line in self.traced.splitlines() for s in spans_in(json.loads(line))]
        self.assertEqual({span["traceId"] for span in found}, {test_masking.TRACE})
        chats = {s["spanId"]: attributes(s) for s in found if s["name"] == "chat m"}
        parents = [re.fullmatch(r"00-(\w+)-(\w+)-01", h["traceparent"]) for h in model.headers]
        self.assertEqual({m[2] for m in parents if m}, set(chats))
        self.assertTrue(all("gen_ai.input.messages" in each for each in chats.values()))


if __name__ == "__main__":
    unittest.main()
