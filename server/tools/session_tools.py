"""Tools that work on the session: questions, the plan, reloaded messages, the final answer.

The functions declare them, the classes run them in the server. `finish` takes the structured output
of a session that has a schema for it. A question runs nothing: its result is the person's answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from ..context.view import NoSuchMessage, ops_of, reload, reload_text, retain
from ..json_types import Plan, Session
from ..session import events, outcome, plan
from ..session.agent_definition import lists_finish, wants_finish
from ..session.modes import mode_of
from .base import Emit, Invocation, Tool, detail, failure
from .decorators import Context, tool
from .runner import Outcome


@tool(read_only=True)
def ask_user(
    ctx: Context,
    question: Annotated[str, "What you need to know, in one or two sentences"],
    suggestions: Annotated[list[str], "Up to four likely answers to choose from"] = [],  # noqa: B006
    response_schema: Annotated[dict[str, Any] | None, "JSON Schema of the answer"] = None,
) -> str:
    """Ask the user something that only they can know, and wait for the answer."""
    raise NotImplementedError


@tool(read_only=True)
def tool_detail(ctx: Context, name: Annotated[str, "A tool's name"]) -> dict[str, Any]:
    """Tell what a tool does, which arguments it takes, and an example. Ask before a first call."""
    raise NotImplementedError


@tool(read_only=True, keep=1)
def context_reload(
    ctx: Context,
    handle: Annotated[str, "The message, like m12"],
    offset: Annotated[int, "Where to go on, in characters"] = 0,
    limit: Annotated[int, "How many characters"] = 6_000,
    grep: Annotated[str, "Only the lines that contain this"] = "",
) -> dict[str, Any]:
    """Show a message of this conversation that was left out or shortened to save space. Long ones
    come in pages; what you load is left out again soon."""
    raise NotImplementedError


@tool(read_only=True)
def context_retain(
    ctx: Context,
    handles: Annotated[list[str], "Messages, like m12"],
    action: Literal["keep", "pin", "drop", "auto"],
    turns: Annotated[int, "For keep: for how many of your next answers"] = 5,
) -> dict[str, Any]:
    """Say how long messages are worth their space: keep them for some answers, pin them, drop them
    now, or leave it to the server. Nothing is lost; context_reload brings a message back."""
    raise NotImplementedError


@tool(read_only=True)
def plan_set(
    ctx: Context,
    goal: Annotated[str, "What is to be true when the task is done; determine it first"],
    tasks: Annotated[list[str], "The tasks that lead there in order, a line each"],
) -> dict[str, Any]:
    """Make the plan, or a new one: its goal, then its tasks. Tasks that are named again keep their
    status. Answers with the plan and the ids of its tasks."""
    raise NotImplementedError


@tool(read_only=True)
def plan_update(
    ctx: Context,
    task: Annotated[str, "The task's id"],
    status: Literal["todo", "in_progress", "completed", "failed", "cancelled"],
    result: Annotated[str, "What came of it, or why not, in a sentence"] = "",
) -> dict[str, Any]:
    """Say how a task of the plan stands. Answers with the plan."""
    raise NotImplementedError


@tool(read_only=True)
def finish(ctx: Context, reason: Annotated[str, "What was done, in one sentence"] = "") -> str:
    """Say that the task is done. Ends the run."""
    raise NotImplementedError


class ControlTool(Tool):
    """A tool that steers the run."""

    control = True


class QuestionTool(ControlTool):
    """The tool `ask_user`: call_decisions.py makes an interrupt of each call that may run."""

    asks = True

    def verdict(self, action: str, reason: str) -> tuple[str, str]:
        """Return the verdict `question` in place of `run`."""
        return "question" if action == "run" else action, reason


class FinishTool(ControlTool):
    """The tool `finish`: its result is the final answer, or the structured output."""

    def is_useful(self, session: Session) -> bool:
        """Return whether the agent lists the tool, or the run requires it."""
        must = wants_finish(session) or outcome.schema_of(session) is not None
        return must or lists_finish(session)

    def in_session(self, session: Session) -> Tool:
        """Return the tool with the session's output schema as parameters, if it has one."""
        if (schema := outcome.schema_of(session)) is None:
            return self
        text = "Give the final answer, when the task is done. Ends the run."
        return replace(self, description=text, parameters=outcome.parameters(schema), returns=None)

    async def run(self, call: Invocation, emit: Emit) -> Outcome:
        """Return the structured output, or the reason."""
        if outcome.schema_of(call.session) is not None:
            return Outcome("ok", call.args, text="done")
        return Outcome("ok", call.args.get("reason") or "done", usage={"wall_ms": 0})


class DetailTool(ControlTool):
    """The tool `tool_detail`, for sessions in which tools are declared in brief."""

    def is_useful(self, session: Session) -> bool:
        """Return whether the session has brief declarations."""
        return bool(session["config"]["yaa"].get("tool_detail", False))

    async def run(self, call: Invocation, emit: Emit) -> Outcome:
        """Describe a tool of the session."""
        answer = call.find(call.args["name"])
        return failure(answer) if isinstance(answer, str) else Outcome("ok", detail(answer))


class ReloadTool(ControlTool):
    """The tool `context_reload`, for sessions of which parts were left out."""

    def is_useful(self, session: Session) -> bool:
        """Return whether the session has something to reload."""
        return bool(ops_of(session))

    async def run(self, call: Invocation, emit: Emit) -> Outcome:
        """Return a message."""
        try:
            answer = reload(call.session, **call.args)
        except NoSuchMessage as error:
            return failure(str(error))
        return Outcome("ok", answer, text=reload_text(answer))


class RetainTool(ControlTool):
    """The tool `context_retain`, for sessions with `config.context.retain_tool`."""

    def is_useful(self, session: Session) -> bool:
        """Return whether the session lets the model say what it keeps."""
        return bool(session["config"].get("context", {}).get("retain_tool"))

    async def run(self, call: Invocation, emit: Emit) -> Outcome:
        """Return the messages and what holds for them; compact.py reads it from the session."""
        try:
            return Outcome("ok", retain(call.session, **call.args))
        except NoSuchMessage as error:
            return failure(str(error))


@dataclass(frozen=True, kw_only=True)
class PlanTool(ControlTool):
    """A tool of the plan. `change`: returns the plan that a call makes. Raises BadPlan."""

    change: Callable[..., Plan] = field(compare=False)

    def is_useful(self, session: Session) -> bool:
        """Return whether the session's mode plans."""
        return mode_of(session).plans

    async def run(self, call: Invocation, emit: Emit) -> Outcome:
        """Emit the new plan, return the changed task or the plan.

        The model reads the whole plan.
        """
        try:
            new_plan = self.change(call.session, **call.args)
        except plan.BadPlan as error:
            return failure(str(error))
        emit(events.plan_set(new_plan))
        changed = next((t for t in new_plan["tasks"] if t["id"] == call.args.get("task")), new_plan)
        return Outcome("ok", changed, text=plan.plan_text(new_plan))


def session_tools() -> tuple[Tool, ...]:
    """Return the tools that work on the session."""
    return (
        QuestionTool.of(ask_user),
        FinishTool.of(finish),
        DetailTool.of(tool_detail),
        ReloadTool.of(context_reload),
        RetainTool.of(context_retain),
        PlanTool.of(plan_set, change=plan.set_plan),
        PlanTool.of(plan_update, change=plan.update),
    )
