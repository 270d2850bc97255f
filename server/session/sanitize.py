"""Remove from a session document of another origin everything that could permit something. Pure.

An allow-list: a key that is not named here, or a setting that is not marked in config_schema.py,
is removed. Messages, results, titles and branches stay; approvals, policies, agents, providers,
hidden instructions and limits above the defaults are removed. The web page has the same function
(client/js/core/sanitize.js), and there its lists are made from these; tests/vectors/foreign.json
tests both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..json_types import Json
from ..lib.json_schema.field_types import ANY
from ..lib.sandbox.network_policy import NETWORKS
from ..lib.strict_json import as_list, as_object, objects_in, pointer
from .agent_definition import DEFAULT
from .config_schema import CONFIG, FOREIGN
from .limits import BEYOND_RULES
from .schema import SESSION

Place = tuple[str | int, ...]

# Top-level keys that are kept as they are. All others are kept in part or removed.
TOP = (
    *("id", "title", "start_time", "startTime", "version", "rev"),
    *("again", "messages", "plan", "output", "usage"),
)
MAX_LANGUAGE = 40  # characters; a longer text may be an instruction
RUN = ("id", "message", "started_at", "step", "tokens", "cost_micro", "wall_ms")
CONTEXT = ("ops", "events")
# A folder of the owner is a permission. What is kept is marked `foreign`: the server asks before
# it replaces files by a tree that the document names (agent/workspace_steps.py).
WORKSPACE = ("tree", "message", "start")
STATE = ("plan", "output")  # of a branch's state; the rest as in `_path`
EXT = ("forked_from", "pinned", "tags")
BRANCH = ("id", "at", "name", "favourite", "fresh")
ACTIVE = ("id", "name", "favourite", "fresh")
ENDED = ("done", "failed", "denied", "skipped")
BEGUN = ("started", "done", "failed", "indeterminate")


def sanitize(document: Json, defaults: Mapping[str, Any]) -> tuple[Json, list[Json]]:
    """Return the sanitized document and the list of removed items.

    `defaults` is the session half of the configuration. Each item is `{kind, path, value?}`, `path`
    being a JSON pointer into the document. What the server fills in or asks again anyway is not
    listed. The document is not changed; the copy shares its messages.
    """
    removed: list[Json] = []
    found = {key: value for key, value in document.items() if key in TOP}
    _instructions(document.get("character"), ("character",), defaults.get("character"), removed)
    _agent(document, defaults, removed)
    config = _config(document, as_object(defaults.get("config")), removed)
    if config:
        found["config"] = config
    tools = objects_in(document.get("tools"))
    if tools:
        removed.append(_item("tools", ("tools",), [tool.get("name") for tool in tools]))
    facts = [text for text in as_list(document.get("environment")) if isinstance(text, str)]
    _instructions("\n".join(facts), ("environment",), "", removed)
    if grants := _grants(document.get("grants"), ("grants",), removed):
        found["grants"] = grants
    for name, entry in as_object(as_object(document.get("skills")).get("used")).items():
        text = as_object(entry).get("text")
        _instructions(text, ("skills", "used", name, "text"), "", removed)
    answered = {call for messages in _paths(document) for call in _results(messages)}
    if calls := _calls(document.get("calls"), ("calls",), answered, removed):
        found["calls"] = calls
    found |= _path(document, (), _waits(document.get("messages")), removed)
    if ext := _ext(document, removed):
        found["ext"] = ext
    workspace = as_object(document.get("workspace"))
    stand = _only(workspace, WORKSPACE)
    if stand or any(map(_names_tree, _paths(document))):
        found["workspace"] = {**stand, "foreign": True}
    if "folder" in workspace:
        removed.append(_item("unknown", ("workspace", "folder")))
    unknown = [key for key in document if key not in SESSION.fields]
    removed += [_item("unknown", (key,)) for key in unknown]
    return found, removed


# -- settings of a run ----------------------------------------------------------------------------


def _instructions(text: Any, place: Place, default: Any, removed: list[Json]) -> None:
    if isinstance(text, str) and text and text != default:
        removed.append(_item("instructions", place, text))


def _agent(document: Json, defaults: Mapping[str, Any], removed: list[Json]) -> None:
    """Remove the agent.

    Even its name is a permission: one of the owner's agents may need no approvals.
    """
    name = document.get("agent")
    if not isinstance(name, str) or name in (*DEFAULT, defaults.get("agent")):
        return
    value: Json = {"name": name}
    definition = as_object(as_object(document.get("config")).get("agent"))
    policy = as_object(definition.get("policy"))
    if definition.get("name") == name:
        kept = {tool: word for tool, word in policy.items() if word in ("ask", "deny")}
        value["definition"] = {**definition, **({"policy": kept} if "policy" in definition else {})}
    removed.append(_item("agent", ("agent",), value))
    if "definition" in value:
        for tool, word in policy.items():
            if word not in ("ask", "deny"):
                removed.append(_item("agent_policy", ("config", "agent", "policy", tool), word))


def _config(document: Json, defaults: Json, removed: list[Json]) -> Json:
    found: Json = {}
    config = as_object(document.get("config"))
    own = as_object(as_object(document.get("ext")).get("limits"))
    if own:  # limits set for this session alone take precedence
        config = {**config, "limits": {**as_object(config.get("limits")), **own}}
    for name, section in config.items():
        if name == "agent":
            continue
        if name == "tool":
            kept = _tools(section, ("config", "tool"), removed)
        elif name == "prompt":
            kept = {}
            for key, text in as_object(section).items():
                _instructions(text, ("config", "prompt", key), "", removed)
        elif name in CONFIG.fields:
            kept = _section(name, as_object(section), as_object(defaults.get(name)), removed)
        else:
            kept = {}
            removed.append(_item("unknown", ("config", name)))
        if kept:
            found[name] = kept
    if as_object(defaults.get("yaa")).get("ask") in BEYOND_RULES:  # which this session would get
        found["yaa"] = {"ask": "by_rules", **found.get("yaa", {})}
    return found


def _section(name: str, section: Json, defaults: Json, removed: list[Json]) -> Json:
    found: Json = {}
    for key, value in section.items():
        place = ("config", name, key)
        kind = CONFIG.fields[name].fields.get(key, ANY)
        keeps = kind.form.get(FOREIGN)
        if keeps == "keep":
            found[key] = value
        elif keeps == "at_most" and not kind.fields:
            if _fits(value, key, defaults):
                found[key] = value
            else:
                removed.append(_item("limit", place, value))
        elif keeps == "at_most":
            most = as_object(defaults.get(key))
            inner = as_object(value)
            if kept := {one: number for one, number in inner.items() if _fits(number, one, most)}:
                found[key] = kept
            over = [(one, number) for one, number in inner.items() if one not in kept]
            removed += [_item("limit", (*place, one), number) for one, number in over]
        elif key == "language" and isinstance(value, str) and len(value) <= MAX_LANGUAGE:
            found[key] = value
        elif key == "ask" and value == "every_call":  # it only narrows
            found[key] = value
        else:
            removed += _other(place, key, value)
    return found


def _other(place: Place, key: str, value: Any) -> list[Json]:
    """Return the items for a setting that is removed, [] if it needs no mention."""
    if key == "language":
        return [_item("instructions", place, value)] if isinstance(value, str) else []
    if key == "ask":
        return [_item("ask", place, value)] if value in BEYOND_RULES else []
    if key == "unattended":
        return [_item("unattended", place, True)] if value is True else []
    if key == "provider":
        shown = {name: one for name, one in as_object(value).items() if name != "api_key"}
        named = any((name, one) != ("name", "auto") for name, one in as_object(value).items())
        return [_item("provider", place, shown)] if named else []
    if key in ("model_settings", "tool_choice"):
        return [_item(key, place, value)] if value else []
    return [_item("unknown", place)]


def _fits(value: Any, key: str, defaults: Json) -> bool:
    """Return whether a limit permits no more than the default; None is no limit."""
    if key not in defaults:
        return False
    most = defaults[key]
    if most is None:
        return value is None or _number(value)
    return _number(value) and _number(most) and value <= most


def _tools(section: Any, place: Place, removed: list[Json]) -> Json:
    """Return the settings of tools that only narrow."""
    found: Json = {}
    for name, tool in as_object(section).items():
        kept: Json = {}
        over: Json = {}
        for key, value in as_object(tool).items():
            if (key == "deny" and value is True) or (key == "network" and value in NETWORKS):
                kept[key] = value
            elif not (key in ("deny", "auto_approve") and value is False):
                over[key] = value
        if kept:
            found[name] = kept
        if over:
            removed.append(_item("tool", (*place, name), over))
    return found


def _grants(grants: Any, place: Place, removed: list[Json]) -> list[Json]:
    """Return the grants that deny."""
    found = []
    for index, grant in enumerate(as_list(grants)):
        if not isinstance(grant, dict):
            continue
        if grant.get("decision") == "deny":
            found.append(_only(grant, ("tool", "match", "decision")))
        else:
            removed.append(_item("grant", (*place, index), grant))
    return found


# -- state of a run -------------------------------------------------------------------------------


def _path(state: Json, place: Place, waits: bool, removed: list[Json]) -> Json:
    """Return the kept state of a session or branch. `waits`: it has calls without a result.

    Interrupts are removed: the server raises them again, with the real arguments of the calls.
    """
    for index, interrupt in enumerate(as_list(state.get("interrupts"))):
        if isinstance(interrupt, dict) and isinstance(interrupt.get("answer"), dict):
            value = _only(interrupt, ("reason", "tool"))
            removed.append(_item("answer", (*place, "interrupts", index), value))
    found = _only(state, ("status", "finish_reason"))
    if state.get("status") == "interrupted" and (waits or as_list(state.get("interrupts"))):
        found = {"status": "in_progress"}  # the web page offers to continue
    if isinstance(run := state.get("run"), dict):
        kept = _only(run, RUN).items()
        found["run"] = {key: one for key, one in kept if isinstance(one, str) or _number(one)}
    if isinstance(context := state.get("context"), dict):
        found["context"] = _only(context, CONTEXT)
    return found


def _calls(calls: Any, place: Place, answered: set[str], removed: list[Json]) -> Json:
    """Return the call log without traces of approvals.

    A call without a result becomes proposed; one that may have run becomes indeterminate, so that a
    person is asked.
    """
    found: Json = {}
    for call_id, entry in as_object(calls).items():
        if not isinstance(entry, dict):
            continue
        state = entry.get("state")
        if call_id in answered:
            state = state if state in ENDED else "done"
        else:
            if any(key in entry for key in ("input", "policy", "args")):
                value = _only(entry, ("name", "state"))
                removed.append(_item("call", (*place, call_id), value))
            state = "indeterminate" if state in BEGUN or "input" in entry else "proposed"
        name, attempt = entry.get("name"), entry.get("attempt")
        kept: Json = {"name": name} if isinstance(name, str) else {}
        kept["state"] = state
        if type(attempt) is int and attempt >= 0:
            kept["attempt"] = attempt
        found[call_id] = kept
    return found


def _ext(document: Json, removed: list[Json]) -> Json:
    """Return the web page's own data.

    Other keys are removed, because the owner's tools can read all of it.
    """
    ext = as_object(document.get("ext"))
    found = _only(ext, EXT)
    held = as_object(ext.get("held"))
    _grants(held.get("grants"), ("ext", "held", "grants"), removed)
    _tools(held.get("tool"), ("ext", "held", "tool"), removed)
    tree = as_object(ext.get("tree"))
    branches = [
        _branch(branch, ("ext", "tree", "branches", index), removed)
        for index, branch in enumerate(as_list(tree.get("branches")))
        if _is_branch(branch)
    ]
    if active := _only(as_object(tree.get("active")), ACTIVE):
        found["tree"] = {"branches": branches, "active": active}
    elif branches:
        found["tree"] = {"branches": branches}
    known = {*EXT, *"held tree limits temporary archived yaa_diverged paused uploaded".split()}
    removed += [_item("unknown", ("ext", key)) for key in ext if key not in known]
    return found


def _branch(branch: Json, place: Place, removed: list[Json]) -> Json:
    """Return a branch. Its own call log entries are of earlier calls without a result in it."""
    state, messages = branch["state"], branch["messages"]
    answered = _results(messages)
    calls: Json = {call: None for call, entry in branch["calls"].items() if entry is None}
    calls |= _calls(branch["calls"], (*place, "calls"), answered, removed)
    waits = any(call not in answered for call in calls) or _waits(messages)
    kept = {**_only(state, STATE), **_path(state, (*place, "state"), waits, removed)}
    return {**_only(branch, BRANCH), "messages": messages, "state": kept, "calls": calls}


# -- reading --------------------------------------------------------------------------------------


def _paths(document: Json) -> Iterator[Any]:
    yield document.get("messages")
    tree = as_object(as_object(document.get("ext")).get("tree"))
    yield from (
        branch["messages"] for branch in as_list(tree.get("branches")) if _is_branch(branch)
    )


def _names_tree(messages: Any) -> bool:
    """Return whether a message says how the files were."""
    told = objects_in(messages)
    return any("tree" in each or "tree" in as_object(each.get("result")) for each in told)


def _results(messages: Any) -> set[str]:
    """Return the ids of the calls that have a result in these messages."""
    tools = (
        one for one in as_list(messages) if isinstance(one, dict) and one.get("role") == "tool"
    )
    ids = (one.get("tool_call_id") for one in tools)
    return {call_id for call_id in ids if isinstance(call_id, str)}


def _waits(messages: Any) -> bool:
    """Return whether a call in these messages has no result in them."""
    results = _results(messages)
    for message in as_list(messages):
        for call in as_list(as_object(message).get("tool_calls")):
            call_id = as_object(call).get("id")
            if isinstance(call_id, str) and call_id not in results:
                return True
    return False


def _is_branch(branch: Any) -> bool:
    if not isinstance(branch, dict):
        return False
    texts = isinstance(branch.get("id"), str) and isinstance(branch.get("at"), str)
    objects = isinstance(branch.get("state"), dict) and isinstance(branch.get("calls"), dict)
    messages = branch.get("messages")
    return (
        texts
        and objects
        and isinstance(messages, list)
        and all(isinstance(one, dict) and isinstance(one.get("id"), str) for one in messages)
    )


def _item(kind: str, place: Place, *value: Any) -> Json:
    return {"kind": kind, "path": pointer(*place), **({"value": value[0]} if value else {})}


def _only(node: Json, keys: tuple[str, ...]) -> Json:
    return {key: node[key] for key in keys if key in node}


def _number(value: Any) -> bool:
    return type(value) in (int, float)  # isinstance would accept bool
