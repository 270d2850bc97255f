"""The models that the vendors of keys offer, asked for after start.

A key alone says nothing of the models it is good for, and a person wants to choose. Each vendor is
asked once, in the background: no request waits for it, and a vendor that does not answer changes
nothing but the length of the list.
"""

from __future__ import annotations

import asyncio

from ..lib.http.client import Client
from ..telemetry import log
from .failure import Failure
from .http_model import RemoteAPI
from .model_list import list_models
from .registry import Models

logger = log.get("llm")


async def ask_vendors(models: Models, client: Client) -> None:
    """Ask all providers with a key for their lists, but those whose models the owner has listed."""
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
