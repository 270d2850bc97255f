"""Models that write their calls as text, from the request to the message, by each API."""

from __future__ import annotations

import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server import extensions
from server.app import App
from server.config import ConfigError, load
from server.errors import Problem
from server.lib.http.client import Client
from server.models.registry import Models
from server.models.tool_mode import MODES
from server.models.vendors import DiscoveredProviders

from ...models import test_adapter, test_chat, test_http_model
from ...models.fakes import (
    KEY,
    STOP,
    answer,
    check_brackets,
    error,
    message,
    options,
    said,
    serving,
    sse,
    tool,
)
from ...models.speakers import SPEAKERS

EVERY = {**MODES, **extensions.tool_modes(("text_tools",))}


class ByChat(test_chat.Case):
    modes = EVERY

    async def test_text_modes_end_to_end(self) -> None:
        add = tool("add", {"a": {"type": "integer"}})
        cases = {
            "text": "<add><a>1</a></add>",
            "json_schema": '{"tool": "add", "arguments": {"a": 1}}',
        }
        for mode, text in cases.items():
            script = answer(sse(*(said(c) for c in "so: " * (mode == "text") + text), STOP))
            async with serving(script) as server:
                with self.subTest(mode):
                    events = await self.collect(self.api(server), tools=[add], tool_mode=mode)
                    made = message(events)
                    (call,) = made["tool_calls"]
                    self.assertEqual(json.loads(call["function"]["arguments"]), {"a": 1})
                    self.assertEqual(made["content"], "so: " * (mode == "text"))
                    sent = server.requests[0].json
                    self.assertNotIn("tools", sent)
                    self.assertEqual("response_format" in sent, mode == "json_schema")
                    self.assertIn("add", sent["messages"][0]["content"])

    async def test_a_call_as_text_by_the_name_that_the_model_was_told(self) -> None:
        text = "Adding.\n\n<function=add_up_9a025be0>\n<parameter=a>\n1\n</parameter>\n</function>"
        add = tool("add.up", {"a": {"type": "integer"}})
        async with serving(answer(sse(said(text), STOP))) as server:
            events = await self.collect(self.api(server), tools=[add])
            (told,) = server.requests[0].json["tools"]
        self.assertIn(told["function"]["name"], text)
        made = message(events)
        self.assertEqual(made["content"], text)
        (call,) = made["tool_calls"]
        self.assertEqual(call["function"], {"name": "add.up", "arguments": '{"a":1}'})

    async def test_one_call_by_every_way_it_may_come(self) -> None:
        """Native or as text, in deltas or in one piece: the same message comes of it."""
        add = tool("add", {"a": {"type": "integer"}})
        native = [{"index": 0, "id": "c1", "function": {"name": "add", "arguments": '{"a": 1}'}}]
        texts = {
            "native": '{"name": "add", "arguments": {"a": 1}}',  # a small model's, rescued
            "text": "<add><a>1</a></add>",
            "json_schema": '{"tool": "add", "arguments": {"a": 1}}',
        }
        ways: list[tuple[str, dict[str, Any]]] = [
            ("native", {"content": None, "tool_calls": native})
        ]
        ways += [(mode, {"content": text}) for mode, text in texts.items()]
        ways += [("text", {"content": '<ACTION>{"name": "add", "arguments": {"a": 1}}</ACTION>'})]
        for mode, delta in ways:
            for stream in (True, False):
                with self.subTest(mode, stream=stream, delta=delta):
                    whole = {"choices": [{"message": delta, "finish_reason": "stop"}]}
                    pieces = [delta]
                    if isinstance(text := delta["content"], str):
                        pieces = [{"content": character} for character in text]
                    deltas = [{"choices": [{"index": 0, "delta": each}]} for each in pieces]
                    script = answer(sse(*deltas, STOP))
                    if not stream:
                        script = answer(json.dumps(whole).encode(), kind="application/json")
                    async with serving(script) as server:
                        asked = {"tools": [add], "tool_mode": mode, "stream": stream}
                        events = await self.collect(self.api(server), **asked)
                    self.assertEqual(check_brackets(events), [])
                    (call,) = message(events)["tool_calls"]
                    self.assertEqual(call["function"]["name"], "add")
                    self.assertEqual(json.loads(call["function"]["arguments"]), {"a": 1})
                    self.assertEqual(
                        events[-1]["metadata"]["yaa"]["meta"]["finish_reason"], "tool_calls"
                    )

    async def test_a_fenced_answer_is_told_delta_by_delta(self) -> None:
        """Nothing is guessed from a first character: a code block streams like any text."""
        said_so = ["```", "json\n", "{", '"a"', ": 1", "}", "\n", "```", "\n", " so"]
        for mode in ("native", "text", "json_schema"):
            for tools in ([], [tool("add", {"a": {"type": "integer"}})]):
                async with serving(answer(sse(*(said(each) for each in said_so), STOP))) as server:
                    with self.subTest(mode, tools=tools):
                        asked = {"tools": tools, "tool_mode": mode}
                        events = await self.collect(self.api(server), **asked)
                        deltas = [e["delta"] for e in events if "delta" in e]
                        self.assertEqual(deltas, said_so)

    async def test_an_answer_in_marked_parts(self) -> None:
        """In pieces of any size: thoughts are reasoning, a question is a call, marks are gone."""
        text = "<THINK>Hm 1 < 2?</THINK>\n<ANSWER>Two.</ANSWER>\n<ASK>Which one?</ASK>"
        for size in (1, 2, 5, 100):
            pieces = [said(text[at : at + size]) for at in range(0, len(text), size)]
            for tools in ([], [tool("ask_user", {"question": {"type": "string"}})]):
                async with serving(answer(sse(*pieces, STOP))) as server:
                    asked = {"tools": tools, "tool_mode": "text"}
                    events = await self.collect(self.api(server), **asked)
                with self.subTest(size=size, tools=tools):
                    self.assertEqual(check_brackets(events), [])
                    found = message(events)
                    self.assertEqual(found["reasoning"]["text"], "Hm 1 < 2?")
                    calls = [call["function"] for call in found.get("tool_calls", ())]
                    if tools:
                        self.assertEqual(found["content"], "\nTwo.\n")
                        question = {"name": "ask_user", "arguments": '{"question":"Which one?"}'}
                        self.assertEqual(calls, [question])
                    else:
                        self.assertEqual((found["content"], calls), ("\nTwo.\nWhich one?", []))


class Adapters(test_adapter.Case):
    async def test_an_adapter_without_function_calling_writes_calls_as_text(self) -> None:
        api = test_adapter.Gives(lambda sent: "no" if "tools" in sent else "<t></t>")
        api.is_function_call = False
        (call,) = [e for e in await self.events(api) if e["type"] == "TOOL_CALL_START"]
        self.assertEqual(call["toolCallName"], "t")


class Formats(unittest.TestCase):
    def test_the_format_of_answers_holds_where_no_tools_are_offered(self) -> None:
        asked = options(response_format={"type": "json_object"})
        mode = EVERY["json_schema"]
        self.assertEqual(mode.response_format([], asked), {"type": "json_object"})
        made = mode.response_format([tool("f")], asked)
        assert made is not None
        self.assertEqual(made["type"], "json_schema")
        self.assertEqual(EVERY["text"].response_format([tool("f")], asked), {"type": "json_object"})


class ByEachApi(test_http_model.Case):
    modes = EVERY

    async def test_a_call_in_the_text(self) -> None:
        """Only Chat Completions lets one through; the other APIs' texts quote it. A model that was
        told to write its calls means them everywhere."""
        text = '{"name": "add", "arguments": {}}'
        for speaker in SPEAKERS:
            for mode in ("native", "text"):
                async with serving(answer(speaker.stream([("text", [text])]))) as server:
                    api = self.api(speaker, server)
                    events = await self.collect(api, tools=[tool("add")], tool_mode=mode)
                made = message(events)
                meant = speaker.api == "chat" or mode == "text"
                self.assertEqual(bool(made.get("tool_calls")), meant, (speaker.api, mode))
                self.assertEqual(made["content"], text)

    async def test_a_model_that_knows_no_tools_is_told_of_them_in_words(self) -> None:
        """The first thing many see: a model that Ollama has, and that has no tools."""
        add = tool("add", {"a": {"type": "integer"}})
        for status, words in (
            ("400 No", "registry.ollama.ai/library/gemma3:latest does not support tools"),
            ("404 No", "No endpoints found that support tool use."),
            ("400 No", '"auto" tool choice requires --enable-auto-tool-choice'),
            ("500 No", "tools param requires --jinja flag"),
            ("400 No", "`tools` is not supported with this model"),
            ("400 No", "Function calling is not enabled for models/gemma-3"),
            ("400 No", "This model doesn't support tool use in streaming mode."),
        ):
            refusal = error(status, words)
            for speaker in SPEAKERS:
                said = answer(speaker.stream([("text", ["<add><a>1", "</a></add>"])]))
                async with serving(refusal, said, said, refusal) as server:
                    api = self.api(speaker, server)
                    for _ in range(2):
                        made = message(await self.collect(api, tools=[add]))
                        (call,) = made["tool_calls"]
                        self.assertEqual(json.loads(call["function"]["arguments"]), {"a": 1})
                    with self.subTest(speaker.api, status=status):
                        offered = ["tools" in each.json for each in server.requests]
                        self.assertEqual(offered, [True, False, False])
                        (end,) = await self.collect(api)  # without tools it is a refusal like any
                        self.assertEqual(end["code"], "upstream_error")

    async def test_text_tool_modes(self) -> None:
        add = tool("add", {"a": {"type": "integer"}})
        said = {"text": "<add><a>1</a></add>"}
        said["json_schema"] = '{"tool": "add", "arguments": {"a": 1}}'
        for speaker in SPEAKERS:
            for mode, text in said.items():
                async with serving(answer(speaker.stream([("text", list(text))]))) as server:
                    api = self.api(speaker, server)
                    made = message(await self.collect(api, tools=[add], tool_mode=mode))
                with self.subTest(speaker.api, mode=mode):
                    (call,) = made["tool_calls"]
                    self.assertEqual(json.loads(call["function"]["arguments"]), {"a": 1})
                    self.assertNotIn("tools", server.requests[0].json)


class WhereItIsNotNamed(unittest.TestCase):
    """What is configured or asked for, and is not there, is refused by its name."""

    says = "'text' needs the extension text_tools, which server.extensions leaves out"

    def models(self, *names: str, **server: Any) -> Models:
        return Models({**server, "extensions": names}, Client(), {})

    def test_it_is_no_choice(self) -> None:
        self.assertEqual([*self.models().choices["tool_mode"]], ["native"])
        every = ["native", "json_schema", "text"]
        self.assertEqual([*self.models("text_tools").choices["tool_mode"]], every)

    def test_a_provider_of_the_server(self) -> None:
        own = {"api_url": "http://h", "api_key": KEY}
        for entry in (
            {**own, "tool_mode": "text"},
            {**own, "models": ["a", {"name": "b", "tool_mode": "text"}]},
        ):
            with self.subTest(entry), self.assertRaises(ConfigError) as caught:
                self.models(providers={"main": entry})
            self.assertIn(f"server.providers.main.tool_mode: {self.says}", str(caught.exception))
            self.models("text_tools", providers={"main": entry})

    def test_the_default_of_sessions(self) -> None:
        session = {"config": {"yaa": {"tool_mode": "text"}}}
        with tempfile.TemporaryDirectory() as folder:
            for names in ([], ["text_tools"]):
                given = {"session": session, "server": {"extensions": names}}
                (Path(folder) / "config.json").write_text(json.dumps(given))
                config = load(Path(folder), None, {}, {})
                if names:
                    App(config, {})
                    continue
                with self.assertRaises(ConfigError) as caught:
                    App(config, {})
                said = f"session.config.yaa.tool_mode: {self.says}"
                self.assertIn(said, str(caught.exception))

    def test_a_sessions_own_provider(self) -> None:
        wanted = {"api_url": "https://h.example", "api_key": KEY, "model_name": "m"}
        rules = {"client_providers": {"allow": True, "hosts": ["*"]}}
        with self.assertRaises(Problem) as caught:
            self.models(**rules).resolve({**wanted, "tool_mode": "text"})
        self.assertEqual(caught.exception.detail, self.says)
        self.models("text_tools", **rules).resolve({**wanted, "tool_mode": "text"})

    def test_a_session(self) -> None:
        config = {"yaa": {"tool_mode": "text"}}
        with self.assertRaises(Problem) as caught:
            self.models().check_session(config)
        self.assertEqual(caught.exception.code, "session_invalid")
        (misfit,) = caught.exception.errors
        self.assertEqual(
            (misfit["pointer"], misfit["detail"]), ("/config/yaa/tool_mode", self.says)
        )
        self.assertEqual(self.models("text_tools").check_session(config), [])
        for mode in ("auto", "native"):
            self.assertEqual(self.models().check_session({"yaa": {"tool_mode": mode}}), [])

    def test_a_found_one_is_used_without_tools(self) -> None:
        entry = {"tool_mode": "json_schema", "api_url": "http://h/v1"}
        made = Models({"extensions": []}, Client(), {}, DiscoveredProviders({"local": entry}))
        self.assertEqual(made.names(), ["local"])


if __name__ == "__main__":
    unittest.main()
