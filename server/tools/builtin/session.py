"""Built-in tools that work on the session and its agents; they run in the server itself."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from ..tool import Context, tool

# -- agents ---------------------------------------------------------------------------------------
# The schema of the tool `agent_save`; tools/agent_save.py performs it.


@tool(destructive=True)
def agent_save(
    ctx: Context,
    name: Annotated[str, "Letters a-z, digits, _ or -"],
    definition: Annotated[
        dict[str, Any],
        "Keys, all optional: description; systemPrompt; mode (free, plain, react, plan_execute);"
        " tools (names; without it all); policy (by tool: ask, deny); limits (max_steps, ...);"
        " provider; model; output_schema; require_finish_tool",
    ],
    replace: Annotated[bool, "Overwrite an agent of this name"] = False,
) -> dict[str, Any]:
    """Save the definition of an agent, for sessions to choose. Only when the user asks for one."""
    raise AssertionError("performed by the server")


# -- control --------------------------------------------------------------------------------------
# Schemas of the tools that the loop or the toolbox performs.


@tool(read_only=True)
def ask_user(
    ctx: Context,
    question: Annotated[str, "What you need to know, in one or two sentences"],
    suggestions: Annotated[list[str], "Up to four likely answers to choose from"] = [],  # noqa: B006
    response_schema: Annotated[dict[str, Any] | None, "JSON Schema of the answer"] = None,
) -> str:
    """Ask the user something that only they can know, and wait for the answer."""
    raise AssertionError("answered by an interrupt")


@tool(read_only=True)
def tool_detail(ctx: Context, name: Annotated[str, "A tool's name"]) -> dict[str, Any]:
    """Tell what a tool does, which arguments it takes, and an example. Ask before a first call."""
    raise AssertionError("answered by the toolbox")


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
    raise AssertionError("answered by the toolbox")


@tool(read_only=True)
def context_retain(
    ctx: Context,
    handles: Annotated[list[str], "Messages, like m12"],
    action: Literal["keep", "pin", "drop", "auto"],
    turns: Annotated[int, "For keep: for how many of your next answers"] = 5,
) -> dict[str, Any]:
    """Say how long messages are worth their space: keep them for some answers, pin them, drop them
    now, or leave it to the server. Nothing is lost; context_reload brings a message back."""
    raise AssertionError("answered by the toolbox")


@tool(read_only=True)
def plan_set(
    ctx: Context,
    goal: Annotated[str, "What is to be true when the task is done; determine it first"],
    tasks: Annotated[list[str], "The tasks that lead there in order, a line each"],
) -> dict[str, Any]:
    """Make the plan, or a new one: its goal, then its tasks. Tasks that are named again keep their
    status. Answers with the plan and the ids of its tasks."""
    raise AssertionError("answered by the toolbox")


@tool(read_only=True)
def plan_update(
    ctx: Context,
    task: Annotated[str, "The task's id"],
    status: Literal["todo", "in_progress", "completed", "failed", "cancelled"],
    result: Annotated[str, "What came of it, or why not, in a sentence"] = "",
) -> dict[str, Any]:
    """Say how a task of the plan stands. Answers with the plan."""
    raise AssertionError("answered by the toolbox")


@tool(read_only=True)
def finish(ctx: Context, reason: Annotated[str, "What was done, in one sentence"] = "") -> str:
    """Say that the task is done. Ends the run."""
    return reason or "done"
