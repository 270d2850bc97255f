"""Recognise pictures and other media by their bytes, and read those that a message carries. Pure.

A result of a tool may carry media in its envelope: `media`, a list of {media_type, data, bytes,
name, width?, height?, path?} with `data` in base64; an answer with what the model made has the same
list beside its text. A user's message carries them as parts of its content. Context/pictures.py
makes parts of the former two when a request is built.
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

from ..json_types import Json
from ..lib.strict_json import objects_in

MAX_BYTES = 3_750_000  # of one file: 5 MB of base64, which is what Anthropic takes
MAX_SIDE = 8_000  # pixels: Anthropic's limit, and no provider shows more than a fourth of it
MAX_ITEMS = 8  # of one result
MAX_RESULT = 6_000_000  # characters of base64 in one result
MAX_SESSION = 16_000_000  # and in the results of one session: a request may have 32 MiB
PICTURES = ("image/png", "image/jpeg", "image/gif", "image/webp")
PDF = "application/pdf"
AUDIO = {"audio/wav": "wav", "audio/mpeg": "mp3"}  # and their names in a request
PLAYED = ("audio/flac", "audio/ogg")  # sounds that a page plays, and that a model gets in words
SNIFFED = 131_072  # bytes of a data URL that are searched for the size of a picture
NAMES = ("data", "b64_json", "result")  # of members that hold base64 in a model's answer
MAX_BLOCKS = 100_000  # blocks of a file that are followed; more are taken for an attack

_MARKER = re.compile(rb"\xff[^\x00\xff\xd0-\xd7]")  # in the compressed data of a JPEG
_ADDRESS = re.compile(r"https?://[^\s<>()\[\]]{1,2000}", re.IGNORECASE)  # as Markdown takes it
_DATA_URL = re.compile(r"data:([a-z]+/[a-z0-9.+-]+);base64,", re.IGNORECASE)


class MediaError(ValueError):
    """A file cannot be shown to a model; the text says why."""


class Media(NamedTuple):
    """A recognised file: its type, its bytes without what stands behind its end, and its size.

    `width`, `height`: in pixels, 0 for a file that is no picture.
    """

    media_type: str
    data: bytes
    width: int = 0
    height: int = 0


_HEADS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    **dict.fromkeys((b"GIF87a", b"GIF89a"), "image/gif"),
    b"%PDF-": PDF,
    **dict.fromkeys((b"ID3", b"\xff\xfb", b"\xff\xf3", b"\xff\xf2"), "audio/mpeg"),
    b"fLaC": "audio/flac",
    b"OggS": "audio/ogg",
}


def kind_of(head: bytes) -> str:
    """Return the media type that the first bytes of a file tell, "" for any other file."""
    if head.startswith(b"RIFF"):
        return {b"WEBP": "image/webp", b"WAVE": "audio/wav"}.get(head[8:12], "")
    return next((kind for begin, kind in _HEADS.items() if head.startswith(begin)), "")


def recognise(data: bytes) -> Media:
    """Return what a file is, by its bytes. Raises MediaError if no model could read it.

    What stands behind the end of a picture, such as another file, is cut off, and a part of a PNG
    that no picture needs is left out if it is broken.
    """
    kind = kind_of(data)
    if not kind:
        raise MediaError("it is neither a PNG, JPEG, GIF or WebP, nor a PDF, WAV, MP3, FLAC or Ogg")
    if len(data) > MAX_BYTES:
        most = f"{MAX_BYTES / 1e6:g} MB"
        raise MediaError(f"it has {len(data) / 1e6:.1f} MB, and {most} can be shown: make it less")
    if kind not in PICTURES:
        if kind == PDF and b"%%EOF" not in data[-2048:]:
            raise MediaError("the PDF is cut off")
        return Media(kind, data)
    try:
        width, height, data = _READERS[kind](data)
    except (IndexError, ValueError) as error:
        why = str(error) if isinstance(error, MediaError) else "is cut off or broken"
        raise MediaError(f"the picture {why} ({kind})") from None
    if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE):
        raise MediaError(
            f"the picture has {width} x {height} pixels, and {MAX_SIDE} x {MAX_SIDE} can be shown:"
            " make it smaller"
        )
    return Media(kind, data, width, height)


# -- formats: each returns (width, height, the bytes of the picture) -------------------------------


def _number(data: bytes, at: int, count: int, order: Any = "big") -> int:
    if at + count > len(data):
        raise IndexError
    return int.from_bytes(data[at : at + count], order)


def _png(data: bytes) -> tuple[int, int, bytes]:
    at, filled, kept = 8, False, [data[:8]]
    for _ in range(MAX_BLOCKS):
        length, kind = _number(data, at, 4), data[at + 4 : at + 8]
        if at == 8 and (kind, length) != (b"IHDR", 13):
            break
        end = at + 8 + length
        if zlib.crc32(data[at + 4 : end]) == _number(data, end, 4):
            kept.append(data[at : end + 4])
        elif not (kind.isalpha() and kind[:1].islower()):  # lowercase: pictures do without it
            raise MediaError("is broken: a checksum is wrong")
        filled = filled or kind == b"IDAT"
        if kind == b"IEND" and filled:
            return _number(data, 16, 4), _number(data, 20, 4), b"".join(kept)
        at = end + 4
    raise ValueError


def _jpeg(data: bytes) -> tuple[int, int, bytes]:
    at, size = 2, (0, 0)
    for _ in range(MAX_BLOCKS):
        while _number(data, at, 2) == 0xFFFF:
            at += 1
        first, marker = data[at], data[at + 1]
        if first != 0xFF:
            break
        if marker == 0xD9:
            return *size, data[: at + 2]
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            size = _number(data, at + 7, 2), _number(data, at + 5, 2)
        length = _number(data, at + 2, 2)
        if length < 2:
            break
        at += 2 + length
        if marker == 0xDA:
            found = _MARKER.search(data, at)
            if found is None:
                break
            at = found.start()
    raise ValueError


def _gif(data: bytes) -> tuple[int, int, bytes]:
    packed = data[10]
    at = 13 + (3 << (packed & 7) + 1 if packed & 0x80 else 0)
    blocks = 0
    while blocks < MAX_BLOCKS:
        kind = data[at]
        if kind == 0x3B:
            return _number(data, 6, 2, "little"), _number(data, 8, 2, "little"), data[: at + 1]
        if kind == 0x2C:
            packed = data[at + 9]
            at += 11 + (3 << (packed & 7) + 1 if packed & 0x80 else 0)
        elif kind == 0x21:
            at += 2
        else:
            break
        while (length := data[at]) and blocks < MAX_BLOCKS:
            at += 1 + length
            blocks += 1
        at += 1
        blocks += 1
    raise ValueError


def _webp(data: bytes) -> tuple[int, int, bytes]:
    end = 8 + _number(data, 4, 4, "little")
    kind, whole = data[12:16], data[:end]
    if end > len(data):
        raise IndexError
    if kind == b"VP8X":
        return _number(data, 24, 3, "little") + 1, _number(data, 27, 3, "little") + 1, whole
    if kind == b"VP8L" and data[20] == 0x2F:
        bits = _number(data, 21, 4, "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1, whole
    if kind == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        width, height = _number(data, 26, 2, "little"), _number(data, 28, 2, "little")
        return width & 0x3FFF, height & 0x3FFF, whole
    raise ValueError


_READERS = {"image/png": _png, "image/jpeg": _jpeg, "image/gif": _gif, "image/webp": _webp}


# -- what a message carries ------------------------------------------------------------------------


def item_of(media: Media, name: str, path: str = "") -> Json:
    """Return a recognised file as an item of a result's `media`."""
    name = "".join(each if each.isprintable() else "_" for each in name[-255:])
    found: Json = {"media_type": media.media_type, "name": name, "bytes": len(media.data)}
    if media.width:
        found |= {"width": media.width, "height": media.height}
    if path:
        found["path"] = path
    return found | {"data": base64.b64encode(media.data).decode("ascii")}


def check_items(said: Iterable[Mapping[str, Any]], room: int) -> tuple[list[Json], list[str]]:
    """Return (items of a result's `media`, why others are left out), of what a program sent.

    `said`: {data, name?, path?} each, of any types. `room`: characters of base64 that the session
    has left for media. Slow: some 4 ms a megabyte.
    """
    found: list[Json] = []
    wrong: list[str] = []
    room = min(room, MAX_RESULT)
    for item in islice(said, 4 * MAX_ITEMS):
        name, path, data = item.get("name"), item.get("path"), item.get("data")
        name = name if isinstance(name, str) and name else "a file"
        try:
            if not isinstance(data, str):
                raise MediaError("it has no data")
            if len(found) == MAX_ITEMS:
                raise MediaError(f"a result shows at most {MAX_ITEMS} files")
            if len(data) > room:
                most = f"{MAX_RESULT / 1e6:g} MB in a result and {MAX_SESSION / 1e6:g} in a session"
                raise MediaError(f"files that are shown may have {most}, as base64")
            made = item_of(
                recognise(base64.b64decode(data, validate=True)),
                name,
                path if isinstance(path, str) and len(path) <= 4096 else "",
            )
        except ValueError as error:
            why = str(error) if isinstance(error, MediaError) else "its data is no base64"
            wrong.append(f"{name} is not shown: {why}")
        else:
            room -= len(made["data"])
            found.append(made)
    return found, wrong


def made_in(value: Any) -> Iterator[str]:
    """Yield the base64 of the pictures and sounds in a part of a model's answer.

    That is each data URL, and what stands in a member of one of the NAMES.
    """
    for name, text in _texts_in(value):
        address = _DATA_URL.match(text)
        if address or (name in NAMES and not _ADDRESS.fullmatch(text)):
            yield text[address.end() if address else 0 :]


def addresses_in(value: Any) -> Iterator[str]:
    """Yield the web addresses of the pictures and sounds in a part of a model's answer."""
    yield from (text for _, text in _texts_in(value) if _ADDRESS.fullmatch(text))


def _texts_in(value: Any) -> Iterator[tuple[str, str]]:
    """Yield (name of its member, text) of each text that is not empty."""
    waiting = [("", value)]
    for name, each in waiting:  # which grows
        if each and isinstance(each, str):
            yield name, each
        elif isinstance(each, list):
            waiting += ((name, inner) for inner in each)
        elif isinstance(each, dict):
            waiting += each.items()


def wave(samples: bytes) -> bytes:
    """Return samples as models stream them (16 bits, one channel, 24 kHz) as a WAV file."""
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, 24_000, 48_000, 2, 16)
    rest = b"WAVE" + form + struct.pack("<4sI", b"data", len(samples)) + samples
    return struct.pack("<4sI", b"RIFF", len(rest)) + rest


def of_message(message: Mapping[str, Any]) -> list[Json]:
    """Return the usable items of `media` of a result or an answer. Anybody may have made them."""
    holder = message if message.get("role") == "assistant" else message.get("result")
    items = holder.get("media") if isinstance(holder, Mapping) else None
    if not isinstance(items, list):
        return []
    return [
        each
        for each in items[:MAX_ITEMS]
        if isinstance(each, dict)
        and isinstance(each.get("data"), str)
        and each.get("media_type") in (*PICTURES, PDF, *AUDIO, *PLAYED)
    ]


def room_left(messages: Iterable[Mapping[str, Any]]) -> int:
    """Return how many characters of base64 the results of a session may still get."""
    used = sum(len(each["data"]) for message in messages for each in of_message(message))
    return max(MAX_SESSION - used, 0)


def describe(item: Mapping[str, Any]) -> str:
    """Return an item in words: its kind, name, size in pixels and in bytes."""
    kind, size = str(item.get("media_type")), item.get("bytes")
    facts = [kind]
    if item.get("width") and item.get("height"):
        facts.append(f"{item['width']} x {item['height']} pixels")
    if type(size) is int:
        facts.append(f"{size:,} bytes")
    what = "picture" if kind in PICTURES else "file"
    return f"{what} {item.get('name') or 'without a name'}: {', '.join(facts)}"


def part_of(item: Mapping[str, Any]) -> Json:
    """Return an item as a part of a message's content, as Chat Completions has it."""
    kind, data = item["media_type"], item["data"]
    if kind in AUDIO:
        return {"type": "input_audio", "input_audio": {"data": data, "format": AUDIO[kind]}}
    if kind in PLAYED:
        return {"type": "text", "text": f"[{describe(item)}. Make it a WAV or MP3 to hear it.]"}
    url = f"data:{kind};base64,{data}"
    if kind == PDF:
        name = str(item.get("name") or "document.pdf")
        return {"type": "file", "file": {"filename": name, "file_data": url}}
    return {"type": "image_url", "image_url": {"url": url}}


def plain_text(content: Any) -> str:
    """Return the text of a content, which may be a list of parts."""
    if isinstance(content, str):
        return content
    texts = [part.get("text") for part in objects_in(content)]
    return "\n".join(text for text in texts if isinstance(text, str))


def parts_of(content: Any) -> Iterator[Json]:
    """Yield the parts of a content that are no text."""
    yield from (part for part in objects_in(content) if not isinstance(part.get("text"), str))


def size_of_part(part: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return (width, height) of a picture in a data URL, None for any other part."""
    image = part.get("image_url")
    url = image.get("url") if isinstance(image, dict) else image
    if not isinstance(url, str) or not (found := _DATA_URL.match(url)):
        return None
    text = url[found.end() : found.end() + SNIFFED]
    try:
        head = base64.b64decode(text[: len(text) // 4 * 4])
        return _size_of_head(head)
    except (binascii.Error, ValueError, IndexError):
        return None


def _size_of_head(head: bytes) -> tuple[int, int] | None:
    kind = kind_of(head)
    if kind == "image/png":
        return _number(head, 16, 4), _number(head, 20, 4)
    if kind == "image/gif":
        return _number(head, 6, 2, "little"), _number(head, 8, 2, "little")
    if kind == "image/webp":
        width, height, _ = _webp(head[:4] + b"\0\0\0\0" + head[8:])
        return width, height
    at = 2
    while kind == "image/jpeg" and _number(head, at, 1) == 0xFF:
        marker, length = head[at + 1], _number(head, at + 2, 2)
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            return _number(head, at + 7, 2), _number(head, at + 5, 2)
        at += 2 + length
    return None
