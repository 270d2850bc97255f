"""Find models that need no configuration: model servers on this machine, keys in the environment.

`app` calls `discover` once at start and prints the result. Only loopback is asked, all ports at
once, with short timeouts; a port that answers anything else is ignored.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from ..http.client import Client, ClientError, Timeouts
from ..strict_json import JSONError, loads
from .vendors import PRESETS, Preset, request_url

PATIENCE = Timeouts(connect=0.3, first_byte=0.5, idle=0.5, total=1.0)
MAX_ANSWER = 1024 * 1024
LOCAL = ("ollama", "lmstudio", "llamacpp", "vllm")
BASES = {"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL"}
MODELS = {"openai": "OPENAI_MODEL", "anthropic": "ANTHROPIC_MODEL"}
# Models in a server's list that cannot chat.
NO_CHAT = re.compile(r"embed|minilm|(?:^|[/-])(?:bge|e5|gte)-|rerank|whisper|tts", re.IGNORECASE)
TITLES = {"lmstudio": "LM Studio", "llamacpp": "llama.cpp", "ollama": "Ollama", "vllm": "vLLM"}


@dataclass(frozen=True)
class DiscoveredProviders:
    """Discovered providers, as entries of the configuration, and `lines` that describe them."""

    providers: dict[str, dict[str, Any]] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)


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
            found.lines.append(f"{TITLES.get(name, name)} on port {port}: {names}")
    for preset in PRESETS.values():
        variable = next((key for key in preset.key_env if env.get(key)), None)
        if variable:
            keyed, words = _provider_for_key(preset, env[variable], env)
            if keyed:
                found.providers[preset.name] = keyed
            found.lines.append(f"{variable} is set: {words}")
    return found


def host_of_keys(preset: Preset, env: Mapping[str, str]) -> str | None:
    """Return the host that keys in a vendor's variables belong to, None if its URL is invalid.

    A base URL in the environment may name another host than the vendor's.
    """
    return host_of(env.get(BASES.get(preset.name, ""), "").strip() or preset.base_url)


def host_of(url: str) -> str | None:
    """Return the host of a URL, None if it has none or is invalid."""
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _provider_for_key(
    preset: Preset, key: str, env: Mapping[str, str]
) -> tuple[dict[str, Any], str]:
    """Return a provider entry for a key, {} if it cannot be used, and a description for users.

    With a base URL in the environment, which the vendor's own programs read too, the key may be
    another service's: it is sent to that address only.
    """
    model = preset.model_name
    entry = {"preset": preset.name, "api_key": key, "model_name": model}
    variable = BASES.get(preset.name, "")
    base = env.get(variable, "").strip()
    if not base:
        return entry, f"{preset.name}, model {model}"
    try:
        url = urlsplit(request_url(preset.api, base, preset))
    except ValueError as error:
        return {}, f"not used, for {variable} cannot be: {error}"
    if url.hostname != urlsplit(preset.base_url).hostname:
        entry |= {"preset": "custom", "api": preset.api}
    model = env.get(MODELS[preset.name]) or model
    entry |= {"api_url": base, "model_name": model}
    return entry, f"{preset.name} at {url.netloc}, model {model}"


async def _ask(name: str, base: str, client: Client) -> dict[str, Any] | None:
    """Return a provider entry for the server at `base`, None without a server or models."""
    listed = await _get(f"{base}/models", client)
    data = listed.get("data") if isinstance(listed, dict) else None
    models = [
        model["id"]
        for model in (data if isinstance(data, list) else [])
        if isinstance(model, dict) and isinstance(model.get("id"), str) and model["id"]
    ]
    models = [model for model in models if not NO_CHAT.search(model)]
    if not models:
        return None
    entry: dict[str, Any] = {"preset": name, "api_url": base, "model_name": models[0]}
    entry["models"] = models
    if name == "llamacpp":
        # It names a model by the path of its file, which is private, and accepts any name.
        entry["models"] = [re.split(r"[/\\]", model)[-1] for model in models]
        entry["model_name"] = entry["models"][0]
        entry |= await _capabilities(base, client)
    return entry


async def _capabilities(base: str, client: Client) -> dict[str, Any]:
    """Return what llama.cpp reports of the model: {tool_mode?, max_context?}.

    A template without tool support drops tools silently, so such a model gets the mode json_schema
    (20 instead of 0 of 20 calls were valid).
    """
    props = await _get(f"{base.removesuffix('/v1')}/props", client)
    caps = props.get("chat_template_caps") if isinstance(props, dict) else None
    known = isinstance(caps, dict) and caps.get("supports_tools") is False
    settings = props.get("default_generation_settings") if isinstance(props, dict) else None
    window = settings.get("n_ctx") if isinstance(settings, dict) else None
    entry: dict[str, Any] = {"tool_mode": "json_schema"} if known else {}
    return entry | ({"max_context": window} if isinstance(window, int) and window > 0 else {})


async def _get(url: str, client: Client) -> Any:
    try:
        async with await client.request("GET", url, timeouts=PATIENCE) as response:
            if response.status == 200:
                return loads(await response.read(MAX_ANSWER))
    except (ClientError, JSONError):
        pass
    return None
