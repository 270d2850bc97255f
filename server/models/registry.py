"""Resolve the model of a session: a provider of the server or one of the session's own.

The agent resolves `config.llm_api.provider` before a run starts; `/info` shows the catalog.
A provider is one unit: a key of this server is sent only to the address configured beside it, a
session that brings an address brings its own key, and the two are never combined.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any
from urllib.parse import urlsplit

from .. import extensions
from ..config import ConfigError
from ..errors import Problem
from ..json_types import Json, RunWarning
from ..lib.http.client import Client, address_of, is_public
from ..lib.http.parser import is_loopback
from ..lib.json_schema.field_types import NUMBER, Misfit, misfits
from ..session.config_schema import CONFIG
from ..session.prompts import custom
from ..settings.owner_code import run_in_thread
from ..telemetry import log
from . import BaseAPI
from .adapter import AdapterAPI
from .adapter import BaseAPI as Adapter
from .chat import OpenAIAPI
from .http_model import RemoteAPI
from .provider import (
    API_PATHS,
    CUSTOM,
    OF_THE_ENTRY,
    Preset,
    Provider,
    choose_api,
    find_preset,
    host_of,
    request_url,
)
from .quirks import EndpointState
from .retry import CallPacer
from .tool_mode import MODES, ToolMode, why_missing
from .vendors import DiscoveredProviders, Vendors, known_vendors, owner_of_preset

logger = log.get("llm")

PLACE = ("config", "llm_api", "provider")  # of a session
WANTED = CONFIG.fields["llm_api"].fields["provider"]
APIS: dict[str, type[RemoteAPI]] = {"chat": OpenAIAPI}  # of the kernel


@dataclass(frozen=True)
class Model:
    """A model that can be called.

    `facts`: max_context, max_tokens and other properties for clients.
    """

    name: str
    model: str
    api: BaseAPI
    facts: Mapping[str, Any] = field(default_factory=dict)

    def provider_facts(self) -> dict[str, str]:
        """Return {preset, url} of its provider; {} for a model without an address."""
        provider = getattr(self.api, "provider", None)
        return {"preset": provider.preset.name, "url": provider.url} if provider else {}


@dataclass
class OwnerState:
    """State kept between the calls of one owner's keys. `peers`: by name of the provider."""

    pace: CallPacer = field(default_factory=CallPacer)
    peers: dict[str, EndpointState] = field(default_factory=dict)


class Models:
    """Registry of all models that this server can call.

    `server` is the server half of the configuration; `add` adds discovered providers. Raises
    ConfigError for a provider that cannot be used.
    """

    def __init__(
        self,
        server: Mapping[str, Any],
        client: Client,
        env: Mapping[str, str],
        found: DiscoveredProviders | None = None,
    ) -> None:
        self._client = client
        self.fallbacks: dict[str, Model] = {}  # by name; the first answers if there is no other
        names = server.get("extensions", (extensions.ALL,))
        self._apis: dict[str, type[RemoteAPI]] = APIS | extensions.model_apis(names)
        self._modes: dict[str, ToolMode] = {**MODES, **extensions.tool_modes(names)}
        self.vendors: Vendors = known_vendors(names)
        self._extensions: Collection[str] = names
        self._rules: Mapping[str, Any] = server.get("client_providers") or {}
        self._hosts = [str(each).lower() for each in self._rules.get("hosts") or ()]
        configured = server.get("providers") or {}
        self._entries: dict[str, dict[str, Any]] = {
            name: self._with_key(entry, env) for name, entry in configured.items()
        }
        self.found = DiscoveredProviders()
        self._found: set[str] = set()
        self._discovers: bool = server.get("discover", True)
        self._adapters: dict[str, Adapter] = {}
        self._known: dict[str, OwnerState] = {}  # by owner
        self._offered: dict[str, dict[str, Json]] = {}  # by provider: about each listed model
        self._preferred: str = server.get("default_provider") or ""
        for name, entry in self._entries.items():
            self._check(name, entry)
            self._check_modes(name, entry)
        if found is not None:
            self.add(found)

    def add(self, found: DiscoveredProviders) -> None:
        """Add discovered providers, behind the configured ones, without those of other APIs."""
        self.found = found
        for name, entry in found.providers.items():
            if name in self._entries:
                continue
            try:
                self._check(name, entry)
                self._entries[name] = entry
                self._found.add(name)
            except ConfigError as error:
                logger.warning("the provider found as %s is not used: %s", name, error)

    def single_models(self) -> list[str]:
        """Return the names of providers with a key of which only one model is known."""
        return [name for name in self._entries if self._discovers and self._is_open(name)]

    def _is_open(self, name: str) -> bool:
        entry = self._entries[name]
        return bool(entry.get("api_key")) and not _listed_models(entry)

    def offer(self, name: str, windows: Mapping[str, int | None]) -> None:
        """Add the models that a provider lists, with the context of each in tokens if it says so.

        They are offered beside its usual one; it may still be asked for any other.
        """
        entry = self._entries[name]
        preset = self._preset(entry)
        about = {model: self._about(entry, preset, model, size) for model, size in windows.items()}
        self._offered[name] = about

    def adopt(self, adapters: Mapping[str, Adapter], *, preferred: bool = False) -> None:
        """Add models behind Python code (models/adapter.py), before the discovered providers.

        `preferred`: the first of them becomes the default.
        """
        self._adapters.update(adapters)
        if preferred:
            self._preferred = next(iter(adapters), self._preferred)

    @property
    def choices(self) -> dict[str, Collection[str]]:
        """Return the values that are there, by name of a key of a session's settings."""
        return {"api": self._apis, "tool_mode": self._modes}

    def names(self) -> list[str]:
        """Return the names of all providers that a session can name."""
        return [*self._entries, *self._adapters, *self.fallbacks]

    async def close(self) -> None:
        """Close all adapters; log those whose `close` fails."""
        for name, adapter in self._adapters.items():
            if (outcome := await run_in_thread(adapter.close)).error is not None:
                logger.error("adapter %s: close failed", name, exc_info=outcome.error)

    @property
    def default(self) -> str:
        """Return the name of the provider that is used when a session names none, "" for none."""
        configured = (name for name in self._entries if name not in self._found)
        return self._preferred or next(iter((*configured, *self._adapters, *self.names())), "")

    def resolve(self, provider: Any, owner: str = "") -> Model:
        """Return the model of a session's `config.llm_api.provider`.

        `owner` is the owner of the API key (api.auth.Key). Raises Problem, before any run.
        """
        if errors := [_placed(misfit) for misfit in misfits(provider, WANTED)]:
            raise Problem("session_invalid", errors[0]["detail"], errors=errors)
        name = _text(provider, "name")
        named = name not in ("", "auto")
        if not (_text(provider, "api_url") or _text(provider, "api_key")):
            return (
                self._provider_model(name, provider, owner)
                if named
                else self._default_model(provider, owner)
            )
        if named:
            detail = (
                f"A provider is one unit: with the name {name!r} of a server's provider there can"
                " be neither api_url nor api_key. Leave them out, or leave the name out."
            )
            raise _refusal(detail)
        return self._session_model(provider, owner)

    def catalog(self) -> list[dict[str, Any]]:
        """Return the providers for `/info`: names, models, properties; no addresses, no keys."""
        listed = []
        for name, entry in self._entries.items():
            preset = self._preset(entry)
            model = entry.get("model_name") or preset.model_name
            offered = self._offered.get(name, {})
            usual = [model] if model else []
            models = _listed_models(entry) or list(dict.fromkeys((*usual, *offered)))
            about = {each: offered.get(each) or self._about(entry, preset, each) for each in models}
            facts = _facts(self._overlay(entry, preset, model), preset)
            facts["about"] = {each: known for each, known in about.items() if known}
            origin = "discovered" if name in self._found else "configured"
            listed.append(
                {"name": name, "model": model, "models": models, "origin": origin} | facts
            )
        for name, adapter in self._adapters.items():
            model, models = adapter.model_name or name, list(adapter.models)
            listed.append(
                {"name": name, "model": model, "models": models or [model], "origin": "adapter"}
                | _adapter_facts(adapter)
            )
        for last in self.fallbacks.values():
            facts = {"models": [last.model], "origin": "built in", **last.facts}
            listed.append({"name": last.name, "model": last.model, **facts})
        for item in listed:
            if item["name"] == self.default:
                item["default"] = True
        return listed

    def entries(self) -> Iterator[tuple[str, str, str, Mapping[str, Any]]]:
        """Yield (name, api, address of its calls, entry) of the owner's, the default one first."""
        for name in dict.fromkeys((self.default, *self._entries)):
            if entry := self._entries.get(name):
                yield name, *_place_of(entry, self._preset(entry), self._apis), entry

    # -- entries ----------------------------------------------------------------------------------

    def _check(self, name: str, entry: Mapping[str, Any]) -> None:
        """Raise ConfigError for a mistake in the owner's configuration, at start."""
        where = f"server.providers.{name}"
        presets = self.vendors.presets
        known = find_preset(entry.get("preset") or "", presets)
        if known is None:
            preset = str(entry["preset"])
            near = difflib.get_close_matches(preset, presets, 1)
            hint = f"is not known; did you mean {near[0]}?" if near else ""
            if extension := owner_of_preset(self._extensions, preset):
                hint = extensions.left_out(extension)
            hint = hint or f"is not known: {', '.join(presets)}"
            raise ConfigError(f"{where}.preset: {preset!r} {hint}")
        flags = {each.name for each in fields(Preset)} - OF_THE_ENTRY
        special = [each for each in entry.get("models") or () if isinstance(each, Mapping)]
        for each in (entry, *special):
            if unknown := {*(each.get("quirks") or {})} - flags:
                raise ConfigError(f"{where}.quirks: {', '.join(sorted(unknown))} is no flag")
        if not (entry.get("api_url") or known.base_url):
            raise ConfigError(f"{where}.api_url is missing: the preset {known.name} has no address")
        try:
            for each in (entry, *special):
                _place_of({**entry, "api": each.get("api", entry.get("api"))}, known, self._apis)
        except ValueError as error:
            raise ConfigError(f"{where}.api_url: {error}") from None

    def _preset(self, entry: Mapping[str, Any]) -> Preset:
        preset = find_preset(entry.get("preset") or "", self.vendors.presets)
        assert preset is not None, "checked at start"
        quirks = dict(entry.get("quirks") or {})
        if "tool_choice_modes" in quirks:
            quirks["tool_choice_modes"] = frozenset(quirks["tool_choice_modes"])
        return replace(preset, **quirks) if quirks else preset

    def _with_key(self, entry: Mapping[str, Any], env: Mapping[str, str]) -> dict[str, Any]:
        """Return the entry, with the vendor's usual environment variable as key where it has none.

        Only if the entry's host is the one that the variable belongs to.
        """
        preset = find_preset(entry.get("preset") or "", self.vendors.presets)
        found = dict(entry)
        if preset is None or entry.get("api_key") or not preset.key_env:
            return found
        host = host_of(entry.get("api_url") or preset.base_url)
        if host and host == host_of(env.get(preset.url_env, "").strip() or preset.base_url):
            found["api_key"] = next((env[key] for key in preset.key_env if env.get(key)), "")
        return found

    def _overlay(self, entry: Mapping[str, Any], preset: Preset, model: str) -> dict[str, Any]:
        """Return the entry, changed by its settings for one model, on top of its public facts."""
        special = [
            m for m in entry.get("models") or () if isinstance(m, dict) and m.get("name") == model
        ]
        secret = ("name", "api_url", "api_key", "headers", "preset")
        own = {**entry, **{k: v for m in special for k, v in m.items() if k not in secret}}
        return self._with_public(own, preset, model)

    def _with_public(self, entry: dict[str, Any], preset: Preset, model: str) -> dict[str, Any]:
        """Return the entry with what is publicly known where it says nothing itself."""
        known = self.vendors.public_facts(entry.get("api_url") or preset.base_url, model)
        own = {key: value for key, value in entry.items() if value is not None}
        if _costs(entry):
            known.pop("costs", None)
            known.pop("cost_unit", None)
        kind = _mapping(known, "model_type") | _mapping(own, "model_type")
        return known | own | ({"model_type": kind} if kind else {})

    def _about(
        self, entry: Mapping[str, Any], preset: Preset, model: str, window: int | None = None
    ) -> Json:
        """Return what is known of a model: {window?, price?}, in tokens and per 1,000 of them."""
        known = self._overlay(entry, preset, model)
        about: Json = {}
        if size := known.get("max_context") or window:
            about["window"] = size
        if costs := _costs(known):
            about["price"] = {**costs, "unit": known.get("cost_unit") or ""}
        return about

    def _check_modes(self, name: str, entry: Mapping[str, Any]) -> None:
        """Raise ConfigError for a tool mode that is not there."""
        for each in (entry, *(m for m in entry.get("models") or () if isinstance(m, Mapping))):
            self.check_mode(_text(each, "tool_mode"), f"server.providers.{name}.tool_mode")

    def check_mode(self, mode: str, place: str) -> None:
        """Raise ConfigError for a tool mode that is not there; `place`: the key that names it."""
        if why := why_missing(mode, self._modes):
            raise ConfigError(f"{place}: {why}")

    def check_session(self, config: Mapping[str, Any]) -> list[RunWarning]:
        """Return remarks on a session's words of tool calls. Raises Problem for a missing mode."""
        if why := why_missing(_text(config.get("yaa") or {}, "tool_mode"), self._modes):
            misfit = Misfit(("config", "yaa", "tool_mode"), why)
            raise Problem("session_invalid", why, errors=[misfit.error()])
        templates = custom(config)
        return [each for mode in self._modes.values() for each in mode.remarks(templates)]

    # -- the server's own -------------------------------------------------------------------------

    def _default_model(self, wanted: dict[str, Any], owner: str) -> Model:
        """Return the model that a session names by `model_name` alone, else the default provider's.

        The default provider comes first, then the first one that lists the model.
        """
        model = _text(wanted, "model_name")
        if model and not self._serves(self.default, model):
            for name in (*self._entries, *self._adapters):
                if self._serves(name, model):
                    return self._provider_model(name, wanted, owner)
        return self._provider_model(self.default, wanted, owner)

    def _serves(self, name: str, model: str) -> bool:
        entry = self._entries.get(name)
        if name in self._adapters:
            adapter = self._adapters[name]
            return model in (adapter.models or [adapter.model_name or name])
        if entry is None:
            return name == model
        usual = entry.get("model_name") or self._preset(entry).model_name
        return model in (_listed_models(entry) or [usual, *self._offered.get(name, ())])

    def _provider_model(self, name: str, wanted: dict[str, Any], owner: str) -> Model:
        entry = self._entries.get(name)
        model = _text(wanted, "model_name")
        if name in self._adapters:
            return self._adapter_model(name, wanted, model, owner)
        if entry is None:
            if (last := self.fallbacks.get(name)) and model in ("", last.model):
                return last
            what = f"the model {model!r}" if last else f"a provider named {name!r}"
            text = f"This server does not have {what}." if name else self.vendors.no_model
            raise _unknown(text, name, self.names())
        preset = self._preset(entry)
        model = model or entry.get("model_name") or preset.model_name
        offered = _listed_models(entry)
        if offered and model not in offered:
            raise _unknown(f"The provider {name!r} does not offer {model!r}.", model, offered)
        if not model:
            raise _unknown(f"The provider {name!r} needs a model_name.", "", offered)
        entry = self._overlay(entry, preset, model)
        theirs = _mapping(wanted, "model_settings")
        theirs.pop("extra_body", None)  # it could undo what the owner has set
        settings = _mapping(entry, "model_settings") | theirs
        provider = _provider(
            *(name, _place_of(entry, preset, self._apis), entry, wanted, preset, model, settings),
            key=entry.get("api_key") or "",
            headers=entry.get("headers") or {},
            extra_body=entry.get("extra_body") or {},
        )
        return self._model(provider, entry, self._peer(name, owner))

    def _adapter_model(self, name: str, wanted: dict[str, Any], model: str, owner: str) -> Model:
        adapter = self._adapters[name]
        offered = list(adapter.models)
        if model and offered and model not in offered:
            raise _unknown(f"The provider {name!r} does not offer {model!r}.", model, offered)
        kind, settings = _mapping(wanted, "model_type"), _mapping(wanted, "model_settings")
        settings.pop("extra_body", None)
        limits = [each for each in (adapter.max_tokens, wanted.get("max_tokens")) if each]
        provider = Provider(
            *(name, "", model or adapter.model_name or name, CUSTOM),
            is_function_call=adapter.is_function_call and kind.get("is_function_call") is not False,
            is_reasoning=adapter.is_reasoning,
            max_tokens=min(limits, default=None),
            settings=settings,
            costs=dict(adapter.costs),
            cost_unit=adapter.cost_unit if adapter.costs else "",
        )
        peer = self._peer(name, owner)
        api = AdapterAPI(adapter, provider, self._client, peer, self._modes)
        return Model(name, provider.model, api, _adapter_facts(adapter))

    # -- a session's own --------------------------------------------------------------------------

    def _session_model(self, wanted: dict[str, Any], owner: str) -> Model:
        """Return a model at the session's own address. Raises Problem where that is not allowed."""
        if not self._rules.get("allow"):
            known = ", ".join(self.names())
            detail = (
                "This server calls only its own providers. Leave api_url and api_key out and"
                f" choose one by name: {known}."
            )
            raise _refusal(detail)
        preset = find_preset(_text(wanted, "preset"), self.vendors.presets)
        if preset is None:
            name = _text(wanted, "preset")
            raise _unknown(f"There is no preset {name!r}.", name, list(self.vendors.presets))
        try:
            place = _place_of(wanted, preset, self._apis)
        except ValueError as error:
            raise _invalid("api_url", str(error)) from None
        host = urlsplit(place[1]).hostname or ""
        public_only = self._admit(place[1])
        key, model = _text(wanted, "api_key"), _text(wanted, "model_name") or preset.model_name
        if not key:
            raise _invalid("api_key", "A provider of your own needs its own api_key.")
        if not model:
            raise _invalid("model_name", "A provider of your own needs a model_name.")
        if why := why_missing(_text(wanted, "tool_mode"), self._modes):
            raise _invalid("tool_mode", why)
        settings = _mapping(wanted, "model_settings")
        wanted = self._with_public(wanted, preset, model)
        provider = _provider(
            *(host, place, wanted, {}, preset, model, settings),
            key=key,
            extra_body=_mapping(wanted, "extra_body"),
            public_only=public_only,
        )
        return self._model(provider, wanted, self._peer("", owner))

    def _admit(self, url: str) -> bool:
        """Return whether the host must resolve to public addresses.

        Raises Problem if it is refused.

        `*` allows every public host over https; a host of the local network must be listed, and a
        listed one may be called without TLS.
        """
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".")
        if self._lists(host, parts.netloc):
            return False
        by_name = "; the owner can name it in server.client_providers.hosts"
        if "*" not in self._hosts:
            raise _refusal(f"This server does not call {host!r}{by_name}.")
        if is_loopback(host) or (address_of(host) is not None and not is_public(host)):
            raise _refusal(f"{host!r} is not on the public internet{by_name}.")
        if parts.scheme != "https":
            raise _refusal(
                f"{host!r} is called over https only, as its key must not be read"
                f" on the way. Use https://{by_name}."
            )
        return True

    def _lists(self, host: str, netloc: str) -> bool:
        """Return whether the owner's `client_providers.hosts` list this host."""
        suffixes = [each[1:] for each in self._hosts if each.startswith("*.")]
        listed = host in self._hosts or netloc.lower() in self._hosts
        return listed or any(host.endswith(each) for each in suffixes)

    @property
    def of_sessions(self) -> str:
        """Return which providers a session may bring: "none", on "listed" hosts, or "public"."""
        if not self._rules.get("allow") or not self._hosts:
            return "none"
        return "public" if "*" in self._hosts else "listed"

    def _peer(self, name: str, owner: str) -> EndpointState:
        """Return the state learnt with one owner's keys about a provider of the server.

        For a session's own provider (name "") nothing is kept but the pace.
        """
        known = self._known.setdefault(owner, OwnerState())
        fresh = EndpointState(pace=known.pace)
        return known.peers.setdefault(name, fresh) if name else fresh

    def _remote(self, provider: Provider, peer: EndpointState, api: str) -> RemoteAPI | None:
        """Return the model behind one of the APIs of its endpoint, None if it has no such path."""
        url, own = urlsplit(provider.url), API_PATHS[provider.api]
        if api != provider.api:
            if api not in self._apis or not url.path.endswith(own):
                return None
            path = url.path.removesuffix(own) + API_PATHS[api]
            provider = replace(provider, api=api, url=url._replace(path=path).geturl())
        return self._apis[api](
            *(provider, self._client, peer),
            by_api=lambda other: self._remote(provider, peer, other),
            modes=self._modes,
        )

    def _model(self, provider: Provider, entry: Mapping[str, Any], peer: EndpointState) -> Model:
        api = self._remote(provider, peer, peer.apis.get(provider.model, provider.api))
        assert api is not None, "an API is learnt only where it was used"
        return Model(provider.name, provider.model, api, _facts(entry, provider.preset))


def _provider(
    name: str,
    place: tuple[str, str],
    entry: Mapping[str, Any],
    wanted: Mapping[str, Any],
    preset: Preset,
    model: str,
    settings: Mapping[str, Any],
    **more: Any,
) -> Provider:
    """Return the Provider of a server's entry or of a session's own.

    For a server's entry the session's `wanted` may lower `max_tokens` and describe the model type;
    it sets costs only where the entry has none, and never the address.
    """
    kind = {**_mapping(entry, "model_type"), **_mapping(wanted, "model_type")}
    limits = [each for each in (entry.get("max_tokens"), wanted.get("max_tokens")) if each]
    costs = _costs(entry) or _costs(wanted)
    unit = entry.get("cost_unit") or _text(wanted, "cost_unit") if costs else ""
    if kind.get("is_vision") is False:  # true takes nothing back that `quirks` says
        preset = replace(preset, images=False)
    return Provider(
        name,
        place[1],
        model,
        preset,
        place[0],
        is_function_call=kind.get("is_function_call") is not False,
        is_reasoning=kind.get("is_reasoning") is True,
        tool_mode=str(entry.get("tool_mode") or "auto"),
        max_tokens=min(limits, default=None),
        settings=settings,
        costs=costs,
        cost_unit=str(unit),
        **more,
    )


def _place_of(entry: Mapping[str, Any], preset: Preset, apis: Collection[str]) -> tuple[str, str]:
    """Return (API, address of its calls) of an entry. Raises ValueError for an unusable address."""
    given = str(entry.get("api_url") or "").strip()
    api = choose_api(str(entry.get("api") or "").strip(), given, preset, apis)
    return api, request_url(api, given, preset)


def _listed_models(entry: Mapping[str, Any]) -> list[str]:
    """Return the models an entry lists; [] means any."""
    names = [m if isinstance(m, str) else m.get("name") for m in entry.get("models") or ()]
    own = [entry["model_name"]] if names and entry.get("model_name") else []
    return list(dict.fromkeys([*own, *(str(name) for name in names if name)]))


def _facts(entry: Mapping[str, Any], preset: Preset) -> dict[str, Any]:
    kind = _mapping(entry, "model_type")
    facts: dict[str, Any] = {"preset": preset.name}
    facts["is_function_call"] = kind.get("is_function_call") is not False
    facts["is_reasoning"] = kind.get("is_reasoning") is True
    facts["is_vision"] = preset.images and kind.get("is_vision") is not False
    facts["tool_mode"] = entry.get("tool_mode") or "auto"
    for key in ("max_context", "max_tokens", "cost_unit"):
        if entry.get(key):
            facts[key] = entry[key]
    return facts


def _adapter_facts(adapter: Adapter) -> dict[str, Any]:
    given = {key: getattr(adapter, key) for key in ("max_context", "max_tokens", "cost_unit")}
    facts = {"is_function_call": adapter.is_function_call, "is_reasoning": adapter.is_reasoning}
    return {"tool_mode": "auto", **facts, **{key: value for key, value in given.items() if value}}


def _costs(entry: Mapping[str, Any]) -> dict[str, float]:
    """Return prices per 1,000 tokens: {input, output, cached, cache_write} or {total}."""
    costs = {
        key: float(value)
        for key, value in _mapping(entry, "costs").items()
        if key in ("input", "output", "cached", "cache_write", "total") and NUMBER.fits(value)
    }
    total = entry.get("cost_per_ktoken")
    return costs or ({"total": float(total)} if total else {})


def _mapping(entry: Mapping[str, Any], key: str) -> dict[str, Any]:
    return dict(entry.get(key) or {})


def _text(wanted: Mapping[str, Any], key: str) -> str:
    return (wanted.get(key) or "").strip()


def _placed(misfit: Misfit) -> dict[str, str]:
    return misfit._replace(place=(*PLACE, *misfit.place)).error()


def _invalid(key: str, detail: str) -> Problem:
    return Problem("session_invalid", detail, errors=[_placed(Misfit((key,), detail))])


def _refusal(detail: str) -> Problem:
    return Problem("provider_not_allowed", detail, errors=[Misfit(PLACE, detail).error()])


def _unknown(text: str, name: str, known: list[str]) -> Problem:
    near = difflib.get_close_matches(name, known, 1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    detail = f"{text}{hint} Known: {', '.join(known)}." if known else text
    return Problem("provider_unknown", detail, errors=[Misfit(PLACE, detail).error()])
