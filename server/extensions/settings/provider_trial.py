"""Try a provider before it is used: does its address answer, is its key right, what models has it.

The list of models is asked for first, since that costs nothing. Where there is no list, or one that
anybody may read, or one without the model in question, the model is called with one short sentence.
Nothing is written to disk, and the result contains no secret.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ...extensions import ALL
from ...json_types import Json
from ...lib.http.client import Client
from ...lib.http.parser import is_loopback
from ...lib.runtime.secret_filter import remove_texts
from ...models import Options
from ...models.failure import Failure
from ...models.http_model import RemoteAPI
from ...models.model_list import ListedModel, get_json, list_models
from ...models.provider import host_of
from ...models.registry import Models
from ...models.vendors import Vendors, known_vendors
from ...telemetry import redact

CALL_S = 60.0  # longest call of a model
MAX_TOKENS = 512  # of its answer; models that think first refuse a much lower limit
SENTENCE = "Answer with the word OK."
NO_MODEL = "-"  # stands for the model while an address is asked which it has
UNLISTED = (403, 404, 405, 501)  # no list here, or not for this key; calls may be allowed


class Found(NamedTuple):
    """What a trial found: the models, the one to use ("" for none), and what proved the key.

    `proof`: "models" (the list), "answer" (a call).
    """

    models: list[ListedModel]
    model: str
    proof: str


async def try_provider(
    name: str,
    entry: Mapping[str, Any],
    client: Client,
    env: Mapping[str, str],
    extensions: Collection[str] = (ALL,),
) -> Json:
    """Return {ok, preset, model_name, models, proof, took_ms, problem?} of an entry.

    The entry is one of `server.providers`, whose shape was checked; `name` is for messages;
    `extensions` are those of the server. A model is {name, window?, price?}: tokens, and {input,
    output, …, unit} per 1,000 tokens. Raises ConfigError for an entry that no server would start
    with.
    """
    began = time.monotonic()
    trial = Trial(name, entry, client, env, extensions)
    provider = trial.api().provider
    secrets = [*redact.credentials(provider.headers.items()), provider.key]
    redact.register(secrets)  # the vendor's words are logged, and may repeat them
    result: Json = {"ok": True, "preset": provider.preset.name}
    try:
        found = await trial.find()
    except Failure as failure:
        problem = {"code": failure.code, "detail": failure.message}
        result |= {"ok": False, "model_name": "", "models": [], "proof": "", "problem": problem}
    else:
        vendors = known_vendors(extensions)
        models = [_shown(model, provider.url, vendors) for model in found.models]
        result |= {"model_name": found.model, "models": models, "proof": found.proof}
    hidden = [each for each in secrets if len(each) >= redact.MIN_SECRET]
    cleaned: Json = remove_texts(result, sorted(hidden, key=len, reverse=True))
    return cleaned | {"took_ms": round((time.monotonic() - began) * 1000)}


@dataclass(frozen=True)
class Trial:
    """One entry that is tried, see `try_provider`."""

    name: str
    entry: Mapping[str, Any]
    client: Client
    env: Mapping[str, str]
    extensions: Collection[str] = (ALL,)

    def api(self, model: str = "") -> RemoteAPI:
        """Return the API with `model`, else the entry's own or its vendor's usual one.

        Raises ConfigError.
        """
        entry = {key: value for key, value in self.entry.items() if key != "models"}
        server = {"providers": {self.name: entry}, "extensions": self.extensions}
        models = Models(server, self.client, self.env)
        usual = next(each["model"] for each in models.catalog() if each["name"] == self.name)
        wanted = {"name": self.name, "model_name": model or usual or NO_MODEL}
        api = models.resolve(wanted).api
        assert isinstance(api, RemoteAPI), "only such are configured"
        return api

    async def find(self) -> Found:
        """Try the address, the key and the model. Raises Failure for what does not work."""
        api = self.api()
        listed = await self._listed(api)
        names = [model.name for model in listed or ()]
        given = str(self.entry.get("model_name") or "")
        usual = "" if api.provider.model == NO_MODEL else api.provider.model
        model = given or (usual if usual in names or not names else names[0])
        is_missing = bool(given and names and given not in names)
        if not model:
            why = "no list of models" if listed is None else "an empty list of models"
            text = f"{self.name} has {why} at this address: name one as model_name"
            raise Failure("model_unknown", text, retryable=False)
        if listed is not None and not is_missing and await self._list_proves_key(api):
            return Found(listed, model, "models")
        await _call(self.api(model))
        return Found(listed or [], model, "answer")

    async def _listed(self, api: RemoteAPI) -> list[ListedModel] | None:
        """Return the list of models; None if there is none for this key. Raises Failure."""
        try:
            return await list_models(api, self.client)
        except Failure as failure:
            if failure.details.get("status") in UNLISTED:
                return None
            raise

    async def _list_proves_key(self, api: RemoteAPI) -> bool:
        """Return whether only a valid key gets the list, or none is needed. Raises Failure."""
        provider = api.provider
        host = urlsplit(provider.url).hostname or ""
        if not provider.key or is_loopback(host):
            return True
        preset = provider.preset
        if preset.proof and host == host_of(preset.base_url):
            await get_json(api, self.client, preset.proof)
            return True
        try:
            return await list_models(api, self.client, with_key=False) is None
        except Failure:
            return True


async def _call(api: RemoteAPI) -> None:
    """Call the model once. Raises Failure."""
    numbers = count(1)
    options = Options(
        *("msg_trial", "think_trial", lambda kind: f"{kind}_trial_{next(numbers)}"),
        max_tokens=MAX_TOKENS,
        first_byte_timeout=CALL_S,
        idle_timeout=CALL_S,
        request_timeout=CALL_S,
    )
    messages: Any = [{"id": "msg_question", "role": "user", "content": SENTENCE}]
    async with aclosing(api.stream(messages, [], options)) as events:
        async for event in events:
            if event["type"] == "RUN_ERROR":
                code = str(event.get("code") or "upstream_error")
                raise Failure(code, str(event.get("message") or code))


def _shown(model: ListedModel, url: str, vendors: Vendors) -> Json:
    known = vendors.public_facts(url, model.name)
    shown: Json = {"name": model.name}
    if window := model.window or known.get("max_context"):
        shown["window"] = window
    if costs := known.get("costs"):
        shown["price"] = {**costs, "unit": known["cost_unit"]}
    return shown
