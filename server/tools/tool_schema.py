"""Tool declarations for models: whole, or in brief with the details on request.

With `config.yaa.tool_detail` tools are declared by `brief`, and the tool `tool_detail` answers with
`detail`. A model that calls without asking gets an error that names every problem. Pure.
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
    """Return the declaration of a tool, with its JSON text cached for all requests."""
    return Constant(brief(tool) if in_brief else declaration(tool, results=results, kit=kit))


def declaration(tool: BaseTool, *, results: bool, kit: bool = False) -> dict[str, Any]:
    """Return the whole declaration of a tool, portable between providers.

    Declarations have no field for results, so with `results` and a known type the description
    includes it. `kit`: include the description shared by the toolkit, as for its first tool.
    """
    # The page's own code expects its parameter names, so those are not renamed.
    parameters, more = portable(tool.parameters, rename=tool.kind != "client")
    returned = f"Returns {dumps(inline(tool.returns))}" if results and tool.returns else ""
    name, of_all = tool.toolkit
    common = f"All tools {name}_*: {of_all}" if kit and of_all else ""
    told = "\n\n".join(filter(None, (tool.description, common, more, returned)))
    return _function(tool.name, told, parameters)


def result_schema(tool: BaseTool) -> dict[str, Any]:
    """Return the JSON Schema of the result envelope of this tool."""
    return inline(response_schema(tool.returns))


def toolkit(tool: BaseTool) -> dict[str, str]:
    """Return {name, description} of the toolkit of a tool."""
    return dict(zip(("name", "description"), tool.toolkit, strict=True))


def brief(tool: BaseTool) -> dict[str, Any]:
    """Return a declaration with one line of description and an open schema.

    A tool without parameters is declared whole.
    """
    if not tool.parameters.get("properties"):
        return declaration(tool, results=False)
    # OpenAI refuses an object schema without `properties`.
    nothing: dict[str, Any] = {"type": "object", "properties": {}}
    return _function(tool.name, one_line(tool.description), nothing)


def detail(tool: BaseTool) -> dict[str, Any]:
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
