"""The handlers of `/sign-in`: exchange a code for its key, and make a code for one's own key."""

from __future__ import annotations

import asyncio
from pathlib import Path

from ..errors import Problem
from ..lib.json_schema.objects import object_schema
from .auth import Keys, sent_key
from .body import BodyLimits, read_fields
from .router import RequestContext, Route
from .sign_in_codes import LIFETIME_S, MOST, USED, SignInCodes

MAX_BODY = BodyLimits(4_096, 20)
_CODE = {"type": "string", "minLength": 1, "maxLength": 200}
_BODY = object_schema({"code": _CODE}, None, closed=True)


class SignInLinks:
    """The links that sign a browser in. `keys`: those of the server."""

    def __init__(self, home: Path, keys: Keys) -> None:
        self._codes = SignInCodes(home)
        self._keys = keys

    def routes(self) -> dict[tuple[str, str], Route]:
        """Return (method, path) -> route."""
        return {
            ("POST", "/sign-in"): Route(self.post, open=True),
            ("POST", "/sign-in/link"): Route(self.make),
        }

    async def post(self, call: RequestContext) -> None:
        """End a code `{code}` and send `{key, name}`."""
        body = await read_fields(call, MAX_BODY, _BODY)
        key = await asyncio.to_thread(self._codes.redeem, body["code"])
        try:
            name = self._keys.check({"yaa-api-key": key}).name
        except Problem:  # the key has been replaced meanwhile
            raise Problem("link_expired", USED) from None
        await call.json({"key": key, "name": name})

    async def make(self, call: RequestContext) -> None:
        """Make a link for the key of this request and send `{link, expires_s}`."""
        key = sent_key(call.request.headers)
        if not key:
            text = "No key is needed here, so a link needs no code: open the server's address"
            raise Problem("request_invalid", text)
        code = await asyncio.to_thread(self._codes.make, key, most=MOST)
        await call.json({"link": f"/#code={code}", "expires_s": int(LIFETIME_S)}, status=201)
