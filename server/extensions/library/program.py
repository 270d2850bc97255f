"""yaa as a library: `from yaa import BaseAgent, BaseServer, OpenAIAPI, run`.

Uses the same configuration, `App` and events as the command line. The program is trusted like the
server: its tools and adapters run in its own process. All calls are synchronous; the event loop
runs in a thread that belongs to the object.
"""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator, Mapping
from contextlib import aclosing, suppress
from copy import deepcopy
from pathlib import Path
from typing import Any, Self, TypeVar, cast

from ...api.auth import keys_of
from ...app import App, routes
from ...cli.serve import certificate
from ...config import Config, ConfigError, expand_path, home_folder, load, make_home
from ...errors import Problem
from ...json_types import Event, Json, Message, Session
from ...lib.http import listener
from ...lib.http.client import Client
from ...lib.http.cors import Origins
from ...lib.http.parser import Body, Buffer, ProtocolError, advance, parse_request
from ...lib.http.parser import MessageLimits as Sizes
from ...lib.runtime.event_loop import Loop
from ...lib.strict_json import JSONError, loads
from ...models import BaseAPI as Model
from ...models import Options
from ...models.adapter import BaseAPI, ModelError, adapter_problem
from ...models.registry import Models
from ...session.fold import Folder
from ...session.schema import ROLE_ALIASES

T = TypeVar("T")

PROGRAM = "program"  # name of the provider for the program's `api`
MOST = "max_connections"  # of BaseServer's config: `server.limits.max_connections`
SETTINGS = (  # of a Chat Completions request, as a session has them in `model_settings`
    *("temperature", "top_p", "stop", "seed", "presence_penalty", "frequency_penalty"),
    *("reasoning_effort", "parallel_tool_calls", "logit_bias", "verbosity"),
)
SHORT = ("host", "port", "api_keys", "workers")  # of BaseServer's config: `server.<name>`
_DONE = object()


class Background:
    """An event loop in a thread of its own, until `close`."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner(loop_factory=Loop)
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._work, name="yaa", daemon=True)
        self._thread.start()
        self._ready.wait()

    def _work(self) -> None:
        with self._runner:
            self._loop = self._runner.get_loop()
            self._loop.call_soon(self._ready.set)
            self._loop.run_forever()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in this loop and return its result. Ctrl-C cancels the coroutine."""
        assert self._loop is not None
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    def close(self) -> None:
        """Stop the loop and join its thread."""
        if self._loop is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()


class OpenAIAPI(BaseAPI):
    """A model behind an API compatible with OpenAI's, or another one that `preset` or `api` names.

    The arguments are those of an entry of `server.providers` (docs/reference/providers.md):
    `OpenAIAPI(api_url="http://127.0.0.1:8080/v1", api_key="…", model_name="…")`.
    """

    def __init__(
        self,
        model_name: str = "",
        *,
        api_url: str = "",
        api_key: str = "",
        preset: str = "",
        **more: Any,
    ) -> None:
        given = {"model_name": model_name, "api_url": api_url, "api_key": api_key, "preset": preset}
        self.entry: Json = {key: value for key, value in given.items() if value} | more
        self.model_name = model_name
        Models({"providers": {PROGRAM: self.entry}}, Client({}), os.environ)  # raises ConfigError

    def request(self, session_data: Json) -> Message:
        """Return the model's next message: `{role, content, tool_calls?, reasoning?, meta}`.

        `session_data`: a session, or the body of a Chat Completions request, as adapters get it.
        Raises ModelError if the provider fails.
        """
        background = Background()
        try:
            return background.run(self._answer(deepcopy(session_data)))
        finally:
            background.close()

    def stream(self, session_data: Json) -> Iterator[Message]:
        """Yield the message of `request`, whole."""
        yield self.request(session_data)

    async def _answer(self, session_data: Json) -> Message:
        client = Client(os.environ)
        try:
            models = Models({"providers": {PROGRAM: self.entry}}, client, os.environ)
            model = models.resolve({"name": PROGRAM})
            return await request_message(model.api, session_data)
        finally:
            await client.close()


OpenAI_API = OpenAIAPI  # an alternative spelling (docs/reference/extension-library.md)


def _request_config(given: Json) -> Json:
    """Return the config of a session, with what a Chat Completions request says instead."""
    config = given.get("config") or {}
    api = config.get("llm_api") or {}
    members = {name: given[name] for name in SETTINGS if given.get(name) is not None}
    own = {"use_custom_temp": True} if "temperature" in members else {}
    said = {name: given[name] for name in ("max_tokens", "stream") if given.get(name) is not None}
    settings = {**(api.get("model_settings") or {}), **members, **own}
    return {**config, "llm_api": {**api, **said, "model_settings": settings}}


async def request_message(api: Model, session_data: Json) -> Message:
    """Return one message of a model. Raises ModelError."""
    numbers = iter(range(1, 1_000_000))
    chosen = session_data.get("tool_choice")
    options = Options.of(
        {**session_data, "config": _request_config(session_data)},
        lambda kind: f"{kind}_{next(numbers)}",
        tool_choice=chosen["function"]["name"] if isinstance(chosen, dict) else chosen,
        response_format=session_data.get("response_format"),
    )
    tools = session_data.get("tools") or []
    messages: list[Any] = [
        {**each, "role": ROLE_ALIASES.get(each.get("role"), each.get("role"))}
        for each in session_data.get("messages") or []
    ]
    made: Session = {"messages": []}
    folder = Folder(made)
    async with aclosing(api.stream(messages, tools, options)) as events:
        async for event in events:
            if event["type"] == "RUN_ERROR":
                retryable = bool(event.get("metadata", {}).get("yaa", {}).get("retryable"))
                raise ModelError(event["message"], retryable=retryable)
            folder.apply(event)
    folder.flush()
    return made["messages"][-1]


class BaseAgent:
    """An agent in this process: a session goes in, the agent runs, the session comes back.

    config  as in `config.json`: `{"server": …, "session": …}`; overrides that of the home folder
    home    the home folder; None: `YAA_HOME`, or `~/.yaa`
    api     the model of sessions that name none: OpenAIAPI, or a BaseAPI of the program's own
    tools   BaseTools or functions, beside the built-in tools. They run in this process; the policy
            applies to them as to any other tool

    `session` is the conversation that `call` continues. Raises ConfigError, and ToolError for a
    tool that cannot be used. Call `close` in the end, or use a `with` statement.
    """

    def __init__(
        self,
        config: Mapping[str, Any] | None = None,
        *,
        home: str | Path | None = None,
        api: BaseAPI | None = None,
        tools: Iterable[Any] = (),
    ) -> None:
        self.session: Session = {"messages": []}
        self._app = _app(_load_config(config, home, api), api, tools)
        self._background = Background()
        try:
            self._background.run(self._app.open())
        except BaseException:
            self.close()
            raise

    def Agent(self, session_data: Session) -> Session:
        """Run a session and return the updated one; `session_data` is not changed."""
        return self.run(session_data)

    def run(self, session: Session, on_event: Callable[[Event], object] | None = None) -> Session:
        """Run a session and return the updated one; `session` is not changed.

        `on_event` is called with each event, in this thread; an exception in it ends the run. A
        returned session with `interrupts` waits for an `answer` in them. Raises Problem if the
        session cannot be run.
        """
        return _follow(self.events(session), on_event)

    def events(self, session: Session) -> Generator[Event, None, Session]:
        """Yield the events of a run; the generator returns the updated session."""
        return self.stepwise(deepcopy(session))

    def stepwise(self, session: Session) -> Generator[Event, None, Session]:
        """Run a session in place and yield the events; the generator returns the session.

        After every event `session` can be stored and run again. Raises Problem.
        """
        perform = self._background.run
        run = perform(self._prepared(session))
        source = run.events()
        try:
            while (event := perform(_next(source))) is not _DONE:
                yield event
        finally:
            with suppress(RuntimeError):  # the agent was closed during the run
                perform(source.aclose())
        done: Session = run.session
        return done

    async def _prepared(self, session: Session) -> Any:
        return self._app.agent.prepare(session)

    def call(
        self, message: str | Mapping[str, Any], on_event: Callable[[Event], object] | None = None
    ) -> Message:
        """Append a user message to the conversation, run it and return the answer.

        If the run failed, the answer is its error message. If the run waits for an answer
        (`session["interrupts"]`), it is the model's last message. A run that `on_event` ends by an
        exception is kept as far as it got. Raises Problem.
        """
        given = {"role": "user", "content": message} if isinstance(message, str) else message
        wanted = deepcopy(self.session)
        wanted["messages"].append(cast(Message, deepcopy(dict(given))))

        def follow(event: Event) -> None:
            """Keep what has run so far, and pass the event on."""
            self.session = wanted
            if on_event is not None:
                on_event(event)

        self.session = _follow(self.stepwise(wanted), follow)
        answer: Message = next(m for m in reversed(self.session["messages"]) if m["role"] != "tool")
        return answer

    def save_state(self) -> Session:
        """Return a copy of the conversation, for a SessionManager (cli/session_files.py)."""
        return deepcopy(self.session)

    def load_state(self, state: Session) -> None:
        """Replace the conversation by a stored one."""
        self.session = {"messages": [], **deepcopy(state)}

    def close(self) -> None:
        """Stop all runs. A closed agent cannot be used again."""
        background = self._background
        with suppress(RuntimeError):
            background.run(self._app.close())
        background.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def run(
    session: Session,
    on_event: Callable[[Event], object] | None = None,
    *,
    config: Mapping[str, Any] | None = None,
    home: str | Path | None = None,
    api: BaseAPI | None = None,
    tools: Iterable[Any] = (),
) -> Session:
    """Run one session and return the updated one. The arguments are those of BaseAgent.

    For more than one run use BaseAgent, which tests the sandbox only once.
    """
    with BaseAgent(config, home=home, api=api, tools=tools) as agent:
        return agent.run(session, on_event)


class BaseServer:
    """A server inside a program: `with BaseServer({"port": 0}) as server`, or `listen()`.

    config          as for BaseAgent; `host`, `port`, `api_keys`, `workers` and `max_connections`
                    may also be given without their sections
    host, port      the address it listens on; `port` is the actual one, also for port 0
    api_keys        the accepted keys; one is generated if none is configured
    max_connections concurrent connections
    socket          the first listening socket

    The other arguments are those of BaseAgent. Raises the exceptions of BaseAgent, and OSError if
    the address cannot be used.
    """

    def __init__(
        self,
        config: Mapping[str, Any] | None = None,
        *,
        home: str | Path | None = None,
        api: BaseAPI | None = None,
        tools: Iterable[Any] = (),
    ) -> None:
        self._config = _load_config(_expand_short_names(config or {}), home, api)
        server = self._config.server
        make_home(self._config.home)
        self._keys, made = keys_of(server, self._config.home)
        self._app = _app(self._config, api, tools)
        self.host: str = server["host"]
        self.max_connections: int = server["limits"]["max_connections"]
        entries = [each if isinstance(each, str) else each["key"] for each in server["api_keys"]]
        self.api_keys: list[str] = entries or [made] * bool(made)
        self._tls = certificate(self._config)
        self._sockets = listener.bind(self.host, server["port"])
        self.socket: socket.socket = self._sockets[0]
        self.port: int = self.socket.getsockname()[1]
        self._background: Background | None = None
        self._listener: listener.BaseServer | None = None
        self._closing = threading.Lock()
        self._stop = threading.Event()

    @property
    def url(self) -> str:
        """Return the URL of the server's page."""
        scheme = "https" if self._tls else "http"
        host = f"[{self.host}]" if ":" in self.host else self.host or "127.0.0.1"
        return f"{scheme}://{host}:{self.port}"

    def listen(self) -> None:
        """Serve until `close` is called in another thread, or until Ctrl-C."""
        self.start()
        try:
            self._stop.wait()
        except BaseException:
            self.close()
            raise

    def start(self) -> None:
        """Serve in a thread until `close`. Return once requests are answered."""
        if self._background is None:
            self._background = Background()
            try:
                self._background.run(self._open())
            except BaseException:
                self.close()
                raise

    async def _open(self) -> None:
        server = self._config.server
        self._listener = listener.BaseServer(
            *(routes(self._app, self._keys), listener.ServerLimits.of(server["limits"])),
            hosts=server["hosts"],
            origins=Origins.of(server),
            spared=("/health",),
            accounts=self._app.accounts,
            count=self._app.process.add_connections,
        )
        await self._app.open()
        await self._listener.serve(self._sockets, self._tls.context if self._tls else None)

    async def _close(self) -> None:
        for part in self._app.parts.values():
            part.stop()
        self._app.agent.stop()
        if self._listener is not None:
            await self._listener.close(self._config.server["limits"]["disconnect_grace_s"])
        await self._app.close()

    def close(self) -> None:
        """Stop runs at a safe point, then stop the server. May be called more than once."""
        with self._closing:
            background, self._background = self._background, None
            if background is not None:
                background.run(self._close())
                background.close()
            for each in self._sockets:
                each.close()
        self._stop.set()  # `listen` returns when all is closed

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _parse_request(self, data: str) -> tuple[Json, str]:
        """Return (session, Authorization header) of the text of a whole HTTP request.

        Raises Problem if it is not one.
        """
        return _request(data)

    def _validate_auth(self, auth_header: str) -> bool:
        """Return whether an Authorization header holds a key of this server."""
        try:
            self._keys.check({"authorization": auth_header})
        except Problem:
            return False
        return True


def _follow(
    events: Generator[Event, None, Session], on_event: Callable[[Event], object] | None
) -> Session:
    """Call `on_event` with each event of a run and return the session."""
    try:
        while True:
            event = next(events)
            if on_event is not None:
                on_event(event)
    except StopIteration as end:
        done: Session = end.value
        return done
    finally:
        events.close()


async def _next(source: Any) -> Any:
    return await anext(source, _DONE)


def _load_config(
    config: Mapping[str, Any] | None, home: str | Path | None, api: BaseAPI | None
) -> Config:
    """Load the configuration of a program. Raises ConfigError."""
    env = dict(os.environ)
    folder = home_folder(str(home) if home is not None else None, env)
    layer: Json = deepcopy(dict(config or {}))
    if api is not None:
        if why := _not_usable(api):
            raise ConfigError(f"api: {why}")
        if entry := _entry(api):
            server = layer.setdefault("server", {})
            server["providers"] = {**server.get("providers", {}), PROGRAM: entry}
            server["default_provider"] = PROGRAM
    named = os.environ.get("YAA_CONFIG")
    file = expand_path(named, "YAA_CONFIG") if named else None
    return load(folder, file, env, layer, "the program")


def _expand_short_names(config: Mapping[str, Any]) -> Json:
    """Return the configuration with BaseServer's short names moved to their sections."""
    found: Json = {key: deepcopy(config[key]) for key in config if key not in (*SHORT, MOST)}
    server = found.setdefault("server", {})
    server.update({key: deepcopy(config[key]) for key in SHORT if key in config})
    if MOST in config:
        server["limits"] = {**server.get("limits", {}), MOST: config[MOST]}
    return found


def _not_usable(api: Any) -> str:
    if not isinstance(api, BaseAPI):
        return f"{api!r:.60} is no BaseAPI"
    return adapter_problem(api)


def _entry(api: BaseAPI) -> Json:
    """Return the provider entry of an OpenAIAPI whose `request` is not overridden, else {}."""
    own = isinstance(api, OpenAIAPI) and type(api).request is OpenAIAPI.request
    return dict(api.entry) if own and isinstance(api, OpenAIAPI) else {}


def _app(config: Config, api: BaseAPI | None, tools: Iterable[Any]) -> App:
    adapters = {PROGRAM: api} if api is not None and not _entry(api) else {}
    return App(config, dict(os.environ), tools=tools, models=adapters)


def _request(data: str) -> tuple[Json, str]:
    buffer, sizes = Buffer(), Sizes()
    buffer.feed(data.encode())
    buffer.feed_eof()
    try:
        if (head := advance(parse_request(buffer, sizes))) is None:
            raise Problem("bad_request", "The request is not whole.")
        body = Body(buffer, head.framing, sizes)
        content = body.pull()
        if not body.done:
            raise Problem("bad_request", "The request is not whole.")
        document = loads(content)
    except ProtocolError as error:
        raise Problem("bad_request", str(error)) from None
    except JSONError as error:
        raise Problem("bad_json", str(error)) from None
    if not isinstance(document, dict):
        raise Problem("session_invalid", "The body must be a session, a JSON object.")
    return document, head.headers.get("authorization", "")
