"""The tool `web_search`: one provider, configured or found, is asked, and answers cite it."""

from __future__ import annotations

import math

from ...lib.json_schema.field_types import TEXT, list_of, number, one_of, text_like
from ..declaration import ConfigKey, Extension, opening

# The rows of providers.py, which a declaration does not import.
PROVIDERS = ("searxng", "brave", "tavily", "exa", "serper", "kagi", "ollama")
_DOMAINS = list_of(
    text_like(
        r"(\*\.)?[^\s/:?#@*\[\]]{1,253}", "a domain such as example.org, without scheme and path"
    ),
    "a list",
)
_URL = text_like(
    r"|https?://[^/?#@\s]+(/[^?#\s]*)?",
    "an address such as http://127.0.0.1:8888, without user, query and fragment",
)
_COUNT = number("a number, 0 or more, or null", most=math.inf, none=True)

EXTENSION = Extension(
    config_keys={
        "server.search.provider": ConfigKey("", one_of("", "off", *PROVIDERS), network=True),
        "server.search.api_key": ConfigKey("", TEXT, network=True),
        "server.search.url": ConfigKey("", opening("address", _URL)),
        "server.search.allow": ConfigKey([], _DOMAINS, network=True),
        "server.search.deny": ConfigKey([], _DOMAINS, network=True),
        "server.search.max_searches": ConfigKey(200, _COUNT, network=True),
    },
    parts="parts:WebSearchParts",
)
