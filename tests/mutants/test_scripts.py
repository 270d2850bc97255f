"""Which mistakes are made in JavaScript: with the parser that Node.js brings along."""

from __future__ import annotations

import unittest

from ..tooling import tools
from .sites import script_sites

CODE = """\
yaa.define('room/file', ['core/ids'], ({ id }) => {
  const limit = 3 - 1 // a > b
  /** Not this: a < b. */
  async function serve(queue, most) {
    if (queue.size > most - 1) throw new Error('a > b')
    console.warn('taken', most - 1)
    else_ = most ? await queue.get(most, queue) : queue[0]
    for (const é of ['ä']) push(é)
  }
  const same = (one, two) => one.id <= two.id
  return { serve, same }
})
"""
# (function, kind, line, what the line is with it)
MISTAKES = [
    ("serve", "negate", 5, "if (!(queue.size > most - 1)) throw new Error('a > b')"),
    ("serve", "off by one", 5, "if (queue.size >= most - 1) throw new Error('a > b')"),
    ("serve", "off by one", 5, "if (queue.size > most - 2) throw new Error('a > b')"),
    ("serve", "remove", 5, "if (queue.size > most - 1) ;"),
    ("serve", "remove", 7, ";"),
    ("serve", "negate", 7, "else_ = !(most) ? await queue.get(most, queue) : queue[0]"),
    ("serve", "await", 7, "else_ = most ? queue.get(most, queue) : queue[0]"),
    ("serve", "swap", 7, "else_ = most ? await queue.get(queue, most) : queue[0]"),
    ("serve", "off by one", 7, "else_ = most ? await queue.get(most, queue) : queue[1]"),
    ("serve", "remove", 8, "for (const é of ['ä']) ;"),
    ("same", "off by one", 10, "const same = (one, two) => one.id < two.id"),
]
PROBED = {
    5: "    PROBE; if (queue.size > most - 1) throw new Error('a > b')",
    8: "    PROBE; for (const é of ['ä']) push(é)",
    10: "  const same = (one, two) => (PROBE, one.id <= two.id)",
}


@tools.needs(tools.program_node())
class Mistakes(unittest.TestCase):
    maxDiff = None

    def test_each_kind_and_no_other_place(self) -> None:
        (sites,) = script_sites([("client/js/room/file.js", CODE)])
        found = []
        for site in sites or []:
            lines = site.apply(CODE.encode()).decode().splitlines()
            found.append((site.function, site.kind, site.line, lines[site.line - 1].strip()))
            data = CODE.encode()
            for offset, text in sorted(site.probe, reverse=True):
                data = data[:offset] + text.encode() + data[offset:]
            if site.line in PROBED:
                self.assertEqual(data.decode().splitlines()[site.line - 1], PROBED[site.line])
        self.assertEqual(sorted(found), sorted(MISTAKES))

    def test_what_does_not_parse_has_none(self) -> None:
        module = "export async function f() { await g() }"
        found = script_sites([("a.js", "if ("), ("b.js", module), ("c.js", "")])
        self.assertEqual([one and len(one) for one in found], [None, 2, []])


if __name__ == "__main__":
    unittest.main()
