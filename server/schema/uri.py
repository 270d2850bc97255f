"""URI references, as far as schemas need them: joining and percent-decoding.

Used by `refs`. Rule of the file: RFC 3986 section 5.2 to the letter and for every scheme; nothing
here opens a connection or knows of one.
"""

from __future__ import annotations

import re

_PARTS = re.compile(  # RFC 3986 appendix B, without the fragment
    r"(?:(?P<scheme>[^:/?#]+):)?(?://(?P<authority>[^/?#]*))?(?P<path>[^?#]*)(?:\?(?P<query>[^#]*))?"
)
_ESCAPES = re.compile(r"(?:%[0-9A-Fa-f]{2})+")


def join(base: str, reference: str) -> str:
    """What `reference` means when it stands in a document at `base` (section 5.2.2)."""
    parts, origin = _split(reference), _split(base)
    if parts["scheme"] is None:
        parts["scheme"] = origin["scheme"]
        if parts["authority"] is None:
            parts["authority"] = origin["authority"]
            if parts["path"] == "":
                parts["path"] = origin["path"]
                if parts["query"] is None:
                    parts["query"] = origin["query"]
            elif not (parts["path"] or "").startswith("/"):
                parts["path"] = _merged(origin, parts["path"] or "")
    path = _without_dots(parts["path"] or "")
    scheme = "" if parts["scheme"] is None else parts["scheme"] + ":"
    authority = "" if parts["authority"] is None else "//" + parts["authority"]
    query = "" if parts["query"] is None else "?" + parts["query"]
    return scheme + authority + path + query


def unquote(text: str) -> str:
    """Percent-decode. Bytes that are not UTF-8 become U+FFFD."""
    return _ESCAPES.sub(
        lambda match: bytes.fromhex(match[0].replace("%", "")).decode("utf-8", "replace"), text
    )


def _split(text: str) -> dict[str, str | None]:
    match = _PARTS.match(text)
    return match.groupdict() if match else {}


def _merged(origin: dict[str, str | None], path: str) -> str:
    if origin["authority"] is not None and not origin["path"]:
        return "/" + path
    return (origin["path"] or "").rpartition("/")[0] + "/" * ("/" in (origin["path"] or "")) + path


def _without_dots(path: str) -> str:
    if "/" not in path:
        return path  # urn:example:a.b is opaque
    kept: list[str] = []
    segments = path.split("/")
    for segment in segments:
        if segment == "..":
            if len(kept) > 1 or (kept and kept[0]):
                kept.pop()
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return "/".join(kept)
