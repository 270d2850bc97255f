"""Models behind the owner's Python code: `models/*.py` of the home folder, or a program's class.

`registry` returns an `AdapterAPI` where a session names an adapter: OpenAI's API with a function
instead of the network. The function gets the body of a Chat Completions request; its result is
read as an answer of that API. Everything it raises, and every invalid result, becomes a `Failure`.
Plain functions run in a thread beside the event loop.
"""

from __future__ import annotations

import asyncio
import inspect
import secrets
import threading
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from contextvars import copy_context
from pathlib import Path
from typing import Any

from ..json_types import Event
from ..lib.http.client import Client
from ..lib.json_schema.to_json import plain
from ..lib.strict_json import browser_safe, dumps, loads
from ..settings.owner_code import ErrorCapture, UnfinishedCalls, load
from ..telemetry import log, redact
from .chat import OpenAIAPI
from .chat_request import ModelCall
from .decoder import StreamDecoder
from .failure import Failure
from .provider import Provider
from .quirks import EndpointState
from .request_text import body_text
from .tool_mode import MODES, ToolMode

AHEAD = 64  # pieces of a plain generator that may wait in the queue
MOST_STUCK = 16  # abandoned calls of one adapter that have not returned
MAX_TOLD = 400  # characters of a ModelError's message

logger = log.get("llm")


class ModelError(Exception):
    """A failure whose message is shown to users.

    `retryable`: another attempt may help; the session's `retry` says how many there are.
    """

    def __init__(self, message: str, *, retryable: bool = True) -> None:
        super().__init__(message)
        self.retryable = retryable


class BaseAPI:
    """A model of one's own. Write `request`, or `stream`, or both; plain or `async`.

    model_name        the model where the session's config names none
    models            all models to choose from; empty for any
    max_context       tokens of a request and its answer together; None: not known
    max_tokens        tokens of an answer at most; None: no limit
    is_function_call  it takes `tools`; without, they go in the tool mode text
    is_reasoning      it reasons before it answers
    costs             prices per 1,000 tokens: input, output, cached, cache_write, or total
    cost_unit         their currency
    """

    model_name: str = ""
    models: Sequence[str] = ()
    max_context: int | None = None
    max_tokens: int | None = None
    is_function_call: bool = True
    is_reasoning: bool = False
    costs: Mapping[str, float] = {}
    cost_unit: str = ""

    def request(self, session_data: dict[str, Any]) -> Any:
        """Return the model's next message.

        `session_data` is the body of a Chat Completions request: `model`, `messages`, `tools`,
        `tool_choice`, `max_tokens`, `stream`, … and the `session_id`. The answer is a text, a
        message `{content?, reasoning?, tool_calls?, usage?, finish_reason?}`, or a whole answer of
        that API (`{choices: …}`). Raise ModelError with a message for users.
        """
        raise NotImplementedError

    def stream(self, session_data: dict[str, Any]) -> Any:
        """Yield the same message in pieces; used where the session wants a stream.

        Each piece is a text, a partial message, or a chunk as Chat Completions streams it.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Release all resources; called when the server stops."""


def adapters(folder: Path, taken: Iterable[str]) -> tuple[dict[str, BaseAPI], list[str]]:
    """Return the adapters of `<folder>/*.py` by file name, and the problems of the other files.

    `taken`: provider names already in use.
    """
    found: dict[str, BaseAPI] = {}
    problems = []
    names = set(taken)
    for path in sorted(folder.glob("*.py")):
        made = f"there is a provider named {path.stem}" if path.stem in names else _adapter(path)
        if isinstance(made, str):
            problems.append(f"models/{path.name}: {made}")
            logger.warning("models/%s is refused: %s", path.name, made)
        else:
            found[path.stem] = made
    return found, problems


def _adapter(path: Path) -> BaseAPI | str:
    """Return the adapter of one file, or why it is refused."""
    module = load(path, "models")
    if isinstance(module, str):
        return module
    classes = [
        thing
        for thing in vars(module).values()
        if isinstance(thing, type) and issubclass(thing, BaseAPI)
        if thing.__module__ == module.__name__ and not thing.__name__.startswith("_")
    ]
    if len(classes) != 1:
        return f"wanted one class that is a BaseAPI (from yaa import BaseAPI), got {len(classes)}"
    with ErrorCapture() as outcome:
        made = classes[0]()
        outcome.value = adapter_problem(made)
    return outcome.error_line or outcome.value or made


def adapter_problem(api: BaseAPI) -> str:
    """Return why an adapter cannot be used, "" if it can."""
    if not (_has(api, "request") or _has(api, "stream")):
        return f"{type(api).__name__} has neither request nor stream"
    for name, kind in (("model_name", str), ("cost_unit", str), ("costs", Mapping)):
        if not isinstance(getattr(api, name), kind):
            return f"{name} is {getattr(api, name)!r:.40}"
    for name in ("max_context", "max_tokens"):
        value = getattr(api, name)
        if value is not None and (type(value) is not int or value < 1):
            return f"{name} is {value!r:.40}, wanted a number of tokens"
    models = api.models
    if isinstance(models, str) or not all(isinstance(each, str) for each in models):
        return "models is no list of names"
    for price in api.costs.values():
        if type(price) not in (int, float) or not 0 <= price < 2**53:
            return f"costs: {price!r:.40} is no price"
    return ""


def _has(api: BaseAPI, name: str) -> bool:
    return getattr(type(api), name) is not getattr(BaseAPI, name)


class AdapterAPI(OpenAIAPI):
    """One adapter and model, as the agent calls it."""

    def __init__(
        self,
        adapter: BaseAPI,
        provider: Provider,
        client: Client,
        peer: EndpointState | None = None,
        modes: Mapping[str, ToolMode] = MODES,
    ) -> None:
        super().__init__(provider, client, peer, modes=modes)
        self._adapter = adapter

    async def _answer(
        self, make: Callable[[], ModelCall], left: float | None
    ) -> AsyncGenerator[Event, None]:
        """See RemoteAPI."""
        call = make()
        await self._keep_pace(call)
        text = body_text(call.body(False))
        body = loads(text.encode("utf-8", "replace")) | {"session_id": call.options.session_id}
        answer = self._make_decoder(call)
        chunks = ChunkConverter(self.provider.name)
        function = self._adapter.request
        if not _has(self._adapter, "request") or (body["stream"] and _has(self._adapter, "stream")):
            function = self._adapter.stream
        limits = (call.options.first_byte_timeout, call.options.idle_timeout, left)
        async with aclosing(self._read_pieces(function, body, limits)) as source:
            async for piece in source:
                for event in _events_of_piece(answer, chunks, piece):
                    yield event
        if not answer.is_finished:
            answer.feed({"choices": [{"delta": {}, "finish_reason": "stop"}]})
        for event in answer.finish(len(text)):
            yield event

    async def _read_pieces(
        self,
        function: Callable[[dict[str, Any]], Any],
        body: dict[str, Any],
        limits: tuple[float | None, float | None, float | None],
    ) -> AsyncGenerator[Any, None]:
        """Yield the adapter's pieces.

        `limits`: seconds until the first piece, between two, in total.

        Raises Failure.
        """
        first, idle, total = limits
        clock = asyncio.get_running_loop().time
        end = None if total is None else clock() + total
        with ErrorCapture() as outcome:
            async with aclosing(_pieces(function, body)) as source:
                patience = first
                while True:
                    until = [end] if end is not None else []
                    until += [clock() + patience] if patience is not None else []
                    async with asyncio.timeout_at(min(until, default=None)) as limit:
                        piece = await anext(source, _END)
                    if piece is _END:
                        return
                    yield piece
                    patience = idle
        if outcome.error is not None:
            late = isinstance(outcome.error, TimeoutError) and limit.expired()
            raise self._failure_of(outcome.error, late=late)

    def _failure_of(self, error: BaseException, *, late: bool) -> Failure:
        """Return the Failure for an exception of the adapter. `late`: it was a time limit."""
        name = self.provider.name
        if late:
            return Failure("upstream_timeout", f"{name} took too long", retryable=True)
        if isinstance(error, Failure):
            return error
        if isinstance(error, ModelError):
            said = " ".join(redact.mask_values({"said": str(error)})["said"].split())[:MAX_TOLD]
            text = browser_safe(f"{name}: {said}")
            return Failure("upstream_error", text, retryable=error.retryable)
        incident = secrets.token_hex(6)
        logger.error("adapter %s failed (incident %s)", name, incident, exc_info=error)
        text = (
            f"The adapter {name} failed: {type(error).__name__}."
            f" The server's log has the details under {incident}."
        )
        return Failure("upstream_error", text, retryable=isinstance(error, OSError))


_END = object()
_unfinished = UnfinishedCalls(MOST_STUCK)


async def _pieces(
    function: Callable[[dict[str, Any]], Any], body: dict[str, Any]
) -> AsyncGenerator[Any, None]:
    """Yield all pieces of a function: plain or async, generator or not. Raises what it raises."""
    if inspect.isasyncgenfunction(function):
        async with aclosing(function(body)) as source:
            async for piece in source:
                yield piece
    elif inspect.iscoroutinefunction(function):
        yield await function(body)
    else:
        async with aclosing(_from_thread(function, body)) as source:
            async for piece in source:
                yield piece


async def _from_thread(
    function: Callable[[dict[str, Any]], Any], body: dict[str, Any]
) -> AsyncGenerator[Any, None]:
    """Yield what a plain function returns or yields, in a thread.

    When the consumer leaves, a generator ends at its next piece; a thread that does not return is
    abandoned and counted. Raises ModelError after MOST_STUCK of them.
    """
    owner = getattr(function, "__self__", function)
    if refusal := _unfinished.refusal(owner):
        raise ModelError(refusal, retryable=False)
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[Any] = asyncio.Queue()
    room, left, outcome = threading.Semaphore(AHEAD), threading.Event(), ErrorCapture()

    def tell(piece: Any) -> None:
        """Put a piece into the queue of the event loop."""
        with suppress(RuntimeError):  # the loop is closed: the server has stopped
            loop.call_soon_threadsafe(queue.put_nowait, piece)

    def work() -> None:
        """Run the function in the thread, and put its pieces and the end mark into the queue."""
        with outcome:
            value = function(body)
            if isinstance(value, Iterator):
                for piece in value:
                    room.acquire()
                    if left.is_set():
                        break
                    tell(piece)
                if close := getattr(value, "close", None):
                    close()
            else:
                tell(value)
        tell(_END)

    ended = False
    threading.Thread(target=copy_context().run, args=(work,), daemon=True).start()
    try:
        while (piece := await queue.get()) is not _END:
            room.release()
            yield piece
        ended = True
    finally:
        left.set()
        room.release(AHEAD)
        if not ended:
            _unfinished.add(owner, asyncio.ensure_future(_until_end(queue)))
    if outcome.error is not None:
        raise outcome.error


async def _until_end(queue: asyncio.Queue[Any]) -> None:
    while await queue.get() is not _END:
        pass


# -- results --------------------------------------------------------------------------------------


def _events_of_piece(answer: StreamDecoder, chunks: ChunkConverter, piece: Any) -> list[Event]:
    """Return the events of a piece. Raises Failure."""
    with ErrorCapture() as outcome:
        outcome.value = [event for chunk in chunks.convert(piece) for event in answer.feed(chunk)]
    if isinstance(outcome.error, Failure):
        raise outcome.error
    if outcome.error is not None:
        raise Failure(
            "upstream_error", f"{chunks.name} gave what is no message: {outcome.error_line}"
        )
    return list(outcome.value)


class ChunkConverter:
    """Convert pieces of a message to chunks of Chat Completions."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._calls = 0

    def convert(self, piece: Any) -> Iterator[dict[str, Any]]:
        """Yield the chunks of a piece. Raises Failure if it is neither a text nor a message."""
        if isinstance(piece, str):
            piece = {"content": piece}
        if not isinstance(piece, Mapping):
            kind = type(piece).__name__
            raise Failure("upstream_error", f"{self.name} gave {kind}, wanted a text or a message")
        piece = plain(piece)
        if "choices" in piece or "error" in piece:
            yield piece
            return
        delta: dict[str, Any] = {}
        for name in ("reasoning", "reasoning_content", "content"):
            if piece.get(name):
                delta[name] = piece[name]
        if calls := piece.get("tool_calls"):
            delta["tool_calls"] = [self._call(call) for call in calls]
        choice: dict[str, Any] = {"index": 0, "delta": delta}
        if reason := piece.get("finish_reason"):
            choice["finish_reason"] = reason
        yield {"choices": [choice], "usage": piece.get("usage")}

    def _call(self, call: dict[str, Any]) -> dict[str, Any]:
        """Return a whole call from any usual shape.

        Arguments may be an object, or named `input`.
        """
        function = call.get("function") or call
        args = function.get("arguments", function.get("input", {}))
        index, self._calls = self._calls, self._calls + 1
        made = {
            "name": function["name"],
            "arguments": args if isinstance(args, str) else dumps(args),
        }
        return {"index": index, "id": call.get("id") or "", "type": "function", "function": made}
