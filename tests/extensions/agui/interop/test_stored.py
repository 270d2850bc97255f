"""A stored session goes on in the official AG-UI client, and comes back from it, with nothing lost.

`POST /session/events` tells it, the client's reducer keeps it, `POST /agui/{agent}` runs it. What a
provider wants back word for word is compared with what that provider gets in the end.
"""

from __future__ import annotations

import copy
import tempfile
import unittest
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar

from server.tools.runner import ToolRunner

from ....protocols.scripted import Scripted
from ....tooling import tools
from ....tooling.api import Api
from ....tooling.child import Yaa
from .test_thread import MARK, NEEDED, YES

if all(tool.path for tool in NEEDED):
    from .thread import Client, Thread

Json = dict[str, Any]

DETAILS = [
    {"type": "reasoning.text", "text": "Mark it. 好", "index": 0, "signature": "c2ln"},
    {"type": "reasoning.encrypted", "data": "QUJD\u2028", "index": 1, "id": "rs_1"},
]
SIGNATURE = {"google": {"thought_signature": "AY89=="}}
PARTS: list[Json] = [
    {"type": "text", "text": "Mark one, and tell me 6*7. 你好"},
    {"type": "input_audio", "input_audio": {"data": "aGk=", "format": "wav"}},
]


def script(body: Json) -> list[tuple[Any, ...]]:
    """Two calls after sealed thoughts, one of which needs a yes; then a word."""
    if any(message["role"] == "tool" for message in body["messages"]):
        return [("text", "Done.")]
    calls = [("calculator", '{"expression":"6*7"}', {}), ("mark", '{"name":"one"}', SIGNATURE)]
    return [
        ("delta", {"reasoning": "Mark it. 好", "reasoning_details": DETAILS}),
        ("text", "I will. "),
        *(("delta", {"tool_calls": [called(index, *call)]}) for index, call in enumerate(calls)),
        ("finish", "tool_calls"),
    ]


def called(index: int, name: str, arguments: str, signature: Json) -> Json:
    function = {"name": name, "arguments": arguments}
    call = {"index": index, "id": f"c{index}", "type": "function", "function": function}
    return call | ({"extra_content": signature} if signature else {})


@tools.needs(*NEEDED)
class Stored(unittest.TestCase):
    folder: ClassVar[Path]
    provider: ClassVar[Scripted]
    client: ClassVar[Client]
    one: ClassVar[Yaa]
    other: ClassVar[Yaa]

    @classmethod
    def setUpClass(cls) -> None:
        stack = cls.enterClassContext(ExitStack())
        cls.folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        cls.provider = stack.enter_context(Scripted(script))
        config = cls.provider.config()
        config["server"]["providers"]["main"]["preset"] = "openrouter"
        for name in ("one", "other"):
            home = cls.folder / name
            (home / "tools").mkdir(parents=True)
            (home / "tools" / "mark.py").write_text(MARK)
            setattr(cls, name, stack.enter_context(Yaa(config, home=home)))
        cls.client = stack.enter_context(Client())

    def setUp(self) -> None:
        self.name = self.id().rpartition(".")[2]
        user = {"id": "u", "role": "user", "content": PARTS}
        self.stored = Api(self.one.url, self.one.key).run({"id": self.name, "messages": [user]})
        self.assertEqual(self.stored["finish_reason"], "awaiting")
        self.stored["messages"][1]["theirs"] = {"starred": [True, None]}
        self.stored["messages"][1]["tool_calls"][0]["colour"] = "red"
        self.stored["ext"] = {"mine": [1, None]}
        self.provider.requests.clear()

    def told(self, session: Json) -> Thread:
        """A client that has only seen the events of the stored session."""
        url, key = self.other.url, self.other.key
        asks = {"accept": "text/event-stream"}
        status, text = Api(url, key).request("POST", "/session/events", session, **asks)
        self.assertEqual(status, 200)
        thread = Thread(self, self.client, self.name)
        thread.open(self.other)
        found = thread.run(stream=text, whole=False)
        self.assertEqual((found["warnings"], found.get("error")), ([], None))
        return thread

    def marks(self) -> int:
        """How often `mark` ran, on both servers together."""
        files = [ToolRunner(home).folder(self.name) / "one" for home in self.folder.iterdir()]
        return sum(len(file.read_text().split()) for file in files if file.exists())

    def sent_back(self) -> list[tuple[Any, Any]]:
        """Of each answer with calls that the provider was sent: its thoughts, and the signatures
        of its calls."""
        messages = self.provider.requests[-1]["messages"]
        return [
            (each.get("reasoning_details"), [c.get("extra_content") for c in each["tool_calls"]])
            for each in messages
            if each.get("tool_calls")
        ]

    def test_nothing_is_lost(self) -> None:
        thread = self.told(self.stored)
        self.assertEqual(thread.held(), self.stored | {"agent": "default"})
        asked = thread.pending
        self.assertEqual([each["id"] for each in asked], [self.stored["interrupts"][0]["id"]])
        thread.open(self.other)  # a reload
        thread.pending = asked
        found = thread.resume(payload=YES)
        self.assertEqual((found["outcome"], self.marks()), ("success", 1))
        self.assertEqual(thread.results(), {"calculator": "42", "mark": "marked one"})
        self.assertEqual(self.sent_back(), [(DETAILS, [None, SIGNATURE])])
        held = thread.held()
        self.assertEqual(held["messages"][:2], self.stored["messages"][:2])
        self.assertEqual({entry["state"] for entry in held["calls"].values()}, {"done"})

    def test_and_back_again(self) -> None:
        """What the client made of it is a session that any server goes on with."""
        thread = self.told(self.stored)
        thread.resume(payload=YES)
        held = thread.held()
        held["messages"].append({"id": "v", "role": "user", "content": "Thanks"})
        one = Api(self.one.url, self.one.key)
        asked = one.run(copy.deepcopy(held))
        one.bring_files(asked, Api(self.other.url, self.other.key))
        done = one.run(asked)
        self.assertEqual((done["status"], self.marks()), ("completed", 1))
        self.assertEqual(done["messages"][: len(held["messages"])], held["messages"])
        self.assertEqual(self.sent_back(), [(DETAILS, [None, SIGNATURE])])

    def test_a_run_in_the_client_keeps_them_at_the_protocols_place(self) -> None:
        thread = Thread(self, self.client, f"{self.name}-live")
        thread.open(self.one)
        thread.say(PARTS[0]["text"])
        found = thread.run()
        # the thoughts, and of each call what is the provider's own
        self.assertEqual(found["types"].count("REASONING_ENCRYPTED_VALUE"), 3)
        self.assertNotIn("reasoning_details", str([m.get("metadata") for m in thread.messages]))
        thread.resume("cancelled")
        self.assertEqual(self.sent_back(), [(DETAILS, [None, SIGNATURE])])

    def test_clients_that_drop_metadata(self) -> None:
        """Those before 1.0 know `encryptedValue` and no metadata."""
        thread = self.told(self.stored)
        for message in thread.messages:
            for node in (message, *message.get("toolCalls", ())):
                node.pop("metadata", None)
        asked = thread.pending
        thread.open(self.other)
        thread.pending = asked
        self.assertEqual(thread.resume(payload=YES)["outcome"], "success")
        self.assertEqual(self.sent_back(), [(DETAILS, [None, SIGNATURE])])
        self.assertEqual(self.marks(), 1)


if __name__ == "__main__":
    unittest.main()
