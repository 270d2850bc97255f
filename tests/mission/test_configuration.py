"""What a session says about itself in `config`, as the document of yaa (seed 003) has it."""

from __future__ import annotations

import asyncio
import copy
import http.client
import json
import os
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

from server.api.auth import Keys
from server.app import App, routes
from server.config import Config
from server.lib.http.client import Client
from server.lib.http.listener import BaseServer, ServerLimits
from server.lib.json_schema.validate import validate

from .. import proofs
from ..extensions import needs
from ..fakes import DEFAULTS
from ..models.fakes import STOP, Server, answer, said, serving, sse
from ..tooling import forks, patience, turns
from ..tooling.api import Api

Json = dict[str, Any]

KEY = "a-key-of-this-test-1234"
MINE = "sk-the-key-of-the-session"
OWNERS = "sk-the-key-of-the-owner"
SECRET = "canary-header-of-the-owner"
HELLO = [{"role": "user", "content": "你好"}]
USAGE: Json = {
    "choices": [],
    "usage": {"prompt_tokens": 3000, "completion_tokens": 500, "total_tokens": 3500},
}
GREETING = answer(sse(said("你好！"), STOP, USAGE))


class Case(unittest.IsolatedAsyncioTestCase):
    """`self.start(**server)` is a server with these settings; `self.ask` one request to it."""

    async def start(self, keys: list[Any] | None = None, **settings: Any) -> Api:
        home = self.enterContext(tempfile.TemporaryDirectory())
        server = copy.deepcopy(DEFAULTS["server"])
        server |= {"discover": False, "api_keys": keys or [KEY]}
        for name, value in settings.items():
            server[name] = {**server[name], **value} if isinstance(value, dict) else value
        proof = proofs.known(server["sandbox"])
        self.app = App(Config(server, DEFAULTS["session"], Path(home)), {}, proof=proof)
        await self.app.open()
        proofs.keep(server["sandbox"], self.app.toolbox.proof)
        self.addAsyncCleanup(self.app.close)
        table = routes(self.app, Keys(server["api_keys"]))
        listener = BaseServer(table, ServerLimits.of(server["limits"]))
        await listener.listen("127.0.0.1", 0)
        self.addAsyncCleanup(listener.close)
        return Api(f"http://127.0.0.1:{listener.port}", KEY)

    async def model(self, *scripts: Any) -> Server:
        """A provider on this machine that answers so."""
        return await self.enterAsyncContext(serving(*(scripts or (GREETING,))))

    async def ask(self, api: Api, session: Json, path: str = "/session") -> tuple[int, Json]:
        return await asyncio.to_thread(api.request, "POST", path, session)

    def own(self, url: str, **more: Any) -> Json:
        """A session with a provider of its own."""
        provider = {"api_url": url, "api_key": MINE, "model_name": "m-1", **more}
        return {"messages": HELLO, "config": {"llm_api": {"provider": provider, "retry": NONE}}}


NONE = {"times": 0, "delay": 0}


@turns.tests(3)
class OwnProvider(Case):
    """Rows 2 and 3."""

    async def test_2_a_public_host_over_https_is_allowed_out_of_the_box(self) -> None:
        """The name leads into this machine, so the run ends where a public one would be called."""
        model = await self.model()
        api = await self.start()
        for host in ("localhost.localdomain.", "127.1", "0x7f000001", "2130706433"):
            with self.subTest(host):
                status, ended = await self.ask(api, self.own(f"https://{host}:{model.port}/v1"))
                self.assertEqual(status, 200, ended)
                self.assertEqual(ended["status"], "failed")
                self.assertEqual(ended["messages"][-1]["role"], "error")
        self.assertEqual(model.connections, 0)

    async def test_2_hosts_inside_and_plain_http_are_refused_before_anything_runs(self) -> None:
        model = await self.model()
        api = await self.start()
        inside = ["127.0.0.1", "localhost", "[::1]", "10.0.0.1", "192.168.1.1", "169.254.169.254"]
        inside += ["[fe80::1]", "[fd00::1]", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "0.0.0.0"]
        urls = [f"https://{host}:{model.port}/v1" for host in inside]
        for url in [*urls, f"http://127.0.0.1:{model.port}/v1", "http://api.example.org/v1"]:
            with self.subTest(url):
                status, problem = await self.ask(api, self.own(url))
                self.assertEqual((status, problem["code"]), (422, "provider_not_allowed"))
                self.assertIn("server.client_providers.hosts", problem["detail"])
                self.assertNotIn(MINE, json.dumps(problem))
        self.assertEqual(model.connections, 0)

    async def test_2_a_host_that_the_owner_lists_is_called_with_the_sessions_key_alone(
        self,
    ) -> None:
        model = await self.model()
        ours = {
            "main": {"api_url": "https://api.example.org/v1", "api_key": OWNERS, "model_name": "m"}
            | {"headers": {"X-Thing": SECRET}, "extra_body": {"user": SECRET}}
        }
        rules = {"hosts": ["*", f"127.0.0.1:{model.port}"]}
        api = await self.start(providers=ours, default_provider="main", client_providers=rules)
        status, ended = await self.ask(api, self.own(model.url))
        self.assertEqual((status, ended["status"]), (200, "completed"), ended)
        (request,) = model.requests
        self.assertEqual(request.headers["authorization"], f"Bearer {MINE}")
        seen = f"{request.line}{request.headers}{request.body!r}"
        self.assertNotIn(OWNERS, seen)
        self.assertNotIn(SECRET, seen)
        self.assertEqual(ended["config"]["llm_api"]["provider"]["api_key"], MINE)

    async def test_2_the_servers_key_is_not_borrowed(self) -> None:
        model = await self.model()
        ours = {"main": {"api_url": model.url, "api_key": OWNERS, "model_name": "m"}}
        api = await self.start(providers=ours, client_providers={"hosts": ["*", "127.0.0.1"]})
        foreign = await self.model()
        for provider in (
            {"api_url": foreign.url, "model_name": "m"},
            {"api_url": foreign.url, "model_name": "m", "api_key": None},
            {"api_url": foreign.url, "model_name": "m", "api_key": " "},
            {"name": "main", "api_url": foreign.url},
            {"name": "main", "api_key": MINE},
        ):
            with self.subTest(provider):
                session = {"messages": HELLO, "config": {"llm_api": {"provider": provider}}}
                status, problem = await self.ask(api, session)
                self.assertEqual(status, 422, problem)
        self.assertEqual((model.requests, foreign.requests), ([], []))

    async def test_2_a_redirect_is_not_followed(self) -> None:
        inside = await self.model()
        away = answer(b"", "307 Temporary Redirect", f"Location: {inside.url}/chat/completions")
        model = await self.model(away)
        api = await self.start(client_providers={"hosts": [f"127.0.0.1:{model.port}"]})
        _, ended = await self.ask(api, self.own(model.url))
        self.assertEqual(ended["status"], "failed")
        self.assertEqual((len(model.requests), inside.connections), (1, 0))

    async def test_2_a_name_that_changes_its_mind_leads_nowhere(self) -> None:
        """DNS rebinding: what was judged is what is called, and one address inside is too many."""
        model = await self.model()
        answers = [["192.0.2.1", "127.0.0.1"], ["127.0.0.1"], ["8.8.8.8", "::1"]]
        asked: list[str] = []

        async def resolve(host: str, _port: int) -> list[str]:
            asked.append(host)
            return answers[len(asked) - 1]

        client = Client(resolve=resolve)
        self.addAsyncCleanup(client.close)
        api = await self.start()
        self.app.models._client = client
        for _ in answers:
            _, ended = await self.ask(api, self.own(f"https://api.example.org:{model.port}/v1"))
            self.assertIn("not on the public internet", ended["messages"][-1]["content"])
        self.assertEqual((asked, model.connections), (["api.example.org"] * 3, 0))

    async def test_3_no_provider_at_all_and_one_of_the_sessions(self) -> None:
        """A demo server; the provider as the document writes it."""
        model = await self.model()
        api = await self.start(client_providers={"hosts": ["127.0.0.1"]})
        session = self.own(
            model.url,
            model_type={"is_function_call": True, "is_reasoning": False},
            cost_per_ktoken=0.5,
            cost_unit="CNY",
            max_tokens=100,
            model_settings={"use_costum_temp": True, "temperature": 0.5},
        )
        status, ended = await self.ask(api, session)
        self.assertEqual((status, ended["status"]), (200, "completed"), ended)
        body = model.requests[0].json
        self.assertEqual((body["model"], body["temperature"]), ("m-1", 0.5))
        self.assertEqual(
            (ended["usage"]["cost_micro"], ended["usage"]["cost_unit"]), (1750000, "CNY")
        )
        self.assertNotIn("warnings", ended["run"])
        _, info = await asyncio.to_thread(api.request, "GET", "/info")
        self.assertEqual(info["client_providers"], "listed")

    async def test_2_the_owner_can_switch_it_off(self) -> None:
        api = await self.start(client_providers={"allow": False})
        status, problem = await self.ask(api, self.own("https://api.example.org/v1"))
        self.assertEqual((status, problem["code"]), (422, "provider_not_allowed"))


PROTOCOL = {
    "tools": "您可以使用工具。写法（一次一个，写完就停）：\n{call}\n可用的工具：\n{tools}",
    "call": "<{name}>\n{parameters}\n</{name}>",
    "result": "工具 {name} 的结果：\n{result}",
    "error": "工具 {name} 出错：\n{result}",
}


@needs("text_tools")
class OwnWords(Case):
    """Row 22: 函数调用的提示词模板."""

    async def test_22_the_words_of_tool_calls(self) -> None:
        called = "<calculator>\n<expression>6*7</expression>\n</calculator>"
        wrong = "<calculator>\n<expression>6*</expression>\n</calculator>"
        model = await self.model(*(answer(sse(said(text), STOP)) for text in (called, wrong, "42")))
        api = await self.start(client_providers={"hosts": ["127.0.0.1"]})
        session = self.own(model.url)
        session["config"] |= {"yaa": {"tool_mode": "text"}, "prompt": PROTOCOL}
        status, ended = await self.ask(api, session)
        self.assertEqual((status, ended["status"]), (200, "completed"), ended)
        self.assertEqual(ended["messages"][-1]["content"], "42")
        self.assertNotIn("warnings", ended["run"])
        system, *turns = model.requests[-1].json["messages"]
        self.assertIn("您可以使用工具", system["content"])
        self.assertIn("<tool_name>\n<parameter>value</parameter>\n</tool_name>", system["content"])
        self.assertIn("- calculator: ", system["content"])
        self.assertNotIn("You can use tools", system["content"])
        self.assertEqual(turns[1], {"role": "assistant", "content": called})
        self.assertTrue(turns[2]["content"].startswith("工具 calculator 的结果：\n"))
        self.assertTrue(turns[4]["content"].startswith("工具 calculator 出错：\n"))

    async def test_22_a_call_that_nobody_would_understand(self) -> None:
        api = await self.start()
        config = {"prompt": {"call": "【{name}】{arguments}", "tools": "{toolz}"}}
        _, ended = await self.ask(api, {"messages": HELLO, "config": config})
        codes = [remark["code"] for remark in ended["run"]["warnings"]]
        self.assertEqual(codes, ["prompt_call_unreadable", "prompt_placeholder_unknown"])


@turns.tests(3)
class Interval(Case):
    """Row 9."""

    async def test_9_an_interval_delays_no_other_session_and_no_other_key(self) -> None:
        model = await self.model()
        ours = {"main": {"api_url": model.url, "api_key": OWNERS, "model_name": "m"}}
        keys = [{"name": name, "key": f"the-key-of-{name}-1234567"} for name in ("ann", "bob")]
        ann = await self.start(keys, providers=ours)
        ann.key, bob = keys[0]["key"], Api(ann.url, keys[1]["key"])
        paced: Json = {"id": "same", "messages": HELLO, "config": {"llm_api": {"interval": 60}}}
        await self.ask(ann, paced)
        for _ in range(4):  # each hangs up while it waits
            writer = await self.waiting(ann, paced)
            writer.close()
            await writer.wait_closed()
        self.assertEqual(len(model.requests), 1)
        others = [(ann, {**paced, "id": "other"}), (bob, paced), (ann, {"messages": HELLO})]
        for api, session in others:
            status, ended = await self.ask(api, session)
            self.assertEqual((status, ended["status"]), (200, "completed"))
        self.assertEqual(len(model.requests), 4)

    async def waiting(self, api: Api, session: Json) -> asyncio.StreamWriter:
        """A request whose run has begun, and waits for its turn to call the model."""
        body = json.dumps(session).encode()
        head = f"POST /session HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {api.key}\r\n"
        head += "Content-Type: application/json\r\nAccept: text/event-stream\r\n"
        head += f"Content-Length: {len(body)}\r\n\r\n"
        while True:
            port = int(api.url.rpartition(":")[2])
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(head.encode() + body)
            if b" 200 " in await reader.readline():
                await reader.readuntil(b"RUN_STARTED")
                return writer
            writer.close()  # the run before it is still there


LOW = {
    "session": {**DEFAULTS["server"]["limits"]["session"], "max_steps": 3},
    "tool": {**DEFAULTS["server"]["limits"]["tool"], "memory_mb": 512},
}
FUNCTION = {"name": "calculator", "arguments": '{"expression": "6*7"}'}
CALLED = [{"index": 0, "id": "c1", "type": "function", "function": FUNCTION}]
CALL: Json = {"choices": [{"index": 0, "delta": {"tool_calls": CALLED}}]}


@turns.tests(3)
class KeyLimits(Case):
    """Row 27: 身份验证 ->> 资源限制器: 设置 CPU/内存阈值."""

    async def test_27_each_key_has_limits_of_its_own_under_the_servers(self) -> None:
        call = answer(sse(CALL, STOP))
        model = await self.model(call, call, GREETING)
        ours = {"main": {"api_url": model.url, "api_key": OWNERS, "model_name": "m"}}
        few = {"session": {"max_steps": 1}, "tool": {"memory_mb": 64}, "max_request_size": 2000}
        wide = {"session": {"max_steps": 999}, "tool": {"memory_mb": 9999}}
        keys: list[Json] = [
            {"name": "few", "key": "the-key-of-few-1234567", "limits": few},
            {"name": "wide", "key": "the-key-of-wide-1234567", "limits": wide},
        ]
        first = await self.start(keys, providers=ours, limits=LOW)
        apis = {entry["name"]: Api(first.url, entry["key"]) for entry in keys}
        told: dict[str, tuple[int, int]] = {}
        ended: dict[str, str] = {}
        for name, api in apis.items():
            _, info = await asyncio.to_thread(api.request, "GET", "/info")
            limits = info["limits"]
            told[name] = (limits["session"]["max_steps"], limits["tool"]["memory_mb"])
            wanted = {"limits": {"max_steps": 50, "on_limit": "stop"}}
            _, session = await self.ask(api, {"messages": HELLO, "config": wanted})
            ended[name] = session["finish_reason"]
        self.assertEqual(told, {"few": (1, 64), "wide": (3, 512)})
        self.assertEqual(ended, {"few": "limit", "wide": "completed"})
        large = {"messages": [{"role": "user", "content": "x" * 3000}]}
        status, problem = await self.ask(apis["few"], large)
        self.assertEqual((status, problem["code"]), (413, "body_too_large"))
        self.assertEqual((await self.ask(apis["wide"], large))[0], 200)

    async def test_27_the_memory_of_a_tool_is_the_keys(self) -> None:
        model = await self.model(answer(sse(EATS, STOP)), GREETING)
        ours = {"main": {"api_url": model.url, "api_key": OWNERS, "model_name": "m"}}
        key = {"name": "few", "key": KEY, "limits": {"tool": {"output_kb": 1}}}
        api = await self.start([key], providers=ours, sandbox={"require": "none"})
        session = {"messages": HELLO, "config": {"tool": {"shell": {"auto_approve": True}}}}
        _, ended = await self.ask(api, session)
        (result,) = [each["result"] for each in ended["messages"] if each["role"] == "tool"]
        self.assertEqual(result["status"], "ok")
        self.assertEqual(result["result"]["output_dropped"], 100_000 - 48_000)


MANY = {"name": "shell", "arguments": '{"command": "head -c 100000 /dev/zero | tr \'\\\\0\' x"}'}
EATS: Json = {"choices": [{"index": 0, "delta": {"tool_calls": [{**CALLED[0], "function": MANY}]}}]}


@turns.tests(3)
class HelloWorld(Case):
    """The document's own session, as its client sends it to `POST /`."""

    async def test_hello_world(self) -> None:
        model = await self.model()
        api = await self.start(client_providers={"hosts": ["127.0.0.1"]})
        session = document(model.url)
        connection = http.client.HTTPConnection("127.0.0.1", int(api.url.rpartition(":")[2]))
        self.addCleanup(connection.close)

        def send() -> tuple[int, Json]:
            headers = {"Authorization": f"YAA-API-KEY {KEY}", "Content-Type": "application/json"}
            headers["Accept"] = "application/json"
            connection.request("POST", "/", json.dumps(session), headers)
            reply = connection.getresponse()
            return reply.status, json.loads(reply.read())

        status, ended = await asyncio.to_thread(send)
        self.assertEqual(status, 200, ended)
        self.assertEqual((ended["status"], ended["finish_reason"]), ("completed", "completed"))
        self.assertEqual([each["role"] for each in ended["messages"]], ["user", "assistant"])
        self.assertEqual(ended["messages"][-1]["content"], "你好！")
        self.assertLessEqual(USAGE["usage"].items(), ended["usage"].items())
        self.assertEqual((ended["usage"]["cost_micro"], ended["usage"]["cost_unit"]), (7000, "CNY"))
        for name in ("id", "title", "start_time", "character"):
            self.assertEqual(ended[name], session[name])
        told = model.requests[0].json
        self.assertEqual((told["model"], told["temperature"]), ("deepseek-chat", 0.3))
        self.assertIn("您是 yaa，一个智能体。", told["messages"][0]["content"])
        self.assertIn("中文", told["messages"][0]["content"])
        remarks = [(each["code"], each["section"]) for each in ended["run"]["warnings"]]
        self.assertEqual(remarks, [("prompt_section_unknown", "todo")])

    async def test_hello_world_delta(self) -> None:
        """智能体回复数据: what this run added, and its usage."""
        model = await self.model()
        api = await self.start(client_providers={"hosts": ["127.0.0.1"]})
        session = document(model.url)
        session["config"]["yaa"]["reply"] = "delta"
        status, reply = await self.ask(api, session, "/")
        self.assertEqual(status, 200)
        wanted = {"id", "title", "start_time", "finish_reason", "messages", "usage"}
        self.assertEqual(set(reply), wanted)
        self.assertEqual([each["content"] for each in reply["messages"]], ["你好！"])
        self.assertLessEqual(USAGE["usage"].items(), reply["usage"].items())

    async def test_hello_world_statuses_and_keys(self) -> None:
        model = await self.model()
        ours = {"main": {"api_url": model.url, "api_key": OWNERS, "model_name": "m"}}
        api = await self.start(providers=ours)
        for spelled in ("进行中", "已中断", "已完成", "in-progress", "interrupted", "completed"):
            status, ended = await self.ask(api, {"messages": HELLO, "status": spelled}, "/")
            self.assertEqual((status, ended["status"]), (200, "completed"))
        api.key = "a-wrong-key-1234567890"
        status, problem = await self.ask(api, {"messages": HELLO}, "/")
        self.assertEqual((status, problem["code"]), (401, "unauthorized"))


def document(url: str) -> Json:
    """The session of the document, with its spellings, and values in the place of types."""
    return {
        "id": "7d2f2f2e-9f6c-4c43-8a56-1d3f6f6d2c11",
        "title": "问候",
        "start_time": "2025-03-01T08:00:00Z",
        "character": "您是 yaa，一个智能体。",
        "status": "进行中",
        "messages": [{"role": "用户", "content": "你好"}],
        "config": {
            "yaa": {"stream": False, "language": "中文"},
            "llm_api": {
                "provider": {
                    "api_url": url,
                    "api_key": MINE,
                    "model_name": "deepseek-chat",
                    "model_type": {"is_function_call": True, "is_reasoning": False},
                    "cost_per_ktoken": 0.002,
                    "cost_unit": "CNY",
                    "max_tokens": 4096,
                    "model_settings": {"use_costum_temp": True, "temperature": 0.3},
                },
                "stream": True,
                "request_timeout": 60,
                "interval": 1,
                "retry": {"times": 3, "delay": 2},
            },
            "prompt": {"todo": "todo"},
            "tool": {"base_tool": {"auto_approve": True}, "finish": {"auto_approve": True}},
        },
    }


class Expiry(Case):
    """Row 91."""

    async def test_91_what_a_host_keeps_expires(self) -> None:
        api = await self.start(keep_days=30)
        self.assertEqual((await self.ask(api, {"messages": HELLO}))[0], 200)
        home = self.app.config.home
        old = time.time() - 40 * 86400
        stale, fresh = home / "workspaces" / ("a" * 32), home / "workspaces" / ("b" * 32)
        for folder in (stale, fresh):
            folder.mkdir()
            (folder / "report.txt").write_text("x")
        self.app.claims.store(("", "s"), "c1", 0, {"status": "ok"})
        (home / "stops").mkdir(exist_ok=True)
        (home / "runs").mkdir(exist_ok=True)
        files = [home / "stops" / "s.1", home / "runs" / "r", next((home / "claims").iterdir())]
        for path in files[:2]:
            path.write_text("")
        for path in (stale, *files):
            os.utime(path, (old, old))
        expired = {each.name: each.expired for each in self.app.storage_figures()}
        self.assertEqual(
            expired, {"workspaces": 1, "claims": 0, "results": 1, "runs": 1, "stops": 1}
        )
        self.assertEqual(self.app.clean(), 1)
        self.assertEqual([path for path in (stale, *files) if path.exists()], [])
        self.assertTrue((fresh / "report.txt").exists())
        self.assertEqual((await self.ask(api, {"messages": HELLO}))[0], 200)

    async def test_91_a_command_shows_and_cleans(self) -> None:
        home = Path(self.enterContext(tempfile.TemporaryDirectory()))
        folder = home / "workspaces" / ("a" * 32)
        folder.mkdir(parents=True)
        os.utime(folder, (0, 0))
        command = [sys.executable, "-m", "server", "kept", "--home", str(home)]
        said = []
        for more in ([], ["--days", "30"], ["--days", "30", "--clean"]):
            done = forks.run([*command, *more], os.environ, timeout=patience.seconds(60))
            self.assertEqual(done.returncode, 0)
            said.append(next(line for line in done.stdout.splitlines() if "workspaces " in line))
        self.assertRegex(said[0], r"workspaces +1 .* 0 expired")
        self.assertRegex(said[1], r"workspaces +1 .* 1 expired")
        self.assertRegex(said[2], r"workspaces +0 .* 1 removed")
        self.assertFalse(folder.exists())


@turns.tests(3)
class Misspelt(Case):
    """Rows 38 and 39, as far as they are the server's."""

    async def test_38_an_unknown_key_is_told_of_with_the_nearest(self) -> None:
        api = await self.start()
        config = {
            "limts": {"max_steps": 1},
            "langauge": "中文",
            "tool": {"calculater": {"deny": True}, "calculator": {"deny": True}},
            "yaa": {"stream": True},
        }
        status, ended = await self.ask(api, {"messages": HELLO, "config": config})
        self.assertEqual(status, 200)
        told = {each["key"]: each["nearest"] for each in ended["run"]["warnings"]}
        self.assertEqual(
            told,
            {
                "limts": "limits",
                "langauge": "yaa.language",
                "tool.calculater": "tool.calculator",
            },
        )
        self.assertEqual(ended["config"]["limts"], {"max_steps": 1})
        del ended["config"]["limts"], ended["config"]["langauge"]
        del ended["config"]["tool"]["calculater"]
        ended["messages"].append({"role": "user", "content": "再见"})
        _, again = await self.ask(api, ended)
        self.assertNotIn("warnings", again["run"])

    async def test_39_one_schema_describes_every_setting(self) -> None:
        api = await self.start()
        _, info = await asyncio.to_thread(api.request, "GET", "/info")
        schema = info["config_schema"]
        self.assertEqual(schema["x-order"][0], "/llm_api/provider/name")
        self.assertEqual(validate(info["defaults"]["config"], schema), [])
        for pointer in schema["x-order"]:
            node = schema
            for name in pointer.strip("/").split("/"):
                node = node["properties"][name]
            self.assertTrue(node["title"] and node["description"], pointer)


if __name__ == "__main__":
    unittest.main()
