"""A provider of models: its address, key and model, and how its endpoint differs from others.

`registry` turns a preset and the owner's settings into a `Provider`; request builders and decoders
use its flags and never its name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

from .. import extensions
from ..lib.http.parser import is_loopback

NOTHING: Mapping[str, Any] = MappingProxyType({})
EVERY_CHOICE = frozenset({"auto", "none", "required", "named"})
# The APIs that are known -> the path of their requests.
API_PATHS = {"chat": "/chat/completions"} | {
    name: about.path for name, about in extensions.all_of("model_apis").items()
}


@dataclass(frozen=True)
class Preset:
    """How one vendor's endpoint differs.

    aliases                        its other names, in small letters with _ for -
    key_env                        usual variables of its keys, the first that is set counts
    url_env, model_env             variables with another address for them, and its model
    api                            default API: Chat Completions, Responses, Anthropic Messages
    urls                           base URLs of the vendor's other APIs, where they differ
    proof                          path below the base URL that refuses wrong keys, where the list
                                   of models is public
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
    search_plugin                  its own search is a plugin (Chat Completions)
    model_paths                    lists models by the paths of their files, which are private
    bearer                         sends the key as a bearer token too, beside x-api-key (Messages)
    timeout_first_byte, timeout_idle  least seconds, where the vendor is slower than most
    """

    name: str
    base_url: str = ""
    key_env: tuple[str, ...] = ()
    model_name: str = ""
    aliases: tuple[str, ...] = ()
    url_env: str = ""
    model_env: str = ""
    api: str = "chat"
    urls: Mapping[str, str] = field(default_factory=lambda: NOTHING)
    proof: str = ""
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
    search_plugin: bool = False
    model_paths: bool = False
    cache_marks: bool = True
    bearer: bool = True
    timeout_first_byte: float = 0
    timeout_idle: float = 0


# Fields that are no flags: they say where a request goes, and with which key.
OF_THE_ENTRY = frozenset(
    ("name", "aliases", "base_url", "key_env", "url_env", "model_env", "model_name", "api", "urls")
    + ("proof",)
)

# An endpoint of no vendor that is known. Gemini's refuses a result without the name of its tool.
CUSTOM = Preset("custom", aliases=("openai_compatible",), result_name=True)


def find_preset(name: str, presets: Mapping[str, Preset]) -> Preset | None:
    """Return a preset by its name or alias, in any case, with - or _; None if unknown.

    "" is `custom`.
    """
    plain = name.strip().lower().replace("-", "_").replace(" ", "_") or CUSTOM.name
    by_alias = (each for each in presets.values() if plain in each.aliases)
    return presets.get(plain) or presets.get(plain.replace("_", "")) or next(by_alias, None)


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


def host_of(url: str) -> str | None:
    """Return the host of a URL, None if it has none or is invalid."""
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


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
        owner = extensions.owner_of("model_apis", api)
        why = extensions.left_out(owner) if owner else f"is not known: {', '.join(apis)}"
        raise ValueError(f"the API {api!r:.40} {why}")
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
