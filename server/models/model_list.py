"""The list of models that an API offers: `GET …/models` beside the address of its calls.

Nearly all vendors have one, in the shape of OpenAI's or Anthropic's, and refuse a wrong key there.
The answer is from outside: what is not a model is left out, and everything is bounded.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple
from urllib.parse import urlsplit, urlunsplit

from ..http.client import Client, ClientError, Timeouts
from ..runtime.offload import offload
from ..session.limits import API_PATHS
from ..strict_json import JSONError, loads
from .failure import MAX_ERROR_BODY, from_status
from .http_model import RemoteAPI
from .vendors import NO_CHAT

PATIENCE = Timeouts(connect=10, first_byte=15, idle=10, total=20)
MAX_LIST = 16 << 20  # bytes; the longest lists have about one
MAX_MODELS = 1_000
MAX_NAME = 200
# What vendors call the window, in tokens.
WINDOWS = ("context_length", "context_window", "max_model_len", "max_context_length")
LARGEST_WINDOW = 1 << 40


class ListedModel(NamedTuple):
    """A model of a list. `window`: its context in tokens; None if the list does not say it."""

    name: str
    window: int | None = None


def base_of(api: RemoteAPI) -> str:
    """Return the base URL of an API, without its query."""
    parts = urlsplit(api.provider.url)
    path = parts.path.removesuffix(API_PATHS[api.provider.api])
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))


async def list_models(
    api: RemoteAPI, client: Client, *, with_key: bool = True
) -> list[ListedModel] | None:
    """Return the models that can chat, or None if what is answered is no list. Raises Failure."""
    query = "limit=1000" if api.provider.api == "messages" else urlsplit(api.provider.url).query
    found = await get_json(api, client, "/models" + (f"?{query}" if query else ""), with_key)
    rows = found.get("data", found.get("models")) if isinstance(found, dict) else found
    if not isinstance(rows, list):
        return None
    named = (_model(row, api.provider.preset.name) for row in rows if isinstance(row, dict))
    models = {model.name: model for model in named if model is not None}
    chat = [model for model in models.values() if not NO_CHAT.search(model.name)]
    return chat[:MAX_MODELS]


async def get_json(api: RemoteAPI, client: Client, path: str, with_key: bool = True) -> Any:
    """Return the JSON at a path below the base URL, None if it is none. Raises Failure."""
    provider = api.provider
    headers = api.headers() if with_key else {"user-agent": "yaa"}
    headers |= {"accept": "application/json"}
    try:
        response = await client.request(
            "GET",
            base_of(api) + path,
            headers,
            timeouts=PATIENCE,
            public_only=provider.public_only,
        )
        async with response:
            if response.status != 200:
                said = await response.read_prefix(MAX_ERROR_BODY)
                raise from_status(
                    *(response.status, response.headers, said, provider.name, provider.key)
                )
            body = await response.read(MAX_LIST)
    except ClientError as error:
        raise api.failure(error) from None
    try:
        return await offload(len(body), loads, body)
    except JSONError:
        return None


def _model(row: dict[str, Any], preset: str) -> ListedModel | None:
    name = row.get("id", row.get("name"))
    if not isinstance(name, str):
        return None
    name = name.removeprefix("models/")  # Gemini
    if preset == "llamacpp":  # it names a model by the path of its file, which is private
        name = re.split(r"[/\\]", name)[-1]
    if not name or len(name) > MAX_NAME or not name.isprintable():
        return None
    windows = (row.get(key) for key in WINDOWS)
    window = next((size for size in windows if _is_size(size)), None)
    return ListedModel(name, window)


def _is_size(value: Any) -> bool:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return whole and 0 < value < LARGEST_WINDOW
