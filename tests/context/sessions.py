"""Random sessions for the context tests: whole conversations with needles in them.

A needle is a text that occurs once. It must stay in the view, or be within reach of
`context_reload`, whatever was done to make the view smaller.
"""

from __future__ import annotations

import copy
import json
import random
from typing import Any

from server.json_types import Message

from ..fakes import DEFAULTS

WORDS = (
    "the quick report of server config naïve 数据 分析 данные résumé file/path.py http://x.example/a"
    " error value 42 0x1f function return const δ 🙂 table row\n{}[]"
).split(" ")


class Sessions:
    """Makes sessions; `seed` makes the same one again."""

    def __init__(self, seed: int, **options: Any) -> None:
        self.random = random.Random(seed)
        self.count = 0
        self.calls = 0
        self.needles: list[str] = []
        config = copy.deepcopy(DEFAULTS["session"]["config"])
        config["context"] |= options
        self.session: Any = {
            "id": f"s{seed}",
            "messages": [],
            "config": config,
            "calls": {},
            "context": {},
        }

    def grow(self, turns: int) -> Any:
        """Add whole turns and then one that waits for the model."""
        for _ in range(turns):
            self.turn()
        self.say("user", self.text(30))
        if self.random.random() < 0.5:
            self.step()
        return self.session

    def turn(self) -> None:
        self.say("user", self.text(self.random.choice((5, 20, 80))))
        if self.random.random() < 0.1:  # the user stops an answer and goes on
            self.say("assistant", self.text(20), open=True)
            self.say("user", self.text(10))
        for _ in range(self.random.choice((0, 1, 1, 2, 5))):
            self.step()
        if self.random.random() < 0.1:
            self.say("error", "HTTP 500")
        self.say("assistant", self.text(self.random.choice((10, 30, 90))), meta=self.meta())

    def step(self) -> None:
        """One answer with calls, and their results."""
        names = self.random.choices(("read_file", "shell", "search", "skill"), k=self.pick(1, 1, 3))
        calls = [self.call(name) for name in names]
        self.say("assistant", self.text(15), tool_calls=calls, meta=self.meta())
        for call in calls:
            failed = self.random.random() < 0.2
            result: Any = {"status": "error" if failed else "ok"}
            if self.random.random() < 0.3:
                result["keep"] = self.pick(0, 1, 3, -1)
            self.say(
                "tool",
                self.text(self.pick(5, 20, 60, 200)),
                tool_call_id=call["id"],
                name=call["function"]["name"],
                is_error=failed,
                result=result,
            )

    def call(self, name: str) -> Any:
        self.calls += 1
        args: Any = {"path": f"/srv/{self.pick(1, 2, 3)}.txt"}
        if self.random.random() < 0.4:
            args["content"] = self.text(self.pick(20, 120))
        function = {"name": name, "arguments": json.dumps(args, ensure_ascii=False)}
        return {"id": f"call_{self.calls}", "type": "function", "function": function}

    def say(self, role: str, text: Any, **more: Any) -> Any:
        self.count += 1
        message = {"id": f"msg_{self.count}", "role": role, "content": text, **more}
        self.session["messages"].append(message)
        return message

    def text(self, words: int) -> str:
        said = self.random.choices(WORDS, k=words)
        if self.random.random() < 0.3:
            needle = f"needle-{len(self.needles)}-{self.random.getrandbits(40):010x}"
            said.insert(self.random.randrange(len(said) + 1), needle)
            self.needles.append(needle)
        return " ".join(said)

    def meta(self) -> Any:
        """Some providers report usage and some do not."""
        return {}

    def pick(self, *choices: int) -> int:
        return self.random.choice(choices)


def record(session: Any, compaction: Any) -> None:
    """What the loop does with a compaction: append, nothing else."""
    context = session["context"]
    context.setdefault("ops", []).extend(copy.deepcopy(compaction.ops))
    context.setdefault("events", []).append(compaction.record)


def refusals(messages: list[Message]) -> list[str]:
    """What the strictest provider we know of would refuse, beyond pairing."""
    found = []
    spoken = [m for m in messages if m["role"] != "system"]
    if spoken and spoken[0]["role"] != "user":
        found.append(f"the first message is the {spoken[0]['role']}'s")
    before = ""
    for number, message in enumerate(spoken):
        role = message["role"]
        if role == before and role == "user":
            found.append(f"message {number}: two {role} messages in a row")
        if role == before == "assistant":
            found.append(f"message {number}: two {role} messages in a row")
        before = role
        for call in message.get("tool_calls") or ():
            if not isinstance(json.loads(call["function"]["arguments"]), dict):
                found.append(f"message {number}: arguments are no object")
        if not isinstance(message.get("content"), str | list):
            found.append(f"message {number}: content is {message.get('content')!r}")
    return found
