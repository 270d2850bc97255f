"""Requests that the official OpenAI SDK sends again by itself, and those that a caller names: the
tools of the server run once, and the answer is the whole one.

Between SDK and server there is a line that can be cut.
"""

from __future__ import annotations

import subprocess
import threading
import unittest
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

from ....chaos import processes
from ....protocols.served import Served
from ....tooling import patience, tools, turns
from ....tooling.child import Yaa
from ....tooling.relay import Relay

Json = dict[str, Any]
NEEDED = (tools.module("openai"),)
if tools.module("openai").path:
    import openai

NODE = """
import OpenAI from "openai";
const [url, key, said] = process.argv.slice(1);
const client = new OpenAI({ baseURL: url, apiKey: key });
const asked = { model: "counter", messages: [{ role: "user", content: said }] };
const found = await client.chat.completions.create(asked);
console.log(found.choices[0].message.content);
"""
KNIFE: dict[str, Any] = {"cut": lambda: None}


def script(body: Json) -> list[tuple[Any, ...]]:
    """A word, a call of a tool with an effect, and a word about its result. What is to be cut is
    cut once, when the model has been asked to go on."""
    results = [each["content"] for each in body["messages"] if each["role"] == "tool"]
    if not results:
        tool = body["tools"][0]["function"]["name"]
        return [("think", "hm"), ("text", "I count. "), ("call", tool, "{}")]
    KNIFE.pop("cut", int)()
    return [("text", f"It said: {results[-1]}")]


class Case(unittest.TestCase):
    served: ClassVar[Served]
    relay: ClassVar[Relay]

    @classmethod
    def setUpClass(cls) -> None:
        cls.served = cls.enterClassContext(Served(script))
        cls.relay = cls.enterClassContext(Relay("127.0.0.1", port(cls.served.yaa)))

    def setUp(self) -> None:
        self.before = self.served.counted()
        self.served.provider.requests.clear()
        self.retries: list[str] = []
        KNIFE.clear()

    def client(self, **more: Any) -> Any:
        """The SDK as it comes; `retries` has what it said of each request."""

        def sent(request: Any) -> None:
            self.retries.append(request.headers["x-stainless-retry-count"])

        http = openai.DefaultHttpxClient(event_hooks={"request": [sent]})
        url, key = f"{self.relay.url}/v1", self.served.key
        return self.enterContext(openai.OpenAI(base_url=url, api_key=key, http_client=http, **more))

    def ran(self) -> int:
        return self.served.counted() - self.before

    def later(self, **asked: Any) -> Callable[[], Any]:
        """Ask beside the test; what is returned waits for the answer."""
        client = self.client(max_retries=8)
        pool = self.enterContext(ThreadPoolExecutor())
        return pool.submit(client.chat.completions.create, **asked).result

    def asks(self, said: str, **more: Any) -> Json:
        return {"model": "counter", "messages": [{"role": "user", "content": said}], **more}


PARTS = ("I count. ", "It said: counted")
WHOLE = "\n\n".join(PARTS)


@tools.needs(*NEEDED)
@turns.tests(2)
class ByItself(Case):
    def test_a_connection_that_breaks_before_the_answer(self) -> None:
        """The same words a third time are a request of their own."""
        client = self.client()
        asks: dict[str, Callable[[], Any]] = {
            "chat": lambda: client.chat.completions.create(**self.asks("é")),
            "responses": lambda: client.responses.create(model="counter", input="é"),
        }
        for name, ask in asks.items():
            with self.subTest(name):
                self.setUp()
                KNIFE["cut"] = self.relay.cut
                found = ask()
                self.assertEqual(self.retries, ["0", "1"])
                self.assertEqual((said(found), self.ran()), (WHOLE, 1))
                self.assertEqual(said(ask()), WHOLE)
                self.assertEqual((self.retries[2:], self.ran()), (["0"], 2))

    def test_the_sdk_for_node(self) -> None:
        if not tools.package("openai").path:
            self.skipTest("openai of npm is not installed")
        KNIFE["cut"] = self.relay.cut
        node = str(tools.program_node().path)
        done = subprocess.run(
            [node, "--input-type=module", "-e", NODE, f"{self.relay.url}/v1", self.served.key, "n"],
            cwd=tools.ROOT / "tests",
            capture_output=True,
            text=True,
            timeout=patience.seconds(60),
            check=False,
        )
        self.assertEqual((done.stdout.strip(), done.stderr), (WHOLE, ""))
        self.assertEqual(self.ran(), 1)

    def test_a_server_that_dies_under_a_call(self) -> None:
        """Another one of this host knows that the call had begun, and so does the model."""
        with Yaa(self.served.config, home=self.served.home) as dying:
            self.relay.target = ("127.0.0.1", port(dying))
            try:
                answer = self.later(model="slow", messages=self.asks("slow")["messages"])
                until(lambda: self.ran() == 1)
            finally:
                self.relay.target = ("127.0.0.1", port(self.served.yaa))
            dying.kill()
            self.assertIn("may or may not have taken effect", said(answer()))
        self.assertEqual((self.ran(), self.retries[0]), (1, "0"))


@tools.needs(*NEEDED)
@turns.tests(2)
class ByName(Case):
    def test_a_stream_that_breaks(self) -> None:
        """The SDK gives up; asked again under the same name it is told from the beginning."""
        client = self.client()
        for name, told in (("chat", self.chat), ("responses", self.responses)):
            with self.subTest(name):
                self.setUp()
                KNIFE["cut"] = self.relay.cut
                with self.assertRaises(Exception) as caught:
                    told(client, name)
                self.assertNotIsInstance(caught.exception, AssertionError)
                self.assertEqual((told(client, name), self.ran()), (WHOLE, 1))
                asked = len(self.served.provider.requests)
                self.assertEqual((told(client, name), self.ran()), (WHOLE, 1))
                self.assertEqual(len(self.served.provider.requests), asked, "it was finished")
                self.assertEqual((told(client, f"{name}2"), self.ran()), (WHOLE, 2))

    def chat(self, client: Any, name: str) -> str:
        more = {"stream": True, "extra_headers": {"Idempotency-Key": name}}
        chunks = client.chat.completions.create(**self.asks("s"), **more)
        return "".join(each.choices[0].delta.content or "" for each in chunks)

    def responses(self, client: Any, name: str) -> str:
        headers = {"Idempotency-Key": name}
        with client.responses.stream(model="counter", input="s", extra_headers=headers) as stream:
            return said(stream.get_final_response())

    def test_the_same_name_for_something_else(self) -> None:
        client, headers = self.client(), {"Idempotency-Key": "n"}
        for number, words in enumerate(("a", "b", "a"), 1):
            found = client.chat.completions.create(**self.asks(words), extra_headers=headers)
            self.assertEqual((said(found), self.ran()), (WHOLE, min(number, 2)))

    def test_two_at_once(self) -> None:
        """The second one waits for the first, by being asked to come again."""
        seen, gate = list[int](), threading.Event()

        def answered(response: Any) -> None:
            seen.append(response.status_code)
            gate.set()

        KNIFE["cut"] = lambda: gate.wait(patience.seconds(20))
        asked = {**self.asks("w"), "extra_headers": {"Idempotency-Key": "w"}}
        first = self.later(**asked)
        until(lambda: len(self.served.provider.requests) == 2)
        http = openai.DefaultHttpxClient(event_hooks={"response": [answered]})
        url, key = self.served.url, self.served.key
        with openai.OpenAI(base_url=url, api_key=key, http_client=http) as client:
            found = client.chat.completions.create(**asked)
        self.assertEqual((said(found), said(first())), (WHOLE,) * 2)
        self.assertEqual((seen[0], seen[-1], self.ran()), (409, 200, 1))


def said(found: Any) -> str:
    if hasattr(found, "output_text"):
        return str(found.output_text)
    return str(found.choices[0].message.content)


def port(yaa: Yaa) -> int:
    return int(yaa.url.rpartition(":")[2])


def until(true: Callable[[], bool]) -> None:
    assert processes.until(true, 30), "it never came"


if __name__ == "__main__":
    unittest.main()
