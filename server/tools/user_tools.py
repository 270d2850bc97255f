"""An owner's function, in the worker: load its file, convert the arguments, call, plain result.

The server never runs an owner's code: it asks a child to `describe` it and keeps the JSON. Modules
of the owner's packages are package_code.py's; what is found in a file or a module is the same to
both.
"""

from __future__ import annotations

import asyncio
import functools
import importlib.util
import inspect
import linecache
import signal
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..schema.convert import convert
from ..schema.generate import SignatureError, schema_of
from ..schema.plain import plain
from ..schema.validate import validate
from .tool import KIT, MARK, Context, ToolError, tool, toolkit


class Declared(NamedTuple):
    """One tool as its author wrote it. `kit`: the class of a method, `shared` what that settles."""

    name: str
    function: Callable[..., Any]
    options: dict[str, Any]
    kit: type | None = None
    shared: dict[str, Any] = {}


def call(
    path: str, name: str, args: dict[str, Any], context: Context, source: str | None = None
) -> Any:
    """The result as JSON. Raises ToolError for arguments that do not fit, else what it raises."""
    return called(found(load(path, source), name), args, context)


def called(function: Callable[..., Any], args: dict[str, Any], context: Context) -> Any:
    """What `call` says, of a function."""
    signature = schema_of(function, inject=(Context,))
    values = convert(signature, args)
    if values.errors:
        raise ToolError(values.error)
    values.values.update(dict.fromkeys(signature.injected, context))
    if signature.injected:  # it may look whether it is being ended; any other just ends
        signal.signal(signal.SIGTERM, lambda *_: setattr(context, "cancelled", True))
    positional, named = signature.bind(values.values)
    value = function(*positional, **named)
    result = plain(loop().run(_awaited(value)) if inspect.isawaitable(value) else value)
    if signature.returns and (misfits := validate(result, signature.returns)):
        context.log(f"The result is not what its annotation says: {misfits[0]}")
    return result


@functools.cache
def loop() -> asyncio.Runner:
    """The event loop of this process: what a stateful toolkit made in one call waits in another."""
    return asyncio.Runner()


@functools.cache
def load(path: str, source: str | None = None) -> types.ModuleType:
    """An owner's file as a module; in a sandbox, where the file is out of reach, its text comes
    with the call. A process loads it once."""
    offer_names()
    if source is None:
        source = importlib.util.decode_source(Path(path).read_bytes())
    # Of the folder `tools`, so that no type of it has the name of another file's.
    module = types.ModuleType(f"tools.{Path(path).stem}")
    module.__file__ = path
    sys.modules[module.__name__] = module  # dataclasses and type hints look their module up
    # Function bodies in a trace, also where the file cannot be opened.
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
    exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)
    return module


def offer_names() -> None:
    """Make `from yaa import tool, toolkit, Context, ToolError` work, whether the server is
    installed, and so called yaa, or runs from a checkout."""
    yaa = sys.modules.setdefault("yaa", types.ModuleType("yaa"))
    for thing in (tool, toolkit, Context, ToolError):
        setattr(yaa, thing.__name__, thing)


def declared(module: types.ModuleType) -> Iterator[Declared]:
    """Tools of a module, in its order. Methods of toolkits are bound to the one of this process."""
    for thing in {id(each): each for each in vars(module).values()}.values():
        if getattr(thing, "__module__", None) != module.__name__:
            continue
        if isinstance(thing, type) and getattr(thing, KIT, None):
            yield from methods(thing)
        elif callable(thing) and (options := getattr(thing, MARK, None)) is not None:
            yield Declared(options.get("name") or thing.__name__, thing, options)


def methods(kit: type) -> Iterator[Declared]:
    """The marked methods of a class."""
    shared = getattr(kit, KIT, {})
    for name, method in inspect.getmembers(one(kit), callable):
        if (options := getattr(method, MARK, None)) is not None:
            name = options.get("name") or name
            settled = {"keep": shared.get("keep"), **options}
            yield Declared(f"{kit.__name__}_{name}", method, settled, kit, shared)


@functools.cache
def one(kit: type) -> Any:
    """The instance of a class whose methods are called in this process."""
    return kit()


def found(module: types.ModuleType, name: str) -> Callable[..., Any]:
    for each in declared(module):
        if each.name == name:
            return each.function
    raise ToolError(f"the file no longer has a tool {name}")


def describe(path: str, source: str | None = None) -> list[dict[str, Any]]:
    """What the tools of an owner's file look like to a model, or for each {name, problem}: why no
    schema can describe it. The server loads the file nowhere but in a child. Raises what the file
    raises."""
    return [about(each) for each in declared(load(path, source))]


def about(said: Declared) -> dict[str, Any]:
    """{name, description, parameters, returns, options, toolkit, stateful}, or {name, problem}."""
    body = inspect.unwrap(said.function)
    if inspect.isgeneratorfunction(body) or inspect.isasyncgenfunction(body):
        return {"name": said.name, "problem": "it is a generator; return a list of what it yields"}
    try:
        signature = schema_of(said.function, inject=(Context,), titled=True)
    except SignatureError as error:
        return {"name": said.name, "problem": str(error)}
    apart = ("name", "description")
    return {
        "name": said.name,
        "description": said.options.get("description") or signature.description or "",
        "parameters": signature.parameters,
        "returns": signature.returns,
        "options": {k: v for k, v in said.options.items() if k not in apart},
        "toolkit": [said.kit.__name__, _of_all(said)] if said.kit else ["", ""],
        "stateful": bool(said.shared.get("stateful")),
    }


def _of_all(said: Declared) -> str:
    """What a toolkit says of all its tools."""
    text = said.shared.get("description") or vars(said.kit).get("__doc__") or ""
    return inspect.cleandoc(str(text))


async def _awaited(value: Any) -> Any:
    return await value
