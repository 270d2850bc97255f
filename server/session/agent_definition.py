"""Read agent definitions, and derive a session's tools, policy, provider and limits from them.

agents.py finds the definition of a run; `accept` copies the resolved definition into the session
(`config.agent`), so that any server can continue it. A session can only narrow what its agent
allows, and an agent only what the server allows. Pure.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from fnmatch import translate
from functools import lru_cache
from typing import Any

from ..json_types import AgentDefinition, Json, RunWarning, Session
from ..lib.json_schema.field_types import Misfit
from ..lib.json_schema.objects import object_schema
from ..lib.json_schema.validate import check_schema, validate
from ..lib.strict_json import LARGEST_COUNT, pointer
from .limits import LIMITS, MOST
from .modes import MODES, PLANNING, mode_named
from .prompts import NAMES, remarks

# -- patterns -------------------------------------------------------------------------------------
# Match names and arguments with the shell patterns of fnmatchcase: `*`, `?`, `[ab]`, `[!ab]`.
#
# Patterns and texts come from clients. `fnmatch` compiles a regular expression for each pattern,
# evicts them when there are many, and a match can take time proportional to text length times
# pattern length. Here only patterns with `?` or a set are compiled. Pure.

COMPILING = 3_000  # cost to compile one character of a pattern, in characters compared

_QUOTED = re.compile(r"\[([*?\[])\]")  # a literal `*`, `?` or `[`
_SPECIAL = re.compile(r"[?\[]")


def fits(text: str, pattern: str) -> bool:
    """Return whether the whole text matches a pattern."""
    pieces = _pieces(pattern)
    if pieces is None:
        return _compiled(pattern).match(text) is not None
    first, *rest = pieces
    if not rest:
        return text == first
    last = rest.pop()
    if len(text) < len(first) + len(last) or not text.startswith(first):
        return False
    at, end = len(first), len(text) - len(last)
    for piece in rest:  # leftmost match is enough: only `*` is between pieces
        at = text.find(piece, at, end)
        if at < 0:
            return False
        at += len(piece)
    return text.endswith(last)


def work(text: str, pattern: str) -> int:
    """Return the cost to match a text with a pattern: at most so many characters are compared."""
    if is_compiled(pattern):
        return len(pattern) * (len(text) + COMPILING)
    return len(text) + len(pattern)


def is_compiled(pattern: str) -> bool:
    """Return whether the pattern has a `?` or a set, so that a match costs more."""
    return _pieces(pattern) is None


def matching_names(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Return a predicate whether a name matches any of the patterns, ignoring case."""
    return _names(tuple(patterns))


@lru_cache(maxsize=64)
def _names(patterns: tuple[str, ...]) -> Callable[[str], bool]:
    folded = [pattern.casefold() for pattern in patterns]
    plain = frozenset(each for each in folded if _pieces(each) == [each])
    others = [each for each in folded if each not in plain]

    def fit(name: str) -> bool:
        """Return whether a name matches any of the patterns."""
        name = name.casefold()
        return name in plain or any(fits(name, each) for each in others)

    return fit


@lru_cache(maxsize=1024)
def _pieces(pattern: str) -> list[str] | None:
    """Return the texts between the stars, None if the pattern has `?` or a set."""
    quoted = _QUOTED.split(pattern)  # every second one is a literal special character
    if any(map(_SPECIAL.search, quoted[::2])):
        return None
    pieces = [""]
    for number, text in enumerate(quoted):
        first, *more = [text] if number % 2 else text.split("*")
        pieces[-1] += first
        pieces += more
    return pieces


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(translate(pattern))


# -- agent definition -----------------------------------------------------------------------------

Error = dict[str, str]

MAX_FILE = 1 << 20  # bytes
FILE_NAMED = re.compile(r"@(\S+\.(?:md|txt))")  # the whole text of a prompt that is in a file
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
DEFAULT = ("", "auto")  # other names of the server's default agent
# Tools that the server needs to run a session, whichever tools an agent lists.
MACHINERY = frozenset(("finish", "tool_detail", "context_reload", "context_retain", *PLANNING))
WORDS = ("auto", "ask", "deny")
MAX_NAMED = 20  # places named in one remark
AGENT_NARROWED = "agent_narrowed"  # a code of `run.warnings`
MAX_SETS = 32  # patterns with `?` or a set in an agent's tools: these are compiled
LIKELY = 0.8  # similarity from which a name counts as misspelt

_TEXT = {"type": "string", "maxLength": 200_000}
_LIMIT = {"type": ["number", "null"], "minimum": 0, "maximum": LARGEST_COUNT}
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
        "limits": object_schema(dict.fromkeys(LIMITS, _LIMIT), closed=True),
        "prompt": object_schema(dict.fromkeys(NAMES, _TEXT), closed=True),
        "output_schema": {"type": "object"},
        "require_finish_tool": {"type": "boolean"},
    },
    "additionalProperties": False,
}


def read(name: str, value: Any) -> tuple[AgentDefinition, list[Error]]:
    """Return (definition with aliases replaced, errors); ({}, errors) if it is invalid.

    Each error is {"pointer", "detail"}. Idempotent: `read` of a returned definition returns the
    same.
    """
    if not NAME.fullmatch(name):
        said = "an agent's name has 1 to 64 of A-Z, a-z, 0-9, _ and -, one of the first three first"
        return {}, [Misfit((), said).error()]
    if not isinstance(value, dict):
        return {}, [Misfit((), "expected an object with the keys of an agent").error()]
    found: Any = _replace_aliases(value)
    errors = [each.error() for each in validate(found, SCHEMA)]
    if not errors and (wrong := check_schema(found.get("output_schema", True))):
        errors = [Misfit(("output_schema",), str(wrong[0])).error()]
    if not errors and sum(map(is_compiled, found.get("tools", ()))) > MAX_SETS:
        errors = [Misfit(("tools",), f"expected at most {MAX_SETS} with ? or [").error()]
    if errors:
        return {}, errors
    found["name"] = name
    mode = mode_named(found.get("mode", ""))
    limits = found.get("limits", {})
    if mode and mode.rounds and "max_steps" not in limits:
        found["limits"] = {**limits, "max_steps": mode.rounds}
    return found, []


def narrow_definition(
    brought: AgentDefinition, limits: Mapping[str, Any]
) -> tuple[AgentDefinition, list[str]]:
    """Return a definition without permissions beyond the server's, and the places of those.

    For a definition that a session brings along. `limits` are the server's defaults. Places are
    such as `policy.<tool>` and `limits.<name>`; the list is empty if nothing was left out.
    """
    policy, own = brought.get("policy", {}), brought.get("limits", {})
    asked = {tool: word for tool, word in policy.items() if word != "auto"}
    kept: Any = {name: value for name, value in own.items() if not _above(value, limits.get(name))}
    left_out = [f"policy.{tool}" for tool in policy if tool not in asked]
    left_out += [f"limits.{name}" for name in own if name not in kept]
    if not left_out:
        return brought, []
    return {**brought, "policy": asked, "limits": kept}, left_out


def left_out_remark(name: str, left_out: list[str]) -> RunWarning:
    """Return the entry of `run.warnings` for the places that `narrow_definition` left out."""
    places = [place[:200] for place in left_out[:MAX_NAMED]]
    message = (
        f"The agent {name} comes with this session and is not one of this server's, so it cannot"
        f" allow more than the server does. Left out: {', '.join(places)}."
    )
    return {"code": AGENT_NARROWED, "agent": name, "left_out": places, "message": message}


def _above(value: Any, most: Any) -> bool:
    """Return whether a limit allows more than another; None is no limit."""
    return most is not None and (value is None or value > most)


def files_named(definition: Any) -> Iterator[tuple[dict[str, Any], str, str]]:
    """Yield (object with the prompt, its key, file name) for each prompt that names a file."""
    if not isinstance(definition, dict):
        return
    prompts = definition.get("prompt")
    places = [(definition, key) for key in ("systemPrompt", "system_prompt")]
    places += [(prompts, key) for key in prompts] if isinstance(prompts, dict) else []
    for place, key in places:
        text = place.get(key)
        if isinstance(text, str) and (match := FILE_NAMED.fullmatch(text)):
            yield place, key, match[1]


def warnings(definition: AgentDefinition) -> list[str]:
    """Return messages about valid templates that are probably wrong."""
    texts = {**definition.get("prompt", {}), "systemPrompt": definition.get("systemPrompt", "")}
    return [remark["message"] for remark in remarks(texts)]


def unmatched_names(
    names: Iterable[str], tools: Collection[str], *, exact: bool = False
) -> Iterator[str]:
    """Yield a message for each name that matches no tool; `*` matches anything.

    With `exact`, a plain name must equal a tool's name, and is reported only if it looks misspelt:
    client tools may have such names. Patterns are always reported.
    """
    for name in names:
        plain = exact and "*" not in name
        if name in tools or (not exact and matches(name, tools)):
            continue
        near = difflib.get_close_matches(name, tools, 1, LIKELY if plain else 0.6)
        if near or not plain:
            hint = f"; did you mean {near[0]!r}?" if near else ""
            yield f"there is no tool {name!r}{hint}"


def unknown_tools(definition: AgentDefinition, tools: Collection[str]) -> list[str]:
    """Return messages about names in `tools` and `policy` that match no tool."""
    listed = unmatched_names(definition.get("tools", ()), tools)
    policy = unmatched_names(definition.get("policy", {}), tools, exact=True)
    places = ((pointer("tools"), listed), (pointer("policy"), policy))
    return [f"{place}: {text}" for place, texts in places for text in texts]


def matches(pattern: str, tools: Iterable[str]) -> bool:
    """Return whether a pattern matches any of the tools, ignoring case."""
    return any(map(matching_names((pattern,)), tools))


def definition_of(session: Mapping[str, Any]) -> AgentDefinition:
    """Return the definition in the session, {} if it has none yet."""
    found: AgentDefinition | None = session.get("config", {}).get("agent")
    return found or {}


def names(definition: AgentDefinition, tool: str) -> bool:
    """Return whether an agent lists this tool by its name, not only by a pattern."""
    return any(each.casefold() == tool for each in definition.get("tools") or ())


def policy_word(session: Mapping[str, Any], tool: str, *, page: bool) -> str:
    """Return the agent's policy for a tool: auto, ask, deny, or "" for none.

    `page`: it is a client tool. Agents do not list those.
    """
    definition = definition_of(session)
    listed = definition.get("tools")
    if listed is not None and not page and tool not in MACHINERY:
        if not matching_names(listed)(tool):
            return "deny"
    return str(definition.get("policy", {}).get(tool, ""))


def wants_finish(session: Session) -> bool:
    """Return whether a run of this session can end only by a call of `finish`."""
    strict = session["config"]["yaa"].get("require_finish_tool")
    return bool(strict or definition_of(session).get("require_finish_tool"))


def lists_finish(session: Session) -> bool:
    """Return whether the session's agent offers `finish`; true if it lists no tools."""
    listed = definition_of(session).get("tools")
    return listed is None or "finish" in listed


def provider(definition: AgentDefinition, own: Any, default: Any) -> Any:
    """Return the provider to resolve.

    It is the session's own if it names one, else its agent's, else the default; they are never
    mixed.
    """
    names_none = isinstance(own, Mapping) and not any(
        value for key, value in own.items() if (key, value) != ("name", "auto")
    )
    if own is not None and not names_none:
        return own
    chosen = {"name": definition.get("provider") or "auto"}
    if definition.get("model"):
        chosen["model_name"] = definition["model"]
    return chosen if "provider" in definition or "model" in definition else own or default


def limits(definition: AgentDefinition, defaults: Mapping[str, Any], mode: str = "") -> Json:
    """Return the limits for a session of this agent.

    `mode`: the session's own choice, "" for none.
    """
    chosen = mode_named(mode)
    rounds = {"max_steps": chosen.rounds} if chosen and chosen.rounds else {}
    return {**defaults, **rounds, **definition.get("limits", {})}


def _replace_aliases(value: dict[str, Any]) -> Json:
    """Replace aliases of keys, and join a prompt that is a list of lines."""
    found = dict(value)
    if "providerType" in found:  # an alias; its values may be upper case
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
