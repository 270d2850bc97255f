"""The handler of `POST /transcriptions`: what is said in a recording, as text.

The body is the recording itself, with its Content-Type. It goes to the provider that the owner has
set for this and is kept nowhere; no line of the log has anything of it but its size.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from ..errors import Problem
from ..json_types import Json
from ..models.failure import Failure
from ..models.transcription import KINDS, MAX_AUDIO, Transcriber
from ..runtime.accounts import OWNER, Pool
from ..session.limits import LimitCeilings
from ..telemetry import log
from .router import RequestContext, Route

AT_ONCE = 8  # recordings on their way to a provider
NOBODY = (
    "This server turns no speech into text. Its owner sets server.providers.NAME.transcription to"
    " a model of that provider that does."
)

logger = log.get("api")


def largest(ceilings: LimitCeilings, owner: str) -> int:
    """Return how many bytes a recording of this owner's key may have."""
    return min(MAX_AUDIO, int(ceilings.of(owner)["max_request_size"]))


def transcription_info(
    found: Transcriber | None, ceilings: LimitCeilings, owner: str
) -> Json | None:
    """Return `transcription` of `/info`: who hears what is said, and how much; None: nobody."""
    if found is None:
        return None
    return {**found.info(), "max_bytes": largest(ceilings, owner)}


class Transcriptions:
    """The handler of `POST /transcriptions`. `find` returns who transcribes, None for nobody."""

    def __init__(self, find: Callable[[], Transcriber | None], ceilings: LimitCeilings) -> None:
        self._find, self._ceilings = find, ceilings
        self._places = Pool(AT_ONCE, OWNER)

    def routes(self) -> dict[tuple[str, str], Route]:
        """Return the routes by method and path."""
        return {("POST", "/transcriptions"): Route(self.post)}

    async def post(self, call: RequestContext) -> None:
        """Answer with `{text}`. Raises Problem."""
        transcriber = self._find()
        if transcriber is None:
            raise Problem("not_found", NOBODY)
        kind = _kind(call)
        most = largest(self._ceilings, call.key.owner)
        length = call.request.headers.get("content-length", "")
        _check_size(int(length) if length.isdigit() else 0, most)  # before the body is read
        audio = await call.exchange.body()
        _check_size(len(audio), most)
        if not audio:
            raise Problem("request_invalid", "The body is empty: send the recording itself")
        call.exchange.hold(2 * len(audio))
        began = time.monotonic()
        async with self._places.turn():
            try:
                text = await transcriber.transcribe(audio, kind)
            except Failure as failure:
                logger.info("no transcription of %d bytes: %s", len(audio), failure.message)
                raise Problem("transcription_failed", failure.message) from None
        took = time.monotonic() - began
        logger.info("%s transcribed %d bytes in %.1f s", transcriber.name, len(audio), took)
        await call.json({"text": text})


def _kind(call: RequestContext) -> str:
    """Return the type of the recording without its parameters. Raises Problem."""
    headers = call.request.headers
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in KINDS or headers.get("content-encoding", "identity").lower() != "identity":
        known = ", ".join(KINDS)
        text = f"Send a recording as it is, with its Content-Type: one of {known}"
        raise Problem("unsupported_media_type", text)
    return kind


def _check_size(size: int, most: int) -> None:
    if size > most:
        text = f"The recording has {size} bytes; this key may send {most}. Make it shorter."
        raise Problem("body_too_large", text)
