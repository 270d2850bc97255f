"""The search of a provider itself: how it is asked for, and what its answers cite. Pure.

`model_settings.web_search` asks for it: true, or an object of the API's own options. The three APIs
have it as `web_search_options` or a plugin (Chat Completions), as the tool `web_search` (Responses)
and as the server tool `web_search_20250305` (Messages). What an answer cites is kept in `meta` of
its message, `{url, title, text?, start?, end?}` each, and what the API wants back beside its other
items (StreamDecoder._keep).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..json_types import Citation, Json
from ..lib.strict_json import as_list, as_object, as_text, browser_safe
from . import Options
from .provider import Provider

SETTING = "web_search"  # in model_settings
OWN_TOOL = "web_search"  # the name of its tool, which no function may have beside it
MOST = 100  # citations of one answer that are kept
MAX_URL, MAX_TITLE, MAX_TEXT = 2_048, 300, 2_000

_TITLES = ("title", "document_title", "filename", "file_id")  # members with a name


def search_options(provider: Provider, options: Options) -> Json | None:
    """Return the options of the provider's search, None if it is not asked for.

    The session's setting is used instead of the provider's.
    """
    setting = {**provider.settings, **options.settings}.get(SETTING)
    if setting is True:
        return {}
    return dict(setting) if isinstance(setting, dict) else None


def without_own(tools: list[Json], search: Json | None) -> list[Json]:
    """Return the tools without one that has the name of the search, if the provider searches."""
    if search is None or not any(_name(tool) == OWN_TOOL for tool in tools):
        return tools
    return [tool for tool in tools if _name(tool) != OWN_TOOL]


def _name(tool: Json) -> Any:
    return tool["function"]["name"]


def chat_members(provider: Provider, search: Json) -> Json:
    """Return the members of a Chat Completions request that ask for a search."""
    if provider.preset.search_plugin:
        return {"plugins": [{"id": "web", **search}]}
    return {"web_search_options": search}


# -- what is cited --------------------------------------------------------------------------------


class Citations:
    """The citations of one answer, in the order in which they came."""

    def __init__(self) -> None:
        self.all: list[Citation] = []  # `meta.citations` of a message

    def add(self, raw: Any, start: int | None = None, end: int | None = None) -> None:
        """Add a citation of any of the APIs: of a web page, or of a document, by its name.

        `start`, `end`: the characters of the answer that it belongs to, None if that is not known.
        """
        if not isinstance(raw, Mapping) or len(self.all) >= MOST:
            return
        about = as_object(raw.get("url_citation")) or raw
        url = as_text(about.get("url") or about.get("source"))[: MAX_URL + 1]
        web = len(url) <= MAX_URL and url.lower().startswith(("https://", "http://"))
        if "url" in about and not web:
            return
        names = (as_text(about.get(name))[:MAX_TITLE] for name in _TITLES)
        found: Citation = {"title": next(filter(None, names), "")}
        if web:
            found["url"] = url
        if text := as_text(about.get("cited_text") or about.get("content"))[:MAX_TEXT]:
            found["text"] = text
        if not (web or found["title"] or text):
            return
        if type(page := about.get("start_page_number")) is int:
            found["page"] = page
        if start is not None and end is not None and 0 <= start < end:
            found["start"], found["end"] = start, end
        found = browser_safe(found)
        if found not in self.all:
            self.all.append(found)

    def add_annotations(self, annotations: Any, base: int = 0) -> None:
        """Add `url_citation` annotations, or addresses that belong to no place in the answer.

        `base`: characters of the answer before the text of the annotations.
        """
        for each in as_list(annotations):
            each = {"url": each} if isinstance(each, str) else each
            about = as_object(as_object(each).get("url_citation", each))
            places: list[Any] = [about.get("start_index"), about.get("end_index")]
            placed = all(type(place) is int for place in places)
            self.add(each, *(base + place for place in places if placed))
