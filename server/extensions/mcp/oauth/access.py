"""Give the requests to one MCP server their access token, and renew it.

`links` asks for the header before each request and shows every 401 and 403. Nothing here waits for
a person: if only a sign-in helps, `SignInNeeded` is raised, and the call has not been executed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from ....json_types import Json
from ....lib.http.client import Client, Response
from ....lib.runtime.file_stamps import Stamp
from ....lib.strict_json import as_list
from ....telemetry import log
from ..peer import LinkError, SignInNeeded
from .discovery import Web, find_issuer, find_resource
from .grants import ClientId, GrantError, Tokens, auth_method, read_tokens, refusal, token_request
from .metadata import (
    Issuer,
    OAuthError,
    Resource,
    covers,
    first_issuer,
    is_same_issuer,
    merge_scopes,
    read_challenge,
    safe_url,
    scopes_in,
)
from .settings import CLIENT, JWT_BEARER, OAuthSettings, read_file
from .store import TokenStore

TOKEN_KEYS = ("access_token", "refresh_token", "renew_at")
TEMPORARY = ("temporarily_unavailable", "server_error", "slow_down")
UNKNOWN_CLIENT = ("invalid_client", "unauthorized_client")
BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"
ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token"
ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"
FORMER = 4  # replaced secrets that are still masked

logger = log.get("mcp")


class Access:
    """The tokens for the MCP server at `url`, as all processes of this home folder share them.

    The record on disk has: url, issuer, resource, token_endpoint, client, access_token,
    refresh_token, renew_at, scopes (asked for or granted), wanted (scopes for the next sign-in),
    registrations. `clock`: seconds since 1970.
    """

    def __init__(
        self,
        url: str,
        settings: OAuthSettings,
        client: Client,
        store: TokenStore,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.url, self.settings, self.clock = url, settings, clock
        self.web = Web(client, url, settings.issuer, settings.provider_url)
        self.store, self.file = store, store.record(url, settings.client_id)
        self.challenge: dict[str, str] = {}  # the latest one of the server
        self.wants_sign_in = False
        self._record: Json = {}
        self._stamp: Stamp | None = None
        self._former: list[str] = []
        self._news = False
        self._tasks: set[asyncio.Task[Any]] = set()

    # -- what is known ----------------------------------------------------------------------------

    @property
    def record(self) -> Json:
        """Return the record, read again if another process has changed it."""
        if (stamp := self.file.stamp()) != self._stamp:
            content = self.file.read()
            self._adopt(content if content.get("url") == self.url else {}, stamp)
        return self._record

    @property
    def state(self) -> str:
        """Return "signed_in", "needed" (the server refused without), or "" for not signed in."""
        if self.record.get("access_token") and not self.wants_sign_in:
            return "signed_in"
        return "needed" if self.wants_sign_in else ""

    def has_news(self) -> bool:
        """Return whether a needed sign-in was done since the last time, maybe elsewhere."""
        _ = self.record
        news, self._news = self._news, False
        return news

    def secrets(self) -> list[str]:
        """Return every text that no log, result or error may have."""
        record = self.record
        clients = [record.get("client"), *as_list(record.get("registrations"))]
        texts = [each.get("secret") for each in clients if isinstance(each, dict)]
        texts += [record.get("access_token"), record.get("refresh_token")]
        texts += [self.settings.client_secret, *self._former]
        return [each for each in texts if isinstance(each, str) and each]

    def covers(self, url: str) -> bool:
        """Return whether the tokens are for this address too: a redirect must not lead them off."""
        return covers(self.record.get("resource") or self.url, url)

    # -- requests to the MCP server ---------------------------------------------------------------

    async def headers(self) -> dict[str, str]:
        """Return the header of a request, {} before a sign-in. An expired token is renewed first.

        If that fails the old token is sent: the server decides.
        """
        record = self.record
        if record.get("refresh_token") and record.get("renew_at", 0) <= self.clock():
            try:
                await self._finish(self._refresh(record.get("access_token", "")))
            except OAuthError as error:
                logger.warning("a token was not renewed: %s", error)
        token = self.record.get("access_token")
        return {"Authorization": f"Bearer {token}"} if token else {}

    async def renew(self, response: Response, sent: Mapping[str, str], *, again: bool) -> bool:
        """Return whether to repeat a request that was answered with 401 or 403.

        `sent`: the result of `headers` for it; `again`: it is a repetition. False means that this
        is no matter of a sign-in. Raises SignInNeeded, LinkError.
        """
        try:
            if response.status == 403:
                return await self._step_up(response)
            token = sent.get("Authorization", "").partition(" ")[2]
            return await self._renew(response, token, again=again)
        except OAuthError as error:
            raise LinkError(f"the sign-in at it failed: {error}") from None

    async def _renew(self, response: Response, sent: str, *, again: bool) -> bool:
        record, challenge = self.record, read_challenge(response.headers)
        if (token := record.get("access_token")) and token != sent and not again:
            return True  # renewed meanwhile
        resource = await find_resource(self.web, self.url, challenge or {})
        if challenge is None and resource is None and not token:
            return False
        self.challenge = challenge or {}
        if not again:
            if record.get("refresh_token") and self._is_of(resource):
                await self._finish(self._refresh(sent))
            elif not self.settings.interactive:
                await self._finish(self._grant(sent, resource))
            if self.record.get("access_token", sent) != sent:
                return True
        if not self.settings.interactive:
            raise LinkError(f"it refuses the token of its {self.settings.grant}")
        self.wants_sign_in = True
        raise SignInNeeded("it wants a sign-in")

    async def _step_up(self, response: Response) -> bool:
        """Note the scopes that a 403 asks for. Raises SignInNeeded unless they were asked for."""
        challenge = read_challenge(response.headers) or {}
        wanted = scopes_in(challenge.get("scope", ""))
        if challenge.get("error") != "insufficient_scope":
            return False
        if not self.settings.interactive or set(wanted) <= set(self._scopes()):
            which = f" ({' '.join(wanted)})" if wanted else ""
            raise LinkError(f"the account that is signed in may not do this{which}")
        self.challenge = challenge
        async with self.file.lock():
            record = self.record
            self.save({**record, "wanted": list(merge_scopes(self._scopes(), wanted))})
        self.wants_sign_in = True
        raise SignInNeeded(f"it wants a sign-in with more rights: {' '.join(wanted)}")

    def _scopes(self) -> tuple[str, ...]:
        return scopes_in(self.record.get("scopes"))

    def _is_of(self, resource: Resource | None) -> bool:
        """Return whether the tokens are of an authorization server that is still in charge."""
        issuer = str(self.record.get("issuer"))
        return resource is None or any(is_same_issuer(issuer, each) for each in resource.issuers)

    # -- requests for tokens ----------------------------------------------------------------------

    async def _finish(self, work: Coroutine[Any, Any, None]) -> None:
        """Do what must not be cut off: a new refresh token would be lost."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        await asyncio.shield(task)

    async def close(self) -> None:
        """Wait for the requests for tokens that are under way; each is bounded."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _refresh(self, sent: str) -> None:
        """Replace the access token `sent`, unless another task or process has. Raises OAuthError.

        If the authorization server does not take the refresh token, there are no tokens afterwards.
        """
        async with self.file.lock():
            record = self.record
            if record.get("access_token") != sent or not record.get("refresh_token"):
                return
            self.save(record)  # if the disk is full the refresh token must not be used up
            fields = {
                "grant_type": "refresh_token",
                "refresh_token": record["refresh_token"],
                "resource": str(record.get("resource") or ""),
            }
            try:
                tokens = await self.request_tokens(
                    record["token_endpoint"], self.token_client(), fields
                )
            except GrantError as error:
                if error.code in TEMPORARY:
                    raise
                logger.info("the refresh token was refused: %s", error.code)
                gone = (*TOKEN_KEYS, *(("registrations",) if error.code in UNKNOWN_CLIENT else ()))
                self.save({key: value for key, value in record.items() if key not in gone})
            else:
                self.save_tokens(record, tokens)

    async def _grant(self, sent: str, resource: Resource | None) -> None:
        """Fetch a token that belongs to this program, not to a person. Raises OAuthError."""
        async with self.file.lock():
            if self.record.get("access_token", sent) != sent:
                return
            self.save_tokens(*await program_tokens(self, resource))

    async def request_tokens(self, url: str, client: ClientId, fields: Mapping[str, str]) -> Tokens:
        """Return the tokens that a token endpoint sends. Raises GrantError, OAuthError."""
        url = safe_url(url, "token_endpoint")
        headers, body = token_request(client, fields)
        status, document = await self.web.post(url, headers, body)
        if status >= 300 or "error" in document:
            raise refusal(document)
        return read_tokens(document, self.clock())

    def own_client(self, accepted: tuple[str, ...] | None) -> ClientId:
        """Return the client of the configuration."""
        settings = self.settings
        method = settings.method or auth_method(accepted, None, settings.client_secret)
        return ClientId(settings.client_id, settings.client_secret, method)

    def token_client(self) -> ClientId:
        """Return the client that got the tokens of the record."""
        client = self.record.get("client")
        client = client if isinstance(client, dict) else {}
        name, method = str(client.get("id", "")), str(client.get("method", "none"))
        if name == self.settings.client_id:  # its secret is only in the configuration
            return ClientId(name, self.settings.client_secret, method)
        return ClientId(name, str(client.get("secret", "")), method)

    # -- the record -------------------------------------------------------------------------------

    def save_tokens(self, record: Json, tokens: Tokens) -> None:
        """Put new tokens into the record. If they cannot be written they are used until the end."""
        kept = {key: value for key, value in record.items() if key not in ("renew_at", "wanted")}
        renewed = {**kept, "url": self.url, "access_token": tokens.access}
        if tokens.refresh:
            renewed["refresh_token"] = tokens.refresh
        if tokens.renew_at < float("inf"):
            renewed["renew_at"] = tokens.renew_at
        if tokens.scopes is not None:
            renewed["scopes"] = list(merge_scopes(scopes_in(record.get("scopes")), tokens.scopes))
        try:
            self.save(renewed)
        except OAuthError as error:
            logger.error("new tokens are kept in memory only: %s", error)
            self._adopt(renewed, self.file.stamp())

    def save(self, record: Json) -> None:
        """Write the record; whoever calls this holds its lock. Raises OAuthError."""
        changed = {**record, "url": self.url}
        self.file.write(changed)
        self._adopt(changed, self.file.stamp())

    def _adopt(self, record: Json, stamp: Stamp) -> None:
        old = [self._record.get(key) for key in ("access_token", "refresh_token")]
        if record.get("access_token") and record.get("access_token") != old[0]:
            self._news, self.wants_sign_in = self._news or self.wants_sign_in, False
        new = [each for each in old if isinstance(each, str) and each not in self._former]
        self._former = [*new, *self._former][:FORMER]
        self._record, self._stamp = record, stamp


# Tokens of a program: nobody signs in. `client_credentials` proves itself with a secret,
# `jwt_bearer` hands over an assertion that the platform wrote into a file, as for workloads of a
# cluster (RFC 7523 section 2.1). `identity_assertion` has the identity provider of a company turn a
# person's ID token into an assertion first (RFC 8693, draft-ietf-oauth-identity-assertion-authz).
# Nothing is tried again: a refused assertion stays refused.


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
    record = {"issuer": issuer.issuer, "resource": resource.resource, "scopes": list(scopes)}
    return record, tokens


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
    assertion = document.get("access_token")
    if document.get("issued_token_type") != ID_JAG or not isinstance(assertion, str):
        raise OAuthError("the identity provider sent no assertion for the authorization server")
    return assertion
