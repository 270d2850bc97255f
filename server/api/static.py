"""Serve the files of the browser client.

Handles every GET and HEAD without a route, without a key: the page has to load before a key can be
entered. A path is decoded once and refused if any part of it is suspect. A file is opened only if
it lies under the root after resolving links.
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
from .router import RequestContext, unknown_path

INDEX = "index.html"
ARTIFACT = "artifact.html"
SANDBOX = "sandbox.html"

# The client's own <meta> policy, which also applies on file://, and the directives that <meta> does
# not support. Connections to any http address are allowed: the client can use other servers.
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "font-src 'self'; connect-src http: https:; frame-src 'self'; form-action 'none'; "
    "base-uri 'none'; require-trusted-types-for 'script'; trusted-types 'none'; "
    "frame-ancestors 'none'"
)
# For the frame that shows pages written by models: scripts but no network, only inside the client.
ARTIFACT_CSP = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; frame-ancestors 'self'"
)
# For the frame whose workers run code written by models: no network, no storage and an opaque
# origin, even if it is opened directly.
SANDBOX_CSP = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval' blob:; worker-src blob:; "
    "frame-ancestors 'self'; sandbox allow-scripts"
)
POLICIES = {ARTIFACT: ARTIFACT_CSP, SANDBOX: SANDBOX_CSP}

# Only these are served. Other files of the folder are for development, or left there by an editor.
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
        """Return whether `get` would find a file for a request's path."""
        try:
            self._find(file_name(path))
        except Problem:
            return False
        return True

    async def get(self, call: RequestContext) -> None:
        """Send a file, or redirect to a folder's page. Raises Problem("not_found")."""
        name = file_name(call.request.path)
        if not Path(name).suffix and self.has(f"{call.request.path}/"):
            # The page's relative links need the slash. Relative, since a proxy may strip a prefix.
            await call.reply(308, headers={"Location": f"{name.rpartition('/')[2]}/"})
            return
        with self._open(name) as file:
            await _serve(call, name, file)

    def _open(self, name: str) -> BinaryIO:
        try:
            return self._find(name).open("rb")
        except OSError:
            raise unknown_path(f"/{name}") from None

    def _find(self, name: str) -> Path:
        if Path(name).suffix.lower() not in TYPES:
            raise unknown_path(f"/{name}")
        try:
            file = (self._root / name).resolve(strict=True)
            if file.is_relative_to(self._root) and file.is_file():
                return file
        except (OSError, RuntimeError):  # RuntimeError: a loop of links
            pass
        raise unknown_path(f"/{name}")


async def _serve(call: RequestContext, name: str, file: BinaryIO) -> None:
    """Answer with the file, or the requested range of it."""
    size = os.fstat(file.fileno()).st_size
    etag = f'"{await offload(size, _digest, file)}"'
    headers = {
        "Content-Type": TYPES[Path(name).suffix.lower()],
        "Content-Security-Policy": POLICIES.get(name, CSP),
        "Cache-Control": "no-cache",  # cached but revalidated, so that updates apply at once
        "ETag": etag,
        "Accept-Ranges": "bytes",
    }
    asked = call.request.headers
    if matches(asked.get("if-none-match", ""), etag):
        await call.reply(304, headers=headers)
    elif call.request.method == "HEAD":  # ranges apply only to GET: RFC 9110 section 14.2
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
    call: RequestContext,
    status: int,
    headers: dict[str, str],
    file: BinaryIO,
    first: int,
    size: int,
) -> None:
    """Send `size` bytes of the file from `first` on; a large file is read as the client reads."""
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
    """Return the relative file name for a percent-encoded request path; index.html for a folder.

    Raises Problem for a suspect path.
    """
    if re.search(r"%(?:2f|5c|00)|\\|%(?![0-9a-f]{2})", path, re.IGNORECASE):
        raise unknown_path(path)
    try:
        decoded = unquote_to_bytes(path).decode()
    except UnicodeDecodeError:
        raise unknown_path(path) from None
    if not decoded.startswith("/") or not decoded.isprintable():
        raise unknown_path(path)
    name = decoded[1:]
    if not name or name.endswith("/"):
        name += INDEX
    if any(not part or part.startswith(".") for part in name.split("/")):
        raise unknown_path(path)
    return name


def byte_range(header: str, size: int) -> tuple[int, int] | None:
    """Return the first and last byte of a `Range` header; None for the whole file.

    An unsupported range counts as the whole file (RFC 9110 section 14.2). Raises Problem if the
    range is outside of the file.
    """
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


def matches(header: str, etag: str) -> bool:
    """Return whether an `If-None-Match` header names a tag (weak comparison, RFC 9110 8.8.3.2)."""
    etag = etag.removeprefix("W/")
    tags = [tag.strip().removeprefix("W/") for tag in header.split(",")]
    return "*" in tags or etag in tags
