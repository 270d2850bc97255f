"""Log lines: one per record, with the run's id, and never a secret.

Every part logs through `get("area")`; the command line calls `setup` once. Masking happens where a
line is made, so nothing that reaches a handler of ours can skip it, and it works twice: first on
structure (a dict that is logged loses the values of its secret keys), then on the finished text
(key-value pairs, authorization schemes, well-known token shapes and every exact secret that was
`register`ed). The rule of the file: better one harmless word masked than one key written; but
counters such as `max_tokens: 5` stay readable.
"""

from __future__ import annotations

import logging
import re
import sys
import time
from collections.abc import Iterable
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TextIO

MASK = "***"
LEVELS = ("debug", "info", "warning", "error")
MIN_SECRET = 6  # a shorter exact secret would blacken ordinary words

run_id: ContextVar[str] = ContextVar("yaa_run_id", default="")

_secrets: set[str] = set()


def get(area: str) -> logging.Logger:
    """The logger of one part of the server: `yaa.<area>`."""
    return logging.getLogger(f"yaa.{area}")


def setup(level: str, *, stream: TextIO | None = None, folder: Path | None = None) -> None:
    """Send the log to `stream` (stderr) and, where `folder` is given, to `<folder>/yaa.log`.

    Calling it again replaces the handlers. Raises OSError when the file cannot be opened.
    """
    handlers: list[logging.Handler] = [logging.StreamHandler(stream or sys.stderr)]
    if folder is not None:
        handlers.append(logging.FileHandler(folder / "yaa.log", encoding="utf-8"))
    root = logging.getLogger("yaa")
    for old in list(root.handlers):
        root.removeHandler(old)
        old.close()
    for handler in handlers:
        handler.setFormatter(Line())
        root.addHandler(handler)
    root.setLevel(level.upper())
    root.propagate = False


def register(secrets: Iterable[str]) -> None:
    """Remember exact values that no line may hold, whatever they look like."""
    _secrets.update(secret for secret in secrets if len(secret) >= MIN_SECRET)


class Line(logging.Formatter):
    """`2026-11-21T05:20:07.123Z INFO yaa.api run=run_1 text`, with line breaks escaped.

    A trace follows its message on the same line: a record that spreads over lines could be forged
    by anyone whose text is logged. `sed 's/\\\\n/\\n/g'` makes it readable again.
    """

    def format(self, record: logging.LogRecord) -> str:
        text = str(masked(record.msg))
        if record.args:
            text = text % masked(record.args)
        if record.exc_info:
            text += "\n" + self.formatException(record.exc_info)
        run = run_id.get()
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        head = f"{stamp}.{int(record.msecs):03d}Z {record.levelname} {record.name}"
        return one_line(f"{head} run={run} {mask(text)}" if run else f"{head} {mask(text)}")


def one_line(text: str) -> str:
    """`text` with every control character and line separator written as an escape."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def masked(value: Any) -> Any:
    """A copy of JSON-shaped `value` without what its keys call secret; other types unchanged."""
    if isinstance(value, dict):
        return {
            key: MASK if is_secret(key) and _hides(item) else masked(item)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return type(value)(masked(item) for item in value) if type(value) in _PLAIN else value
    return value


def mask(text: str) -> str:
    """`text` with everything that looks like a secret, or is a registered one, replaced."""
    for secret in sorted(_secrets, key=len, reverse=True):
        if secret in text:
            text = text.replace(secret, MASK)
    text = _HEADER.sub(rf"\1{MASK}", text)
    text = _PAIR.sub(_mask_pair, text)
    text = _SCHEME.sub(rf"\1{MASK}", text)
    return _SHAPE.sub(MASK, text)


def is_secret(key: Any) -> bool:
    """Whether a key names a secret: `apiKey`, `X-Api-Key`, `client_secret`; not `max_tokens`."""
    words = _CAMEL.sub(r"\1_\2", str(key)).replace("-", "_").replace(" ", "_").lower()
    return words == "key" or _SECRET_KEY.search(words) is not None


def _hides(value: Any) -> bool:
    return value is not None and value != "" and not isinstance(value, bool)


def _mask_pair(match: re.Match[str]) -> str:
    value = match[2]
    quote = _QUOTE.match(value)
    if value in ("null", "None", "true", "false", "True", "False", MASK):
        return match[0]
    return f"{match[1]}{quote[0]}{MASK}{quote[0]}" if quote else f"{match[1]}{MASK}"


_PLAIN = (list, tuple)  # a named tuple cannot be rebuilt from one iterable
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_CAMEL = re.compile(r"([a-z0-9])([A-Z])")
_QUOTE = re.compile(r"\\*[\"']")

# The list of seed 001 (authorization, api key, tokens, secret, password) and what else the
# providers and tools of this server are known to call their secrets.
_WORDS = (
    r"authorization|api[_-]?keys?|access[_-]?keys?|private[_-]?keys?|secret[_-]?keys?"
    r"|signing[_-]?keys?|token|secrets?|passwords?|passwd|pwd|passphrase|cookies?|credentials?"
)
_SECRET_KEY = re.compile(rf"(?:^|_)(?:{_WORDS}|auth)$|apikeys?$|accesstoken$")

# A header's value goes on to the end of its line and may hold spaces.
_HEADER = re.compile(
    r"((?:authorization|cookie)\s{0,4}[:=]\s{0,4})(?![\"'\\\s])[^\r\n\"']+", re.IGNORECASE
)

# name, separator, value; quotes may be escaped (JSON inside JSON). Each part is bounded or
# linear, so a hostile line cannot make masking slow.
_PAIR = re.compile(
    rf"((?:{_WORDS}|(?<=[?#&])(?:key|code|sig|signature))\\{{0,4}}[\"']?\s{{0,4}}[:=]\s{{0,4}})"
    r"(\"(?:[^\"\\]|\\.)*\"?|'(?:[^'\\]|\\.)*'?|\\{1,4}\"[^\"]*\"?|\[[^\]]*\]?"
    r"|[^\s,;&}\])\"'\\]+)",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"\b((?i:bearer|yaa-api-key)\s{1,4}|Basic\s{1,4}(?=\S{8}))[\w.~+/=:-]+")
_SHAPE = re.compile(
    r"\b(?:sk|rk|pk)[-_][\w-]{8,}"
    r"|\bgh[pousr]_\w{16,}|\bgithub_pat_\w+|\bglpat-[\w-]{10,}"
    r"|\bxox[abeprs]-[\w-]+|\bhf_\w{10,}|\bgsk_\w{10,}|\b(?:xai|nvapi|pplx)-[\w-]{10,}"
    r"|\bAKIA[0-9A-Z]{12,}|\bAIza[\w-]{20,}|\bya29\.[\w-]+"
    r"|\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*"
    r"|-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----(?:(?!-----END)[\s\S])*"
    r"|(?<=://)[^/\s:@]{1,256}:[^/\s@]{1,256}(?=@)"
)
