"""Vendors of models: one record of flags each, and the address of their API.

`registry` turns a preset and the owner's settings into a `Provider`; request builders and decoders
use its flags and never its name. A vendor's difference is a flag here, with its source.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit, urlunsplit

from .. import extensions
from ..lib.http.client import Client, ClientError, Timeouts
from ..lib.http.parser import is_loopback
from ..lib.strict_json import JSONError, loads

NOTHING: Mapping[str, Any] = MappingProxyType({})
EVERY_CHOICE = frozenset({"auto", "none", "required", "named"})
NOT_FORCED = frozenset({"auto", "none"})
# The APIs that are known -> the path of their requests.
API_PATHS = {"chat": "/chat/completions"} | {
    name: about.path for name, about in extensions.all_of("model_apis").items()
}


@dataclass(frozen=True)
class Preset:
    """How one vendor's endpoint differs.

    api                            default API: Chat Completions, Responses, Anthropic Messages
    urls                           base URLs of the vendor's other APIs, where they differ
    max_tokens_field               name of the output limit; "" = by the model's type
    reasoning_field                where reasoning goes back when it came under no known name
    send_back_reasoning            field | tags | never
    reasoning_required_on_tool_turns  the field must be there even when empty
    reasoning_required_everywhere     also in messages without calls
    think_tags, implicit_think     reasoning arrives as <think>…</think> in content; it starts
                                   without its opening tag
    cumulative                     reasoning_details may repeat all that came before
    stream_options                 accepts stream_options.include_usage
    stream_with_tools              streams correctly when tools are offered
    null_content                   accepts `content: null` beside calls
    tool_choice_modes              accepted values of tool_choice
    strict, parallel_tool_calls, message_name   accepts that field
    result_name                    a tool result carries the tool's name
    references                     supports `$ref` into `$defs` in a tool's schema
    single_system_message          accepts one system message, at the start
    system_role                    accepts system messages at all
    alternate                      requires alternating turns of user and assistant
    images, documents, audio       accepts pictures, PDFs and sounds in messages; what is not
                                   accepted is told in words
    short_ids                      requires ids of calls to be nine letters and digits
    idle_tools                     requires the tools of earlier calls to be declared
    foreign_extra                  `extra_content` required on a call of another model
    cache_marks                    accepts cache_control, which caches the prompt so far (Messages)
    bearer                         sends the key as a bearer token too, beside x-api-key (Messages)
    timeout_first_byte, timeout_idle  least seconds, where the vendor is slower than most
    """

    name: str
    base_url: str = ""
    key_env: tuple[str, ...] = ()
    model_name: str = ""
    api: str = "chat"
    urls: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    max_tokens_field: Literal["", "max_tokens", "max_completion_tokens"] = ""
    reasoning_field: str = "reasoning_content"
    send_back_reasoning: Literal["field", "tags", "never"] = "field"
    reasoning_required_on_tool_turns: bool = False
    reasoning_required_everywhere: bool = False
    think_tags: bool = True
    implicit_think: bool = False
    cumulative: bool = False
    stream_options: bool = True
    stream_with_tools: bool = True
    null_content: bool = True
    tool_choice_modes: frozenset[str] = EVERY_CHOICE
    strict: bool = False
    references: bool = False
    parallel_tool_calls: bool = False
    single_system_message: bool = False
    system_role: bool = True
    alternate: bool = False
    images: bool = True
    documents: bool = True
    audio: bool = True
    short_ids: bool = False
    idle_tools: bool = False
    foreign_extra: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    message_name: bool = False
    result_name: bool = False
    extra_body: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    cache_marks: bool = True
    bearer: bool = True
    timeout_first_byte: float = 0
    timeout_idle: float = 0


# Fields that are no flags: they say where a request goes, and with which key.
OF_THE_ENTRY = frozenset(("name", "base_url", "key_env", "model_name", "api", "urls"))

# Sources: the vendors' documents, and the issues named. Model names are defaults for owners to
# replace.
PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(
            "openai",
            "https://api.openai.com/v1",
            ("OPENAI_API_KEY",),
            "gpt-4.1-mini",
            api="responses",  # Chat Completions refuses tools to models that reason: GPT-5.6
            max_tokens_field="max_completion_tokens",
            send_back_reasoning="never",
            think_tags=False,
            strict=True,
            references=True,
            parallel_tool_calls=True,
            message_name=True,
        ),
        Preset(
            "anthropic",
            "https://api.anthropic.com/v1",
            ("ANTHROPIC_API_KEY",),
            "claude-sonnet-5",
            api="messages",
            references=True,
            parallel_tool_calls=True,
            bearer=False,  # a bearer token means another kind of key there
        ),
        Preset(
            "xai",
            "https://api.x.ai/v1",
            ("XAI_API_KEY",),
            "grok-4",
            api="responses",  # its Chat Completions are deprecated and hide the reasoning
            parallel_tool_calls=True,
        ),
        Preset(
            "bailian",
            "https://dashscope.aliyuncs.com/compatible-mode/v1",
            ("DASHSCOPE_API_KEY", "BAILIAN_API_KEY"),
            "qwen3-max",
            parallel_tool_calls=True,
            think_tags=False,
            urls=MappingProxyType({"messages": "https://dashscope.aliyuncs.com/apps/anthropic"}),
        ),
        Preset(
            "siliconflow",
            "https://api.siliconflow.cn/v1",
            ("SILICONFLOW_API_KEY",),
            "deepseek-ai/DeepSeek-V3.2",
            max_tokens_field="max_tokens",
        ),
        Preset(
            "zhipu",
            "https://open.bigmodel.cn/api/paas/v4",
            ("ZHIPUAI_API_KEY", "ZHIPU_API_KEY", "BIGMODEL_API_KEY"),
            "glm-4.7",
            max_tokens_field="max_tokens",
            stream_options=False,
            tool_choice_modes=frozenset({"auto"}),
            think_tags=False,
            extra_body=MappingProxyType({"tool_stream": True}),
            urls=MappingProxyType({"messages": "https://open.bigmodel.cn/api/anthropic"}),
        ),
        Preset(
            "minimax",
            "https://api.minimaxi.com/v1",
            ("MINIMAX_API_KEY",),
            "MiniMax-M2",
            max_tokens_field="max_completion_tokens",
            reasoning_field="reasoning_details",
            cumulative=True,  # documented, though measurements differ: MiniMax-M2 issue 95
            extra_body=MappingProxyType({"reasoning_split": True}),
            urls=MappingProxyType({"messages": "https://api.minimaxi.com/anthropic"}),
        ),
        Preset(
            "deepseek",
            "https://api.deepseek.com",
            ("DEEPSEEK_API_KEY",),
            "deepseek-chat",
            max_tokens_field="max_tokens",
            reasoning_required_on_tool_turns=True,  # 400 without it, even for empty reasoning
            reasoning_required_everywhere=True,  # V4; the others ignore it
            tool_choice_modes=NOT_FORCED,  # forced choices are refused while thinking
            documents=False,
            think_tags=False,
            urls=MappingProxyType({"messages": "https://api.deepseek.com/anthropic"}),
        ),
        Preset(
            "moonshot",
            "https://api.moonshot.cn/v1",
            ("MOONSHOT_API_KEY", "KIMI_API_KEY"),
            "kimi-latest",
            reasoning_required_on_tool_turns=True,  # opencode issue 25758
            tool_choice_modes=NOT_FORCED,
            think_tags=False,
            urls=MappingProxyType({"messages": "https://api.moonshot.cn/anthropic"}),
        ),
        Preset(
            "openrouter",
            "https://openrouter.ai/api/v1",
            ("OPENROUTER_API_KEY",),
            "openrouter/auto",
            max_tokens_field="max_tokens",
            reasoning_field="reasoning",
            parallel_tool_calls=True,
        ),
        Preset(
            "ollama",
            "http://127.0.0.1:11434/v1",
            max_tokens_field="max_tokens",
            reasoning_field="reasoning",
            documents=False,
            timeout_first_byte=300,  # the model is loaded while the first request waits
        ),
        Preset(
            "lmstudio",
            "http://127.0.0.1:1234/v1",
            max_tokens_field="max_tokens",
            documents=False,
            timeout_first_byte=300,
        ),
        Preset(
            "llamacpp",
            "http://127.0.0.1:8080/v1",
            max_tokens_field="max_tokens",
            references=True,  # measured with b11549, recursive ones too
            documents=False,
            timeout_first_byte=300,
        ),
        Preset("vllm", "http://127.0.0.1:8000/v1", reasoning_field="reasoning", documents=False),
        # Gemini's endpoint refuses a result without the name of its tool.
        Preset("custom", key_env=(), model_name="", result_name=True),
    )
}
# The same models on the vendor's platform abroad. Keys are valid on one of the two only.
PRESETS["zai"] = replace(
    PRESETS["zhipu"],
    name="zai",
    base_url="https://api.z.ai/api/paas/v4",
    key_env=("ZAI_API_KEY",),
    urls=MappingProxyType({"messages": "https://api.z.ai/api/anthropic"}),
)

ALIASES = {
    "dashscope": "bailian",
    "qwen": "bailian",
    "aliyun": "bailian",
    "silicon_flow": "siliconflow",
    "bigmodel": "zhipu",
    "glm": "zhipu",
    "z.ai": "zai",
    "kimi": "moonshot",
    "llama.cpp": "llamacpp",
    "llama_cpp": "llamacpp",
    "lm_studio": "lmstudio",
    "sglang": "vllm",
    "open_router": "openrouter",
    "openai_compatible": "custom",
    "claude": "anthropic",
    "grok": "xai",
}


def find_preset(name: str) -> Preset | None:
    """Return a preset by its name or alias, in any case, with - or _; None if unknown.

    "" is `custom`.
    """
    plain = name.strip().lower().replace("-", "_").replace(" ", "_") or "custom"
    return PRESETS.get(ALIASES.get(plain, plain)) or PRESETS.get(plain.replace("_", ""))


_VERSION = re.compile(r"/v[0-9]+[a-z0-9]*(?:/|$)")


def endpoint(url: str, api: str = "chat") -> str:
    """Return the URL to POST to, from a base URL or a full one.

    Raises ValueError for an invalid one.

    A URL that ends in the path of an API is a full one; one with a version (/v1,
    /api/paas/v4, /v1beta/openai) gets the API's path; any other gets /v1 before it.
    """
    text = url.strip()
    if "://" not in text:
        host = urlsplit(f"//{text}").hostname or ""
        text = f"{'http' if is_loopback(host) else 'https'}://{text}"
    parts = urlsplit(text)
    if parts.scheme.lower() not in ("http", "https") or not parts.hostname:
        raise ValueError("an API address starts with http:// or https:// and names a host")
    if parts.username is not None or parts.password is not None:
        raise ValueError("put credentials into api_key or headers, not into the address")
    if not text.isascii() or re.search(r"[\x00-\x20\x7f]", text) or parts.port == 0:
        raise ValueError("an API address is plain ASCII without spaces")
    path = parts.path.rstrip("/")
    if not path.endswith(API_PATHS[api]):
        path += API_PATHS[api] if _VERSION.search(path) else f"/v1{API_PATHS[api]}"
    return urlunsplit((parts.scheme.lower(), parts.netloc.lower(), path, parts.query, ""))


def choose_api(api: str, url: str, preset: Preset, apis: Collection[str] = tuple(API_PATHS)) -> str:
    """Return the API: a provider's `api`, else by the end of its address, else the preset's.

    Responses is the vendor's own: servers at other addresses are compatible with Chat Completions,
    as the vendor's own is. Raises ValueError for an `api` or an address of none of `apis`.
    """
    path = urlsplit(url.strip()).path.rstrip("/")
    api = api or next((each for each, end in API_PATHS.items() if path.endswith(end)), "")
    given = url.strip() if "://" in url else f"//{url.strip()}"
    elsewhere = url.strip() and host_of(given) != host_of(preset.base_url)
    by_chat = preset.api == "responses" and (elsewhere or preset.api not in apis)
    api = api or ("chat" if by_chat else preset.api)
    if api not in apis:
        raise ValueError(f"the API {api!r:.40} is not known: {', '.join(apis)}")
    return api


def request_url(api: str, url: str, preset: Preset) -> str:
    """Return the URL to POST to: from the given one, else from the vendor's. Raises ValueError."""
    return endpoint(url or preset.urls.get(api) or preset.base_url, api)


@dataclass(frozen=True)
class Provider:
    """One endpoint with its key, model and flags, never combined from two sources.

    `name` is shown to users.
    """

    name: str
    url: str
    model: str
    preset: Preset
    api: str = "chat"
    key: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=lambda: NOTHING, repr=False)
    is_function_call: bool = True
    is_reasoning: bool = False
    tool_mode: str = "auto"
    max_tokens: int | None = None
    settings: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    extra_body: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    costs: Mapping[str, float] = field(default_factory=lambda: NOTHING)  # see models/decoder.py
    cost_unit: str = ""
    public_only: bool = False  # refuse addresses that are not public


# -- discover -------------------------------------------------------------------------------------
# Find models that need no configuration: model servers on this machine, keys in the environment.
#
# `app` calls `discover` once at start and prints the result. Only loopback is asked, all ports at
# once, with short timeouts; a port that answers anything else is ignored.

PATIENCE = Timeouts(connect=0.3, first_byte=0.5, idle=0.5, total=1.0)
MAX_ANSWER = 1024 * 1024
# Programs that serve models on this machine, and their titles.
LOCAL = {"ollama": "Ollama", "lmstudio": "LM Studio", "llamacpp": "llama.cpp", "vllm": "vLLM"}
BASES = {"openai": "OPENAI_BASE_URL", "anthropic": "ANTHROPIC_BASE_URL"}
MODELS = {"openai": "OPENAI_MODEL", "anthropic": "ANTHROPIC_MODEL"}
# Models in a server's list that cannot chat.
NO_CHAT = re.compile(r"embed|minilm|(?:^|[/-])(?:bge|e5|gte)-|rerank|whisper|tts", re.IGNORECASE)


MAX_MODELS = 1_000
MAX_NAME = 200
# What vendors call the window, in tokens.
WINDOWS = ("context_length", "context_window", "max_model_len", "max_context_length")
LARGEST_WINDOW = 1 << 40


class ListedModel(NamedTuple):
    """A model of a list. `window`: its context in tokens; None if the list does not say it."""

    name: str
    window: int | None = None


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
            found.lines.append(f"{LOCAL.get(name, name)} on port {port}: {names}")
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
        api = choose_api("", base, preset)
        url = urlsplit(request_url(api, base, preset))
    except ValueError as error:
        return {}, f"not used, for {variable} cannot be: {error}"
    if url.hostname != urlsplit(preset.base_url).hostname:
        entry |= {"preset": "custom", "api": api}
    model = env.get(MODELS[preset.name]) or model
    entry |= {"api_url": base, "model_name": model}
    return entry, f"{preset.name} at {url.netloc}, model {model}"


async def _ask(name: str, base: str, client: Client) -> dict[str, Any] | None:
    """Return a provider entry for the server at `base`, None without a server or models."""
    models = models_in(await _get(f"{base}/models", client), name)
    if not models:
        return None
    names = [model.name for model in models]
    entry = {"preset": name, "api_url": base, "model_name": names[0], "models": names}
    return entry | (await _capabilities(base, client) if name == "llamacpp" else {})


def models_in(found: Any, preset: str) -> list[ListedModel] | None:
    """Return the models of an answer that can chat, or None if it is no list."""
    rows = found.get("data", found.get("models")) if isinstance(found, dict) else found
    if not isinstance(rows, list):
        return None
    named = (_model(row, preset) for row in rows if isinstance(row, dict))
    models = {model.name: model for model in named if model is not None}
    return [model for model in models.values() if not NO_CHAT.search(model.name)][:MAX_MODELS]


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
