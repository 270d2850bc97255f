"""The routes of `/v1`: agents as OpenAI's models.

A body becomes a session, its run begins as for `POST /session`, and the events are sent in the form
that the official SDKs read. Before a run, an error has its HTTP status. After the run has begun no
response asks for a retry, because tools may have run; a request that is repeated nevertheless
continues its first run.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ... import VERSION
from ...agent.loop import Run
from ...api.router import RequestContext, Route
from ...api.sessions import TERMINAL, Runs
from ...errors import Problem, translate_problems
from ...json_types import Event, Json, Session
from ...lib.runtime import private_files
from ...lib.runtime.offload import offload
from ...lib.strict_json import JSONError, dumps_in_pieces, loads
from ...session import events
from ...tools.execution_claims import Claims
from ..parts import Host, Parts
from . import chat, common, responses
from .common import Reply, shown_value
from .responses import Earlier

# -- response store -------------------------------------------------------------------------------
# A store of this host's recent answers, in files, so that later requests may refer to them.
#
# Each owner has a folder of at most `max_bytes` and MAX_FILES files; beyond that the oldest are
# deleted, and so are files older than `ttl_s`. Processes that share the folder see each other's
# files. Losing a file is harmless: the client gets an error that asks for the whole conversation.

MAX_FILES = 2048
MAX_DEPTH = 200
FILE_SHARE = 4  # one file has at most 1/4 of max_bytes
SWEEP_FILES, SWEEP_SHARE = 64, 8  # sweep a folder after 64 new files or 1/8 of max_bytes
DAY_S = 86_400.0
SWEEP_ALL_S = 3600.0  # between two sweeps of all owners' folders


class ResponseStore:
    """The store. `folder` is created on demand. A `ttl_s` of 0 keeps nothing."""

    def __init__(
        self,
        folder: Path,
        ttl_s: float,
        max_bytes: int,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.folder, self.ttl_s, self.max_bytes = folder, ttl_s, max_bytes
        self._clock = clock
        self._files: Counter[Path] = Counter()  # folder -> files written since the last sweep
        self._bytes: Counter[Path] = Counter()
        self._all_at: float | None = None  # time of the last sweep of all folders

    @property
    def keeps(self) -> bool:
        """Return whether anything is kept at all."""
        return self.ttl_s > 0

    def store(self, owner: str, name: str, value: dict[str, Any]) -> None:
        """Store a value atomically. Raises OSError, also if it is too large."""
        if not self.keeps:
            return
        if len(data := dumps_in_pieces(value).encode()) * FILE_SHARE > self.max_bytes:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        place = self._place(owner)
        private_files.write(place / _hash_name(name), data)
        with contextlib.suppress(OSError):
            self._make_room(place, len(data))

    def fetch(self, owner: str, name: str, most: int) -> tuple[dict[str, Any], int] | None:
        """Return (value, its bytes); None if it is not kept.

        The value is empty if it is larger than `most` bytes.
        """
        path = self._place(owner) / _hash_name(name)
        try:
            found = path.stat()
            if self._clock() - found.st_mtime > self.ttl_s:
                return None
            if found.st_size > most:
                return {}, found.st_size
            value = loads(path.read_bytes(), max_depth=MAX_DEPTH)
        except (OSError, JSONError):
            return None
        return (value, found.st_size) if isinstance(value, dict) else None

    def remove(self, owner: str, name: str) -> bool:
        """Delete a value. Return whether it was kept."""
        try:
            (self._place(owner) / _hash_name(name)).unlink()
        except OSError:
            return False
        return True

    def _make_room(self, place: Path, size: int) -> None:
        now = self._clock()
        if self._all_at is None or not 0 <= now - self._all_at < SWEEP_ALL_S:
            self._all_at = now
            for entry in list(os.scandir(self.folder)):
                self._sweep(Path(entry.path), now)
            return
        self._files[place] += 1
        self._bytes[place] += size
        if self._files[place] >= SWEEP_FILES or self._bytes[place] * SWEEP_SHARE >= self.max_bytes:
            self._sweep(place, now)

    def _sweep(self, place: Path, now: float) -> None:
        """Delete what is too old or too much. Another process may do the same at the same time."""
        del self._files[place], self._bytes[place]
        total = 0
        rows = [(found.st_mtime, found.st_size, path) for path, found in _files(place)]
        # A day to come is of a clock that was wrong: such a file counts as the oldest.
        newest_first = sorted(rows, key=lambda row: (row[0] < now + DAY_S, row), reverse=True)
        for number, (changed_at, size, path) in enumerate(newest_first):
            total += size
            if now - changed_at > self.ttl_s or total > self.max_bytes or number >= MAX_FILES:
                with contextlib.suppress(OSError):
                    path.unlink()
        with contextlib.suppress(OSError):
            place.rmdir()  # fails unless it is empty

    def _place(self, owner: str) -> Path:
        return self.folder / _hash_name(owner)


def _files(place: Path) -> list[tuple[Path, os.stat_result]]:
    found = []
    with contextlib.suppress(OSError):
        for entry in os.scandir(place):
            with contextlib.suppress(OSError):
                found.append((Path(entry.path), entry.stat()))
    return found


def _hash_name(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()


# -- routes ---------------------------------------------------------------------------------------

# -- idempotency ----------------------------------------------------------------------------------
# Recognize a repeated request of /v1 and continue its first run.
#
# The run is stored under the request's name before each call that may not run twice, and a
# repetition begins with the stored part. Both official SDKs repeat a POST when the connection
# breaks before the answer, and mark it with a header; any caller can send an `Idempotency-Key`. The
# body of a repetition is the same, so only what the run added is stored.

KEY = "idempotency-key"
COUNT = "x-stainless-retry-count"  # of the SDKs: how often they have sent this request before
OF_THE_REQUEST = ("agent", "config", "environment", "ext", "messages", "tools")


@dataclass(frozen=True)
class RepeatableRequest:
    """A request that can be recognized when it is repeated.

    name       the key under which its run is stored
    keyed      it has an Idempotency-Key, and may be repeated after it was answered, too
    repeated   it may be a repetition
    """

    name: str
    keyed: bool
    repeated: bool


def request_name(
    headers: Mapping[str, str], who: str, path: str, body: bytes, *, streams: bool
) -> RepeatableRequest | None:
    """Return the name of a request; None if a repetition could not be recognized.

    `who`: the owner of the API key.
    """
    key, count = headers.get(KEY, ""), headers.get(COUNT, "")
    if not key and (streams or not count.isdecimal()):  # SDKs do not repeat a stream that has begun
        return None
    told = "\0".join((who, path, key, "")).encode("utf-8", "surrogatepass")
    name = hashlib.sha256(told + body).hexdigest()
    return RepeatableRequest(name, bool(key), bool(key) or count.strip("0") != "")


def kept_part(session: Session, first: int) -> Json:
    """Return the part of a session that a repetition needs; the request has `first` messages."""
    found = {key: value for key, value in session.items() if key not in OF_THE_REQUEST}
    return found | {"messages": session["messages"][first:]}


def resume_document(document: Json, found: Json) -> Json:
    """Return the session of a repetition: the request's own part and what earlier runs added."""
    asked = document["messages"]
    last: Json = next((each for each in reversed(asked) if each["role"] == "user"), {})
    if message := found.get("run", {}).get("message"):
        last.setdefault("id", message)  # so that the spent budget still counts for it
    own = {key: value for key, value in found.items() if key not in OF_THE_REQUEST}
    return {**document, **own, "messages": [*asked, *found["messages"]]}


def replay_events(messages: Iterable[Json]) -> Iterator[Event]:
    """Yield the events of the texts and thoughts that earlier runs of the request produced."""
    for message in messages:
        if message["role"] != "assistant" or message.get("open"):
            continue
        reasoning = message.get("reasoning") or {}
        if thought := reasoning.get("text"):
            yield events.think_delta(f"{message['id']}-thought", thought)
            yield events.think_end(f"{message['id']}-thought")[0]
        if message["content"]:
            yield events.text_delta(message["id"], message["content"])
            yield events.text_end(message["id"], {}, 0)


# -- routes ---------------------------------------------------------------------------------------

OWNER = "yaa"
# The SDKs send these in browsers, too.
HEADERS = ["openai-beta", "openai-organization", "openai-project"]
_OF_SDKS = (
    "arch async custom-poll-interval helper-method lang os package-version poll-helper raw-response"
    " read-timeout retry-count runtime runtime-version timeout"
)
HEADERS += (f"x-stainless-{name}" for name in _OF_SDKS.split())


class OpenAIParts(Parts):
    """What OpenAI's SDKs have: their routes, and in `/info` what is withheld from them."""

    def session_routes(self, runs: Runs) -> Mapping[tuple[str, str], Route]:
        """Return the routes of `/v1`."""
        openai = OpenAI(self.host, runs)
        table = {
            ("GET", "/v1/models"): openai.models,
            ("GET", "/v1/models/{model}"): openai.model,
            ("POST", "/v1/chat/completions"): openai.chat,
            ("POST", "/v1/responses"): openai.responses,
            ("GET", "/v1/responses/{id}"): openai.response,
            ("DELETE", "/v1/responses/{id}"): openai.delete_response,
        }
        return {at: Route(handler, refusal=common.refusal) for at, handler in table.items()}

    def request_headers(self) -> Iterable[str]:
        """Return those of the SDKs."""
        return HEADERS

    def info(self, owner: str) -> Mapping[str, Any]:
        """Return the names of the tools that are not offered here."""
        return {"fronts": {"openai": {"withheld": self.host.toolbox.interactive_tools()}}}


class OpenAI:
    """The handlers of `/v1`.

    Data that some clients drop is kept in the store of results of interrupted calls.
    """

    def __init__(self, host: Host, runs: Runs) -> None:
        self._runs, self._agents = runs, host.agents
        self._names = host.toolbox.names
        self._kept, self._locks = host.claims, host.locks
        limits = host.config.server["limits"]
        folder = host.config.home / "responses"
        self._recent = ResponseStore(folder, limits["response_ttl_s"], limits["max_request_size"])
        self._fingerprint = f"yaa-{VERSION}"

    async def models(self, call: RequestContext) -> None:
        """Send the list of agents as models."""
        await call.json({"object": "list", "data": self._models(call)})

    async def model(self, call: RequestContext) -> None:
        """Send one agent as a model. Raises Problem if there is none of that name."""
        name = call.at["model"]
        for model in self._models(call):
            if model["id"] == name:
                await call.json(model)
                return
        known = ", ".join(model["id"] for model in self._models(call))
        detail = f"This server has no agent {shown_value(name)}. Known: {known}."
        raise Problem("agent_unknown", detail, status=404)

    def _models(self, call: RequestContext) -> list[dict[str, Any]]:
        agents = self._agents.usable(call.key.owner)
        return [
            {
                "id": name,
                "object": "model",
                "created": agents[name].written,
                "owned_by": OWNER,
            }
            for name in sorted(agents, key=lambda name: name != self._agents.default)
        ]

    async def chat(self, call: RequestContext) -> None:
        """Answer `POST /v1/chat/completions`. Raises Problem for errors before the run begins."""
        with translate_problems(common.sdk_problem):
            await self.complete(call, await self._runs.read(call, "request_invalid"))

    async def complete(self, call: RequestContext, body: dict[str, Any]) -> None:
        """Answer a body of Chat Completions. Raises Problem."""
        document, wish = await offload(
            call.size, chat.read, body, self._names(), self._recall(call)
        )
        async with self._begin_run(call, document, streams=wish.stream) as (run, turn):
            reply = chat.ChatReply(
                run.session,
                wish,
                run_id=run.id,
                first_message=turn.first,
                fingerprint=self._fingerprint,
            )
            await self._answer(call, run, reply, turn, streams=wish.stream)

    async def responses(self, call: RequestContext) -> None:
        """Answer `POST /v1/responses`. Raises Problem for errors before the run begins."""
        with translate_problems(common.sdk_problem):
            body = await self._runs.read(call, "request_invalid")
            document, wish = await offload(
                call.size,
                responses.read,
                body,
                self._names(),
                self._recall(call),
                self._earlier(call),
                keeps=self._recent.keeps,
            )
            async with self._begin_run(call, document, streams=wish.stream) as (run, turn):
                reply = responses.ResponsesReply(
                    run.session, wish, run_id=run.id, first_message=turn.first
                )
                await self._answer(call, run, reply, turn, streams=wish.stream)

    async def response(self, call: RequestContext) -> None:
        """Send a kept answer once more. Raises Problem."""
        owner, name = call.key.owner, call.at["id"]
        call.exchange.hold(2 * responses.MAX_BYTES)
        found = await offload(
            responses.MAX_BYTES, self._recent.fetch, owner, name, responses.MAX_BYTES
        )
        if not found or "response" not in found[0]:
            raise _missing(name)
        await call.json({**found[0]["response"], "output": found[0]["output"]})

    async def delete_response(self, call: RequestContext) -> None:
        """Delete a kept answer. Raises Problem."""
        name = call.at["id"]
        if not self._recent.remove(call.key.owner, name):
            raise _missing(name)
        await call.json({"id": name, "object": "response", "deleted": True})

    @asynccontextmanager
    async def _begin_run(
        self, call: RequestContext, document: dict[str, Any], *, streams: bool
    ) -> AsyncGenerator[tuple[Run, RequestAttempt], None]:
        body, request, owner = await call.exchange.body(), call.request, call.key.owner
        name = request_name(request.headers, owner, request.path, body, streams=streams)
        with self._locks.share(f"request {name.name}") if name else nullcontext(True) as is_only:
            if name and name.repeated and not is_only:
                text = "This request runs here already. Wait for that run, and ask again."
                headers = {"Retry-After": "1", "x-should-retry": "true"}
                raise Problem("run_active", text, headers=headers)
            turn = RequestAttempt(self._kept, place(owner), document, name)
            async with self._runs.begin(call, turn.document) as run:
                run.keep_before_calls(turn.keep)
                yield run, turn

    async def _answer(
        self, call: RequestContext, run: Run, reply: Reply, turn: RequestAttempt, *, streams: bool
    ) -> None:
        reply.keep = partial(self._keep_end, call, run, reply, turn)

        def frame(event: Event, *_: Any) -> bytes:
            """Return the frames of an event."""
            return b"".join(map(reply.frame, turn.with_earlier(event)))

        def see(event: Event) -> None:
            """Handle an event, but not the last one."""
            if event["type"] in TERMINAL:
                ends.append(event)
                return
            for each in turn.with_earlier(event):
                reply.see(each)

        if streams:
            await self._runs.stream(call, run, frame, reply.cut_frames, size=call.size)
            return
        ends = list[Event]()
        await self._runs.collect(call, run, see)
        for end in ends:  # what is kept of it may be as long as the request
            await offload(call.size, reply.see, end)
        status, body = reply.answer()
        await call.json(body, status=status, headers={"x-should-retry": "false"})

    # Some clients (openai-node's runTools) drop fields that OpenAI does not define. The dropped
    # data is kept for a while on this host, in the store of results of interrupted calls.

    def _keep_end(self, call: RequestContext, run: Run, reply: Reply, turn: RequestAttempt) -> bool:
        owner = call.key.owner
        try:
            turn.keep_end(run.session)
            if hidden := reply.hidden_data():
                self._kept.store(place(owner), next(iter(hidden["calls"])), 0, hidden)
            if stored := reply.answer_to_store():
                self._recent.store(owner, *stored)
        except OSError:
            return False
        return True

    def _recall(self, call: RequestContext) -> Callable[[str], dict[str, Any] | None]:
        return lambda call_id: self._kept.fetch(place(call.key.owner), call_id, 0)

    def _earlier(self, call: RequestContext) -> Earlier:
        return lambda name, most: self._recent.fetch(call.key.owner, name, most)


def _missing(name: str) -> Problem:
    return Problem("not_found", f"The answer {shown_value(name)} is not kept here, or no longer")


class RequestAttempt:
    """A request and its session: a new one, or for a repetition the session of the first attempt.

    `first`: how many messages the request itself has.
    """

    def __init__(
        self, kept: Claims, owner: str, document: dict[str, Any], name: RepeatableRequest | None
    ) -> None:
        self._kept, self._owner, self._again = kept, owner, name
        self.document, self.first = document, len(document["messages"])
        found = kept.fetch(owner, name.name, 0) if name and name.repeated else None
        self._is_kept = found is not None
        self._retold: list[Event] = []
        if found:
            self.document = resume_document(document, found)
            self._retold = list(replay_events(found["messages"]))
        elif name and name.keyed:  # its record is found also when what was kept has expired
            self.document.setdefault("id", f"ses_{name.name[:24]}")

    def with_earlier(self, event: Event) -> list[Event]:
        """Return an event, and after `RUN_STARTED` those of earlier runs of the request."""
        return [event, *self._retold] if event["type"] == "RUN_STARTED" else [event]

    def keep(self, session: Session) -> None:
        """Keep the session for a repetition, before a call that may not run twice.

        Raises OSError, unless the session of a call before is kept: its record goes on from there.
        """
        if self._again is None:
            return
        try:
            self._store(session)
        except OSError:
            if not self._is_kept:
                raise

    def keep_end(self, session: Session) -> None:
        """Keep the session once the run has ended. Raises OSError.

        That of a request with an Idempotency-Key, or of one that has made such a call.
        """
        if self._again is not None and (self._is_kept or self._again.keyed):
            self._store(session)

    def _store(self, session: Session) -> None:
        assert self._again is not None
        self._kept.store(self._owner, self._again.name, 0, kept_part(session, self.first))
        self._is_kept = True


def place(owner: str) -> str:
    """Return the key under which things of this owner are kept.

    It is longer than the id of any session: the results of sessions are kept in the same folder.
    """
    return f"openai/{hashlib.blake2b(owner.encode('utf-8', 'surrogatepass')).hexdigest()}"
