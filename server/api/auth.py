"""Check API keys, in constant time and before the body is read.

A key is sent as `Authorization: Bearer <key>`, as `Authorization: YAA-API-KEY <key>` or in a
`YAA-API-KEY` header; with the latter, `Authorization` is ignored. Only BLAKE2b hashes are kept, so
comparisons take constant time and the configuration may hold only the hash. The log holds only the
name of a key. Data kept between requests belongs to the `owner` of the key, a person who may have
several keys.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from ..config import HASHED, KEY_FILE
from ..errors import Problem
from ..lib.runtime import private_files
from ..lib.runtime.accounts import Rules

SCHEMES = ("bearer", "yaa-api-key")
MAX_KEY_FILE = 4096  # bytes

Entry = str | Mapping[str, Any]

_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="yaa"'}


class Key(NamedTuple):
    """A valid key and its rights.

    `owner`: whose workspaces, claims, stored results and agents the key can access; empty for the
    key that the server generated and if no key is needed. `is_owner`: the key may change what
    applies to other keys. `id`: the first characters of its hash.
    """

    name: str = ""
    owner: str = ""
    is_owner: bool = False
    id: str = ""


ANYONE = Key(is_owner=True)


class Keys:
    """The keys of one server.

    `entries`: those of `server.api_keys`, validated by the configuration. `made`: the key that the
    server generated, which is the owner's; empty for none.
    """

    def __init__(self, entries: Sequence[Entry], made: str = "", *, required: bool = True) -> None:
        trusted = owners(entries, home_key=bool(made))
        self._keys = [_entry(entry, number, trusted) for number, entry in enumerate(entries, 1)]
        if made:
            digest = _digest(made)
            self._keys.append((digest, Key("home", is_owner=True, id=digest.hex()[:16])))
        self._required, self._entries = required, entries
        self.people = {key.owner for _, key in self._keys} if required else {""}

    def check(self, headers: Mapping[str, str]) -> Key:
        """Return the key of a request, ANYONE if none is needed. Raises Problem("unauthorized")."""
        if not self._required:
            return ANYONE
        sent = sent_key(headers)
        if not sent:
            raise Problem(
                "unauthorized", "Send a key: Authorization: Bearer <key>", headers=_CHALLENGE
            )
        digest = _digest(sent)
        found = None
        for known, key in self._keys:  # compare all: the time must not depend on the match
            if hmac.compare_digest(known, digest):
                found = key
        if found is None:
            raise Problem("unauthorized", "This key is not valid here", headers=_CHALLENGE)
        return found

    def of(self, owner: str) -> Key | None:
        """Return a key of a person; None if they have none."""
        if not self._required:
            return ANYONE if owner == ANYONE.owner else None
        return next((key for _, key in self._keys if key.owner == owner), None)

    def is_valid(self, key: Key) -> bool:
        """Return whether a key that `check` has returned is one of these."""
        return not self._required or any(key.id == known.id for _, known in self._keys)

    def rules(self, limits: Mapping[str, Any]) -> Rules:
        """Return what each person with these keys may hold. `limits`: server.limits."""
        trusted = frozenset(key.owner for _, key in self._keys if key.is_owner)
        return Rules(limits, own_limits(self._entries), trusted, len(self.people))

    def is_key(self, text: str) -> bool:
        """Return whether a header's value contains one of the keys, so must not be passed on."""
        sent = [_digest(piece) for piece in _pieces(text)]
        return any(hmac.compare_digest(known, each) for each in sent for known, _ in self._keys)


def _pieces(text: str) -> set[str]:
    """Return the parts of a header's value that may be a key.

    They are the whole value, the part after a scheme, and each word.
    """
    plain = unquote(text)
    whole = (text.strip(), text.partition(" ")[2].strip(), plain)
    return {*whole, *re.split(r"[\s,;=:\"']+", plain)} - {""}


def owners(entries: Sequence[Entry], *, home_key: bool = False) -> frozenset[str]:
    """Return the values of `Key.owner` that stand for the server's owner.

    They are the empty one and those of entries marked `owner`. If none is marked, a single person
    with all the keys is the owner, unless the home folder's key is valid beside them (`home_key`);
    among several nobody is.
    """
    marked = {_owner(entry) for entry in map(_whole, entries) if entry.get("owner")}
    people = people_of(entries)
    alone = people if len(people) == 1 and not home_key else ()
    return frozenset({"", *(marked or alone)})


def people_of(entries: Sequence[Entry]) -> set[str]:
    """Return the values of `Key.owner` of the configured keys."""
    return {_owner(entry) for entry in map(_whole, entries)}


def own_limits(entries: Iterable[Entry]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield (`Key.owner`, limits) of the configured keys that have their own limits."""
    for entry in map(_whole, entries):
        if limits := entry.get("limits"):
            yield _owner(entry), limits


def keys_of(server: Mapping[str, Any], home: Path) -> tuple[Keys, str]:
    """Return the keys of a configuration, and the home folder's if that is one of them, else "".

    Raises the exceptions of `home_key`.
    """
    entries, required = server["api_keys"], server["auth_required"]
    made = home_key(home) if required and (server["home_key"] or not entries) else ""
    return Keys(entries, made, required=required), made


def home_key(home: Path) -> str:
    """Return the key in `<home>/key`, generated once, the owner's.

    Raises OSError if it cannot be read or created, ValueError if the file holds no key.
    """
    file = home / KEY_FILE
    if not file.exists():
        private_files.write(file, f"{secrets.token_urlsafe(24)}\n".encode(), replace=False)
    file.chmod(0o600)
    with file.open("rb") as source:
        key = source.read(MAX_KEY_FILE).decode("ascii", "replace").strip()
    if not re.fullmatch(r"[!-~]+", key):
        raise ValueError(f"{file} holds no key; delete it and a new one is made")
    return key


def sent_key(headers: Mapping[str, str]) -> str:
    """Return the key that a request carries, "" for none."""
    if named := headers.get("yaa-api-key", "").strip():
        return named
    scheme, _, key = headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() in SCHEMES else ""


def _entry(entry: Entry, number: int, trusted: frozenset[str]) -> tuple[bytes, Key]:
    entry = _whole(entry)
    owner, digest = _owner(entry), _known(entry["key"])
    name = entry.get("name") or f"key-{number}"
    return digest, Key(name, owner, owner in trusted, digest.hex()[:16])


def _whole(entry: Entry) -> Mapping[str, Any]:
    return {"key": entry} if isinstance(entry, str) else entry


def owner_of(entry: Entry) -> str:
    """Return `Key.owner` of an entry of `server.api_keys`."""
    return _owner(_whole(entry))


def _owner(entry: Mapping[str, Any]) -> str:
    """Return the owner of a key: its name, or else a hash of the key.

    With a name the key can be replaced. The hash does not depend on the position in the list.
    """
    return entry.get("name") or f"key-{hashlib.sha256(_known(entry['key'])).hexdigest()[:16]}"


def _known(text: str) -> bytes:
    """Return the digest of a key that is configured in plain text or as a digest."""
    return bytes.fromhex(text.removeprefix(HASHED)) if text.startswith(HASHED) else _digest(text)


def _digest(key: str) -> bytes:
    return hashlib.blake2b(key.encode()).digest()
