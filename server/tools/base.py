"""The base class of tools: the server's record of a tool, and what a call of it does.

A kind of tool is a subclass, beside the code that it needs: functions (function_tools.py), objects
(program_tools.py), the page (client_tools.py), and the session (session_tools.py). The catalog and
extensions create them.

With `config.yaa.tool_detail` tools are declared by `brief`, and the tool `tool_detail` answers with
`detail`. A model that calls without asking gets an error that names every problem.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Self

from ..json_types import Event, Json, LedgerEntry, Session
from ..lib.json_schema.compile import inline
from ..lib.json_schema.generate import NOTHING, example, response_schema, schema_of
from ..lib.json_schema.portable import portable
from ..lib.sandbox.network_policy import NETWORKS
from ..lib.strict_json import browser_safe, canonical, dumps
from .argument_forms import formats_of
from .decorators import MARK, Context, ToolError
from .permission_mode import Permission
from .runner import Outcome

Emit = Callable[[str | Event], None]  # is called with live output as text, and with events

MOST_NAMED = 64  # arguments whose names a grant keeps
MAX_LINE = 100  # characters of the one line of a brief declaration


@dataclass(frozen=True)
class ToolQuestion:
    """A call that waits for a person's answer. `input`: what the call log keeps of the question."""

    input: dict[str, Any]


@dataclass(frozen=True)
class Invocation:
    """One call that may run.

    args: the arguments as judged.
    ledger: the entry of the session's call log.
    limits: the limits of the call, as in server.limits.tool.
    owner: whose call it is (`owner` of api/auth.py Key).
    find: returns the session's tool of a name, or the reason why there is none.
    call_id: the id of the call, which messages and log name.
    """

    session: Session
    args: Json
    ledger: LedgerEntry
    limits: dict[str, float]
    owner: str
    find: Callable[[str], Tool | str]
    call_id: str = ""

    @property
    def folder(self) -> str:
        """Return the name of the real folder that the session works on; "" for its own."""
        workspace: Any = self.session.get("workspace")
        return str(workspace.get("folder", "")) if isinstance(workspace, dict) else ""


@dataclass(frozen=True)
class Tool:
    """A tool of the server or of the page.

    parameters, returns: JSON Schemas, with `$ref` for types that are used twice or recursive.
    `returns` is None if nothing is returned and {} if the type is unknown.
    toolkit: (name of its class, description shared by the tools of the class).
    missing: what the owner must do before any call can run; "" for nothing.
    like: name of an equivalent tool; policy and grants of that tool apply to this one too.

    A subclass says what its tools have in common:

    sandboxed: they run code on this machine, in the sandbox.
    remote: they run elsewhere, where their arguments are checked again.
    control: they steer the run and reach nothing but the session; they are never withheld, never
    declared in brief, and run where a session asks before every call.
    may_ask: they may ask the person a question during a call.
    asks: their result is the person's answer.
    of_page: they are declared by the page and run there.
    stateful: their calls of one session share a process (sandbox/kept_processes.py).
    always_asks: a person sees each call before it runs, whatever a session or an agent allows.
    """

    name: str
    description: str
    parameters: dict[str, Any]
    origin: str = "builtin"
    hints: dict[str, bool] = field(default_factory=dict)
    required_resources: dict[str, Any] = field(default_factory=dict)
    keep: int | None = None
    returns: dict[str, Any] | None = field(default_factory=dict)
    toolkit: tuple[str, str] = ("", "")
    like: str = ""
    missing: str = ""

    sandboxed: ClassVar[bool] = False
    remote: ClassVar[bool] = False
    control: ClassVar[bool] = False
    may_ask: ClassVar[bool] = False
    asks: ClassVar[bool] = False
    of_page: ClassVar[bool] = False
    stateful: ClassVar[bool] = False
    always_asks: ClassVar[bool] = False

    @classmethod
    def of(cls, function: Callable[..., Any], /, **more: Any) -> Self:
        """Return the tool that a marked function of this server declares.

        `more`: members that the function does not declare.
        """
        options, signature = getattr(function, MARK), schema_of(function, inject=(Context,))
        return cls(
            *(signature.name, signature.description or "", signature.parameters),
            hints=hints_of(options),
            required_resources=resources_of(options),
            keep=options.get("keep"),
            returns=signature.returns,
            **more,
        )

    @cached_property
    def formats(self) -> dict[str, str]:
        """Return argument -> format of paths, addresses and command lines (argument_forms.py)."""
        return formats_of(self.parameters)

    @cached_property
    def declaration_digest(self) -> Json:
        """Return what a grant keeps of the declaration that it was given for.

        A built-in tool changes with the server alone, so only the names of its arguments count.
        """
        members = self.parameters.get("properties")
        names = sorted(members if isinstance(members, dict) else ())[:MOST_NAMED]
        if self.origin == "builtin":
            return {"arguments": names}
        return {
            "arguments": names,
            "description": digest(self.description),
            "parameters": digest(self.parameters),
        }

    @property
    def read_only(self) -> bool:
        """Return whether the tool changes nothing."""
        return self.hints.get("read_only", False)

    @property
    def repeatable(self) -> bool:
        """Return whether the tool may run again after an interrupted run."""
        return self.read_only or self.hints.get("idempotent", False)

    @property
    def file_access(self) -> str:
        """Return what the tool does with the files of the workspace: "read", "write" or ""."""
        return ("read" if self.read_only else "write") if self.sandboxed else ""

    @property
    def parallel_safe(self) -> bool:
        """Return whether the tool may run beside other calls."""
        return self.hints.get("parallel_safe", False)

    def default(self) -> tuple[str, str]:
        """Return (action, reason) if nobody has decided about the tool: "run" or "ask"."""
        return ("run", "it only reads") if self.read_only else ("ask", "it may change things")

    def runs_in(self, permission: Permission, args: Json) -> bool:
        """Return whether a call runs unasked in a permission mode where the rules would ask."""
        return False

    def verdict(self, action: str, reason: str) -> tuple[str, str]:
        """Return (action, reason) of the verdict on a call, from the policy's decision."""
        return action, reason

    def is_useful(self, session: Session) -> bool:
        """Return whether the session, as it stands, has a use for the tool."""
        return True

    def offer(self, session: Session) -> dict[str, Any]:
        """Return the network of a call whose approval may change it; {} if it cannot."""
        return {}

    def in_session(self, session: Session) -> Tool:
        """Return the tool as the session declares it."""
        return self

    async def run(self, call: Invocation, emit: Emit) -> Outcome | ToolQuestion:
        """Run one call. Pass live output and events to `emit` as they come, return the end.

        Cancelling it ends the call and all that it started. Raises ToolError for a failure that
        the tool explains itself. Tools of the page have none: the page runs them.
        """
        raise NotImplementedError


def digest(value: Any) -> str:
    """Return the SHA-256 of a value as canonical JSON."""
    return f"sha256:{hashlib.sha256(canonical(browser_safe(value)).encode()).hexdigest()}"


def failure(message: str, status: str = "error") -> Outcome:
    """Return the Outcome of a call that failed."""
    return Outcome(status, error={"type": status, "message": message})


def resources_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the `required_resources` of a tool: numbers, and `network`.

    Raises ToolError for values that are neither.
    """
    found = dict(options.get("required_resources") or {})
    for name, value in found.items():
        fits = type(value) in (int, float) and 0 <= value < 2**53
        if not (value in NETWORKS if name == "network" else fits):
            raise ToolError(f"required_resources: {name} {value!r} means nothing here")
    return found


def hints_of(options: Mapping[str, Any]) -> dict[str, bool]:
    """Return all four hints. A read-only tool is idempotent, and by default not destructive."""
    read_only = bool(options.get("read_only"))
    return {
        "read_only": read_only,
        "destructive": bool(options.get("destructive", not read_only)),
        "idempotent": read_only or bool(options.get("idempotent")),
        "parallel_safe": bool(options.get("parallel_safe")),
    }


# -- declarations ---------------------------------------------------------------------------------


def declaration(tool: Tool, *, results: bool, kit: bool = False) -> dict[str, Any]:
    """Return the whole declaration of a tool, portable between providers.

    Declarations have no field for results, so with `results` and a known type the description
    includes it. `kit`: include the description shared by the toolkit, as for its first tool.
    """
    # The page's own code expects its parameter names, so those are not renamed.
    parameters, more = portable(tool.parameters, rename=not tool.of_page)
    returned = f"Returns {dumps(inline(tool.returns))}" if results and tool.returns else ""
    name, of_all = tool.toolkit
    common = f"All tools {name}_*: {of_all}" if kit and of_all else ""
    told = "\n\n".join(filter(None, (tool.description, common, more, returned)))
    return _function(tool.name, told, parameters)


def result_schema(tool: Tool) -> dict[str, Any]:
    """Return the JSON Schema of the result envelope of this tool."""
    return inline(response_schema(tool.returns))


def toolkit(tool: Tool) -> dict[str, str]:
    """Return {name, description} of the toolkit of a tool."""
    return dict(zip(("name", "description"), tool.toolkit, strict=True))


def brief(tool: Tool) -> dict[str, Any]:
    """Return a declaration with one line of description and an open schema.

    A tool without parameters is declared whole.
    """
    if not tool.parameters.get("properties"):
        return declaration(tool, results=False)
    # OpenAI refuses an object schema without `properties`.
    nothing: dict[str, Any] = {"type": "object", "properties": {}}
    return _function(tool.name, one_line(tool.description), nothing)


def detail(tool: Tool) -> dict[str, Any]:
    """Return all that a model needs before a call: description, schemas and an example."""
    found: dict[str, Any] = {
        "name": tool.name,
        "description": tool.description,
        "parameters": inline(tool.parameters),
    }
    if tool.toolkit[1]:
        found["toolkit"] = toolkit(tool)
    if tool.returns:
        found["returns"] = inline(tool.returns)
    shown = example(found["parameters"])
    return found if shown is NOTHING else {**found, "example": shown}


def _function(name: str, description: str, parameters: dict[str, Any]) -> dict[str, Any]:
    about = {"name": name, "description": description, "parameters": parameters}
    return {"type": "function", "function": about}


def one_line(text: str) -> str:
    """Return the first sentence of a text, cut to MAX_LINE characters."""
    line = " ".join(text.split("\n\n")[0].split())
    sentence, stop, _ = line.partition(". ")
    line = sentence + stop.strip()
    return line if len(line) <= MAX_LINE else line[: MAX_LINE - 2].rpartition(" ")[0] + " …"
