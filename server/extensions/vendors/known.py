"""What is known of vendors of models, as the kernel asks for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...json_types import Json
from ...lib.http.client import Client
from ...models.vendors import DiscoveredProviders, Vendors
from . import key_shapes, public_models
from .discovery import discover
from .presets import PRESETS


class KnownVendors(Vendors):
    """The vendors of presets.py and key_shapes.py."""

    presets = PRESETS
    no_model = (
        "No model is set: paste a key in the page, name a provider in server.providers, or start"
        " one that is found on this machine."
    )

    def public_facts(self, url: str, model: str) -> dict[str, Any]:
        """Return what is publicly known of a model at this address."""
        return public_models.public_facts(url, model)

    async def discover(
        self, server: Mapping[str, Any], client: Client, env: Mapping[str, str]
    ) -> DiscoveredProviders:
        """Return the model servers of this machine, and the vendors of keys in variables."""
        return await discover(server, client, env)

    def info(self) -> list[Json]:
        """Return vendors with keys, model servers, and any other address."""
        return [*key_shapes.vendors_info(), *super().info()]

    def foreign_vendor(self, key: str, url: str) -> Json | None:
        """Return the vendor of a key that would be sent to another vendor; None if it fits."""
        vendor = key_shapes.foreign_vendor(key, url)
        return vendor.info if vendor else None


KNOWN = KnownVendors()
