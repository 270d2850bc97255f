"""An owner's function, in the worker: load its file, convert the arguments, call, plain result.

The server never runs an owner's file: it asks a child to `describe` it and keeps the JSON.
"""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import linecache
import signal
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..schema.convert import convert
from ..schema.generate import SignatureError, schema_of
from ..schema.plain import plain
from ..schema.validate import validate
from .tool import KIT, MARK, Context, ToolError, tool, toolkit

Declared = tuple[str, Callable[..., Any], dict[str, Any]]  # name, function, settings


def call(
    path: str, name: str, args: dict[str, Any], context: Context, source: str | None = None
) -> Any:
    """The result as JSON. Raises ToolError for arguments that do not fit, else what it raises."""
    function = found(load(path, source), name)
    signature = schema_of(function, inject=(Context,))
    values = convert(signature, args)
    if values.errors:
        raise ToolError(values.error)
    values.values.update(dict.fromkeys(signature.injected, context))
    if signature.injected:  # it may look whether it is being ended; any other just ends
        signal.signal(signal.SIGTERM, lambda *_: setattr(context, "cancelled", True))
    positional, named = signature.bind(values.values)
    value = function(*positional, **named)
    result = plain(asyncio.run(_awaited(value)) if inspect.isawaitable(value) else value)
    if signature.returns and (misfits := validate(result, signature.returns)):
        context.log(f"The result is not what its annotation says: {misfits[0]}")
    return result


def load(path: str, source: str | None = None) -> types.ModuleType:
    """An owner's file as a module; in a sandbox, where the file is out of reach, its text comes
    with the call. `from yaa import tool, toolkit, Context` works in it, whether
    the server is installed, and so called yaa, or runs from a checkout."""
    yaa = sys.modules.setdefault("yaa", types.ModuleType("yaa"))
    for thing in (tool, toolkit, Context, ToolError):
        setattr(yaa, thing.__name__, thing)
    if source is None:
        source = importlib.util.decode_source(Path(path).read_bytes())
    module = types.ModuleType("yaa_owner_tools")
    module.__file__ = path
    sys.modules[module.__name__] = module  # dataclasses and type hints look their module up
    # Function bodies in a trace, also where the file cannot be opened.
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
    exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)
    return module


def declared(module: types.ModuleType) -> Iterator[Declared]:
    """Tools of a module, in its order. Methods of toolkits are bound to a new one."""
    for thing in {id(each): each for each in vars(module).values()}.values():
        if getattr(thing, "__module__", None) != module.__name__:
            continue
        if isinstance(thing, type) and getattr(thing, KIT, False):
            one, shared = thing(), getattr(thing, KIT)
            for name, method in inspect.getmembers(one, callable):
                if (options := getattr(method, MARK, None)) is not None:
                    name = options.get("name") or name
                    yield f"{thing.__name__}_{name}", method, {**shared, **options}
        elif callable(thing) and (options := getattr(thing, MARK, None)) is not None:
            yield options.get("name") or thing.__name__, thing, options


def found(module: types.ModuleType, name: str) -> Callable[..., Any]:
    for known, function, _ in declared(module):
        if known == name:
            return function
    raise ToolError(f"the file no longer has a tool {name}")


def describe(path: str, source: str | None = None) -> list[dict[str, Any]]:
    """What the tools of an owner's file look like to a model, or for each {name, problem}: why no
    schema can describe it. The server loads the file nowhere but in a child. Raises what the file
    raises."""
    return [_about(*tool) for tool in declared(load(path, source))]


def _about(name: str, function: Callable[..., Any], options: dict[str, Any]) -> dict[str, Any]:
    body = inspect.unwrap(function)
    if inspect.isgeneratorfunction(body) or inspect.isasyncgenfunction(body):
        return {"name": name, "problem": "it is a generator; return a list of what it yields"}
    try:
        signature = schema_of(function, inject=(Context,))
    except SignatureError as error:
        return {"name": name, "problem": str(error)}
    return {
        "name": name,
        "description": options.get("description") or signature.description or "",
        "parameters": signature.parameters,
        "returns": signature.returns,
        "options": {k: v for k, v in options.items() if k not in ("name", "description")},
    }


async def _awaited(value: Any) -> Any:
    return await value
