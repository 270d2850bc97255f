"""The table of public_models.json, and its use in models/registry.py."""

from __future__ import annotations

import re
import unittest
from pathlib import Path
from typing import Any

from server.extensions.vendors.presets import PRESETS
from server.extensions.vendors.public_models import public_facts, table
from server.lib.http.client import Client
from server.lib.json_schema.field_types import NUMBER
from server.models.provider import host_of
from server.models.registry import Models
from server.models.vendors import DiscoveredProviders

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "extension-vendors.md"
OPENAI = "https://api.openai.com/v1"
PUBLIC = {"input": 0.0004, "output": 0.0016, "cached": 0.0001}


def resolve(entry: dict[str, Any], wanted: dict[str, Any] | None = None) -> Any:
    providers = {"main": {"api_key": "k", **entry}} if entry else {}
    server = {"providers": providers, "client_providers": {"allow": True, "hosts": ["*"]}}
    return Models(server, Client(), {}).resolve(wanted or {"name": "main"})


def sees(flag: bool) -> dict[str, Any]:
    return {"model_type": {"is_vision": flag}}


class Table(unittest.TestCase):
    def test_each_row(self) -> None:
        for host, models in table()["hosts"].items():
            self.assertTrue(models, host)
            for name, row in models.items():
                with self.subTest(host=host, model=name):
                    self.assertEqual(set(row), {"max_context", "costs", "inputs"})
                    self.assertGreater(row["max_context"], 1_000)
                    self.assertLessEqual(set(row["costs"]), {*PUBLIC, "cache_write"})
                    self.assertTrue(all(0 <= each < 1 for each in row["costs"].values()))
                    self.assertLessEqual(set(row["inputs"]), {"image", "pdf", "audio"})

    def test_vendors_and_documentation(self) -> None:
        local = {"127.0.0.1", None}
        hosts = {host_of(preset.base_url) for preset in PRESETS.values()} - local
        self.assertLessEqual(hosts, table()["hosts"].keys())
        number = sum(map(len, table()["hosts"].values()))
        text = re.sub(r"\s+", " ", PAGE.read_text("utf-8"))
        self.assertIn(
            f"{number} models at their vendors' own addresses, as of {table()['date']}", text
        )


class Use(unittest.TestCase):
    def test_the_owner_comes_first_and_other_addresses_have_none(self) -> None:
        preset = {"preset": "openai", "model_name": "gpt-4.1-mini"}
        window = 1_047_576
        cases: list[tuple[dict[str, Any], dict[str, Any], str, int | None]] = [
            (preset, PUBLIC, "USD", window),
            ({"api_url": OPENAI, "model_name": "gpt-4.1-mini"}, PUBLIC, "USD", window),
            (preset | {"costs": {"input": 1}, "cost_unit": "EUR"}, {"input": 1}, "EUR", window),
            (preset | {"cost_per_ktoken": 2}, {"total": 2}, "", window),
            (preset | {"max_context": 5_000, "costs": None}, PUBLIC, "USD", 5_000),
            (preset | {"models": [{"name": "gpt-4.1-mini", "max_context": 9}]}, PUBLIC, "USD", 9),
            (preset | {"model_name": "gpt-of-my-own"}, {}, "", None),
            (preset | {"api_url": "https://proxy.example/v1"}, {}, "", None),
            (preset | {"api_url": "https://api.openai.com.evil.example/v1"}, {}, "", None),
        ]
        for entry, costs, unit, context in cases:
            with self.subTest(entry=entry):
                found = resolve(entry)
                provider = found.api.provider
                self.assertEqual((dict(provider.costs), provider.cost_unit), (costs, unit))
                self.assertEqual(found.facts.get("max_context"), context)
                self.assertIsNone(provider.max_tokens)

    def test_whether_it_sees(self) -> None:
        cases: list[tuple[dict[str, Any], bool]] = [
            ({"preset": "openai", "model_name": "gpt-4.1-mini"}, True),
            ({"preset": "deepseek", "model_name": "deepseek-chat"}, False),
            ({"preset": "deepseek", "model_name": "deepseek-chat"} | sees(True), True),
            ({"preset": "openai", "model_name": "gpt-4.1-mini"} | sees(False), False),
            ({"preset": "openai", "model_name": "gpt-of-my-own"}, True),
        ]
        for entry, expected in cases:
            with self.subTest(entry):
                found = resolve(entry)
                self.assertIs(found.facts["is_vision"], expected)
                self.assertIs(found.api.provider.preset.images, expected)

    def test_a_quirk_of_the_owner_stays(self) -> None:
        entry = {"preset": "openai", "model_name": "gpt-4.1-mini"}
        self.assertTrue(resolve(entry).api.provider.preset.images)
        blind = resolve({**entry, "quirks": {"images": False}})
        self.assertEqual((blind.api.provider.preset.images, blind.facts["is_vision"]), (False,) * 2)

    def test_a_session_s_own_provider(self) -> None:
        wanted = {"api_url": OPENAI, "api_key": "k", "model_name": "gpt-4.1-mini"}
        for given, costs in (({}, PUBLIC), ({"costs": {"input": 3}}, {"input": 3})):
            with self.subTest(given):
                self.assertEqual(dict(resolve({}, wanted | given).api.provider.costs), costs)

    def test_a_session_cannot_set_a_price_that_is_known(self) -> None:
        wanted = {"name": "main", "costs": {"input": 0, "output": 0}}
        found = resolve({"preset": "openai", "model_name": "gpt-4.1-mini"}, wanted)
        self.assertEqual(dict(found.api.provider.costs), PUBLIC)

    def test_what_is_not_known(self) -> None:
        for url, model in (("", "gpt-4.1-mini"), ("http://[::1", "m"), (OPENAI, ""), (OPENAI, "x")):
            self.assertEqual(public_facts(url, model), {})
        self.assertTrue(
            all(NUMBER.fits(each) for each in public_facts(OPENAI, "gpt-5")["costs"].values())
        )

    def test_prices_that_are_public_are_told(self) -> None:
        entry = {"preset": "openai", "api_key": "k", "model_name": "gpt-5"}
        models = Models({}, Client(), {}, DiscoveredProviders({"openai": entry}))
        models.offer("openai", {"gpt-4o": None, "of-tomorrow": None})
        about = models.catalog()[0]["about"]
        self.assertEqual(set(about), {"gpt-5", "gpt-4o"})
        self.assertEqual(about["gpt-4o"]["window"], 128000)
        self.assertEqual(about["gpt-4o"]["price"]["unit"], "USD")
        self.assertGreater(about["gpt-4o"]["price"]["output"], 0)


if __name__ == "__main__":
    unittest.main()
