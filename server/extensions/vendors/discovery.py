"""Find models that need no configuration: model servers on this machine, keys in the environment.

Only loopback is asked, all ports at once, with short timeouts; a port that answers anything else
is ignored.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from ...lib.http.client import Client, ClientError, Timeouts
from ...lib.strict_json import JSONError, loads
from ...models.model_list import models_in
from ...models.provider import Preset, choose_api, request_url
from ...models.vendors import DiscoveredProviders
from .presets import PRESETS

PATIENCE = Timeouts(connect=0.3, first_byte=0.5, idle=0.5, total=1.0)
MAX_ANSWER = 1024 * 1024
# Programs that serve models on this machine, and their titles.
LOCAL = {"ollama": "Ollama", "lmstudio": "LM Studio", "llamacpp": "llama.cpp", "vllm": "vLLM"}


async def discover(
    server: Mapping[str, Any],
    client: Client,
    env: Mapping[str, str],
    addresses: Mapping[str, str] | None = None,
) -> DiscoveredProviders:
    """Return the providers found, none if `server.discover` is off.

    Never raises for their failures.

    `addresses` replaces the usual local base URLs by preset (tests).
    """
    if not server.get("discover", True):
        return DiscoveredProviders()
    where = {name: PRESETS[name].base_url for name in LOCAL} | dict(addresses or {})
    answers = await asyncio.gather(*(_ask(name, where[name], client) for name in where))
    found = DiscoveredProviders()
    for name, entry in zip(where, answers, strict=True):
        if entry is not None:
            found.providers[name] = entry
            names = ", ".join(entry["models"][:3]) + (", …" if len(entry["models"]) > 3 else "")
            port = urlsplit(where[name]).port
            found.lines.append(f"{LOCAL.get(name, name)} on port {port}: {names}")
    for preset in PRESETS.values():
        variable = next((key for key in preset.key_env if env.get(key)), None)
        if variable:
            keyed, words = _provider_for_key(preset, env[variable], env)
            if keyed:
                found.providers[preset.name] = keyed
            found.lines.append(f"{variable} is set: {words}")
    return found


def _provider_for_key(
    preset: Preset, key: str, env: Mapping[str, str]
) -> tuple[dict[str, Any], str]:
    """Return a provider entry for a key, {} if it cannot be used, and a description for users.

    With a base URL in the environment, which the vendor's own programs read too, the key may be
    another service's: it is sent to that address only.
    """
    model = preset.model_name
    entry = {"preset": preset.name, "api_key": key, "model_name": model}
    base = env.get(preset.url_env, "").strip()
    if not base:
        return entry, f"{preset.name}, model {model}"
    try:
        api = choose_api("", base, preset)
        url = urlsplit(request_url(api, base, preset))
    except ValueError as error:
        return {}, f"not used, for {preset.url_env} cannot be: {error}"
    if url.hostname != urlsplit(preset.base_url).hostname:
        entry |= {"preset": "custom", "api": api}
    model = env.get(preset.model_env) or model
    entry |= {"api_url": base, "model_name": model}
    return entry, f"{preset.name} at {url.netloc}, model {model}"


async def _ask(name: str, base: str, client: Client) -> dict[str, Any] | None:
    """Return a provider entry for the server at `base`, None without a server or models."""
    models = models_in(await _get(f"{base}/models", client), PRESETS[name].model_paths)
    if not models:
        return None
    names = [model.name for model in models]
    entry = {"preset": name, "api_url": base, "model_name": names[0], "models": names}
    return entry | (await _capabilities(base, client) if name == "llamacpp" else {})


async def _capabilities(base: str, client: Client) -> dict[str, Any]:
    """Return what llama.cpp reports of the model: {tool_mode?, model_type?, max_context?}.

    A template without tool support drops tools silently, so such a model gets the mode json_schema
    (20 instead of 0 of 20 calls were valid).
    """
    props = await _get(f"{base.removesuffix('/v1')}/props", client)
    caps = props.get("chat_template_caps") if isinstance(props, dict) else None
    known = isinstance(caps, dict) and caps.get("supports_tools") is False
    senses = props.get("modalities") if isinstance(props, dict) else None
    blind = isinstance(senses, dict) and senses.get("vision") is False
    settings = props.get("default_generation_settings") if isinstance(props, dict) else None
    window = settings.get("n_ctx") if isinstance(settings, dict) else None
    entry: dict[str, Any] = {"tool_mode": "json_schema"} if known else {}
    entry |= {"model_type": {"is_vision": False}} if blind else {}
    return entry | ({"max_context": window} if isinstance(window, int) and window > 0 else {})


async def _get(url: str, client: Client) -> Any:
    try:
        async with await client.request("GET", url, timeouts=PATIENCE) as response:
            if response.status == 200:
                return loads(await response.read(MAX_ANSWER))
    except (ClientError, JSONError):
        pass
    return None
