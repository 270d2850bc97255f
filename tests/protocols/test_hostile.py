"""Bodies that nobody sends in earnest: each is a session or a Problem, and nothing else."""

from __future__ import annotations

import copy
import random
import unittest
from collections.abc import Callable
from typing import Any

from server.errors import Problem
from server.session.json_patch import parse_pointer

from ..extensions import rows_for

Json = dict[str, Any]

ODD: list[Any] = [
    None,
    True,
    0,
    -1,
    1e308,
    10**30,
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


class Hostile(unittest.TestCase):
    def test_a_session_or_a_problem(self) -> None:
        for name, (read, whole) in bodies().items():
            taken = refused = 0
            for seed in range(1500):
                body = mutated(copy.deepcopy(whole), random.Random(seed))
                before = copy.deepcopy(body)
                with self.subTest(name, seed=seed):
                    try:
                        read(body)
                        taken += 1
                    except Problem as problem:
                        self.assertLess(problem.status, 500)
                        self.assertTrue(problem.errors)
                        for error in problem.errors:
                            self.assertTrue(is_place(error["pointer"], body), error)
                        refused += 1
                    self.assertEqual(body, before, "what was sent was changed")
            self.assertGreater(min(taken, refused), 50, f"{name}: {taken} taken, {refused} refused")


def bodies() -> dict[str, tuple[Callable[[Json], None], Json]]:
    return {name: row for bodies in rows_for("HOSTILE") for name, row in bodies.items()}


def is_place(where: str, body: Json) -> bool:
    """Whether a pointer leads to something in the body, or to what is missing in something."""
    node: Any = body
    *path, last = parse_pointer(where) or [""]
    for part in path:
        if isinstance(node, dict) and part in node:
            node = node[part]
        elif isinstance(node, list) and part.isdigit() and int(part) < len(node):
            node = node[int(part)]
        else:
            return False
    return isinstance(node, dict) or (isinstance(node, list) and last.isdigit())


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
