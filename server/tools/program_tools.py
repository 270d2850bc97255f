"""Tools as Python objects of the embedding program or of a tool source; they run in this process.

The code is trusted like the server itself, so there is no sandbox and no limit but time. The model
is not trusted: arguments are checked and the policy applies as for any tool. What an object raises
becomes the call's result.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ..json_types import Json
from ..lib.json_schema.generate import SignatureError, schema_of
from ..lib.json_schema.to_json import plain
from ..settings.owner_code import ErrorCapture as Called
from ..settings.owner_code import UnfinishedCalls, load
from ..telemetry import log
from .base import Emit, Invocation, Tool, failure, hints_of, resources_of
from .decorators import MARK, Context, ToolError, check_setting
from .runner import Outcome
from .user_tools import bind_call

MOST_STUCK = 4  # timed-out calls of one object that may still occupy a thread
MAX_TOLD = 2_000  # characters of an exception that the model reads
FUNCTION = "tools"  # of a file that is a source
REFRESH_S = 30.0  # between two calls of a source; `REFRESH_S = …` in its file overrides it
PATIENCE_S = 20.0  # time limit of one call of a source
MOST = 1_000  # tools of one source

logger = log.get("tools")


class BaseTool:
    """Base class for tools: set the members and write `execute`, plain or `async`.

    name                what the model calls it by; the class's name if it is empty
    description         what it is for; the class's docstring if it is empty
    input_schema        JSON Schema of the parameters: an object
    required_resources  `{"wall_s": seconds}`: how long a call may take, up to the server's limit
    read_only           it changes nothing: it runs without approval
    idempotent          it may run again after an interrupted run
    destructive         it may delete or overwrite; None: unless it is read-only
    parallel_safe       it may run beside other calls
    keep                how many model calls the result stays in the model's view; None: the default
    """

    name: str = ""
    description: str = ""
    input_schema: Mapping[str, Any] = {"type": "object", "properties": {}}
    required_resources: Mapping[str, Any] = {}
    read_only: bool = False
    idempotent: bool = False
    destructive: bool | None = None
    parallel_safe: bool = False
    keep: int | None = None

    def execute(self, params: dict[str, Any]) -> Any:
        """Return the result, as JSON. `params` fit the schema.

        Raise ToolError for a failure that the model should read about.
        """
        raise NotImplementedError


class FunctionTool(BaseTool):
    """A function as a tool: types and docstring make its schema, `@tool` sets its hints."""

    def __init__(self, function: Callable[..., Any]) -> None:
        """Read the function's signature. Raises ToolError if no schema can describe it."""
        options: dict[str, Any] = getattr(function, MARK, None) or {}
        try:
            self._signature = schema_of(function, inject=(Context,))
        except SignatureError as error:
            raise ToolError(str(error)) from None
        body = inspect.unwrap(function)
        if inspect.isgeneratorfunction(body) or inspect.isasyncgenfunction(body):
            raise ToolError(f"{self._signature.name}: it is a generator; return a list")
        self._function = function
        self.is_async = inspect.iscoroutinefunction(function)
        self.name = options.get("name") or self._signature.name
        self.description = options.get("description") or self._signature.description or ""
        self.input_schema = self._signature.parameters
        self.returns = self._signature.returns
        for key in ("required_resources", "read_only", "idempotent", "destructive"):
            if options.get(key) is not None:
                setattr(self, key, options[key])
        self.parallel_safe = bool(options.get("parallel_safe"))
        self.keep = options.get("keep")

    def execute(self, params: dict[str, Any], context: Context | None = None) -> Any:
        """Convert the arguments and call the function; see `BaseTool.execute`."""
        context = context or Context({}, lambda message: None)
        return bind_call(self._function, self._signature, params, context)()


def as_object(thing: Any) -> BaseTool:
    """Return a BaseTool, a subclass of it (created without arguments) or a function as an object.

    Raises ToolError for anything else, and for an object without `execute` or a usable schema.
    """
    if isinstance(thing, type) and issubclass(thing, BaseTool):
        thing = thing()
    if not isinstance(thing, BaseTool):
        if not callable(thing) or isinstance(thing, type):
            raise ToolError(f"{thing!r:.60} is no tool: wanted a BaseTool or a function")
        thing = FunctionTool(thing)
    assert isinstance(thing, BaseTool)
    if type(thing).execute is BaseTool.execute:
        raise ToolError(f"{_name(thing)} has no execute")
    if not isinstance(thing.input_schema, Mapping) or thing.input_schema.get("type") != "object":
        raise ToolError(f"{_name(thing)}: input_schema is no JSON Schema of an object")
    return thing


def record(thing: BaseTool, origin: str, objects: Objects) -> ObjectTool:
    """Return the server's record of an object. Raises ToolError for settings of wrong types."""
    options = {
        key: getattr(thing, key)
        for key in ("read_only", "destructive", "idempotent", "parallel_safe", "keep")
        if getattr(thing, key) is not None
    }
    options["required_resources"] = thing.required_resources
    try:
        for key, value in options.items():
            check_setting(key, value)
        parameters = plain(thing.input_schema)
    except (TypeError, ValueError) as error:
        raise ToolError(f"{_name(thing)}: {error}") from None
    described = thing.description or _docstring(thing)
    if not isinstance(described, str) or not isinstance(thing.name, str):
        raise ToolError(f"{_name(thing)}: name and description are texts")
    returns = getattr(thing, "returns", {})
    return ObjectTool(
        *(_name(thing), described, parameters),
        origin=origin,
        hints=hints_of(options),
        required_resources=resources_of(options),
        keep=thing.keep,
        returns=returns,
        thing=thing,
        objects=objects,
    )


def _name(thing: BaseTool) -> str:
    return str(thing.name or type(thing).__name__)


def _docstring(thing: BaseTool) -> str:
    documented = type(thing).__doc__
    return inspect.cleandoc(documented) if documented and type(thing) is not FunctionTool else ""


@dataclass(frozen=True, kw_only=True)
class ObjectTool(Tool):
    """An object of the embedding program or of a tool source. `objects`: shared by all of them."""

    thing: BaseTool = field(compare=False)
    objects: Objects = field(compare=False)

    async def run(self, call: Invocation, emit: Emit) -> Outcome:
        """Call the object."""
        state, wall_s = call.session.get("ext", {}), call.limits["wall_s"]
        return await self.objects.perform(self.thing, call.args, state, wall_s, emit)


class Objects:
    """Calls of objects, with a count of timed-out calls that still run."""

    def __init__(self) -> None:
        self._unfinished = UnfinishedCalls(MOST_STUCK)

    async def perform(
        self, thing: BaseTool, args: Json, state: Json, wall_s: float, emit: Emit
    ) -> Outcome:
        """Run a call for at most `wall_s` seconds and return its Outcome.

        `emit` gets each line that the tool logs, in the event loop.
        """
        started, lines, has_ended = time.monotonic(), list[str](), threading.Event()
        loop = asyncio.get_running_loop()
        if refusal := self._unfinished.refusal(thing):
            return failure(f"it {refusal}")

        def write(message: dict[str, Any]) -> None:
            """Take a log message from the tool. Raises ToolError for a file."""
            if "log" not in message:
                raise ToolError("a tool that runs in the server's process has no folder")
            lines.append(str(message["log"]))
            if not has_ended.is_set():  # a call that was given up may go on in its thread
                loop.call_soon_threadsafe(emit, f"{lines[-1]}\n")

        function: Callable[[], Any] = partial(thing.execute, args)
        is_async = inspect.iscoroutinefunction(thing.execute)
        if isinstance(thing, FunctionTool):
            context = Context(state, write, {"wall_s": wall_s})
            function, is_async = partial(thing.execute, args, context), thing.is_async
        call = self._unfinished.call(thing, function, is_async=is_async, limit_s=wall_s)
        try:
            outcome = await call
        finally:
            has_ended.set()
        usage = {"wall_ms": round((time.monotonic() - started) * 1000)}
        if outcome is None:
            error = {"type": "timeout", "message": f"ended after {wall_s:g} s (wall_s)"}
            return Outcome("timeout", error=error, logs=tuple(lines), usage=usage)
        return _outcome(outcome, tuple(lines), usage)


def _outcome(called: Called, lines: tuple[str, ...], usage: dict[str, Any]) -> Outcome:
    """Return the Outcome of a call from its value or exception."""
    error: BaseException | None = called.error
    if error is None:
        with Called() as made:
            made.value = plain(called.value)
        if made.error is None:
            return Outcome("ok", made.value, logs=lines, usage=usage)
        error = ToolError(f"the result is not JSON: {made.error}")
    if isinstance(error, ToolError):
        told = {"type": "error", "message": str(error)[:MAX_TOLD]}
    else:
        logger.error("a tool failed: %s", type(error).__name__, exc_info=error)
        told = {"type": type(error).__name__, "message": str(error)[:MAX_TOLD]}
    return Outcome("error", error=told, logs=lines, usage=usage)


# -- sources --------------------------------------------------------------------------------------
# Tool sources: files of the owner's `tools/` folder that define `tools()`.
#
# The function returns BaseTools, for instance of a database or a registry, and is called again from
# time to time. A source runs in the server's process, like a hook (settings/owner_code.py); other
# files in the folder never do. A source that fails keeps the tools of its last call.


@dataclass(eq=False)
class SourceFile:
    """A file with `tools()`. `asked_at`: loop time of its last call; `running`: its task."""

    name: str
    function: Callable[[], Any]
    refresh_s: float
    asked_at: float = 0.0
    running: asyncio.Task[None] | None = field(default=None)
    unfinished: UnfinishedCalls = field(default_factory=lambda: UnfinishedCalls(MOST_STUCK))

    def is_due(self, now: float) -> bool:
        """Return whether the source should be called at loop time `now`."""
        return self.running is None and now >= self.asked_at + self.refresh_s

    async def ask(self) -> list[BaseTool | str]:
        """Call `tools()` and return its tools, or for each the reason why it is refused.

        Raises ToolError if the call fails, takes too long or returns no list.
        """
        if refusal := self.unfinished.refusal(self):
            raise ToolError(f"tools() {refusal}")
        is_async = inspect.iscoroutinefunction(self.function)
        call = self.unfinished.call(self, self.function, is_async=is_async, limit_s=PATIENCE_S)
        try:
            outcome = await call
        finally:
            self.asked_at = asyncio.get_running_loop().time()
        if outcome is None:
            raise ToolError(f"tools() took longer than {PATIENCE_S:g} s")
        if outcome.error is not None:
            raise ToolError(f"tools() failed: {outcome.error_line}")
        if isinstance(outcome.value, str | dict) or not isinstance(outcome.value, Iterable):
            raise ToolError(f"tools() gave {type(outcome.value).__name__}, wanted a list of tools")
        return _check_tools(outcome.value)


def _check_tools(things: Iterable[Any]) -> list[BaseTool | str]:
    found: list[BaseTool | str] = []
    with Called() as outcome:  # a generator's own code runs here
        for thing in things:
            if len(found) == MOST:
                found.append(f"only the first {MOST} tools are taken")
                break
            with Called() as one:
                one.value = as_object(thing)
            plain = isinstance(one.error, ToolError)
            found.append(str(one.error) if plain else one.error_line or one.value)
    if outcome.error is not None:
        raise ToolError(f"tools() failed: {outcome.error_line}")
    return found


def is_source(path: Path) -> bool:
    """Return whether a file defines `tools()` at its top level. It is parsed, not run."""
    with Called() as outcome:
        outcome.value = ast.parse(path.read_bytes())
    if outcome.error is not None:
        return False
    return any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name == FUNCTION
        and not node.decorator_list
        for node in outcome.value.body
    )


def load_source(path: Path) -> SourceFile | str:
    """Return the source in a file, or the reason why it is refused."""
    module = load(path, "tools")
    if isinstance(module, str):
        return module
    refresh_s = getattr(module, "REFRESH_S", REFRESH_S)
    if type(refresh_s) not in (int, float) or not refresh_s >= 0:
        return f"REFRESH_S is {refresh_s!r:.40}, wanted a number of seconds"
    return SourceFile(path.name, getattr(module, FUNCTION), float(refresh_s))
