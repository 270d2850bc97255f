"""Read the key `oauth` of an entry of `server.mcpServers`.

Programs spell it differently; what they mean alike is taken.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ....json_types import Json
from ....lib.json_schema.field_types import FLAG, TEXT, either, list_of, number, object_of, one_of
from ....settings.schema import ADDRESS, PATH, problems
from .metadata import MISCONFIGURED, OAuthError, safe_url, scopes_in

CODE, CLIENT = "authorization_code", "client_credentials"
JWT_BEARER, IDENTITY = "jwt_bearer", "identity_assertion"
METHODS = ("none", "client_secret_basic", "client_secret_post")
MAX_SECRET_FILE = 64 * 1024  # bytes
SETTINGS = object_of(
    {
        "enabled": FLAG,
        **dict.fromkeys(("clientId", "clientSecret"), TEXT),
        **dict.fromkeys(("clientMetadataUrl", "issuer"), ADDRESS),
        "scope": either(TEXT, list_of(TEXT, "a list")),
        "grant": one_of(CODE, CLIENT, JWT_BEARER, IDENTITY),
        "assertionFile": PATH,
        "identityProvider": object_of(
            {"tokenEndpoint": ADDRESS, "clientId": TEXT}, ("tokenEndpoint", "clientId"), closed=True
        ),
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
    assertion_file: str = ""
    provider_url: str = ""  # of the identity provider: its token endpoint
    provider_client: str = ""

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
    found = normalize_settings(written)
    settings = OAuthSettings(
        found.get("clientId", ""),
        found.get("clientSecret", ""),
        found.get("clientMetadataUrl", ""),
        found.get("issuer", ""),
        scopes_in(found.get("scope", "")),
        found.get("grant", CODE),
        found.get("tokenAuthMethod", ""),
        int(found.get("callbackPort", 0)),
        found.get("assertionFile", ""),
        found.get("identityProvider", {}).get("tokenEndpoint", ""),
        found.get("identityProvider", {}).get("clientId", ""),
    )
    _check(settings)
    return settings


def normalize_settings(written: Json) -> Json:
    """Return `oauth` of an entry with yaa's own keys. Raises OAuthError."""
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
    return found


def _check(settings: OAuthSettings) -> None:
    if settings.client_secret and not settings.client_id:
        raise OAuthError("oauth.clientSecret wants oauth.clientId")
    if settings.grant == CLIENT and not settings.client_secret:
        raise OAuthError("oauth.grant client_credentials wants clientId and clientSecret")
    if settings.interactive and settings.assertion_file:
        raise OAuthError("oauth.assertionFile is for grants without a person")
    if settings.grant in (JWT_BEARER, IDENTITY) and not settings.assertion_file:
        raise OAuthError(f"oauth.grant {settings.grant} wants assertionFile")
    if (settings.grant == IDENTITY) != bool(settings.provider_url):
        raise OAuthError("oauth.grant identity_assertion and identityProvider belong together")
    if settings.provider_url:
        safe_url(settings.provider_url, "oauth.identityProvider.tokenEndpoint")
    if settings.metadata_url:
        url = safe_url(settings.metadata_url, "oauth.clientMetadataUrl")
        if not url.startswith("https:") or url.count("/") < 3:
            raise OAuthError("oauth.clientMetadataUrl is not https with a path")
    if settings.issuer:
        safe_url(settings.issuer, "oauth.issuer")


def read_file(name: str, key: str) -> str:
    """Return the text of a file of secrets, read anew each time: others replace it.

    Raises OAuthError, which names the key and not the path.
    """
    try:
        if not (path := Path(name).expanduser()).is_absolute():
            raise OAuthError(f"oauth.{key} is relative; write the whole path", MISCONFIGURED)
        with path.open("rb") as file:
            return file.read(MAX_SECRET_FILE).decode("utf-8").strip()
    except (OSError, ValueError, RuntimeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise OAuthError(f"the file of oauth.{key} cannot be read: {why}", MISCONFIGURED) from None
