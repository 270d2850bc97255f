"""The routes of kept sessions: a server, two people, what each of them reaches."""

from __future__ import annotations

import json
import unittest
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

from server.lib.http.sse import Decoder

from ...tooling.api import Api, connect
from ...tooling.child import Yaa

KEYS = {"ann": "ann-key-0123456789abcdef", "bob": "bob-key-0123456789abcdef"}
CONFIG = {
    "server": {
        "discover": False,
        "home_key": True,
        "api_keys": [{"name": name, "key": key} for name, key in KEYS.items()],
        "keeper": {"sessions": 6, "session_mb": 1},
    }
}


def session(*words: str) -> Any:
    return {"messages": [{"role": "user", "content": each} for each in words]}


class Routes(unittest.TestCase):
    yaa: Yaa

    @classmethod
    def setUpClass(cls) -> None:
        cls.yaa = cls.enterClassContext(Yaa(CONFIG))

    def ask(
        self, method: str, path: str, body: Any = None, who: str = "ann", **headers: str
    ) -> tuple[int, Any, HTTPResponse]:
        """(status, body, answer); an underscore in the name of a header is a hyphen."""
        host, _, port = self.yaa.url.removeprefix("http://").partition(":")
        connection = connect(host, int(port), 60)
        self.addCleanup(connection.close)
        more = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {"Authorization": f"Bearer {KEYS[who]}", "Content-Type": "application/json", **more}
        data = None if body is None else json.dumps(body)
        connection.request(method, f"/keeper/sessions{path}", data, sent)
        answer = connection.getresponse()
        is_stream = answer.getheader("Content-Type", "").startswith("text/event-stream")
        text = b"" if is_stream else answer.read()  # a stream has no end
        return answer.status, json.loads(text) if text else None, answer

    def test_a_session_of_one_person(self) -> None:
        status, body, answer = self.ask("PUT", "/a%2Fb", session("one"))
        self.assertEqual((status, body["id"]), (201, "a/b"))
        tag = answer.getheader("ETag") or ""
        self.assertEqual(tag, f'"{body["revision"]}"')
        status, body, answer = self.ask("GET", "/a%2Fb")
        self.assertEqual((status, body), (200, {**session("one"), "id": "a/b"}))
        self.assertEqual(answer.getheader("ETag"), tag)
        self.assertEqual(self.ask("GET", "/a%2Fb", If_None_Match=tag)[0], 304)
        status, body, _ = self.ask("PUT", "/a%2Fb", session("one", "two"), If_Match=tag)
        self.assertEqual(status, 200)
        no = {"resume": [{"id": "int-1", "answer": {"status": "cancelled"}}]}
        for method, path, given in (
            *(("GET", "", None), ("GET", "/events", None), ("DELETE", "", None)),
            *(("POST", "/run", {}), ("POST", "/stop", {}), ("POST", "/answers", no)),
        ):
            answered = self.ask(method, f"/a%2Fb{path}", given, who="bob")
            self.assertEqual((answered[0], answered[1]["code"]), (404, "not_found"), path)
        self.assertEqual(self.ask("GET", "", who="bob")[1], {"sessions": [], "next": ""})
        (row,) = self.ask("GET", "")[1]["sessions"]
        self.assertEqual((row["id"], row["messages"], row["title"]), ("a/b", 2, "one"))
        self.assertEqual(self.ask("DELETE", "/a%2Fb")[0], 204)
        self.assertEqual(self.ask("DELETE", "/a%2Fb")[0], 404)

    def test_a_conflict_is_kept_as_a_branch_once(self) -> None:
        tag = self.ask("PUT", "/s", session("one"))[2].getheader("ETag") or ""
        self.ask("PUT", "/s", session("one", "two"), If_Match=tag)
        for key in ("first", "second"):
            refused = self.ask(
                "PUT", "/s", session("one", "other"), If_Match=tag, Idempotency_Key=key
            )
            status, body, _ = refused
            self.assertEqual((status, body["code"], body["branch"]), (409, "kept_conflict", "s-2"))
            self.assertEqual(body["base"], tag.strip('"'))
            self.assertEqual(body["revision"], self.ask("GET", "/s")[2].getheader("ETag", "")[1:-1])
            status, branch, answer = self.ask("GET", "/s-2")
            self.assertEqual(answer.getheader("ETag"), f'"{body["branch_revision"]}"')
            self.assertEqual(branch["messages"], session("one", "other")["messages"])
            told = {"session": "s", "revision": body["base"]}
            self.assertEqual(branch["ext"]["forked_from"], told)
        for each in ("s", "s-2"):
            self.assertEqual(self.ask("DELETE", f"/{each}")[0], 204)

    def test_what_cannot_be_kept_is_refused_and_nothing_is_stored(self) -> None:
        large = session("x" * (1 << 20))
        for path, body, code in (
            ("/s", {"messages": 3}, "session_invalid"),
            ("/s", {"id": "t", "messages": []}, "request_invalid"),
            ("/s", large, "body_too_large"),
            (f"/{'%C3%A9' * 100}", session(), "bad_request"),
        ):
            with self.subTest(code):
                self.assertEqual(self.ask("PUT", path, body)[1]["code"], code)
        for query in ("?limit=0", "?limit=x", "?limit=501"):
            self.assertEqual(self.ask("GET", query)[1]["code"], "request_invalid", query)
        self.assertEqual(self.ask("GET", "")[1]["sessions"], [])

    def test_people_with_sessions_of_one_id_follow_their_own(self) -> None:
        signs: list[Any] = []
        for who in KEYS:
            self.assertEqual(self.ask("PUT", "/same", session(who), who=who)[0], 201)
            self.addCleanup(self.ask, "DELETE", "/same", who=who)
            answer = self.ask("GET", "/same/events", who=who)[2]
            decoder, said = Decoder(), len(signs)
            while len(signs) == said and (data := answer.read1()):
                events = [json.loads(frame.data) for frame in decoder.feed(data)]
                signs += [each["value"] for each in events if each.get("name") == "yaa.kept"][:1]
        self.assertEqual([sign["followers"] for sign in signs], [1, 1])

    def test_pages_of_other_origins_may_name_a_revision(self) -> None:
        allowed = self.ask("OPTIONS", "/s", Origin="https://elsewhere.example")[2]
        self.assertIn("if-match", allowed.getheader("Access-Control-Allow-Headers", "").split(", "))

    def test_limits_are_in_info_and_the_folder_has_the_name_of_the_person(self) -> None:
        limits = Api(self.yaa.url, KEYS["ann"]).request("GET", "/info")[1]["keeper"]
        self.assertEqual(limits["sessions"], 6)
        for number in range(6):
            self.assertEqual(self.ask("PUT", f"/n{number}", session(), who="bob")[0], 201)
            self.addCleanup(self.ask, "DELETE", f"/n{number}", who="bob")
        self.assertEqual(self.ask("PUT", "/n6", session(), who="bob")[1]["code"], "keeper_full")
        page = self.ask("GET", "?limit=4", who="bob")[1]
        rest = self.ask("GET", f"?limit=4&before={page['next']}", who="bob")[1]
        self.assertEqual((len(page["sessions"]), len(rest["sessions"]), rest["next"]), (4, 2, ""))
        folder = Path(self.yaa.home) / "keeper" / "bob"
        self.assertEqual(len([*folder.glob("*.json")]), 6)
        self.assertEqual({p.stat().st_mode & 0o77 for p in (folder, folder.parent)}, {0})


if __name__ == "__main__":
    unittest.main()
