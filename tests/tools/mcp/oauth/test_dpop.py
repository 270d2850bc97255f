"""Proofs that go with tokens which are bound to a key."""

from __future__ import annotations

import json
import unittest
from typing import Any

from server.tools.mcp.oauth import dpop
from server.tools.mcp.oauth.es256 import SigningKey
from server.tools.mcp.oauth.grants import from_base64_url

from ...mcp_sign_in_server import Page, Seen
from .test_access import Case

KEY = SigningKey.of(5)


def claims_of(proof: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(from_base64_url(proof.split(".")[1]))
    return found


class Proofs(unittest.TestCase):
    def test_what_a_proof_says(self) -> None:
        made = dpop.proof(KEY, "POST", "https://a/mcp?key=x#y", 1000.7, "n", "token")
        head = json.loads(from_base64_url(made.split(".")[0]))
        self.assertEqual(head, {"alg": "ES256", "typ": "dpop+jwt", "jwk": KEY.public()})
        claims = claims_of(made)
        self.assertEqual((claims["htm"], claims["htu"]), ("POST", "https://a/mcp"))
        self.assertEqual((claims["iat"], claims["nonce"]), (1000, "n"))
        self.assertEqual(claims["ath"], "PEaenWxYddN6Q_NT1PiOYfz4EsZu7jRXRlpAsNpBU-A")
        again = dpop.proof(KEY, "POST", "https://a/mcp", 1000)
        self.assertNotEqual(claims_of(again)["jti"], claims["jti"])
        self.assertFalse({"nonce", "ath"} & set(claims_of(again)))

    def test_keys_are_kept_as_text(self) -> None:
        self.assertEqual(dpop.read_key(dpop.key_text(KEY)), KEY)
        for text in ("", "x", "!!", "AA", "A" * 10_000):
            self.assertIsNone(dpop.read_key(text))


class Bound(Case):
    """The scripted servers, made to bind tokens to keys."""

    async def asyncSetUp(self) -> None:
        await super().asyncSetUp()
        self.world.metadata["dpop_signing_alg_values_supported"] = ["ES256"]
        self.world.mcp.pages["/mcp"] = self.protect
        self.world.auth.pages["/token"] = self.issue
        self.nonce = ""
        self.proofs: list[str] = []

    def protect(self, seen: Seen) -> Page:
        proof = seen.headers.get("dpop", "")
        if proof and claims_of(proof).get("nonce", "") != self.nonce:
            told = ("WWW-Authenticate", 'DPoP error="use_dpop_nonce"')
            return Page(401, b"", (told, ("DPoP-Nonce", self.nonce)))
        if proof:
            self.proofs.append(proof)
        scheme, _, token = seen.headers.get("authorization", "").partition(" ")
        headers = {**seen.headers, "authorization": f"Bearer {token}" if scheme == "DPoP" else ""}
        page = self.world.mcp.usual(seen._replace(headers=headers))
        fields = [(name, value.replace("Bearer", "DPoP")) for name, value in page.headers]
        return page._replace(headers=tuple(fields))

    def issue(self, seen: Seen) -> Page:
        claims = claims_of(seen.headers["dpop"])
        self.assertEqual((claims["htm"], claims["htu"]), ("POST", f"{self.world.issuer}/token"))
        if claims.get("nonce", "") != self.nonce:
            return Page(400, {"error": "use_dpop_nonce"}, (("DPoP-Nonce", self.nonce),))
        page = self.world.auth.usual(seen)
        return page._replace(body={**page.body, "token_type": "DPoP"})

    async def begin_and_finish(self) -> Any:
        servers = self.servers()
        self.assertEqual(await self.tools(servers), {})
        await self.sign_in(servers)
        return servers, await self.tools(servers)

    async def test_each_request_has_a_proof_of_its_own(self) -> None:
        for nonce in ("", "first"):
            with self.subTest(nonce):
                self.nonce = nonce
                servers, tools = await self.begin_and_finish()
                self.assertEqual((await self.call(tools["note"])).status, "ok")
                ids = [claims_of(each)["jti"] for each in self.proofs]
                self.assertEqual(len(ids), len(set(ids)))
                keys = {each.split(".")[0] for each in self.proofs}
                self.assertEqual(len(keys), 1)
                self.proofs.clear()
                await servers.accounts.forget("s")

    async def test_a_renewal_has_the_same_key_and_takes_a_new_nonce(self) -> None:
        _, tools = await self.begin_and_finish()
        key = self.record()["dpop_key"]
        self.world.expire()
        self.nonce = "second"
        self.assertEqual((await self.call(tools["note"])).status, "ok")
        self.assertEqual(self.record()["dpop_key"], key)
        self.assertTrue(self.world.token_requests("refresh_token"))

    async def test_a_nonce_that_is_never_right_is_not_asked_for_for_ever(self) -> None:
        _, tools = await self.begin_and_finish()
        count = iter(range(1_000))

        def never(_: Seen) -> Page:
            told = ("WWW-Authenticate", 'DPoP error="use_dpop_nonce"')
            return Page(401, b"", (told, ("DPoP-Nonce", str(next(count)))))

        self.world.mcp.pages["/mcp"] = never
        self.assertEqual((await self.call(tools["note"])).status, "error")
        self.assertLess(next(count), 10)
