"""Templates: what is filled in, and what a hostile one costs."""

from __future__ import annotations

import unittest

from server.session.prompts import MOST_FILLED, fill, placeholders_in


class Template(unittest.TestCase):
    def test_a_template_that_repeats_a_value_stays_small(self) -> None:
        for size in (1, 1_000, 100_000):
            facts = {"character": "x" * size, "agent": "y" * size}
            for count in (1, 4, 100_000):
                template = "{character}{agent}{unknown}" * count
                with self.subTest(size=size, count=count):
                    filled = fill(template, facts)
                    self.assertLessEqual(len(filled), len(template) + 8 * 2 * size)
                    if count <= 4:
                        whole = f"{facts['character']}{facts['agent']}{{unknown}}" * count
                        self.assertEqual(filled, whole)

    def test_the_first_placeholders_count(self) -> None:
        template = "".join(f"{{a{'b' * n}}}" for n in range(2 * MOST_FILLED))
        self.assertEqual(len(placeholders_in(template)), MOST_FILLED)
        filled = fill("{a}" * (MOST_FILLED + 5), {"a": ""})
        self.assertEqual(filled, "{a}" * 5)


if __name__ == "__main__":
    unittest.main()
