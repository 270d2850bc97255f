"""A scripted authorization server and an MCP server that it protects, on real sockets.

Access tokens are valid until `expire`; refresh tokens are good for one use, and one that is used
twice ends everything (`replayed`). A case changes the documents, adds `pages` that answer in the
place of what is usual, and reads `seen`.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import itertools
import json
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from server.lib.http.client import Client

Json = dict[str, Any]
REDIRECT = "http://127.0.0.1:33418/callback"
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}


class Seen(NamedTuple):
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: str

    @property
    def form(self) -> dict[str, str]:
        return dict(parse_qsl(self.body))


class Page(NamedTuple):
    status: int
    body: Any = b""  # JSON if it is not bytes
    headers: tuple[tuple[str, str], ...] = ()


Handler = Callable[[Seen], Page]


class Host:
    """One listening address. `seen` has its requests; `pages` override by path."""

    def __init__(self, usual: Handler) -> None:
        self.usual, self.seen = usual, list[Seen]()
        self.pages: dict[str, Handler] = {}
        self.gate: asyncio.Event | None = None  # answers wait for it
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self) -> str:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=1 << 20)
        self.port = self._server.sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{self.port}"

    async def close(self) -> None:
        self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            first, *lines = head.strip().split("\r\n")
            method, target, _ = first.split(" ")
            pairs = (line.split(": ", 1) for line in lines)
            headers = {name.lower(): value for name, value in pairs}
            body = await reader.readexactly(int(headers.get("content-length", 0)))
            path, _, query = target.partition("?")
            seen = Seen(method, path, dict(parse_qsl(query)), headers, body.decode())
            self.seen.append(seen)
            if self.gate is not None:
                await self.gate.wait()
            page = self.pages.get(path, self.usual)(seen)
            await self._reply(writer, page)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _reply(self, writer: asyncio.StreamWriter, page: Page) -> None:
        body = page.body if isinstance(page.body, bytes) else json.dumps(page.body).encode()
        kind = () if isinstance(page.body, bytes) else (("Content-Type", "application/json"),)
        fields = [*kind, *page.headers, ("Content-Length", str(len(body))), ("Connection", "close")]
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields)
        writer.write(f"HTTP/1.1 {page.status} X\r\n{lines}\r\n".encode() + body)
        await writer.drain()


class World:
    """Both servers. `url`: of the MCP server; `issuer`: of the authorization server."""

    def __init__(self) -> None:
        self.auth, self.mcp = Host(self._authorize), Host(self._protect)
        self.valid: dict[str, set[str]] = {}  # access token -> scopes
        self.refreshable: dict[str, tuple[str, set[str]]] = {}  # refresh token -> client, scopes
        self.spent: set[str] = set()
        self.codes: dict[str, dict[str, str]] = {}
        self.clients: dict[str, Json] = {}
        self.replayed = False
        self.life_s: Any = 3600
        self.calls: list[str] = []  # texts of executed calls
        self.challenge = True  # whether a 401 says where the metadata is
        self._count = itertools.count(1)

    async def start(self) -> None:
        self.issuer = await self.auth.start()
        self.origin = await self.mcp.start()
        self.url = f"{self.origin}/mcp"
        self.resource: Json = {
            "resource": self.url,
            "authorization_servers": [self.issuer],
            "scopes_supported": ["read"],
        }
        self.metadata: Json = {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "registration_endpoint": f"{self.issuer}/register",
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
            "authorization_response_iss_parameter_supported": True,
        }

    async def close(self) -> None:
        await self.auth.close()
        await self.mcp.close()

    def expire(self) -> None:
        """End all access tokens."""
        self.valid.clear()

    def revoke(self) -> None:
        """End all tokens."""
        self.valid.clear()
        self.refreshable.clear()

    def token_requests(self, grant: str = "") -> list[Seen]:
        asked = [each for each in self.auth.seen if each.path == "/token"]
        return [each for each in asked if not grant or each.form["grant_type"] == grant]

    async def browse(self, url: str) -> str:
        """Sign in as a person would; return the address that the browser is sent to."""
        client = Client()
        try:
            async with await client.request("GET", url) as response:
                assert response.status == 302, response.status
                return response.headers["location"]
        finally:
            await client.close()

    # -- the MCP server ---------------------------------------------------------------------------

    def _protect(self, seen: Seen) -> Page:
        if seen.path == "/.well-known/oauth-protected-resource/mcp":
            return Page(200, self.resource)
        if seen.path != "/mcp":
            return Page(404)
        token = seen.headers.get("authorization", "").removeprefix("Bearer ")
        where = f"{self.origin}/.well-known/oauth-protected-resource/mcp"
        if token not in self.valid:
            told = f'Bearer error="invalid_token", resource_metadata="{where}", scope="read"'
            return Page(401, b"", (("WWW-Authenticate", told),) if self.challenge else ())
        message = json.loads(seen.body)
        match message["method"]:
            case "server/discover":
                about: Json = {"capabilities": {"resources": {}}}
                return _result(message, {"supportedVersions": ["2026-07-28"], **about})
            case "resources/list":
                return _result(message, {"resources": [{"uri": "note:///a", "name": "a"}]})
            case "resources/read":
                uri = message["params"]["uri"]
                return _result(message, {"contents": [{"uri": uri, "text": f"a, {token}"}]})
            case "resources/templates/list":
                return _result(message, {"resourceTemplates": []})
            case "tools/list":
                tools = [{"name": name, "inputSchema": SCHEMA} for name in ("note", "admin")]
                return _result(message, {"tools": tools})
            case "tools/call" if message["params"]["name"] == "admin":
                if "admin" not in self.valid[token]:
                    told = f'Bearer error="insufficient_scope", scope="admin", realm="{where}"'
                    return Page(403, b"", (("WWW-Authenticate", told),))
        text = message["params"]["arguments"].get("text", "")
        self.calls.append(text)
        said = f"noted {text} {token}"  # it repeats the token, which nobody may see
        return _result(message, {"content": [{"type": "text", "text": said}]})

    # -- the authorization server -----------------------------------------------------------------

    def _authorize(self, seen: Seen) -> Page:
        match seen.path:
            case "/.well-known/oauth-authorization-server":
                return Page(200, self.metadata)
            case "/register":
                told = json.loads(seen.body)
                name = f"client-{next(self._count)}"
                self.clients[name] = told
                method = told["token_endpoint_auth_method"]
                secret = {} if method == "none" else {"client_secret": f"secret-of-{name}"}
                return Page(201, {**told, "client_id": name, **secret})
            case "/authorize":
                code = f"code-{next(self._count)}"
                self.codes[code] = seen.query
                told = {"code": code, "state": seen.query["state"], "iss": self.issuer}
                where = f"{seen.query['redirect_uri']}?{urlencode(told)}"
                return Page(302, b"", (("Location", where),))
            case "/token":
                return self._token(seen)
        return Page(404)

    def _token(self, seen: Seen) -> Page:
        form, client = seen.form, seen.form.get("client_id", "")
        if seen.headers.get("authorization", "").startswith("Basic "):
            pair = base64.b64decode(seen.headers["authorization"][6:]).decode()
            client = unquote(pair.partition(":")[0])
        match form["grant_type"]:
            case "authorization_code":
                asked = self.codes.pop(form["code"], None)
                digest = hashlib.sha256(form["code_verifier"].encode()).digest()
                proof = base64.urlsafe_b64encode(digest).decode().rstrip("=")
                if asked is None or asked["code_challenge"] != proof:
                    return _refused("invalid_grant")
                if asked["redirect_uri"] != form["redirect_uri"] or asked["client_id"] != client:
                    return _refused("invalid_grant")
                return self._issue(client, set(asked.get("scope", "").split()))
            case "refresh_token":
                used = form["refresh_token"]
                if used in self.spent:
                    self.replayed = True
                    self.revoke()
                known = self.refreshable.pop(used, None)
                self.spent.add(used)
                if known is None or known[0] != client:
                    return _refused("invalid_grant")
                return self._issue(*known)
            case "client_credentials":
                return self._issue(client, set(form.get("scope", "").split()), lasting=False)
        return _refused("unsupported_grant_type")

    def _issue(self, client: str, scopes: set[str], *, lasting: bool = True) -> Page:
        number = next(self._count)
        access, refresh = f"access-token-{number}", f"refresh-token-{number}"
        self.valid[access] = scopes
        told = {"access_token": access, "token_type": "Bearer", "expires_in": self.life_s}
        if lasting:
            self.refreshable[refresh] = (client, scopes)
            told["refresh_token"] = refresh
        return Page(200, told)


def _result(message: Json, result: Json) -> Page:
    return Page(200, {"jsonrpc": "2.0", "id": message["id"], "result": result})


def _refused(code: str) -> Page:
    return Page(400, {"error": code, "error_description": "no \u2603"})


def port_of(url: str) -> int:
    found = urlsplit(url).port
    assert found is not None
    return found
