"""Failures of a model call: their code, whether another attempt may help, and their message.

Request code and decoders raise a `Failure`; `retry` catches it and decides. It leaves this package
only as a RUN_ERROR event. A message quotes the provider in one short line, with every key and
token masked.

code                    status           retryable
upstream_auth           401, 403         no
upstream_rate_limit     429              unless the quota is used up
context_overflow        413, words       no; the context must shrink first
upstream_timeout        408, 504, ours   yes
upstream_unreachable    -                yes, except for a bad certificate
upstream_truncated      -                yes: the stream ended in the middle
upstream_error          everything else  5xx and broken answers
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..json_types import Event
from ..lib.runtime.secret_filter import MASK
from ..lib.strict_json import JSONError, browser_safe, dumps, loads
from ..session.events import run_error
from ..telemetry import redact

MAX_ERROR_BODY = 64 * 1024  # bytes of an error body that are read
MISLED = " (does api_url lead to the API?)"
MAX_QUOTE = 400  # characters of a provider's own words
# Members of an error object that may hold the message, the plainest first.
WORDS = "message error_description detail error base_resp status_msg msg errors title".split()

# 498 means no capacity at Groq; 520 and more are Cloudflare's, for errors of the server behind it.
RETRYABLE_STATUS = frozenset({408, 409, 425, 429, 498, 500, 502, 503, 504, 529, 530})
RETRYABLE_STATUS |= frozenset(range(520, 525))
# Error texts of OpenAI, Anthropic, Bedrock, Gemini, Mistral, xAI, Groq, OpenRouter, Together, Qwen,
# Moonshot, Zhipu, MiniMax, SiliconFlow, GitHub, vLLM, SGLang, TGI, llama.cpp, LM Studio and Ollama.
_OVERFLOW = re.compile(
    r"exceed_context_size|request_too_large|context_length_exceeded|model_context_window_exceeded"
    r"|tokens_limit_reached|context (?:length|window|size|limit)"
    r"|maximum (?:context|prompt|model|allowed input) length|prompt (?:is too long|exceeds)"
    r"|(?:input|prompt|request)(?:(?!took|taking|takes|wait|queue|for too).){0,40}too long"
    r"|(?:input|prompt|request).{0,40}too many tokens|input length.{0,40}exceed"
    r"|token count.{0,60}(?:exceeds|only supports)|exceeded model token limit|max_seq_len"
    r"|range of input length|reduce the length of|inputs. tokens \+|超长",
    re.IGNORECASE,
)
_MAY_OVERFLOW = (400, 413, 422, 429, 500)
# More tokens than the limit of a whole minute, so waiting does not help.
_TOO_LARGE = re.compile(r"request too large for", re.IGNORECASE)
_QUOTA = re.compile(
    r"insufficient[_ ](?:quota|balance|credits?)|arrears|余额不足|欠费", re.IGNORECASE
)
# Error texts of Azure, OpenAI, Qwen, Zhipu and Gemini for a prompt that a filter has stopped.
_FILTER = re.compile(
    r"content[_ ](?:filter|policy|management policy)|ResponsibleAI|data_?inspection_?failed"
    r"|moderation_blocked|PROHIBITED_CONTENT",
    re.IGNORECASE,
)
_KEY = re.compile(r"api[_ ]?key[_ ](?:is )?(?:not[_ ]valid|invalid)", re.IGNORECASE)  # Gemini: 400
_NOWHERE = re.compile(r"not found|not allowed|cannot post|invalid url|^$", re.IGNORECASE)
_MODELS_FAULT = "tool_use_failed"  # Groq's 400 for a malformed call: another attempt may help
_BILLING = re.compile(r"billing", re.IGNORECASE)  # Gemini's limits per minute mention it, too
_PAUSE = re.compile(
    r"(?:try again|retry) in (?:(\d{1,4})h)?(?:(\d{1,4})m(?!s))?(?:(\d{1,6}(?:\.\d{1,12})?)(ms|s))?"
    r"|[\"']retryDelay[\"']\s*:\s*[\"'](\d{1,6}(?:\.\d{1,12})?)s",
    re.IGNORECASE,
)
_SIZES = re.compile(r"(\d{1,9}) tokens > (\d{1,9}) maximum")  # Anthropic
_AMOUNT = r"(\d{1,3}(?:,\d{3})+|\d{3,9})(?![\d,]*\d|[km])"  # 128,000 matches, 128k does not
_WINDOW = re.compile(
    r"(?:maximum (?:context|prompt|model|allowed input) length|context length|context size"
    r"|number of tokens allowed|token limit|count of \d+ exceeds the limit of|supports up to"
    r"|length should be \[1,|max_seq_len|\(TPM\): Limit|\+ \d{1,9} >)"
    rf"(?: is| of| only| of only|:)?\s?\(?{_AMOUNT}|(?<![\d,]){_AMOUNT} maximum context length",
    re.IGNORECASE,
)
# Error types that the newer APIs send in a stream, and the HTTP status of the same error.
_STATUS = {
    "authentication_error": 401,
    "invalid_api_key": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "api_error": 500,
    "server_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
_MISTAKE = re.compile(r"(?:invalid|image|unsupported|empty|failed_to)_.*|.*_policy(?:_.*)?")
_CODES = {429: "upstream_rate_limit", 408: "upstream_timeout", 504: "upstream_timeout"}
# Tags, comments, styles and scripts of a web page; an unclosed one goes on to the page's end.
_TAG = re.compile(
    r"<(style|script)\b.*?(?:</\1>|\Z)|<!--.*?(?:-->|\Z)|<[^<>]{0,2000}>",
    re.IGNORECASE | re.DOTALL,
)


class Failure(Exception):
    """A failed model call.

    `retry_after`: seconds the provider asked for; `details` go into the event.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        retryable: bool = True,
        retry_after: float | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.code, self.message = code, message
        self.retryable, self.retry_after = retryable, retry_after
        self.details = dict(details or {})

    def event(self, attempts: int) -> Event:
        """Return the RUN_ERROR event that ends the stream. `attempts`: how many were made."""
        return run_error(
            self.message, self.code, retryable=self.retryable, attempts=attempts, **self.details
        )


def from_status(
    status: int, headers: Mapping[str, str], body: bytes, where: str, key: str = ""
) -> Failure:
    """Return the failure for an answer other than 200.

    `where`: the provider's name in the message; `key` is masked in quotes.
    """
    said = read_error(body, key)
    quote = f": {said}" if said else ""
    text = f"{where} answered {status}{quote}"
    details: dict[str, Any] = {"status": status}
    if 300 <= status < 400:
        text = f"{where} answered {status}, a redirect, which is not followed with a key; "
        return _final("upstream_error", text + "set api_url to the final address", details)
    whole = f"{said} {body[:4000].decode('utf-8', 'replace')}"
    pause = _pause(whole)
    details |= _reason(status, whole, pause)
    if status == 403 and said:  # the text names the cause: a filter, a country, an account
        return _final("upstream_auth", text, details)
    if status in (401, 403) or (status == 400 and _KEY.search(said)):
        return _final("upstream_auth", f"{text} (is the API key right?)", details)
    if status in (404, 405) and _NOWHERE.search(said) and "model" not in said.lower():
        text += MISLED
    if status in _MAY_OVERFLOW and _overflows(status, whole):
        return _final("context_overflow", text, details | _sizes(whole, _error_in(body)))
    retryable = status in RETRYABLE_STATUS and "reason" not in details
    retryable = retryable or (status == 400 and _MODELS_FAULT in whole)
    if headers.get("x-should-retry") in ("true", "false"):  # OpenAI's own clients obey it
        retryable = headers["x-should-retry"] == "true"
    code = _CODES.get(status, "upstream_error")
    return Failure(code, text, retryable=retryable, retry_after=pause, details=details)


def _reason(status: int, whole: str, pause: float | None) -> dict[str, str]:
    """Return {"reason": …} for a content filter or a used-up quota, which clients name; else {}."""
    if status in (400, 403, 422) and _FILTER.search(whole):
        return {"reason": "content_filter"}
    if status == 402 or (status == 429 and _used_up(whole, pause)):
        return {"reason": "insufficient_quota"}
    return {}


def _overflows(status: int, whole: str) -> bool:
    """Return whether the request is too large. `status` may be a vendor's own code, or 0."""
    if status == 429:
        return _TOO_LARGE.search(whole) is not None
    return status == 413 or _OVERFLOW.search(whole) is not None


def _used_up(whole: str, pause: float | None) -> bool:
    """Return whether the quota is used up. A provider that names a pause has some left."""
    return bool(_QUOTA.search(whole) or (pause is None and _BILLING.search(whole)))


def _pause(whole: str) -> float | None:
    """Return the seconds to wait that an error text asks for, None if it asks for none."""
    told = _PAUSE.search(whole)
    if told is None or not any(told.groups()):
        return None
    hours, minutes, amount, unit, delay = told.groups()
    seconds = float(amount or delay or 0) * (0.001 if unit in ("ms", "MS") else 1)
    return int(hours or 0) * 3600 + int(minutes or 0) * 60 + seconds


def _final(code: str, text: str, details: dict[str, Any]) -> Failure:
    return Failure(code, text, retryable=False, details=details)


def from_chunk(chunk: Any, where: str, key: str = "") -> Failure | None:
    """Return the failure that a chunk of a 200 answer announces, None if it announces none.

    A chunk that is not an object is a failure too.
    """
    if isinstance(chunk, list) and chunk and isinstance(chunk[0], dict):
        if failure := from_chunk(chunk[0], where, key):  # Gemini sends errors in a list
            return failure
    if not isinstance(chunk, dict):
        sent = quote(str(chunk), key)
        return Failure("upstream_error", f"{where} sent {sent} instead of an object")
    base = chunk.get("base_resp")
    failed = isinstance(base, dict) and base.get("status_code") not in (0, None)
    odd = not chunk.get("choices") and isinstance(chunk.get("code"), int | str) and chunk["code"]
    if not (chunk.get("error") or chunk.get("object") == "error" or failed):
        if not odd or not _words(chunk) or str(odd) == "200":
            return None
    said = quote(_words(chunk), key) or "an error without a message"
    text = f"{where} failed: {said}"
    whole = f"{said} {str(chunk.get('error'))[:4000]}"
    code = _number(chunk.get("error"), base, chunk)
    if _overflows(code, whole):
        return _final("context_overflow", text, _sizes(whole, chunk.get("error")))
    if code in (401, 403, 1004):  # 1004 is MiniMax's "not authorized"
        return _final("upstream_auth", text, {})
    pause = _pause(whole)
    retryable = code in RETRYABLE_STATUS or not 400 <= code < 500
    retryable = (retryable and not _used_up(whole, pause)) or _MODELS_FAULT in whole
    details: dict[str, Any] = {"status": code} if 400 <= code < 600 else {}
    details |= _reason(code, whole, pause)
    code_name = _CODES.get(code, "upstream_error")
    return Failure(code_name, text, retryable=retryable, retry_after=pause, details=details)


def read_error(body: bytes, key: str = "") -> str:
    """Return the readable part of an error body: any vendor's JSON, a web page or plain text."""
    text = body.decode("utf-8", "replace")
    try:
        value = loads(text)
    except JSONError:
        return quote(_TAG.sub(" ", text) if text.lstrip().startswith("<") else text, key)
    return quote(_words(value) or text, key)


def error_said(value: Any) -> str:
    """Return the words of an error, JSON or text, behind a colon; "" for none."""
    words = _words(value)[: 100 if isinstance(value, str) else 300]
    words = words or (dumps(value)[:100] if value else "")
    return f": {' '.join(words.split())}" if words else ""


def _words(value: Any) -> str:
    """Return the first message in an error object, "" if none.

    Its name and depth depend on the vendor.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return next(filter(None, map(_words, value[:3])), "")
    if not isinstance(value, dict):
        return ""
    for key in WORDS:
        if found := _words(value.get(key)):
            return found
    return ""


def _number(*places: Any) -> int:
    """Return an HTTP-like or vendor's code from error objects, 0 if they have none."""
    for place in places:
        for key in ("code", "status", "status_code"):
            value = place.get(key) if isinstance(place, dict) else None
            if isinstance(value, int) or (isinstance(value, str) and value[:6].isdecimal()):
                return int(value if isinstance(value, int) else value[:6])
    for place in places:
        for key in ("code", "type"):
            name = place.get(key) if isinstance(place, dict) else None
            if isinstance(name, str) and name in _STATUS:
                return _STATUS[name]
            if isinstance(name, str) and _MISTAKE.fullmatch(name):
                return 400
    return 0


def _error_in(body: bytes) -> Any:
    try:
        value = loads(body)
    except JSONError:
        return None
    return value.get("error") if isinstance(value, dict) else None


def _sizes(whole: str, error: Any) -> dict[str, int]:
    """Return {n_ctx, n_prompt_tokens} in tokens, as far as an error of overflow names them."""
    if told := _SIZES.search(whole):
        return {"n_prompt_tokens": int(told[1]), "n_ctx": int(told[2])}
    own = error if isinstance(error, dict) else {}  # llama.cpp
    found = {key: own.get(key) for key in ("n_prompt_tokens", "n_ctx")}
    if not isinstance(found["n_ctx"], int) and (told := _WINDOW.search(whole)):
        found["n_ctx"] = int((told[1] or told[2]).replace(",", ""))
    return {key: value for key, value in found.items() if isinstance(value, int)}


def quote(text: str, key: str) -> str:
    """Return a text as one printable line of at most MAX_QUOTE characters, with keys masked."""
    if len(key) >= redact.MIN_SECRET:
        text = text.replace(key, MASK)
    text = redact.mask(str(browser_safe(text)))  # before it is cut: half a key is not recognised
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= MAX_QUOTE else text[:MAX_QUOTE] + "…"
