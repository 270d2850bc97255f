"""Which mistakes are made, and that each is made in code that runs and stays a program."""

from __future__ import annotations

import ast
import unittest
from collections import Counter

from .sites import KINDS, Site, choose, python_sites, quotas

CODE = '''"""A module of two > one."""
import logging
LIMIT = 1 - 1

async def serve(queue, most):
    """Take away, not (a > b)."""
    if queue.size > most - 1:
        raise ValueError("more")
    # if a > b
    logging.warning("taken: %d", await queue.get(most, queue))
    await queue.get(most, queue)
    self.taken = True
    while True:
        for é in "ä", queue[0]:
            await é
    return f"{most - 1}"

class Server:
    def stop(self):
        if self.open: return max(1, 2)
        elif not self.there:
            self.open += 1
'''

# (function, kind, line, what the line is with it)
MISTAKES = [
    ("serve", "negate", 7, "if (not (queue.size > most - 1)):"),
    ("serve", "off by one", 7, "if queue.size >= most - 1:"),
    ("serve", "off by one", 7, "if queue.size > most - 2:"),
    ("serve", "remove", 8, "pass"),
    ("serve", "remove", 11, "pass"),
    ("serve", "await", 11, "queue.get(most, queue)"),
    ("serve", "swap", 11, "await queue.get(queue, most)"),
    ("serve", "remove", 12, "pass"),
    ("serve", "off by one", 14, 'for é in "ä", queue[1]:'),
    ("serve", "remove", 15, "pass"),
    ("serve", "await", 15, "é"),
    ("serve", "off by one", 16, 'return f"{most - 2}"'),
    ("stop", "negate", 20, "if (not (self.open)): return max(1, 2)"),
    ("stop", "swap", 20, "if self.open: return max(2, 1)"),
    ("stop", "negate", 21, "elif (not (not self.there)):"),
    ("stop", "remove", 22, "pass"),
]


def sites(code: str = CODE, path: str = "server/room/file.py") -> list[Site]:
    return python_sites(path, code.encode())


def line_of(site: Site, code: str = CODE) -> str:
    return site.apply(code.encode()).decode().splitlines()[site.line - 1].strip()


class Mistakes(unittest.TestCase):
    maxDiff = None

    def test_each_kind_and_no_other_place(self) -> None:
        found = [(one.function, one.kind, one.line, line_of(one)) for one in sites()]
        self.assertEqual(sorted(found), sorted(MISTAKES))
        self.assertEqual({one.kind for one in sites()}, {*KINDS})

    def test_each_is_a_program_that_differs_in_one_line(self) -> None:
        for site in sites():
            with self.subTest(site=site):
                changed = site.apply(CODE.encode()).decode()
                ast.parse(changed)
                pairs = zip(CODE.splitlines(), changed.splitlines(), strict=True)
                self.assertEqual(sum(one != other for one, other in pairs), 1)

    def test_a_probe_stands_before_the_line_of_its_statement(self) -> None:
        for site in sites():
            with self.subTest(site=site):
                ((offset, text),) = site.probe
                data = CODE.encode()
                code = (data[:offset] + text.encode() + data[offset:]).decode()
                ast.parse(code)
                # An `elif` cannot have one before it: its `if` has it.
                self.assertIn(code.splitlines().index(text.strip("\n")) + 1, (site.line, 20))

    def test_a_name_stays_where_lines_move_and_is_its_own(self) -> None:
        moved = sites(CODE.replace("import logging", "import logging\n\n\n"))
        self.assertEqual([one.id for one in moved], [one.id for one in sites()])
        twice = CODE.replace("    self.taken = True\n", "    self.taken = True\n" * 2)
        self.assertEqual(len({one.id for one in sites(twice)}), len(sites()) + 1)


class Choice(unittest.TestCase):
    def test_rooms_get_their_share(self) -> None:
        cases = [
            ({"a": 1, "b": 1}, 3, {"a": 2, "b": 1}),
            ({"a": 70, "b": 20, "c": 10}, 10, {"a": 7, "b": 2, "c": 1}),
            ({"a": 999, "b": 1}, 5, {"a": 5, "b": 0}),
        ]
        for sizes, count, shares in cases:
            with self.subTest(sizes=sizes):
                self.assertEqual(quotas(sizes, count), shares)

    def test_the_same_seed_chooses_the_same_ones_whatever_their_order(self) -> None:
        there = [*sites(), *sites(path="server/hall/file.py")]
        sizes = {"server/room": 30, "server/hall": 10}
        chosen = choose(there, sizes, 8, 7)
        self.assertEqual(choose([*reversed(there)], sizes, 8, 7), chosen)
        self.assertNotEqual(choose(there, sizes, 8, 8), chosen)
        self.assertEqual(Counter(one.room for one in chosen), {"server/room": 6, "server/hall": 2})
        self.assertEqual({one.kind for one in chosen}, {*KINDS})


if __name__ == "__main__":
    unittest.main()
