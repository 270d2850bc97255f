"""The settings of a session, `session.config`: the kind, title and description of each key.

schema.py checks a session's settings with CONFIG; `config_schema` is made from it. That is sent by
`GET /info`, from which clients make forms, and used to find unknown keys. `x-order` lists the keys
as JSON pointers, the most often changed first; `x-foreign` is what a session from elsewhere keeps.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import Any

from ..json_types import Json, RunWarning
from ..lib.json_schema import field_types
from ..lib.json_schema.compile import DRAFT_2020
from ..lib.json_schema.field_types import (
    ANY,
    BELOW,
    COUNT,
    COUNT_OR_NONE,
    FLAG,
    NUMBER,
    NUMBER_OR_NONE,
    NUMBERS,
    TEXT_OR_NONE,
    TEXTS,
    Kind,
    Misfit,
    Misfits,
    Place,
    with_title,
)
from ..lib.json_schema.validate import check_schema
from ..lib.sandbox.network_policy import NETWORKS
from ..lib.strict_json import LARGEST_COUNT, pointer
from . import prompt_texts, prompts
from .limits import APIS, ASK, MOST, TOOL_MODES
from .modes import MODES, mode_named

MAX_PAUSE_S = 60  # seconds between the model calls of a session
MAX_RETRIES = 20

# In the order in which they are tried; see context/strategies.py.
STRATEGIES = (
    "tool_invocation_compress",
    "large_message_offload_with_protection",
    "large_message_offload",
    "previous_round_conversation_summary",
    "current_round_large_message_summary",
    "current_round_message_compress",
)
REPLIES = ("full", "delta")
SUMMARIES = ("extract", "llm")
ON_LIMIT = ("summarize", "stop", "auto")  # auto equals summarize: older documents have it

_NONE = "null is none."
POSITIVE = field_types.number("a whole number, 1 or more", least=1, whole=True)
_SHARE = field_types.number("a number from 0 to 1", most=1)
_SHARE_OR_NONE = field_types.number("a number from 0 to 1, or null for none", most=1, none=True)
# What a vendor bounds; some take -1 for none.
_ANY_NUMBER = field_types.number("a number, or null for none", -LARGEST_COUNT, none=True)
_ANY_WHOLE = field_types.number(
    "a whole number, or null for none", -LARGEST_COUNT, whole=True, none=True
)
_SECONDS = field_types.number(f"a number of seconds, {BELOW}")
_PAUSE = field_types.number(f"a number of seconds, 0 to {MAX_PAUSE_S}", most=MAX_PAUSE_S)


FOREIGN = "x-foreign"  # keyword of a key, without which sanitize.py removes it


def _harmless(kind: Kind, title: str, text: str, **more: Any) -> Kind:
    """Return the kind of a key that permits nothing: a session from elsewhere keeps it."""
    return with_title(kind, title, text, **{FOREIGN: "keep"}, **more)


def _at_most(kind: Kind, title: str, text: str) -> Kind:
    """Return the kind of a limit: a session from elsewhere keeps what is below the default."""
    return with_title(kind, title, text, **{FOREIGN: "at_most"})


def _object(title: str, text: str, is_open: bool = False, /, **fields: Kind) -> Kind:
    """Return objects. `is_open`: unknown members have a meaning; the others are kept as well."""
    kind = field_types.object_of(fields)
    return with_title(kind, title, text, properties={}, additionalProperties=is_open)


def _usable_schema(value: Any, place: Place, found: Misfits) -> None:
    if isinstance(value, dict):
        for wrong in check_schema(value)[:1]:
            found.append(Misfit(place, f"expected a JSON Schema that can be used: {wrong}"))


def _mode_or_none(value: Any) -> bool:
    return value is None or (isinstance(value, str) and mode_named(value) is not None)


MODEL_SETTINGS = _object(
    "Model settings",
    "Further members of the request to the model. Any field of the vendor's may be added.",
    True,
    use_custom_temp=with_title(FLAG, "Use the temperature below", "Without it none is sent."),
    # A misspelling that older documents have.
    use_costum_temp=with_title(FLAG, "Use the temperature", "As above.", readOnly=True),
    temperature=with_title(
        field_types.number("a number from 0 to 2, or null for none", most=2, none=True),
        "Temperature",
        "How freely the model chooses its words; 0 is least.",
    ),
    top_p=with_title(_SHARE_OR_NONE, "Top P", "Choose among the likeliest words of this share."),
    top_k=with_title(_ANY_WHOLE, "Top K", "Choose among so many of the likeliest words."),
    min_p=with_title(
        _SHARE_OR_NONE, "Min P", "Leave out words less likely than this share of the best."
    ),
    presence_penalty=with_title(_ANY_NUMBER, "Presence penalty", "New subjects."),
    frequency_penalty=with_title(_ANY_NUMBER, "Frequency penalty", "Fewer repetitions."),
    seed=with_title(_ANY_WHOLE, "Seed", "The same number gives similar answers."),
    stop=with_title(
        ANY, "Stop", "Texts at which the answer ends.", type=["string", "array", "null"]
    ),
    reasoning_effort=with_title(
        TEXT_OR_NONE, "Reasoning effort", "As the vendor calls it: low, medium, high."
    ),
    parallel_tool_calls=with_title(
        FLAG, "Several calls at once", "Whether one answer may make several."
    ),
)
_COSTS = _object(
    "Prices",
    "Of 1,000 tokens of each kind, instead of one price.",
    input=with_title(NUMBER, "Read", "Tokens of a request."),
    output=with_title(NUMBER, "Written", "Tokens of an answer."),
    cached=with_title(NUMBER, "Read from the cache", "Tokens that the provider had kept."),
    cache_write=with_title(NUMBER, "Written to the cache", "Tokens that the provider keeps."),
    total=with_title(NUMBER, "Any", "Tokens of every kind."),
)
_PROVIDER = _object(
    "Provider",
    "Which model answers: one of the server's by name, or one of your own with address and key.",
    name=with_title(
        TEXT_OR_NONE, "Provider of the server", "Its name; auto is the server's default."
    ),
    api_url=with_title(
        TEXT_OR_NONE, "Address", "Of your own provider: its base or full address.", format="uri"
    ),
    api_key=with_title(
        TEXT_OR_NONE,
        "Key",
        "For that address. It is stored in the session, and sent nowhere else.",
        format="password",
    ),
    model_name=with_title(TEXT_OR_NONE, "Model", "Empty: the provider's default."),
    preset=with_title(
        TEXT_OR_NONE, "Vendor", "Of your own provider: openai, anthropic, deepseek, ollama, …"
    ),
    api=with_title(
        field_types.one_of(*APIS, aliases=("",), none=True),
        "API",
        "Which one your own provider speaks.",
    ),
    model_type=_object(
        "Kind of model",
        "What the model can do.",
        is_function_call=with_title(FLAG, "Calls functions", "Off: tools are described in words."),
        is_reasoning=with_title(
            FLAG, "Thinks first", "A reasoning model, which takes no temperature."
        ),
    ),
    model_settings=replace(
        MODEL_SETTINGS, form=MODEL_SETTINGS.form | {"title": "Settings of this provider"}
    ),
    max_tokens=with_title(NUMBER_OR_NONE, "Longest answer", f"Tokens. {_NONE}"),
    max_context=with_title(
        NUMBER_OR_NONE, "Window", f"Tokens of a request that the model can read. {_NONE}"
    ),
    tool_mode=with_title(
        field_types.one_of(*TOOL_MODES), "How tools are called", "Of your own provider."
    ),
    cost_per_ktoken=with_title(NUMBER_OR_NONE, "Price", "Of 1,000 tokens of your own provider."),
    cost_unit=with_title(TEXT_OR_NONE, "Currency", "Of the price, such as CNY."),
    costs=_COSTS,
    extra_body=_object("Members of the request", "They replace all others of their name.", True),
)
_YAA = _object(
    "Agent",
    "How the agent works and answers.",
    language=with_title(
        TEXT_OR_NONE, "Answer language", "In words, such as 中文 or French. Empty: any."
    ),
    auto_title=_harmless(FLAG, "Title by the model", "One extra model call names the session."),
    mode=_harmless(
        field_types.leaf(_mode_or_none, f"one of {', '.join(MODES)}", {"type": ["string", "null"]}),
        "Mode",
        "How tools are used. Empty: as the agent says.",
        examples=list(MODES),
    ),
    output_schema=_harmless(
        field_types.object_of(
            words="a JSON Schema, or null for none", none=True, more=_usable_schema
        ),
        "Structure of the answer",
        "A JSON Schema. " + _NONE,
    ),
    max_context=_harmless(
        NUMBER_OR_NONE,
        "Longest request",
        f"Tokens, if that is less than the model's window. {_NONE}",
    ),
    stream=_harmless(FLAG, "Stream", "Answer with events, where the request leaves the choice."),
    ask=with_title(
        field_types.one_of(*ASK),
        "Ask about",
        "by_rules: where the rules say so; every_call: before every call. In a copy: edits_run: not"
        " about changes to files; copy_runs: nor about programs.",
    ),
    unattended=with_title(FLAG, "Nobody is there", "Tools that would ask are not run."),
    tool_mode=_harmless(
        field_types.one_of(*TOOL_MODES), "How tools are called", "auto: as the model can."
    ),
    require_finish_tool=_harmless(
        FLAG, "Finish by a tool", "Only the finish tool completes the session."
    ),
    tool_detail=_harmless(
        FLAG, "Tools in brief", "One line for each tool; the model asks for more."
    ),
    result_schema=_harmless(FLAG, "Say what tools return", "In the description of each."),
    progress_hint=_harmless(FLAG, "Count the steps", "Tell the model how many are left."),
    skills_off=_harmless(TEXTS, "Skills switched off", "Names; * is all."),
    reply=_harmless(
        field_types.one_of(*REPLIES), "Reply", "full: the session; delta: what this run added."
    ),
)
_RETRY = _object(
    "Retry",
    "When a call of the model fails before its answer began.",
    times=with_title(
        field_types.number(f"a whole number, 0 to {MAX_RETRIES}", most=MAX_RETRIES, whole=True),
        "Times",
        "Extra attempts.",
    ),
    delay=with_title(_PAUSE, "Pause", "Seconds before the first; doubled each time."),
)
_LLM_API = _object(
    "Model",
    "Which model is called, and how.",
    provider=_PROVIDER,
    model_settings=MODEL_SETTINGS,
    max_tokens=_at_most(COUNT_OR_NONE, "Longest answer", f"Tokens. {_NONE}"),
    retry=field_types.as_one(
        replace(_RETRY, form=_RETRY.form | {FOREIGN: "at_most"}),
        f"times (0 to {MAX_RETRIES}) and delay (0 to {MAX_PAUSE_S} seconds)",
    ),
    request_timeout=_at_most(_SECONDS, "Time for an answer", "Seconds, all attempts together."),
    first_byte_timeout=_at_most(_SECONDS, "Time until it begins", "Seconds."),
    idle_timeout=_at_most(_SECONDS, "Time between two parts", "Seconds."),
    interval=_at_most(_PAUSE, "Interval", "Least seconds between two calls of this session."),
    stream=_harmless(FLAG, "Stream", "Let the model stream."),
    tool_choice=with_title(
        TEXT_OR_NONE,
        "Tool that must be called",
        "Its name, required, auto or none. null is the model's choice.",
    ),
)
_TOOL_LIMITS = _object(
    "Of one tool call",
    "What a call of a tool may use.",
    wall_s=with_title(NUMBER, "Time", "Seconds."),
    cpu_s=with_title(NUMBER, "Computing time", "Seconds."),
    memory_mb=with_title(NUMBER, "Memory", "MB."),
    file_mb=with_title(NUMBER, "Largest file", "MB."),
    disk_mb=with_title(NUMBER, "Disk", "MB, of the whole workspace."),
    output_kb=with_title(NUMBER, "Output", "KB."),
    processes=with_title(NUMBER, "Processes", "At one time."),
    open_files=with_title(NUMBER, "Open files", "At one time."),
)
_LIMITS = _object(
    "Limits",
    "What one message of the user may use. The server's are never exceeded.",
    max_steps=_at_most(NUMBER_OR_NONE, "Steps", f"Model calls. {_NONE}"),
    max_wall_s=_at_most(
        NUMBER_OR_NONE, "Time", f"Seconds, without those in which you are asked. {_NONE}"
    ),
    max_tokens=_at_most(NUMBER_OR_NONE, "Tokens", f"Of all model calls together. {_NONE}"),
    max_cost_micro=_at_most(NUMBER_OR_NONE, "Cost", f"Millionths of the provider's unit. {_NONE}"),
    max_consecutive_errors=_at_most(
        NUMBER_OR_NONE, "Errors in a row", f"Calls that name no tool or have bad arguments. {_NONE}"
    ),
    on_limit=_harmless(
        field_types.one_of(*ON_LIMIT),
        "At a limit",
        "summarize: the model says how far it came; stop: nothing.",
    ),
    tool=replace(
        field_types.with_limit(NUMBERS, MOST["config/limits/tool"]),
        form=_TOOL_LIMITS.form | {FOREIGN: "at_most"},
        fields=_TOOL_LIMITS.fields,  # the same kind of numbers
    ),
)
_CONTEXT = _object(
    "Context",
    "How the model's view of a long session is made smaller.",
    enabled=_harmless(FLAG, "Make it smaller", "When it gets long."),
    budget=_at_most(POSITIVE, "Budget", "Tokens of a request at most, whatever the window."),
    trigger_ratio=_harmless(_SHARE, "Begins at", "Share of the window."),
    target_ratio=_harmless(_SHARE, "Ends at", "Share of that."),
    max_messages=_harmless(COUNT_OR_NONE, "Begins at messages", f"At so many. {_NONE}"),
    keep_turns=_harmless(
        COUNT, "Turns to keep", "Their results stay, and they are summed up last."
    ),
    keep_messages=_harmless(COUNT, "Messages to keep", "They are shortened last."),
    large_chars=_harmless(COUNT, "A large message", "Has so many characters."),
    preview_chars=_harmless(COUNT, "Preview", "Characters that stay at its beginning and its end."),
    ingest_tokens=_harmless(
        COUNT_OR_NONE, "Largest whole result", "Tokens. null is a tenth of the budget."
    ),
    min_saving=_harmless(_SHARE, "Least saving", "Share; a pass that saves less is not made."),
    window_runs=_harmless(COUNT_OR_NONE, "Last runs only", f"Send so many. {_NONE}"),
    summary=_harmless(
        field_types.one_of(*SUMMARIES), "Summaries", "extract: made of sentences; llm: by a model."
    ),
    summary_ratio=_harmless(_SHARE, "Length of a summary", "Share of what it stands for."),
    summary_timeout_s=_harmless(_SECONDS, "Time for a summary", "Seconds."),
    strategies=_harmless(
        field_types.as_one(
            field_types.list_of(field_types.one_of(*STRATEGIES)),
            f"an array of names: {', '.join(STRATEGIES)}",
        ),
        "Strategies",
        "Which may be used.",
    ),
    exempt_tools=_harmless(TEXTS, "Tools whose results stay whole", "By name."),
    retain_tool=_harmless(FLAG, "Let the model choose", "Offer it a tool that keeps messages."),
)
_TOOL = _object(
    "Tool",
    "A tool's rules.",
    auto_approve=with_title(FLAG, "Run without asking", "As far as the server allows."),
    deny=with_title(FLAG, "Never run", "In this session."),
    network=with_title(
        replace(field_types.one_of(*NETWORKS), words="off, proxy or full"),
        "Network",
        "Only less than the server allows.",
    ),
)
_PROMPT = _object(
    "Prompt",
    "Sections of the system prompt; those that stand here replace the default.",
    **{
        name: with_title(
            ANY,
            name,
            text,
            type="string",
            default=prompts.default(name),
            **{"x-placeholders": list(prompts.placeholders_of(name))},
        )
        for name, text in prompt_texts.ABOUT.items()
    },
)
CONFIG = _object(
    "Settings of a session",
    "session.config",
    llm_api=_LLM_API,
    yaa=_YAA,
    limits=_LIMITS,
    context=_CONTEXT,
    prompt=field_types.with_limit(_PROMPT, MOST["config/prompt"]),
    tool=with_title(
        field_types.object_of(each=_TOOL),
        "Tools",
        "Rules of this session for single tools, by name.",
    ),
    agent=with_title(
        field_types.object_of(
            {
                "limits": field_types.OBJECT,
                "tools": field_types.with_limit(ANY, MOST["config/agent/tools"]),
            }
        ),
        "Agent of the session",
        "A copy of its definition, which the server fills in.",
        readOnly=True,
    ),
)

# The first keys of `x-order`; the others follow in the order of their section.
_FIRST = (
    *("/llm_api/provider/name", "/llm_api/provider/api_url", "/llm_api/provider/api_key"),
    *("/llm_api/provider/model_name", "/llm_api/model_settings/use_custom_temp"),
    *("/llm_api/model_settings/temperature", "/yaa/language"),
    *("/llm_api/retry/times", "/llm_api/retry/delay", "/llm_api/request_timeout"),
    *("/llm_api/first_byte_timeout", "/llm_api/idle_timeout", "/llm_api/interval"),
    *("/limits/max_steps", "/limits/max_wall_s", "/limits/max_tokens", "/limits/max_cost_micro"),
    *("/limits/max_consecutive_errors", "/limits/on_limit"),
    *("/yaa/max_context", "/context/enabled", "/context/budget", "/context/summary"),
    *("/yaa/auto_title", "/yaa/output_schema", "/prompt", "/yaa/mode", "/tool"),
)


@cache
def config_schema() -> Json:
    """Return the schema for forms. The same object each time: do not change it."""
    whole = field_types.json_schema(CONFIG, form=True)
    leaves = _leaves(whole, ())
    order = dict.fromkeys(
        leaf
        for first in (*_FIRST, "")
        for leaf in leaves
        if not first or leaf == first or leaf.startswith(f"{first}/")
    )
    return {"$schema": DRAFT_2020, **whole, "x-order": list(order)}


def with_choices(schema: Json, choices: Mapping[str, Collection[str]]) -> Json:
    """Return the schema for the forms of a server that has only these choices, by name of a key."""
    if "properties" not in schema:
        return schema
    inner = {name: with_choices(each, choices) for name, each in schema["properties"].items()}
    for name in choices.keys() & inner.keys():
        there = ("", None, "auto", *choices[name])
        inner[name] = inner[name] | {"enum": [e for e in inner[name]["enum"] if e in there]}
    return {**schema, "properties": inner}


def _leaves(schema: Json, at: tuple[str, ...]) -> list[str]:
    """Return pointers to the keys that are edited as one value, in order."""
    found = []
    for name, inner in schema.get("properties", {}).items():
        if inner.get("properties"):
            found += _leaves(inner, (*at, name))
        elif not inner.get("readOnly"):
            found.append(pointer(*at, name))
    return found


# -- unknown keys ---------------------------------------------------------------------------------
# Find keys of a session's settings that have no effect, mostly misspelt ones. Pure.
#
# Unknown keys are kept. `remarks` reports them in `run.warnings`, each with the nearest known key.

KeyPath = tuple[str, ...]

UNKNOWN_KEY = "config_key_unknown"  # a code of `run.warnings`
MOST_TOLD = 20
MAX_NAME = 100  # characters of a key that are compared and shown
ELSEWHERE = 0.75  # similarity to a key of another section from which it is suggested
LIKELY = 0.85  # the same where unknown names are allowed


def remarks(session: Mapping[str, Any], tools: Collection[str] = ()) -> list[RunWarning]:
    """Return `{code, message, key, nearest}` for each unknown key of `session.config`.

    At most MOST_TOLD. `key` and `nearest` are dotted paths below `config`; `nearest` is None if no
    key is similar. `tools`: names of the server's tools. A rule for an unknown tool is reported
    only if the name resembles one of them, since it may be meant for another server.
    """
    config = session.get("config")
    if not isinstance(config, dict):
        return []
    pages = session.get("tools") or ()
    names = {*tools, *(tool.get("name", "") for tool in pages if isinstance(tool, dict))}
    return list(islice(_unknown(config, config_schema(), (), names), MOST_TOLD))


def _unknown(node: Any, schema: Json, at: KeyPath, tools: Collection[str]) -> Iterator[RunWarning]:
    if not isinstance(node, dict) or schema.get("readOnly") or at == ("prompt",):
        return  # prompts.py checks prompts
    known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    for key, value in node.items():
        if key in known:
            yield from _unknown(value, known[key], (*at, key), tools)
        elif isinstance(others, dict):
            if key not in tools and (near := _near(key, tools, LIKELY)):
                yield _remark((*at, key), (*at, near), "names no tool")
            yield from _unknown(value, others, (*at, key), tools)
        elif others is False:
            yield _remark(
                (*at, key), _similar_key(key, known, at), "is no setting, and does nothing"
            )
        elif near := _near(key, known, LIKELY):
            yield _remark((*at, key), (*at, near), "is sent to the model as it is")


def _similar_key(key: str, known: Collection[str], at: KeyPath) -> KeyPath | None:
    """Return the place of the most similar key, None if there is none.

    In this order: the same name elsewhere, a similar one here, a similar one elsewhere.
    """
    places = _everywhere()
    if key in places:
        return places[key]
    if near := _near(key, known):
        return (*at, near)
    near = _near(key, places, ELSEWHERE)
    return places[near] if near else None


def _near(key: str, known: Collection[str], cutoff: float = 0.6) -> str:
    lowered = {name.lower(): name for name in known}
    found = difflib.get_close_matches(key[:MAX_NAME].lower(), lowered, 1, cutoff)
    return lowered[found[0]] if found else ""


@cache
def _everywhere() -> dict[str, KeyPath]:
    return _places(config_schema(), ())


def _places(schema: Json, at: KeyPath) -> dict[str, KeyPath]:
    """Return name -> place of every key; for a repeated name the outermost, first one."""
    found: dict[str, KeyPath] = {}
    properties = schema.get("properties", {})
    if at == ("prompt",):
        return found  # a section's name does not suggest another place
    for name in properties:
        found[name] = (*at, name)
    for name, inner in properties.items():
        for key, place in _places(inner, (*at, name)).items():
            if key not in found or len(place) < len(found[key]):
                found[key] = place
    return found


def _remark(at: KeyPath, nearest: KeyPath | None, says: str) -> RunWarning:
    key = ".".join(name[:MAX_NAME] for name in at)
    meant = ".".join(nearest) if nearest else None
    advice = f"; did you mean config.{meant}?" if meant else ""
    said = f"config.{key} {says}{advice}"
    return {"code": UNKNOWN_KEY, "message": said, "key": key, "nearest": meant}
