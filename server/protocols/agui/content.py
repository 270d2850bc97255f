"""Convert the contents of AG-UI messages to those of a session.

Used by `messages`. Images, audio and documents come as data, as a URL or as the id of a file at a
provider. Unknown parts are passed on unchanged; whether a model accepts a part is checked when its
request is built.
"""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

_FORMATS = {"mpeg": "mp3", "x-wav": "wav", "wave": "wav", "vnd.wave": "wav"}  # OpenAI's names


def content_of(content: Any) -> Any:
    """Return a content in the form of a session: text, or parts."""
    if isinstance(content, list):
        return [_part(part) for part in content]
    return content or ""


def _part(part: Json) -> Json:
    kind, source = part["type"], part.get("source")
    if kind == "binary":  # AG-UI before 1.0
        kind, source = _kind_of(part.get("mimeType")), _older_source(part)
    if kind not in ("image", "audio", "video", "document") or not isinstance(source, dict):
        return part
    value, media = source.get("value"), source.get("mimeType") or "application/octet-stream"
    if not isinstance(value, str) or not isinstance(media, str):
        return part
    if source.get("type") == "file":
        return {"type": "file", "file": {"file_id": value}}
    inline = source.get("type") == "data"
    address = f"data:{media};base64,{value}" if inline else value
    if kind == "document":
        name = _name(part) or "document"
        return {"type": "file", "file": {"filename": name, "file_data": address}}
    if kind == "audio" and inline:
        form = media.partition("/")[2].partition(";")[0].lower()
        audio = {"data": value, "format": _FORMATS.get(form, form)}
        return {"type": "input_audio", "input_audio": audio}
    return {"type": f"{kind}_url", f"{kind}_url": {"url": address}}


def _kind_of(media: Any) -> str:
    kind = media.partition("/")[0] if isinstance(media, str) else ""
    return kind if kind in ("image", "audio", "video") else "document"


def _older_source(part: Json) -> Json:
    for key, kind in (("data", "data"), ("url", "url"), ("id", "file")):
        if isinstance(part.get(key), str):
            return {"type": kind, "value": part[key], "mimeType": part.get("mimeType")}
    return {}


def _name(part: Json) -> str:
    metadata = part.get("metadata")
    known = {**(metadata if isinstance(metadata, dict) else {}), **part}
    return next((v for k in ("filename", "name") if isinstance(v := known.get(k), str)), "")
