"""Presets, their aliases, and where addresses lead."""

from __future__ import annotations

import unittest
from urllib.parse import urlsplit

from server.models.vendors import (
    ALIASES,
    API_PATHS,
    PRESETS,
    choose_api,
    endpoint,
    find_preset,
)
from server.settings.schema import PROVIDER

from .fakes import KEY, provider

NAMES = (
    *("openai", "bailian", "siliconflow", "zhipu", "minimax", "deepseek", "moonshot"),
    *("anthropic", "xai", "openrouter", "ollama", "lmstudio", "llamacpp", "vllm", "custom", "zai"),
)


class Presets(unittest.TestCase):
    def test_all_are_there(self) -> None:
        self.assertEqual(sorted(PRESETS), sorted(NAMES))
        for alias, name in ALIASES.items():
            self.assertIn(name, PRESETS)
            self.assertNotIn(alias, PRESETS)

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
                found = find_preset(name)
                self.assertEqual(found and found.name, wanted)
        self.assertIsNone(find_preset("nonsense"))

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

    def test_a_provider_does_not_show_its_key(self) -> None:
        self.assertNotIn(KEY, repr(provider(headers={"x": KEY})))


class Endpoints(unittest.TestCase):
    def test_six_spellings_reach_one_endpoint(self) -> None:
        for url in (
            "http://localhost:1234",
            "http://localhost:1234/",
            "http://localhost:1234/v1",
            "http://localhost:1234/v1/",
            "http://localhost:1234/v1/chat/completions",
            "http://localhost:1234/v1/chat/completions/",
            "localhost:1234/v1",
            " HTTP://LocalHost:1234/v1#x ",
        ):
            with self.subTest(url):
                self.assertEqual(endpoint(url), "http://localhost:1234/v1/chat/completions")

    def test_versions_and_queries(self) -> None:
        cases = {
            "https://open.bigmodel.cn/api/paas/v4": "/api/paas/v4/chat/completions",
            "https://h/v1beta/openai/": "/v1beta/openai/chat/completions",
            "https://h/openai": "/openai/v1/chat/completions",
            "https://h/vision": "/vision/v1/chat/completions",
            "https://h/x/chat/completions?api-version=1": "/x/chat/completions?api-version=1",
            "api.example.com": "/v1/chat/completions",
        }
        for url, path in cases.items():
            with self.subTest(url):
                found = endpoint(url)
                self.assertTrue(found.startswith("https://"))
                self.assertTrue(found.endswith(path), found)

    def test_the_configuration_knows_the_same_apis(self) -> None:
        self.assertLessEqual({"", *API_PATHS}, {*PROVIDER["api"].schema["enum"]})

    def test_which_api_is_meant(self) -> None:
        cases = [
            ("", "", "custom", "chat"),
            ("chat", "https://h/v1/messages", "anthropic", "chat"),
            ("", "https://h/v1/chat/completions", "anthropic", "chat"),
            ("", "https://h/messages/v1", "custom", "chat"),
        ]
        for api, url, preset, wanted in cases:
            with self.subTest(api=api, url=url, preset=preset):
                self.assertEqual(choose_api(api, url, PRESETS[preset]), wanted)
        with self.assertRaises(ValueError):
            choose_api("completions", "", PRESETS["custom"])

    def test_a_vendors_addresses_are_on_one_host(self) -> None:
        """A key from the environment goes to the vendor's host; see registry._with_key."""
        for preset in PRESETS.values():
            for api, url in preset.urls.items():
                with self.subTest(preset.name, api=api):
                    self.assertIn(api, PROVIDER["api"].schema["enum"])
                    hosts = {urlsplit(each).hostname for each in (url, preset.base_url)}
                    self.assertEqual(len(hosts), 1)

    def test_refused(self) -> None:
        for url in (
            "",
            "ftp://h/v1",
            "file:///etc/passwd",
            "http://",
            "http:///v1",
            "http://user:pw@h/v1",
            "http://h:99999/v1",
            "http://h:0/v1",
            "http://h/ v1",
            "http://h/\nv1",
            "http://hé/v1",
            "javascript:alert(1)",
        ):
            with self.subTest(url), self.assertRaises(ValueError):
                endpoint(url)


if __name__ == "__main__":
    unittest.main()
