"""Presets, their aliases, and where their addresses lead."""

from __future__ import annotations

import unittest
from urllib.parse import urlsplit

from server.extensions.vendors.presets import PRESETS
from server.models.provider import endpoint, find_preset
from server.settings.schema import PROVIDER

from ...test_docs import REFERENCE, tables

NAMES = (
    *("openai", "bailian", "siliconflow", "zhipu", "minimax", "deepseek", "moonshot"),
    *("anthropic", "xai", "openrouter", "ollama", "lmstudio", "llamacpp", "vllm", "custom", "zai"),
)


class Presets(unittest.TestCase):
    def test_all_are_there(self) -> None:
        self.assertEqual(sorted(PRESETS), sorted(NAMES))
        for name, preset in PRESETS.items():
            self.assertEqual(preset.name, name)
        known = [each for preset in PRESETS.values() for each in (preset.name, *preset.aliases)]
        self.assertEqual(len(known), len({*known}))

    def test_names(self) -> None:
        cases = {
            "bigmodel": "zhipu",
            "BIGMODEL": "zhipu",
            "Z.ai": "zai",
            "dashscope": "bailian",
            "qwen": "bailian",
            "BAILIAN": "bailian",
            "SiliconFlow": "siliconflow",
            "silicon-flow": "siliconflow",
            "LM Studio": "lmstudio",
            "llama.cpp": "llamacpp",
            "llama-cpp": "llamacpp",
            "open-router": "openrouter",
            "kimi": "moonshot",
            "Claude": "anthropic",
            "grok": "xai",
            "": "custom",
            " ollama ": "ollama",
        }
        for name, wanted in cases.items():
            with self.subTest(name):
                found = find_preset(name, PRESETS)
                self.assertEqual(found and found.name, wanted)
        self.assertIsNone(find_preset("nonsense", PRESETS))

    def test_vendors(self) -> None:
        """Seeds 000 and 001: address, key variable and a model for each."""
        cases = {
            "bailian": (
                "https://dashscope.aliyuncs.com/compatible-mode/v1/chat/completions",
                "DASHSCOPE_API_KEY",
                "qwen3-max",
            ),
            "siliconflow": (
                "https://api.siliconflow.cn/v1/chat/completions",
                "SILICONFLOW_API_KEY",
                "deepseek-ai/DeepSeek-V3.2",
            ),
            "zhipu": (
                "https://open.bigmodel.cn/api/paas/v4/chat/completions",
                "ZHIPUAI_API_KEY",
                "glm-4.7",
            ),
            "zai": (
                "https://api.z.ai/api/paas/v4/chat/completions",
                "ZAI_API_KEY",
                "glm-4.7",
            ),
            "minimax": (
                "https://api.minimaxi.com/v1/chat/completions",
                "MINIMAX_API_KEY",
                "MiniMax-M2",
            ),
            "deepseek": (
                "https://api.deepseek.com/v1/chat/completions",
                "DEEPSEEK_API_KEY",
                "deepseek-chat",
            ),
        }
        for name, wanted in cases.items():
            preset = PRESETS[name]
            with self.subTest(name):
                found = (endpoint(preset.base_url), preset.key_env[0], preset.model_name)
                self.assertEqual(found, wanted)

    def test_its_page(self) -> None:
        (table,) = [
            rows
            for rows in tables((REFERENCE / "extension-vendors.md").read_text())
            if rows[0][0] == "Preset"
        ]
        self.assertEqual([row[0].strip("`") for row in table[1:]], [*PRESETS])
        for name, *told in table[1:]:
            preset = PRESETS[name.strip("`")]
            keys, messages = ", ".join(preset.key_env), preset.urls.get("messages", "")
            wanted = [preset.api, preset.base_url, keys, messages]
            with self.subTest(preset.name):
                self.assertEqual(told, [each or "–" for each in wanted])

    def test_a_vendors_addresses_are_on_one_host(self) -> None:
        """A key from the environment goes to the vendor's host; see registry._with_key."""
        for preset in PRESETS.values():
            for api, url in preset.urls.items():
                with self.subTest(preset.name, api=api):
                    self.assertIn(api, PROVIDER["api"].schema["enum"])
                    hosts = {urlsplit(each).hostname for each in (url, preset.base_url)}
                    self.assertEqual(len(hosts), 1)


if __name__ == "__main__":
    unittest.main()
