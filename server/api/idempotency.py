"""Answer a change that comes again with its `Idempotency-Key`, without making it again.

A client whose answer was lost sends the same request with the same key. A change with a key is made
to its end also if its client is gone meanwhile, so that the repetition finds what came of it.

In memory only, since an answer may hold a new API key, and shared by all Apps of the process. With
several workers each has its own.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Mapping
from functools import partial

from ..errors import Problem
from ..lib.runtime.offload import offload
from .router import READS, Answer, Handler, RequestContext, Route

KEPT_S = 600.0
MOST, MOST_BYTES = 64, 1 << 20  # answers of one person, and bytes of their bodies
MAX_KEY = 255
REPLAYED = {"Idempotent-Replayed": "true"}

_Change = asyncio.Task[Answer]


class Repeats:
    """The changes that are being made, and the answers to the last ones. `clock`: seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._changes: dict[str, dict[str, tuple[float, _Change]]] = {}  # by person and name

    def wrap(self, routes: Mapping[tuple[str, str], Route]) -> dict[tuple[str, str], Route]:
        """Return the routes; those that change something may be repeated."""
        return {
            (method, path): route
            if method in READS
            else route._replace(handler=partial(self.handle, route.handler))
            for (method, path), route in routes.items()
        }

    async def handle(self, handler: Handler, call: RequestContext) -> None:
        """Answer a request, with an earlier answer if it is a repetition. Raises Problem."""
        key = call.request.headers.get("idempotency-key", "")
        if not key:
            await handler(call)
            return
        if len(key) > MAX_KEY:
            text = f"Idempotency-Key has {len(key)} characters; at most {MAX_KEY} are allowed"
            raise Problem("request_invalid", text)
        body = await call.exchange.body()
        name = await offload(len(body), _name, call, key, body)
        of_person = self._of(call.key.owner)
        _, change = of_person.get(name, (0.0, None))
        repeated = change is not None
        if change is None:
            change = asyncio.create_task(call.collect(handler))
            of_person[name] = self._clock(), change
            change.add_done_callback(partial(self._settle, call.key.owner, name))
        answer = await asyncio.shield(change)
        await call.send(answer._replace(headers=answer.headers | REPLAYED) if repeated else answer)

    def _of(self, person: str) -> dict[str, tuple[float, _Change]]:
        """Return the changes of a person, without those that are too old."""
        since = self._clock() - KEPT_S
        for owner, changes in list(self._changes.items()):
            for name, (at, change) in list(changes.items()):
                if at < since and change.done():
                    del changes[name]
            if not changes:
                del self._changes[owner]
        return self._changes.setdefault(person, {})

    def _settle(self, person: str, name: str, change: _Change) -> None:
        """Forget a change that was not made, and the oldest answers beyond the limits."""
        changes = self._changes.get(person, {})
        made = not change.cancelled() and change.exception() is None
        if not made or change.result().status not in (200, 201, 204):
            changes.pop(name, None)
        ended = [(each, one.result()) for each, (_, one) in changes.items() if one.done()]
        size = sum(len(answer.body) for _, answer in ended)
        for count, (oldest, answer) in zip(range(len(ended), 0, -1), ended, strict=True):
            if count <= MOST and size <= MOST_BYTES:
                break
            del changes[oldest]
            size -= len(answer.body)


def _name(call: RequestContext, key: str, body: bytes) -> str:
    """Return what only the same request of the same key has."""
    request = call.request
    piece = request.headers.get("content-range", "")
    told = (call.key.name, str(call.key.is_owner), request.method, request.path, request.query)
    first = "\0".join((*told, piece, key, "")).encode("utf-8", "surrogatepass")
    return hashlib.sha256(first + body).hexdigest()


of_process = Repeats()
