"""A link shows one call and answers it once. Each way to make more of it is tried."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import tempfile
import time
import unittest
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from server.api.auth import Keys
from server.api.router import Route, Router
from server.errors import Problem
from server.extensions.keeper import link_page
from server.extensions.keeper.answers import find_question
from server.extensions.keeper.link_page import MOST_SHOWN, WORDS, call_page, language
from server.extensions.keeper.link_routes import MAX_FORM, LinkRoutes
from server.extensions.keeper.links import (
    LIFETIME_S,
    WRONG_BURST,
    Links,
    LinkTarget,
    answer_of,
    question_of,
)
from server.tools.policy import fingerprint

from ...api import fakes

PATH = "/keeper/link"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
ARGS = {"command": "rm -r build && make", "timeout_s": 5}


def asking(tool: str = "shell", args: Any = None, **more: Any) -> Any:
    """A session that asks about a call."""
    args = ARGS if args is None else args
    return {
        "id": "s1",
        "title": "Build",
        "status": "interrupted",
        "calls": {"c1": {"state": "asking", "fingerprint": fingerprint(tool, args)}},
        "interrupts": [
            {"id": "int-c1", "reason": "tool_call", "call_id": "c1", "tool": tool, "args": args}
        ],
        **more,
    }


def target(session: Any = None) -> LinkTarget:
    entry = (session or asking())["calls"]["c1"]
    return LinkTarget("ann", "s1", "c1", entry["fingerprint"])


class Case(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory())) / "links"
        self.now = time.time()
        self.links = Links(self.folder, lambda: self.now)
        self.session = asking()
        self.answers: list[Any] = []
        self.fails: Exception | None = None

        async def find(owner: str, session_id: str) -> Any:
            if (owner, session_id) != ("ann", self.session["id"]):
                raise Problem("not_found", "There is no such session")
            return self.session

        async def answer(target: LinkTarget, given: Any) -> None:
            question = find_question(await find(target.owner, target.session), question_of(target))
            await asyncio.sleep(0)
            if self.fails:
                raise self.fails
            self.answers.append((target.owner, target.session, question["id"], given))
            self.session["interrupts"][0]["answer"] = given

        links = LinkRoutes(self.links, find, answer)
        routes = {
            ("GET", PATH): Route(links.get, open=True),
            ("POST", PATH): Route(links.post, open=True),
        }
        self.router = Router(routes, self.none, Keys([], "k"))

    async def none(self, call: Any) -> None:
        raise Problem("not_found", "Nothing")

    async def send(
        self, method: str, token: str, body: bytes = b"", headers: Any = None
    ) -> fakes.Call:
        head = {"Content-Length": str(len(body)), **FORM, **(headers or {})} if body else headers
        call = fakes.Call(method, f"{PATH}?t={token}", head or {}, body)
        await self.router(call.exchange)
        return call

    async def allow(self, token: str, body: bytes = b"decision=allow") -> int:
        return (await self.send("POST", token, body)).status


class Attacks(Case):
    async def test_it_allows_one_call_once(self) -> None:
        token = self.links.make(target())
        self.assertEqual(await self.allow(token), 200)
        answer = {"status": "resolved", "payload": {"approved": True}}
        self.assertEqual(self.answers, [("ann", "s1", "int-c1", answer)])
        del self.session["interrupts"][0]["answer"]
        self.assertEqual(await self.allow(token), 410)  # replay
        self.assertEqual((await self.send("GET", token)).status, 410)
        self.assertEqual(len(self.answers), 1)
        self.assertEqual([*self.folder.iterdir()], [])

    async def test_it_denies(self) -> None:
        token = self.links.make(target())
        self.assertEqual(await self.allow(token, b"decision=deny"), 200)
        self.assertEqual(self.answers[0][3]["payload"]["approved"], False)

    async def test_of_many_at_once_one_answers(self) -> None:
        token = self.links.make(target())
        statuses = await asyncio.gather(*(self.allow(token) for _ in range(8)))
        self.assertEqual(sorted(statuses), [200] + [410] * 7)
        self.assertEqual(len(self.answers), 1)

    async def test_it_answers_while_another_answered_call_still_runs(self) -> None:
        self.session = asking(status="in_progress")
        token = self.links.make(target())
        self.assertEqual((await self.send("GET", token)).status, 200)
        self.assertEqual(await self.allow(token), 200)
        self.assertEqual(len(self.answers), 1)

    async def test_looking_does_nothing_however_often(self) -> None:
        """A mail scanner opens each link that it sees."""
        token = self.links.make(target())
        before = json.dumps(self.session)
        for method in ("GET", "HEAD", "GET", "OPTIONS"):
            for headers in ({}, {"Purpose": "prefetch"}, {"Sec-Purpose": "prefetch;prerender"}):
                await self.send(method, token, headers=headers)
                asked = fakes.Call(method, f"{PATH}?t={token}&decision=allow", headers)
                await self.router(asked.exchange)
        self.assertEqual((json.dumps(self.session), self.answers), (before, []))
        self.assertEqual(await self.allow(token), 200)

    async def test_what_else_is_sent_does_nothing(self) -> None:
        token = self.links.make(target())
        sent: tuple[tuple[bytes, dict[str, str], int], ...] = (
            (b"", {}, 413),
            (b"x=1", {}, 422),
            (b"decision=Allow", {}, 422),
            (b"decision=allow&decision=deny", {}, 422),
            (b"decision=allow" + b"&a=" + b"x" * MAX_FORM, {}, 413),
            (b"decision=allow", {"Content-Type": "text/plain"}, 415),
            (b'{"decision":"allow"}', {"Content-Type": "application/json"}, 415),
            (b"decision=allow", {"Content-Length": ""}, 413),
        )
        for body, headers, status in sent:
            with self.subTest(body):
                call = await self.send("POST", token, body, headers)
                self.assertEqual(call.status, status)
        for method in ("PUT", "PATCH", "DELETE"):
            self.assertEqual((await self.send(method, token, b"decision=allow")).status, 405)
        self.assertEqual(self.answers, [])
        self.assertEqual(await self.allow(token), 200)

    async def test_only_the_digest_of_a_token_is_stored(self) -> None:
        token = self.links.make(target())
        (file,) = self.folder.iterdir()
        self.assertEqual(file.name, hashlib.sha256(token.encode()).hexdigest())
        self.assertNotIn(token, file.read_text())
        self.assertEqual(file.stat().st_mode & 0o077, 0)
        self.assertGreaterEqual(len(token), 32)
        self.assertEqual(await self.allow(file.name), 410)

    async def test_guessing_is_slow_and_costs_the_right_one_nothing(self) -> None:
        token = self.links.make(target())
        wrong = ["", "x", token[:-1], token + "a", token.swapcase(), "../x", "%00", "a" * 5000]
        for guess in wrong:
            self.assertEqual(await self.allow(guess), 410, guess[:50])
        for _ in range(WRONG_BURST - len(wrong)):
            await self.allow("wrong")
        call = await self.send("POST", "wrong", b"decision=allow")
        self.assertEqual((call.status, call.headers["retry-after"]), (429, "2"))
        self.assertEqual(await self.allow(token), 200)

    async def test_it_expires_also_by_a_wrong_clock(self) -> None:
        token = self.links.make(target())
        for seconds in (LIFETIME_S, -LIFETIME_S, 10 * LIFETIME_S, -3.0):
            self.now += seconds
            self.assertEqual(await self.allow(token), 410, seconds)
            self.now -= seconds
        self.now += LIFETIME_S - 1
        self.assertEqual(await self.allow(token), 200)

    async def test_what_has_expired_does_not_stay(self) -> None:
        self.links.make(target())
        self.now += LIFETIME_S + 1
        self.links.make(target())
        self.assertEqual(len([*self.folder.iterdir()]), 1)

    async def test_there_is_an_end_to_links_that_nobody_uses(self) -> None:
        self.links.limit = 3
        token, *_ = [self.links.make(target()) for _ in range(3)]
        with self.assertRaises(Problem) as caught:
            self.links.make(target())
        self.assertEqual(caught.exception.code, "rate_limited")
        self.assertEqual(await self.allow(token), 200)
        self.links.make(target())

    async def test_another_call_or_other_arguments(self) -> None:
        def changed(session: Any, **entry: Any) -> Any:
            session["calls"]["c1"] |= entry
            return session

        other = asking(args={"command": "rm -r ~"})
        shown = asking()
        shown["interrupts"][0]["args"] = {"command": "rm -r ~"}
        stored = changed(asking(), fingerprint=target(other).fingerprint)
        another = asking()
        another["interrupts"][0]["call_id"] = "c2"
        question = asking()
        question["interrupts"][0]["reason"] = "indeterminate"
        answered = asking()
        answered["interrupts"][0]["answer"] = {"status": "cancelled"}
        for name, session in {
            "other arguments": other,
            "others are shown": shown,
            "others would run": stored,
            "the tool": asking("python"),
            "another call": another,
            "another question": question,
            "an answer is there": answered,
            "it has begun": changed(asking(), state="started"),
            "no question": asking(interrupts=[]),
            "another session": asking(id="s2"),
        }.items():
            with self.subTest(name):
                self.session = session
                token = self.links.make(target())
                for method, body in (("GET", b""), ("POST", b"decision=allow")):
                    call = await self.send(method, token, body)
                    self.assertEqual(call.status, 410)
                    self.assertNotIn("rm -r", call.answer.decode())
        self.assertEqual(self.answers, [])

    async def test_it_is_not_good_for_another_persons_session(self) -> None:
        token = self.links.make(target()._replace(owner="bob"))
        self.assertEqual(await self.allow(token), 410)
        self.assertEqual(self.answers, [])

    async def test_one_whose_answer_failed_is_good_again(self) -> None:
        token = self.links.make(target())
        self.fails = Problem("disk_full", "The disk is full")
        call = await self.send("POST", token, b"decision=allow")
        self.assertEqual(call.status, 507)
        self.assertIn(WORDS["en"]["failed"], call.answer.decode())
        self.fails = None
        self.assertEqual(await self.allow(token), 200)

    async def test_no_answer_leads_elsewhere_is_kept_or_framed(self) -> None:
        token = self.links.make(target())
        query = f"{PATH}?t={token}&next=https://evil.example&redirect=//evil.example"
        asked = fakes.Call("GET", query, {"Accept-Language": "en"})
        await self.router(asked.exchange)
        calls = [asked, await self.send("GET", "wrong"), await self.send("POST", token, b"x=1")]
        calls.append(await self.send("POST", token, b"decision=allow"))
        for call in calls:
            with self.subTest(call.status):
                headers = call.headers
                self.assertNotIn("location", headers)
                self.assertNotIn("refresh", headers)
                self.assertNotIn("set-cookie", headers)
                self.assertEqual(headers["cache-control"], "no-store")
                self.assertEqual(headers["referrer-policy"], "no-referrer")
                self.assertEqual(headers["x-frame-options"], "DENY")
                self.assertEqual(headers["x-content-type-options"], "nosniff")
                policy = headers["content-security-policy"]
                for rule in ("default-src 'none'", "frame-ancestors 'none'", "form-action 'self'"):
                    self.assertIn(rule, policy)
                self.assertNotIn("unsafe", policy)
                self.assertNotIn("script", policy)
                self.assertNotIn("evil.example", call.answer.decode())
                self.assertNotIn(token, call.answer.decode())

    async def test_the_log_has_no_token(self) -> None:
        token = self.links.make(target())
        with self.assertLogs("yaa", "DEBUG") as logs:
            await self.send("GET", token)
            await self.send("POST", "wrong", b"decision=allow")
        self.assertNotIn(token, str([record.__dict__ for record in logs.records]))


class Elements(HTMLParser):
    """What a page is made of."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.texts: list[str] = []
        self.attributes: set[tuple[str, str]] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.names.append(tag)
        self.attributes |= {(tag, name) for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def page(tool: str = "shell", args: Any = None, lang: str = "en", **more: Any) -> str:
    session = asking(tool, args, **more)
    return call_page(session, session["interrupts"][0], 1_796_022_000, lang)


class Page(unittest.TestCase):
    def test_it_has_the_exact_command_and_nothing_that_acts(self) -> None:
        texts = Elements(page())
        self.assertIn("rm -r build && make", texts.texts)
        self.assertIn("5", texts.texts)
        allowed = {"html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "pre", "form"}
        self.assertEqual({*texts.names} - allowed, {"button"})
        values = {("html", "lang"), ("meta", "charset"), ("meta", "name"), ("meta", "content")}
        values |= {("form", "method"), ("button", "name"), ("button", "value")}
        self.assertEqual(texts.attributes, values)

    def test_whatever_a_model_writes_is_text(self) -> None:
        evil = "</pre><script>alert(1)</script><form action=//evil><img src=x onerror=a>\"'&amp;"
        plain = Elements(page())
        for made in (
            page(args={"command": evil, "timeout_s": 5}),
            page(args={evil: "x", "command": "y"}),
            page(tool=evil),
            page(title=evil),
            page("write_file", {"path": evil, "content": evil}),
            page("edit_file", {"path": "a", "old": evil, "new": evil}),
            page("edit_file", {"path": "a", "edits": [{"old": evil, "new": evil}, evil, 7]}),
            page("edit_file", {"path": "a", "patch": evil}),
        ):
            found = Elements(made)
            self.assertLessEqual({*found.names}, {*plain.names, "ins", "del"})
            self.assertEqual(found.attributes, plain.attributes)
            self.assertIn("<script>alert(1)</script>", "".join(found.texts))

    def test_what_cannot_be_seen_is_written_out(self) -> None:
        made = page(args={"command": "echo \u202egnp.exe\u200b\r\x1b[2Jrm"}, title="a\u202eb")
        self.assertNotIn("\u202e", made)
        self.assertNotIn("\x1b", made)
        self.assertIn(r"echo \u{202e}gnp.exe\u{200b}\u{d}\u{1b}[2Jrm", made)
        self.assertIn(r"a\u{202e}b", made)
        self.assertIn(r"x\u{200b}y", page(args={"x\u200by": 1}))
        self.assertIn(r"+ x\u{200b}y", page("write_file", {"content": "x\u200by"}))

    def test_a_change_of_a_file_is_a_difference(self) -> None:
        made = page("edit_file", {"path": "a.py", "old": "x = 1\ny", "new": "x = 2"})
        lines = "<del>- x = 1</del><del>- y</del><ins>+ x = 2</ins>"
        self.assertIn(lines, made)
        self.assertIn("<pre>a.py</pre>", made)
        self.assertIn("<ins>+ all</ins>", page("write_file", {"path": "b", "content": "all"}))
        for args in ({"edits": "x", "path": "p"}, {"edits": [1]}, {"old": 3}, {"content": None}):
            for tool in ("edit_file", "write_file"):
                self.assertIn('value="deny"', page(tool, args))

    def test_no_argument_is_left_out(self) -> None:
        for tool, args in (
            ("edit_file", {"path": "p", "old": "o-l-d", "new": "n-e-w", "replace_all": "a-l-l"}),
            ("edit_file", {"edits": "no-list"}),
            ("edit_file", {"edits": [{"old": "o-l-d", "new": "n-e-w", "odd": "o-d-d"}]}),
            ("edit_file", {"old": "o-l-d", "edits": [{"old": "in", "new": "side"}]}),
            ("edit_file", {"old": ["o-l-d"]}),
            ("write_file", {"path": "p", "content": ["in-list"]}),
            ("mcp__x__y", {"deep": {"er": ["v-1", 2.5, None, True]}}),
        ):
            with self.subTest(tool, args=args):
                text = "".join(Elements(page(tool, args)).texts)
                for value in re.findall(r"[\w.]+(?:-\w+)+", json.dumps(args)):
                    self.assertIn(value, text)

    def test_what_is_too_long_to_be_shown_cannot_be_allowed(self) -> None:
        self.assertIn('value="allow"', page(args={"command": "x" * (MOST_SHOWN - 1_000)}))
        made = page(args={"command": "x" * MOST_SHOWN})
        self.assertNotIn('value="allow"', made)
        self.assertIn('value="deny"', made)
        self.assertIn(WORDS["en"]["too_long"], made)
        self.assertLess(len(made), 10_000)

    def test_network_access_is_said(self) -> None:
        session = asking()
        session["interrupts"][0]["policy"] = {
            "network": "hosts",
            "hosts": ["a.example", "b.example"],
        }
        made = call_page(session, session["interrupts"][0], 0, "en")
        self.assertIn("It would have network access: a.example, b.example", made)
        self.assertNotIn("network access", page())

    def test_two_languages(self) -> None:
        for accept, lang in (
            ("", "en"),
            ("zh", "zh"),
            ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
            ("zh-CN,zh;q=0.5,en;q=0.8", "zh"),
            ("en-GB,zh;q=0.5", "en"),
            ("fr,zh;q=0.3", "zh"),
            ("fr", "en"),
            ("*;q=x,ZH-TW", "zh"),
            ("zh;q=nan", "en"),
            (",;q=;,zh", "zh"),
        ):
            with self.subTest(accept):
                self.assertEqual(language(accept), lang)
        self.assertEqual(WORDS["en"].keys(), WORDS["zh"].keys())
        made = page(lang="zh")
        self.assertIn('<html lang="zh">', made)
        self.assertIn("允许这次调用", made)

    def test_the_policy_has_the_hash_of_the_style_alone(self) -> None:
        style = re.findall(r"<style>(.*?)</style>", page(), re.S)
        self.assertEqual(style, [link_page.STYLE])
        self.assertNotIn("<", link_page.STYLE)


class Question(unittest.TestCase):
    def test_nothing_in_a_session_breaks_it(self) -> None:
        session: Any
        for session in ({}, {"calls": {}, "interrupts": []}, asking(args={})):
            with self.subTest(session), self.assertRaises(Problem):
                find_question(session, question_of(target()))
        self.assertEqual(find_question(asking(), question_of(target()))["id"], "int-c1")
        self.assertEqual(answer_of(allow=True)["status"], "resolved")


if __name__ == "__main__":
    unittest.main()
