"""What can be used unconfigured: model servers on this machine, keys in the environment.

In the walk: `app` calls `discover` once at start and prints what it found. Only loopback is asked,
all ports at once, with little patience; a port that answers something else is left alone.
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
from .vendors import PRESETS, Preset, address

PATIENCE = Timeouts(connect=0.3, first_byte=0.5, idle=0.5, total=1.0)
MAX_ANSWER = 1024 * 1024
LOCAL = ("ollama", "lmstudio", "llamacpp", "vllm")
BASES = {"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL"}
MODELS = {"openai": "OPENAI_MODEL", "anthropic": "ANTHROPIC_MODEL"}
# They are listed beside the others, and cannot chat.
NO_CHAT = re.compile(r"embed|minilm|(?:^|[/-])(?:bge|e5|gte)-|rerank|whisper|tts", re.IGNORECASE)
TITLES = {"lmstudio": "LM Studio", "llamacpp": "llama.cpp", "ollama": "Ollama", "vllm": "vLLM"}


@dataclass(frozen=True)
class Found:
    """`providers` are entries as in the configuration; `lines` say what was found, for people."""

    providers: dict[str, dict[str, Any]] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)


async def discover(
    server: Mapping[str, Any],
    client: Client,
    env: Mapping[str, str],
    addresses: Mapping[str, str] | None = None,
) -> Found:
    """Look around, unless `server.discover` is off. Never raises for what it meets.

    `addresses` replaces the usual local base URLs by preset (tests).
    """
    if not server.get("discover", True):
        return Found()
    where = {name: PRESETS[name].base_url for name in LOCAL} | dict(addresses or {})
    answers = await asyncio.gather(*(_ask(name, where[name], client) for name in where))
    found = Found()
    for name, entry in zip(where, answers, strict=True):
        if entry is not None:
            found.providers[name] = entry
            names = ", ".join(entry["models"][:3]) + (", …" if len(entry["models"]) > 3 else "")
            port = urlsplit(where[name]).port
            found.lines.append(f"{TITLES.get(name, name)} on port {port}: {names}")
    for preset in PRESETS.values():
        variable = next((key for key in preset.key_env if env.get(key)), None)
        if variable:
            keyed, words = _keyed(preset, env[variable], env)
            if keyed:
                found.providers[preset.name] = keyed
            found.lines.append(f"{variable} is set: {words}")
    return found


def host_of_keys(preset: Preset, env: Mapping[str, str]) -> str | None:
    """The host that keys in a vendor's variables belong to: beside a base URL it may be another."""
    return host_of(env.get(BASES.get(preset.name, ""), "").strip() or preset.base_url)


def host_of(url: str) -> str | None:
    """None where that cannot be read, either."""
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _keyed(preset: Preset, key: str, env: Mapping[str, str]) -> tuple[dict[str, Any], str]:
    """A provider entry for a key, and where it leads, in words. Beside a base URL, as the vendor's
    own programs read it, the key may be somebody else's: it goes there and nowhere else."""
    model = preset.model_name
    entry = {"preset": preset.name, "api_key": key, "model_name": model}
    variable = BASES.get(preset.name, "")
    base = env.get(variable, "").strip()
    if not base:
        return entry, f"{preset.name}, model {model}"
    try:
        url = urlsplit(address(preset.api, base, preset))
    except ValueError as error:
        return {}, f"not used, for {variable} cannot be: {error}"
    if url.hostname != urlsplit(preset.base_url).hostname:
        entry |= {"preset": "custom", "api": preset.api}
    model = env.get(MODELS[preset.name]) or model
    entry |= {"api_url": base, "model_name": model}
    return entry, f"{preset.name} at {url.netloc}, model {model}"


async def _ask(name: str, base: str, client: Client) -> dict[str, Any] | None:
    """A provider entry for the server at `base`, if one is there and has a model."""
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
        # It calls a model by its file's path, which is nobody's business, and takes any name.
        entry["models"] = [re.split(r"[/\\]", model)[-1] for model in models]
        entry["model_name"] = entry["models"][0]
        entry |= await _capabilities(base, client)
    return entry


async def _capabilities(base: str, client: Client) -> dict[str, Any]:
    """llama.cpp says whether the model's template knows tools; one that does not drops them
    silently, so such a model is held to a schema instead (0 -> 20 of 20 valid calls)."""
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
