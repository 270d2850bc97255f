"""Where results go: as a walk from the end of the messages finds it, for any list of messages."""

from __future__ import annotations

import copy
import random
import unittest
from typing import Any

from server.json_types import Message
from server.session.result_places import Places, role_is_tool

IDS = ("c1", "c2", "c3", "c4")


def walked(messages: list[Any], call_id: str, result: Message) -> bool:
    """Put a result in by looking at every message."""
    owners = [
        place
        for place, message in enumerate(messages)
        if isinstance(message, dict)
        and any(isinstance(c, dict) and c.get("id") == call_id for c in message["tool_calls"])
    ]
    if not owners:
        return False
    at = owners[-1] + 1
    while at < len(messages) and role_is_tool(messages[at]):
        if messages[at].get("tool_call_id") == call_id:
            return False
        at += 1
    messages.insert(at, result)
    return True


def strange(chance: random.Random) -> list[Any]:
    """Messages of any role that hold calls of any kind."""
    found: list[Any] = []
    for _ in range(chance.randrange(9)):
        calls = [chance.choice([{"id": chance.choice(IDS)}, {"id": 4}, 3]) for _ in range(2)]
        role = chance.choice(("user", "assistant", "tool", "tool"))
        message: Any = {"role": role, "tool_calls": calls if chance.random() < 0.5 else []}
        if role == "tool":
            message["tool_call_id"] = chance.choice([*IDS, 5])
        found.append(chance.choice([message] * 9 + [7]))
    return found


class Results(unittest.TestCase):
    def test_every_result_where_a_walk_puts_it(self) -> None:
        for seed in range(600):
            chance = random.Random(seed)
            messages = strange(chance)
            wanted = copy.deepcopy(messages)
            places = Places(messages)
            for number in range(8):
                call_id = chance.choice((*IDS, "none"))
                result: Message = {"role": "tool", "id": f"r{number}", "tool_call_id": call_id}
                result["tool_calls"] = []
                with self.subTest(seed=seed, number=number):
                    self.assertEqual(
                        places.put(call_id, result), walked(wanted, call_id, {**result})
                    )
                    self.assertEqual(messages, wanted)
                    self.assertTrue(places.of(messages))

    def test_a_call_that_came_later(self) -> None:
        messages: Any = [{"role": "assistant", "tool_calls": [{"id": "c1"}]}]
        messages.append({"role": "assistant", "tool_calls": []})
        places = Places(messages)
        places.put("c1", {"role": "tool", "id": "r1", "tool_call_id": "c1"})
        messages[2]["tool_calls"].append({"id": "c2"})
        places.add("c2", messages[2])
        self.assertIn("c2", places)
        places.put("c2", {"role": "tool", "id": "r2", "tool_call_id": "c2"})
        self.assertEqual([m.get("id") for m in messages], [None, "r1", None, "r2"])

    def test_messages_that_came_or_went_are_noticed(self) -> None:
        messages: list[Message] = [{"role": "user"}]
        places = Places(messages)
        self.assertTrue(places.of(messages))
        self.assertFalse(places.of([*messages]))
        messages.append({"role": "user"})
        self.assertFalse(places.of(messages))


if __name__ == "__main__":
    unittest.main()
