"""Two keys and one session id, on the server as it is started: what one key cannot see or change
of another's."""

from __future__ import annotations

import contextlib
import copy
import json
import sys
import tempfile
import threading
import unittest
from collections.abc import Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

from server.extensions import present
from server.session.workspace_stand import stand_of

from ..bench.peers import config, start
from ..extensions import needs, rows_for
from ..fakes import answer, user
from ..tooling.api import Api
from ..tooling.child import Child

Json = dict[str, Any]

SHORT = "bench tokens=3 delay_us=0"
NAMED: dict[str, Json] = {  # by what the test calls the key
    "ann": {"name": "ann"},
    "ann again": {"name": "ann"},
    "bob": {"name": "bob"},
    "owner": {"name": "carol", "owner": True},
    "dave": {"name": "dave", "limits": {"rate_limit": "3/1d"}},
    "dave again": {"name": "dave", "limits": {"rate_limit": "3/1d"}},
    "erin": {"name": "erin", "limits": {"max_runs": 1}},
    "erin again": {"name": "erin", "limits": {"max_runs": 9}},
    "erin once more": {"name": "erin"},
}
KEYS = {who: f"the-key-of-{who.replace(' ', '-')}-1234" for who in NAMED} | {
    "nobody": "a-key-that-has-no-name",
    "nobody else": "another-key-that-has-no-name",
}


class Shop(BaseHTTPRequestHandler):
    """An API that answers once two people have asked. `seen`: what was asked for, and by whom."""

    protocol_version = "HTTP/1.1"  # its connections are used again
    seen: ClassVar[list[tuple[str, str | None, str | None]]] = []
    together = threading.Barrier(2, timeout=600)  # it fails then

    def do_GET(self) -> None:
        of = self.path.removeprefix("/orders/")
        self.seen.append((of, self.headers["X-User-Id"], self.headers["Cookie"]))
        with contextlib.suppress(threading.BrokenBarrierError):
            self.together.wait()
        body = json.dumps(f"the order {of}").encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


class TwoKeys(unittest.TestCase):
    home: Path
    apis: ClassVar[dict[str, Api]] = {}

    @classmethod
    def setUpClass(cls) -> None:
        stack = cls.enterClassContext(ExitStack())
        cls.home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        settings: Json = config(start(stack, "tests.bench.provider"))
        entries = [{**NAMED[who], "key": key} if who in NAMED else key for who, key in KEYS.items()]
        settings["server"] |= {"api_keys": entries, "sandbox": {"require": "none"}}
        (cls.home / "notes").touch()
        server = Path(__file__).parents[1] / "tools" / "mcp_server.py"
        args = [str(server), str(cls.home / "notes"), "modern"]
        if "mcp" in present():
            settings["server"]["mcpServers"] = {"s": {"command": sys.executable, "args": args}}
        shop = ThreadingHTTPServer(("127.0.0.1", 0), Shop)
        stack.callback(shop.server_close)
        stack.callback(shop.shutdown)
        threading.Thread(target=shop.serve_forever, args=(0.05,), daemon=True).start()
        orders = {"name": "orders", "path": "/orders/{of}", "parameters": {"of": {}}}
        about = {"forward": ["X-User-Id", "cookie:SID"], "tools": [orders]}
        if "rest" in present():
            url = f"http://127.0.0.1:{shop.server_port}"
            settings["server"]["rest"] = {"shop": {"base_url": url, **about}}
        free = {
            name: {"auto_approve": True}
            for name in ("shell", "agent_save", "mcp__s__echo", "mcp__s__ask")
        }
        settings["session"] = {"config": {"tool": free}}
        (cls.home / "config.json").write_text(json.dumps(settings))
        command = [sys.executable, "-m", "server", "--home", str(cls.home), "--port", "0"]
        child = Child(command)
        stack.callback(child.stop)
        url = child.wait_for(r"^(http://127\.0\.0\.1:\d+)/$", 60)[1]
        child.wait_for(r"^  ready ", 60)
        cls.apis = {who: Api(url, key) for who, key in KEYS.items()}

    def run_tool(self, who: str, session_id: str, tool: str, args: Json) -> Json:
        """The envelope of one call, in a new session of this id."""
        said = f"{SHORT} tool={tool}{json.dumps(args)}"
        session = {"id": session_id, "messages": [{"role": "user", "content": said}]}
        return result(self.apis[who].run(session))

    def shell(self, who: str, session_id: str, command: str) -> str:
        found = self.run_tool(who, session_id, "shell", {"command": command})
        return str(found["result"]["output"])

    # -- files ------------------------------------------------------------------------------------

    def test_tools_and_files(self) -> None:
        everybody = ("ann", "bob", "owner", "nobody", "nobody else")
        for who in everybody:
            with self.subTest(who):
                self.assertEqual(self.shell(who, "same", f"ls; echo {who} > f; cat f"), f"{who}\n")
        for who in everybody:
            with self.subTest(who):
                found = self.apis[who].request("POST", "/files", {"id": "same", "path": "f"})
                self.assertEqual(found, (200, f"{who}\n"))
        self.assertEqual(self.shell("ann again", "same", "cat f"), "ann\n")
        self.shell("ann", "only hers", "echo canary > f")
        status, told = self.apis["bob"].request("POST", "/files", {"id": "only hers", "path": "f"})
        self.assertEqual((status, told["code"]), (404, "not_found"))

    def test_ids_that_applications_choose(self) -> None:
        """Each front's own id is the session's: the asking key's, and nobody else's."""
        self.shell("ann", "chosen", "echo canary > f")
        order = f'{SHORT} tool=shell{{"command": "cat f || echo none"}}'
        for who, wanted in (("ann", "canary"), ("bob", "none"), ("nobody", "none")):
            for front, told in fronts(self.apis[who], order):
                with self.subTest(who=who, front=front):
                    said = [word for word in ("canary", "none") if f"{word}\\n" in told]
                    self.assertEqual(said, [wanted])

    def test_the_files_of_one_document(self) -> None:
        """A document names its files by their hashes. Another key that POSTs it is asked for them,
        and no tool that runs then sees one; what it does leaves those of the first alone."""
        order = (
            f'{SHORT} tool=shell{{"command": "ls -a; echo canary > f; mkdir d; echo canary > d/f"}}'
        )
        document: Any = self.apis["ann"].run({"id": "one", "messages": [user(order)]})
        tree = stand_of(document)
        order = (
            f'{SHORT} tool=shell{{"command": "grep -r canary . /workspace ~; echo bob > f; ls"}}'
        )
        for who in ("bob", "nobody", "owner"):
            with self.subTest(who):
                run: Any = self.apis[who].run
                asked = run({**document, "messages": [*document["messages"], user(order, "u2")]})
                (interrupt,) = asked["interrupts"]
                self.assertEqual(interrupt["reason"], "workspace_missing")
                told = interrupt["objects"]
                self.assertEqual([row["sha256"] for row in told], [tree], "and not what it holds")
                answer(asked, "workspace_missing", {"action": "uploaded"})
                asked = run(asked)
                self.assertEqual(asked["interrupts"][0]["reason"], "workspace_missing")
                answer(asked, "workspace_missing", {"action": "go_on"})
                done = run(asked)
                last = [m["result"] for m in done["messages"] if m["role"] == "tool"][-1]
                self.assertEqual(last["result"]["output"], "f\n")
                self.assertEqual(done["status"], "completed")
        again = self.apis["ann"].run(
            {**document, "messages": [*document["messages"], user(SHORT, "u2")]}
        )
        self.assertNotIn("restored", again["workspace"])
        for path in ("f", "d/f"):
            found = self.apis["ann"].request("GET", f"/workspaces/one/file?path={path}")
            self.assertEqual(found, (200, "canary\n"))

    def test_pieces_of_one_upload(self) -> None:
        """What one key has sent of a file is not continued, asked for or taken by another."""
        for at in ("/workspaces/pieces/file?path=f&upload=same", f"/objects/{'5' * 64}"):
            for who in ("ann", "bob", "nobody"):
                with self.subTest(who, at=at):
                    told = {"Content-Range": "bytes */20"}
                    api = Api(self.apis[who].url, KEYS[who], told)
                    self.assertEqual(api.request("PUT", at), (202, {"received": 0}))
                    told["Content-Range"] = "bytes 0-9/20"
                    self.assertEqual(api.request("PUT", at, "8 bytes."), (202, {"received": 10}))

    def test_one_call_of_one_session(self) -> None:
        """A call that a key's session has begun is that key's: neither it nor its result is told
        to another that POSTs the same document."""
        order = {"command": "echo ran >> runs; cat secret || echo none; wc -l < runs"}
        call = {
            "id": "call-1",
            "type": "function",
            "function": {"name": "shell", "arguments": json.dumps(order)},
        }
        session = {
            "id": "one call",
            "messages": [
                {"role": "user", "content": SHORT},
                {"role": "assistant", "content": "", "tool_calls": [call]},
            ],
        }
        self.shell("ann", "one call", "echo canary > secret")
        for who, wanted in (
            *(("ann", "canary\n1\n"), ("bob", "none\n1\n"), ("nobody", "none\n1\n")),
            *(("ann again", "canary\n1\n"), ("bob", "none\n1\n")),
        ):
            with self.subTest(who):
                said = result(self.apis[who].run(session))
                self.assertIn(wanted, str(said["result"]["output"]))

    # -- agents -----------------------------------------------------------------------------------

    def agents(self, who: str) -> dict[str, Json]:
        status, info = self.apis[who].request("GET", "/info")
        self.assertEqual(status, 200)
        return {agent["name"]: agent for agent in info["agents"]}

    def save(self, who: str, name: str, **more: Any) -> Json:
        about = {"name": name, "definition": {"description": f"by {who}", "mode": "free"}, **more}
        return self.run_tool(who, f"saves {name}", "agent_save", about)

    @needs("agents")
    def test_agents_of_one_key(self) -> None:
        refused = self.save("bob", "default")
        self.assertEqual(refused["status"], "error")
        self.assertIn("there is an agent default already", refused["error"]["message"])
        for name, replace in (("default", True), ("bobs", False)):
            self.assertEqual(self.save("bob", name, replace=replace)["status"], "ok")
        mine, theirs = self.agents("bob"), self.agents("ann")
        self.assertEqual({mine[n]["origin"] for n in ("default", "bobs")}, {"key"})
        self.assertEqual(mine["bobs"]["description"], "by bob")
        self.assertEqual(theirs["default"]["origin"], "built in")
        addresses = rows_for("AGENTS")
        for who in ("ann", "owner", "nobody", "nobody else"):
            self.assertNotIn("bobs", self.agents(who))
            api = self.apis[who]
            session = {"agent": "bobs", "messages": [{"role": "user", "content": SHORT}]}
            status, told = api.request("POST", "/session", session)
            self.assertEqual((status, told["code"]), (422, "agent_unknown"))
            self.assertNotIn("bobs", told["detail"].partition("Known:")[2])
            used = api.run({"messages": [{"role": "user", "content": SHORT}]})["config"]["agent"]
            self.assertNotIn("bob", used["description"])
            for listed, one, unknown in addresses:
                self.assertNotIn("bobs", json.dumps(api.request("GET", listed)[1]))
                self.assertEqual(api.request("GET", one.format("bobs"))[0], unknown)
        api = self.apis["bob"]
        used = api.run({"agent": "bobs", "messages": [{"role": "user", "content": SHORT}]})
        self.assertEqual(used["config"]["agent"]["description"], "by bob")
        for listed, one, _unknown in addresses:
            self.assertIn("bobs", json.dumps(api.request("GET", listed)[1]))
            self.assertEqual(api.request("GET", one.format("bobs"))[0], 200)
        self.assertEqual(list((self.home / "agents").glob("*.json")), [])

    @needs("agents")
    def test_agents_of_the_owner(self) -> None:
        self.assertEqual(self.save("owner", "team")["status"], "ok")
        try:
            for who in ("ann", "bob", "nobody"):
                self.assertEqual(self.agents(who)["team"]["origin"], "home")
            self.assertEqual(self.save("ann", "team")["status"], "error")
            self.assertEqual(self.save("ann", "team", replace=True)["status"], "ok")
            told = {who: self.agents(who)["team"]["description"] for who in ("ann", "bob", "owner")}
            self.assertEqual(told, {"ann": "by ann", "bob": "by owner", "owner": "by owner"})
            self.assertEqual(self.agents("ann again")["team"]["description"], "by ann")
        finally:
            (self.home / "agents" / "team.json").unlink()

    # -- skills -----------------------------------------------------------------------------------

    @needs("skills")
    def test_skills_of_one_key(self) -> None:
        """And another person's of the same name: each loads their own, others none."""
        people = {"ann": "canary", "bob": "bobs"}
        for who, text in people.items():
            about = {"name": "hers", "description": f"by {who}", "instructions": text}
            order = f"{SHORT} tool=skill_save{json.dumps(about)}"
            asked: Any = self.apis[who].run({"id": "saves", "messages": [user(order)]})
            answer(asked, "tool_call", {"approved": True})
            self.assertEqual(result(self.apis[who].run(asked))["status"], "ok")
        for who, text in (*people.items(), ("ann again", "canary"), ("owner", ""), ("nobody", "")):
            with self.subTest(who):
                found = self.apis[who].request("GET", "/info")[1]["skills"]
                self.assertEqual([each["name"] for each in found], ["hers"] if text else [])
                status, told = self.apis[who].request("GET", "/skills/hers")
                self.assertEqual(status, 200 if text else 404)
                said = [each for each in people.values() if each in json.dumps(told)]
                self.assertEqual(said, [text] if text else [])

    # -- the owner's MCP servers, which are everybody's -------------------------------------------

    @needs("mcp")
    def test_calls_of_one_mcp_server(self) -> None:
        """Side by side, each has its own answer, in a session of one id."""
        told = dict[str, str]()

        def ask(who: str) -> None:
            calls = [f'tool=mcp__s__echo{{"text": "{who} {number}"}}' for number in range(5)]
            order = f"{SHORT} {' '.join(calls)}"
            done = self.apis[who].run({"id": "mcp", "messages": [user(order)]})
            said = [m["content"] for m in done["messages"] if m["role"] == "tool"]
            told[who] = " ".join(each.partition(" by ")[0] for each in said)

        people = ("ann", "bob", "owner", "nobody")
        threads = [threading.Thread(target=ask, args=(who,)) for who in people]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        wanted = {who: " ".join(f"{who} {number}" for number in range(5)) for who in people}
        self.assertEqual(told, wanted)

    @needs("mcp")
    def test_questions_of_one_mcp_server(self) -> None:
        """It asks whoever called. Another person who has that document has a call of their own."""
        asked: dict[str, Any] = {}
        for who in ("ann", "bob"):
            order = f"{SHORT} tool=mcp__s__ask{{}}"
            asked[who] = self.apis[who].run({"id": "asks", "messages": [user(order)]})
            (interrupt,) = asked[who]["interrupts"]
            self.assertEqual(interrupt["reason"], "input_required")
        theirs = copy.deepcopy(asked["ann"])
        answer(theirs, "input_required", {"name": "Mal"})
        self.apis["bob"].run(theirs)
        for who in ("bob", "ann"):
            answer(asked[who], "input_required", {"name": who})
            done = json.dumps(self.apis[who].run(asked[who])["messages"])
            self.assertEqual(
                [name for name in ("ann", "bob", "Mal") if f"hello {name}" in done], [who]
            )

    # -- the owner's HTTP APIs, which are everybody's ---------------------------------------------

    @needs("rest")
    def test_calls_of_one_api(self) -> None:
        """Side by side, each is sent as whoever asked, and its answer is for them."""
        told, times, people = dict[str, list[str]](), 6, ("ann", "bob")

        def ask(who: str) -> None:
            sent = {"X-User-Id": f"user {who}", "Cookie": f"SID={who}-1234; other=1"}
            api = Api(self.apis[who].url, KEYS[who], sent)
            for number in range(times):
                said = user(f'{SHORT} tool=shop_orders{{"of": "{who}-{number}"}}')
                found = result(api.run({"id": f"api {number}", "messages": [said]}))
                told.setdefault(who, []).append(found["result"])

        threads = [threading.Thread(target=ask, args=(who,)) for who in people]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        for who in people:
            wanted = [f"the order {who}-{number}" for number in range(times)]
            self.assertEqual(told[who], wanted)
        expected = [
            (f"{who}-{number}", f"user {who}", f"SID={who}-1234")
            for who in people
            for number in range(times)
        ]
        self.assertEqual(sorted(Shop.seen), expected)

    # -- requests, runs ---------------------------------------------------------------------------

    def test_rates(self) -> None:
        asked = ["dave", "dave again", "dave", "dave again", "ann", "dave", "nobody"]
        found = [self.apis[who].request("GET", "/info")[0] for who in asked]
        self.assertEqual(found, [200, 200, 200, 429, 200, 429, 200])

    def test_runs_at_once(self) -> None:
        """Of all keys of a person, of which the narrowest limit holds."""
        slow = {"messages": [{"role": "user", "content": "bench tokens=100000 delay_us=50000"}]}
        with self.apis["erin"].stream(slow) as stream:
            self.assertEqual(next(stream.events())["type"], "RUN_STARTED")
            session = {"messages": [{"role": "user", "content": SHORT}]}
            for who in ("erin", "erin again", "erin once more"):
                with self.subTest(who):
                    status, told = self.apis[who].request("POST", "/session", session)
                    self.assertEqual((status, told.get("code")), (429, "busy"))
                    self.assertIn("Your keys may have 1 runs at once", told["detail"])
            self.assertEqual(self.apis["bob"].request("POST", "/session", session)[0], 200)

    def test_one_idempotency_key(self) -> None:
        """Whoever repeats a request gets the answer that it had; another key begins a run."""
        order = f'{SHORT} tool=shell{{"command": "true"}}'
        body = {"model": "default", "messages": [{"role": "user", "content": order}]}
        named, texts = {"Idempotency-Key": "the same for all"}, dict[str, str]()
        for who in ("ann", "bob", "nobody", "nobody else", "ann again", "bob"):
            api = Api(self.apis[who].url, KEYS[who], named)
            status, told = api.request("POST", "/v1/chat/completions", body)
            self.assertEqual(status, 200, told)
            text = told["choices"][0]["message"]["content"]
            person = who.removesuffix(" again")
            self.assertEqual(texts.setdefault(person, text), text)
        self.assertEqual(len(set(texts.values())), 4)  # the model says what time it is


def result(session: Json) -> Json:
    (found,) = (m["result"] for m in session["messages"] if m["role"] == "tool")
    envelope: Json = found
    return envelope


def fronts(api: Api, order: str) -> Iterator[tuple[str, str]]:
    """What each front answers to the order in the session `chosen`."""
    session = {"messages": [{"role": "user", "content": order}], "id": "chosen"}
    chosen = [chosen(order) for chosen in rows_for("chosen")]
    for path, body in (*chosen, ("/session", session)):
        status, told = api.request("POST", path, body, accept="text/event-stream")
        yield path, f"{status} {told}"


if __name__ == "__main__":
    unittest.main()
