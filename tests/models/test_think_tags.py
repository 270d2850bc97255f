"""Thoughts in tags: pieces, cut everywhere. More in vectors/llm_stream.json."""

from __future__ import annotations

import unittest

from server.models.chat_decoder import ThinkTags

CASES: list[tuple[bool, str, str, str]] = [
    # implicit, content, thought, text
    (False, "<think>a</think>b", "a", "b"),
    (False, "  <think>a</think>b", "a", "  b"),
    (False, "b<think>a</think>", "", "b<think>a</think>"),
    (False, "<think>İ < </ </thin </think>b", "İ < </ </thin ", "b"),
    (False, "<think>a</think><think>c</think>b", "ac", "b"),
    (False, "<thinker>", "", "<thinker>"),
    (False, "<thinking>a</think></thinking>b", "a</think>", "b"),
    (False, "<Thought>a</thought>\nb", "a", "\nb"),
    (False, "\n</think>\n\nb</think>", "", "\n\n\nb</think>"),
    (False, "<think>a</think></think>b", "a", "b"),
    (True, "</think>b", "", "b"),
    (True, "</think>", "", ""),
    (True, "<thinking>a</thinking>b", "a", "b"),
    (False, "<", "", "<"),
    (False, "<think>", "", ""),
    (False, "<think>a</thi", "a</thi", ""),
    (True, "a</think>b", "a", "b"),
    (True, "\n<think>a</think>b", "\na", "b"),
    (True, "<b", "<b", ""),
    (True, "a</think>b</think>", "a", "b</think>"),
    (True, "", "", ""),
]


def split(implicit: bool, pieces: list[str]) -> tuple[str, str]:
    tags = ThinkTags(implicit)
    out: list[tuple[bool, str]] = []
    for piece in pieces:
        if tags.after:
            out.append((False, piece))
        else:
            out += tags.feed(piece)
    out += tags.end()
    thought = "".join(text for is_thought, text in out if is_thought)
    return thought, "".join(text for is_thought, text in out if not is_thought)


class Tags(unittest.TestCase):
    def test_in_every_cut(self) -> None:
        for implicit, content, thought, text in CASES:
            with self.subTest(content, implicit=implicit):
                self.assertEqual(split(implicit, [content]), (thought, text))
                self.assertEqual(split(implicit, list(content)), (thought, text))
                for place in range(len(content)):
                    pieces = [content[:place], content[place:]]
                    self.assertEqual(split(implicit, pieces), (thought, text))

    def test_never_closed(self) -> None:
        for implicit, content, wanted in (
            (True, "a", True),
            (True, "a</think>", False),
            (False, "<think>a", False),
        ):
            tags = ThinkTags(implicit)
            tags.feed(content)
            tags.end()
            self.assertEqual(tags.never_closed, wanted)


if __name__ == "__main__":
    unittest.main()
