"""The handler of `/settings/try/provider`: try a provider before it is used.

Only owners' keys are let in. Nothing is written. A secret that the page was shown as
`{"secret": true}` is the saved one, and is used only where the saved entry would send it: at the
same address, or in the same program.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping
from typing import Any, NoReturn
from urllib.parse import urlsplit

from ...api.body import BodyLimits, misfit, read_fields
from ...api.router import RequestContext, Route, owners_only
from ...config import ConfigError
from ...errors import Problem, refuse
from ...json_types import Json
from ...lib.http.client import Client
from ...lib.json_schema.field_types import misfits, object_of
from ...lib.json_schema.objects import object_schema
from ...lib.runtime.accounts import OWNER, Pool
from ...lib.strict_json import pointer
from ...models.http_model import RemoteAPI
from ...models.provider import host_of
from ...models.vendors import Vendors
from ...settings import schema
from ...tools.decorators import ToolError
from . import host_access
from .hidden_secrets import unmask
from .provider_trial import Trial, try_provider

MAX_BODY = BodyLimits(128 * 1024, 4_000)
AT_ONCE = 4  # trials; further ones wait

_NAME = {"type": "string", "minLength": 1, "maxLength": 200}
_OBJECT = {"type": "object"}
_PROVIDER_BODY = object_schema({"provider": _OBJECT, "name": _NAME}, closed=True)
_ENTRY = object_of(schema.PROVIDER, closed=True)
_REFERENCE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}")
_NOTHING: Json = {"ok": False, "preset": "", "model_name": "", "models": [], "proof": ""}

Entries = Callable[[], Mapping[str, Json]]


class SettingsTrials:
    """The trials of one server.

    `server` is the half in force, `providers` returns the entries that can be named: configured
    and discovered. `env`: the variables of the process, for `${NAME}` and the vendors' keys.
    `vendors`: those that are known.
    """

    def __init__(
        self,
        server: Mapping[str, Any],
        providers: Entries,
        client: Client,
        env: Mapping[str, str],
        vendors: Vendors,
    ) -> None:
        self._server = server
        self._providers, self._client, self._env, self._vendors = providers, client, env, vendors
        self._turns = Pool(AT_ONCE, OWNER)

    def routes(self) -> dict[tuple[str, str], Route]:
        """Return (method, path) -> route."""
        return {("POST", "/settings/try/provider"): Route(owners_only(self.provider))}

    async def provider(self, call: RequestContext) -> None:
        """Try a provider: a whole entry, or a saved one by its name."""
        body = await read_fields(call, MAX_BODY, _PROVIDER_BODY)
        if not body:
            raise Problem("request_invalid", "Send a `provider`, the `name` of one, or both")
        name, entry = self._entry_of(body)
        saved = self._providers().get(name)
        await check_openings(self._server, "providers", name, entry, saved)
        await call.json(await self._try_entry(name, entry))

    async def _try_entry(self, name: str, entry: Json) -> Json:
        provider = self._api_of(name, entry).provider
        if other := self._vendors.foreign_vendor(provider.key, provider.url):
            return refuse_key(other)
        async with self._turns.turn():
            return await try_provider(
                *(name, entry, self._client, self._env, self._server["extensions"])
            )

    def _entry_of(self, body: Json) -> tuple[str, Json]:
        """Return the name and the entry of a request. Raises Problem."""
        known, name = self._providers(), body.get("name", "")
        saved = known.get(name)
        if "provider" not in body:
            if saved is None:
                names = ", ".join(known) or "none"
                text = f"There is no provider {name[:100]!r} in the configuration. Known: {names}"
                raise Problem("provider_unknown", text)
            return name, saved
        entry, kept = with_kept(body["provider"], saved, self._env, "provider")
        _check_entry(entry)
        name = name or entry.get("preset") or host_of(entry.get("api_url", "")) or "custom"
        if kept and saved is not None:
            urls = [self._api_of(name, each).provider.url for each in (entry, saved)]
            new, old = (urlsplit(url)[:2] for url in urls)
            if new != old:
                refuse_saved_secrets("provider", f"{old[0]}://{old[1]}")
        return name, entry

    def _api_of(self, name: str, entry: Json) -> RemoteAPI:
        names = self._server["extensions"]
        try:
            return Trial(name, entry, self._client, self._env, names).api()
        except ConfigError as error:
            text = str(error).removeprefix(f"server.providers.{name}").removeprefix(".")
            raise misfit(("provider",), text) from None


async def check_openings(
    server: Mapping[str, Any], part: str, name: str, entry: Json, saved: Json | None
) -> None:
    """Refuse what a change of the settings may not do either. Raises Problem."""
    before = {part: {name: saved}} if saved is not None else {}
    try:
        openings = [*host_access.find_openings(before, {part: {name: entry}})]
    except ToolError as error:
        raise misfit(("entry",), str(error)) from None
    found = await asyncio.to_thread(lambda: [*host_access.refusals(openings, server)])
    refuse("forbidden", found)


def with_kept(
    value: Any, saved: Any, env: Mapping[str, str], member: str
) -> tuple[Any, list[tuple[str, ...]]]:
    """Return a copy with the saved texts that parts of it stand for, and the places of those.

    `{"secret": true}` stands for the text at the same place of `saved`, and so does a text that is
    shown with `***`; `${NAME}` for that variable if the same place of `saved` has its value. Raises
    Problem for any other, with its place below `member`.
    """
    try:
        whole = unmask(value, saved)
    except ValueError as error:
        place = (member, *str(error).split(".")[1:])
        raise misfit(place, "nothing is saved here: send the secret itself") from None
    kept: list[tuple[str, ...]] = [(member,)] if whole != value else []

    def fill(new: Any, old: Any, at: tuple[str, ...]) -> Any:
        """Return one part."""
        if isinstance(new, dict) and new.get("secret") is True and set(new) <= {"secret", "tail"}:
            if not isinstance(old, str):
                raise misfit(at, "nothing is saved here: send the secret itself")
            kept.append(at)
            return old
        if isinstance(new, str) and "${" in new:
            if _REFERENCE.sub(lambda match: env.get(match[1], match[0]), new) != old:
                raise misfit(at, "variables are put in for saved entries only: save it first")
            kept.append(at)
            return old
        if isinstance(new, dict):
            below = old if isinstance(old, dict) else {}
            return {key: fill(item, below.get(key), (*at, key)) for key, item in new.items()}
        if isinstance(new, list):
            rows = old if isinstance(old, list) and len(old) == len(new) else [None] * len(new)
            pairs = enumerate(zip(new, rows, strict=True))
            return [fill(item, before, (*at, str(n))) for n, (item, before) in pairs]
        return new

    return fill(whole, saved, (member,)), kept


def _check_entry(entry: Json) -> None:
    """Refuse an entry of the wrong shape. Raises Problem with every place."""
    lines = zip(misfits(entry, _ENTRY), schema.problems(entry, _ENTRY), strict=True)
    errors = [
        {"pointer": pointer("provider", *place.place), "detail": line} for place, line in lines
    ]
    refuse("request_invalid", errors)


def refuse_saved_secrets(member: str, where: str) -> NoReturn:
    """Refuse saved secrets for another place than theirs. Raises Problem."""
    raise misfit((member,), f"the saved secrets belong to {where}: send the secret itself")


def refuse_key(vendor: Json) -> Json:
    """Return the answer for a key of this vendor, {vendor, title, preset}, at another's address."""
    text = f"This looks like a key of {vendor['title']}, so it was not sent to another vendor"
    return trial_refusal("vendor_differs", text, candidates=[vendor])


def trial_refusal(code: str, detail: str, **more: Any) -> Json:
    """Return the answer of a trial that asked nobody."""
    return {**_NOTHING, "took_ms": 0, "problem": {"code": code, "detail": detail}, **more}
