"""The page and the how-to of the library: each name with its arguments, and programs that run."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import io
import re
import sys
import tempfile
import unittest
from typing import Any

import server
from server.extensions import present

from ...test_docs import DOCS, REFERENCE, fenced, first_column

PAGE = REFERENCE / "extension-library.md"


class Page(unittest.TestCase):
    def test_each_name_with_its_arguments(self) -> None:
        page, exported = PAGE.read_text(), present()["library"].exports
        self.assertEqual(sorted(first_column(page, "Name")), sorted(exported))
        rows = re.findall(r"^\| `(\w+)` \| [^|]*?`\1(\([^`]+\))`", page, re.M)
        self.assertGreater(len(rows), 2)
        for name, signature in rows:
            about = inspect.signature(getattr(server, name))
            plain = [each.replace(annotation=each.empty) for each in about.parameters.values()]
            with self.subTest(name):
                self.assertEqual(signature, str(inspect.Signature(plain)))


class HowTo(unittest.IsolatedAsyncioTestCase):
    async def test_the_programs_of_the_how_to_run(self) -> None:
        sources = [
            source for _, source in fenced((DOCS / "howto" / "library.md").read_text(), "python")
        ]
        found: dict[str, Any] = {"__name__": "example"}
        sys.modules.setdefault("yaa", server)
        for source in sources:
            if "qwen3" not in source:  # that one needs a model
                exec(compile(source, "library.md", "exec"), found)
        with tempfile.TemporaryDirectory() as folder:
            call = asyncio.to_thread
            with contextlib.redirect_stdout(io.StringIO()):
                self.assertIn("42", await call(found["main"], folder))
            self.assertIn("4", await call(found["talk"], folder, f"{folder}/s", "calc 2+2"))
            self.assertRegex((await call(found["serve"], folder))[0], r"^http://127\.0\.0\.1:\d+$")


if __name__ == "__main__":
    unittest.main()
