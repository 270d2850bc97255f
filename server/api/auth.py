"""Who may ask: API keys, compared in constant time, before a byte of the body is read.

A key comes as `Authorization: Bearer <key>`, as `Authorization: YAA-API-KEY <key>` (seed 003) or in
a `YAA-API-KEY` header, beside which `Authorization` is for somebody else. Only BLAKE2b hashes are
kept, so every comparison takes the same time whatever was sent, and a configuration may hold the
hash alone. The log sees a key's name and nothing else of it. What is kept between requests belongs
to its `owner`: the person whose key it is, who may have several.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from ..errors import Problem

SCHEMES = ("bearer", "yaa-api-key")
HASHED = "blake2b:"  # 64-byte digest in hex, as seed 003 keeps its keys
KEY_FILE = "key"
MAX_KEY_FILE = 4096

Entry = str | Mapping[str, Any]

_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="yaa"'}


class Key(NamedTuple):
    """What a valid key stands for. `max_runs` at once, `rate_limit` of requests (rate_limit.py);
    None for the server's own. `owner` names whose workspaces, claims, kept results and agents the
    key reaches: empty for the key that the server made itself, and where no key is needed.
    `is_owner`: it may change what other keys get."""

    name: str = ""
    max_runs: int | None = None
    rate_limit: str | None = None
    owner: str = ""
    is_owner: bool = False


ANYONE = Key(is_owner=True)
HOME = Key("home", is_owner=True)


class Keys:
    """The keys of one server. `entries` are those of `server.api_keys`, checked by config. `made`:
    the key that the server made itself; empty for none."""

    def __init__(self, entries: Sequence[Entry], made: str = "", *, required: bool = True) -> None:
        trusted = owners(entries)
        self._keys = [_entry(entry, number, trusted) for number, entry in enumerate(entries, 1)]
        if made:
            self._keys.append((_digest(made), HOME))
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

    def is_key(self, text: str) -> bool:
        """Whether a header's value is or holds one of the keys, which are told to nobody."""
        sent = [_digest(piece) for piece in _pieces(text)]
        return any(hmac.compare_digest(known, each) for each in sent for known, _ in self._keys)


def _pieces(text: str) -> set[str]:
    """What of a header's value may be a key: all of it, all behind a scheme, and each word."""
    plain = unquote(text)
    whole = (text.strip(), text.partition(" ")[2].strip(), plain)
    return {*whole, *re.split(r"[\s,;=:\"']+", plain)} - {""}


def owners(entries: Iterable[Entry]) -> frozenset[str]:
    """Return which `Key.owner` are the server's owner: the empty one, and of the configured keys
    those that are marked. Without a mark it is the person who has all the keys, if that is one;
    among several nobody is."""
    found = [_whole(entry) for entry in entries]
    marked = {_owner(entry) for entry in found if entry.get("owner")}
    people = {_owner(entry) for entry in found}
    return frozenset({"", *(marked or (people if len(people) == 1 else ()))})


def own_limits(entries: Iterable[Entry]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield (`Key.owner`, limits) of the configured keys that have any of their own."""
    for entry in map(_whole, entries):
        if limits := entry.get("limits"):
            yield _owner(entry), limits


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
    if named := headers.get("yaa-api-key", "").strip():
        return named
    scheme, _, key = headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() in SCHEMES else ""


def _entry(entry: Entry, number: int, trusted: frozenset[str]) -> tuple[bytes, Key]:
    entry = _whole(entry)
    limits, owner = entry.get("limits", {}), _owner(entry)
    name = entry.get("name") or f"key-{number}"
    max_runs, rate_limit = limits.get("max_runs"), limits.get("rate_limit")
    return _known(entry["key"]), Key(name, max_runs, rate_limit, owner, owner in trusted)


def _whole(entry: Entry) -> Mapping[str, Any]:
    return {"key": entry} if isinstance(entry, str) else entry


def _owner(entry: Mapping[str, Any]) -> str:
    """The person's name, so that a key can be replaced by another; else from the key itself, which
    stays the same when the list around it changes."""
    return entry.get("name") or f"key-{hashlib.sha256(_known(entry['key'])).hexdigest()[:16]}"


def _known(text: str) -> bytes:
    """The digest of a key that is configured as it is, or as its digest."""
    return bytes.fromhex(text.removeprefix(HASHED)) if text.startswith(HASHED) else _digest(text)


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
