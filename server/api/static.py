"""Serve the files of the browser client.

Handles every GET and HEAD without a route, without a key: the page has to load before a key can be
entered. A path is decoded once and refused if any part of it is suspect. A file is opened only if
it lies under the root after resolving links. What the page loads has the version of the page in its
address (page_version.py) and is not asked for again.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote_to_bytes

from ..errors import Problem
from ..lib.http.exchange import PIECE
from ..lib.http.parser import RequestHead
from ..lib.runtime.offload import LARGE, offload
from .file_contents import Content, Contents, accepts_gzip
from .page_version import BUNDLE, INDEX, WORKER, PageVersions
from .router import RequestContext, unknown_path

ARTIFACT = "artifact.html"
SANDBOX = "sandbox.html"
WORKER_PAGE = "worker.html"
RELOAD = "js/reload-page.js"

# The digest of the script inside index.html.
INLINE = "'sha256-2WO6K5qrZ5Bqttwj981s+MiwNrDTRe1uy5pqcAFa6zU='"
# The client's own <meta> policy, which also applies on file://, and the directives that <meta> does
# not support. Connections to any http address are allowed: the client can use other servers.
CSP = (
    f"default-src 'none'; script-src 'self' {INLINE}; style-src 'self'; "
    "img-src 'self' data: blob:; media-src data:; font-src 'self'; manifest-src 'self'; "
    "connect-src http: https:; frame-src 'self'; form-action 'none'; base-uri 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'; frame-ancestors 'none'"
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
# For the frame that registers the service worker, which a page with trusted types may not.
WORKER_PAGE_CSP = (
    "default-src 'none'; script-src 'self'; worker-src 'self'; form-action 'none'; "
    "base-uri 'none'; frame-ancestors 'self'"
)
# For the service worker itself: what it fetches, and nothing else.
WORKER_CSP = "default-src 'none'; connect-src 'self'"
POLICIES = {
    ARTIFACT: ARTIFACT_CSP,
    SANDBOX: SANDBOX_CSP,
    WORKER_PAGE: WORKER_PAGE_CSP,
    WORKER: WORKER_CSP,
}

# The query of a page that another site has opened: it takes no key from its link without a question
# (client/js/ui/sign-in.js).
ELSEWHERE = "from=elsewhere"

# Kept but asked about each time, so that updates apply at once.
ASK = "no-cache"
FOREVER = "public, max-age=31536000, immutable"

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
# And these, by their whole names: what programs look for at the top of a site (llmstxt.org).
NAMES = {"llms.txt": "text/plain; charset=utf-8"}

_RANGE = re.compile(r"bytes=([0-9]{0,18})-([0-9]{0,18})")


class Files:
    """The handler of every path without a route. `root` is the client's folder. `offline`: whether
    browsers may install the page, and keep it for when there is no server.
    """

    def __init__(self, root: Path, *, offline: bool = True) -> None:
        self._root = root.resolve()
        self._contents = Contents()
        self._versions = PageVersions(self._path, offline=offline)
        self._offline = offline

    def has(self, path: str) -> bool:
        """Return whether `get` would find a file for a request's path."""
        try:
            name = file_name(path)
        except Problem:
            return False
        return self._path(name) is not None or self._versions.has(name)

    async def get(self, call: RequestContext) -> None:
        """Send a file, or redirect to a folder's page. Raises Problem("not_found")."""
        name = file_name(call.request.path)
        if name.endswith(".html") and is_foreign_step(call.request) and content_type(name):
            # Browsers keep the fragment, so the page gets its link and knows that it has to ask.
            await call.reply(303, headers={"Location": f"?{ELSEWHERE}"})
        elif self._versions.has(name):
            await self._get_versioned(call, name)
        elif name == INDEX and (version := await offload(LARGE, self._versions.refresh)):
            headers = {"Yaa-Page": version.tag if self._offline else "none"}
            await _reply(call, name, version.document, ASK, headers)
        elif name == WORKER:
            await self._get_worker(call)
        elif not Path(name).suffix and self._path(f"{name}/{INDEX}"):
            # The page's relative links need the slash. Relative, since a proxy may strip a prefix.
            await call.reply(308, headers={"Location": f"{name.rpartition('/')[2]}/"})
        elif (path := self._path(name)) is None:
            raise unknown_path(f"/{name}")
        else:
            await self._get_file(call, name, path)

    async def _get_versioned(self, call: RequestContext, name: str) -> None:
        """Send a file of the page's version, or say that the page has another one by now.

        A page of another version is never sent files of this one. One that is about to open is
        told to reload itself: it came just before an update, or from another server.
        """
        content = self._versions.get(name)
        if content is None:
            await offload(LARGE, self._versions.refresh)
            content = self._versions.get(name)
        if content:
            await _reply(call, name, content, FOREVER)
        elif name.endswith(f"/{BUNDLE}") and name.count("/") == 2 and (path := self._path(RELOAD)):
            await _reply(call, RELOAD, Content(RELOAD, path.read_bytes()), "no-store")
        else:
            raise Problem("not_found", "The server has another version of the page: reload it")

    async def _get_worker(self, call: RequestContext) -> None:
        """Send the script of the service worker, to a browser that registers it.

        A page of another site cannot add this header, and no browser adds it over plain HTTP to
        another machine.
        """
        page = None
        if call.request.headers.get("service-worker") == "script":
            page = await offload(LARGE, self._versions.refresh)
        if page is None or page.worker is None:
            raise unknown_path(f"/{WORKER}")
        await _reply(
            call, WORKER, page.worker, ASK, {"Cross-Origin-Resource-Policy": "same-origin"}
        )

    async def _get_file(self, call: RequestContext, name: str, path: Path) -> None:
        try:
            if content := self._contents.read(path):
                await _reply(call, name, content, ASK)
                return
            with path.open("rb") as file:
                await _stream(call, name, file)
        except OSError:
            raise unknown_path(f"/{name}") from None

    def _path(self, name: str) -> Path | None:
        """Return the path of a file of the client; None where there is none."""
        if not content_type(name):
            return None
        try:
            file = (self._root / name).resolve(strict=True)
            if file.is_relative_to(self._root) and file.is_file():
                return file
        except (OSError, RuntimeError):  # RuntimeError: a loop of links
            pass
        return None


def is_foreign_step(request: RequestHead) -> bool:
    """Return whether a page of another site opens this one, and the address does not say so yet.

    Browsers send these headers to secure addresses, this machine among them; pages cannot change
    them, whatever they do to `Referer` and the opener.
    """
    asked = request.headers
    return (
        asked.get("sec-fetch-site") in ("cross-site", "same-site")
        and asked.get("sec-fetch-dest") == "document"
        and request.query != ELSEWHERE
    )


def content_type(name: str) -> str:
    """Return the media type of a file of the client, "" if it is not served."""
    return NAMES.get(name) or TYPES.get(Path(name).suffix.lower(), "")


async def _reply(
    call: RequestContext,
    name: str,
    content: Content,
    cached: str,
    extra: Mapping[str, str] | None = None,
) -> None:
    """Answer with a content in memory, in gzip where the client takes it, or with a range of it."""
    asked = call.request.headers
    packed = None
    if "range" not in asked and accepts_gzip(asked.get("accept-encoding", "")):
        packed = await offload(len(content.body), content.compress)
    etag = f'"{content.digest}-gzip"' if packed else f'"{content.digest}"'
    headers = _headers(name, etag, cached) | dict(extra or {})
    if packed:
        headers["Content-Encoding"] = "gzip"
    body = packed or content.body
    if matches(asked.get("if-none-match", ""), etag):
        headers.pop("Content-Encoding", None)
        await call.reply(304, headers=headers)
    elif call.request.method == "HEAD":  # ranges apply only to GET: RFC 9110 section 14.2
        await call.reply(200, headers=headers | {"Content-Length": str(len(body))})
    elif part := _range(asked, etag, len(body)):
        first, last = part
        headers["Content-Range"] = f"bytes {first}-{last}/{len(body)}"
        await call.reply(206, body[first : last + 1], headers)
    else:
        await call.reply(200, body, headers)


async def _stream(call: RequestContext, name: str, file: BinaryIO) -> None:
    """Answer with a large file, or the requested range of it."""
    size = os.fstat(file.fileno()).st_size
    etag = f'"{await offload(size, _digest, file)}"'
    headers = _headers(name, etag, ASK)
    asked = call.request.headers
    if matches(asked.get("if-none-match", ""), etag):
        await call.reply(304, headers=headers)
    elif call.request.method == "HEAD":
        await call.reply(200, headers=headers | {"Content-Length": str(size)})
    elif part := _range(asked, etag, size):
        first, last = part
        headers["Content-Range"] = f"bytes {first}-{last}/{size}"
        await _send(call, 206, headers, file, first, last + 1 - first)
    else:
        await _send(call, 200, headers, file, 0, size)


def _headers(name: str, etag: str, cached: str) -> dict[str, str]:
    return {
        "Content-Type": content_type(name),
        "Content-Security-Policy": POLICIES.get(name, CSP),
        "Cache-Control": cached,
        "ETag": etag,
        "Accept-Ranges": "bytes",
        "Vary": "Accept-Encoding, Origin",
    }


def _range(asked: Mapping[str, str], etag: str, size: int) -> tuple[int, int] | None:
    """Return the first and last byte that a request asks for; None for the whole file."""
    if "range" not in asked or asked.get("if-range", etag) != etag:
        return None
    return byte_range(asked["range"], size)


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
