"""The pages under `/auto-ai/` and the module for pages of others load the same scripts."""

from __future__ import annotations

import re
import unittest

from ...tooling.source import CLIENT, Listed

PAGES = CLIENT / "auto-ai"


class Pages(unittest.TestCase):
    def test_they_load_what_the_module_imports(self) -> None:
        module = (PAGES / "autoai-chat.js").read_text()
        named = re.findall(r"^import '(.+)'$", module, re.M)
        widget = [f"../{name}" for name in Listed.of(CLIENT / "widget-demo.html")[:-2]]
        self.assertEqual(named, [*widget, "../js/widget/autoai.js"])
        for page in ("index.html", "sidebar-demo.html"):
            listed = Listed.of(PAGES / page)
            self.assertEqual(listed, ["auto-ai.css", *named, "../js/widget/autoai-page.js"], page)


if __name__ == "__main__":
    unittest.main()
