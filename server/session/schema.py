"""The shape of a session document: kinds of its parts, and the check of a document.

Nothing is changed. Unknown keys are kept and returned unchanged, so that a client may store data of
its own. docs/reference/session.schema.json is the JSON Schema of SESSION.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

from .. import json_types
from ..json_types import Json
from ..lib.json_schema import field_types
from ..lib.json_schema.field_types import (
    ANY,
    COUNT,
    OBJECT,
    TEXT,
    TEXT_OR_NONE,
    TEXTS,
    Kind,
    Misfit,
    Misfits,
    Place,
    misfits,
    show_value,
    with_limit,
)
from .config_schema import CONFIG, POSITIVE
from .limits import MOST
from .workspace_stand import TREE, is_tree

Error = dict[str, str]

VERSION = 1
MAX_ID = 256  # characters; of messages, calls, interrupts
ASKED = "int-"  # prefix of a call's id in the id of its interrupt
MAX_SESSION_ID = 128
MAX_ERRORS = 20  # reported at once; more would mostly repeat

MAX_OPEN_CALLS = 512  # calls without a result, in all messages together
MAX_PATTERN = 1_000  # characters, in a grant

STATUSES = ("in_progress", "interrupted", "completed", "failed")
ROLES = ("system", "user", "assistant", "tool", "error")
STATES = (
    *("proposed", "asking", "denied", "started", "done"),
    *("failed", "waiting", "skipped", "indeterminate"),
)
REASONS = (
    *("tool_call", "client_tool", "input_required", "indeterminate", "limit", "model_error"),
    *("mcp_sign_in", "workspace_restore", "workspace_missing"),
)
WORKSPACE_MODES = ("read", "write", "overlay")
MAX_FOLDER = 100  # characters of a folder's name

# Other spellings, accepted and replaced: Chinese and kebab-case ones of earlier projects, and the
# names that other tools export.
STATUS_ALIASES = {
    "in-progress": "in_progress",
    "进行中": "in_progress",
    "已中断": "interrupted",
    "已完成": "completed",
    "失败": "failed",
    "已失败": "failed",
}
ROLE_ALIASES = {
    "agent": "assistant",
    "智能体": "assistant",
    "大模型": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "human": "user",
    "用户": "user",
    "developer": "system",
    "系统": "system",
    "工具": "tool",
    "错误": "error",
}
_RESULTS = ("tool", *(alias for alias, role in ROLE_ALIASES.items() if role == "tool"))


def is_id(value: Any) -> bool:
    """Return whether a value is a string of 1 to MAX_ID characters."""
    return _ID.fits(value)


def role_of(message: Mapping[str, Any]) -> str:
    """Return the message's role, aliases replaced."""
    role: str = message["role"]
    return ROLE_ALIASES.get(role, role)


# -- kinds ----------------------------------------------------------------------------------------


def _most(place: str, kind: Kind) -> Kind:
    return with_limit(kind, MOST[place])


def _lacks(op: Json, place: Place, found: Misfits) -> None:
    for name in OPS.get(str(op.get("op")), ()):
        if name not in op:
            found.append(Misfit((*place, name), _OP.fields[name].words, None))


def _is_interrupt_id(value: Any) -> bool:
    return isinstance(value, str) and is_id(value.removeprefix(ASKED))


_ID_WORDS = f"a string of 1 to {MAX_ID} characters"
_ID = field_types.text(_ID_WORDS, 1, MAX_ID)
_SESSION_ID = field_types.text(f"a string of 1 to {MAX_SESSION_ID} characters", 1, MAX_SESSION_ID)
_TOOL_NAME = replace(_ID, words="a tool's name")
_PART = field_types.object_of({"type": TEXT}, ("type",))
_CONTENT = field_types.as_one(
    field_types.either(TEXT_OR_NONE, field_types.list_of(_PART)),
    "a string, null, or an array of parts with a type",
)
_TREE = field_types.leaf(
    is_tree,
    "the id of a tree, 64 hexadecimal digits",
    {"type": "string", "pattern": f"^{TREE.pattern}$"},
)
# What a grant keeps of a tool's declaration; see tools/base.py.
_DECLARED = field_types.object_of({"arguments": TEXTS, "description": TEXT, "parameters": TEXT})
_CHANGED = field_types.list_of(field_types.object_of({"path": TEXT, "change": TEXT}))
# Kinds of `context.ops`, and what each must have. Those of unknown kinds have no effect.
OPS = {
    "stub": ("ids",),
    "preview": ("id", "head", "tail"),
    "args": ("id", "keep"),
    "summary": ("id", "text"),
    "fold": ("from", "to", "text"),
    "pin": ("ids",),
    "unpin": ("ids",),
    "expire": ("ids", "after"),
}
# The kinds of the types in json_types that are checked. A member is of the kind of its type if none
# is named here: one that bounds it more, or checks only as much as is relied on.
KINDS: dict[Any, Kind] = {**field_types.TYPES}


def _add(form: Any, *needed: str, **own: Kind) -> Kind:
    return field_types.typed_object(form, KINDS, needed, **own)


_USAGE = _add(json_types.Usage)
_FUNCTION_ARGUMENTS = replace(TEXT, words="the arguments as a JSON string")
_add(json_types.ToolFunction, name=_TOOL_NAME, arguments=_FUNCTION_ARGUMENTS)
# What nobody relies on is not checked: other programs write it in other ways, `at` with fractions.
_CALLS = field_types.list_of(_add(json_types.ToolCall, id=_ID, type=ANY, extra=ANY), none=True)
_MESSAGE = _add(
    json_types.Message,
    id=_ID,
    role=field_types.one_of(*ROLES, aliases=ROLE_ALIASES),
    content=field_types.with_list_test(_CONTENT, str, lambda values: True),
    tool_calls=_most("messages/*/tool_calls", _CALLS),
    tool_call_id=_ID,
    name=TEXT_OR_NONE,
    reasoning=field_types.as_one(field_types.object_of({"text": TEXT}), "an object with a text"),
    # The size of the next request is computed from the reported token counts.
    meta=field_types.object_of({"usage": field_types.object_of(_USAGE.fields, none=True)}),
    result=field_types.object_of(none=True),
    tree=_TREE,
    at=ANY,
    code=ANY,
)
_MESSAGE.schema["if"] = {"properties": {"role": {"enum": [*_RESULTS]}}, "required": ["role"]}
_MESSAGE.schema["then"] = {"required": ["tool_call_id"]}
_add(json_types.LedgerEntry, "state", state=field_types.one_of(*STATES))
_add(json_types.Answer, "status", status=field_types.one_of("resolved", "cancelled"))
_INTERRUPT = _add(
    json_types.Interrupt,
    *("id", "reason"),
    id=field_types.leaf(
        _is_interrupt_id,
        f"{_ID_WORDS}, {ASKED} in front of them not counted",
        {"type": "string", "minLength": 1, "maxLength": MAX_ID + len(ASKED)},
    ),
    reason=field_types.one_of(*REASONS),
    call_id=_ID,
    declaration=_DECLARED,
    answer=field_types.as_one(
        KINDS[json_types.Answer], 'an object with status "resolved" or "cancelled"'
    ),
)
_PATTERNS = field_types.as_one(
    field_types.object_of(each=field_types.text(most=MAX_PATTERN)),
    f"an object of patterns of at most {MAX_PATTERN} characters",
)
_GRANT = _add(
    json_types.Grant,
    tool=_TOOL_NAME,
    match=_most("grants/*/match", _PATTERNS),
    decision=field_types.one_of("allow", "deny"),
    declaration=_DECLARED,
)
_CLIENT_TOOL = _add(json_types.ClientTool, name=_TOOL_NAME)
_OP_WORDS = f"one of {', '.join(name for name in OPS if name != 'summary')}"
_OP = _add(json_types.Op, op=replace(TEXT, words=_OP_WORDS))
_OP = field_types.object_of(_OP.fields, _OP.required, more=_lacks)
_OP.schema["allOf"] = [
    {"if": {"properties": {"op": {"const": name}}}, "then": {"required": [*needed]}}
    for name, needed in OPS.items()
]
KINDS[json_types.Op] = _OP
_add(json_types.CompactionRecord, "at", "after")
# Which folder the tools work in is named, never a path; see workspace_stand.py.
_add(
    json_types.SessionWorkspace,
    folder=field_types.text("the name of a folder of this server", 1, MAX_FOLDER),
    mode=field_types.one_of(*WORKSPACE_MODES),
    tree=_TREE,
    message=field_types.text(f"a string of at most {MAX_ID} characters", 0, MAX_ID),
    start=_TREE,
    changed_outside=_CHANGED,
)
_FILE_READ = field_types.object_of({"chars": COUNT, "text": TEXT})
_OFFER = field_types.object_of({"name": TEXT, "description": TEXT}, ("name", "description"))
_add(json_types.UsedSkill, files=field_types.object_of(each=_FILE_READ))
_add(json_types.SessionSkills, offered=field_types.list_of(_OFFER))
SESSION = _add(
    json_types.Session,
    id=_SESSION_ID,
    start_time=TEXT_OR_NONE,
    startTime=TEXT_OR_NONE,
    status=field_types.one_of(*STATUSES, aliases=STATUS_ALIASES, none=True),
    messages=_most("messages", field_types.list_of(_MESSAGE)),
    config=CONFIG,
    version=POSITIVE,
    again=_SESSION_ID,
    interrupts=_most("interrupts", field_types.list_of(_INTERRUPT)),
    grants=_most("grants", field_types.list_of(_GRANT)),
    tools=_most("tools", field_types.list_of(_CLIENT_TOOL)),
    plan=field_types.object_of({"tasks": _most("plan/tasks", ANY)}),
    run=OBJECT,
)


# -- check ----------------------------------------------------------------------------------------


def check(document: Mapping[str, Any]) -> list[Error]:
    """Return the errors of `document` as {"pointer", "detail"}, at most MAX_ERRORS."""
    return [misfit.error() for misfit in shape_misfits(document)]


class KnownIds(NamedTuple):
    """The ids of messages, of the calls that they make and of those that they answer."""

    messages: frozenset[str] = frozenset()
    calls: frozenset[str] = frozenset()
    answered: frozenset[str] = frozenset()

    def plus(self, messages: Sequence[Mapping[str, Any]]) -> KnownIds:
        """Return them with those of further messages, which all have an id."""
        calls = [call["id"] for message in messages for call in message.get("tool_calls") or ()]
        answered = [each["tool_call_id"] for each in messages if "tool_call_id" in each]
        return KnownIds(
            self.messages.union([message["id"] for message in messages]),
            self.calls.union(calls),
            self.answered.union(answered),
        )

    def minus(
        self, gone: Sequence[Mapping[str, Any]], left: Sequence[Mapping[str, Any]]
    ) -> KnownIds:
        """Return them without those of messages that are gone. `left`: the others."""
        lost = NO_IDS.plus(gone)
        if lost.answered:  # a call may have a second result among those that are left
            return NO_IDS.plus(left)
        return KnownIds(self.messages - lost.messages, self.calls - lost.calls, self.answered)


NO_IDS = KnownIds()


def shape_misfits(document: Mapping[str, Any], before: KnownIds = NO_IDS) -> list[Misfit]:
    """Return what does not fit in a document, at most MAX_ERRORS.

    Ids are compared only in a document of the right shape. `before`: those of messages that come
    before those of the document.
    """
    found = misfits(document, SESSION, MAX_ERRORS)
    return found[:MAX_ERRORS] or list(islice(_repeated(document, before), MAX_ERRORS))


def _repeated(document: Mapping[str, Any], before: KnownIds) -> Iterator[Misfit]:
    """Yield a misfit for each id that was used before, and for too many messages or open calls."""
    messages, interrupts = document.get("messages", ()), document.get("interrupts", ())
    if (number := len(before.messages) + len(messages)) > (most := MOST["messages"]):
        yield Misfit(("messages",), f"expected at most {most:,} entries, got {number:,}")
    for name, items, known in (
        ("messages", messages, before.messages),
        ("interrupts", interrupts, NO_IDS.messages),
    ):
        own_ids = [item["id"] for item in items if "id" in item]
        if len(seen := set(own_ids)) == len(own_ids) and known.isdisjoint(seen):
            continue  # nearly always
        seen = set()
        for index, item in enumerate(items):
            if (own := item.get("id")) is not None:
                if own in seen or own in known:
                    said = f"the id {show_value(own)} was used before; ids are unique in {name}"
                    yield Misfit((name, index, "id"), said)
                seen.add(own)
    call_ids: set[str] = set()
    results: set[str] = set()
    with_calls = [
        (index, message)
        for index, message in enumerate(messages)
        if message["role"] in _RESULTS or "tool_calls" in message  # few do
    ]
    for index, message in with_calls:
        if message["role"] in _RESULTS:
            if (answered := message.get("tool_call_id")) is None:
                yield Misfit(("messages", index, "tool_call_id"), "the id of a call", None)
            results.add(answered)
        for number, call in enumerate(message.get("tool_calls") or ()):
            if call["id"] in call_ids or call["id"] in before.calls:
                place = ("messages", index, "tool_calls", number, "id")
                said = f"the call id {show_value(call['id'])} was used before; call ids are unique"
                yield Misfit(place, f"{said} in a session")
            call_ids.add(call["id"])
    left = len(call_ids - results - before.answered) + len(before.calls - before.answered - results)
    if left > MAX_OPEN_CALLS:
        said = f"expected at most {MAX_OPEN_CALLS} calls without a result, got {left:,}"
        yield Misfit(("messages",), said)
