"""The handlers of `/settings/keys`: keys for other people, or for another device.

Only owners' keys are let in. A key is sent once, when it is made; the file has its hash. A change
never makes anybody an owner who was none, and never locks out whoever makes it.
"""

from __future__ import annotations

import asyncio
import copy
import hashlib
import re
import secrets
from typing import Any

from ...api.body import BodyLimits, misfit, read_fields
from ...api.router import RequestContext, Route, owners_only
from ...api.sign_in_codes import SignInCodes
from ...config import HASHED
from ...errors import Problem
from ...json_types import Json
from ...lib.json_schema.objects import object_schema
from .routes import Settings

MAX_BODY = BodyLimits(16_384, 200)
MOST = 200  # keys
PLACE = "server.api_keys"
# Names that the log has for other keys, or that stand for the owner of one without a name.
_RESERVED = re.compile(r"home|key-.*", re.IGNORECASE)
_NAME = {"type": "string", "minLength": 1, "maxLength": 64}
_MORE = {"owner": {"type": "boolean"}, "limits": {"type": "object"}}
_BODY = object_schema({"name": _NAME, **_MORE}, ("name",), closed=True)


class SettingsKeys:
    """The keys in the owner's configuration file."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def routes(self) -> dict[tuple[str, str], Route]:
        """Return (method, path) -> route."""
        return {
            ("POST", "/settings/keys"): Route(owners_only(self.post)),
            ("DELETE", "/settings/keys/{name}"): Route(owners_only(self.delete)),
        }

    async def post(self, call: RequestContext) -> None:
        """Make a key `{name, owner?, limits?}` and send `{key, link}`, this once."""
        body = await read_fields(call, MAX_BODY, _BODY)
        name = body["name"]
        if name != name.strip() or not name.isprintable() or _RESERVED.fullmatch(name):
            raise misfit(("name",), "a name of visible characters, not `home` and not `key-…`")
        self._check_use()
        key = secrets.token_urlsafe(24)
        entry: Json = {"name": name, "key": HASHED + hashlib.blake2b(key.encode()).hexdigest()}
        entry |= {"owner": True} if body.get("owner") else {}
        entry |= {"limits": body["limits"]} if body.get("limits") else {}
        codes = SignInCodes(self._settings.live.config.home)
        code = await asyncio.to_thread(codes.make, key)  # first: it is good for nothing alone
        try:
            await self._settings.change(None, lambda document: with_key(document, entry))
        except BaseException:
            codes.forget(code)
            raise
        # The page puts its own address before it; browsers never send a fragment to a server.
        await call.json({"key": key, "link": f"/#code={code}"}, status=201)

    async def delete(self, call: RequestContext) -> None:
        """Delete all keys of a name."""
        name = call.at["name"]
        self._check_use()
        if call.key.owner == name:
            text = "This is the key of this request: delete it with another owner's key"
            raise Problem("forbidden", text)
        await self._settings.change(None, lambda document: without_keys(document, name))
        await call.json({"deleted": name})

    def _check_use(self) -> None:
        """Refuse a change of keys that would have no effect. Raises Problem."""
        config = self._settings.live.config
        if not config.server["auth_required"]:
            text = "No key is needed here (server.auth_required is false), so keys have no effect"
            raise Problem("settings_invalid", text)
        if PLACE in config.fixed:
            text = f"{PLACE} is set by a variable or on the command line; the file cannot change it"
            raise Problem("settings_invalid", text)


def with_key(document: Json, entry: Json) -> Json:
    """Return the file's document with one more key. Raises Problem.

    Who owns the server stays as it was: the home folder's key stays valid if it was the only one,
    and a single person who is the owner as such is marked as the owner.
    """
    result = copy.deepcopy(document)
    server = _server_of(result)
    entries = _entries(server)
    if any(_name(each) == entry["name"] for each in entries):
        raise misfit(("name",), "there is a key of this name already")
    if len(entries) >= MOST:
        raise Problem("settings_invalid", f"There are {MOST} keys already: delete one first")
    if not entries:
        server["home_key"] = True
    server["api_keys"] = [*_marked(entries, server), entry]
    return result


def without_keys(document: Json, name: str) -> Json:
    """Return the file's document without the keys of a name. Raises Problem if there are none."""
    result = copy.deepcopy(document)
    server = _server_of(result)
    entries = _entries(server)
    kept = [each for each in entries if _name(each) != name]
    if len(kept) == len(entries):
        raise Problem("not_found", f"There is no key named {name[:64]!r} in the configuration file")
    server["api_keys"] = kept
    return result


def _server_of(document: Json) -> dict[str, Any]:
    server = document.setdefault("server", {})
    if not isinstance(server, dict):
        raise Problem("settings_invalid", "The configuration file: `server` is not an object")
    return server


def _entries(server: Json) -> list[Any]:
    entries = server.get("api_keys", [])
    if not isinstance(entries, list):
        raise Problem("settings_invalid", f"The configuration file: {PLACE} is not a list")
    return entries


def _name(entry: Any) -> str:
    """Return the name of a key; "" for one without."""
    return str(entry.get("name") or "") if isinstance(entry, dict) else ""


def _marked(entries: list[Any], server: Json) -> list[Any]:
    """Return the entries, marked as the owner's if they are only because nobody else has keys."""
    people = {_name(each) or str(each) for each in entries}
    is_marked = any(isinstance(each, dict) and each.get("owner") for each in entries)
    if is_marked or server.get("home_key") is True or len(people) != 1:
        return entries
    whole = ({"key": each} if isinstance(each, str) else each for each in entries)
    return [{**each, "owner": True} for each in whole]
