"""The row of AutoAi's document about REST tools: they go to the application as whoever asks."""

from __future__ import annotations

import concurrent.futures
import http.client
import json
import tempfile
import unittest
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from server.config import ConfigError, load
from server.extensions import present

from ...mission.autoai_peers import Echo, Model, config
from ...tooling import forks, turns
from ...tooling.api import Api
from ...tooling.child import Yaa

Json = dict[str, Any]

setUpModule = forks.use
TRACED = {"tracing": {"file": "traces.jsonl", "content": True}} if "tracing" in present() else {}
TESTED = {81: "headers and cookies of the caller"}  # see mission/test_rows.py

# What the caller sends, and the tools of 8.1 get.
TOKEN, USER, TENANT, COOKIE = (
    "eyJhbGciOiJIUzI1NiJ9.canary-token.x",
    "user-canary-4711",
    "tenant-canary-acme",
    "canary%2Dsession",
)
CALLER = {
    "Authorization": f"Bearer {TOKEN}",
    "X-User-Id": USER,
    "X-Tenant-Id": TENANT,
    "X-Not-Named": "canary-not-named",
    "Cookie": f"other=canary-other; JSESSIONID={COOKIE}",
}
FORWARD = ["Authorization", "X-User-Id", "x-tenant-id", "cookie:JSESSIONID"]
ORDERS = {
    "name": "getAllOrders",
    "description": "Get all orders list",
    "method": "GET",
    "path": "/api/orders",
}
HOOK = """
import json, pathlib
from yaa import hook
FILE = pathlib.Path(__file__).with_name("heard.txt")
def heard(value, ctx):
    with FILE.open("a") as file:
        file.write(ctx.point + json.dumps([value, ctx.session()], default=str) + "\\n")
"""


def rest(url: str, **more: Any) -> Json:
    add = {"name": "add", "method": "POST", "path": "/api/orders", "parameters": {"n": {}}}
    away = {"name": "away", "path": "/away"}
    return {"base_url": url, "forward": FORWARD, "tools": [ORDERS, add, away], **more}


def order(tool: str, **args: Any) -> Json:
    return {"messages": [{"role": "user", "content": f"call {tool} {json.dumps(args)}"}]}


@turns.tests(3)
class Callers(unittest.TestCase):
    """81: REST tools go to the application as whoever asks."""

    def serve(self, app: Echo, **about: Any) -> Yaa:
        model = self.enterContext(Model())
        self.model = model
        settings = config(
            model,
            rest={"shop": rest(app.url, **about)},
            log={"level": "debug", "file": "yaa.log", "model_deltas": True},
            **TRACED,
        )
        yaa = self.enterContext(Yaa(settings))
        self.yaa = yaa
        return yaa

    def caller(self, **headers: str) -> Api:
        return Api(self.yaa.url, "", {"YAA-API-KEY": self.yaa.key, **headers})

    def test_81_headers_and_cookies_of_the_caller_and_no_others(self) -> None:
        app = self.enterContext(Echo())
        self.serve(app, headers={"X-Static": "static-value"})
        session = self.caller(**CALLER).run(order("shop_getAllOrders"))
        self.assertEqual(session["status"], "completed")
        [(line, sent, _)] = app.seen
        self.assertEqual(line, "GET /api/orders")
        told = {name: sent.get(name.lower()) for name in (*CALLER, "X-Static")}
        self.assertEqual(
            told,
            {
                **CALLER,
                "X-Not-Named": None,
                "Cookie": f"JSESSIONID={COOKIE}",
                "X-Static": "static-value",
            },
        )
        self.assertNotIn("yaa-api-key", sent)
        self.assertNotIn(self.yaa.key, str(app.seen))

    def test_81_nothing_of_it_is_written_or_told(self) -> None:
        """The application repeats it all; hooks, traces and the log at debug write all they get."""
        app = self.enterContext(Echo())
        folder = self.enterContext(tempfile.TemporaryDirectory())
        home = Path(folder) / "home"
        (home / "hooks").mkdir(parents=True)
        points = (Path(__file__).parents[3] / "docs/reference/hooks.md").read_text()
        named = [line.split("`")[1] for line in points.splitlines() if line.startswith("| `")]
        each = (
            f'@hook("{name}")\ndef at_{name}(value, ctx): heard(value, ctx)\n' for name in named
        )
        (home / "hooks" / "all.py").write_text(HOOK + "".join(each))
        model = self.enterContext(Model())
        settings = config(
            model,
            rest={"shop": rest(app.url)},
            log={"level": "debug", "file": "yaa.log", "model_deltas": True},
            **TRACED,
        )
        yaa = self.enterContext(Yaa(settings, home=home))
        api = Api(yaa.url, "", {"YAA-API-KEY": yaa.key, **CALLER})
        with api.stream(order("shop_getAllOrders")) as stream:
            list(stream.events())
        once = {"config": {"tool": {"shop_add": {"auto_approve": True}}}}
        session = api.run(order("shop_add", n=1) | once)
        self.assertEqual(len(app.seen), 2)
        assert yaa.child is not None
        yaa.child.stop()
        written = {
            path.relative_to(home).as_posix(): path.read_bytes().decode(errors="replace")
            for path in home.rglob("*")
            if path.is_file()
        }
        self.assertIn("shop_add", written["hooks/heard.txt"])
        self.assertIn("post_acting", written["hooks/heard.txt"])
        for about in TRACED.values():
            self.assertIn("shop_add", written[f"logs/{about['file']}"])
        self.assertIn("orders", str(model.asked[-1]))
        places = {
            **written,
            "the stream": stream.text,
            "the session": json.dumps(session),
            "the model": str(model.asked),
            "what it printed": yaa.child.output,
        }
        for place, text in places.items():
            for secret in (TOKEN, "canary"):
                self.assertNotIn(secret, text, place)

    def test_81_a_redirect_gets_nothing(self) -> None:
        trap = self.enterContext(Echo())
        app = self.enterContext(Echo(moved=f"{trap.url}/stolen"))
        self.serve(app)
        session = self.caller(**CALLER).run(order("shop_away"))
        self.assertIn("it redirects, which is not followed", json.dumps(session))
        self.assertEqual((len(app.seen), trap.seen), (1, []))

    def test_81_a_key_of_this_server_is_not_forwarded(self) -> None:
        app = self.enterContext(Echo())
        yaa = self.serve(app)
        for headers in (
            {"Authorization": f"Bearer {yaa.key}"},
            {"YAA-API-KEY": yaa.key, "Authorization": f"Token {yaa.key}"},
            {"YAA-API-KEY": yaa.key, "X-User-Id": f"me:{yaa.key}"},
            {"YAA-API-KEY": yaa.key, "Cookie": f"JSESSIONID={yaa.key}"},
            {"YAA-API-KEY": yaa.key, "Cookie": f'JSESSIONID="{yaa.key}"; x=y'},
        ):
            with self.subTest(names=list(headers)):
                app.seen.clear()
                Api(yaa.url, "", headers).run(order("shop_getAllOrders"))
                self.assertEqual(len(app.seen), 1)
                self.assertNotIn(yaa.key, str(app.seen))

    def test_81_each_request_is_its_own_caller(self) -> None:
        """Also those at one time, and the one that goes on with a session of another."""
        app = self.enterContext(Echo(together=4))
        self.serve(app)
        names = [f"user-{n}-of-four" for n in range(4)]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            runs = pool.map(
                lambda name: self.caller(**{"X-User-Id": name}).run(
                    {
                        "id": name,
                        **order(
                            "shop_getAllOrders",
                        ),
                    }
                ),
                names,
            )
            self.assertEqual({run["status"] for run in runs}, {"completed"})
        self.assertEqual(sorted(sent["x-user-id"] for _, sent, _ in app.seen), names)

    def test_81_who_approves_is_who_calls(self) -> None:
        app = self.enterContext(Echo())
        self.serve(app)
        waiting = self.caller(**CALLER).run(order("shop_add", n=1))
        self.assertEqual((waiting["finish_reason"], app.seen), ("awaiting", []))
        answer = {"status": "resolved", "payload": {"approved": True}}
        waiting["interrupts"][0]["answer"] = answer
        ended = self.caller(**{"X-User-Id": "who-approved"}).run(waiting)
        self.assertEqual(ended["status"], "completed")
        [(_, sent, _)] = app.seen
        self.assertEqual(sent["x-user-id"], "who-approved")
        self.assertNotIn("authorization", sent)
        self.assertNotIn("cookie", sent)

    def test_81_a_page_of_another_origin_may_send_them(self) -> None:
        yaa = self.serve(self.enterContext(Echo()))
        place = urlsplit(yaa.url)
        with closing(http.client.HTTPConnection(place.hostname or "", place.port)) as connection:
            connection.request("OPTIONS", "/session", headers={"Origin": "https://shop.example"})
            answer = connection.getresponse()
            allowed = str(answer.getheader("Access-Control-Allow-Headers")).split(", ")
            self.assertIn("x-user-id", allowed)
            self.assertIn("authorization", allowed)
            self.assertNotIn("cookie:jsessionid", allowed)
            self.assertIsNone(answer.getheader("Access-Control-Allow-Credentials"))

    def test_81_the_configuration_names_what_cannot_be_forwarded(self) -> None:
        for name in (
            *("Host", "Cookie", "YAA-API-KEY", "Content-Length", "Transfer-Encoding", "cookie:"),
            *("x y", "", "X-Forwarded-For", "proxy-authorization", "cookie:a;b", "a\r\nb"),
        ):
            with self.subTest(name), self.assertRaisesRegex(ConfigError, "rest.shop.forward"):
                self.configured({"base_url": "https://a.example", "forward": [name]})
        both = {"headers": {"authorization": "x"}, "forward": ["Authorization"]}
        with self.assertRaisesRegex(ConfigError, "Authorization is in headers too"):
            self.configured({"base_url": "https://a.example", **both})
        self.configured({"base_url": "https://a.example", "forward": FORWARD})

    def configured(self, about: Json) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "config.json"
            file.write_text(json.dumps({"server": {"rest": {"shop": about}}}))
            load(Path(folder), file, {}, {})
