"""Tools that the loop or the toolbox answers; their functions are here for their schemas alone."""

from __future__ import annotations

from typing import Annotated, Any

from ..tool import Context, tool


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


@tool(read_only=True)
def finish(ctx: Context, reason: Annotated[str, "What was done, in one sentence"] = "") -> str:
    """Say that the task is done. Ends the run."""
    return reason or "done"
