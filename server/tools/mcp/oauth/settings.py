"""Read the key `oauth` of an entry of `server.mcpServers`.

Programs spell it differently; what they mean alike is taken. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ....json_types import Json
from ....schema.field_types import FLAG, TEXT, either, list_of, number, object_of, one_of
from ....settings.schema import problems
from .metadata import OAuthError, safe_url, scopes_in

CODE, MACHINE = "authorization_code", "client_credentials"
METHODS = ("none", "client_secret_basic", "client_secret_post")
SETTINGS = object_of(
    {
        "enabled": FLAG,
        **dict.fromkeys(("clientId", "clientSecret", "clientMetadataUrl", "issuer"), TEXT),
        "scope": either(TEXT, list_of(TEXT, "a list")),
        "grant": one_of(CODE, MACHINE),
        "tokenAuthMethod": one_of(*METHODS),
        "callbackPort": number("a port", 0, 65_535, whole=True),
    },
    closed=True,
)
ALIASES = {
    "client_id": "clientId",
    "CLIENT_ID": "clientId",
    "client_secret": "clientSecret",
    "CLIENT_SECRET": "clientSecret",
    "scopes": "scope",
    "client_metadata_url": "clientMetadataUrl",
}
FOUND = ("authorizationUrl", "tokenUrl", "registrationUrl", "redirectUri")


@dataclass(frozen=True)
class OAuthSettings:
    """How to sign in at one server; the default is what the servers themselves say.

    callback_port: of the redirect address at the command line, 0 for any free one.
    """

    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    metadata_url: str = ""  # the client id is the address of a document about this client
    issuer: str = ""
    scopes: tuple[str, ...] = ()
    grant: str = CODE
    method: str = ""
    callback_port: int = 0

    @property
    def interactive(self) -> bool:
        """Return whether a person signs in."""
        return self.grant == CODE


def read_settings(written: Any) -> OAuthSettings | None:
    """Return the settings in `oauth` of an entry; None if it is switched off. Raises OAuthError."""
    if written is False or (isinstance(written, dict) and written.get("enabled") is False):
        return None
    if written is True:
        written = {}
    if not isinstance(written, dict):
        raise OAuthError("oauth is neither true, false nor an object")
    found: Json = {}
    for key, value in written.items():
        own = ALIASES[key] if key in ALIASES else str(key)
        if key in FOUND:
            raise OAuthError(f"oauth.{key} is not needed: the server names its address; remove it")
        if own in found:
            raise OAuthError(f"oauth.{key} says what another key says already: keep one of them")
        found[own] = value
    for line in problems(found, SETTINGS):
        raise OAuthError(f"oauth.{line}")
    settings = OAuthSettings(
        found.get("clientId", ""),
        found.get("clientSecret", ""),
        found.get("clientMetadataUrl", ""),
        found.get("issuer", ""),
        scopes_in(found.get("scope", "")),
        found.get("grant", CODE),
        found.get("tokenAuthMethod", ""),
        int(found.get("callbackPort", 0)),
    )
    _check(settings)
    return settings


def _check(settings: OAuthSettings) -> None:
    if settings.client_secret and not settings.client_id:
        raise OAuthError("oauth.clientSecret wants oauth.clientId")
    if not settings.interactive and not settings.client_secret:
        raise OAuthError("oauth.grant client_credentials wants clientId and clientSecret")
    if settings.metadata_url:
        url = safe_url(settings.metadata_url, "oauth.clientMetadataUrl")
        if not url.startswith("https:") or url.count("/") < 3:
            raise OAuthError("oauth.clientMetadataUrl is not https with a path")
    if settings.issuer:
        safe_url(settings.issuer, "oauth.issuer")
