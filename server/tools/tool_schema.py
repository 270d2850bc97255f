"""Large toolsets in few tokens: names and one line each, and the rest when the model asks for it.

With `config.yaa.tool_detail` tools are declared by `brief`, and `tool_detail(name)` answers with
`detail`. A model that calls without asking learns from the error, which names every problem. Pure.
"""

from __future__ import annotations

from typing import Any

from ..schema.example import NOTHING, example
from ..schema.generate import response_schema
from ..schema.inline import inline
from ..schema.portable import portable
from ..strict_json import Constant, dumps
from .tool import BaseTool

MAX_LINE = 100  # characters of the one line


def offer(tool: BaseTool, *, in_brief: bool, results: bool, kit: bool = False) -> Constant:
    """What a model is told of a tool, with its text for every request that has it."""
    return Constant(brief(tool) if in_brief else declaration(tool, results=results, kit=kit))


def declaration(tool: BaseTool, *, results: bool, kit: bool = False) -> dict[str, Any]:
    """What a model is offered, in words that every provider takes. There is no field for what comes
    back, so with `results`, and where anything is known of it, the description says it; nor for
    what the tools of a toolkit have in common, which `kit` says of the first of them."""
    # The calls of a page's tool go out as the model wrote them, to programs that know their names.
    parameters, more = portable(tool.parameters, rename=tool.kind != "client")
    returned = f"Returns {dumps(inline(tool.returns))}" if results and tool.returns else ""
    name, of_all = tool.toolkit
    common = f"All tools {name}_*: {of_all}" if kit and of_all else ""
    told = "\n\n".join(filter(None, (tool.description, common, more, returned)))
    return _function(tool.name, told, parameters)


def result_schema(tool: BaseTool) -> dict[str, Any]:
    """The envelope that results of this tool come in, for people and programs."""
    return inline(response_schema(tool.returns))


def toolkit(tool: BaseTool) -> dict[str, str]:
    """What it belongs to, and what that says of all its tools."""
    return dict(zip(("name", "description"), tool.toolkit, strict=True))


def brief(tool: BaseTool) -> dict[str, Any]:
    """The declaration with one line and an open schema; whole where that is no longer."""
    if not tool.parameters.get("properties"):
        return declaration(tool, results=False)
    # `properties` because OpenAI refuses a schema of an object without it.
    nothing: dict[str, Any] = {"type": "object", "properties": {}}
    return _function(tool.name, one_line(tool.description), nothing)


def detail(tool: BaseTool) -> dict[str, Any]:
    """All there is to know before a call."""
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
    """The first sentence, or as much of it as a line holds."""
    line = " ".join(text.split("\n\n")[0].split())
    sentence, stop, _ = line.partition(". ")
    line = sentence + stop.strip()
    return line if len(line) <= MAX_LINE else line[: MAX_LINE - 2].rpartition(" ")[0] + " …"
