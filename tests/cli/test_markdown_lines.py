"""Markdown on a terminal: in pieces of any size, at any width, and from whoever means ill."""

from __future__ import annotations

import json
import re
import unittest
from itertools import groupby

from server.cli.markdown_lines import MarkdownLines, width_of
from server.cli.terminal import STYLES, visible
from tests.tooling.tools import ROOT

TEXT = """\
# A *title*
Words, **bold ones**, `code` and snake_case; *args, **kwargs, 2 * 3 * 4, \\*no\\* and *so*.
- one
  - two **bold**
3. three
> said `x`

```python
def f(*a): # **x**
| no | table |
```

| Name | 数 | ok |
|------|:--:|---|
| 你好 `x` | **12** | 👩‍💻 |
| a \\| b | 3 | x |

---
| no table |
the **end"""
DRAWN = """\
A title
Words, bold ones, code and snake_case; *args, **kwargs, 2 * 3 * 4, *no* and so.
• one
  • two bold
3. three
│ said x

python
def f(*a): # **x**
| no | table |

Name   │ 数 │ ok
───────┼────┼───
你好 x │ 12 │ 👩‍💻
a | b  │ 3  │ x

────────────────────────────────────────
| no table |
the **end
"""


def drawn(text: str, width: int = 80, size: int = 0) -> list[tuple[str, str]]:
    """What is written, in runs of one style, for pieces of this many characters."""
    found: list[tuple[str, str]] = []
    lines = MarkdownLines(lambda text, style: found.append((text, style)), width)
    for start in range(0, len(text), size or len(text)):
        lines.feed(text[start : start + (size or len(text))])
    lines.end()
    groups = groupby((each for each in found if each[0]), key=lambda each: each[1])
    return [("".join(text for text, _ in group), style) for style, group in groups]


def plain(text: str, width: int = 80, size: int = 0) -> str:
    return "".join(part for part, _ in drawn(text, width, size))


class Drawing(unittest.TestCase):
    def test_a_text(self) -> None:
        self.assertEqual(plain(TEXT), DRAWN)
        styles = dict(drawn(TEXT))
        for text, style in (
            *(("bold ones", "bold"), ("code", "cyan"), ("so", "italic"), ("• one", "")),
            ("│ said ", "dim"),
        ):
            if text in styles:
                self.assertEqual(styles[text], style)

    def test_it_is_the_same_wherever_it_is_cut(self) -> None:
        for width in (80, 20, 1):
            whole, words = drawn(TEXT, width), plain(TEXT, width)
            for size in (1, 2, 3, 5, 7, 11, 64):
                self.assertEqual(drawn(TEXT, width, size), whole, size)
            for cut in range(len(TEXT)):
                found: list[tuple[str, str]] = []
                lines = MarkdownLines(lambda *each: found.append(each), width)  # noqa: B023
                lines.feed(TEXT[:cut])
                lines.feed(TEXT[cut:])
                lines.end()
                self.assertEqual("".join(text for text, _ in found), words, cut)

    def test_words_go_on_at_once(self) -> None:
        found: list[str] = []
        lines = MarkdownLines(lambda text, _: found.append(text), 80)
        for word in ("Some ", "words ", "and **bo"):
            lines.feed(word)
        self.assertEqual("".join(found), "Some words and ", "only what may be a span is held")
        lines.feed("ld** x")
        self.assertEqual("".join(found), "Some words and bold x")
        lines.feed("\n```\nprint(")
        self.assertTrue("".join(found).endswith("print("))

    def test_a_span_without_an_end_is_not_held_for_ever(self) -> None:
        text = "**" + "x" * 1_000
        found: list[str] = []
        lines = MarkdownLines(lambda part, _: found.append(part), 80)
        for sign in text:
            lines.feed(sign)
        self.assertGreater(len("".join(found)), 500)
        lines.end()
        self.assertEqual("".join(found), text + "\n")

    def test_no_line_is_wider_than_the_terminal_for_a_table(self) -> None:
        table = "| Name | Wert |\n|--|--|\n| 你好你好你好 | 👩‍💻 abc |\n"
        for width in range(18, 40):
            for line in plain(table, width).splitlines():
                self.assertLessEqual(width_of(line), width)
        self.assertEqual(plain(table, 16), "Name: 你好你好你好\nWert: 👩‍💻 abc\n\n")

    def test_widths(self) -> None:
        for text, columns in (
            *(("abc", 3), ("你好", 4), ("é", 1), ("e\u0301", 1), ("👩‍💻", 2), ("👍🏽", 2)),
            *(("❤\ufe0f", 2), ("한", 2), ("ｱ", 1), ("", 0), ("a\u200db", 1)),
        ):
            with self.subTest(text):
                self.assertEqual(width_of(text), columns)


class Hostile(unittest.TestCase):
    def test_nothing_but_its_own_styles_reaches_the_terminal(self) -> None:
        vectors = json.loads((ROOT / "tests" / "vectors" / "invisible.json").read_text())
        signs = [chr(int(each.split("-")[0], 16)) for each in vectors["ranges"]]
        signs = [each for each in signs if visible(each) != each]
        self.assertIn("\x00", signs)
        forms = (
            *("{}", "# {}", "**{}**", "`{}`", "*a{}*", "- {}", "> {}", "```{}\n{}\n```\n{}"),
            *("| {} | b |\n|-|-|\n| a{} | {} |\n", "\\{}", "\\{}[2J", "`a{}[2J`", "**\\{}[31m**"),
        )
        for sign in [*signs, "\x1b[2J", "\x1b]0;t\x07", "\x9b2J", "\r"]:
            for form in forms:
                text = visible(form.replace("{}", sign))
                for size in (0, 1, 2):
                    with self.subTest(ascii(sign), form=form, size=size):
                        shown = plain(text, 80, size)
                        self.assertEqual(visible(shown), shown)
                        self.assertNotIn("\x1b", shown)

    def test_styles_are_those_of_the_terminal(self) -> None:
        self.assertLessEqual({style for _, style in drawn(TEXT)} - {""}, STYLES.keys())

    def test_it_takes_no_long_time(self) -> None:
        """Each is quadratic where a span is looked for from every sign on."""
        for text in (
            "*a" * 5_000,
            "**a " * 5_000,
            "a" + "`` ` " * 2_000,
            "**" * 5_000,
            "_a " * 5_000,
            "| " * 5_000 + "\n",
        ):
            for size in (0, 1):
                self.assertTrue(re.sub(r"\s", "", plain(text, 80, size)))


if __name__ == "__main__":
    unittest.main()
