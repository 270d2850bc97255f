"""A server with a sign-in, made with the official `mcp` package: its own authorization server.

python tests/extensions/mcp/interop/mcp_sign_in_peer.py <port>

Its tools end what was issued: `expire` the access tokens, `revoke` the refresh tokens too.
"""

# mypy: ignore-errors
import secrets
import sys
import time

from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthToken

PORT = int(sys.argv[1])
ORIGIN = f"http://127.0.0.1:{PORT}"


class Provider(OAuthAuthorizationServerProvider):
    def __init__(self):
        self.clients, self.codes, self.access, self.refresh = {}, {}, {}, {}

    async def get_client(self, client_id):
        return self.clients.get(client_id)

    async def register_client(self, client_info):
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client, params):
        code = AuthorizationCode(
            code=secrets.token_urlsafe(),
            scopes=params.scopes or ["read"],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(
            str(params.redirect_uri), code=code.code, state=params.state, iss=ORIGIN
        )

    async def load_authorization_code(self, client, authorization_code):
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client, authorization_code):
        del self.codes[authorization_code.code]
        return self.issue(client.client_id, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(self, client, refresh_token):
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(self, client, refresh_token, scopes):
        del self.refresh[refresh_token.token]
        return self.issue(client.client_id, scopes, f"{ORIGIN}/mcp")

    async def load_access_token(self, token):
        return self.access.get(token)

    async def revoke_token(self, token):
        self.access.pop(token.token, None)

    def issue(self, client_id, scopes, resource):
        token, again = secrets.token_urlsafe(), secrets.token_urlsafe()
        told = {"client_id": client_id, "scopes": scopes, "resource": resource}
        self.access[token] = AccessToken(token=token, expires_at=int(time.time()) + 3600, **told)
        self.refresh[again] = RefreshToken(token=again, client_id=client_id, scopes=scopes)
        return OAuthToken(
            access_token=token, refresh_token=again, expires_in=3600, scope=" ".join(scopes)
        )


provider = Provider()
server = MCPServer(
    "peer",
    auth_server_provider=provider,
    auth=AuthSettings(
        issuer_url=ORIGIN,
        resource_server_url=f"{ORIGIN}/mcp",
        required_scopes=["read"],
        client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=["read"]),
    ),
)


@server.tool()
def note(text: str) -> str:
    """Note a text."""
    return f"noted {text}"


@server.tool()
def expire() -> str:
    """End the access tokens."""
    provider.access.clear()
    return "expired"


@server.tool()
def revoke() -> str:
    """End all tokens."""
    provider.access.clear()
    provider.refresh.clear()
    return "revoked"


server.run("streamable-http", port=PORT)
