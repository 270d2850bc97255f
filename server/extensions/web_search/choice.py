"""Choose who searches: the provider of `server.search`, else the first of those that are found.

A key from the environment is not sent to a configured address.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from ...lib.http.client import Client, ClientError, Timeouts
from ...lib.strict_json import JSONError, loads
from .providers import PROVIDERS, SearchProvider, missing_keys

OFF = "off"  # value of server.search.provider
MAX_ANSWER = 1024 * 1024  # bytes
URL_VARIABLE = "SEARXNG_URL"

# Where programs of this machine answer. 8888 is SearXNG's own port, 8080 that of its container.
LOCAL = {
    "searxng": ("http://127.0.0.1:8888", "http://127.0.0.1:8080"),
    "ollama": ("http://127.0.0.1:11434",),
}
PATIENCE = Timeouts(connect=0.3, first_byte=0.7, idle=0.7, total=1.5)


@dataclass(frozen=True)
class SearchEndpoint:
    """A provider, the address of its search, and the key for that address; "" for none."""

    provider: SearchProvider
    url: str
    key: str = field(default="", repr=False)


@dataclass(frozen=True)
class SearchChoice:
    """The provider that searches, None without one.

    `reason`: how it was chosen, or what would make the tool appear. `problems`: what is wrong with
    the configuration.
    """

    endpoint: SearchEndpoint | None = None
    reason: str = ""
    problems: tuple[str, ...] = ()

    def info(self) -> dict[str, str]:
        """Return what `/info` says: `{provider, reason}`, `provider` being "" without one."""
        name = self.endpoint.provider.name if self.endpoint else ""
        return {"provider": name, "reason": "; ".join(self.problems) or self.reason}


async def find_search(
    server: Mapping[str, Any],
    client: Client,
    env: Mapping[str, str],
    local: Mapping[str, tuple[str, ...]] = LOCAL,
) -> SearchChoice:
    """Return the provider of `server.search`, or the first of those that are found.

    With `server.discover` off only the configuration counts. `local` replaces the usual addresses
    of this machine (tests).
    """
    settings, looks = server["search"], server["discover"]
    name, url, key = settings["provider"], settings["url"].strip(), settings["api_key"]
    if name == OFF:
        return SearchChoice(reason=f"server.search.provider is {OFF}")
    if url and not name:
        name = "searxng"
    if name:
        provider, (known, places) = PROVIDERS[name], (env, local) if looks else ({}, {})
        choice = await _named(provider, url, key, client, known, places)
        return choice if choice.endpoint or choice.problems else _lacking(provider, choice.reason)
    if key:
        names = ", ".join(PROVIDERS)
        text = "server.search.api_key is of no use without server.search.provider, one of"
        return SearchChoice(problems=(f"{text}: {names}",))
    if not looks:
        return SearchChoice(
            reason="server.discover is off: set server.search.url, or its provider and api_key"
        )
    notes: list[str] = []
    for provider in PROVIDERS.values():
        choice = await _named(provider, "", "", client, env, local)
        if choice.endpoint is not None:
            return choice
        if choice.reason:
            notes.append(choice.reason)
    return SearchChoice(reason="; ".join([*notes, _wanted()]))


def _lacking(provider: SearchProvider, why: str) -> SearchChoice:
    """Return the choice of a configured provider that cannot be asked."""
    wanted = "a key: server.search.api_key" if provider.url else "its address: server.search.url"
    variables = " or ".join(provider.key_env or (URL_VARIABLE,))
    text = f"server.search.provider is {provider.name}, which needs {wanted}, or {variables}"
    return SearchChoice(problems=(f"{text}{f'; {why}' if why else ''}",))


def _wanted() -> str:
    return (
        "web_search appears when SearXNG runs on this machine, with json among its search.formats,"
        f" or server.search.url names one; when a key is set ({missing_keys()});"
        " or when Ollama on this machine is signed in"
    )


async def _named(
    provider: SearchProvider,
    url: str,
    key: str,
    client: Client,
    env: Mapping[str, str],
    local: Mapping[str, tuple[str, ...]],
) -> SearchChoice:
    """Return the choice of one provider.

    A configured address gets the configured key only: one from the environment belongs to the
    provider's own address.
    """
    title = provider.title
    if url:
        if provider.key_needed and not provider.path and not key:
            text = f"server.search.url names another address than {title}'s own, which gets no key"
            return SearchChoice(problems=(f"{text} but server.search.api_key, and that is empty",))
        place = f"{title} at {urlsplit(url).netloc}, of server.search.url"
        return SearchChoice(SearchEndpoint(provider, _with_path(provider, url), key), place)
    variable = next((each for each in provider.key_env if env.get(each)), "")
    if key and provider.url:
        return SearchChoice(SearchEndpoint(provider, provider.url, key), f"{title}, with its key")
    if variable and provider.url:
        made = SearchEndpoint(provider, provider.url, env[variable])
        return SearchChoice(made, f"{title}, for {variable} is set")
    if provider.name == "searxng" and (given := env.get(URL_VARIABLE, "").strip()):
        made = SearchEndpoint(provider, _with_path(provider, given))
        return SearchChoice(made, f"{title}, for {URL_VARIABLE} is set")
    probe = PROBES.get(provider.name, _ollama)
    bases = local.get(provider.name, ())
    answers = await asyncio.gather(*(probe(base, client) for base in bases))
    for base, found in zip(bases, answers, strict=True):
        if found == "":
            made = SearchEndpoint(provider, _with_path(provider, base))
            return SearchChoice(made, f"{title} on port {urlsplit(base).port}")
    notes = [
        f"{title} on port {urlsplit(b).port}: {n}" for b, n in zip(bases, answers, strict=True) if n
    ]
    return SearchChoice(reason="; ".join(notes))


def _with_path(provider: SearchProvider, url: str) -> str:
    """Return the address of the search, from that or from the base URL of the program."""
    plain = url.rstrip("/")
    return plain if plain.endswith(provider.path) else plain + provider.path


async def _searxng(base: str, client: Client) -> str | None:
    """Return "" for a SearXNG that answers programs, else why it does not; None without one."""
    status, told = await _ask("GET", f"{base}/config", client)
    if status != 200 or not isinstance(told, dict) or not isinstance(told.get("engines"), list):
        return None
    status, _ = await _ask("GET", f"{base}/search?format=json", client)  # without words: no search
    return "json is not among search.formats in its settings.yml" if status == 403 else ""


async def _ollama(base: str, client: Client) -> str | None:
    """Return "" for an Ollama that is signed in, else None: most people have no account there."""
    status, told = await _ask("POST", f"{base}/api/me", client)
    named = status == 200 and isinstance(told, dict) and (told.get("name") or told.get("email"))
    if not named:
        return None
    status, _ = await _ask("POST", f"{base}{PROVIDERS['ollama'].path}", client)  # no words
    return None if status in (0, 404, 405) else ""


PROBES = {"searxng": _searxng, "ollama": _ollama}


async def _ask(method: str, url: str, client: Client) -> tuple[int, Any]:
    """Return (status, document) of an answer; (0, None) without one, None for what is no JSON."""
    try:
        async with await client.request(method, url, timeouts=PATIENCE) as response:
            data = await response.read(MAX_ANSWER)
    except ClientError:
        return 0, None
    try:
        return response.status, loads(data)
    except JSONError:
        return response.status, None
