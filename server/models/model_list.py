"""The list of models that an API offers: `GET …/models` beside the address of its calls.

Nearly all vendors have one, in the shape of OpenAI's or Anthropic's, and refuse a wrong key there.
The answer is from outside: what is not a model is left out, and everything is bounded.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any, NamedTuple
from urllib.parse import urlsplit, urlunsplit

from ..lib.http.client import Client, ClientError, Timeouts
from ..lib.runtime.offload import offload
from ..lib.strict_json import JSONError, loads
from ..telemetry import log
from .failure import MAX_ERROR_BODY, Failure, from_status
from .http_model import RemoteAPI
from .provider import API_PATHS
from .registry import Models

PATIENCE = Timeouts(connect=10, first_byte=15, idle=10, total=20)
MAX_LIST = 16 << 20  # bytes; the longest lists have about one
# Models in a server's list that cannot chat.
NO_CHAT = re.compile(r"embed|minilm|(?:^|[/-])(?:bge|e5|gte)-|rerank|whisper|tts", re.IGNORECASE)
MAX_MODELS = 1_000
MAX_NAME = 200
# What vendors call the window, in tokens.
WINDOWS = ("context_length", "context_window", "max_model_len", "max_context_length")
LARGEST_WINDOW = 1 << 40

logger = log.get("llm")


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
    document = await get_json(api, client, "/models" + (f"?{query}" if query else ""), with_key)
    return models_in(document, api.provider.preset.model_paths)


def models_in(found: Any, model_paths: bool) -> list[ListedModel] | None:
    """Return the models of an answer that can chat, or None if it is no list.

    model_paths  see Preset
    """
    rows = found.get("data", found.get("models")) if isinstance(found, dict) else found
    if not isinstance(rows, list):
        return None
    named = (_model(row, model_paths) for row in rows if isinstance(row, dict))
    models = {model.name: model for model in named if model is not None}
    return [model for model in models.values() if not NO_CHAT.search(model.name)][:MAX_MODELS]


def _model(row: dict[str, Any], model_paths: bool) -> ListedModel | None:
    name = row.get("id", row.get("name"))
    if not isinstance(name, str):
        return None
    name = name.removeprefix("models/")  # Gemini
    if model_paths:
        name = re.split(r"[/\\]", name)[-1]
    if not name or len(name) > MAX_NAME or not name.isprintable():
        return None
    windows = (row.get(key) for key in WINDOWS)
    window = next((size for size in windows if _is_size(size)), None)
    return ListedModel(name, window)


def _is_size(value: Any) -> bool:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return whole and 0 < value < LARGEST_WINDOW


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
                error_body = await response.read_prefix(MAX_ERROR_BODY)
                raise from_status(
                    *(response.status, response.headers, error_body, provider.name, provider.key)
                )
            body = await response.read(MAX_LIST)
    except ClientError as error:
        raise api.failure(error) from None
    try:
        return await offload(len(body), loads, body)
    except JSONError:
        return None


async def ask_vendors(models: Models, client: Client) -> None:
    """Ask all providers with a key for their lists, but those whose models the owner has listed.

    A key alone says nothing of the models it is good for, and a person wants to choose. No request
    waits for this, and a vendor that does not answer changes nothing but the length of the list.
    """
    await asyncio.gather(*(_ask(name, models, client) for name in models.single_models()))


async def _ask(name: str, models: Models, client: Client) -> None:
    """Add the models that a provider lists; log what it says instead of a list."""
    api = models.resolve({"name": name}).api
    assert isinstance(api, RemoteAPI), "others have no entry"
    try:
        listed = await list_models(api, client)
    except Failure as failure:
        logger.warning("%s does not list its models: %s", name, failure.message)
        return
    models.offer(name, {model.name: model.window for model in listed or ()})
