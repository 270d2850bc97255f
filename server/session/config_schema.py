"""The JSON Schema of `session.config`: the type, title and description of each key.

Sent by `GET /info` (`config_schema`), from which clients make forms, and used to
find unknown keys. `x-order` lists the keys as JSON pointers, the most often changed first. Only
schema.py refuses values; a test checks that both agree.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from itertools import islice
from typing import Any

from ..schema.compile import DRAFT_2020
from ..types import Json, RunWarning
from . import prompts, schema
from .modes import MODES
from .schema import STRATEGIES

MOST_NUMBER = 2**53 - 1
_NONE = "null is none."


def _key(title: str, about: str, **more: Any) -> Json:
    return {"title": title, "description": about, **more}


def _text(title: str, about: str, **more: Any) -> Json:
    return _key(title, about, type="string", **more)


def _flag(title: str, about: str) -> Json:
    return _key(title, about, type="boolean")


def _count(title: str, about: str, *, least: int = 0, none: bool = False, **more: Any) -> Json:
    kind: Any = ["integer", "null"] if none else "integer"
    return _key(title, about, type=kind, minimum=least, **{"maximum": MOST_NUMBER, **more})


def _number(title: str, about: str, *, none: bool = False, **more: Any) -> Json:
    kind: Any = ["number", "null"] if none else "number"
    return _key(title, about, type=kind, minimum=0, **{"maximum": MOST_NUMBER, **more})


def _choice(title: str, about: str, names: tuple[str, ...]) -> Json:
    return _key(title, about, type="string", enum=list(names))


def _object(title: str, about: str, /, is_open: Any = False, **properties: Any) -> Json:
    """Return the schema of an object. `is_open`: unknown members are allowed and have a meaning."""
    members = {"properties": properties, "additionalProperties": is_open}
    return _key(title, about, type="object", **members)


_MODEL_SETTINGS = _object(
    "Model settings",
    "Further members of the request to the model. Any field of the vendor's may be added.",
    is_open=True,
    use_custom_temp=_flag("Use the temperature below", "Without it none is sent."),
    temperature=_number(
        "Temperature", "How freely the model chooses its words; 0 is least.", maximum=2
    ),
    top_p=_number("Top P", "Choose among the likeliest words of this share.", maximum=1),
    top_k=_count("Top K", "Choose among so many of the likeliest words."),
    min_p=_number("Min P", "Leave out words less likely than this share of the best.", maximum=1),
    presence_penalty=_key("Presence penalty", "New subjects.", type="number"),
    frequency_penalty=_key("Frequency penalty", "Fewer repetitions.", type="number"),
    seed=_key("Seed", "The same number gives similar answers.", type=["integer", "null"]),
    stop=_key("Stop", "Texts at which the answer ends.", type=["string", "array", "null"]),
    reasoning_effort=_text("Reasoning effort", "As the vendor calls it: low, medium, high."),
    parallel_tool_calls=_flag("Several calls at once", "Whether one answer may make several."),
)
_PROVIDER = _object(
    "Provider",
    "Which model answers: one of the server's by name, or one of your own with address and key.",
    name=_text("Provider of the server", "Its name; auto is the server's default."),
    api_url=_text("Address", "Of your own provider: its base or full address.", format="uri"),
    api_key=_key(
        "Key",
        "For that address. It is stored in the session, and sent nowhere else.",
        type=["string", "null"],
        format="password",
    ),
    model_name=_key("Model", "Empty: the provider's default.", type=["string", "null"]),
    preset=_text("Vendor", "Of your own provider: openai, anthropic, deepseek, ollama, …"),
    api=_choice(
        "API", "Which one your own provider speaks.", ("", "chat", "responses", "messages")
    ),
    model_type=_object(
        "Kind of model",
        "What the model can do.",
        is_function_call=_flag("Calls functions", "Off: tools are described in words."),
        is_reasoning=_flag("Thinks first", "A reasoning model, which takes no temperature."),
    ),
    model_settings=_MODEL_SETTINGS | {"title": "Settings of this provider"},
    max_tokens=_number("Longest answer", f"Tokens. {_NONE}", none=True),
    max_context=_number(
        "Window", f"Tokens of a request that the model can read. {_NONE}", none=True
    ),
    tool_mode=_choice("How tools are called", "Of your own provider.", schema.TOOL_MODES),
    cost_per_ktoken=_number("Price", "Of 1,000 tokens of your own provider.", none=True),
    cost_unit=_key("Currency", "Of the price, such as CNY.", type=["string", "null"]),
    costs=_object(
        "Prices",
        "Of 1,000 tokens of each kind, instead of one price.",
        input=_number("Read", "Tokens of a request."),
        output=_number("Written", "Tokens of an answer."),
        cached=_number("Read from the cache", "Tokens that the provider had kept."),
        cache_write=_number("Written to the cache", "Tokens that the provider keeps."),
        total=_number("Any", "Tokens of every kind."),
    ),
    extra_body=_object(
        "Members of the request", "They replace all others of their name.", is_open=True
    ),
)
_YAA = _object(
    "Agent",
    "How the agent works and answers.",
    language=_key(
        "Answer language", "In words, such as 中文 or French. Empty: any.", type=["string", "null"]
    ),
    auto_title=_flag("Title by the model", "One extra model call names the session."),
    mode=_key(
        "Mode",
        "How tools are used. Empty: as the agent says.",
        type=["string", "null"],
        examples=list(MODES),
    ),
    output_schema=_key(
        "Structure of the answer", "A JSON Schema. " + _NONE, type=["object", "null"]
    ),
    max_context=_number(
        "Longest request", f"Tokens, if that is less than the model's window. {_NONE}", none=True
    ),
    stream=_flag("Stream", "Answer with events, where the request leaves the choice."),
    unattended=_flag("Nobody is there", "Tools that would ask are not run."),
    tool_mode=_choice("How tools are called", "auto: as the model can.", schema.TOOL_MODES),
    require_finish_tool=_flag("Finish by a tool", "Only the finish tool completes the session."),
    tool_detail=_flag("Tools in brief", "One line for each tool; the model asks for more."),
    result_schema=_flag("Say what tools return", "In the description of each."),
    progress_hint=_flag("Count the steps", "Tell the model how many are left."),
    reply=_choice("Reply", "full: the session; delta: what this run added.", schema.REPLIES),
)
_LLM_API = _object(
    "Model",
    "Which model is called, and how.",
    provider=_PROVIDER,
    model_settings=_MODEL_SETTINGS,
    max_tokens=_count("Longest answer", f"Tokens. {_NONE}", none=True),
    retry=_object(
        "Retry",
        "When a call of the model fails before its answer began.",
        times=_count("Times", "Extra attempts.", maximum=schema.MAX_RETRIES),
        delay=_number(
            "Pause", "Seconds before the first; doubled each time.", maximum=schema.MAX_PAUSE_S
        ),
    ),
    request_timeout=_number("Time for an answer", "Seconds, all attempts together."),
    first_byte_timeout=_number("Time until it begins", "Seconds."),
    idle_timeout=_number("Time between two parts", "Seconds."),
    interval=_number(
        "Interval",
        "Least seconds between two calls of this session.",
        maximum=schema.MAX_PAUSE_S,
    ),
    stream=_flag("Stream", "Let the model stream."),
    tool_choice=_key(
        "Tool that must be called",
        "Its name, required, auto or none. null is the model's choice.",
        type=["string", "null"],
    ),
)
_LIMITS = _object(
    "Limits",
    "What one message of the user may use. The server's are never exceeded.",
    max_steps=_number("Steps", f"Model calls. {_NONE}", none=True),
    max_wall_s=_number(
        "Time", f"Seconds, without those in which you are asked. {_NONE}", none=True
    ),
    max_tokens=_number("Tokens", f"Of all model calls together. {_NONE}", none=True),
    max_cost_micro=_number("Cost", f"Millionths of the provider's unit. {_NONE}", none=True),
    max_consecutive_errors=_number(
        "Errors in a row", f"Calls that name no tool or have bad arguments. {_NONE}", none=True
    ),
    on_limit=_choice(
        "At a limit", "summarize: the model says how far it came; stop: nothing.", schema.ON_LIMIT
    ),
    tool=_object(
        "Of one tool call",
        "What a call of a tool may use.",
        wall_s=_number("Time", "Seconds."),
        cpu_s=_number("Computing time", "Seconds."),
        memory_mb=_number("Memory", "MB."),
        file_mb=_number("Largest file", "MB."),
        disk_mb=_number("Disk", "MB, of the whole workspace."),
        output_kb=_number("Output", "KB."),
        processes=_number("Processes", "At one time."),
        open_files=_number("Open files", "At one time."),
    ),
)
_CONTEXT = _object(
    "Context",
    "How the model's view of a long session is made smaller.",
    enabled=_flag("Make it smaller", "When it gets long."),
    budget=_count("Budget", "Tokens of a request at most, whatever the window.", least=1),
    trigger_ratio=_number("Begins at", "Share of the window.", maximum=1),
    target_ratio=_number("Ends at", "Share of that.", maximum=1),
    max_messages=_count("Begins at messages", f"At so many. {_NONE}", none=True),
    keep_turns=_count("Turns to keep", "Their results stay, and they are summed up last."),
    keep_messages=_count("Messages to keep", "They are shortened last."),
    large_chars=_count("A large message", "Has so many characters."),
    preview_chars=_count("Preview", "Characters that stay at its beginning and its end."),
    ingest_tokens=_count(
        "Largest whole result", "Tokens. null is a tenth of the budget.", none=True
    ),
    min_saving=_number("Least saving", "Share; a pass that saves less is not made.", maximum=1),
    window_runs=_count("Last runs only", f"Send so many. {_NONE}", none=True),
    summary=_choice("Summaries", "extract: made of sentences; llm: by a model.", schema.SUMMARIES),
    summary_ratio=_number("Length of a summary", "Share of what it stands for.", maximum=1),
    summary_timeout_s=_number("Time for a summary", "Seconds."),
    strategies=_key(
        "Strategies",
        "Which may be used.",
        type="array",
        items={"type": "string", "enum": list(STRATEGIES)},
    ),
    exempt_tools=_key(
        "Tools whose results stay whole", "By name.", type="array", items={"type": "string"}
    ),
    retain_tool=_flag("Let the model choose", "Offer it a tool that keeps messages."),
)
_TOOL = _key(
    "Tools",
    "Rules of this session for single tools, by name.",
    type="object",
    additionalProperties=_object(
        "Tool",
        "A tool's rules.",
        auto_approve=_flag("Run without asking", "As far as the server allows."),
        deny=_flag("Never run", "In this session."),
        network=_choice("Network", "Only less than the server allows.", ("off", "proxy", "full")),
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
    """Return the schema. The same object each time: do not change it."""
    sections = {
        "llm_api": _LLM_API,
        "yaa": _YAA,
        "limits": _LIMITS,
        "context": _CONTEXT,
        "prompt": _prompt(),
        "tool": _TOOL,
        "agent": _key(
            "Agent of the session",
            "A copy of its definition, which the server fills in.",
            type="object",
            readOnly=True,
        ),
    }
    whole = _object("Settings of a session", "session.config", **sections)
    order = dict.fromkeys(
        pointer
        for first in (*_FIRST, "")
        for pointer in _leaves(whole, "")
        if not first or pointer == first or pointer.startswith(f"{first}/")
    )
    return {"$schema": DRAFT_2020, **whole, "x-order": list(order)}


def _prompt() -> Json:
    """Return the schema of `prompt`: sections with default template and allowed placeholders."""
    sections = {
        name: _text(
            name,
            about,
            default=prompts.default(name),
            **{"x-placeholders": list(prompts.named(name))},
        )
        for name, about in prompts.ABOUT.items()
    }
    about = "Sections of the system prompt; those that stand here replace the default."
    return _object("Prompt", about, **sections)


def _leaves(schema: Json, at: str) -> list[str]:
    """Return pointers to the keys that are edited as one value, in order."""
    found = []
    for name, inner in schema.get("properties", {}).items():
        if inner.get("properties"):
            found += _leaves(inner, f"{at}/{name}")
        elif not inner.get("readOnly"):
            found.append(f"{at}/{name}")
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
ALIASES = frozenset(("use_costum_temp",))  # a known misspelling of use_custom_temp


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
            yield _remark((*at, key), _meant(key, known, at), "is no setting, and does nothing")
        elif key not in ALIASES and (near := _near(key, known, LIKELY)):
            yield _remark((*at, key), (*at, near), "is sent to the model as it is")


def _meant(key: str, known: Collection[str], at: KeyPath) -> KeyPath | None:
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
