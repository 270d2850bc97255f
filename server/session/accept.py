"""Check a session document from a client, fill in what is missing and reconcile its parts.

Only `accept_for_run` changes the document. What is filled in, renamed or dropped is returned as the
opening events of the run, so that the client's copy changes in the same steps.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import Any, cast

from ..errors import Problem, refuse
from ..json_types import (
    AgentDefinition,
    Change,
    Event,
    LedgerEntry,
    Message,
    RunInfo,
    RunWarning,
    Session,
    ToolCall,
)
from ..lib.json_schema.field_types import Misfit
from ..lib.json_schema.validate import SchemaError, Schemas
from ..lib.strict_json import pointer
from . import agent_definition, content_blocks, prompts, snapshot, workspace_run
from .answers import ANSWERS, OF_FILES
from .client_tools import tool_misfits
from .events import drop, id_at, ids_filled, messages_filled, put, run_started, state_delta
from .kept_sessions import KeptSession
from .limits import NO_LIMITS, Limits, amount, go_on, kept_extensions
from .schema import MAX_ERRORS, NO_IDS, ROLE_ALIASES, VERSION, role_of, shape_misfits

# -- accept ---------------------------------------------------------------------------------------


_FILE = re.compile(r'<(?:file|resource) name="([^"\n]*)"[^>\n]*>\n')  # as the web page sends it
TITLE_LENGTH = 60  # characters
RUN_LEVEL = ("limit", "model_error", *OF_FILES)  # interrupts of the run, not of one call
COUNTERS = ("step", "tokens", "cost_micro", "wall_ms", "forgiven")


def accept(document: Any) -> Session:
    """Return the document unchanged if it is a session that this server can run.

    Content blocks stay. Raises Problem session_invalid or answer_invalid with the place of every
    error, or session_version, before any side effect.
    """
    _check(document)
    return cast(Session, document)


def accept_for_run(document: Any, base: KeptSession | None = None) -> tuple[Session, list[Event]]:
    """Return (accepted document, events for the client) with messages in place of content blocks.

    The document is changed, and without content blocks there are no events. `base` is put in front
    of what the document brings, and not checked again. Raises as `accept`.
    """
    messages = _check(document, base)
    session = cast(Session, document)
    if messages is not None:
        session["messages"] = messages
    if base is not None:
        session["messages"] = [*base.messages, *session.get("messages", ())]
        sent = session.get("calls", {})
        session["calls"] = base.calls | {k: v for k, v in sent.items() if k not in base.calls}
    return session, [] if messages is None else [snapshot.messages(session)]


def _check(document: Any, base: KeptSession | None = None) -> list[Message] | None:
    """Return the messages that content blocks become, None without any. Raises Problem."""
    if not isinstance(document, dict):
        raise Problem("session_invalid", "The body must be a session, a JSON object.")
    version = document.get("version", VERSION)
    if isinstance(version, int) and version > VERSION:
        raise Problem(
            "session_version",
            f"The session has version {version}; this server reads up to {VERSION}. Update it.",
            errors=[Misfit(("version",), f"expected at most {VERSION}").error()],
        )
    messages, places = None, list[int]()
    if (found := content_blocks.convert_document(document)) is not None:
        messages, places = found
        document = {**document, "messages": messages}
    misfits = shape_misfits(document, base.known_ids if base else NO_IDS)
    refuse("session_invalid", [_with_sent_index(each, places).error() for each in misfits])
    schemas = Schemas()
    tools = islice(tool_misfits(document.get("tools", []), schemas), MAX_ERRORS)
    refuse("session_invalid", [Misfit(("tools", *at), said).error() for at, said, *_ in tools])
    if base is not None:
        document = {**document, "messages": [*base.messages, *document.get("messages", ())]}
    refuse("answer_invalid", list(islice(_bad_answers(document, schemas), MAX_ERRORS)))
    return messages


def _with_sent_index(misfit: Misfit, places: list[int]) -> Misfit:
    """Return a misfit with the index its message had before content blocks were converted."""
    match misfit.place:
        case ("messages", int(index), *rest) if places:
            return misfit._replace(place=("messages", places[index], *rest))
    return misfit


def opening_events(
    session: Session,
    defaults: Session,
    agent: AgentDefinition,
    run_id: str,
    now_ms: int,
    new_id: Callable[[str], str],
    host: str = "",
    home: str = "",
    remarks: Iterable[RunWarning] = (),
    known: int = 0,
    ceilings: Limits = NO_LIMITS,
) -> list[Event]:
    """Return the events that open a run: RUN_STARTED, then what was filled in and reconciled.

    `defaults` is the session half of the configuration, `agent` the definition for this run,
    `new_id("msg")` makes an id, `host` describes where the server's tools run, `home` names
    its home folder, `remarks` are warnings found earlier, `ceilings` those of the server. `known`:
    so many first messages are as an earlier run left them.
    """
    session_id = session.get("id") or new_id("ses")
    messages = session.get("messages") or []
    new = messages[known:] if known else messages
    stem = "" if all("id" in message for message in new) else new_id("msg")
    renamed = list(_plain_roles(new, known))
    user = _last_user(messages, stem)
    mode, defined = _mode(session, defaults), agent_definition.definition_of(session)
    changes = [
        *([] if "id" in session else [put("id", value=session_id)]),
        *_fill_session(session, defaults, now_ms),
        *_add_missing(session, _with_limits(defaults, agent, mode)),
        *_other_limits(session, defaults, agent, mode),
        *([] if defined == agent else [put("config", "agent", value=agent)]),
        *_ledger(session, known),
        *_open_interrupts(session),
        *_compactions(session),
        *workspace_run.opening_changes(session, known),
    ]
    run: Any = _run(session, user, run_id, now_ms, ceilings)
    if decision := workspace_run.decision_on_files(session, user):
        run["files"] = decision
    place: RunInfo = {"host": host, "home": home, "mode": mode}
    run |= {name: value for name, value in place.items() if value}
    if warnings := [*remarks, *prompts.remarks(session.get("config", {}).get("prompt") or {})]:
        run["warnings"] = warnings
    if "output" in session and session.get("run", {}).get("message") != user:
        changes.append(drop("output"))
    return [
        run_started(session_id, run, now_ms),
        *([ids_filled(stem)] if stem else []),
        *([messages_filled(renamed)] if renamed else []),
        *([state_delta(*changes)] if changes else []),
    ]


# -- check ----------------------------------------------------------------------------------------


def _bad_answers(session: Session, schemas: Schemas) -> Iterator[dict[str, str]]:
    """Yield errors of answers whose interrupt is not open or whose payload misses its schema."""
    interrupts = session.get("interrupts", ())
    waiting = _unanswered_ids(session) if interrupts else set()
    answered: set[str] = set()
    for index, interrupt in enumerate(interrupts):
        answer = interrupt.get("answer")
        if answer is None:
            continue
        place = ("interrupts", index, "answer")
        reason = interrupt["reason"]
        call_id = interrupt.get("call_id")
        if call_id in answered:
            yield Misfit(place, "another interrupt of this call has an answer too").error()
        elif call_id is not None:
            answered.add(call_id)
        if reason not in RUN_LEVEL and call_id not in waiting:
            yield Misfit(place, "this interrupt is not open: its call needs nothing").error()
        elif answer["status"] == "resolved":
            schema = ANSWERS.get(reason) or interrupt.get("response_schema", True)
            if reason != "input_required" and "payload" not in answer:
                yield Misfit(place, "a resolved answer needs a payload").error()
                continue
            at = pointer(*place, "payload")
            try:
                found = schemas.errors(answer.get("payload"), schema)
                yield from (each.error(at) for each in found)
            except SchemaError as error:
                yield {"pointer": at, "detail": f"its response_schema cannot be used: {error}"}


def _unanswered_ids(session: Session) -> set[str]:
    results: set[str] = set()
    waiting: set[str] = set()
    for message in reversed(session.get("messages", ())):
        if role_of(message) == "tool":
            results.add(message["tool_call_id"])
        elif (calls := message.get("tool_calls")) and not message.get("open"):
            waiting |= {call["id"] for call in calls} - results
    return waiting


# -- fill -----------------------------------------------------------------------------------------


def _fill_session(session: Session, defaults: Session, now_ms: int) -> Iterator[Change]:
    if not session.get("start_time"):
        now = datetime.fromtimestamp(now_ms // 1000, UTC)
        value = session.get("startTime") or now.strftime("%Y-%m-%dT%H:%M:%SZ")
        yield put("start_time", value=value)
    for name, empty in (("calls", {}), ("interrupts", []), ("grants", []), ("context", {})):
        if name not in session:
            yield put(name, value=empty)
    for name, number in (("version", VERSION), ("rev", 0)):
        if name not in session:
            yield put(name, value=number)
    yaa = {**defaults["config"]["yaa"], **session.get("config", {}).get("yaa", {})}
    if not session.get("title") and not yaa["auto_title"]:
        if text := title(session.get("messages") or []):
            yield put("title", value=text)


def title(messages: list[Message]) -> str:
    """Return the beginning of the first user message, white space collapsed; "" without one.

    Of several parts the first that is not blank: words come before attached files, and of a file
    only the name is taken.
    """
    for message in messages:
        if role_of(message) == "user":
            content = message.get("content") or ""
            if not isinstance(content, str):
                texts = (str(part.get("text", "")) for part in content)
                content = next((text for text in texts if text.strip()), "")
                if file := _FILE.match(content):
                    content = file[1]
            return _shortened(" ".join(content[: TITLE_LENGTH * 20].split()))
    return ""


def _shortened(text: str) -> str:
    """Return at most TITLE_LENGTH characters, up to the end of a word where one is near."""
    if len(text) <= TITLE_LENGTH:
        return text
    cut = text[:TITLE_LENGTH]
    at = cut.rfind(" ")
    return (cut[:at] if at > TITLE_LENGTH // 2 else cut[:-1]) + "…"


def _add_missing(
    node: Mapping[str, Any], defaults: Mapping[str, Any], *path: str
) -> Iterator[Change]:
    """Yield the operations that add defaults for missing keys, at every depth.

    A provider is one unit: a session's provider is never completed from the server's.
    """
    for key, value in defaults.items():
        if key not in node or (node[key] is None and value is not None and not path):
            yield put(*path, key, value=value)
        elif isinstance(value, dict) and isinstance(node[key], dict) and key != "provider":
            yield from _add_missing(node[key], value, *path, key)


def _mode(session: Session, defaults: Session) -> str:
    """Return the mode that is set in the session or the configuration, "" to use the agent's."""
    settings = session.get("config", {}).get("yaa", {})
    return str(settings.get("mode", defaults["config"]["yaa"].get("mode")) or "")


def _with_limits(defaults: Session, agent: AgentDefinition, mode: str) -> Session:
    config = defaults["config"]
    limits: Any = agent_definition.limits(agent, config["limits"], mode)
    return {**defaults, "config": {**config, "limits": limits}}


def _other_limits(
    session: Session, defaults: Session, agent: AgentDefinition, mode: str
) -> Iterator[Change]:
    """Yield changes of limits that another agent or mode filled in and that are unchanged since."""
    session_limits: Mapping[str, Any] = session.get("config", {}).get("limits") or {}
    default_limits = defaults["config"]["limits"]
    chosen = str(session.get("run", {}).get("mode") or "")
    old_limits = agent_definition.limits(
        agent_definition.definition_of(session), default_limits, chosen
    )
    new_limits = agent_definition.limits(agent, default_limits, mode)
    for name, limit in new_limits.items():
        if name in session_limits and session_limits[name] == old_limits.get(name) != limit:
            yield put("config", "limits", name, value=limit)


def _plain_roles(messages: list[Message], first: int) -> Iterator[Change]:
    """Yield the operations that replace other spellings of roles, from index `first` on."""
    for index, message in enumerate(messages, first):
        if message["role"] in ROLE_ALIASES:
            role = ROLE_ALIASES[message["role"]]
            yield {"op": "replace", "path": pointer(index, "role"), "value": role}


# -- settle ---------------------------------------------------------------------------------------


def _ledger(session: Session, known: int) -> Iterator[Change]:
    """Yield a call log entry for each call without one, except calls of unfinished messages."""
    ledger = session.get("calls", {})
    results: dict[str, bool] = {}
    for message in reversed((session.get("messages") or [])[known:]):
        if "tool_call_id" in message and role_of(message) == "tool":
            results[message["tool_call_id"]] = message.get("is_error", False)
        elif (calls := message.get("tool_calls")) and not message.get("open"):
            for call in calls:
                if call["id"] not in ledger:
                    yield put("calls", call["id"], value=_entry(call, results.get(call["id"])))


def _entry(call: ToolCall, failed: bool | None) -> LedgerEntry:
    state = "proposed" if failed is None else "failed" if failed else "done"
    return {"name": call["function"]["name"], "state": state, "attempt": 0}


def _open_interrupts(session: Session) -> Iterator[Change]:
    """Drop interrupts whose call has a result, and those of the run.

    The latter are raised again if still needed.
    """
    interrupts = session.get("interrupts") or []
    waiting = _unanswered_ids(session) if interrupts else set()
    kept = [item for item in interrupts if item.get("call_id") in waiting]
    if len(kept) < len(interrupts):
        yield put("interrupts", value=kept)


def _compactions(session: Session) -> Iterator[Change]:
    """Drop compaction records beyond the last message: the client went back to an earlier one."""
    records = session.get("context", {}).get("events") or []
    there = len(session.get("messages") or ())
    kept = [record for record in records if record["at"] <= there]
    if len(kept) < len(records):
        yield put("context", "events", value=kept)


def _last_user(messages: list[Message], stem: str) -> str:
    """Return the id of the last user message, "" without one; `stem`: of ids that are filled in."""
    for index in range(len(messages) - 1, -1, -1):
        if role_of(messages[index]) == "user":
            return str(messages[index].get("id") or id_at(stem, index))
    return ""


def _run(session: Session, user: str, run_id: str, now_ms: int, ceilings: Limits) -> RunInfo:
    """Return the new `run` object.

    The counters of the same user message go on, whichever server counted them, and so does what a
    person has added to its limits.
    """
    run: RunInfo = {"id": run_id, "message": user, "started_at": now_ms}
    counters: Any = run  # by name
    counters |= dict.fromkeys(COUNTERS, 0)
    before = session.get("run", {})
    if before.get("message") == user:
        counters |= {name: int(amount(before.get(name))) for name in COUNTERS}
        if extended := kept_extensions(before.get("extended"), run, ceilings):
            run["extended"] = extended
        if isinstance(summary := before.get("summary"), str):
            run["summary"] = summary
    elif "message" in before:  # a newer user message: answers to earlier limits no longer count
        return run
    for interrupt in session.get("interrupts", ()):
        answer = interrupt.get("answer")
        if answer is None or interrupt["reason"] not in RUN_LEVEL:
            continue
        payload = answer["payload"] if answer["status"] == "resolved" else {}
        if interrupt["reason"] in OF_FILES:  # see workspace_run.py
            continue
        if interrupt["reason"] == "model_error":
            if payload.get("retry") is not True:
                run["declined"] = "failed"
        elif payload.get("continue") is not True:
            run["declined"] = "limit"
        else:
            go_on(run, interrupt, payload.get("extend", {}), ceilings)
    return run
