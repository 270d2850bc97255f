"""A tool whose schema a provider refuses is set aside, and the run goes on with the others."""

from __future__ import annotations

import unittest
from typing import Any

from server.json_types import Event
from server.lib.http.client import Client
from server.models.chat import OpenAIAPI
from server.models.quirks import MOST_UNFIT, EndpointState, unfit_tool

from .fakes import FakeTime, answer, error, message, options, provider, said, serving, sse, tool

ASK: Any = [{"id": "u1", "role": "user", "content": "go"}]
GOOD = answer(sse(said("yes"), said("", "stop")))
NAMES = ("read", "mcp__m__list", "write")
# (what providers said, the tool that it is about)
SAID = (
    ("Invalid schema for function 'mcp__m__list': schema must be an object", "mcp__m__list"),
    ("Invalid schema for function \"write\": {'type': 'null'} is not valid", "write"),
    ("Invalid 'tools[1].function.parameters': expected a type", "mcp__m__list"),
    ("tools.2.custom.input_schema: JSON schema is invalid", "write"),
    (
        "* GenerateContentRequest.tools[0].function_declarations[2].parameters.properties: no type",
        "write",
    ),
    ("Invalid schema for function 'elsewhere'", ""),
    ("Invalid schema for response_format 'answer'", ""),
    ("tools[7].function.parameters: wrong", ""),
    ("The function 'write' is not known", ""),
    ("no", ""),
)


def refusal(name: str) -> bytes:
    return error("400 No", f"Invalid schema for function '{name}': no type")


class Named(unittest.TestCase):
    def test_which_tool_a_refusal_is_about(self) -> None:
        chat = [{"type": "function", "function": {"name": name}} for name in NAMES]
        flat = [{"name": name, "input_schema": {}} for name in NAMES]
        for words, name in SAID:
            for tools in (chat, flat):
                with self.subTest(words):
                    self.assertEqual(unfit_tool(words.encode(), {"tools": tools}), name)
            self.assertEqual(unfit_tool(words.encode(), {}), "")


class Unfit(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        self.client = Client()
        self.peer = EndpointState(FakeTime())
        self.addAsyncCleanup(self.client.close)

    async def run_with(self, names: Any, *scripts: Any) -> tuple[list[Any], list[list[Event]]]:
        """Return the requests' tools, and the events of two runs with a server of these answers."""
        runs = []
        async with serving(*scripts) as server:
            for _ in range(2):
                api = OpenAIAPI(provider(server.url), self.client, self.peer)
                source = api.stream(ASK, [tool(name) for name in names], options())
                runs.append([event async for event in source])
        asked = [[t["function"]["name"] for t in r.json.get("tools", ())] for r in server.requests]
        return asked, runs

    async def test_the_others_go_on_and_it_is_said_in_each_run(self) -> None:
        asked, runs = await self.run_with(NAMES, refusal("write"), refusal("read"), GOOD)
        self.assertEqual(asked, [[*NAMES], [*NAMES[:2]], [NAMES[1]], [NAMES[1]]])
        for events in runs:
            meta = message(events)["meta"]
            self.assertEqual(
                sorted((each["code"], each["tool"]) for each in meta["warnings"]),
                [("tool_refused", "read"), ("tool_refused", "write")],
            )
            self.assertIn("Invalid schema", meta["warnings"][0]["message"])

    async def test_names_that_providers_do_not_accept(self) -> None:
        asked, runs = await self.run_with(["fs.read"], error("400 No", "tools[0] schema"), GOOD)
        self.assertEqual([len(each) for each in asked], [1, 0, 0])
        self.assertEqual(message(runs[1])["meta"]["warnings"][0]["tool"], "fs.read")

    async def test_a_refusal_that_stays_is_told_and_nothing_is_kept(self) -> None:
        asked, runs = await self.run_with(["read"], refusal("read"), error("400 No", "other"))
        self.assertEqual([len(each) for each in asked], [1, 0, 1])
        self.assertIn("other", runs[0][-1]["message"])
        self.assertEqual(self.peer.lessons, {"m-1": {}})

    async def test_more_tools_than_a_provider_takes(self) -> None:
        """The first of them are sent from then on; that is said once in a run, with names."""
        for words in (
            "Invalid 'tools': array too long. Expected an array with maximum length 12, but got an"
            " array with length 15 instead.",
            "'tools' : maximum number of items is 12",
            "Maximum tools limit reached: 15 tools provided, limit is 12",
            "at most 12 function declarations may be given",
            "too many tools: 15 > 12",
        ):
            self.peer = EndpointState(FakeTime())
            names = [f"tool_{number}" for number in range(15)]
            asked, runs = await self.run_with(names, error("400 No", words), GOOD)
            with self.subTest(words):
                self.assertEqual(asked, [names, names[:12], names[:12]])
                for events in runs:
                    [warning] = message(events)["meta"]["warnings"]
                    self.assertEqual(warning["code"], "tool_refused")
                    self.assertIn("takes 12 tools, so 3 are left out: tool_12", warning["message"])

    async def test_how_many(self) -> None:
        names = [f"tool_{number}" for number in range(MOST_UNFIT + 2)]
        asked, runs = await self.run_with(names, *map(refusal, names), GOOD)
        self.assertEqual(len(asked[MOST_UNFIT]), 2)
        self.assertIn("tool_16", runs[0][-1]["message"])


if __name__ == "__main__":
    unittest.main()
