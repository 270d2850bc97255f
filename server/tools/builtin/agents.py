"""The schema of the tool `agent_save`; tools/agent_save.py performs it."""

from __future__ import annotations

from typing import Annotated, Any

from ..tool import Context, tool


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
