"""Ids of sources: the same wherever they are computed, and never twice in a session."""

from __future__ import annotations

import unittest
from typing import Any

from server.tools.sources import source_id


def session(*names: str, states: dict[str, str] | None = None) -> Any:
    calls = [{"id": f"c{n}", "function": {"name": name}} for n, name in enumerate(names)]
    messages = [
        {"role": "user", "content": "?"},
        {"role": "assistant", "tool_calls": calls[:2]},
        {"role": "tool", "tool_call_id": "c0"},
        {"role": "assistant", "tool_calls": calls[2:]},
        {"role": "assistant", "tool_calls": None},
    ]
    return {"messages": messages, "calls": {k: {"state": v} for k, v in (states or {}).items()}}


class Ids(unittest.TestCase):
    def test_calls_that_bring_sources_are_numbered(self) -> None:
        made = session("web_search", "calculator", "fetch_url", "web_search")
        ids = [source_id(made, f"c{n}", 1) for n in (0, 2, 3)]
        self.assertEqual(ids, ["s1.1", "s2.1", "s3.1"])
        self.assertEqual(source_id(made, "c3", 12), "s3.12")

    def test_a_call_that_no_message_has(self) -> None:
        self.assertEqual(source_id(session(), "x", 1), "s1.1")
        self.assertEqual(source_id(session("web_search"), "x", 1), "s2.1")
