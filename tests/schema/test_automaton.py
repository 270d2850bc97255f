"""The automaton against `re`: random patterns over a small alphabet, all short texts."""

from __future__ import annotations

import itertools
import random
import unittest

from server.schema.automaton import MAX_COST, Automaton, TooLarge
from server.schema.patterns import Pattern
from server.schema.regex import parse

SHORT = ["".join(letters) for n in range(6) for letters in itertools.product("ab", repeat=n)]


def random_pattern(chance: random.Random, depth: int = 0) -> str:
    """Patterns without countless ways, which `re` can answer too."""
    kind = chance.randrange(8) if depth < 3 else 0
    match kind:
        case 0 | 1:
            return chance.choice(["a", "b", ".", "[^a]", "ab", ""])
        case 2:
            return f"(?:{random_pattern(chance, depth + 1)}|{random_pattern(chance, depth + 1)})"
        case 3:
            return f"(?:{random_pattern(chance, depth + 1)}){chance.choice(['?', '{2}', '{1,3}'])}"
        case 4:
            return chance.choice(["a*", "b+", "(?:ab)*", "[ab]{2,}"])
        case 5:
            return chance.choice(["^", "$"])
    return random_pattern(chance, depth + 1) + random_pattern(chance, depth + 1)


class AgainstRe(unittest.TestCase):
    def test_random_patterns(self) -> None:
        chance = random.Random(2026)
        for _ in range(150):
            source = random_pattern(chance)
            automaton, pattern = Automaton(parse(source)), Pattern(source)
            for text in SHORT:
                expected = pattern._expression.search(text) is not None
                if automaton.search(text)[0] != expected:
                    self.fail(f"{source!r} in {text!r}: `re` says {expected}")


class Limits(unittest.TestCase):
    def test_too_large(self) -> None:
        for source in ("a{3000}", "(?:a{50}){50}", r"a\b", "(?=a)", r"(a)\1"):
            with self.subTest(source), self.assertRaises(TooLarge):
                Automaton(parse(source))

    def test_cost_is_bounded(self) -> None:
        """2**20 sets of states: each character of this text leads to a new one."""
        chance = random.Random(1)
        text = "".join(chance.choice("ab") for _ in range(100_000))
        found, cost = Automaton(parse("(?:a|b)*a(?:a|b){20}c")).search(text)
        self.assertIsNone(found)
        self.assertLess(cost, MAX_COST + 1_000)

    def test_forgetting_changes_nothing(self) -> None:
        """More distinct characters than moves are remembered."""
        automaton = Automaton(parse("x[^y]*y$"))
        text = "x" + "".join(chr(0x4E00 + n) for n in range(5_000)) + "y"
        self.assertEqual([automaton.search(text)[0] for _ in range(3)], [True] * 3)


if __name__ == "__main__":
    unittest.main()
