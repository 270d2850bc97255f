"""The handler of `/settings/try/key`: try a pasted key at the vendor that it belongs to.

Only owners' keys are let in, and nothing is written. A key is sent to a vendor only if its shape
belongs to that vendor alone, or if a person has named the vendor.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...api.body import misfit, read_fields
from ...api.router import RequestContext, Route, owners_only
from ...api.sessions import Runs
from ...json_types import Json
from ...lib.json_schema.objects import object_schema
from ...lib.runtime.accounts import OWNER, Pool
from ..parts import Host, Parts
from ..settings.provider_trial import try_provider
from ..settings.trial_routes import AT_ONCE, MAX_BODY, refuse_key, trial_refusal
from ..vendors.key_shapes import candidates, find_vendor, read_key, vendor_of

_BODY = object_schema(
    {"key": {"type": "string"}, "vendor": {"type": "string", "minLength": 1, "maxLength": 200}},
    ("key",),
    closed=True,
)


class KeyTrialParts(Parts):
    """The trials of one configuration."""

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self._turns = Pool(AT_ONCE, OWNER)

    def settings_routes(self, runs: Runs) -> Mapping[tuple[str, str], Route]:
        """Return the route."""
        return {("POST", "/settings/try/key"): Route(owners_only(self.post))}

    def info(self, owner: str) -> Mapping[str, Any]:
        """Return that a key can be tried alone, where it can."""
        return {} if self.host.live is None else {"key_trial": True}

    async def post(self, call: RequestContext) -> None:
        """Try a key alone, or at the vendor that is named."""
        await call.json(await self._try_key(await read_fields(call, MAX_BODY, _BODY)))

    async def _try_key(self, body: Json) -> Json:
        """Return what a key is good for, at the vendor that it or the request names."""
        try:
            key = read_key(body["key"])
        except ValueError as error:
            raise misfit(("key",), str(error)) from None
        vendor = certain = vendor_of(key)
        if "vendor" in body:
            vendor = find_vendor(body["vendor"])
            if vendor is None:
                raise misfit(("vendor",), "no vendor whose address is known here")
        if vendor is None:
            several = [each.info for each in candidates(key)]
            text = "Several vendors have keys of this kind: say whose it is. It was sent to nobody"
            return trial_refusal("vendor_unclear", text, candidates=several)
        if certain and certain.host != vendor.host:
            return refuse_key(certain.info)
        entry = {key: value for key, value in vendor.entry.items() if key != "model_name"}
        client, env = self.host.client, self.host.env
        extensions = self.host.config.server["extensions"]
        async with self._turns.turn():
            keyed = {**entry, "api_key": key}
            found = await try_provider(vendor.name, keyed, client, env, extensions)
        model = found["model_name"]
        if vendor.model_name in [each["name"] for each in found["models"]]:
            model = vendor.model_name
        suggested = {**entry, "model_name": model} if model else entry
        return {**found, "model_name": model, "vendor": vendor.name, "entry": suggested}
