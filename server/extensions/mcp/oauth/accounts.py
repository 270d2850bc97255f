"""The sign-ins of all MCP servers of the configuration, by the servers' names.

The command line and the page act through it; the calls themselves need only `access`.
"""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlsplit

from ....json_types import Json
from . import sign_in
from .access import Access
from .metadata import BEGIN_AGAIN, MISCONFIGURED, OAuthError, scopes_in
from .sign_in import SignIn

Changed = Callable[[], None]


class Accounts:
    """The servers that a person may sign in at. `changed` is called after a sign-in."""

    def __init__(self, changed: Changed = lambda: None) -> None:
        self._accesses: dict[str, Access] = {}
        self._changed = changed

    def add(self, name: str, access: Access) -> None:
        """Add the server `name`."""
        self._accesses[name] = access

    def info(self) -> list[Json]:
        """Return what may be shown of each: server, host, state ("signed_in", "needed" or "").

        Also issuer and scopes of a sign-in that there is, and `interactive`.
        """
        return [self._about(name, access) for name, access in self._accesses.items()]

    def callback_port(self, name: str) -> int:
        """Return the configured port of the redirect address, 0 for any. Raises OAuthError."""
        return self._find(name).settings.callback_port

    async def begin(self, name: str, redirect_uri: str) -> SignIn:
        """Return the link for a sign-in at a server. Raises OAuthError."""
        return await sign_in.begin(self._find(name), name, redirect_uri)

    async def finish(self, response: str) -> str:
        """Take the answer of an authorization server and return the server's name.

        Raises OAuthError.
        """
        name = sign_in.server_of(response)
        if name not in self._accesses:
            raise OAuthError("this sign-in was not begun here: begin again", BEGIN_AGAIN)
        await sign_in.finish(self._accesses[name], response)
        self._changed()
        return name

    async def forget(self, name: str) -> bool:
        """Delete the tokens of a server; return whether there were any. Raises OAuthError."""
        return await sign_in.forget(self._find(name))

    def _find(self, name: str) -> Access:
        if (found := self._accesses.get(name)) is None:
            names = ", ".join(self._accesses) or "none"
            raise OAuthError(
                f"no MCP server {name[:100]!r} takes a sign-in; those that do: {names}",
                MISCONFIGURED,
            )
        return found

    def _about(self, name: str, access: Access) -> Json:
        told: Json = {"server": name, "host": urlsplit(access.url).netloc.rpartition("@")[2]}
        told |= {"state": access.state, "interactive": access.settings.interactive}
        if access.state == "signed_in":
            told["issuer"] = str(access.record.get("issuer", ""))
            told["scopes"] = list(scopes_in(access.record.get("scopes")))
        return told
