"""The tool `web_search`: a search by the provider that is configured or was found, with citations.

`find_search` chooses the provider once, when the server starts. The server itself asks it: keys go
to the provider's own address only, since redirects are not followed and a key from the environment
is not sent to a configured address.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any
from urllib.parse import urlsplit

from ..lib.http.client import Client, ClientError, Timeouts
from ..lib.runtime.secret_filter import remove_texts
from ..lib.strict_json import JSONError, loads
from .base import Emit, Invocation, Tool, failure
from .decorators import Context, ToolError, tool
from .foreign_text import clean_line
from .http_api import error_message
from .runner import Outcome
from .search_providers import (
    PROVIDERS,
    Domains,
    SearchProvider,
    SearchResult,
    as_json,
    is_below,
    missing_keys,
    request,
    results,
    silent_engines,
)
from .sources import ABOUT, count_calls, source_id

OFF = "off"  # value of server.search.provider
MAX_COUNT = 20
MAX_ANSWER = 1024 * 1024  # bytes
MAX_PASSAGE, MAX_PASSAGES = 2_000, 12_000  # characters of one result and of all
SEARCH_S = 30.0  # limit of one search in seconds, if the call's own is not lower
URL_VARIABLE = "SEARXNG_URL"

# Where programs of this machine answer. 8888 is SearXNG's own port, 8080 that of its container.
LOCAL = {
    "searxng": ("http://127.0.0.1:8888", "http://127.0.0.1:8080"),
    "ollama": ("http://127.0.0.1:11434",),
}
PATIENCE = Timeouts(connect=0.3, first_byte=0.7, idle=0.7, total=1.5)

MEANINGS = {
    400: "it does not understand the request",
    402: "the account has no searches left",
    404: "there is no search at this address",
    422: "it does not accept the request",
    429: "too many searches, for now or for this month; wait before the next",
    432: "the account has no searches left",
    433: "the account has no searches left",
}


@tool(destructive=False, idempotent=True, parallel_safe=True)
def web_search(
    ctx: Context,
    query: Annotated[str, "What to search for", {"minLength": 1, "maxLength": 400}],
    count: Annotated[int, "How many results", {"minimum": 1, "maximum": MAX_COUNT}] = 5,
    site: Annotated[
        str, "Only pages of this domain, like docs.python.org", {"maxLength": 253}
    ] = "",
) -> dict[str, Any]:
    """Search the web. Each result has an id, a title, an address and a passage; cite a result as
    [^id]. fetch_url reads the whole page."""
    raise NotImplementedError


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
    the configuration. `tools`: the tool, or nothing without a provider.
    """

    endpoint: SearchEndpoint | None = None
    reason: str = ""
    problems: tuple[str, ...] = ()
    tools: tuple[Tool, ...] = ()

    def info(self) -> dict[str, str]:
        """Return what `/info` says: `{provider, reason}`, `provider` being "" without one."""
        name = self.endpoint.provider.name if self.endpoint else ""
        return {"provider": name, "reason": "; ".join(self.problems) or self.reason}


@dataclass(frozen=True, kw_only=True)
class WebSearchTool(Tool):
    """The tool `web_search`. `most`: searches of one session, None for no limit."""

    client: Client = field(compare=False)
    endpoint: SearchEndpoint
    domains: Domains
    most: float | None

    async def run(self, call: Invocation, emit: Emit) -> Outcome:
        """Search, and return the results with their ids."""
        started = time.monotonic()
        try:
            outcome = await self._search(call)
        except ToolError as error:
            outcome = failure(str(error))
        return replace(outcome, usage={"wall_ms": round((time.monotonic() - started) * 1000)})

    async def _search(self, call: Invocation) -> Outcome:
        if (
            self.most is not None
            and count_calls(call.session, self.name, call.call_id) >= self.most
        ):
            raise ToolError(
                f"this session has made its {self.most:.0f} searches (server.search.max_searches);"
                " answer with what was found"
            )
        query, site = call.args["query"].strip(), call.args.get("site", "").strip()
        if not query:
            raise ToolError("query is blank; say what to search for")
        domains = self._domains(site)
        seconds = min(SEARCH_S, call.limits["wall_s"])
        count = call.args.get("count", 5)
        found, silent = await search(self.client, self.endpoint, query, count, domains, seconds)
        most = min(MAX_PASSAGE, MAX_PASSAGES // max(len(found), 1))
        names = [source_id(call.session, call.call_id, n) for n in range(1, len(found) + 1)]
        shown = [as_json(each, name, most) for each, name in zip(found, names, strict=True)]
        told: dict[str, Any] = {"about": ABOUT.format(names[0])} if names else {}
        told |= {"query": query, "provider": self.endpoint.provider.title, "results": shown}
        if silent:
            told["not_asked"] = silent
        return Outcome("ok", told, sources={n: f"/results/{i}" for i, n in enumerate(names)})

    def _domains(self, site: str) -> Domains:
        """Return the domains of one search. Raises ToolError for a site that is not allowed."""
        if not site:
            return self.domains
        host = urlsplit(site).hostname if "://" in site else site.partition("/")[0]
        if not host or any(each.isspace() for each in host):
            raise ToolError(f"site is {site[:100]!r}, wanted a domain such as docs.python.org")
        barred = any(is_below(host, each) for each in self.domains.deny)
        if barred or (
            self.domains.allow and not any(is_below(host, each) for each in self.domains.allow)
        ):
            named = ", ".join(self.domains.allow[:10])
            searched = f"; it searches {named}" if named else ""
            raise ToolError(f"this server does not search {host[:100]}{searched}")
        return Domains((host,), self.domains.deny)


async def search(
    client: Client,
    endpoint: SearchEndpoint,
    query: str,
    count: int,
    domains: Domains,
    seconds: float,
) -> tuple[list[SearchResult], list[str]]:
    """Return at most `count` results, and the engines that could not be asked. Raises ToolError."""
    provider = endpoint.provider
    url, headers, body = request(provider, endpoint.url, endpoint.key, query, count, domains)
    timeouts = Timeouts(connect=min(10.0, seconds), idle=seconds, total=seconds)
    try:
        response = await client.request(provider.method, url, headers, body, timeouts=timeouts)
        async with response:
            data = await response.read(MAX_ANSWER)
    except ClientError as error:
        raise ToolError(f"{provider.title}: {error.message}") from None
    try:
        document = loads(data)
    except JSONError:
        document = None
    document = remove_texts(document, [endpoint.key] if endpoint.key else [])
    if response.status != 200:
        raise ToolError(_refusal(endpoint, response.status, document))
    try:
        found = results(provider, document, domains)
    except ValueError:
        why = clean_line(error_message(document)) if isinstance(document, dict) else ""
        text = f"{provider.title} answered 200 with something else than results{why[:300]}"
        raise ToolError(f"{text}; check server.search.url") from None
    return found[:count], [] if found else silent_engines(document)


def _refusal(endpoint: SearchEndpoint, status: int, document: Any) -> str:
    """Return the text for an answer other than 200: what it means and the provider's own words."""
    provider = endpoint.provider
    if 300 <= status < 400:
        meaning = "it redirects, which is not followed; correct server.search.url"
    elif status in (401, 403) and not endpoint.key:
        meaning = "it does not serve this program"
        if provider.name == "searxng":
            meaning = "its settings.yml has to list json under search.formats"
        elif provider.name == "ollama":
            meaning = "sign in on that machine: ollama signin"
    elif status in (401, 403):
        meaning = (
            f"the key is wrong or not enough; check server.search.api_key or {provider.key_env[0]}"
        )
    else:
        usual = "the service failed" if status >= 500 else "it was refused"
        meaning = MEANINGS.get(status, usual)
    said = error_message(document) if isinstance(document, dict) else ""
    return f"{provider.title} answered {status}: {meaning}{clean_line(said)[:300]}"


# -- which provider -------------------------------------------------------------------------------


async def find_search(
    server: Mapping[str, Any],
    client: Client,
    env: Mapping[str, str],
    local: Mapping[str, tuple[str, ...]] = LOCAL,
) -> SearchChoice:
    """Return the provider of `server.search`, or the first of those that are found, and its tool.

    With `server.discover` off only the configuration counts. `local` replaces the usual addresses
    of this machine (tests).
    """
    choice, settings = await _choose(server, client, env, local), server["search"]
    if choice.endpoint is None:
        return choice
    made = WebSearchTool.of(
        web_search,
        client=client,
        endpoint=choice.endpoint,
        domains=Domains(tuple(settings["allow"]), tuple(settings["deny"])),
        most=settings["max_searches"],
    )
    return replace(choice, tools=(made,))


async def _choose(
    server: Mapping[str, Any],
    client: Client,
    env: Mapping[str, str],
    local: Mapping[str, tuple[str, ...]],
) -> SearchChoice:
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
