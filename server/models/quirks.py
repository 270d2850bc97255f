"""Learn flags from refused requests: how an endpoint differs from its preset.

Used by `http_model` after a refusal, before it repeats the request. Gateways, templates and single
models have rules that no preset has; most name the broken one. A lesson is a kind, a name and a
value: `lessons` reads them from a refusal, EndpointState keeps them for the model. A refusal that
teaches nothing new becomes the error of the call.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from ..json_types import Json
from .chat_request import ToolNameMap, media_digest, media_in
from .failure import Failure, read_error
from .provider import API_PATHS, Preset, Provider
from .retry import CallPacer

STATUS = frozenset({400, 404, 422, 500})  # a template that raises is a 500 at llama.cpp
LEFT_OUT: Any = ...  # in place of a value: the member is not sent
MOST_UNFIT = 16  # tools that one call sets aside
MOST_MEDIA = 4  # pictures and files that one call leaves out one by one; then all

Lesson = tuple[str, str]  # (kind, name)
# The kinds of lessons.
FLAG = "flag"  # of the preset, which has another value
MEMBER = "member"  # of the request: its value, or LEFT_OUT
MEDIUM = "medium"  # digest of a picture or file, which is told in words
TOOL = "tool"  # whose schema is refused, so that it is left out; its value is what was said
MOST_TOOLS = ("tools", "most")  # how many are taken; if none are, they go as text


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

# Refusals of earlier reasoning: encrypted for another key, organisation or model version, changed
# or moved, or looked up in the provider's own store (vercel/ai issue 7543).
NOT_THEIRS = re.compile(
    rb"invalid_encrypted_content|encrypted.content.{0,160}could not be|[Ii]nvalid .{0,3}signature"
    rb"|thinking.{0,80}(?:cannot be modified|must remain as they were)"
    rb"|provided without its required|[Ii]tems are not persisted when"
)
# Refusals of tools: the model does not support them (Ollama, OpenRouter, Groq, Azure and others),
# or its server runs without a tool call parser (vLLM: langchain4j issue 3475; llama.cpp).
_NO_TOOLS = re.compile(
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


class OtherAPI(Exception):
    """The model wants another API."""

    def __init__(self, api: str, failure: Failure) -> None:
        super().__init__(api)
        self.api, self.failure = api, failure


class EndpointState:
    """State of one endpoint learnt from its refusals, for this process.

    Shared by the sessions of one owner's keys only, since it depends on what they sent. Lessons are
    replaced, never changed: requests are built in other threads.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, pace: CallPacer | None = None
    ) -> None:
        self.pace = pace or CallPacer(clock)
        self.apis: dict[str, str] = {}  # by model: the API that it wants
        self.lessons: dict[str, dict[Lesson, Any]] = {}  # by model

    def of_kind(self, model: str, kind: str) -> dict[str, Any]:
        """Return the lessons of one kind about a model: values by name."""
        lessons = self.lessons.get(model)
        return {n: v for (of, n), v in lessons.items() if of == kind} if lessons else {}

    def learn(self, model: str, lessons: Mapping[Lesson, Any]) -> None:
        """Keep lessons for a model."""
        self.lessons[model] = {**self.lessons.get(model, {}), **lessons}

    def forget(self, model: str, lessons: Collection[Lesson]) -> None:
        """Discard lessons of a call that failed nevertheless.

        Error texts quote the request, so a pattern may have matched by accident.
        """
        known = self.lessons.get(model, {})
        self.lessons[model] = {each: known[each] for each in known if each not in lessons}

    def takes_tools(self, model: str) -> bool:
        """Return whether a model takes any tools."""
        return self.lessons.get(model, {}).get(MOST_TOOLS) != 0

    def fit(self, model: str, tools: list[Json]) -> tuple[list[Json], dict[str, str]]:
        """Return the tools that a model takes, and why not each other one, by name.

        Why is what was said of its schema, or "" if it is one too many.
        """
        refused = self.of_kind(model, TOOL)
        most = self.lessons.get(model, {}).get(MOST_TOOLS)
        if not refused and most is None:
            return tools, {}
        fit: list[Json] = []
        others: dict[str, str] = {}
        safe = ToolNameMap().safe
        for tool in tools:
            name = tool["function"]["name"]
            why = refused.get(safe(name), "")
            if why or len(fit) == most:
                others[name] = why
            else:
                fit.append(tool)
        return fit, others

    def warnings(self, provider: Provider, taught: Mapping[Lesson, str]) -> Iterator[str]:
        """Yield what to say of a request that was changed. `taught`: what was said of each."""
        if media := [why for (kind, _), why in taught.items() if kind == MEDIUM]:
            text = f"{provider.name} refuses {len(media)} of the pictures and files, which are"
            yield f"{text} described to it in words: {media[-1]}"
        values = self.of_kind(provider.model, MEMBER)
        for (kind, name), why in taught.items():
            if kind == MEMBER:
                value = values.get(name, LEFT_OUT)
                how = "left out" if value is LEFT_OUT else f"sent as {value!r}".lower()
                yield f"{provider.name} refuses {name}, so it is {how}: {why}"

    def change(self, model: str, body: dict[str, Any]) -> dict[str, Any]:
        """Return the body with the members that this model has refused left out or replaced."""
        for name, value in self.of_kind(model, MEMBER).items():
            first, _, second = name.partition(".")
            if not (has(body, name) or (value is not LEFT_OUT and not second)):
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


class Refusal(NamedTuple):
    """A refused request: status and body of the answer, its text for people, and the request."""

    status: int
    said: bytes
    text: str
    body: Mapping[str, Any]


def lessons(
    refusal: Refusal,
    preset: Preset,
    optional: Mapping[str, bytes],
    known: Collection[Lesson],
    taught: Collection[Lesson],
) -> Iterator[dict[Lesson, Any]]:
    """Yield what a refusal may teach, the likeliest first: lessons that belong together.

    `optional`: see `cures`; `known`: with which the request was built; `taught`: in this call.
    """
    status, said, text, body = refusal
    kinds = [kind for kind, _ in taught]
    if status in STATUS:
        members = {(MEMBER, n): value for n, value in cures(said, body, optional).items()}
        if fresh := {each: value for each, value in members.items() if each not in taught}:
            yield fresh
            return
        if body.get("tools") and _NO_TOOLS.search(said):
            yield {MOST_TOOLS: 0}
    if status in (400, 422):
        if limit := tool_limit(said, body):
            yield {MOST_TOOLS: limit}
        name = unfit_tool(said, body)
        if name and (TOOL, name) not in taught and kinds.count(TOOL) < MOST_UNFIT:
            yield {(TOOL, name): text}
    if status in STATUS:
        flags = {name: ... for kind, name in known if kind == FLAG}
        while found := learn_flags(said, preset, flags):
            yield {(FLAG, name): value for name, value in found.items()}
            flags |= found
    if status in (*STATUS, 413, 415):
        media = refused_media(said, body, single=kinds.count(MEDIUM) < MOST_MEDIA)
        if fresh := {(MEDIUM, each): True for each in media if (MEDIUM, each) not in taught}:
            yield fresh


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
    """Return the digests of the pictures and files that a refusal is about.

    It names the place of one in the request ("messages.2.content.1.image.source"), or is about the
    size or the contents of one, then the largest; else, and without `single`, it is about all.
    """
    if not _MEDIA.search(said):
        return set()
    text = re.sub(rb"\.?\[(\d+)\]", rb".\1", said)
    media = dict(media_in(body))
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
    return {media_digest(data) for data in media.values()}


def tool_limit(said: bytes, body: Mapping[str, Any]) -> int:
    """Return how many tools are taken, if a refusal says so and the request has more; else 0."""
    if not _MOST_TOOLS.search(said):
        return 0
    count = len(body.get("tools") or ())
    return min((n for n in map(int, _COUNT.findall(said)) if n < count), default=0)


def unfit_tool(said: bytes, body: Mapping[str, Any]) -> str:
    """Return the name of the tool whose schema a refusal is about, "" if it is about none.

    It names the tool, or its place in the request: "Invalid schema for function 'x'",
    "tools[3].function.parameters", "tools.3.custom.input_schema".
    """
    if not _SCHEMA.search(said):
        return ""
    names = [str((tool.get("function") or tool).get("name")) for tool in body.get("tools") or ()]
    for match in _TOOL_NAME.findall(said):
        if match.decode() in names:
            return str(match.decode())
    for pattern in _TOOL_PLACES:
        if (place := pattern.search(said)) and int(place[1]) < len(names):
            return names[int(place[1])]
    return ""
