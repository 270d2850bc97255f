"""Sign a person in at one MCP server: make the link, take the answer, fetch the tokens.

Nothing is kept between the two halves but a registration of this client. What the second needs is
in `state`, which is signed with a key of the home folder, so the answer may come to another process
of the same folder, and a state from elsewhere is refused. The PKCE verifier is derived from the
same key and never leaves the folder.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from dataclasses import dataclass

from ....json_types import Json
from ....lib.strict_json import as_list
from ..peer import MODERN, meta
from .access import Access
from .discovery import find_early_issuer, find_issuer, find_resource
from .grants import (
    ClientId,
    authorization_url,
    base64_url,
    client_document,
    code_of,
    from_base64_url,
    pkce_challenge,
    read_registration,
    read_response,
    registration_method,
    sign,
)
from .metadata import (
    BEGIN_AGAIN,
    MISCONFIGURED,
    UNREGISTERED,
    Issuer,
    OAuthError,
    Resource,
    bearer_challenge,
    first_issuer,
    is_same_issuer,
    merge_scopes,
    safe_url,
    scopes_in,
)

VALID_S = 900.0  # how long a person has for the sign-in
MAX_STATE = 8_192  # characters
REGISTRATIONS = 4  # that are kept for one server
OFFLINE = "offline_access"


@dataclass(frozen=True)
class SignIn:
    """A begun sign-in. `url`: where the person goes; `issuer`: whose page that is."""

    url: str
    state: str
    issuer: str


async def begin(access: Access, name: str, redirect_uri: str) -> SignIn:
    """Return the link at which a person signs in. Raises OAuthError.

    `name`: of the server, for whoever takes the answer. `redirect_uri`: where that is sent to.
    """
    if not access.settings.interactive:
        raise OAuthError(
            f"its entry says {access.settings.grant}: nobody signs in there", MISCONFIGURED
        )
    safe_url(access.url, "url")
    safe_url(redirect_uri, "redirect address")
    challenge = access.challenge or await _ask_for_challenge(access)
    resource, issuer = await _find(access, challenge)
    key = access.store.signing_key()
    scopes = _scopes(access, challenge, resource, issuer)
    client = await _client(access, issuer, redirect_uri, scopes)
    target = resource.resource if resource else access.url
    told = {
        "name": name,
        "url": _digest(access.url),
        "redirect": redirect_uri,
        "issuer": issuer.issuer,
        "early": resource is None,
        "client": client.id,
        "resource": target,
        "scopes": list(scopes),
        "until": int(access.clock() + VALID_S),
        "nonce": secrets.token_urlsafe(16),
    }
    state = _seal(key, told)
    params = {
        "response_type": "code",
        "client_id": client.id,
        "redirect_uri": redirect_uri,
        "code_challenge": pkce_challenge(_verifier(key, state)),
        "code_challenge_method": "S256",
        "state": state,
        "resource": target,
        "scope": " ".join(scopes),
        "prompt": "consent" if OFFLINE in scopes else "",  # OpenID Connect Core section 11
    }
    url = authorization_url(issuer.authorization_endpoint, params)
    return SignIn(url, state, issuer.issuer)


async def finish(access: Access, response: str) -> None:
    """Take the answer of the authorization server, an address or its query, and keep the tokens.

    Raises OAuthError; GrantError if the person or the server refused.
    """
    params = read_response(response)
    key = access.store.signing_key()
    told = _open(key, params["state"], access.clock())
    if told["url"] != _digest(access.url):
        raise OAuthError("this sign-in was for another address: begin again", BEGIN_AGAIN)
    issuer = await _known_issuer(access, told)
    code = code_of(params, issuer)
    client = _begun_client(access, issuer, told)
    fields = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": told["redirect"],
        "code_verifier": _verifier(key, params["state"]),
        "resource": told["resource"],
    }
    async with access.file.lock():
        kept = {"registrations": access.record.get("registrations", [])}
        access.save({**access.record})  # if the disk is full the code must not be used up
        if not access.store.use_once(told["nonce"], told["until"], access.clock()):
            raise OAuthError("this sign-in was used already: begin again", BEGIN_AGAIN)
        tokens = await access.request_tokens(issuer.token_endpoint, client, fields)
        secret = {} if client.id == access.settings.client_id else {"secret": client.secret}
        about = {"issuer": issuer.issuer, "token_endpoint": issuer.token_endpoint}
        who = {"id": client.id, "method": client.method, **secret}
        what = {"resource": told["resource"], "scopes": told["scopes"], "client": who}
        access.save_tokens({**kept, **about, **what}, tokens)


async def forget(access: Access) -> bool:
    """Delete the tokens and the registrations; return whether there were any. Raises OAuthError."""
    async with access.file.lock():
        known = bool(access.record)
        access.file.remove()
    return known


def server_of(response: str) -> str:
    """Return the server's name in an answer, which `finish` still has to check; "" if none."""
    try:
        told = _payload(read_response(response)["state"])
    except OAuthError:
        return ""
    return str(told.get("name", ""))


# -- discovery ------------------------------------------------------------------------------------


async def _ask_for_challenge(access: Access) -> dict[str, str]:
    """Return the challenge to a request without a token, {} if there is none. Raises OAuthError."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta()}}
    headers = {"Content-Type": "application/json", "Mcp-Method": "tools/list"}
    headers["Accept"] = "application/json, text/event-stream"
    headers["MCP-Protocol-Version"] = MODERN
    told = await access.web.challenge(access.url, headers, json.dumps(message).encode())
    return bearer_challenge(told) or {}


async def _find(access: Access, challenge: dict[str, str]) -> tuple[Resource | None, Issuer]:
    """Return the metadata of the MCP server, None for an early one, and its issuer's."""
    resource = await find_resource(access.web, access.url, challenge)
    if resource is None:
        return None, await find_early_issuer(access.web, access.url)
    known = str(access.record.get("issuer", ""))
    name = first_issuer(resource, known, access.settings.issuer)
    return resource, await find_issuer(access.web, name, interactive=True)


async def _known_issuer(access: Access, told: Json) -> Issuer:
    """Return the metadata of the issuer that the sign-in was begun with. Raises OAuthError."""
    if told["early"]:
        issuer = await find_early_issuer(access.web, access.url)
    else:
        issuer = await find_issuer(access.web, told["issuer"], interactive=True)
    if issuer.issuer != told["issuer"]:
        raise OAuthError("its authorization server has changed meanwhile: begin again", BEGIN_AGAIN)
    return issuer


def _scopes(
    access: Access, challenge: dict[str, str], resource: Resource | None, issuer: Issuer
) -> tuple[str, ...]:
    """Return the scopes to ask for: configured, else challenged, else those of the metadata.

    Scopes that a request lacked (a 403) are added to those that there are.
    """
    wanted = scopes_in(access.record.get("wanted"))
    told = scopes_in(challenge.get("scope", ""))
    usual = access.settings.scopes or told or (resource.scopes if resource else ())
    scopes = merge_scopes(access.settings.scopes, wanted, told) if wanted else usual
    lasting = (OFFLINE,) if OFFLINE in issuer.scopes and not access.settings.scopes else ()
    return merge_scopes(scopes, lasting)


# -- this client ----------------------------------------------------------------------------------


async def _client(
    access: Access, issuer: Issuer, redirect_uri: str, scopes: tuple[str, ...]
) -> ClientId:
    """Return this client at an issuer: configured, a document, or registered. Raises OAuthError."""
    settings = access.settings
    if settings.client_id:
        return access.own_client(issuer.auth_methods)
    if settings.metadata_url and issuer.takes_urls:
        return ClientId(settings.metadata_url)
    for each in _registrations(access, issuer):
        if each.get("redirect_uri") == redirect_uri:
            return _registered(each)
    return await _register(access, issuer, redirect_uri, scopes)


async def _register(
    access: Access, issuer: Issuer, redirect_uri: str, scopes: tuple[str, ...]
) -> ClientId:
    if not issuer.registration_endpoint:
        raise OAuthError(
            f"{issuer.issuer} registers no clients by itself: register one there for"
            f" {redirect_uri} and put its id into `oauth.clientId` of the entry",
            UNREGISTERED,
        )
    method = access.settings.method or registration_method(issuer.auth_methods)
    document = client_document(redirect_uri, method, scopes)
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    body = json.dumps(document).encode()
    status, answer = await access.web.post(issuer.registration_endpoint, headers, body)
    if status not in (200, 201) or "error" in answer:
        raise OAuthError(f"{issuer.issuer} did not register this client ({status})", UNREGISTERED)
    client = read_registration(answer, issuer.auth_methods)
    async with access.file.lock():
        record, told = access.record, {"issuer": issuer.issuer, "redirect_uri": redirect_uri}
        known = [{**client.document(), **told}, *as_list(record.get("registrations"))]
        access.save({**record, "registrations": known[:REGISTRATIONS]})
    return client


def _begun_client(access: Access, issuer: Issuer, told: Json) -> ClientId:
    """Return the client that a sign-in was begun with. Raises OAuthError."""
    settings = access.settings
    if told["client"] == settings.client_id:
        return access.own_client(issuer.auth_methods)
    if told["client"] == settings.metadata_url:
        return ClientId(settings.metadata_url)
    for each in _registrations(access, issuer):
        if each.get("id") == told["client"]:
            return _registered(each)
    raise OAuthError("the registration of this sign-in is gone: begin again", BEGIN_AGAIN)


def _registrations(access: Access, issuer: Issuer) -> list[Json]:
    known = as_list(access.record.get("registrations"))
    known = [each for each in known if isinstance(each, dict)]
    return [each for each in known if is_same_issuer(each.get("issuer"), issuer.issuer)]


def _registered(told: Json) -> ClientId:
    return ClientId(str(told["id"]), str(told.get("secret", "")), str(told.get("method", "none")))


# -- state ----------------------------------------------------------------------------------------


def _digest(url: str) -> str:
    return hashlib.sha256(url.encode()).hexdigest()[:16]


def _seal(key: bytes, told: Json) -> str:
    text = base64_url(json.dumps(told, separators=(",", ":")).encode())
    return f"{text}.{sign(key, f'state {text}')}"


def _verifier(key: bytes, state: str) -> str:
    return sign(key, f"verifier {state}")


def _payload(state: str) -> Json:
    """Return what a state says, unchecked; {} if it says nothing."""
    text = state[:MAX_STATE].partition(".")[0]
    try:
        found = json.loads(from_base64_url(text))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _open(key: bytes, state: str, now: float) -> Json:
    """Return what a state says that `_seal` has made with this key. Raises OAuthError."""
    text, _, signature = state.partition(".")
    if not hmac.compare_digest(sign(key, f"state {text}").encode(), signature.encode()):
        raise OAuthError("this sign-in was not begun here: begin again", BEGIN_AGAIN)
    told = _payload(state)
    if not 0 <= told["until"] - now <= VALID_S:  # later than any: the clock was wrong
        raise OAuthError("this sign-in took too long: begin again", BEGIN_AGAIN)
    return told
