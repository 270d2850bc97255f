"""Bodies that nobody sends in earnest: each is a session or a Problem, and nothing else."""

from __future__ import annotations

import copy
import random
import unittest
from collections.abc import Callable
from typing import Any

from server.errors import Problem
from server.fronts import autoai, gateway
from server.session import intake

Json = dict[str, Any]

ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    1e308,
    "",
    " ",
    "x",
    "\u0000",
    "你好😀",
    [],
    [None],
    {},
    {"a": 1},
]
INTERRUPT = {
    "id": "i",
    "reason": "input_required",
    "call_id": "c",
    "message": "?",
    "response_schema": {"type": "string", "pattern": "("},
}
SESSION: Json = {
    "id": "s",
    "messages": [
        {"id": "u", "role": "user", "content": "hi"},
        {
            "id": "m",
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c", "function": {"name": "n", "arguments": "{}"}}],
        },
    ],
    "interrupts": [INTERRUPT],
    "environment": ["f"],
    "tools": [{"name": "n"}],
    "ext": {},
}
OF_PAGE = {**SESSION, "interrupts": [{"id": "i", "reason": "client_tool", "call_id": "c"}]}
FUNCTION = {"name": "n", "parameters": {"type": "object"}}
BODIES: dict[str, tuple[Callable[[Json], Any], Json]] = {
    "query": (
        gateway.query,
        {
            "message": "x",
            "chatId": "s",
            "agentKey": "a",
            "references": [{"name": "a", "sizeBytes": 1, "url": "u"}],
            "scene": {"url": "u", "title": "t"},
            "params": {},
            "tools": [{"name": "n"}],
            "session": SESSION,
        },
    ),
    "submit": (
        gateway.submit,
        {"toolId": "c", "payload": {"a": 1}, "chatId": "s", "session": OF_PAGE},
    ),
    "chat": (gateway.chat, {"session": SESSION}),
    "stream": (
        lambda body: autoai.stream(body, ["n"]),
        {
            "messages": [{"role": "user", "content": "x"}],
            "sessionId": "s",
            "environment_context": ["f"],
            "frontend_tools": [{"type": "function", "function": FUNCTION}],
            "tool_results": [{"callId": "c", "result": 1, "error": None}],
            "wait": 1,
            "session": SESSION,
        },
    ),
}


class Hostile(unittest.TestCase):
    def test_a_session_or_a_problem(self) -> None:
        for name, (read, whole) in BODIES.items():
            taken = refused = 0
            for seed in range(1500):
                body = mutated(copy.deepcopy(whole), random.Random(seed))
                before = copy.deepcopy(body)
                with self.subTest(name, seed=seed):
                    try:
                        intake.accept(read(body).document)
                        taken += 1
                    except Problem as problem:
                        self.assertLess(problem.status, 500)
                        refused += 1
                    self.assertEqual(body, before, "what was sent was changed")
            self.assertGreater(min(taken, refused), 50, f"{name}: {taken} taken, {refused} refused")


def mutated(body: Json, random_: random.Random) -> Json:
    """The body with one to three places replaced, emptied or removed."""
    for _ in range(random_.randrange(1, 4)):
        node: Any = body
        while True:
            keys: list[Any] = list(node if isinstance(node, dict) else range(len(node)))
            if not keys:
                break
            key = random_.choice(keys)
            if isinstance(node[key], dict | list) and node[key] and random_.random() < 0.7:
                node = node[key]
                continue
            if random_.random() < 0.3:
                del node[key]
            else:
                node[key] = copy.deepcopy(random_.choice(ODD))
            break
    return body


if __name__ == "__main__":
    unittest.main()
