"""The handlers of `/mcp/…`: sign in at MCP servers, from the page.

Only the owner's keys may see and change the sign-ins, since all keys use them. The answer of an
authorization server comes without a key; what it says is signed (oauth/sign_in.py).
"""

from __future__ import annotations

from html import escape
from urllib.parse import urlsplit

from ...api.body import BodyLimits, read_fields
from ...api.router import RequestContext, Route
from ...errors import Problem
from ...lib.http.problem_page import HEADERS
from ...lib.json_schema.objects import object_schema
from .oauth.accounts import Accounts
from .oauth.metadata import (
    BEGIN_AGAIN,
    MISCONFIGURED,
    REFUSED,
    UNREACHABLE,
    UNREGISTERED,
    UNSAFE,
    UNUSABLE,
    OAuthError,
)

CALLBACK = "/mcp/callback"
MAX_QUERY = 16_384  # characters of the answer of an authorization server
MAX_BODY = BodyLimits(16_384, 100)

# What the page of the callback says. The page that began it has texts of its own for the reasons.
DONE = {
    "en": "Signed in at the MCP server {name}. You can close this page.",
    "zh": "已登录 MCP 服务器 {name}。可以关闭本页。",
}
FAILED = {
    "en": {
        UNUSABLE: "The sign-in failed: what the other server says of it cannot be used.",
        UNREACHABLE: "The sign-in failed: the other server did not answer.",
        UNSAFE: "The sign-in failed: it would not be safe there.",
        REFUSED: "The sign-in was refused.",
        UNREGISTERED: "The sign-in failed: yaa is not registered there.",
        BEGIN_AGAIN: "The sign-in is no longer valid. Begin again.",
        MISCONFIGURED: "The sign-in failed: the server's settings do not allow it.",
    },
    "zh": {
        UNUSABLE: "登录失败：对方服务器给出的信息无法使用。",
        UNREACHABLE: "登录失败：对方服务器没有应答。",
        UNSAFE: "登录失败：在那里登录不安全。",
        REFUSED: "登录被拒绝。",
        UNREGISTERED: "登录失败：yaa 没有在那里注册。",
        BEGIN_AGAIN: "这次登录已失效，请重新开始。",
        MISCONFIGURED: "登录失败：服务器的设置不允许。",
    },
}

_NAME = {"type": "string", "minLength": 1, "maxLength": 200}


_BEGIN = object_schema({"server": _NAME, "callback": {"type": "string", "maxLength": 2_000}}, None)
_FORGET = object_schema({"server": _NAME}, None)


class SignIns:
    """The sign-ins at MCP servers."""

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts

    def routes(self) -> dict[tuple[str, str], Route]:
        """Return (method, path) -> route."""
        return {
            ("GET", "/mcp/sign-ins"): Route(self.listing),
            ("POST", "/mcp/sign-in"): Route(self.begin),
            ("POST", "/mcp/sign-out"): Route(self.end),
            ("GET", "/mcp/callback"): Route(self.callback, open=True),
        }

    async def listing(self, call: RequestContext) -> None:
        """Send the servers that this key may sign in at, with their state."""
        await call.json({"servers": self._accounts.info() if call.key.is_owner else []})

    async def begin(self, call: RequestContext) -> None:
        """Send the link at which the owner signs in. Raises Problem.

        `callback` is the address of the page's server with CALLBACK, as the browser reaches it.
        """
        _check_owner(call)
        body = await read_fields(call, MAX_BODY, _BEGIN)
        if not urlsplit(body["callback"]).path.endswith(CALLBACK):
            raise Problem("request_invalid", f"callback: an address that ends in {CALLBACK}")
        try:
            begun = await self._accounts.begin(body["server"], body["callback"])
        except OAuthError as error:
            raise _problem(error) from None
        await call.json({"url": begun.url, "issuer": begun.issuer})

    async def end(self, call: RequestContext) -> None:
        """Delete the tokens of a server."""
        _check_owner(call)
        body = await read_fields(call, MAX_BODY, _FORGET)
        try:
            known = await self._accounts.forget(body["server"])
        except OAuthError as error:
            raise _problem(error) from None
        await call.json({"signed_out": known})

    async def callback(self, call: RequestContext) -> None:
        """Take the answer of an authorization server and send a page that says what came of it."""
        try:
            name = await self._accounts.finish(f"?{call.request.query[:MAX_QUERY]}")
        except OAuthError as error:
            text = f"{_failure(error, call)} ({error})"
            await call.reply(400, result_page(text), HEADERS)
        else:
            text = DONE[_language(call)].format(name=name)
            await call.reply(200, result_page(text), HEADERS)


def result_page(text: str) -> bytes:
    """Return a small page that says how a sign-in ended."""
    head = '<!doctype html><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
    view = '<meta name="viewport" content="width=device-width">'
    return f"{head}{view}<title>yaa</title><p>{escape(text)}</p>\n".encode()


def _problem(error: OAuthError) -> Problem:
    return Problem("sign_in_failed", str(error), facts={"reason": error.reason})


def _failure(error: OAuthError, call: RequestContext) -> str:
    return FAILED[_language(call)][error.reason]


def _language(call: RequestContext) -> str:
    """Return "zh" for a browser that asks for Chinese first, else "en"."""
    wanted = call.request.headers.get("accept-language", "").strip().lower()
    return "zh" if wanted.startswith("zh") else "en"


def _check_owner(call: RequestContext) -> None:
    if not call.key.is_owner:
        text = "Only the owner of this server signs it in at MCP servers: ask for it there"
        raise Problem("forbidden", text)
