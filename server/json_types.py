"""Types of the session document, of events, and of other JSON objects that many modules share.

They describe checked documents (session/schema.py): keys that are not `Required` may be missing,
and an object may have other keys, which are kept. tests/test_json_types.py holds them to the code
and to docs/reference. Times are in ms since 1970, durations in ms, sizes in tokens, unless said
otherwise.
"""

from __future__ import annotations

from typing import Any, Required, TypedDict

Json = dict[str, Any]  # any JSON object
JsonValue = Any  # any JSON value

# -- session --------------------------------------------------------------------------------------


class Session(TypedDict, total=False):
    """The document that holds the whole state of an agent (docs/reference/session.md)."""

    id: str
    title: str | None
    start_time: str  # ISO 8601, UTC
    startTime: str  # another spelling of it, only read
    character: str | None
    status: str  # in_progress, interrupted, completed or failed
    messages: list[Message]
    config: Config
    version: int
    rev: int  # number of runs that ended
    agent: str
    again: str  # names a wish for another answer to the same message
    finish_reason: str | None  # completed, awaiting, limit, cancelled or failed
    calls: dict[str, LedgerEntry]  # by the id of the call
    interrupts: list[Interrupt]
    grants: list[Grant]
    context: ContextState
    tools: list[ClientTool]
    environment: list[str]
    plan: Plan
    output: JsonValue  # the structured output
    usage: Usage
    run: RunInfo
    workspace: SessionWorkspace
    skills: SessionSkills
    instructions: Instructions
    ext: Json  # the client's own data


class RunInfo(TypedDict, total=False):
    """What is known of the current run, and what was spent on the user's last message."""

    id: str
    message: str  # id of the user's last message, "" without one
    started_at: int
    step: int  # answers of the model
    tokens: int
    cost_micro: int  # millionths of the provider's unit
    wall_ms: int  # of earlier runs for the same message
    forgiven: int  # consecutive errors that a person allowed
    extended: dict[str, float]  # limit -> what a person added to it
    summary: str  # id of the message that reports progress at a limit
    declined: str  # failed or limit: a person did not let the run go on
    files: Json  # {action, start, goal}: what a person decided about the files
    host: str  # where the server's tools run, for the prompt
    place: str  # their folder and network, for the prompt
    home: str  # the name of the home folder whose records the run is in
    mode: str  # chosen in the session or the configuration, instead of the agent's
    warnings: list[RunWarning]
    from_record: int  # messages that came from this host's record of an earlier run


class SessionWorkspace(TypedDict, total=False):
    """The folder that a session's tools work in, and which tree of files it stands at."""

    folder: str  # name of a folder of the owner; missing: the session's own
    mode: str  # of that folder: read, write or overlay
    tree: str  # id of the tree that the files were at …
    message: str  # … after the message with this id, "" before the first
    start: str  # id of the tree before the first recorded change
    foreign: bool  # the document came from elsewhere: its trees replace nothing unasked
    changed_outside: list[Json]  # {path, change}: changed by others since the run before
    changed_outside_count: int
    restored: Json  # {from, to, changed_count} at the beginning of this run


class SessionSkills(TypedDict, total=False):
    """The skills that a session may load, and those that it has used (session/skills.py)."""

    offered: list[dict[str, str]]  # {name, description}, as the prompt lists them
    more: int  # skills that the list had no room for
    used: dict[str, UsedSkill]  # by name
    refresh: list[str]  # used ones that a person wants loaded anew


class UsedSkill(TypedDict, total=False):
    """A skill as it was when the session loaded it."""

    hash: str  # SHA-256 of its files; missing if a person took its text over
    text: Required[str]  # its SKILL.md
    source: str  # home, folder, key, workspace or mcp
    place: str  # where tools find its files at the server that loaded it, "" if nowhere
    files: dict[str, Json]  # {chars, text?} by path: those that were read
    here: str  # at the server of the last run: same, changed or missing


class Instructions(TypedDict, total=False):
    """The instructions of the session's folder, as the model is told them."""

    path: str  # AGENTS.md or CLAUDE.md; missing if there is none at the top
    text: str
    cut: bool  # the file is longer
    nested: list[str]  # paths of those in folders below
    nested_count: int  # of all that were found


class RunWarning(TypedDict, total=False):
    """Something in the session that is no error but probably not meant."""

    code: Required[str]
    message: Required[str]  # English
    section: str
    known: list[str]
    placeholders: list[str]
    key: str  # below `config`, dotted
    nearest: str | None
    call_id: str
    agent: str
    left_out: list[str]
    tool: str
    reason: str  # a code
    counted: int  # tokens that the provider counted
    sent: int  # tokens by the estimate


class Usage(TypedDict, total=False):
    """Tokens and cost of model calls: of one in a message's `meta`, of all in a session."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    reasoning_tokens: int
    cached_tokens: int
    cache_write_tokens: int  # missing where no provider reported any
    cost_micro: int  # millionths of cost_unit
    cost_unit: str | None  # such as CNY
    estimated: bool  # the provider reported nothing; in a message only
    calls: int  # number of model calls, in a session only


class Plan(TypedDict, total=False):
    """The plan that the model keeps for a goal."""

    goal: str
    tasks: list[Task]


class Task(TypedDict, total=False):
    """One task of a plan."""

    id: Required[str]
    title: Required[str]
    status: Required[str]  # todo, in_progress, completed, failed or cancelled
    result: str


# -- messages -------------------------------------------------------------------------------------


class Message(TypedDict, total=False):
    """One message of the history, as Chat Completions has it and more."""

    id: str
    role: Required[str]  # system, user, assistant, tool or error
    content: Any  # text, a list of content parts, or None
    at: int  # when it began
    tool_calls: list[ToolCall] | None
    reasoning: Reasoning
    open: bool  # it was cut while it was written: the model does not get it
    meta: MessageMeta
    media: list[Json]  # pictures and sounds that the model made, as in a result
    tool_call_id: str  # of a message of role tool, as the next three
    name: str
    is_error: bool
    result: ToolResult | None
    code: str  # of a message of role error
    tree: str  # of a message of role user: how a client had left the files when it was sent


class ToolCall(TypedDict, total=False):
    """A tool call in a message, as the model wrote it."""

    id: Required[str]  # unique in the session
    type: str  # function
    function: Required[ToolFunction]
    extra: Json  # opaque data of the provider, sent back with the call


class ToolFunction(TypedDict):
    """Name and arguments of a tool call."""

    name: str
    arguments: Any  # JSON text; an object in a copy with the arguments that are to run


class Reasoning(TypedDict, total=False):
    """What the model thought before a message."""

    id: str
    text: str
    field: str  # in which the provider wants it back
    details: JsonValue  # opaque data of the provider, sent back to it


class Citation(TypedDict, total=False):
    """What an answer cites of the provider's own search, or of a document that it was given."""

    url: str  # without: a document
    title: Required[str]
    page: int  # of the document, counted from 1
    text: str  # what was read of it, if the provider says so
    start: int  # the characters of the answer that it belongs to
    end: int


class MessageMeta(TypedDict, total=False):
    """How an assistant message was made."""

    model: str
    provider: str
    usage: Usage
    finish_reason: str | None  # the provider's
    ms: int  # from the request to the end of the answer
    first_ms: int  # from the request to the first delta
    edited_from: str  # id of the message that a person changed into this one
    edited_call: str  # id of the call whose arguments a person changed
    citations: list[Citation]  # of the provider's own search
    warnings: list[RunWarning]  # what the provider refused, and the request went without


class ToolResult(TypedDict, total=False):
    """The envelope of a call's result for clients; the model gets the message's `content`."""

    status: str  # ok, error, denied, skipped, …
    result: JsonValue  # if the status is ok
    sources: dict[str, str]  # what an answer can cite: id -> JSON pointer into `result`
    error: Json  # {type, message, …}
    logs: list[str]
    attachments: list[Json]  # {path, name, media_type, bytes}
    media: list[Json]  # {media_type, data, bytes, name, width?, height?, path?}; shown to the model
    duration_ms: int
    usage: Json  # what the tool's process used
    sandbox: Json  # {tier, network?, refused?}
    keep: int  # model calls after which the result may be dropped
    process: Json  # of a stateful toolkit
    repairs: list[str]  # changes that made the arguments fit
    modified_args: Json  # which ran instead of the model's
    modified_by: str  # hook; missing for a person
    hint: str
    feedback: str  # what a person wrote
    args: Json  # of an action of the page
    tree: Json  # {before, after}: ids of the trees of files, if they were recorded
    changed: list[Json]  # {path, change, bytes?}: files that the call changed
    changed_count: int  # of all of them
    changed_outside: list[Json]  # files that others changed since the last recorded tree
    changed_outside_count: int
    left_out: Json  # {ignored, large, special, beyond}: files that were not recorded
    left_out_now: list[Json]  # {path, reason}: those that were recorded before, or are new
    taken_back: list[str]  # what the call must not change, since programs of the owner run it
    unrecorded: str  # why no tree was recorded, for people


# -- calls and people -----------------------------------------------------------------------------


class LedgerEntry(TypedDict, total=False):
    """The state of one tool call, kept in `calls` of the session."""

    name: str
    fingerprint: str  # SHA-256 of the tool's name and canonical arguments
    state: str  # proposed, asking, waiting, started, done, failed, denied, skipped, …
    attempt: int
    args: Json  # which run instead of the model's
    args_by: str  # hook; missing for a person
    policy: Json  # changes of the call's network that a person approved
    input: Json  # a question of the tool during the call, and its answer


class Interrupt(TypedDict, total=False):
    """Something that the run waits for."""

    id: str
    reason: str  # tool_call, client_tool, input_required, indeterminate, limit, …
    message: str  # for people
    response_schema: Json  # JSON Schema of the answer's payload
    answer: Answer
    call_id: str  # of interrupts about a call, as the next twelve
    tool: str
    args: Json
    policy: Json  # {network, hosts, hosts_on_approval}, where an approval may change them
    always: bool  # such a call is asked about each time, whatever is granted
    ask: str  # the session's `config.yaa.ask`, if that is why it is asked
    permission: str  # the least mode of `config.yaa.ask` in which it would run unasked here
    declaration: Json  # the tool as it was declared when it was shown, unless it is built in
    changes: Json  # in the tool since it was allowed: {added, removed, description}
    confirm: str  # why the page must ask before it runs its tool
    suggestions: list[str]
    skills: list[str]  # that the call comes from
    asked_at: int
    limit: str  # of reason limit, as the next five
    allowed: float | None  # in the unit of the limit
    observed: float
    bound: str  # budget or window
    largest: list[Json]
    remedies: list[Json]
    code: str  # of reason model_error
    server: str  # of reason mcp_sign_in: its name in the configuration
    foreign: bool  # of reason workspace_restore: the session came from elsewhere
    differences: list[Json]  # {path, change} of reason workspace_restore
    objects: list[Json]  # {sha256, bytes, path} of reason workspace_missing
    count: int  # of all differences or objects
    bytes: int  # of all objects
    start: str  # id of the tree that the files are at, "" if none
    goal: str  # id of the tree that the document stands at


class Answer(TypedDict, total=False):
    """The answer of a person or the page to an interrupt."""

    status: str  # resolved or cancelled
    payload: Any  # as the interrupt's response_schema says


class Grant(TypedDict, total=False):
    """An approval or a denial that holds for the whole session."""

    tool: Required[str]
    decision: Required[str]  # allow or deny
    match: dict[str, str]  # argument -> pattern
    declaration: Json  # the tool as it was declared when it was allowed (tools/base.py)


class ClientTool(TypedDict, total=False):
    """A tool of the page, declared by a session."""

    name: Required[str]
    description: str | None
    parameters: Json  # JSON Schema of an object
    hints: Json
    wait: bool  # False: an action, whose result is not waited for


# -- view -----------------------------------------------------------------------------------------


class ContextState(TypedDict, total=False):
    """What the view of the messages leaves out, and what is known of models."""

    ops: list[Op]
    events: list[CompactionRecord]
    compact: bool  # asked for, not done yet
    windows: dict[str, float]  # model -> tokens that it accepted
    calib: dict[str, Calibration]  # by model


_Span = TypedDict("_Span", {"from": str}, total=False)  # the key is a keyword


class Op(_Span, total=False):
    """An operation on the view; context/view.py says which keys each kind has."""

    op: Required[str]
    ids: list[str]
    id: str
    why: str
    head: int  # characters
    tail: int  # characters
    pictures: bool  # they stay in a preview
    keep: int  # characters
    text: str
    source: str  # of a text: extract or llm
    to: str
    after: int  # model calls


class CompactionRecord(TypedDict, total=False):
    """The record of one pass that made the view smaller."""

    id: str
    trigger: str
    before: int
    after: int
    at: int  # number of messages
    ops: int  # number of operations
    strategies: list[str]  # that helped
    summaries: int  # number of texts by a model
    timestamp: int


class Calibration(TypedDict):
    """How a model's token counts compare with the estimate."""

    ratio: float
    n: int  # number of calls that it was measured with


# -- config ---------------------------------------------------------------------------------------


class Config(TypedDict, total=False):
    """The settings of a session; session/config_schema.py declares what its sections have."""

    yaa: Json
    llm_api: Json
    prompt: dict[str, str]  # section -> template
    agent: AgentDefinition  # a copy, which the server fills in
    tool: dict[str, Json]  # by tool
    limits: Json
    context: Json


class AgentDefinition(TypedDict, total=False):
    """What an agent is and may do (session/agent_definition.py)."""

    name: str
    description: str
    provider: str
    model: str
    systemPrompt: str
    mode: str
    tools: list[str]  # names or patterns
    policy: dict[str, str]  # tool -> auto, ask or deny
    limits: Json
    prompt: dict[str, str]  # section -> template
    output_schema: Json
    require_finish_tool: bool


# -- events and errors ----------------------------------------------------------------------------


class Event(TypedDict, total=False):
    """An AG-UI event; session/events.py makes them and says which keys each type has."""

    type: Required[str]
    timestamp: int
    metadata: Json  # {yaa: data without a field of AG-UI's}
    threadId: str
    runId: str
    protocolVersion: str
    outcome: Json
    result: Json
    usage: list[Json]
    message: str
    code: str
    stepName: str
    snapshot: Json
    delta: Any  # text; of STATE_DELTA a list of Change
    messages: list[Json]  # in AG-UI's form
    name: str
    value: JsonValue
    messageId: str
    role: str
    toolCallId: str
    toolCallName: str
    parentMessageId: str
    content: Any  # text; of ACTIVITY_SNAPSHOT an object
    activityType: str
    patch: list[Change]
    subtype: str
    entityId: str
    encryptedValue: str


class Change(TypedDict, total=False):
    """An operation of RFC 6902: add, replace or remove."""

    op: Required[str]
    path: Required[str]  # RFC 6901 pointer
    value: JsonValue


Patch = list[Change]
