"""An agent definition: what one may say, and what it means for a session. Pure.

In the walk: server/agents reads the files, intake copies the resolved definition into the session
(`config.agent`), so that any server can go on with it. From then on it is asked here: which tools,
which policy, which limits. A session only narrows what its agent allows, and an agent only what
the server does.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from ..schema.validate import check_schema, validate
from . import patterns
from .fields import LIMITS, MOST
from .modes import MODES, PLANNING, mode_named
from .prompts import NAMES, remarks

Session = dict[str, Any]
Definition = dict[str, Any]
Misfit = dict[str, str]

MAX_FILE = 1 << 20  # bytes
FILE_NAMED = re.compile(r"@(\S+\.(?:md|txt))")  # a prompt that is nothing but this
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
DEFAULT = ("", "auto")  # what else the server's default agent may be called
# What the server itself needs to keep a conversation going, whatever tools an agent lists.
MACHINERY = frozenset(("finish", "tool_detail", "context_reload", "context_retain", *PLANNING))
WORDS = ("auto", "ask", "deny")
MAX_NAMED = 20  # places that one remark names
AGENT_NARROWED = "agent_narrowed"  # a code of `run.warnings`
MAX_SETS = 32  # patterns with a `?` or a set among an agent's tools: these are compiled
LIKELY = 0.8  # so much alike are two names of which one is misspelt

_TEXT = {"type": "string", "maxLength": 200_000}
_LIMIT = {"type": ["number", "null"], "minimum": 0, "maximum": 2**53 - 1}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "description": _TEXT,
        "provider": {"type": "string", "maxLength": 200},
        "model": {"type": "string", "maxLength": 200},
        "systemPrompt": _TEXT,
        "mode": {"enum": list(MODES)},
        "tools": {
            "type": "array",
            "items": {"type": "string", "minLength": 1, "maxLength": 128},
            "maxItems": MOST["config/agent/tools"],
        },
        "policy": {"type": "object", "additionalProperties": {"enum": list(WORDS)}},
        "limits": {
            "type": "object",
            "properties": dict.fromkeys(LIMITS, _LIMIT),
            "additionalProperties": False,
        },
        "prompt": {
            "type": "object",
            "properties": dict.fromkeys(NAMES, _TEXT),
            "additionalProperties": False,
        },
        "output_schema": {"type": "object"},
        "require_finish_tool": {"type": "boolean"},
    },
    "additionalProperties": False,
}


def read(name: str, value: Any) -> tuple[Definition, list[Misfit]]:
    """(the definition in our spelling, what is wrong with it by its place). Reading what this has
    given changes nothing."""
    if not NAME.fullmatch(name):
        said = "an agent's name has 1 to 64 letters a-z, digits, _ or -, a letter or digit first"
        return {}, [{"pointer": "", "detail": said}]
    if not isinstance(value, dict):
        return {}, [{"pointer": "", "detail": "expected an object with the keys of an agent"}]
    found = _spelled(value)
    misfits = [{"pointer": e.pointer, "detail": e.message} for e in validate(found, SCHEMA)]
    if not misfits and (wrong := check_schema(found.get("output_schema", True))):
        misfits = [{"pointer": "/output_schema", "detail": str(wrong[0])}]
    if not misfits and sum(map(patterns.is_compiled, found.get("tools", ()))) > MAX_SETS:
        misfits = [{"pointer": "/tools", "detail": f"expected at most {MAX_SETS} with ? or ["}]
    if misfits:
        return {}, misfits
    found["name"] = name
    mode = mode_named(found.get("mode", ""))
    limits = found.get("limits", {})
    if mode and mode.rounds and "max_steps" not in limits:
        found["limits"] = {**limits, "max_steps": mode.rounds}
    return found, []


def narrowed(brought: Definition, limits: Mapping[str, Any]) -> tuple[Definition, list[str]]:
    """Return a definition that a session brings along without what would allow more than the server
    allows by itself, and the places of what was left out. `limits` are the server's defaults."""
    policy, own = brought.get("policy", {}), brought.get("limits", {})
    asked = {tool: word for tool, word in policy.items() if word != "auto"}
    kept = {name: value for name, value in own.items() if not _above(value, limits.get(name))}
    left_out = [f"policy.{tool}" for tool in policy if tool not in asked]
    left_out += [f"limits.{name}" for name in own if name not in kept]
    if not left_out:
        return brought, []
    return {**brought, "policy": asked, "limits": kept}, left_out


def left_out_remark(name: str, left_out: list[str]) -> dict[str, Any]:
    """Return the entry of `run.warnings` about what `narrowed` has left out."""
    places = [place[:200] for place in left_out[:MAX_NAMED]]
    message = (
        f"The agent {name} comes with this session and is not one of this server's, so it cannot"
        f" allow more than the server does. Left out: {', '.join(places)}."
    )
    return {"code": AGENT_NARROWED, "agent": name, "left_out": places, "message": message}


def _above(value: Any, most: Any) -> bool:
    """Whether a limit allows more than another; None is no limit."""
    return most is not None and (value is None or value > most)


def files_named(definition: Any) -> Iterator[tuple[dict[str, Any], str, str]]:
    """The prompts of a definition that name a file: (where the prompt is, its key, the file)."""
    if not isinstance(definition, dict):
        return
    prompts = definition.get("prompt")
    places = [(definition, key) for key in ("systemPrompt", "system_prompt")]
    places += [(prompts, key) for key in prompts] if isinstance(prompts, dict) else []
    for place, key in places:
        text = place.get(key)
        if isinstance(text, str) and (match := FILE_NAMED.fullmatch(text)):
            yield place, key, match[1]


def warnings(definition: Definition) -> list[str]:
    """What is no mistake, but hardly meant."""
    texts = {**definition.get("prompt", {}), "systemPrompt": definition.get("systemPrompt", "")}
    return [remark["message"] for remark in remarks(texts)]


def unmatched(
    names: Iterable[str], tools: Collection[str], *, exact: bool = False
) -> Iterator[str]:
    """What to say of names that no tool has; `*` stands for anything. `exact`: it does not, and a
    page may have tools of such names, so only patterns and what looks misspelt are told."""
    for name in names:
        plain = exact and "*" not in name
        if name in tools or (not exact and matches(name, tools)):
            continue
        near = difflib.get_close_matches(name, tools, 1, LIKELY if plain else 0.6)
        if near or not plain:
            hint = f"; did you mean {near[0]!r}?" if near else ""
            yield f"there is no tool {name!r}{hint}"


def unknown_tools(definition: Definition, tools: Collection[str]) -> list[str]:
    """Names in its `tools` and its `policy` that are hardly meant, since no tool has them."""
    listed = unmatched(definition.get("tools", ()), tools)
    policy = unmatched(definition.get("policy", {}), tools, exact=True)
    return [*(f"/tools: {text}" for text in listed), *(f"/policy: {text}" for text in policy)]


def matches(pattern: str, tools: Iterable[str]) -> bool:
    return any(map(patterns.names((pattern,)), tools))


def of(session: Session) -> Definition:
    """The definition this session's run goes by; empty for one that never ran."""
    found: Definition = session.get("config", {}).get("agent") or {}
    return found


def names(definition: Definition, tool: str) -> bool:
    """Whether an agent lists this tool by its name, and not by a pattern."""
    return any(each.casefold() == tool for each in definition.get("tools") or ())


def word(session: Session, tool: str, *, page: bool) -> str:
    """What the agent says of a tool: auto, ask, deny, or nothing. `page`: it is one of the page's,
    which come and go with the page and are not listed by anybody."""
    definition = of(session)
    listed = definition.get("tools")
    if listed is not None and not page and tool not in MACHINERY:
        if not patterns.names(listed)(tool):
            return "deny"
    return str(definition.get("policy", {}).get(tool, ""))


def wants_finish(session: Session) -> bool:
    """Whether a run of this session ends by `finish` and by nothing else."""
    strict = session["config"]["yaa"].get("require_finish_tool")
    return bool(strict or of(session).get("require_finish_tool"))


def lists_finish(session: Session) -> bool:
    listed = of(session).get("tools")
    return listed is None or "finish" in listed


def provider(definition: Definition, own: Any, default: Any) -> Any:
    """The provider to resolve: the session's own where it names anything, else its agent's, else
    the server's default. One unit each, never mixed."""
    names_none = isinstance(own, Mapping) and not any(
        value for key, value in own.items() if (key, value) != ("name", "auto")
    )
    if own is not None and not names_none:
        return own
    chosen = {"name": definition.get("provider") or "auto"}
    if definition.get("model"):
        chosen["model_name"] = definition["model"]
    return chosen if "provider" in definition or "model" in definition else own or default


def limits(definition: Definition, defaults: Mapping[str, Any], mode: str = "") -> dict[str, Any]:
    """The limits that are filled into a session of this agent. `mode`: the session's own choice."""
    chosen = mode_named(mode)
    rounds = {"max_steps": chosen.rounds} if chosen and chosen.rounds else {}
    return {**defaults, **rounds, **definition.get("limits", {})}


def _spelled(value: dict[str, Any]) -> Definition:
    """Seed 001's spellings as ours, and a prompt of several lines as one text."""
    found = dict(value)
    if "providerType" in found:  # an enum there, and a name in a configuration here
        kind = found.pop("providerType")
        found.setdefault("provider", kind.lower() if isinstance(kind, str) else kind)
    prompt = found.pop("system_prompt", None)
    prompt = found.pop("systemPrompt", prompt)
    if isinstance(prompt, list) and all(isinstance(line, str) for line in prompt):
        prompt = "\n".join(prompt)
    if prompt is not None:
        found["systemPrompt"] = prompt
    mode = found.get("mode")
    if isinstance(mode, str) and (known := mode_named(mode)):
        found["mode"] = known.name
    return found
