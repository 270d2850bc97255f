"""The command `tools check FILE`: show the tools of a Python file as models see them.

The file is loaded through a child process into a toolbox, exactly as at the start of the server.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from ..config import Config
from ..schema.inline import inline
from ..tools.tool import BaseTool
from ..tools.toolbox import Toolbox

POLICIES = {"run": "runs without asking", "ask": "asks first", "deny": "is denied by this server"}


async def check_file(config: Config, path: Path) -> tuple[list[str], bool]:
    """Return lines for a terminal, and whether every tool of the file can be used."""
    if not _is_file(path):
        return [f"there is no file {path}"], False
    toolbox = Toolbox(config)
    others = config.home / "tools"
    for other in sorted(others.glob("*.py")) if others.is_dir() else ():
        if other.name != path.name:  # their tool names are taken; skip an older copy of this file
            await toolbox.load(other)
    found = await toolbox.load(path)
    lines: list[str] = []
    for item in found:
        if isinstance(item, str):
            lines += [f"refused  {item}", ""]
        else:
            most = config.server["limits"]["tool"]
            lines += [*described(item, toolbox.policy(item, None), most), ""]
    if not found:
        how = (
            "put @tool above a function, and @toolkit above a class of such (from yaa import tool)"
        )
        lines = [f"no tool in this file: {how}", ""]
    refused = sum(isinstance(item, str) for item in found)
    lines.append(f"{len(found) - refused} to use, {refused} refused")
    return lines, bool(found) and not refused


def _is_file(path: Path) -> bool:
    """Return whether there is a file; False if it cannot be accessed."""
    try:
        return path.is_file()
    except OSError:
        return False


def described(tool: BaseTool, policy: str, most: dict[str, float]) -> Iterator[str]:
    """Yield lines about a tool: description, policy, hints, limits, advice and schemas.

    `most`: the server's limits of tools.
    """
    hints = [name for name, on in tool.hints.items() if on]
    yield tool.name
    yield from (f"  {line}" for line in tool.description.splitlines())
    yield f"  policy   {POLICIES[policy]}"
    yield f"  hints    {', '.join(hints) or 'none'}"
    if tool.keep is not None:
        yield f"  keep     {tool.keep}"
    if tool.toolkit[0]:
        yield f"  toolkit  {': '.join(filter(None, tool.toolkit)).splitlines()[0]}"
    if tool.stateful:
        yield "  process  one for each session, for all its calls"
    limits = {k: v for k, v in tool.required_resources.items() if k != "network"}
    if "network" in tool.required_resources:
        yield f"  network  {tool.required_resources['network']}"
    for name, value in limits.items():
        capped = "" if value <= most.get(name, value) else f", the server allows {most[name]:g}"
        yield f"  limit    {name} {value:g}{capped}"
    yield from (f"  better   {line}" for line in advice(tool, most))
    for title, schema in (("schema", tool.parameters), ("result", tool.returns)):
        if not schema:  # a tool need not declare its result
            continue
        yield f"  {title}"
        text = json.dumps(inline(schema), indent=2, ensure_ascii=False)
        yield from (f"    {line}" for line in text.splitlines())


def advice(tool: BaseTool, most: dict[str, float]) -> Iterator[str]:
    """Yield suggestions for a tool that works but could be described better."""
    if not tool.description:
        yield "a docstring: it is all that tells the model what the tool is for"
    for name, about in tool.parameters.get("properties", {}).items():
        if name in ("ctx", "context") and "type" not in about:
            yield f"{name}: Context (from yaa import Context); without it the model fills it in"
        elif isinstance(about, dict) and not about.get("description"):
            yield f'a description of {name}: Annotated[..., "what it is"]'
    for name in tool.required_resources.keys() - {*most, "network"}:
        yield f"required_resources: there is no limit {name}; there are {', '.join(most)}"
