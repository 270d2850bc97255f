"""Text of others, as search results and pages have it: what nobody sees is removed. Pure."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote, urlsplit

MAX_URL = 2_048

# Characters that nobody sees: controls, marks that turn the direction of text, zero-width ones
# except the joiners that scripts and emoji need, and the tags in which instructions are hidden.
_UNSEEN = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e0fff]"
)
_NOT_IN_URLS = re.compile(r"[\x00-\x20\x7f<>\"\\^`{|}]")
_CITATION = re.compile(r"\[\^(s\d+(?:\.\d+)?)\]")


def clean(text: str) -> str:
    """Return a text of others without unseen characters, spare blanks, and marks of citations.

    A page that writes `[^s1.1]` itself would have its readers believe that another source says it.
    """
    lines = (" ".join(line.split()) for line in _UNSEEN.sub("", text).splitlines())
    kept: list[str] = []
    for line in lines:
        if line or (kept and kept[-1]):
            kept.append(line)
    return without_citations("\n".join(kept).strip())


def without_citations(text: str) -> str:
    """Return a text whose marks of citations mean nothing any more: `[^s1.1]` becomes `[s1.1]`."""
    return _CITATION.sub(r"[\1]", text)


def without_unseen(text: str) -> str:
    """Return a text without the characters that nobody sees; line ends and tabs stay."""
    return _UNSEEN.sub("", text)


def clean_line(text: str) -> str:
    """Return a text of others as one line."""
    return " ".join(clean(text).split())


def web_url(value: Any) -> str:
    """Return an address of the web as it can be linked to, "" for everything else.

    It is http or https, has a host and no credentials, and is at most MAX_URL characters long.
    """
    if not isinstance(value, str) or len(value) > MAX_URL:
        return ""
    text = _NOT_IN_URLS.sub(lambda found: quote(found[0]), value.strip())
    try:
        parts = urlsplit(text)
        known = parts.scheme.lower() in ("http", "https") and bool(parts.hostname)
        usable = known and parts.port != 0 and not {"%", "@"} & set(parts.netloc)
    except ValueError:
        return ""
    return text if usable and not _UNSEEN.search(text) else ""
