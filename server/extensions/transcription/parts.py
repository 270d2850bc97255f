"""Answer `POST /transcriptions`: what is said in a recording, as text.

The body is the recording itself, with its Content-Type, or a form as OpenAI's clients send it. It
goes to the provider that the owner has set for this and is kept nowhere; no line of the log has
anything of it but its size.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from ...api.body import read_bytes
from ...api.router import RequestContext, Route
from ...errors import Problem
from ...lib.runtime.accounts import OWNER, Pool
from ...lib.runtime.offload import offload
from ...models.failure import Failure
from ...telemetry import log
from ..parts import Host, Parts
from .transcriber import KINDS, MAX_AUDIO, Transcriber, find_transcriber

AT_ONCE = 8  # recordings on their way to a provider
NOBODY = (
    "This server turns no speech into text. Its owner sets server.providers.NAME.transcription to"
    " a model of that provider that does."
)
FORM = "multipart/form-data"
MAX_PARTS = 20  # of a form
ONLY = {"response_format": b"json", "stream": b"false"}  # members of a form with one value only
_BOUNDARY = re.compile(r'boundary="?([^\s";]{1,70})"?', re.IGNORECASE)
_NAME = re.compile(r'\bname="([^"]{1,100})"')
_ENDING = re.compile(r'filename="[^"]*\.([^".]{1,8})"')
_TYPE = re.compile(r"^content-type: *([^\s;]{1,100})", re.IGNORECASE | re.MULTILINE)

logger = log.get("api")


class TranscriptionParts(Parts):
    """The routes of recordings, and what `/info` says of them."""

    def __init__(self, host: Host) -> None:
        super().__init__(host)
        self._places = Pool(AT_ONCE, OWNER)

    def _find(self) -> Transcriber | None:
        return find_transcriber(self.host.models, self.host.client)

    def _largest(self, owner: str) -> int:
        """Return how many bytes a recording of this owner's key may have."""
        return min(MAX_AUDIO, int(self.host.ceilings.of(owner)["max_request_size"]))

    def info(self, owner: str) -> Mapping[str, Any]:
        """Return who hears what is said, and how much; None: nobody."""
        if (transcriber := self._find()) is None:
            return {"transcription": None}
        about = {**transcriber.info(), "max_bytes": self._largest(owner)}
        return {"transcription": about}

    def routes(self) -> Mapping[tuple[str, str], Route]:
        """Return the route, under its own address and under that of OpenAI's API."""
        return {
            ("POST", "/transcriptions"): Route(self.post),
            ("POST", "/v1/audio/transcriptions"): Route(self.post),
        }

    async def post(self, call: RequestContext) -> None:
        """Answer with `{text}`. Raises Problem."""
        transcriber = self._find()
        if transcriber is None:
            raise Problem("not_found", NOBODY)
        kind, boundary = _kind(call)
        most = self._largest(call.key.owner)
        audio = await read_bytes(call, partial(_check_size, most))
        call.exchange.hold((3 if boundary else 2) * len(audio))
        if boundary:
            audio, kind = await offload(len(audio), _read_form, audio, boundary)
        if not audio:
            raise Problem("request_invalid", "The body is empty: send the recording itself")
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


def _kind(call: RequestContext) -> tuple[str, str]:
    """Return the type of the recording without its parameters, and the boundary of a form.

    The boundary is "" if the body is the recording. Raises Problem.
    """
    headers = call.request.headers
    kind, _, rest = headers.get("content-type", "").partition(";")
    kind = kind.strip().lower()
    if kind == FORM and (found := _BOUNDARY.search(rest)):
        return kind, found[1]
    if kind not in KINDS or headers.get("content-encoding", "identity").lower() != "identity":
        known = ", ".join(KINDS)
        text = f"Send a recording as it is, with its Content-Type: one of {known}"
        raise Problem("unsupported_media_type", text)
    return kind, ""


def _read_form(body: bytes, boundary: str) -> tuple[bytes, str]:
    """Return the recording in a form, and its type. Raises Problem.

    The type is that of the part, else what the ending of the file's name says.
    """
    parts: dict[str, tuple[str, bytes]] = {}
    pieces = body.split(f"--{boundary}".encode("latin-1", "replace"), MAX_PARTS + 2)[1:]
    if len(pieces) > MAX_PARTS + 1:  # with what is behind the last boundary
        raise Problem("request_invalid", f"The form has more than {MAX_PARTS} parts: send fewer")
    for part in pieces:
        head, _, value = part.partition(b"\r\n\r\n")
        text = head.decode("utf-8", "replace")
        if name := _NAME.search(text):
            parts[name[1]] = text, value.removesuffix(b"\r\n")
    for member, (_, value) in parts.items():
        if value != ONLY.get(member, value):
            said = f"{member} can only be {ONLY[member].decode()} here: the answer is {{text}}"
            raise Problem("request_invalid", said)
    about, audio = parts.get("file", ("", b""))
    told, named = _TYPE.search(about), _ENDING.search(about)
    ending = named[1].lower() if named else ""
    by_name = next((kind for kind, known in KINDS.items() if known == ending), "")
    kind = told[1].lower() if told else ""
    if not (kind := kind if kind in KINDS else by_name):
        text = f"The form has no recording as its file: its type is one of {', '.join(KINDS)}"
        raise Problem("unsupported_media_type", text)
    return audio, kind


def _check_size(most: int, size: int) -> None:
    if size > most:
        text = f"The recording has {size} bytes; this key may send {most}. Make it shorter."
        raise Problem("body_too_large", text)
