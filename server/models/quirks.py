"""Learn flags from refused requests: how an endpoint differs from its preset.

Used by `http_model` after a refusal, before it repeats the request. Gateways, templates and single
models have rules that no preset has; most name the broken one. A lesson sets flags of the preset,
leaves a member of the request out, sends a value that the refusal names, or changes the API: each
once per model; a second refusal of the same kind becomes the error of the call.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from ..json_types import Json
from ..session.limits import API_PATHS
from .chat_request import ToolNameMap, media_digest
from .failure import Failure, read_error
from .retry import CallPacer
from .vendors import Preset, Provider

STATUS = frozenset({400, 404, 422, 500})  # a template that raises is a 500 at llama.cpp
LEFT_OUT: Any = ...  # in place of a value: the member is not sent


class Quirk(NamedTuple):
    """Flags to set when an error text matches `words`."""

    words: re.Pattern[str]
    flags: Mapping[str, Any]


def _quirk(words: str, **flags: Any) -> Quirk:
    return Quirk(re.compile(words, re.IGNORECASE | re.DOTALL), MappingProxyType(flags))


# Signature for calls of other models: https://ai.google.dev/gemini-api/docs/thought-signatures
UNSIGNED = {"google": {"thought_signature": "skip_thought_signature_validator"}}

QUIRKS = (
    # Templates of Qwen 3.5 and later: opencode issue 24761, Qwen3.8 issue 244.
    _quirk("system message must be at the beginning", single_system_message=True),
    # Templates of Mistral and Gemma (vllm issue 6862), Perplexity, Bedrock (semantic-kernel issue
    # 10277).
    _quirk(
        "roles must alternate|must alternate between|should (?:alternate with|be alternating)"
        "|multiple .{1,3}(?:user|assistant).{1,3} roles in a row",
        alternate=True,
        single_system_message=True,
    ),
    # o1-mini (new-api issue 847), Gemma's template and Gemma at Gemini's address.
    _quirk(
        "does not support .{0,3}(?:system|developer).{0,3} with this"
        "|system role (?:is )?not supported|developer instruction is not enabled",
        system_role=False,
        alternate=True,
    ),
    # DeepSeek and Kimi behind gateways, in a session that another model began: QwenPaw issue 433.
    _quirk(
        "reasoning_content.{0,60}(?:must be passed back|is missing)",
        reasoning_required_on_tool_turns=True,
        reasoning_field="reasoning_content",
    ),
    # DeepSeek V4 (kimi-cli issue 2141): where that was not enough.
    _quirk(
        "reasoning_content.{0,60}(?:must be passed back|is missing)",
        reasoning_required_everywhere=True,
    ),
    # Mistral and models with its tokenizer: opencode issue 1680, omlx issue 1997.
    _quirk("a-z, 0-9, with a length of 9", short_ids=True),
    # Models that accept the new name only (opencode issue 37964).
    _quirk(
        "max_tokens.{0,80}use .{0,3}max_completion_tokens",
        max_tokens_field="max_completion_tokens",
    ),
    # Servers that accept the old name only.
    _quirk(
        "(?:unrecognized|unsupported|unknown|extra).{0,80}max_completion_tokens"
        "|max_completion_tokens.{0,80}(?:not permitted|not supported|unknown)",
        max_tokens_field="max_tokens",
    ),
    # LM Studio (bug tracker issue 261), Mistral's tokenizer (mistral-common issue 324).
    _quirk(
        "content.{0,60}(?:must be a|be a valid) string|valid string.{0,200}input_value=None",
        null_content=False,
    ),
    # Ollama behind n8n (issue 13112)
    _quirk("cannot use tools with stream", stream_with_tools=False),
    # DeepSeek (next-ai-draw-io issue 42), Ollama (issue 17301), OpenRouter, llama.cpp, LM Studio,
    # vLLM; and servers that accept text content only.
    _quirk(
        "unknown variant .{0,3}image_url|support images?\\b(?! format| type| size)"
        "|image(?: input|_url|s)? (?:is |are )?not supported (?:by|for|with|-)"
        "|is not a multimodal model|at most 0 image|content.{0,60}(?:must be a|be a valid) string",
        images=False,
    ),
    # Anthropic (sdk-python issue 494), Bedrock (bedrock-access-gateway issue 239), LiteLLM.
    _quirk(
        "must define tools|toolconfig.{0,20}must be defined|expects the .{0,3}tools=.{0,3} param",
        idle_tools=True,
    ),
    # Gemini 3, in a session that another model began.
    _quirk("missing a .{0,3}thought_signature", foreign_extra=UNSIGNED),
)


# Refusals of a picture or file in the request: broken, too large, too many, of an unknown kind.
_MEDIA = re.compile(
    rb"image|picture|vision|multi-?modal|modalit|audio|\bfiles?\b|document|\bpdf\b|media|base64"
    rb"|content (?:part|block|type)",
    re.IGNORECASE,
)


# Refusals of one of them, of which the largest is the likeliest if none is named.
_ONE_MEDIUM = re.compile(
    rb"too (?:large|big|long)|exceed|maximum|dimension|pixels|corrupt|(?:un|not? )able to process"
    rb"|(?:not|n.t) (?:process|decode|read)|invalid|malformed",
    re.IGNORECASE,
)
# The last member of a place with one, or the last two.
_DATA = ("image_url", "file_data")
_MEDIA_ENDS = {(kind, "url") for kind in ("image_url", "video_url", "source")}
_MEDIA_ENDS |= {("source", "data"), ("input_audio", "data")}
MEDIUM = "medium "  # in EndpointState.changes: before the digest of a refused picture or file

# Refusals of earlier reasoning: encrypted for another key, organisation or model version, changed
# or moved, or looked up in the provider's own store (vercel/ai issue 7543).
NOT_THEIRS = re.compile(
    rb"invalid_encrypted_content|encrypted.content.{0,160}could not be|[Ii]nvalid .{0,3}signature"
    rb"|thinking.{0,80}(?:cannot be modified|must remain as they were)"
    rb"|provided without its required|[Ii]tems are not persisted when"
)
# Refusals of tools: the model does not support them (Ollama, OpenRouter, Groq, Azure and others),
# or its server runs without a tool call parser (vLLM: langchain4j issue 3475; llama.cpp).
NO_TOOLS = re.compile(
    rb"n(?:o|')t support (?:tools|tool us|tool call|function call)|support tool use"
    rb"|(?<!parallel )(?:tool|function) (?:call(?:s|ing)|use) (?:is|are) not (?:supported|enabled)"
    rb"|\btools?[`'\"]? (?:is|are) not supported (?:in|with|by|for) "
    rb"|--enable-auto-tool-choice|tools param requires",
    re.IGNORECASE,
)

# Refusals of one tool's schema.
_SCHEMA = re.compile(rb"schema|parameters|function_declarations", re.IGNORECASE)
_TOOL_NAME = re.compile(
    rb"""(?:function|tool)(?: name)?:? {0,2}\\?['"`]([A-Za-z0-9_-]{1,64})\\?['"`]""", re.IGNORECASE
)
# OpenAI and Azure take 128, xAI 200, Gemini 512.
_MOST_TOOLS = re.compile(
    rb"\b(?:tools|functions|declarations)\b[^.]{0,60}(?:too (?:many|long)|maximum|at most|limit)"
    rb"|(?:too many|maximum|at most|limit)[^.]{0,40}\b(?:tools|functions|declarations)\b",
    re.IGNORECASE,
)
_COUNT = re.compile(rb"\b[1-9][0-9]{1,3}\b")
_TOOL_PLACES = (  # Gemini has one `tools` with all declarations
    re.compile(rb"function_declarations[.[]([0-9]{1,4})\b"),
    re.compile(rb"\btools[.[]([0-9]{1,4})\b"),
)


# What follows the name of a member where a refusal says which value it must have.
_MUST_BE = (
    r"\W{0,3}(?: to| (?:must|should|has to) be(?: set)?(?: to)?)\W{1,4}"
    r"(true|false|none|minimal|low|medium|high|auto)\b"
)
# A value that is wrong in itself is the fault of whoever set it, who must be told.
_WRONG_VALUE = re.compile(
    r"invalid (?:value|type)|expected|between|range|at (?:most|least)|[<>]=|(?:less|greater) than",
    re.IGNORECASE,
)


class UnfitTool(Exception):
    """The model refuses the schema of one tool, or takes fewer tools: `name` is how many."""

    def __init__(self, name: str | int, failure: Failure) -> None:
        super().__init__(name)
        self.name, self.failure = name, failure


class OtherAPI(Exception):
    """The model wants another API."""

    def __init__(self, api: str, failure: Failure) -> None:
        super().__init__(api)
        self.api, self.failure = api, failure


class NoTools(Exception):
    """The model was offered tools and does not support them."""


class EndpointState:
    """State of one endpoint learnt from its refusals, for this process.

    Shared by the sessions of one owner's keys only, since it depends on what they sent.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, pace: CallPacer | None = None
    ) -> None:
        self.pace = pace or CallPacer(clock)
        self.changes: dict[tuple[str, str], Any] = {}  # (model, member): its value, or LEFT_OUT
        self.apis: dict[str, str] = {}  # by model: the API that it wants
        self.toolless: set[str] = set()  # models without tool support
        self.learnt: dict[str, dict[str, Any]] = {}  # by model: preset flags that differ
        self.unfit: dict[tuple[str, str], str] = {}  # (model, tool): what was said of its schema
        self.most_tools: dict[str, int] = {}  # by model: how many it takes

    def forget(self, model: str, taught: Collection[str], changes: Collection[str]) -> None:
        """Discard what was learnt in a call that failed nevertheless.

        Error texts quote the request, so a pattern may have matched by accident.
        """
        known = self.learnt.get(model, {})
        self.learnt[model] = {name: known[name] for name in known if name not in taught}
        for name in changes:
            self.changes.pop((model, name), None)

    def refused_media(self, model: str) -> set[str]:
        """Return the digests of the pictures and files that this model has refused."""
        names = (name for of, name in self.changes if of == model and name.startswith(MEDIUM))
        return {name.removeprefix(MEDIUM) for name in names}

    def fit(self, model: str, tools: list[Json]) -> tuple[list[Json], dict[str, str]]:
        """Return the tools whose schemas a model takes, and what it said of the others, by name."""
        refused = {name: said for (of, name), said in self.unfit.items() if of == model}
        if not refused:
            return tools, {}
        safe, fit, others = ToolNameMap().safe, [], {}
        for tool in tools:
            name = tool["function"]["name"]
            if safe(name) in refused:
                others[name] = refused[safe(name)]
            else:
                fit.append(tool)
        return fit, others

    def warnings(self, provider: Provider, changes: Mapping[str, str]) -> Iterator[str]:
        """Yield what to say of members that were changed: `changes` has what was said of each."""
        if media := [why for name, why in changes.items() if name.startswith(MEDIUM)]:
            text = f"{provider.name} refuses {len(media)} of the pictures and files, which are"
            yield f"{text} described to it in words: {media[-1]}"
        for name, why in changes.items():
            if name.startswith(MEDIUM):
                continue
            value = self.changes.get((provider.model, name), LEFT_OUT)
            how = "left out" if value is LEFT_OUT else f"sent as {value!r}".lower()
            yield f"{provider.name} refuses {name}, so it is {how}: {why}"

    def change(self, model: str, body: dict[str, Any]) -> dict[str, Any]:
        """Return the body with the members that this model has refused left out or replaced."""
        for (of, name), value in self.changes.items():
            first, _, second = name.partition(".")
            if of != model or not (has(body, name) or (value is not LEFT_OUT and not second)):
                continue
            body = dict(body)
            inner = body.pop(first, None)
            if value is not LEFT_OUT:
                body[first] = value
            elif second and (rest := {k: v for k, v in inner.items() if k != second}):
                body[first] = rest
        if not body.get("stream"):
            body.pop("stream_options", None)
        return body


def has(body: Mapping[str, Any], name: str) -> bool:
    """Return whether a body has a member, `a.b`: the member b of a."""
    first, _, second = name.partition(".")
    inner = body.get(first)
    return first in body and (not second or (isinstance(inner, dict) and second in inner))


def cures(said: bytes, body: Mapping[str, Any], optional: Mapping[str, bytes]) -> dict[str, Any]:
    """Return the members that a refusal wants otherwise, each with its value or LEFT_OUT.

    `optional`: members that a request can do without, each with a pattern of further texts. A
    refusal names one as its `param`, in quotes, or with the value that it must have.
    """
    text, present = read_error(said), [each for each in optional if has(body, each)]
    present = [name for name in present if body.get(name) is not False]  # stream, nothing to undo
    for name in optional:
        if needed := re.search(rf"\b{re.escape(name)}{_MUST_BE}", text, re.IGNORECASE):
            value = {"true": True, "false": False}.get(needed[1].lower(), needed[1].lower())
            if body.get(name) != value:
                return {name: value}
    if body.get("stream") is False and re.search(r"only supports? stream", text, re.IGNORECASE):
        return {"stream": True}
    found = [name for name in present if re.search(optional[name] or rb"(?!)", said)]
    if found or _WRONG_VALUE.search(text):
        return dict.fromkeys(found, LEFT_OUT)
    quoted = [name for name in present if re.search(rf"[`'\"]{re.escape(name)}[`'\"]", text)]
    if len(quoted) == 2 and "both" in text:  # temperature and top_p at Claude's newer models
        quoted = quoted[1:]
    param = _param(said)
    named = [param] if param in present else quoted
    return {named[0]: LEFT_OUT} if len(named) == 1 else {}


def _param(said: bytes) -> str:
    """Return the member that a refusal names as its cause, "" if it names none."""
    try:
        value = json.loads(said)
    except (ValueError, RecursionError):
        return ""
    error = value.get("error") if isinstance(value, dict) else None
    return str(error.get("param") or "") if isinstance(error, dict) else ""


def other_api(said: bytes, api: str) -> str:
    """Return the API that a refusal says to use by its path, "" if it names no other one."""
    text = read_error(said)
    named = [name for name, path in API_PATHS.items() if re.search(rf"\bv1{path}\b", text)]
    others = [name for name in named if name != api]
    return others[0] if len(others) == 1 else ""


def learn_flags(said: bytes, preset: Preset, known: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the new flags that a refusal implies, {} if it implies none.

    `said`: the error body; `known`: the flags learnt before.
    """
    text = said.decode("utf-8", "replace")
    for words, flags in QUIRKS:
        fresh = {
            name: value
            for name, value in flags.items()
            if name not in known and getattr(preset, name) != value
        }
        if fresh and words.search(text):
            return fresh
    return {}


def refused_media(said: bytes, body: Mapping[str, Any], *, single: bool) -> set[str]:
    """Return the changes for the pictures and files that a refusal is about, {} for none.

    It names the place of one in the request ("messages.2.content.1.image.source"), or is about the
    size or the contents of one, then the largest; else, and without `single`, it is about all.
    """
    if not _MEDIA.search(said):
        return set()
    text = re.sub(rb"\.?\[(\d+)\]", rb".\1", said)
    media = dict(_media_in(body, ()))
    near = {
        place: depth
        for place in media
        for depth in range(4, len(place))
        if re.search(rb"\b%b\b" % re.escape(".".join(place[:depth])).encode(), text)
    }
    if single and near:
        media = {(): media[max(near, key=lambda place: near[place])]}
    elif single and media and _ONE_MEDIUM.search(said):
        media = {(): max(media.values(), key=len)}
    return {MEDIUM + media_digest(data) for data in media.values()}


def _media_in(value: Any, at: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield (place, data or address) of the pictures and files in a request."""
    if isinstance(value, str) and (at[-1] in _DATA or at[-2:] in _MEDIA_ENDS):
        yield at, value
    elif isinstance(value, list | dict):
        for key, inner in enumerate(value) if isinstance(value, list) else value.items():
            yield from _media_in(inner, (*at, str(key)))


def unfit_tool(said: bytes, body: Mapping[str, Any]) -> str | int:
    """Return the name of the tool whose schema a refusal is about, "" if it is about none.

    It names the tool, or its place in the request: "Invalid schema for function 'x'",
    "tools[3].function.parameters", "tools.3.custom.input_schema". Of a refusal that is about how
    many tools there are, return how many are taken.
    """
    tools = body.get("tools") or []
    if _MOST_TOOLS.search(said):
        if limits := [n for n in map(int, _COUNT.findall(said)) if n < len(tools)]:
            return min(limits)
    if not _SCHEMA.search(said):
        return ""
    names = [str((tool.get("function") or tool).get("name")) for tool in tools]
    for found in _TOOL_NAME.findall(said):
        if found.decode() in names:
            return str(found.decode())
    for pattern in _TOOL_PLACES:
        if (place := pattern.search(said)) and int(place[1]) < len(names):
            return names[int(place[1])]
    return ""
