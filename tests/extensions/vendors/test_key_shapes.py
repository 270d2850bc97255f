"""Whose key a pasted text is, and whose it may be."""

from __future__ import annotations

import re
import unittest
from urllib.parse import urlsplit

from server.extensions.vendors.discovery import LOCAL
from server.extensions.vendors.key_shapes import (
    MAX_KEY,
    SHARED,
    VENDORS,
    candidates,
    find_vendor,
    foreign_vendor,
    read_key,
    vendor_of,
)
from server.extensions.vendors.known import KNOWN
from server.extensions.vendors.presets import PRESETS

TAIL = "abcDEF0123456789abcDEF0123456789"
CERTAIN = {
    f"sk-ant-api03-{TAIL}": "anthropic",
    f"sk-or-v1-{TAIL}": "openrouter",
    f"sk-proj-{TAIL}": "openai",
    f"sk-svcacct-{TAIL}": "openai",
    f"sk-{TAIL[:20]}T3BlbkFJ{TAIL[:20]}": "openai",
    f"gsk_{TAIL}": "groq",
    f"AIza{TAIL}abc": "gemini",
    f"xai-{TAIL}": "xai",
    f"csk-{TAIL}": "cerebras",
}
SEVERAL = {
    f"sk-{TAIL}": {"openai", "deepseek", "moonshot", "bailian", "siliconflow", "moonshot-global"},
    f"{'0123abcd' * 4}.{TAIL[:16]}": {"zhipu", "zai"},
    "eyJhbGciOiJSUzI1NiJ9.eyJHcm91cCI6MX0.c2ln": {"minimax", "minimax-global"},
    TAIL: {"mistral"},
}


class Shapes(unittest.TestCase):
    def test_a_shape_of_one_vendor(self) -> None:
        for key, name in CERTAIN.items():
            with self.subTest(key):
                found = vendor_of(key)
                assert found is not None
                self.assertEqual(found.name, name)
                self.assertEqual([each.name for each in candidates(key)], [name])

    def test_a_shape_of_several_or_none(self) -> None:
        for key, names in SEVERAL.items():
            with self.subTest(key):
                self.assertIsNone(vendor_of(key))
                self.assertLessEqual(names, {each.name for each in candidates(key)})

    def test_no_key_is_certain_for_two(self) -> None:
        patterns = [each.pattern for each in VENDORS.values() if each.pattern]
        for key in CERTAIN:
            fitting = [pattern for pattern in patterns if re.fullmatch(pattern, key)]
            self.assertEqual(len(fitting), 1, key)

    def test_what_people_paste(self) -> None:
        for text, key in (
            ("  sk-ant-x\n", "sk-ant-x"),
            ('"sk-ant-x"', "sk-ant-x"),
            ("Bearer sk-ant-x", "sk-ant-x"),
            ("`bearer\tsk-ant-x`", "sk-ant-x"),
            ("x" * MAX_KEY, "x" * MAX_KEY),
        ):
            with self.subTest(text[:30]):
                self.assertEqual(read_key(text), key)
        for text in ("", "  ", '""', "two words", "sk-ant-ключ", "a\x00b", "x" * (MAX_KEY + 1)):
            with self.subTest(text[:30]), self.assertRaisesRegex(ValueError, "visible ASCII"):
                read_key(text)

    def test_a_key_that_would_go_to_another_vendor(self) -> None:
        ant, unclear = f"sk-ant-{TAIL}", f"sk-{TAIL}"
        for key, url, name in (
            (ant, "https://api.anthropic.com/v1/messages", None),
            (ant, "https://api.openai.com/v1/chat/completions", "anthropic"),
            (ant, "https://API.openai.com/v1/chat/completions", "anthropic"),
            (f"gsk_{TAIL}", "https://api.anthropic.com/v1/messages", "groq"),
            (ant, "https://gateway.example/v1/chat/completions", None),
            (ant, "http://127.0.0.1:4000/v1/chat/completions", None),
            (unclear, "https://api.deepseek.com/v1/chat/completions", None),
            ("", "https://api.openai.com/v1", None),
        ):
            with self.subTest(key=key[:8], url=url):
                found = foreign_vendor(key, url)
                self.assertEqual(found.name if found else None, name)


class Table(unittest.TestCase):
    def test_vendors(self) -> None:
        for name, vendor in VENDORS.items():
            with self.subTest(name):
                self.assertEqual(vendor.name, name)
                self.assertIn(vendor.preset, PRESETS)
                self.assertEqual(urlsplit(vendor.key_url).scheme, "https")
                self.assertTrue(vendor.host, "a key alone must be enough")
                self.assertTrue(vendor.model_name or PRESETS[vendor.preset].model_name)
                self.assertLessEqual(set(vendor.entry), {"preset", "api_url", "model_name"})
        for _, names in SHARED:
            self.assertLessEqual(set(names), set(VENDORS))

    def test_each_preset_with_keys_says_where_they_are_made(self) -> None:
        keyed = {preset.name for preset in PRESETS.values() if preset.key_env}
        self.assertEqual(keyed - VENDORS.keys(), set())
        self.assertEqual(LOCAL.keys() - PRESETS.keys(), set())

    def test_names(self) -> None:
        for name, wanted in (
            *(("openai", "openai"), ("claude", "anthropic"), ("grok", "xai"), ("groq", "groq")),
            *(("custom", None), ("ollama", None), ("", None), ("__proto__", None)),
        ):
            with self.subTest(name):
                found = find_vendor(name)
                self.assertEqual(found.name if found else None, wanted)

    def test_what_the_page_offers(self) -> None:
        listed = {each["vendor"]: each for each in KNOWN.info()}
        self.assertEqual(len(listed), len(KNOWN.info()))
        self.assertLess({*VENDORS, "ollama", "custom"}, set(listed))
        self.assertEqual(listed["anthropic"]["key_shape"], "sk-ant-")
        self.assertNotIn("key_shape", listed["mistral"])
        self.assertTrue(listed["custom"]["needs_url"])


if __name__ == "__main__":
    unittest.main()
