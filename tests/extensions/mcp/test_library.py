"""Resources and prompts of MCP servers: real processes of both eras, honest and hostile."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import os
import signal
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any

from server.errors import Problem
from server.extensions.mcp.library import MAX_SHOWN, McpLibrary
from server.extensions.mcp.servers import McpServers, McpTool
from server.lib.http.client import Client

from .test_servers import eventually

SCRIPT = str(Path(__file__).parents[2] / "tools" / "mcp_library.py")
LIMITS = {"wall_s": 20.0, "output_kb": 64.0}


class Case(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.tools: dict[str, McpTool] = {}

    async def start(self, *manners: str, **more: Any) -> McpLibrary:
        """The library of one server `s`, started."""
        self.notes = self.folder / f"notes{len(list(self.folder.iterdir()))}"
        hold_s, home = more.pop("hold_s", 600), more.pop("home", None)
        entry = {"command": sys.executable, "args": [SCRIPT, str(self.notes), *manners], **more}
        client = Client()
        self.addAsyncCleanup(client.close)
        self.servers = McpServers({"s": entry}, client, hold_s=hold_s, home=home)
        library = McpLibrary(self.servers)
        self.addAsyncCleanup(library.close)

        def found(_: str, listed: list[McpTool]) -> None:
            self.tools = {tool.name: tool for tool in listed}

        await self.servers.load(found)
        return library

    def noted(self, beginning: str = "") -> list[str]:
        lines = self.notes.read_text().splitlines()
        return [line for line in lines if line.startswith(beginning)]

    async def refused(self, reading: Any) -> str:
        with self.assertRaises(Problem) as caught:
            await reading
        return caught.exception.detail


class Lists(Case):
    async def test_all_pages_of_both_eras(self) -> None:
        for era in ("modern", "legacy"):
            with self.subTest(era):
                library = await self.start(era)
                [about] = await library.lists("resources", "templates")
                self.assertEqual(about["name"], "s")
                uris = [entry["uri"] for entry in about["resources"]]
                self.assertEqual(uris, ["note:///one", "note:///pixel", "note:///größe"])
                self.assertEqual(about["resources"][1]["title"], "A pixel")
                self.assertEqual(about["resources"][2]["size"], 12)
                [template] = about["templates"]
                self.assertEqual(template, {"uriTemplate": "note:///{id}", "name": "by id"})
                [about] = await library.lists("prompts")
                what = {"name": "what", "required": True}
                tone = {"name": "tone", "required": False}
                reviewed = {"name": "review", "title": "Review it", "arguments": [what, tone]}
                self.assertEqual(about["prompts"], [reviewed, {"name": "plain", "arguments": []}])
                self.assertEqual(self.servers.problems, [])

    async def test_a_list_is_kept_until_it_changes(self) -> None:
        for era in ("modern", "legacy"):
            with self.subTest(era):
                library = await self.start(era)
                for _ in range(3):
                    await library.lists("resources")
                    await library.lists("prompts")
                self.assertEqual(len(self.noted("resources/list ")), 2, "one for each page")
                await library.read("s", "note:///one")
                tool = self.tools["mcp__s__grow"]
                await self.servers.call(tool, {}, None, LIMITS, lambda _: None)
                [about] = await library.lists("resources")
                self.assertEqual(about["resources"][-1]["name"], "grown")
                self.assertGreater(about["resources"][0]["updated"], 1.6e12)
                [about] = await library.lists("prompts")
                self.assertEqual(about["prompts"][-1]["name"], "grown")

    async def test_what_was_read_is_subscribed_to_once(self) -> None:
        library = await self.start("legacy")
        for _ in range(3):
            await library.read("s", "note:///one")
        self.assertEqual(
            self.noted("resources/subscribe"), ['resources/subscribe {"uri": "note:///one"}']
        )
        library = await self.start("modern")
        for uri in ("note:///one", "note:///one", "note:///two"):
            await library.read("s", uri)
        await eventually(lambda: len(self.noted("subscriptions/listen")) == 3)
        last = json.loads(self.noted("subscriptions/listen")[-1].partition(" ")[2])
        self.assertEqual(
            last["notifications"],
            {
                **dict.fromkeys(
                    ("toolsListChanged", "resourcesListChanged", "promptsListChanged"), True
                ),
                "resourceSubscriptions": ["note:///one", "note:///two"],
            },
        )

    async def test_entries_that_cannot_be_used(self) -> None:
        library = await self.start("legacy", "odd")
        [about] = await library.lists("resources", "templates")
        self.assertEqual(
            [entry["uri"] for entry in about["resources"]],
            ["note:///one", "note:///pixel", "note:///größe", "note:///sly", "note:///bare"],
        )
        self.assertEqual(about["resources"][0]["name"], "one", "the first of two is kept")
        self.assertEqual(about["resources"][3], {"uri": "note:///sly", "name": "sly[2J name"})
        self.assertEqual(about["resources"][4], {"uri": "note:///bare", "name": "note:///bare"})
        self.assertEqual(about["left_out"], 9)
        [about] = await library.lists("prompts")
        self.assertEqual([each["name"] for each in about["prompts"]], ["review", "plain"])

    async def test_lists_without_an_end(self) -> None:
        library = await self.start("legacy", "endless")
        [about] = await library.lists("resources")
        self.assertEqual(len(about["resources"]), 100, "pages")
        library = await self.start("legacy", "circle")
        [about] = await library.lists("resources")
        self.assertEqual(len(about["resources"]), 3)
        lost = "what follows page 1 of its resources is missing: its list of resources"
        self.assertEqual(about["problem"], f"{lost} goes in a circle")

    async def test_a_server_that_refuses(self) -> None:
        library = await self.start("legacy", "refusing")
        [about] = await library.lists("prompts")
        self.assertEqual(about, {"name": "s", "problem": "go away"})
        self.assertIn("go away", await self.refused(library.read("s", "note:///one")))

    async def test_a_server_that_ends(self) -> None:
        library = await self.start("legacy")
        await library.lists("resources")
        os.kill(int(self.noted("start")[-1].split()[1]), signal.SIGKILL)
        [server] = self.servers.all()
        await eventually(lambda: not server.peer.link.alive)
        [content] = await library.read("s", "note:///one")
        self.assertEqual(content["text"], "content of note:///one", "it was started again")

    async def test_several_at_once_make_one_list(self) -> None:
        library = await self.start("legacy")
        found = await asyncio.gather(*(library.lists("resources") for _ in range(10)))
        self.assertTrue(all(each == found[0] for each in found))
        self.assertEqual(len(self.noted("resources/list ")), 2)


class Read(Case):
    async def test_text_and_bytes(self) -> None:
        library = await self.start("modern", "slow")
        [content] = await library.read("s", "note:///größe")
        self.assertEqual(content["text"], "content of note:///größe")
        [content] = await library.read("s", "note:///pixel")
        self.assertEqual(base64.b64decode(content["blob"]), b"\x89PNG pixel")
        many = await library.read("s", "note:///many")
        self.assertEqual(many[0], {"uri": "note:///many", "text": "a"}, "its own URI is no URI")
        self.assertEqual(many[1], {"uri": "note:///many", "blob": "YQ=="})

    async def test_what_cannot_be_read(self) -> None:
        library = await self.start("modern")
        self.assertIn(
            "Resource not found", await self.refused(library.read("s", "note:///missing"))
        )
        self.assertIn("no content", await self.refused(library.read("s", "note:///empty")))
        self.assertIn("no MCP server", await self.refused(library.read("t", "note:///one")))
        odd: list[Any] = ["", "one", "a b:c", "x:\u202e", "x:\n", "x:" + "y" * 3000, 5, None, {}]
        for uri in odd:
            with self.subTest(uri):
                said = await self.refused(library.read("s", uri))
                self.assertIn("is not the URI of a resource", said)
        self.assertEqual(len(self.noted("resources/read")), 2)

    async def test_a_huge_one(self) -> None:
        library = await self.start("legacy", "huge")
        self.assertIn("8388608 bytes", await self.refused(library.read("s", "note:///one")))

    async def test_silence(self) -> None:
        library = await self.start("modern", "silent", timeout=0.3)
        self.assertIn("did not answer in 0.3 s", await self.refused(library.read("s", "note:///a")))
        await eventually(lambda: bool(self.noted("notifications/cancelled")))

    async def test_credentials_are_removed(self) -> None:
        library = await self.start("modern", env={"SERVICE_TOKEN": "tok-4711-secret-0815"})
        [content] = await library.read("s", "note:///secret")
        self.assertEqual(content["text"], "***")
        found = await library.prompt("s", "review", {"what": "it"})
        self.assertNotIn("4711", json.dumps(found))


class Prompts(Case):
    async def test_a_prompt(self) -> None:
        library = await self.start("modern")
        found = await library.prompt("s", "review", {"what": "it", "tone": "sternly"})
        self.assertEqual(found["description"], "A review")
        self.assertEqual(found["messages"][0], {"role": "user", "text": "Review it, sternly."})
        self.assertEqual(found["messages"][1]["role"], "assistant")
        self.assertIn("image/png", found["messages"][1]["text"])
        plain = await library.prompt("s", "plain", {})
        self.assertEqual(plain, {"messages": [{"role": "user", "text": "embedded"}]})
        self.assertIn("missing argument", await self.refused(library.prompt("s", "review", {})))

    async def test_a_prompt_shows_all_that_it_says(self) -> None:
        library = await self.start("modern")
        for what, shown in (
            ("it\u200b\u2060\ufeff", "it"),
            ("it" + "".join(chr(0xE0000 + ord(each)) for each in "obey"), "it"),
            ("\u202eit\u2066", "it"),
            ("a\r\n\tb\x1b[8m", "a\n\tb[8m"),
            *((text, text) for text in ("می\u200cخواهم", "👨\u200d👩\u200d👧 ❤\ufe0f")),
        ):
            with self.subTest(ascii(what)):
                found = await library.prompt("s", "review", {"what": what})
                self.assertEqual(found["messages"][0]["text"], f"Review {shown}, kindly.")

    async def test_completion(self) -> None:
        library = await self.start("legacy")
        ref = {"type": "ref/prompt", "name": "review"}
        found = await library.complete("s", ref, {"name": "tone", "value": "kind"}, {"what": "it"})
        self.assertEqual(found, {"values": ["kindly", "kindness", "it"], "more": False})


class ByModel(Case):
    async def call(self, **args: Any) -> Any:
        tool = self.tools["mcp__s__read_resource"]
        library: Any = tool.library  # type: ignore[attr-defined]
        return await library.outcome("s", args, LIMITS)

    async def test_the_tool_lists_and_reads(self) -> None:
        await self.start("legacy")
        listed = await self.call()
        self.assertEqual(
            listed.text.splitlines(),
            [
                "note:///one · one · text/plain: The first.",
                "note:///pixel · A pixel · image/png",
                "note:///größe · Größe",
                "note:///{id} · by id",
            ],
        )
        self.assertEqual((await self.call(search="FIRST")).text, listed.text.splitlines()[0])
        self.assertEqual((await self.call(search="nothing like it")).text, "there is none")
        read = await self.call(uri="note:///one")
        self.assertEqual(read.text, "content of note:///one")
        self.assertEqual(read.result["content"][0]["resource"]["uri"], "note:///one")
        missing = await self.call(uri="note:///missing")
        self.assertEqual(missing.status, "error")
        self.assertIn("Resource not found", missing.error["message"])

    async def test_a_long_list_is_cut(self) -> None:
        await self.start("legacy", "endless")
        lines = (await self.call()).text.splitlines()
        self.assertEqual(len(lines), MAX_SHOWN + 1)
        self.assertIn("more; use `search`", lines[-1])

    async def test_where_it_is_offered(self) -> None:
        for manners, more, offered in (
            (("bare",), {}, True),
            ((), {"disabledTools": ["read_*"]}, False),
            ((), {"allowedTools": ["grow"]}, False),
            ((), {"trust": True}, True),
        ):
            with self.subTest(manners=manners, more=more):
                await self.start("legacy", *manners, **more)
                self.assertEqual("mcp__s__read_resource" in self.tools, offered)
                self.assertEqual(self.servers.problems, [])
        self.assertTrue(self.tools["mcp__s__read_resource"].read_only, "the server is trusted")

    async def test_a_tool_of_the_server_goes_before_one_of_ours(self) -> None:
        library = await self.start("legacy", "rival")
        tool = self.tools["mcp__s__read_resource"]
        self.assertEqual(tool.listed_name, "read_resource")
        done: Any = await self.servers.call(tool, {}, None, LIMITS, lambda _: None)
        self.assertEqual(done.text, "read_resource done")
        self.assertEqual(library.readable_servers(), {"s"}, "a person reads as before")

    async def test_it_comes_with_the_first_resource(self) -> None:
        for era in ("legacy", "modern"):
            with self.subTest(era):
                await self.start(era, "none")
                self.assertEqual([*self.tools], ["mcp__s__ask", "mcp__s__grow"])
                listed = len(self.noted("tools/list"))
                self.servers.refresh()
                [server] = self.servers.all()
                assert server.listing is not None
                await server.listing
                self.assertEqual(len(self.noted("tools/list")), listed, "nothing has changed")
                grow = self.tools["mcp__s__grow"]
                await self.servers.call(grow, {}, None, LIMITS, lambda _: None)
                self.servers.refresh()
                await server.listing
                self.assertIn("mcp__s__read_resource", self.tools)


if __name__ == "__main__":
    unittest.main()
