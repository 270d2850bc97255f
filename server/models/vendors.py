"""What is known of vendors of models, beside what the owner says: nothing, in the kernel.

An extension that knows some declares its `Vendors` (extensions/declaration.py).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from .. import extensions
from ..json_types import Json
from ..lib.http.client import Client
from .provider import CUSTOM, Preset, find_preset


@dataclass(frozen=True)
class DiscoveredProviders:
    """Discovered providers, as entries of the configuration, and `lines` that describe them."""

    providers: dict[str, dict[str, Any]] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)


class Vendors:
    """The vendors that are known: none.

    presets  by name; `custom` is among them
    no_model  what to do where no model is set
    """

    presets: Mapping[str, Preset] = MappingProxyType({CUSTOM.name: CUSTOM})
    no_model = "No model is set: name a provider in server.providers."

    def public_facts(self, url: str, model: str) -> dict[str, Any]:
        """Return members that an entry of `server.providers` may leave out for a model there."""
        return {}

    async def discover(
        self, server: Mapping[str, Any], client: Client, env: Mapping[str, str]
    ) -> DiscoveredProviders:
        """Return providers that need no configuration. Never raises for their failures."""
        return DiscoveredProviders()

    def info(self) -> list[Json]:
        """Return what the page offers, {vendor, title, preset, …} each: any address."""
        return [{"vendor": CUSTOM.name, "title": "", "preset": CUSTOM.name, "needs_url": True}]

    def foreign_vendor(self, key: str, url: str) -> Json | None:
        """Return the vendor of a key that would be sent to another vendor; None if it fits."""
        return None


NONE = Vendors()


def known_vendors(names: Collection[str]) -> Vendors:
    """Return what the extensions of these names (`server.extensions`) know of vendors."""
    return next(iter(extensions.load_each("vendors", extensions.select(names)).values()), NONE)


def owner_of_preset(names: Collection[str], preset: str) -> str:
    """Return the extension that has a preset and is not among these names, "" if none has it."""
    chosen = extensions.select(names)
    others = {name: each for name, each in extensions.present().items() if name not in chosen}
    vendors = extensions.load_each("vendors", others).items()
    return next((name for name, each in vendors if find_preset(preset, each.presets)), "")
