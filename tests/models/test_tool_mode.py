"""Which way to offer tools is wanted, and what becomes of tools where it is not there."""

from __future__ import annotations

import unittest
from typing import Any

from server.models.tool_mode import MODES, wanted_mode, why_missing

from . import test_chat
from .fakes import STOP, answer, error, message, options, provider, said, serving, sse, tool

OFFERED = [tool("add"), tool("note")]


class Modes(unittest.TestCase):
    def test_tool_mode(self) -> None:
        cases: list[tuple[str, dict[str, Any], str]] = [
            ("auto", {}, "native"),
            ("auto", {"is_function_call": False}, "text"),
            ("auto", {"is_function_call": False, "tool_mode": "json_schema"}, "json_schema"),
            ("text", {"tool_mode": "json_schema"}, "text"),
            ("native", {"is_function_call": False}, "native"),
        ]
        for asked, changes, mode in cases:
            with self.subTest(asked=asked, **changes):
                self.assertEqual(wanted_mode(provider(**changes), options(tool_mode=asked)), mode)

    def test_why_one_is_missing(self) -> None:
        for mode in ("", "auto", "native"):
            self.assertEqual(why_missing(mode, MODES), "")
        said = "'signs' is of an extension that is not here; there are auto, native"
        self.assertEqual(why_missing("signs", MODES), said)


class Missing(test_chat.Case):
    """A model that takes no tools, and no mode that offers them in words."""

    async def test_it_answers_without_tools_and_says_so(self) -> None:
        refusal = error("400 No", "gemma3 does not support tools")
        hey = answer(sse(said("hey"), STOP))
        for scripts, changes in (
            ((refusal, hey), {}),
            ((hey,), {"is_function_call": False}),
            ((hey,), {"tool_mode": "json_schema"}),
        ):
            async with serving(*scripts) as server:
                api = self.api(server, **changes)
                made = message(await self.collect(api, tools=OFFERED))
                again = message(await self.collect(api, tools=OFFERED))
            with self.subTest(**changes):
                self.assertEqual(made["content"], "hey")
                offered = ["tools" in each.json for each in server.requests]
                self.assertEqual(offered, [False] * 2 if changes else [True, False, False])
                (warning,) = made["meta"]["warnings"]
                self.assertEqual(warning["code"], "tool_refused")
                wanted = "main takes no tools, so 2 are left out: add, note. The tool mode 'text' "
                self.assertTrue(warning["message"].startswith(wanted), warning)
                self.assertNotIn("warnings", again["meta"])

    async def test_nothing_is_said_where_none_is_offered(self) -> None:
        async with serving(answer(sse(said("hey"), STOP))) as server:
            made = message(await self.collect(self.api(server, is_function_call=False)))
        self.assertNotIn("warnings", made["meta"])


if __name__ == "__main__":
    unittest.main()
