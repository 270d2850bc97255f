"""Speech to text: one recording to the `/audio/transcriptions` of an owner's provider.

The request is multipart/form-data, as OpenAI's API has it. Its type and file name come from the
table below and never from the caller, so that no header of a caller gets into it. The key goes to
the address of its own provider only, and redirects are not followed. Failures are `Failure`s that
quote the provider, with the key masked.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

from ...json_types import Json
from ...lib.http.client import Client, ClientError, Timeouts
from ...lib.runtime.offload import offload
from ...lib.strict_json import JSONError, browser_safe, loads
from ...models.failure import MAX_ERROR_BODY, Failure, from_status, quote
from ...models.provider import API_PATHS
from ...models.registry import Models
from ...telemetry import trace_context

PATH = "/audio/transcriptions"
MAX_AUDIO = 25 << 20  # bytes; what OpenAI and Groq take
MAX_ANSWER = 1 << 20  # bytes; an hour of speech has about 60,000
PATIENCE = Timeouts(connect=10, first_byte=120, idle=30, total=180)
# Types of a recording, with the ending that providers know the format by.
KINDS = {
    "audio/webm": "webm",
    "audio/ogg": "ogg",
    "audio/mp4": "mp4",
    "audio/x-m4a": "m4a",
    "audio/m4a": "m4a",
    "audio/mpeg": "mp3",
    "audio/wav": "wav",
    "audio/wave": "wav",
    "audio/x-wav": "wav",
}
# Models where the owner names none, by the host of the address. Sources: developers.openai.com
# "Speech to text", console.groq.com/docs/speech-to-text, docs.mistral.ai "Audio".
USUAL = {
    "api.openai.com": "gpt-4o-mini-transcribe",
    "api.groq.com": "whisper-large-v3-turbo",
    "api.mistral.ai": "voxtral-mini-latest",
}


def usual_model(url: str) -> str:
    """Return the vendor's model for speech at an address, "" if none is known."""
    return USUAL.get(urlsplit(url).hostname or "", "")


def transcription_url(url: str, api: str) -> str:
    """Return the address for recordings beside that of an API's calls."""
    parts = urlsplit(url)
    path = parts.path.removesuffix(API_PATHS[api]) + PATH
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def multipart(model: str, audio: bytes, kind: str) -> tuple[str, bytes]:
    """Return the Content-Type and the body of a request. `kind` is one of KINDS."""
    boundary = secrets.token_hex(24)  # 192 random bits: no recording contains it
    fields = {"model": model, "response_format": "json"}
    head = "".join(
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    )
    head += (
        f'--{boundary}\r\nContent-Disposition: form-data; name="file";'
        f' filename="speech.{KINDS[kind]}"\r\nContent-Type: {kind}\r\n\r\n'
    )
    body = b"".join((head.encode("utf-8", "replace"), audio, f"\r\n--{boundary}--\r\n".encode()))
    return f"multipart/form-data; boundary={boundary}", body


@dataclass(frozen=True)
class Transcriber:
    """A provider's model that turns speech into text. `url`: where recordings go."""

    name: str
    url: str
    model: str
    client: Client = field(repr=False)
    key: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def info(self) -> Json:
        """Return what clients are told: who hears what is said."""
        return {"provider": self.name, "model": self.model}

    async def transcribe(self, audio: bytes, kind: str, patience: Timeouts = PATIENCE) -> str:
        """Return what is said in a recording. Raises Failure; cancelling closes the connection."""
        content_type, body = await offload(len(audio), multipart, self.model, audio, kind)
        try:
            async with asyncio.timeout(patience.total):
                response = await self.client.request(
                    "POST",
                    self.url,
                    self._headers(content_type),
                    body,
                    timeouts=patience,
                    resendable=True,  # a transcription changes nothing at the provider
                )
                async with response:
                    if response.status not in (200, 201):
                        said = await response.read_prefix(MAX_ERROR_BODY)
                        raise from_status(
                            *(response.status, response.headers, said, self.name, self.key)
                        )
                    answer = await response.read(MAX_ANSWER)
        except ClientError as error:
            text = f"{self.name}: {quote(error.message, self.key)}"
            raise Failure("upstream_error", text) from None
        except TimeoutError:
            text = f"{self.name} gave no answer within {patience.total:g} s"
            raise Failure("upstream_timeout", text) from None
        return await offload(len(answer), self._text, answer)

    def _headers(self, content_type: str) -> dict[str, str]:
        headers = {
            "accept": "application/json",
            "user-agent": "yaa",
            **trace_context.trace_headers(),
        }
        if self.key:
            headers["authorization"] = f"Bearer {self.key}"
        own = {name.lower(): value for name, value in self.headers.items()}
        return headers | own | {"content-type": content_type}

    def _text(self, answer: bytes) -> str:
        try:
            found = loads(answer)
        except JSONError:
            found = None
        text = found.get("text") if isinstance(found, dict) else None
        if not isinstance(text, str):
            said = quote(answer[:2_000].decode("utf-8", "replace"), self.key)
            raise Failure("upstream_error", f"{self.name} answered without a text: {said}")
        return str(browser_safe(text)).strip()


def find_transcriber(models: Models, client: Client) -> Transcriber | None:
    """Return who turns speech into text: the default provider, else the first; None: nobody."""
    for name, api, url, entry in models.entries():
        key, model = entry.get("api_key") or "", entry.get("transcription")
        if model is None and key:  # without a key no vendor answers
            model = usual_model(url)
        if model:
            headers = entry.get("headers") or {}
            return Transcriber(name, transcription_url(url, api), model, client, key, headers)
    return None
