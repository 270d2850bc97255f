"""Tools in the owner's files, in the worker: load the file, convert arguments, call, return JSON.

The server never runs an owner's code: a child runs `describe`, and the server keeps the JSON.
An extension does the same for modules of packages, and shares the functions here.
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
from typing import Any, NamedTuple, NoReturn

from ..lib.json_schema.convert import convert
from ..lib.json_schema.generate import Signature, SignatureError, schema_of
from ..lib.json_schema.to_json import plain
from ..lib.json_schema.validate import validate
from .decorators import KIT, MARK, Context, ToolError, tool, toolkit


class ToolDeclaration(NamedTuple):
    """A tool as its author wrote it. `kit`: the class of a method; `shared`: its options."""

    name: str
    function: Callable[..., Any]
    options: dict[str, Any]
    kit: type | None = None
    shared: dict[str, Any] = {}


def call(
    path: str, name: str, args: dict[str, Any], context: Context, source: str | None = None
) -> Any:
    """Return the result of a tool as JSON.

    Raises ToolError for arguments that do not fit, else what the tool raises.
    """
    return call_function(find_function(load(path, source), name), args, context)


def call_function(function: Callable[..., Any], args: dict[str, Any], context: Context) -> Any:
    """Call a tool function and return its result as JSON; see `call`."""
    signature = schema_of(function, inject=(Context,))
    bound = bind_call(function, signature, args, context)
    if signature.injected:  # only a tool with a context can react to SIGTERM
        signal.signal(signal.SIGTERM, lambda *_: setattr(context, "cancelled", True))
    value = bound()
    result = plain(loop().run(_await_value(value)) if inspect.isawaitable(value) else value)
    if signature.returns and (misfits := validate(result, signature.returns)):
        context.log(f"The result is not what its annotation says: {misfits[0]}")
    return result


def bind_call(
    function: Callable[..., Any], signature: Signature, args: dict[str, Any], context: Context
) -> Callable[[], Any]:
    """Return the call of a function with a model's arguments. Raises ToolError for unfit ones."""
    values = convert(signature, args)
    if values.errors:
        raise ToolError(values.error)
    values.values.update(dict.fromkeys(signature.injected, context))
    positional, named = signature.bind(values.values)
    return functools.partial(function, *positional, **named)


@functools.cache
def loop() -> asyncio.Runner:
    """Return the event loop of this process, shared by all calls of a stateful toolkit."""
    return asyncio.Runner()


@functools.cache
def load(path: str, source: str | None = None) -> types.ModuleType:
    """Return an owner's file as a module, loaded once per process.

    In a sandbox the file cannot be opened, so its text comes with the call as `source`.
    """
    offer_names()
    if source is None:
        source = importlib.util.decode_source(Path(path).read_bytes())
    # Named below `tools`, so that its types do not collide with those of other files.
    module = types.ModuleType(f"tools.{Path(path).stem}")
    module.__file__ = path
    sys.modules[module.__name__] = module  # dataclasses and type hints look their module up
    # Tracebacks show source lines even where the file cannot be opened.
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
    exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)
    return module


def offer_names() -> None:
    """Make `from yaa import tool, toolkit, Context, ToolError` work.

    Needed both if the server is installed as `yaa` and if it runs from a checkout.
    """
    yaa = sys.modules.setdefault("yaa", types.ModuleType("yaa"))
    for thing in (tool, toolkit, Context, ToolError):
        setattr(yaa, thing.__name__, thing)
    yaa.__dict__.setdefault("__getattr__", _refuse_name)


def _refuse_name(name: str) -> NoReturn:
    if name.startswith("__"):
        raise AttributeError(name)
    raise ImportError(
        f"a file of tools/ cannot use yaa.{name}: it has tool, toolkit, Context and ToolError."
        " BaseTools are given to a program's BaseAgent, or by a file that defines tools()"
    )


def declarations(module: types.ModuleType) -> Iterator[ToolDeclaration]:
    """Yield the tools of a module in its order, with methods bound to this process's instance."""
    for thing in {id(each): each for each in vars(module).values()}.values():
        if getattr(thing, "__module__", None) != module.__name__:
            continue
        if isinstance(thing, type) and getattr(thing, KIT, None):
            yield from kit_declarations(thing)
        elif isinstance(thing, type) and any(hasattr(each, MARK) for each in vars(thing).values()):
            below: list[type] = thing.__subclasses__()
            if not any(getattr(each, KIT, None) for each in below):
                yield ToolDeclaration(thing.__name__, thing, {})  # which is refused
        elif callable(thing) and (options := getattr(thing, MARK, None)) is not None:
            yield ToolDeclaration(options.get("name") or thing.__name__, thing, options)


def kit_declarations(kit: type) -> Iterator[ToolDeclaration]:
    """Yield the marked methods of a class as tools."""
    shared = getattr(kit, KIT, {})
    for name, method in inspect.getmembers(kit_instance(kit), callable):
        if (options := getattr(method, MARK, None)) is not None:
            name = options.get("name") or name
            settled = {"keep": shared.get("keep"), **options}
            yield ToolDeclaration(f"{kit.__name__}_{name}", method, settled, kit, shared)


@functools.cache
def kit_instance(kit: type) -> Any:
    """Return the instance of a toolkit class in this process."""
    return kit()


def find_function(module: types.ModuleType, name: str) -> Callable[..., Any]:
    """Return the function of a tool. Raises ToolError if the module has no such tool."""
    for each in declarations(module):
        if each.name == name:
            return each.function
    raise ToolError(f"the file no longer has a tool {name}")


def describe(path: str, source: str | None = None) -> list[dict[str, Any]]:
    """Return descriptions of the tools in an owner's file; see `describe_declaration`.

    Called in a child only. Raises what the file raises.
    """
    return [describe_declaration(each) for each in declarations(load(path, source))]


def describe_declaration(said: ToolDeclaration) -> dict[str, Any]:
    """Describe a tool for the server.

    Returns {name, description, parameters, returns, options, toolkit, stateful}, or {name, problem}
    if no schema can describe it.
    """
    if isinstance(said.function, type):
        return {"name": said.name, "problem": "it has methods with @tool; mark it with @toolkit"}
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
        "toolkit": [said.kit.__name__, _kit_description(said)] if said.kit else ["", ""],
        "stateful": bool(said.shared.get("stateful")),
    }


def _kit_description(said: ToolDeclaration) -> str:
    """Return the description shared by the tools of a toolkit."""
    text = said.shared.get("description") or vars(said.kit).get("__doc__") or ""
    return inspect.cleandoc(str(text))


async def _await_value(value: Any) -> Any:
    return await value
