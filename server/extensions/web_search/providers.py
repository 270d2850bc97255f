"""The providers of `web_search`: where each is asked, how, and how its answer is read. Pure.

A provider is one row of PROVIDERS. web_search.py makes the requests.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from ...json_types import Json
from ...lib.strict_json import dumps
from ...tools.foreign_text import clean, clean_line, web_url

MAX_TITLE = 300
MAX_TEXT = 20_000  # characters of one result that are looked at
MAX_LOOKED_AT = 500  # results of one answer
MAX_WORDED = 10  # domains that are written into the query where there is no argument for them


@dataclass(frozen=True, kw_only=True)
class SearchProvider:
    """One search API.

    url: of its search; "" for a program that people run themselves, whose base URL is configured or
    found, with `path` behind it.
    query, count: names of the arguments, in the query of a GET or the JSON body of a POST; `most`
    results can be asked for, "" means that the number cannot be chosen.
    key_header, key_prefix: where the key goes. key_env: variables that hold it. key_needed: there
    is no search without one.
    results: members that lead to the list. link, named (the title), texts, date: members of a
    result; all of `texts` that are there are joined.
    may_lack: an answer without results has no list.
    allow, deny: names of the arguments for domains; "" writes them into the query.
    marked: its texts are HTML.
    """

    name: str
    title: str
    results: tuple[str, ...]
    texts: tuple[str, ...]
    url: str = ""
    path: str = ""
    method: str = "GET"
    query: str = "query"
    count: str = ""
    most: int = 20
    link: str = "url"
    named: str = "title"
    date: str = ""
    key_header: str = ""
    key_prefix: str = ""
    key_env: tuple[str, ...] = ()
    key_needed: bool = True
    may_lack: bool = False
    allow: str = ""
    deny: str = ""
    marked: bool = False
    fixed: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


PROVIDERS = {
    row.name: row
    for row in (
        # https://docs.searxng.org/dev/search_api.html
        SearchProvider(
            name="searxng",
            title="SearXNG",
            path="/search",
            query="q",
            results=("results",),
            texts=("content",),
            date="publishedDate",
            key_needed=False,
            fixed=MappingProxyType({"format": "json"}),
        ),
        # https://api-dashboard.search.brave.com/app/documentation/web-search
        SearchProvider(
            name="brave",
            title="Brave",
            url="https://api.search.brave.com/res/v1/web/search",
            query="q",
            count="count",
            results=("web", "results"),
            texts=("description", "extra_snippets"),
            date="page_age",
            key_header="x-subscription-token",
            key_env=("BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY"),
            may_lack=True,
            marked=True,
            fixed=MappingProxyType({"text_decorations": "false"}),
        ),
        # https://docs.tavily.com/documentation/api-reference/endpoint/search
        SearchProvider(
            name="tavily",
            title="Tavily",
            url="https://api.tavily.com/search",
            method="POST",
            count="max_results",
            results=("results",),
            texts=("content",),
            date="published_date",
            key_header="authorization",
            key_prefix="Bearer ",
            key_env=("TAVILY_API_KEY",),
            allow="include_domains",
            deny="exclude_domains",
        ),
        # https://docs.exa.ai/reference/search
        SearchProvider(
            name="exa",
            title="Exa",
            url="https://api.exa.ai/search",
            method="POST",
            count="numResults",
            results=("results",),
            texts=("text", "highlights"),
            date="publishedDate",
            key_header="x-api-key",
            key_env=("EXA_API_KEY",),
            allow="includeDomains",
            deny="excludeDomains",
            fixed=MappingProxyType({"contents": {"text": {"maxCharacters": 2_000}}}),
        ),
        # https://serper.dev/playground
        SearchProvider(
            name="serper",
            title="Serper",
            url="https://google.serper.dev/search",
            method="POST",
            query="q",
            count="num",
            results=("organic",),
            link="link",
            texts=("snippet",),
            date="date",
            key_header="x-api-key",
            key_env=("SERPER_API_KEY",),
            may_lack=True,
        ),
        # https://help.kagi.com/kagi/api/search.html
        SearchProvider(
            name="kagi",
            title="Kagi",
            url="https://kagi.com/api/v0/search",
            query="q",
            count="limit",
            results=("data",),
            texts=("snippet",),
            date="published",
            key_header="authorization",
            key_prefix="Bot ",
            key_env=("KAGI_API_KEY",),
            marked=True,
        ),
        # https://docs.ollama.com/capabilities/web-search; an Ollama on this machine that is signed
        # in passes searches on without a key
        SearchProvider(
            name="ollama",
            title="Ollama",
            url="https://ollama.com/api/web_search",
            path="/api/experimental/web_search",
            method="POST",
            count="max_results",
            most=10,
            results=("results",),
            texts=("content",),
            key_header="authorization",
            key_prefix="Bearer ",
            key_env=("OLLAMA_API_KEY",),
        ),
    )
}


class SearchResult(NamedTuple):
    """One result. `date` as the provider writes it, "" if it says none."""

    url: str
    title: str
    text: str
    date: str = ""


class Domains(NamedTuple):
    """Domains whose pages may be results: with their subdomains, all without `allow`."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    def permit(self, url: str) -> bool:
        """Return whether a page may be a result."""
        host = _ascii(urlsplit(url).hostname or "")
        allowed = not self.allow or any(is_below(host, each) for each in self.allow)
        return allowed and not any(is_below(host, each) for each in self.deny)


def is_below(host: str, domain: str) -> bool:
    """Return whether a host is a domain or one of its subdomains; `*.` before it means the same."""
    plain = _ascii(domain.removeprefix("*."))
    return host == plain or host.endswith(f".{plain}")


def _ascii(host: str) -> str:
    """Return a host in lower case, as DNS has it."""
    try:
        return host.rstrip(".").encode("idna").decode().lower()
    except UnicodeError:
        return host.rstrip(".").lower()


def request(
    provider: SearchProvider, url: str, key: str, query: str, count: int, domains: Domains
) -> tuple[str, dict[str, str], bytes]:
    """Return (URL, headers, body) of a search at `url`. Without a key none is sent."""
    args: dict[str, Any] = {**provider.fixed}
    words = [query]
    for names, argument, mark in (
        (domains.allow, provider.allow, ""),
        (domains.deny, provider.deny, "-"),
    ):
        plain = [each.removeprefix("*.") for each in names]
        if plain and argument:
            args[argument] = plain
        elif plain and len(plain) <= MAX_WORDED:
            sites = [f"{mark}site:{each}" for each in plain]
            words.append(" ".join(sites) if mark or len(sites) == 1 else f"({' OR '.join(sites)})")
    args[provider.query] = " ".join(words)
    if provider.count:
        args[provider.count] = min(count, provider.most)
    headers = {"accept": "application/json", "user-agent": "yaa (self-hosted agent)"}
    if key and provider.key_header:
        headers[provider.key_header] = provider.key_prefix + key
    if provider.method == "GET":
        return f"{url}?{urlencode(args)}", headers, b""
    return url, {**headers, "content-type": "application/json"}, dumps(args).encode()


def results(provider: SearchProvider, document: Any, domains: Domains) -> list[SearchResult]:
    """Return the usable results of an answer, in its order.

    Left out are those without an http(s) address, repeated ones, and those of other domains. Raises
    ValueError for an answer that is not of this API.
    """
    found: Any = document
    for name in provider.results:
        if not isinstance(found, dict):
            raise ValueError
        found = found.get(name)
    if found is None and provider.may_lack and isinstance(document, dict):
        found = []
    if not isinstance(found, list):
        raise ValueError
    taken: dict[str, SearchResult] = {}
    for each in islice(found, MAX_LOOKED_AT):
        url = web_url(each.get(provider.link)) if isinstance(each, dict) else ""
        if url and url not in taken and domains.permit(url):
            text = "\n".join(_texts(each.get(name) for name in provider.texts))[:MAX_TEXT]
            title, date = (
                next(_texts([each.get(name)]), "") for name in (provider.named, provider.date)
            )
            if provider.marked:
                text, title = _without_marks(text), _without_marks(title)
            taken[url] = SearchResult(
                url, clean_line(title)[:MAX_TITLE], clean(text), clean_line(date)[:40]
            )
    return list(taken.values())


def _texts(values: Any) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from (each for each in value if isinstance(each, str))


_MARK = re.compile(r"</?(?:strong|em|b|i|mark)>", re.IGNORECASE)


def _without_marks(text: str) -> str:
    return html.unescape(_MARK.sub("", text))


def silent_engines(document: Any) -> list[str]:
    """Return the engines that a SearXNG could not ask, as `name (reason)`."""
    silent = document.get("unresponsive_engines") if isinstance(document, dict) else None
    pairs = [each for each in silent if isinstance(each, list)] if isinstance(silent, list) else []
    return [clean_line(": ".join(_texts(each)))[:80] for each in pairs[:8]]


def missing_keys() -> str:
    """Return the variables of the providers that need a key, for people: `BRAVE_API_KEY, …`."""
    return ", ".join(row.key_env[0] for row in PROVIDERS.values() if row.key_needed)


def as_json(result: SearchResult, name: str, most: int) -> Json:
    """Return a result as the model reads it, with its id and at most `most` characters of text."""
    text = result.text if len(result.text) <= most else f"{result.text[:most].rstrip()} …"
    shown = {"id": name, "title": result.title, "url": result.url, "text": text}
    return shown | ({"date": result.date} if result.date else {})
