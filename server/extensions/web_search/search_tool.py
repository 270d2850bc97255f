"""The tool `web_search`: a search by the provider that was chosen (choice.py), with citations.

The server itself asks it. Keys go to the provider's own address only: redirects are not followed.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Annotated, Any
from urllib.parse import urlsplit

from ...json_types import Session
from ...lib.http.client import Client, ClientError, Timeouts
from ...lib.runtime.secret_filter import remove_texts
from ...lib.strict_json import JSONError, loads
from ...models.failure import error_said
from ...tools.base import Emit, Invocation, Tool, failure
from ...tools.decorators import Context, ToolError, tool
from ...tools.foreign_text import clean_line
from ...tools.runner import Outcome
from ...tools.sources import ABOUT, calls_of, source_id
from .choice import MAX_ANSWER, SearchEndpoint
from .providers import Domains, SearchResult, as_json, is_below, request, results, silent_engines

MAX_COUNT = 20
MAX_PASSAGE, MAX_PASSAGES = 2_000, 12_000  # characters of one result and of all
SEARCH_S = 30.0  # limit of one search in seconds, if the call's own is not lower
NOT_RUN = ("denied", "skipped", "proposed", "asking")  # states of calls that are not counted

MEANINGS = {
    400: "it does not understand the request",
    404: "there is no search at this address",
    422: "it does not accept the request",
    429: "too many searches, for now or for this month; wait before the next",
    **dict.fromkeys((402, 432, 433), "the account has no searches left"),
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
        if self.most is not None and count_searches(call.session, call.call_id) >= self.most:
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


def count_searches(session: Session, call_id: str) -> int:
    """Return how many searches of a session have run or begun before this call."""
    ledger = session.get("calls") or {}
    earlier = takewhile(lambda i: i != call_id, calls_of(session, (web_search.__name__,)))
    return sum(ledger.get(i, {}).get("state") not in NOT_RUN for i in earlier)


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
        said = clean_line(error_said(document))
        text = f"{provider.title} answered 200 with something else than results{said}"
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
    return f"{provider.title} answered {status}: {meaning}{clean_line(error_said(document))}"
