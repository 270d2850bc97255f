"""Signing in, renewing and signing out, against a scripted authorization server."""

from __future__ import annotations

import asyncio
import json
import logging
import stat
import tempfile
import unittest
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from server.extensions.mcp.oauth.metadata import OAuthError
from server.extensions.mcp.oauth.settings import read_file
from server.extensions.mcp.oauth.store import TokenStore
from server.extensions.mcp.servers import McpServers, McpTool
from server.lib.http.client import Client
from server.tools.base import ToolQuestion

from ....fakes import call_server
from ....tools.mcp_sign_in_server import REDIRECT, Page, Seen, World, port_of

LIMITS = {"wall_s": 30.0, "output_kb": 64.0}
Json = dict[str, Any]


def always(page: Page, seen: Seen) -> Page:
    return page


class Case(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self) -> None:
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        self.home = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.world = World()
        await self.world.start()
        self.addAsyncCleanup(self.world.close)
        self.client = Client()
        self.addAsyncCleanup(self.client.close)

    def servers(self, entry: Json | None = None, **more: Any) -> McpServers:
        entry = {"url": self.world.url, **(entry or {})}
        servers = McpServers({"s": entry}, more.pop("client", self.client), home=self.home, **more)
        self.addAsyncCleanup(servers.close)
        return servers

    async def sign_in(self, servers: McpServers) -> None:
        begun = await servers.accounts.begin("s", REDIRECT)
        await servers.accounts.finish(await self.world.browse(begun.url))

    async def signed_in(
        self, entry: Json | None = None, **more: Any
    ) -> tuple[McpServers, dict[str, McpTool]]:
        servers = self.servers(entry, **more)
        await self.sign_in(servers)
        return servers, await self.tools(servers)

    async def tools(self, servers: McpServers) -> dict[str, McpTool]:
        found: list[McpTool] = []
        await servers.load(lambda _, listed: found.extend(listed))
        return {tool.listed_name: tool for tool in found}

    async def call(self, tool: McpTool, text: str = "x", question: Json | None = None) -> Any:
        return (await call_server(tool.servers, tool, {"text": text}, question, LIMITS))[-1]

    def record(self) -> Json:
        [file] = (self.home / "oauth").glob("*.json")
        found: Json = json.loads(file.read_text())
        return found

    def change(self, **more: Any) -> None:
        """Change the record on disk, as another process would."""
        [file] = (self.home / "oauth").glob("*.json")
        draft = file.with_suffix(".new")
        draft.write_text(json.dumps({**self.record(), **more}))
        draft.chmod(0o600)
        draft.replace(file)


class SignedIn(Case):
    async def test_a_call_after_a_sign_in(self) -> None:
        servers = self.servers()
        self.assertEqual(await self.tools(servers), {})
        self.assertEqual(
            servers.problems,
            ["mcpServers.s: it wants a sign-in: python3 -m server mcp login s, or in the page"],
        )
        self.assertEqual(servers.accounts.info()[0]["state"], "needed")
        await self.sign_in(servers)
        self.assertEqual(servers.accounts.info()[0]["state"], "signed_in")
        done = await self.call((await self.tools(servers))["note"], "one")
        self.assertEqual((done.status, done.text), ("ok", "noted one ***"))
        self.assertEqual(self.world.calls, ["one"])
        self.assertEqual(servers.problems, [])

    async def test_the_requests_say_what_the_standards_want(self) -> None:
        await self.signed_in()
        [asked] = [each.query for each in self.world.auth.seen if each.path == "/authorize"]
        self.assertEqual(asked["response_type"], "code")
        self.assertEqual(asked["code_challenge_method"], "S256")
        self.assertEqual(asked["resource"], self.world.url)
        self.assertEqual(asked["scope"], "read")
        [sent] = self.world.token_requests()
        self.assertEqual(sent.form["resource"], self.world.url)
        self.assertGreaterEqual(len(sent.form["code_verifier"]), 43)
        [registered] = self.world.clients.values()
        self.assertEqual(registered["redirect_uris"], [REDIRECT])

    async def test_tokens_are_kept_for_this_server_and_their_owner_only(self) -> None:
        await self.signed_in()
        for file in (self.home / "oauth").iterdir():
            self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600, file.name)
        self.assertEqual(stat.S_IMODE((self.home / "oauth").stat().st_mode), 0o700)
        other = self.servers({"url": f"{self.world.origin}/other"})
        self.assertEqual(other.accounts.info()[0]["state"], "")
        again = self.servers()
        self.assertEqual(again.accounts.info()[0]["state"], "signed_in")
        self.assertEqual(again.accounts.info()[0]["issuer"], self.world.issuer)
        self.change(url="https://elsewhere.example/")
        self.assertEqual(again.accounts.info()[0]["state"], "")

    async def test_an_expired_token_is_renewed_without_a_word(self) -> None:
        servers, tools = await self.signed_in()
        before = self.record()
        self.world.expire()
        self.assertEqual((await self.call(tools["note"], "two")).status, "ok")
        [sent] = self.world.token_requests("refresh_token")
        self.assertEqual(sent.form["resource"], self.world.url)
        after = self.record()
        self.assertNotEqual(after["access_token"], before["access_token"])
        self.assertNotEqual(after["refresh_token"], before["refresh_token"])
        self.assertEqual(self.world.calls, ["two"])
        self.assertEqual(servers.accounts.info()[0]["state"], "signed_in")

    async def test_a_token_is_renewed_before_its_end(self) -> None:
        self.world.life_s = 0
        _, tools = await self.signed_in()
        self.world.life_s = 3600
        refused = sum(each.path == "/mcp" for each in self.world.mcp.seen)
        await self.call(tools["note"])
        self.assertEqual(len(self.world.mcp.seen), refused + 1 + self.discoveries())
        self.assertGreater(len(self.world.token_requests("refresh_token")), 0)

    def discoveries(self) -> int:
        return sum(each.path != "/mcp" for each in self.world.mcp.seen)

    async def test_many_requests_and_processes_renew_once(self) -> None:
        _, tools = await self.signed_in()
        others = self.servers(client=self.client)
        there = (await self.tools(others))["note"]
        self.world.expire()
        calls = [self.call(tool, str(n)) for n in range(8) for tool in (tools["note"], there)]
        found = await asyncio.gather(*calls)
        self.assertEqual({each.status for each in found}, {"ok"})
        self.assertEqual(len(self.world.token_requests("refresh_token")), 1)
        self.assertFalse(self.world.replayed)

    async def test_a_cancelled_call_does_not_lose_the_new_tokens(self) -> None:
        servers, tools = await self.signed_in()
        self.world.expire()
        self.world.auth.gate = asyncio.Event()
        call = asyncio.create_task(self.call(tools["note"]))
        while not self.world.token_requests("refresh_token"):
            await asyncio.sleep(0)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        closing = asyncio.create_task(servers.close())
        self.world.auth.gate.set()
        await closing
        self.assertIn(self.record()["access_token"], self.world.valid)

    async def test_signing_out_deletes_the_tokens(self) -> None:
        servers, tools = await self.signed_in()
        self.assertTrue(await servers.accounts.forget("s"))
        self.assertEqual(list((self.home / "oauth").glob("*.json")), [])
        self.assertFalse(await servers.accounts.forget("s"))
        self.assertIsInstance(await self.call(tools["note"]), ToolQuestion)

    async def test_another_process_signed_in(self) -> None:
        servers = self.servers()
        found: list[str] = []
        await servers.load(lambda _, listed: found.extend(tool.name for tool in listed))
        self.assertEqual(found, [])
        await self.sign_in(self.servers())
        servers.refresh()
        self.assertTrue(servers.accounts.info()[0]["state"] == "signed_in")
        while not found:
            await asyncio.sleep(0)
        self.assertEqual(found, ["mcp__s__admin", "mcp__s__note"])

    async def test_a_program_has_its_own_account(self) -> None:
        entry = {"oauth": {"clientId": "me", "clientSecret": "p w", "grant": "client_credentials"}}
        servers = self.servers(entry)
        tools = await self.tools(servers)
        self.assertEqual((await self.call(tools["note"])).status, "ok")
        self.world.expire()
        self.assertEqual((await self.call(tools["note"])).status, "ok")
        self.assertEqual(len(self.world.token_requests("client_credentials")), 2)
        self.assertNotIn("p w", json.dumps(self.record()))
        with self.assertRaisesRegex(OAuthError, "nobody signs in there"):
            await servers.accounts.begin("s", REDIRECT)

    async def test_a_program_hands_over_what_is_in_a_file(self) -> None:
        file = self.home / "token"
        told: list[str] = []

        def exchange(seen: Seen) -> Page:
            told.append(seen.form["assertion"])
            return self.world.auth.usual(
                seen._replace(body="grant_type=client_credentials&scope=read")
            )

        self.world.auth.pages["/token"] = exchange
        tools = {}
        for text in ("first", "second"):
            file.write_text(f"{text}\n")
            self.world.expire()
            servers = self.servers({"oauth": {"grant": "jwt_bearer", "assertionFile": str(file)}})
            tools = await self.tools(servers)
        self.assertEqual(told, ["first", "second"])
        self.world.expire()
        file.unlink()
        done = await self.call(tools["note"])
        self.assertIn("the file of oauth.assertionFile cannot be read", done.error["message"])
        self.assertNotIn(str(self.home), done.error["message"])

    async def test_a_relative_file_is_not_looked_for(self) -> None:
        with self.assertRaisesRegex(OAuthError, "oauth.assertionFile is relative"):
            read_file("token", "assertionFile")

    async def test_a_configured_client_is_not_registered_and_its_secret_not_written(self) -> None:
        await self.signed_in({"oauth": {"clientId": "me", "clientSecret": "topsecret"}})
        self.assertEqual(self.world.clients, {})
        self.assertNotIn("topsecret", json.dumps(self.record()))
        [sent] = self.world.token_requests()
        self.assertTrue(sent.headers["authorization"].startswith("Basic "))

    async def test_a_document_is_the_client_where_the_server_takes_one(self) -> None:
        entry = {"oauth": {"clientMetadataUrl": "https://me.example/client.json"}}
        self.world.metadata["client_id_metadata_document_supported"] = True
        await self.signed_in(entry)
        self.assertEqual(self.world.clients, {})
        self.assertEqual(self.record()["client"]["id"], "https://me.example/client.json")

    async def test_a_registration_is_used_again_for_the_same_address(self) -> None:
        servers, _ = await self.signed_in()
        await self.sign_in(servers)
        self.assertEqual(len(self.world.clients), 1)
        await servers.accounts.begin("s", "http://127.0.0.1:5/callback")
        self.assertEqual(len(self.world.clients), 2)

    async def test_without_registration_the_owner_is_told_what_to_do(self) -> None:
        del self.world.metadata["registration_endpoint"]
        with self.assertRaisesRegex(OAuthError, "put its id into `oauth.clientId`"):
            await self.servers().accounts.begin("s", REDIRECT)


class Asked(Case):
    """A sign-in that is missing in the middle of a run."""

    async def test_the_call_has_not_run_and_runs_once(self) -> None:
        servers, tools = await self.signed_in()
        self.world.revoke()
        asked = await self.call(tools["note"], "three")
        self.assertIsInstance(asked, ToolQuestion)
        self.assertEqual(asked.input["sign_in"], "s")
        self.assertEqual(self.world.calls, [])
        answered = {**asked.input, "answer": {"action": "retry"}}
        again = await self.call(tools["note"], "three", answered)
        self.assertIsInstance(again, ToolQuestion, "nobody has signed in")
        await self.sign_in(servers)
        done = await self.call(tools["note"], "three", answered)
        self.assertEqual((done.status, self.world.calls), ("ok", ["three"]))

    async def test_nobody_signs_in(self) -> None:
        _, tools = await self.signed_in()
        self.world.revoke()
        asked = await self.call(tools["note"])
        done = await self.call(tools["note"], "x", {**asked.input, "refused": "cancel"})
        self.assertEqual(done.status, "error")
        self.assertIn("nobody signed in", done.error["message"])
        self.assertEqual(self.world.calls, [])

    async def test_more_rights_are_asked_for_once(self) -> None:
        servers, tools = await self.signed_in()
        asked = await self.call(tools["admin"])
        self.assertIn("more rights: admin", asked.input["message"])
        begun = await servers.accounts.begin("s", REDIRECT)
        wanted = dict(parse_qsl(urlsplit(begun.url).query))["scope"]
        self.assertEqual(set(wanted.split()), {"read", "admin"})
        await servers.accounts.finish(await self.world.browse(begun.url))
        self.assertEqual((await self.call(tools["admin"])).status, "ok")
        for scopes in self.world.valid.values():
            scopes.discard("admin")
        refused = await self.call(tools["admin"])
        self.assertEqual(refused.status, "error")
        self.assertIn("may not do this (admin)", refused.error["message"])

    async def test_another_process_knows_which_rights_are_wanted(self) -> None:
        _, tools = await self.signed_in()
        await self.call(tools["admin"])
        begun = await self.servers().accounts.begin("s", REDIRECT)
        wanted = dict(parse_qsl(urlsplit(begun.url).query))["scope"]
        self.assertEqual(set(wanted.split()), {"read", "admin"})

    async def test_the_answer_of_the_tool_itself_survives_a_sign_in(self) -> None:
        _, tools = await self.signed_in()
        self.world.revoke()
        earlier = {"keys": ["k"], "message": "?", "answer": {"a": 1}, "state": "v1"}
        asked = await self.call(tools["note"], "x", earlier)
        servers = tools["note"].servers
        await self.sign_in(servers)
        await self.call(tools["note"], "x", {**asked.input, "answer": {"action": "retry"}})
        bodies = [json.loads(each.body) for each in self.world.mcp.seen if each.body]
        sent = [each for each in bodies if each["method"] == "tools/call"][-1]["params"]
        self.assertEqual(sent["requestState"], "v1")
        self.assertEqual(sent["inputResponses"]["k"]["content"], {"a": 1})

    async def test_a_server_without_a_sign_in_is_no_matter_of_one(self) -> None:
        self.world.challenge = False
        self.world.mcp.pages = dict.fromkeys(
            (
                "/.well-known/oauth-protected-resource/mcp",
                "/.well-known/oauth-protected-resource",
            ),
            lambda _: Page(404),
        )
        for entry in ({}, {"oauth": False}, {"headers": {"authorization": "Bearer wrong"}}):
            servers = self.servers(entry)
            await self.tools(servers)
            self.assertRegex(servers.problems[0], "answered 401.*`headers` are missing or wrong")

    async def test_a_challenge_is_found_without_its_header(self) -> None:
        self.world.challenge = False
        servers = self.servers()
        await self.tools(servers)
        self.assertEqual(servers.accounts.info()[0]["state"], "needed")
        await self.sign_in(servers)
        self.assertEqual(len(await self.tools(servers)), 2)


class Hostile(Case):
    async def begin_fails(self, words: str, entry: Json | None = None, **more: Any) -> None:
        with self.assertRaisesRegex(OAuthError, words):
            await self.servers(entry, **more).accounts.begin("s", REDIRECT)
        self.assertEqual(self.world.clients, {}, "it has not gone on")

    async def test_metadata_of_strangers(self) -> None:
        metadata, resource = dict(self.world.metadata), dict(self.world.resource)
        for change, where, words in (
            ({"issuer": "https://evil.example"}, "issuer", "calls itself"),
            ({"code_challenge_methods_supported": ["plain"]}, "issuer", "PKCE"),
            ({"token_endpoint": "http://as.example/token"}, "issuer", "not encrypted"),
            ({"authorization_endpoint": "file:///x"}, "issuer", "not an https address"),
            ({"resource": "https://evil.example/mcp"}, "resource", "another address"),
            ({"authorization_servers": ["http://as.example"]}, "resource", "not encrypted"),
        ):
            with self.subTest(change):
                self.world.metadata, self.world.resource = dict(metadata), dict(resource)
                (self.world.metadata if where == "issuer" else self.world.resource).update(change)
                await self.begin_fails(words)

    async def test_a_public_server_leads_to_no_private_address(self) -> None:
        async def resolve(host: str, port: int) -> list[str]:
            return ["93.184.215.14"] if host == "localhost" else ["127.0.0.1"]

        client = Client(resolve=resolve)
        self.addAsyncCleanup(client.close)
        url = f"http://localhost:{port_of(self.world.url)}/mcp"
        self.world.resource["resource"] = url
        await self.begin_fails("not on the public internet", {"url": url}, client=client)
        self.assertEqual(self.world.auth.seen, [], "no request went there")
        named = {"url": url, "oauth": {"issuer": self.world.issuer}}
        servers = self.servers(named, client=client)
        self.assertTrue((await servers.accounts.begin("s", REDIRECT)).url)

    async def test_documents_without_an_end(self) -> None:
        path = "/.well-known/oauth-authorization-server"
        large = json.dumps({"issuer": "x" * 300_000}).encode()
        deep = b'{"a":' + b"[" * 100_000
        for page, words in (
            (Page(200, large), "more than 262144 bytes"),
            (Page(200, deep), "has no metadata"),
            (Page(200, b"[]"), "has no metadata"),
            (Page(200, b"\xff{"), "has no metadata"),
            (Page(503), "answered 503"),
            (Page(404), "has no metadata"),
        ):
            with self.subTest(page.status, words=words):
                self.world.auth.pages[path] = partial(always, page)
                await self.begin_fails(words)

    async def test_redirects(self) -> None:
        path = "/.well-known/oauth-authorization-server"
        elsewhere = f"{self.world.origin}/x"
        turns = (("Location", f"{path}?again"),)
        for headers, words in (
            ((("Location", elsewhere),), "redirects to another origin"),
            (turns, "redirects more than 3 times"),
            ((("Location", path),), "redirects to another origin"),
        ):
            with self.subTest(words):
                count = iter(range(100))

                def moved(_: Seen, headers: Any = headers, count: Any = count) -> Page:
                    told = (
                        headers
                        if headers is not turns
                        else ((*turns[0][:1], f"{path}?{next(count)}"),)
                    )
                    return Page(302, b"", told)

                self.world.auth.pages[path] = moved
                await self.begin_fails(words)
        self.assertFalse([each for each in self.world.mcp.seen if each.path == "/x"])

    async def test_a_token_request_is_not_redirected(self) -> None:
        servers = self.servers()
        begun = await servers.accounts.begin("s", REDIRECT)
        answer = await self.world.browse(begun.url)
        where = (("Location", f"{self.world.issuer}/elsewhere"),)
        self.world.auth.pages["/token"] = lambda _: Page(307, b"", where)
        with self.assertRaisesRegex(OAuthError, "redirects what may hold a secret"):
            await servers.accounts.finish(answer)
        self.assertFalse([each for each in self.world.auth.seen if each.path == "/elsewhere"])

    async def test_a_token_follows_no_redirect_off_its_path(self) -> None:
        _, tools = await self.signed_in()
        self.world.mcp.pages["/mcp"] = lambda _: Page(307, b"", (("Location", "/other"),))
        done = await self.call(tools["note"])
        self.assertEqual(done.status, "error")
        self.assertFalse([each for each in self.world.mcp.seen if each.path == "/other"])

    async def test_an_answer_of_another_authorization_server_is_not_used(self) -> None:
        servers = self.servers()
        begun = await servers.accounts.begin("s", REDIRECT)
        answer = await self.world.browse(begun.url)
        params = dict(parse_qsl(urlsplit(answer).query))
        for change, words in (
            ({"iss": "https://evil.example"}, "is from 'https://evil.example'"),
            ({"iss": ""}, "is from ''"),
            ({"state": params["state"][:-2] + "xx"}, "was not begun here"),
            ({"state": "x"}, "was not begun here"),
            ({"state": params["state"].partition(".")[0] + "."}, "was not begun here"),
        ):
            with self.subTest(change), self.assertRaisesRegex(OAuthError, words):
                await servers.accounts.finish(f"{REDIRECT}?{urlencode({**params, **change})}")
        del params["iss"]
        with self.assertRaisesRegex(OAuthError, "does not name"):
            await servers.accounts.finish(f"{REDIRECT}?{urlencode(params)}")
        self.assertEqual(self.world.token_requests(), [])
        await servers.accounts.finish(answer)
        # The same state with another code, in this process and another, and after signing out.
        another = (
            f"{REDIRECT}?{urlencode({**dict(parse_qsl(urlsplit(answer).query)), 'code': 'x'})}"
        )
        for again in (servers, self.servers(), servers):
            for each in (answer, another):
                with self.assertRaisesRegex(OAuthError, "(used already|is gone): begin again"):
                    await again.accounts.finish(each)
            await servers.accounts.forget("s")
        self.assertEqual(len(self.world.token_requests()), 1)

    def test_a_used_state_is_forgotten_when_it_is_too_old(self) -> None:
        store = TokenStore(self.home / "oauth")
        self.assertTrue(store.use_once("a-b_c", 100, 90))
        self.assertFalse(store.use_once("a-b_c", 100, 100))
        self.assertTrue(store.use_once("other", 300, 101))
        kept = [path.name for path in (self.home / "oauth").glob("used-*")]
        self.assertEqual(kept, ["used-300-other"])

    async def test_an_answer_for_another_home_folder_is_refused(self) -> None:
        begun = await self.servers().accounts.begin("s", REDIRECT)
        answer = await self.world.browse(begun.url)
        with tempfile.TemporaryDirectory() as folder:
            other = McpServers({"s": {"url": self.world.url}}, self.client, home=Path(folder))
            self.addAsyncCleanup(other.close)
            with self.assertRaisesRegex(OAuthError, "was not begun here"):
                await other.accounts.finish(answer)

    async def test_an_answer_may_come_to_another_process(self) -> None:
        begun = await self.servers().accounts.begin("s", REDIRECT)
        answer = await self.world.browse(begun.url)
        other = self.servers()
        await other.accounts.finish(answer)
        self.assertEqual(other.accounts.info()[0]["state"], "signed_in")

    async def test_tokens_stay_with_their_issuer(self) -> None:
        servers, tools = await self.signed_in()
        self.world.expire()
        second = World()
        await second.start()
        self.addAsyncCleanup(second.close)
        self.world.resource["authorization_servers"] = [second.issuer]
        self.assertIsInstance(await self.call(tools["note"]), ToolQuestion)
        self.assertEqual(self.world.token_requests("refresh_token"), [])
        begun = await servers.accounts.begin("s", REDIRECT)
        self.assertEqual(begun.issuer, second.issuer)
        self.assertEqual(len(second.clients), 1, "registered there anew")
        sent = "".join(each.body + str(each.headers) for each in second.auth.seen)
        self.assertNotIn("refresh-token", sent)

    async def test_no_error_and_no_problem_has_a_secret(self) -> None:
        servers, tools = await self.signed_in()
        token = self.record()["access_token"]
        body = {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": f"bad {token}"}}
        self.world.mcp.pages["/mcp"] = lambda _: Page(400, body)
        done = await self.call(tools["note"])
        self.assertIn("bad ***", done.error["message"])
        self.assertNotIn(token, json.dumps(servers.accounts.info()))

    async def test_a_server_that_refuses_every_token(self) -> None:
        _, tools = await self.signed_in()
        seen = len(self.world.mcp.seen)
        told = (("WWW-Authenticate", "Bearer"),)
        self.world.mcp.pages["/mcp"] = lambda _: Page(401, b"", told)
        self.assertIsInstance(await self.call(tools["note"]), ToolQuestion)
        self.assertLess(len(self.world.mcp.seen) - seen, 8)
        self.assertLessEqual(len(self.world.token_requests("refresh_token")), 1)


class Trouble(Case):
    async def test_an_authorization_server_that_is_away_costs_no_tokens(self) -> None:
        _, tools = await self.signed_in()
        before = self.record()
        self.world.expire()
        self.world.auth.pages["/token"] = lambda _: Page(503)
        done = await self.call(tools["note"])
        self.assertEqual(done.status, "error")
        self.assertIn("answered 503", done.error["message"])
        self.assertEqual(self.record(), before)
        del self.world.auth.pages["/token"]
        self.assertEqual((await self.call(tools["note"])).status, "ok")

    async def test_a_refresh_token_that_is_refused_is_forgotten(self) -> None:
        _, tools = await self.signed_in()
        self.world.revoke()
        await self.call(tools["note"])
        await self.call(tools["note"])
        self.assertEqual(len(self.world.token_requests("refresh_token")), 1)
        self.assertNotIn("access_token", self.record())
        self.assertIn("registrations", self.record())

    async def test_a_client_that_is_unknown_there_registers_anew(self) -> None:
        servers, tools = await self.signed_in()
        self.world.expire()
        self.world.auth.pages["/token"] = lambda _: Page(401, {"error": "invalid_client"})
        self.assertIsInstance(await self.call(tools["note"]), ToolQuestion)
        del self.world.auth.pages["/token"]
        await self.sign_in(servers)
        self.assertEqual(len(self.world.clients), 2)
        self.assertEqual((await self.call(tools["note"])).status, "ok")

    async def test_a_record_that_cannot_be_written_costs_no_refresh_token(self) -> None:
        _, tools = await self.signed_in()
        self.world.expire()
        [lock] = (self.home / "oauth").glob("*.lock")
        lock.unlink()
        lock.mkdir()
        done = await self.call(tools["note"])
        self.assertIn("oauth of the home folder cannot be written", done.error["message"])
        self.assertNotIn(str(self.home), done.error["message"])
        self.assertEqual(self.world.token_requests("refresh_token"), [])
        lock.rmdir()
        self.assertEqual((await self.call(tools["note"])).status, "ok")

    async def test_a_damaged_record_is_none(self) -> None:
        servers, tools = await self.signed_in()
        [file] = (self.home / "oauth").glob("*.json")
        for text in ("", "{", "[]", "null", '{"url": 5}', "[" * 100_000):
            with self.subTest(text[:10]):
                file.write_text(text)
                self.assertIsInstance(await self.call(tools["note"]), ToolQuestion)
        await self.sign_in(servers)
        self.assertEqual((await self.call(tools["note"])).status, "ok")
