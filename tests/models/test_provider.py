"""Where the addresses of providers lead, and which API is meant."""

from __future__ import annotations

import unittest

from server.models.provider import API_PATHS, CUSTOM, Preset, choose_api, endpoint
from server.settings.schema import PROVIDER

from .fakes import KEY, provider

MESSAGES = Preset("m", "https://m.example/v1", api="messages")


class Endpoints(unittest.TestCase):
    def test_a_provider_does_not_show_its_key(self) -> None:
        self.assertNotIn(KEY, repr(provider(headers={"x": KEY})))

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
            ("", "", CUSTOM, "chat"),
            ("chat", "https://h/v1/messages", MESSAGES, "chat"),
            ("", "https://h/v1/chat/completions", MESSAGES, "chat"),
            ("", "https://h/messages/v1", CUSTOM, "chat"),
        ]
        for api, url, preset, wanted in cases:
            with self.subTest(api=api, url=url, preset=preset.name):
                self.assertEqual(choose_api(api, url, preset), wanted)
        with self.assertRaises(ValueError):
            choose_api("completions", "", CUSTOM)

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
