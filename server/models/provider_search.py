"""The search of a provider itself: how it is asked for, and what its answers cite. Pure.

`model_settings.web_search` asks for it: true, or an object of the API's own options. The three APIs
have it as `web_search_options` or a plugin (Chat Completions), as the tool `web_search` (Responses)
and as the server tool `web_search_20250305` (Messages). What an answer cites is kept in `meta` of
its message, `{url, title, text?, start?, end?}` each, and what the API wants back beside its other
items (StreamDecoder._keep).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..json_types import Citation, Json
from ..lib.strict_json import as_list, as_object, as_text, browser_safe
from . import Options
from .vendors import Provider

SETTING = "web_search"  # in model_settings
OWN_TOOL = "web_search"  # the server's tool, which two searches of one name would confuse
MOST = 100  # citations of one answer that are kept
MAX_URL, MAX_TITLE, MAX_TEXT = 2_048, 300, 2_000

PLUGINS = ("openrouter",)  # presets whose search is a plugin
# https://docs.claude.com/en/docs/agents-and-tools/tool-use/web-search-tool
USE, RESULT = "server_tool_use", "_tool_result"  # newer searches run code, whose results end so
BLOCK = ("type", "id", "name", "input", "tool_use_id", "content", "caller")  # kept of both
CITED = "cited_text"  # our item for a text block of Messages: {type, chars, citations}
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
    """Return the tools without the server's own search, if the provider searches."""
    if search is None or not any(_name(tool) == OWN_TOOL for tool in tools):
        return tools
    return [tool for tool in tools if _name(tool) != OWN_TOOL]


def _name(tool: Json) -> Any:
    return tool["function"]["name"]


def chat_members(provider: Provider, search: Json) -> Json:
    """Return the members of a Chat Completions request that ask for a search."""
    if provider.preset.name in PLUGINS:
        return {"plugins": [{"id": "web", **search}]}
    return {"web_search_options": search}


def messages_tool(search: Json) -> Json:
    """Return the tool of a Messages request."""
    return {"type": "web_search_20250305", **search, "name": OWN_TOOL}


# -- what goes back -------------------------------------------------------------------------------


def returned_items(items: Iterable[Json]) -> list[Json]:
    """Return the blocks of Messages without uses that have no result, and results without a use.

    The API refuses both; an answer that broke off may have them.
    """
    items = list(items)
    uses = {str(each.get("id")) for each in items if each["type"] == USE}
    whole = uses & {str(each.get("tool_use_id")) for each in items if is_result(each["type"])}
    return [
        each
        for each in items
        if not is_server_block(each["type"])
        or each.get("id" if each["type"] == USE else "tool_use_id") in whole
    ]


def kept_block(block: Json) -> Json:
    """Return what is kept of a use or a result, to send it back."""
    found = {name: block[name] for name in BLOCK if name in block}
    return {"input": {}, **found} if found["type"] == USE else found


def is_server_block(kind: str) -> bool:
    """Return whether a block of Messages is the use or the result of a tool of the provider."""
    return kind == USE or is_result(kind)


def is_result(kind: str) -> bool:
    """Return whether a block of Messages is the result of one of the provider's own tools."""
    return kind.endswith(RESULT) and kind != "mcp_tool_result"


def input_of(text: str) -> Json:
    """Return the input of a use from its streamed JSON, {} if that is no object."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return as_object(value)


def cited_blocks(text: str, cited: Json | None) -> Iterator[Json]:
    """Yield the blocks of a text. Its beginning is the block of `cited`, None for none."""
    chars, citations = (cited or {}).get("chars"), (cited or {}).get("citations")
    if type(chars) is int and isinstance(citations, list) and text[:chars].strip():
        yield {"type": "text", "text": text[:chars], "citations": citations}
        text = text[chars:]
    if text.strip():
        yield {"type": "text", "text": text}


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
