"""The rows of AutoAi's document: its own payloads, at the server as it is started."""

from __future__ import annotations

import asyncio
import http.client
import json
import posixpath
import re
import tempfile
import unittest
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from server.config import ConfigError, load

from ...mission import test_tools
from ...mission.autoai_peers import Model, config
from ...tooling import forks, patience, turns
from ...tooling.api import Api
from ...tooling.child import Yaa

Json = dict[str, Any]

setUpModule = forks.use
TESTED = {  # see test_rows.py
    76: "examples of requests and responses",
    86: "the marker of page tools",
    87: "/v1/chat/tool-result",
    88: "a wait that ends in an error result",
    89: "a sessionId without its history",
    100: "static files under /auto-ai/",
    111: "what is public",
    113: "names of settings",
}
DIFFERENT = {
    89: "The server keeps no session",
    93: "protected by number",
    111: "the protocol is not: who may ask costs money and runs tools",
}


def order(tool: str, **args: Any) -> Json:
    return {"messages": [{"role": "user", "content": f"call {tool} {json.dumps(args)}"}]}


# 6.4, the format of the notification; the tool as its how-to of page tools declares one.
MARKER = "[Frontend Tool Call] "
PAGE = {
    "type": "function",
    "function": {
        "name": "getLocalStorage",
        "description": "Get data from localStorage",
        "parameters": {
            "type": "object",
            "properties": {
                "key": {"type": "string", "description": "Stored key name"},
                "parseJson": {"type": "boolean", "description": "Whether to parse as JSON"},
            },
            "required": ["key"],
        },
    },
}
ASK = {"role": "user", "content": 'call getLocalStorage {"key": "色"}'}


class Stream:
    """A stream as the widget reads it: lines of `data:`, until `data:[DONE]`."""

    def __init__(self, api: Api, path: str, body: Json) -> None:
        place = urlsplit(api.url)
        self._connection = http.client.HTTPConnection(
            place.hostname or "", place.port, timeout=patience.seconds(60)
        )
        headers = {"Authorization": f"Bearer {api.key}", "Content-Type": "application/json"}
        self._connection.request("POST", path, json.dumps(body).encode(), headers)
        self._answer = self._connection.getresponse()
        self.status = self._answer.status

    def close(self) -> None:
        self._answer.close()
        self._connection.close()

    def __iter__(self) -> Iterator[Json]:
        for line in self._answer:
            text = line.decode().strip()
            if text == "data:[DONE]":
                return
            if text.startswith("data:"):
                yield json.loads(text.removeprefix("data:"))
        raise AssertionError("the stream was cut")


@turns.tests(3)
class Protocol(unittest.TestCase):
    """86 to 89: the widget's protocol as the document has it."""

    api: Api
    model: Model

    @classmethod
    def setUpClass(cls) -> None:
        cls.model = cls.enterClassContext(Model())
        yaa = cls.enterClassContext(Yaa(config(cls.model, limits={"page_wait_s": 30})))
        cls.api = Api(yaa.url, yaa.key)

    def ask(self, name: str, *messages: Json, path: str = "/auto-ai/v1", **more: Any) -> Stream:
        body = {
            "messages": [ASK, *messages],
            "stream": True,
            "sessionId": name,
            "environment_context": ["Current user: Anna"],
            "frontend_tools": [PAGE],
            **more,
        }
        stream = Stream(self.api, f"{path}/chat/stream", body)
        self.addCleanup(stream.close)
        return stream

    def give(self, name: str, path: str, **tool_call: Any) -> tuple[int, Any]:
        body = {"sessionId": name, "toolCall": tool_call}
        return self.api.request("POST", f"{path}/chat/tool-result", body)

    def called(self, messages: Iterator[Json]) -> Json:
        """The notification, which is the only one of its kind."""
        told = next(m for m in messages if str(m.get("content")).startswith(MARKER))
        self.assertEqual(told["type"], "ACTION")
        notification: Json = json.loads(told["content"].removeprefix(MARKER))
        return notification

    def test_hello_world(self) -> None:
        """5.4 and 6.4 from end to end, at both places of the address."""
        for path in ("/auto-ai/v1", "/v1"):
            with self.subTest(path):
                name = f"session_1_{len(path)}"
                messages = iter(self.ask(name, path=path))
                self.assertEqual(next(messages)["type"], "TASK_INFO")
                call = self.called(messages)
                self.assertEqual(list(call), ["type", "callId", "toolCall"])
                function = call["toolCall"]["function"]
                self.assertEqual(json.loads(function["arguments"]), {"key": "色"})
                result = {"callId": call["callId"], "toolName": function["name"], "result": "红"}
                status, answer = self.give(name, path, **result)
                self.assertEqual((status, answer["success"]), (200, True))
                kinds = [message["type"] for message in messages]
                self.assertEqual(kinds, ["ACTION_END", "OBSERVATION", "CONTENT", "SESSION"])
                self.assertEqual(self.model.asked[-1][-1]["content"], "红")

    def test_86_the_marker_is_the_documents(self) -> None:
        messages = list(self.ask("marker", wait=0))
        told = [str(m.get("content")) for m in messages if "FRONTEND_TOOL_CALL" in str(m)]
        self.assertEqual(len(told), 1)
        prefix = '[Frontend Tool Call] {"type":"FRONTEND_TOOL_CALL","callId":"call_'
        self.assertTrue(told[0].startswith(prefix), told)
        self.assertIn('"toolCall":{"id":"call_', told[0])

    def test_87_a_result_goes_to_v1_chat_tool_result(self) -> None:
        """Whichever address the stream has; hostile ones change nothing."""
        messages = iter(self.ask("w-87"))
        call_id = self.called(messages)["callId"]
        for status, body in (
            (400, {"sessionId": "w-87"}),
            (400, {"sessionId": "w-87", "toolCall": {"callId": 5}}),
            (400, {"sessionId": ["w-87"], "toolCall": {"callId": call_id}}),
            (409, {"sessionId": "w-87", "toolCall": {"callId": "another"}}),
            (409, {"sessionId": "nobody", "toolCall": {"callId": call_id}}),
        ):
            with self.subTest(body):
                found, _ = self.api.request("POST", "/v1/chat/tool-result", body)
                self.assertEqual(found, status)
        wrong = Api(self.api.url, "wrong").request("POST", "/v1/chat/tool-result", {})
        self.assertEqual(wrong[0], 401)
        huge = "я" * 300_000
        self.assertEqual(self.give("w-87", "/v1", callId=call_id, result=huge)[0], 200)
        *_, last = messages
        self.assertEqual(last["session"]["status"], "completed")
        self.assertLess(len(self.model.asked[-1][-1]["content"]), len(huge))

    def test_88_the_first_result_counts(self) -> None:
        twice = {
            "role": "user",
            "content": 'call getLocalStorage {"key":"a"}\ncall getLocalStorage {"key":"b"}',
        }
        messages = iter(self.ask("w-twice", twice))
        first, second = self.called(messages)["callId"], self.called(messages)["callId"]
        self.assertEqual(self.give("w-twice", "/v1", callId=first, result="one")[0], 200)
        status, answer = self.give("w-twice", "/v1", callId=first, result="two")
        self.assertEqual((status, answer["code"]), (409, "not_awaited"))
        failed = {"callId": second, "error": "no such key", "isError": True}
        self.assertEqual(self.give("w-twice", "/v1", **failed)[0], 200)
        *_, last = messages
        said = [m["content"] for m in last["session"]["messages"] if m["role"] == "tool"]
        self.assertEqual(said, ["one", "Error: no such key"])

    def test_88_without_a_result_the_loop_goes_on_with_an_error(self) -> None:
        messages = list(self.ask("w-late", wait=0.05))
        kinds = [message["type"] for message in messages]
        self.assertEqual(kinds[-5:], ["ACTION", "ACTION_END", "OBSERVATION", "CONTENT", "SESSION"])
        self.assertEqual(messages[-4]["content"], "error")
        self.assertIn("no result within 0.05 seconds", messages[-3]["content"])
        self.assertIn("no result within 0.05 seconds", self.model.asked[-1][-1]["content"])
        session = messages[-1]["session"]
        self.assertEqual((session["status"], session["interrupts"]), ("completed", []))

    def test_88_of_two_calls_only_the_one_without_a_result_is_an_error(self) -> None:
        twice = {
            "role": "user",
            "content": 'call getLocalStorage {"key":"a"}\ncall getLocalStorage {"key":"b"}',
        }
        stream = self.ask("w-half", twice, wait=4)
        messages = iter(stream)
        first = self.called(messages)["callId"]
        self.assertEqual(self.give("w-half", "/v1", callId=first, result="here")[0], 200)
        *_, last = messages
        said = [m["content"] for m in last["session"]["messages"] if m["role"] == "tool"]
        self.assertEqual((said[0], "within 4 seconds" in said[1]), ("here", True))

    def test_89_a_request_brings_its_history(self) -> None:
        (*_, last) = self.ask("w-89", wait=0.05)
        first = [ASK]
        more = {"role": "user", "content": "and now?"}
        refused: dict[str, Json] = {
            "nothing": {},
            "no message": {"messages": []},
        }
        for path in ("/auto-ai/v1/chat/stream", "/v1/chat/stream", "/auto-ai/v1/chat/completions"):
            for what, body in refused.items():
                with self.subTest(what, path=path):
                    status, answer = self.api.request("POST", path, {"sessionId": "w-89", **body})
                    self.assertEqual(status, 400, answer)
                    self.assertIn("messages", answer["error"]["message"])
        taken: tuple[Json, ...] = (
            {"messages": [*first, {"role": "assistant", "content": "done"}, more]},
            {"messages": [more], "session": last["session"]},
            {"messages": first},  # once more from the beginning
            {"messages": [more]},  # a conversation of its own
        )
        for body in taken:
            with closing(Stream(self.api, "/v1/chat/stream", {"sessionId": "w-89", **body})) as one:
                self.assertEqual(one.status, 200)
                self.assertEqual(list(one)[-1]["type"], "SESSION")

    def test_100_the_static_files(self) -> None:
        """3.1: index.html, autoai-chat.js and sidebar-demo.html, and all that they name."""
        place = urlsplit(self.api.url)
        with closing(http.client.HTTPConnection(place.hostname or "", place.port)) as connection:
            found = {}
            for path in ("", "/", "/index.html", "/autoai-chat.js", "/sidebar-demo.html"):
                connection.request("GET", f"/auto-ai{path}")
                answer = connection.getresponse()
                found[path] = answer.status, answer.read().decode()
                kind = answer.getheader("content-type") or ""
                wanted = "text/javascript" if path.endswith(".js") else "text/html"
                self.assertTrue(kind.startswith(wanted) or not path, path)
                if not path:
                    self.assertEqual(answer.getheader("location"), "auto-ai/")
            self.assertEqual([s for s, _ in found.values()], [308, 200, 200, 200, 200])
            self.assertEqual(found["/"], found["/index.html"])
            self.assertIn("export const { AutoAiChatWidget }", found["/autoai-chat.js"][1])
            texts = [text for _, text in found.values()]
            named = set(re.findall(r"""(?:src="|href="|import ')([\w./-]+)["']""", str(texts)))
            self.assertGreater(len(named), 20)
            for name in named:
                connection.request("GET", posixpath.normpath(f"/auto-ai/{name}"))
                answer = connection.getresponse()
                answer.read()
                self.assertEqual(answer.status, 200, name)

    def test_111_the_files_are_public_and_the_protocol_needs_a_key(self) -> None:
        anyone = Api(self.api.url)
        for path in ("/auto-ai/index.html", "/auto-ai/v1/health"):
            self.assertEqual(anyone.request("GET", path)[0], 200, path)
        for method, path in (
            ("POST", "/auto-ai/v1/chat/stream"),
            ("POST", "/auto-ai/v1/chat/tool-result"),
            ("DELETE", "/auto-ai/v1/chat/stream/x"),
            ("GET", "/auto-ai/v1/tools"),
        ):
            self.assertEqual(anyone.request(method, path)[0], 401, path)


class Settings(unittest.TestCase):
    def test_113_its_names_of_settings_are_told_as_ours(self) -> None:
        """8.2, 8.3 and 11.3, as JSON and as they stand there."""
        react = {
            "enable-compression": True,
            "compression-threshold-tokens": 64000,
            "session-expire-minutes": 60,
            "system-prompt": "You are a professional AI assistant",
        }
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "config.json"
            file.write_text(
                json.dumps({"autoai": {"react": react, "model": {"api-key": "s3cret"}}})
            )
            with self.assertRaises(ConfigError) as caught:
                load(Path(folder), file, {}, {})
            said = "\n".join(caught.exception.problems)
            self.assertEqual(len(caught.exception.problems), 5)
            self.assertNotIn("s3cret", said)
            for line in (
                "autoai.model.api-key is server.providers here",
                "autoai.react.compression-threshold-tokens is session.config.context.budget here",
                "autoai.react.session-expire-minutes is server.keep_days here",
            ):
                self.assertIn(line, said)
            file = Path(folder) / "application.yml"
            file.write_text("autoai:\n  react:\n    enable-compression: true\n")
            with self.assertRaisesRegex(ConfigError, "the configuration is JSON"):
                load(Path(folder), file, {}, {})


class Examples(test_tools.Case):
    async def test_76_examples_of_requests_and_responses(self) -> None:
        self.write(self.home / "tools" / "notes.py", test_tools.NOTES)
        await self.start()
        status, body = await asyncio.to_thread(self.api.request, "GET", "/auto-ai/v1/tools/move")
        self.assertEqual(status, 200, body)
        address = {"street": "text"}
        self.assertEqual(body["requestExample"]["to"], address)
        self.assertEqual(body["responseExample"], [{"name": "Ada", "homes": [address]}])
        _, void = await asyncio.to_thread(self.api.request, "GET", "/auto-ai/v1/tools/Notes_crash")
        self.assertNotIn("responseExample", void)


if __name__ == "__main__":
    unittest.main()
