"""The browser client's files, for those who open the server instead of the folder.

In the walk: the router's last resort for GET and HEAD, without a key, because the page has to load
before anyone can type one. The rule of the file: a path is decoded once, refused whole if any part
of it is suspect, and opened only if the file it finally means lies under the root.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote_to_bytes

from ..errors import Problem
from ..http.exchange import PIECE
from ..runtime.offload import offload
from .router import Call, nothing

INDEX = "index.html"
ARTIFACT = "artifact.html"
SANDBOX = "sandbox.html"

# The client's own <meta> policy, which also holds on file://, and what a <meta> cannot say. Any
# http address may be connected to: a session can go on at another server.
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "font-src 'self'; connect-src http: https:; frame-src 'self'; form-action 'none'; "
    "base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'; "
    "frame-ancestors 'none'"
)
# The frame in which pages written by models run: scripts yes, network no, and only inside our own.
ARTIFACT_CSP = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; frame-ancestors 'self'"
)
# The frame whose workers run code written by models: no network, no storage, no origin of its own,
# also where somebody opens it by its address.
SANDBOX_CSP = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval' blob:; worker-src blob:; "
    "frame-ancestors 'self'; sandbox allow-scripts"
)
POLICIES = {ARTIFACT: ARTIFACT_CSP, SANDBOX: SANDBOX_CSP}

# What is served. Other files of the folder are for those who work on the client, or left there by
# an editor.
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".jpg": "image/jpeg",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml; charset=utf-8",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json; charset=utf-8",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
}

_RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})")


class Files:
    """The handler of every path without a route. `root` is the client's folder."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    def has(self, path: str) -> bool:
        """Whether `get` would find a file for a request's path."""
        try:
            self._find(file_name(path))
        except Problem:
            return False
        return True

    async def get(self, call: Call) -> None:
        """Raises Problem("not_found") for all that is not a file here, whatever the reason."""
        name = file_name(call.request.path)
        if not Path(name).suffix and self.has(f"{call.request.path}/"):
            # What its page names is beside it. Relative, since a proxy may have taken a prefix.
            await call.reply(308, headers={"Location": f"{name.rpartition('/')[2]}/"})
            return
        with self._open(name) as file:
            await _serve(call, name, file)

    def _open(self, name: str) -> BinaryIO:
        try:
            return self._find(name).open("rb")
        except OSError:
            raise nothing(f"/{name}") from None

    def _find(self, name: str) -> Path:
        if Path(name).suffix.lower() not in TYPES:
            raise nothing(f"/{name}")
        try:
            file = (self._root / name).resolve(strict=True)
            if file.is_relative_to(self._root) and file.is_file():
                return file
        except (OSError, RuntimeError):  # RuntimeError: a loop of links
            pass
        raise nothing(f"/{name}")


async def _serve(call: Call, name: str, file: BinaryIO) -> None:
    """Answer with the file, or the part of it that is asked for."""
    size = os.fstat(file.fileno()).st_size
    etag = f'"{await offload(size, _digest, file)}"'
    headers = {
        "Content-Type": TYPES[Path(name).suffix.lower()],
        "Content-Security-Policy": POLICIES.get(name, CSP),
        "Cache-Control": "no-cache",  # kept, but asked for again: an update shows at once
        "ETag": etag,
        "Accept-Ranges": "bytes",
    }
    asked = call.request.headers
    if _matches(asked.get("if-none-match", ""), etag):
        await call.reply(304, headers=headers)
    elif call.request.method == "HEAD":  # it has no ranges: RFC 9110 section 14.2
        await call.reply(200, headers=headers | {"Content-Length": str(size)})
    elif (
        "range" in asked
        and asked.get("if-range", etag) == etag
        and (part := byte_range(asked["range"], size))
    ):
        first, last = part
        headers["Content-Range"] = f"bytes {first}-{last}/{size}"
        await _send(call, 206, headers, file, first, last + 1 - first)
    else:
        await _send(call, 200, headers, file, 0, size)


async def _send(
    call: Call, status: int, headers: dict[str, str], file: BinaryIO, first: int, size: int
) -> None:
    """Send `size` bytes of the file; of a large one no more is read than the client has taken."""
    file.seek(first)
    if size <= PIECE:
        await call.reply(status, file.read(size), headers)
        return
    stream = call.stream(headers | {"Content-Length": str(size)}, status)
    while call.sent < size:
        if not (piece := file.read(min(PIECE, size - call.sent))):
            raise Problem("not_found", "The file became shorter while it was read")
        stream.write(piece)
        call.sent += len(piece)
        await stream.drain()
    await stream.close()


def _digest(file: BinaryIO) -> str:
    digest = hashlib.blake2b(digest_size=12)
    while piece := file.read(PIECE):
        digest.update(piece)
    return digest.hexdigest()


def file_name(path: str) -> str:
    """The relative name that a percent-encoded request path means: of a folder, that of its page.
    Raises Problem."""
    if re.search(r"%(?:2f|5c|00)|\\|%(?![0-9a-f]{2})", path, re.IGNORECASE):
        raise nothing(path)
    try:
        decoded = unquote_to_bytes(path).decode()
    except UnicodeDecodeError:
        raise nothing(path) from None
    if not decoded.startswith("/") or not decoded.isprintable():
        raise nothing(path)
    name = decoded[1:]
    if not name or name.endswith("/"):
        name += INDEX
    if any(not part or part.startswith(".") for part in name.split("/")):
        raise nothing(path)
    return name


def byte_range(header: str, size: int) -> tuple[int, int] | None:
    """The first and last byte that one `Range` asks for; None means the whole file, which is
    allowed for anything not understood (RFC 9110 section 14.2). Raises Problem."""
    match = _RANGE.fullmatch(header.strip())
    if match is None or match[0] == "bytes=-":
        return None
    if match[1]:
        first, last = int(match[1]), int(match[2] or size - 1)
        if match[2] and last < first:
            return None
    else:
        first, last = max(0, size - int(match[2])), size - 1
    last = min(last, size - 1)
    if first > last:
        raise Problem(
            "range_not_satisfiable",
            f"The file has {size} bytes",
            headers={"Content-Range": f"bytes */{size}"},
        )
    return first, last


def _matches(header: str, etag: str) -> bool:
    tags = [tag.strip().removeprefix("W/") for tag in header.split(",")]
    return "*" in tags or etag in tags
