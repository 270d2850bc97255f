"""Fetch the tokens of a program: nobody signs in.

`client_credentials` proves itself with a secret.
`jwt_bearer` hands over an assertion that the platform wrote into a file, as for workloads of
a cluster (RFC 7523 section 2.1). `identity_assertion` has the identity provider of a company turn
a person's ID token into an assertion first (RFC 8693, draft-ietf-oauth-identity-assertion-authz).
Nothing is tried again: a refused assertion stays refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from ....json_types import Json
from .discovery import Web, find_issuer
from .grants import ClientId, Tokens, refusal, token_request
from .metadata import Issuer, OAuthError, Resource, first_issuer, scopes_in
from .settings import CLIENT, JWT_BEARER, OAuthSettings, read_file

BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token"
ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"


class Access(Protocol):
    """What is needed of access.py Access."""

    web: Web
    settings: OAuthSettings
    challenge: dict[str, str]
    clock: Callable[[], float]

    def own_client(self, accepted: tuple[str, ...] | None) -> ClientId:
        """Return the client of the configuration."""
        ...

    async def request_tokens(self, url: str, client: ClientId, fields: Mapping[str, str]) -> Tokens:
        """Return the tokens that a token endpoint sends."""
        ...


async def program_tokens(access: Access, resource: Resource | None) -> tuple[Json, Tokens]:
    """Return what the record should say of new tokens, and the tokens. Raises OAuthError."""
    if resource is None:
        raise OAuthError("it has no metadata that names its authorization server")
    settings = access.settings
    name = first_issuer(resource, "", settings.issuer)
    issuer = await find_issuer(access.web, name, interactive=False)
    scopes = settings.scopes or scopes_in(access.challenge.get("scope", "")) or resource.scopes
    client = access.own_client(issuer.auth_methods)
    fields = {"scope": " ".join(scopes), "resource": resource.resource}
    if settings.grant == CLIENT:
        fields["grant_type"] = "client_credentials"
    else:
        fields["grant_type"] = BEARER
        assertion = read_file(settings.assertion_file, "assertionFile")
        if settings.grant != JWT_BEARER:
            assertion = await _exchanged(access, assertion, issuer, fields)
        fields["assertion"] = assertion
    tokens = await access.request_tokens(issuer.token_endpoint, client, fields)
    told = {"issuer": issuer.issuer, "resource": resource.resource, "scopes": list(scopes)}
    return told, tokens


async def _exchanged(access: Access, id_token: str, issuer: Issuer, fields: dict[str, str]) -> str:
    """Return the assertion for which the identity provider exchanges an ID token."""
    settings = access.settings
    sent = {
        "grant_type": EXCHANGE,
        "requested_token_type": ID_JAG,
        "subject_token": id_token,
        "subject_token_type": ID_TOKEN,
        "audience": issuer.issuer,
        "resource": fields["resource"],
        "scope": fields["scope"],
    }
    headers, body = token_request(ClientId(settings.provider_client), sent)
    status, document = await access.web.post(settings.provider_url, headers, body)
    if status >= 300 or "error" in document:
        raise refusal(document)
    found = document.get("access_token")
    if document.get("issued_token_type") != ID_JAG or not isinstance(found, str):
        raise OAuthError("the identity provider sent no assertion for the authorization server")
    return found
