"""Who may ask: API keys, compared in constant time, before a byte of the body is read.

A key comes as `Authorization: Bearer <key>`, as `Authorization: YAA-API-KEY <key>` (seed 003) or in
a `YAA-API-KEY` header. Only BLAKE2b hashes are kept, so every comparison takes the same time
whatever was sent, and a configuration may hold the hash alone. A key has a name, which is all of
it that the log and the rest of the server ever see.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import Problem

SCHEMES = ("bearer", "yaa-api-key")
HASHED = "blake2b:"  # 64-byte digest in hex, as seed 003 keeps its keys
KEY_FILE = "key"
MAX_KEY_FILE = 4096

_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="yaa"'}


class Key(NamedTuple):
    """What a valid key stands for. `max_runs` at once, `rate_limit` of requests (rates.py); None
    for the server's own."""

    name: str = ""
    max_runs: int | None = None
    rate_limit: str | None = None


ANYONE = Key()


class Keys:
    """The keys of one server. `entries` are those of `server.api_keys`, checked by config."""

    def __init__(
        self, entries: Iterable[str | Mapping[str, Any]], *, required: bool = True
    ) -> None:
        self._keys = [_entry(entry, number) for number, entry in enumerate(entries, 1)]
        self._required = required

    def check(self, headers: Mapping[str, str]) -> Key:
        """The key that a request carries. Raises Problem("unauthorized")."""
        if not self._required:
            return ANYONE
        sent = _sent(headers)
        if not sent:
            raise Problem(
                "unauthorized", "Send a key: Authorization: Bearer <key>", headers=_CHALLENGE
            )
        digest = _digest(sent)
        found = None
        for known, key in self._keys:  # all of them: the time must not tell which one came close
            if hmac.compare_digest(known, digest):
                found = key
        if found is None:
            raise Problem("unauthorized", "This key is not valid here", headers=_CHALLENGE)
        return found


def home_key(home: Path) -> str:
    """The key of a server for which none was configured: kept in `<home>/key`, made once.

    Raises OSError when it can be neither read nor made, ValueError when the file holds no key.
    """
    file = home / KEY_FILE
    if not file.exists():
        _write_once(file, secrets.token_urlsafe(24))
    file.chmod(0o600)
    with file.open("rb") as source:
        key = source.read(MAX_KEY_FILE).decode("ascii", "replace").strip()
    if not re.fullmatch(r"[!-~]+", key):
        raise ValueError(f"{file} holds no key; delete it and a new one is made")
    return key


def _sent(headers: Mapping[str, str]) -> str:
    scheme, _, key = headers.get("authorization", "").partition(" ")
    if scheme.lower() in SCHEMES:
        return key.strip()
    return headers.get("yaa-api-key", "").strip()


def _entry(entry: str | Mapping[str, Any], number: int) -> tuple[bytes, Key]:
    if isinstance(entry, str):
        entry = {"key": entry}
    text = entry["key"]
    hashed = text.startswith(HASHED)
    digest = bytes.fromhex(text.removeprefix(HASHED)) if hashed else _digest(text)
    limits = entry.get("limits", {})
    name = entry.get("name") or f"key-{number}"
    return digest, Key(name, limits.get("max_runs"), limits.get("rate_limit"))


def _digest(key: str) -> bytes:
    return hashlib.blake2b(key.encode()).digest()


def _write_once(file: Path, key: str) -> None:
    """Whole or not at all, and never over another server's: two may start at the same moment."""
    draft = file.with_name(f"{file.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as target:
            target.write(key + "\n")
        try:
            os.link(draft, file)
        except FileExistsError:
            return
        except OSError:  # a file system without hard links
            draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)
