"""Build the JSON body of a Chat Completions request from session-shaped messages and tools.

`OpenAIAPI` calls `request` before each attempt; the other APIs use its parts. The flags of the
preset decide what a provider gets. The same messages always give the same bytes, so that the
provider's prompt cache applies; ids, times and envelopes of yaa's own are not sent.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from operator import methodcaller
from typing import Any, NamedTuple

from ..json_types import Json, Message, ToolCall
from ..lib.json_schema.compile import inline
from ..lib.strict_json import Constant, ConstantList, as_object, as_text, objects_in, quote, text_of
from ..session import media
from ..session.client_tools import NAME
from ..session.media import plain_text
from ..session.quoted_texts import SentTexts
from . import Options, provider_search
from .chat_decoder import DETAILS, MEMBERS, PARTS, TAGS
from .provider import Preset, Provider
from .tool_mode import ToolMode

# Fields that a session's model_settings may not replace: they are the request itself.
RESERVED = frozenset(
    {"model", "messages", "tools", "tool_choice", "stream", "stream_options", "n", "functions"}
    | {"response_format", "max_tokens", "max_completion_tokens", "extra_body"}
    | {"use_custom_temp", "use_costum_temp"}  # both spellings are in use
    | {provider_search.SETTING}
)
SAMPLING = frozenset({"temperature", "top_p", "presence_penalty", "frequency_penalty"})

MANY = 64  # messages from which on it pays to write them at once
_NINE = re.compile(r"[A-Za-z0-9]{9}")
LONGEST_ID = 40  # characters of a call's id at OpenAI; vLLM and others make longer ones
SYSTEM_NOTE = "<system>\n{}\n</system>"


class ToolNameMap:
    """Map tool names to names that every provider accepts, and back."""

    def __init__(self) -> None:
        self._originals: dict[str, str] = {}

    def safe(self, name: str) -> str:
        """Return the name in at most 64 ASCII letters, digits, `_` and `-`, always the same one."""
        if NAME.fullmatch(name):
            return name
        plain = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:55]
        safe = f"{plain}_{zlib.crc32(name.encode()):08x}"
        self._originals[safe] = name
        return safe

    def restore(self, name: str) -> str:
        """Return the original of a safe name; any other name unchanged."""
        return self._originals.get(name, name)


class CallIds:
    """The ids under which calls are sent: `sent` has them by the ids of the session.

    A model gets its own ids back where they are unique in the request: Kimi reads the name of the
    tool in them, and gateways keep signatures there. Others must be such as this provider accepts.
    """

    def __init__(self, preset: Preset) -> None:
        self.sent: dict[str, str] = {}
        self._preset = preset
        self._taken: set[str] = set()

    def add(self, call: ToolCall, ours: bool) -> None:
        """Choose the id of a call; `ours`: this model made it."""
        own, extra = call["id"], call.get("extra")
        theirs = extra.get("id") if ours and isinstance(extra, dict) else None
        call_id = own
        if isinstance(theirs, str) and theirs and theirs not in self._taken:
            call_id = theirs
        self.sent[own] = self._accepted(call_id, ours)
        self._taken.add(self.sent[own])

    def _accepted(self, call_id: str, ours: bool) -> str:
        if self._preset.short_ids and not _NINE.fullmatch(call_id):
            return hashlib.sha256(call_id.encode("utf-8", "replace")).hexdigest()[:9]
        if ours or len(call_id) <= LONGEST_ID:
            return call_id
        return f"{call_id[: LONGEST_ID - 9]}_{zlib.crc32(call_id.encode('utf-8', 'replace')):08x}"


class ModelRequest(NamedTuple):
    """What a request body is made of."""

    provider: Provider
    messages: list[Message]
    tools: list[Json]
    options: Options
    mode: ToolMode
    names: ToolNameMap


def request(asked: ModelRequest) -> dict[str, Any]:
    """Return the body of one call."""
    provider, _, _, options, mode, names = asked
    messages, tools, offered, wish, more = prepare_request(asked)
    choice = _tool_choice(provider, wish, names)
    search = provider_search.search_options(provider, options)
    preset = provider.preset
    stream = options.stream and (preset.stream_with_tools or not offered)
    body: dict[str, Any] = {"model": provider.model}
    body["messages"] = _messages(provider, messages, names, options.texts)
    body["stream"] = stream
    if stream and preset.stream_options:
        body["stream_options"] = {"include_usage": True}
    if offered:
        body["tools"] = _tools(offered, preset.strict, names)
        if choice is not None:
            body["tool_choice"] = choice
    if wanted := mode.response_format(tools, options):
        body["response_format"] = wanted
    body |= _limits(provider, options)
    body |= more
    body |= {} if search is None else provider_search.chat_members(provider, search)
    body |= {k: v for k, v in preset.extra_body.items() if k != "tool_stream" or offered}
    return body | dict(provider.extra_body)


@dataclass(frozen=True)
class ModelCall:
    """One model call, ready for any number of attempts.

    `body(plain)` builds the request body anew for each attempt: it is as large as the session, so
    it is not kept while the answer streams. `plain` leaves out the reasoning of earlier messages.
    `left_out`: tools that the model refuses, and why (EndpointState.fit).
    """

    body: Callable[[bool], dict[str, Any]]
    tools: list[Json]
    options: Options
    mode: ToolMode
    names: ToolNameMap
    left_out: dict[str, str]


def prepare_request(
    asked: ModelRequest,
) -> tuple[list[Message], list[Json], list[Json], str | None, dict[str, Any]]:
    """Return (messages, tools, those of the mode native, tool choice, settings) for this provider.

    They are still session-shaped.

    Media that it does not accept become words. Where the mode is not native, calls become
    text. References in schemas are resolved there, and where the provider does not support them.
    A preset with `idle_tools` gets declarations of the tools called earlier when none is offered,
    with the choice "none". Where the provider searches itself, the server's own search is left out.
    """
    provider, messages, tools, options, mode, _ = asked
    messages = accepted_media(provider.preset, _apart(messages, "assistant"))
    tools = provider_search.without_own(tools, provider_search.search_options(provider, options))
    choice = options.tool_choice
    if mode.is_native and provider.preset.idle_tools and not tools:
        calls = [call for message in messages for call in message.get("tool_calls") or ()]
        used = dict.fromkeys(call["function"]["name"] for call in calls)
        tools, choice = [_idle(name) for name in used], "none"
    if not (mode.is_native and provider.preset.references):
        tools = [_inline_references(tool) for tool in tools]
    messages = mode.messages(messages, tools, options)
    offered = tools if mode.is_native else []
    return messages, tools, offered, choice, settings(provider, options, tools=bool(offered))


def _messages(
    provider: Provider, messages: list[Message], names: ToolNameMap, texts: SentTexts | None
) -> list[Any]:
    """Return provider-shaped messages, without other roles and without empty answers.

    Of MANY, those that only say a text are returned as their JSON, if no other message may change
    them: that takes half of the time.
    """
    preset = provider.preset
    joined = preset.single_system_message or preset.alternate or not preset.system_role
    as_text = len(messages) >= MANY and preset.images and not joined
    as_text = as_text and not preset.reasoning_required_everywhere
    written = {} if texts is None else texts.messages
    sent: list[Any] = []
    ids = CallIds(preset)
    for message in _apart(messages, "tool"):
        role, content = message.get("role"), message.get("content") or ""  # null is refused
        if (
            as_text
            and isinstance(content, str)
            and (role == "user" or role == "assistant")
            and not ("tool_calls" in message or "open" in message or "name" in message)
        ):
            if written and (content or role == "user"):
                sent.append(written[role][content])
            elif content or role == "user":
                sent.append(f'{{"role":"{role}","content":{quote(content)}}}')
        elif role == "assistant":
            if message.get("open"):
                continue
            if answered := _answer(provider, message, content, names, ids):
                sent.append(answered)
        elif role == "tool":
            call_id = message["tool_call_id"]
            result = {"role": "tool", "tool_call_id": ids.sent.get(call_id, call_id)}
            if preset.result_name and message.get("name"):
                result["name"] = names.safe(message["name"])
            sent.append({**result, "content": plain_text(content)})
        elif role == "user" and preset.message_name and message.get("name"):
            sent.append({"role": "user", "name": message["name"], "content": content})
        elif role in ("user", "system"):
            sent.append({"role": role, "content": content})
    if not preset.images:  # it may take texts only
        sent = [{**each, "content": _in_words(each["content"])} for each in sent]
    if preset.single_system_message or not preset.system_role:
        sent = _few_systems(sent, one=preset.system_role)
    return _in_turns(sent) if preset.alternate else sent


def _apart(messages: list[Message], role: str) -> list[Message]:
    """Return the messages with pictures of this role's as the user's, behind the next results.

    No API takes pictures in an answer, and Chat Completions takes texts only in results. The parts
    begin with a text that says whose they are.
    """
    if list not in set(map(type, map(methodcaller("get", "content"), messages))):  # texts alone
        return messages
    sent: list[Message] = []
    shown: list[Json] = []
    for message in messages:
        if shown and message.get("role") != "tool":
            sent.append({"role": "user", "content": shown})
            shown = []
        content = message.get("content") if message.get("role") == role else None
        answers = role == "assistant"
        if parts := [p for p in media.parts_of(content) if "image_url" in p or not answers]:
            message = {**message, "content": plain_text(content)}
            source = f"the result of {message.get('name') or 'a tool'}"
            whose = "your answer" if answers else source
            shown += {"type": "text", "text": f"[From {whose}:]"}, *parts
        sent.append(message)
    return [*sent, {"role": "user", "content": shown}] if shown else sent


def accepted_media(
    preset: Preset, messages: list[Message], digests: Collection[str] = ()
) -> list[Message]:
    """Return the messages with words in place of parts that the provider does not accept.

    `digests`: of single pictures and files that it has refused.
    """
    if list not in set(map(type, map(methodcaller("get", "content"), messages))):  # texts alone
        return messages
    refused = {"image_url": not preset.images, "video_url": not preset.images}
    refused |= {"file": not preset.documents, "input_audio": not preset.audio}

    def is_refused(part: Any) -> bool:
        """Return whether this part becomes words."""
        kind = str(part.get("type")) if isinstance(part, dict) else ""
        if refused.get(kind) or not digests or kind not in refused:
            return refused.get(kind, False)
        return any(media_digest(data) in digests for _, data in media_in(part))

    return [
        {**message, "content": [_told(part) if is_refused(part) else part for part in content]}
        if isinstance(content := message.get("content"), list)
        else message
        for message in messages
    ]


# The last member of a place with a picture or file, or the last two: in parts of messages, and in
# the requests of each API.
_DATA = ("image_url", "file_data")
_DATA_ENDS = {(kind, "url") for kind in ("image_url", "video_url", "source")}
_DATA_ENDS |= {("source", "data"), ("input_audio", "data")}


def media_in(value: Any, at: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield (place, data or address) of the pictures and files in a part or a request."""
    if isinstance(value, str) and (at[-1] in _DATA or at[-2:] in _DATA_ENDS):
        yield at, value
    elif isinstance(value, list | dict):
        for key, inner in enumerate(value) if isinstance(value, list) else value.items():
            yield from media_in(inner, (*at, str(key)))


def media_digest(data: str) -> str:
    """Return the digest of a picture or file: of its base64, or of its address."""
    return hashlib.sha256(data.rpartition(",")[2].encode("utf-8", "replace")).hexdigest()


def _told(part: Json) -> Json:
    """Return a part that this model cannot be given, in words: what it is, and how to read it."""
    kind = str(part.get("type")).removesuffix("_url").removeprefix("input_")
    size, file = media.size_of_part(part), part.get("file")
    facts = [f"{size[0]} x {size[1]} pixels"] if size else []
    if isinstance(file, dict):
        facts.append(str(file.get("filename") or "without a name"))
    how = {"file": "Read it as text, for instance with pdftotext."}
    advice = f". {how[kind]}" if kind in how else ""
    text = f"[{' '.join((kind, *facts))}: this model cannot be given it{advice}]"
    return {"type": "text", "text": text}


def _few_systems(messages: list[dict[str, Any]], *, one: bool) -> list[dict[str, Any]]:
    """Join leading system messages to one if `one`; turn all others into user messages in place.

    Later ones are not moved to the start: that would change the order of the conversation.
    """
    first = next((i for i, m in enumerate(messages) if m["role"] != "system"), len(messages))
    first = first if one else 0
    rules = "\n\n".join(plain_text(message["content"]) for message in messages[:first])
    head = [{"role": "system", "content": rules}] if first else []
    return head + [
        {"role": "user", "content": SYSTEM_NOTE.format(plain_text(message["content"]))}
        if message["role"] == "system"
        else message
        for message in messages[first:]
    ]


def _in_turns(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Join neighbouring messages of one role, user or assistant."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        last = turns[-1] if turns else {}
        talk = message["role"] in ("user", "assistant") and "tool_calls" not in last
        if talk and last.get("role") == message["role"]:
            both = last["content"], message["content"]
            turns[-1] = {**last, **message, "content": _joined(*both)}
        else:
            turns.append(message)
    return turns


def _joined(first: Any, second: Any) -> Any:
    if not first or not second:
        return first or second
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    lists = [[{"type": "text", "text": c}] if isinstance(c, str) else c for c in (first, second)]
    return [*lists[0], *lists[1]]


def _in_words(content: Any) -> Any:
    """Return a content of parts as text, without reasoning (Mistral); other parts become notes."""
    if not isinstance(content, list):
        return content
    parts = [p for p in content if isinstance(p, dict) and p.get("type") != PARTS]
    texts = (
        part["text"]
        if isinstance(part.get("text"), str)
        else f"[{str(part.get('type')).removesuffix('_url')}: this model cannot be given it]"
        for part in parts
    )
    return "\n\n".join(texts)


def _is_ours(provider: Provider, message: Message) -> bool:
    return bool((message.get("meta") or {}).get("model") == provider.model)


def _answer(
    provider: Provider, message: Message, content: Any, names: ToolNameMap, ids: CallIds
) -> dict[str, Any] | None:
    """Return an assistant's message; None for an empty one."""
    if calls := message.get("tool_calls"):
        ours = _is_ours(provider, message)
        for call in calls:
            ids.add(call, ours)
        return _with_calls(provider, message, calls, names, ids.sent, ours)
    if not content:
        return None
    answer = {"role": "assistant", "content": content}
    if provider.preset.reasoning_required_everywhere:
        answer |= _reasoning(provider, message, content, _is_ours(provider, message))
    return answer


def _with_calls(
    provider: Provider,
    message: Message,
    calls: list[ToolCall],
    names: ToolNameMap,
    ids: Mapping[str, str],
    ours: bool,
) -> dict[str, Any]:
    """Return an assistant's message with calls."""
    content = message.get("content")
    nothing = None if provider.preset.null_content else ""
    sent: dict[str, Any] = {"role": "assistant", "content": content or nothing}
    # Reasoning and opaque data are valid only for the model that made them.
    sent |= _reasoning(provider, message, content or "", ours)
    sent["tool_calls"] = [_call(call, names, ids, ours) for call in calls]
    if extra := provider.preset.foreign_extra:  # Gemini checks the first call only
        sent["tool_calls"][0].setdefault("extra_content", extra)
    return sent


def _reasoning(provider: Provider, message: Message, content: Any, ours: bool) -> dict[str, Any]:
    """Return the reasoning members of an earlier message with calls, under the field they came in.

    DeepSeek and Moonshot refuse a history in which one is missing, in any turn with calls;
    DeepSeek V4 in any other, too, if tools are offered.
    """
    preset, reasoning = provider.preset, message.get("reasoning") or {}
    if preset.send_back_reasoning == "never":
        return {}
    text = reasoning.get("text") if ours else ""
    name = reasoning.get("field") if ours else ""
    details, members = _details(reasoning if ours else {})
    if details:
        return {**members, DETAILS: details}
    if text and isinstance(content, str) and (name == TAGS or preset.send_back_reasoning == "tags"):
        return {**members, "content": f"<think>{text}</think>{content}"}
    if text and isinstance(content, str) and name == PARTS:
        thought = {"type": "thinking", "thinking": [{"type": "text", "text": text}]}
        return {**members, "content": [thought, {"type": "text", "text": content}]}
    if text or preset.reasoning_required_on_tool_turns or preset.reasoning_required_everywhere:
        field = name if name in ("reasoning_content", "reasoning") else preset.reasoning_field
        return members | ({field: text or ""} if field != DETAILS else {})
    return members


def _details(reasoning: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return (reasoning_details, other members of the provider's own) of a message.

    Details with `at` are another API's (models/decoder.py): none of them is returned.
    """
    details = objects_in(reasoning.get("details"))
    if any("at" in each for each in details):
        return [], {}
    members = {
        each["member"]: each.get("value")
        for each in details
        if isinstance(each.get("member"), str) and each["member"] not in MEMBERS
    }
    return [each for each in details if "member" not in each], members


def _call(call: ToolCall, names: ToolNameMap, ids: Mapping[str, str], ours: bool) -> dict[str, Any]:
    function = call["function"]
    arguments = object_text(function.get("arguments") or "")
    sent = {
        "id": ids[call["id"]],
        "type": "function",
        "function": {"name": names.safe(function["name"]), "arguments": arguments},
    }
    extra = call.get("extra")
    if ours and isinstance(extra, dict):  # Gemini's thought signatures, for example
        return {k: v for k, v in extra.items() if isinstance(v, dict | list)} | sent
    return sent


def object_text(arguments: str) -> str:
    """Return arguments as the text of a JSON object; broken ones as {"invalid_json": text}.

    Templates and gateways parse the arguments of the history, so that one broken call would make
    them refuse every later request.
    """
    try:
        if isinstance(json.loads(arguments), dict):
            return arguments
    except (ValueError, RecursionError):
        pass
    broken = {"invalid_json": arguments} if arguments.strip() else {}
    return json.dumps(broken, ensure_ascii=False)


def _idle(name: str) -> Json:
    """Return the declaration of a tool that was called earlier and is no longer offered."""
    about = "It cannot be called now."
    return {"type": "function", "function": {"name": name, "description": about}}


def _inline_references(tool: Json) -> Json:
    """Return the tool with its schema's references resolved.

    Gemini and others refuse a whole request for one `$ref`.
    """
    function = tool["function"]
    if '"$ref"' not in text_of(tool):
        return tool
    return {**tool, "function": {**function, "parameters": inline(function["parameters"])}}


def _tools(tools: list[Json], strict: bool, names: ToolNameMap) -> list[Json]:
    if isinstance(tools, ConstantList):  # from the toolbox: valid for every provider
        return tools
    return [_tool(tool, strict, names) for tool in tools]


def _tool(tool: Json, strict: bool, names: ToolNameMap) -> Json:
    if isinstance(tool, Constant):
        return tool
    function = tool["function"]
    function = dict(function)
    function["name"] = names.safe(function["name"])
    function.setdefault("parameters", {"type": "object", "properties": {}})
    if not strict:
        function.pop("strict", None)
    return {"type": "function", "function": function}


def _tool_choice(provider: Provider, choice: str | None, names: ToolNameMap) -> Any:
    """Return the provider's tool_choice; None for auto, the default, and if unsupported."""
    if choice in (None, "", "auto"):
        return None
    modes = provider.preset.tool_choice_modes
    if choice in ("none", "required"):  # for "none" tools are usually not offered at all
        return choice if choice in modes else None
    name = {"name": names.safe(str(choice))}
    return {"type": "function", "function": name} if "named" in modes else None


def most_tokens(provider: Provider, options: Options) -> int | None:
    """Return the lower limit of output tokens of provider and session; None: no limit."""
    return min((each for each in (provider.max_tokens, options.max_tokens) if each), default=None)


def _limits(provider: Provider, options: Options) -> dict[str, Any]:
    most = most_tokens(provider, options)
    if most is None:
        return {}
    by_type = "max_completion_tokens" if provider.is_reasoning else "max_tokens"
    return {provider.preset.max_tokens_field or by_type: most}


def settings(provider: Provider, options: Options, *, tools: bool) -> dict[str, Any]:
    """Return sampling and other settings, the session's over the provider's.

    `temperature` is sent only where it is switched on, and no sampling settings to reasoning
    models, which refuse them. `extra_body` counts only in the provider's settings: the session's
    could undo the owner's.
    """
    own = {k: v for k, v in options.settings.items() if k != "extra_body"}
    wanted: Mapping[str, Any] = {**provider.settings, **own}
    custom = wanted.get("use_custom_temp") or wanted.get("use_costum_temp")
    sent = {k: v for k, v in wanted.items() if k not in RESERVED and v is not None}
    if not custom:
        sent.pop("temperature", None)
    if not (tools and provider.preset.parallel_tool_calls):
        sent.pop("parallel_tool_calls", None)
    extra = wanted.get("extra_body")
    sent |= {k: v for k, v in as_object(extra).items() if k not in RESERVED}
    return {k: v for k, v in sent.items() if not (provider.is_reasoning and k in SAMPLING)}


# -- content parts --------------------------------------------------------------------------------
# Split session messages into typed pieces, for the Responses and the Messages API.
#
# Both convert the pieces to blocks of their API. All pieces are well formed,
# also for a document that a client has written wrongly.

Piece = tuple[str, Any]

_DATA_URL = re.compile(r"data:([^;,]*)(?:;[^,]*)?;base64,(.*)", re.DOTALL)


def of_answer(message: Message, provider: Provider) -> list[Piece]:
    """Return the pieces of an assistant message in their order.

    ("item", dict) is a provider's item to send back unchanged, ("text", str), ("call", dict).
    Another model's message gives texts and calls only. No item is last: both APIs refuse reasoning
    that nothing follows.
    """
    text, calls = plain_text(message.get("content")), message.get("tool_calls") or []
    found: list[Piece] = []
    said = called = 0
    for chars, number, item in _kept(message, provider):
        if chars > said and text[said:chars]:
            found.append(("text", text[said:chars]))
        found += (("call", call) for call in calls[called:number])
        said, called = max(said, chars), max(called, number)
        found.append(("item", item))
    if text[said:]:
        found.append(("text", text[said:]))
    found += (("call", call) for call in calls[called:])
    while found and found[-1][0] == "item":
        found.pop()
    return found


def _kept(message: Message, provider: Provider) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield (characters before, calls before, item) of this model's items; see Answer._keep."""
    reasoning = as_object(message.get("reasoning")) if _is_ours(provider, message) else {}
    for each in objects_in(reasoning.get("details")):
        at, item = each.get("at"), each.get("item")
        if isinstance(item, dict) and isinstance(at, list) and len(at) == 2:
            chars, number = at
            if type(chars) is int and type(number) is int and min(at) >= 0:
                yield chars, number, item


def of_content(content: Any) -> Iterator[Piece]:
    """Yield the pieces of a user's or a tool's content: ("text", str), ("image", …), ("file", …).

    An image is (URL, detail), a file (data URL, name). Empty texts are left out; parts of other
    kinds become a text that names them.
    """
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    for part in objects_in(content):
        kind = part.get("type")
        text, image, file = part.get("text"), part.get("image_url"), as_object(part.get("file"))
        image = image if isinstance(image, dict) else {"url": image}
        data = file.get("file_data")
        if isinstance(text, str):
            if text:
                yield "text", text
        elif isinstance(image.get("url"), str):
            yield "image", (image["url"], as_text(image.get("detail")) or "auto")
        elif isinstance(data, str):
            yield "file", (data, str(file.get("filename") or "file"))
        else:
            yield "text", f"[{kind!s:.40}: this model cannot be given it]"


def of_data_url(url: str) -> tuple[str, str] | None:
    """Return (media type, base64) of a data URL, None for any other URL."""
    found = _DATA_URL.fullmatch(url)
    return (found[1].lower(), found[2]) if found else None
