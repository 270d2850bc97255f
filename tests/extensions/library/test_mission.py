"""Rows of the source systems that are met by the library, by files of the owner's code, by stores
and by content blocks; and the hello worlds of seeds 003 and 004 as programs of one's own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import server
from server import (
    BaseAgent,
    BaseAPI,
    BaseServer,
    BaseTool,
    JsonSession,
    OpenAI_API,
    OpenAIAPI,
    Problem,
    SessionManager,
    from_blocks,
    run,
    to_blocks,
    tool,
)
from server.cli.console import read_session
from server.tools.function_tools import ChildTool

from ...tooling import forks, turns
from ...tooling.api import Api
from ...tooling.child import Child, Yaa
from ...tooling.patience import seconds
from ...tooling.tools import ROOT

setUpModule = forks.use
Json = dict[str, Any]


class Scripted(BaseAPI):  # type: ignore[misc]
    """Answers what it was asked; `write …` calls a tool, a result is repeated."""

    model_name = "scripted-1"

    def __init__(self) -> None:
        self.asked: list[Json] = []

    def request(self, session_data: Json) -> Json:
        self.asked.append(session_data)
        last = session_data["messages"][-1]
        if last["role"] == "tool":
            return {"content": f"任务已完成: {last['content']}"}
        if "hello.txt" in last["content"]:
            call = {
                "name": "WriteFileTool",
                "arguments": {"filePath": "hello.txt", "content": "Hi"},
            }
            return {"content": "我来帮你创建文件", "tool_calls": [call]}
        return {"content": f"You said {last['content']}", "usage": {"prompt_tokens": 5}}


class WriteFileTool(BaseTool):  # type: ignore[misc]
    """Writes a file."""

    input_schema = {
        "type": "object",
        "properties": {"filePath": {"type": "string"}, "content": {"type": "string"}},
        "required": ["filePath", "content"],
    }
    required_resources = {"wall_s": 5}

    def __init__(self) -> None:
        self.written: Json = {}

    def execute(self, params: Json) -> Json:
        self.written[params["filePath"]] = params["content"]
        return {"written": params["filePath"]}


class Case(unittest.TestCase):
    def setUp(self) -> None:
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.folder, self.home = folder, folder / "home"

    def agent(self, **more: Any) -> BaseAgent:
        agent = BaseAgent(home=self.home, **more)
        self.addCleanup(agent.close)
        return agent

    def file(self, name: str, text: str) -> Path:
        path = self.home / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o600)
        return path


@turns.tests(3)
class Library(Case):
    def test_29_the_names_and_members_of_the_class_diagram(self) -> None:
        """Seed 003's diagram: each class, each member, called."""
        self.assertIs(OpenAI_API, OpenAIAPI)
        self.assertTrue(issubclass(OpenAIAPI, BaseAPI))
        writer = WriteFileTool()
        self.assertEqual(writer.execute({"filePath": "a", "content": "b"}), {"written": "a"})
        self.assertEqual(writer.input_schema["required"], ["filePath", "content"])
        self.assertEqual(writer.required_resources, {"wall_s": 5})
        key = "k" * 24
        config = {"host": "127.0.0.1", "port": 0, "max_connections": 7, "api_keys": [key]}
        with BaseServer(config, home=self.home, api=Scripted()) as found:
            self.assertEqual((found.host, found.max_connections), ("127.0.0.1", 7))
            self.assertEqual(found.api_keys, [key])
            self.assertEqual(found.socket.getsockname()[1], found.port)
            self.assertTrue(found._validate_auth(f"Bearer {key}"))
            self.assertTrue(found._validate_auth(f"YAA-API-KEY {key}"))
            self.assertFalse(found._validate_auth("Bearer other"))
            body = json.dumps({"messages": [{"role": "user", "content": "你好"}]})
            head = f"POST /session HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n"
            sent = f"{head}Content-Length: {len(body.encode())}\r\n\r\n{body}"
            self.assertEqual(found._parse_request(sent), (json.loads(body), f"Bearer {key}"))
            for broken in (sent[:-1], "nonsense", head + "\r\n", sent.replace("{", "[", 1)):
                with self.assertRaises(Problem):
                    found._parse_request(broken)
            session = Api(found.url, key).run(json.loads(body))
            self.assertEqual(session["messages"][-1]["content"], "You said 你好")
            found._validate_auth = lambda header: True  # requests do not go through it
            self.assertEqual(Api(found.url, "wrong").request("POST", "/session", {})[0], 401)
        with self.assertRaises(OSError):
            found.socket.getsockname()

    def test_29_the_flow_of_the_diagram(self) -> None:
        """Session data in, model, tool asked about, approved by the user, executed, session out."""
        writer, api = WriteFileTool(), Scripted()
        agent = self.agent(api=api, tools=[writer])
        given = {"id": "s1", "messages": [{"role": "用户", "content": "帮我创建hello.txt"}]}
        before = json.loads(json.dumps(given))
        session = agent.Agent(given)
        self.assertEqual(given, before)
        self.assertEqual((session["id"], session["status"]), ("s1", "interrupted"))
        self.assertEqual(writer.written, {})
        (asked,) = session["interrupts"]
        asked["answer"] = {"status": "resolved", "payload": {"approved": True}}
        session = agent.Agent(json.loads(json.dumps(session)))
        self.assertEqual(session["status"], "completed")
        self.assertEqual(writer.written, {"hello.txt": "Hi"})
        self.assertEqual(session["messages"][-1]["content"], '任务已完成: {"written":"hello.txt"}')
        self.assertEqual(api.asked[0]["messages"][-1]["content"], "帮我创建hello.txt")

    def test_29_a_subclass_of_openai_api_keeps_what_the_session_says(self) -> None:
        """An adapter gets the body of a request, and gives it on; `super().stream` streams."""
        bodies: list[Json] = []

        class Provider(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                message = {"role": "assistant", "content": "hi"}
                data = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]})
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data.encode())

            def log_message(self, *_: Any) -> None:
                pass

        class Asks(OpenAI_API):  # type: ignore[misc]
            def request(self, session_data: Json) -> Any:
                return super().request(session_data)

        class Streams(Asks):
            def stream(self, session_data: Json) -> Any:
                yield from super().stream(session_data)

        provider = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
        self.addCleanup(provider.server_close)
        threading.Thread(target=provider.serve_forever, daemon=True).start()
        self.addCleanup(provider.shutdown)
        settings = {"temperature": 0.2, "use_custom_temp": True, "stop": ["x"]}
        llm_api = {"max_tokens": 50, "stream": False, "model_settings": settings}
        asked: Json = {"messages": [{"role": "user", "content": "hi"}]}
        for kind in (Asks, Streams):
            for stream in (False, True):
                api = kind("m", api_url=f"http://127.0.0.1:{provider.server_port}/v1")
                config = {"llm_api": {**llm_api, "stream": stream}}
                session = run({**asked, "config": config}, home=self.home, api=api)
                self.assertEqual(session["messages"][-1]["content"], "hi", session["status"])
                sent = bodies.pop()
                self.assertEqual((sent["temperature"], sent["stop"]), (0.2, ["x"]))
                self.assertEqual(sent.get("max_tokens", sent.get("max_completion_tokens")), 50)
                self.assertEqual(bool(sent.get("stream")), stream)
        api = OpenAI_API("m", api_url=f"http://127.0.0.1:{provider.server_port}/v1")
        chosen = {"type": "function", "function": {"name": "f"}}
        tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
        api.request({"messages": [{"role": "用户", "content": "好"}], "tools": [tool],
                     "tool_choice": chosen, "stream": False})  # fmt: skip
        self.assertEqual(bodies[-1]["messages"], [{"role": "user", "content": "好"}])
        self.assertEqual(bodies[-1]["tool_choice"], chosen)

    def test_103_run_in_a_program(self) -> None:
        """`chat(request)` and `chat(request, StreamCallback)` of seed 000."""
        asked = {"messages": [{"role": "user", "content": "hi"}]}
        seen: list[str] = []
        session = run(
            asked, lambda event: seen.append(event["type"]), home=self.home, api=Scripted()
        )
        self.assertEqual(session["messages"][-1]["content"], "You said hi")
        self.assertEqual((seen[0], seen[-1]), ("RUN_STARTED", "RUN_FINISHED"))
        self.assertEqual(session["messages"][-1]["meta"]["usage"]["prompt_tokens"], 5)

    def test_the_first_request_of_a_bare_session_is_small(self) -> None:
        """2,700 tokens of four characters, with what is said of the place where tools work."""
        api = Scripted()
        run({"messages": [{"role": "user", "content": "hi"}]}, home=self.home, api=api)
        (asked,) = api.asked
        self.assertIn("this session's own", asked["messages"][0]["content"])
        size = sum(len(json.dumps(asked[key])) for key in ("messages", "tools"))
        self.assertLessEqual(size, 4 * 2_700)

    def test_103_what_a_callback_raises_ends_the_run(self) -> None:
        agent = self.agent(api=Scripted())

        def stop(event: Json) -> None:
            raise ZeroDivisionError

        asked = {"id": "s", "messages": [{"role": "user", "content": "hi"}]}
        with self.assertRaises(ZeroDivisionError):
            agent.run(asked, stop)
        self.assertEqual(agent.run(asked)["status"], "completed")  # it is not running any more
        with self.assertRaises(Problem):
            agent.run({"messages": 5})

    def test_004_call_keeps_a_run_that_a_callback_ends(self) -> None:
        """Said again, it would run the tool a second time."""
        writer = WriteFileTool()
        config = {"session": {"config": {"tool": {"WriteFileTool": {"auto_approve": True}}}}}
        agent = self.agent(api=Scripted(), tools=[writer], config=config)

        def stop(event: Json) -> None:
            if event["type"] == "TOOL_CALL_RESULT":
                raise BrokenPipeError

        with self.assertRaises(BrokenPipeError):
            agent.call("帮我创建hello.txt", stop)
        self.assertEqual(
            [m["role"] for m in agent.session["messages"]], ["user", "assistant", "tool"]
        )
        with self.assertRaises(Problem):  # what cannot be run is not kept
            agent.call({"role": "nobody", "content": "x"})
        self.assertEqual(len(agent.session["messages"]), 3)

    def test_29_listen_ends_when_another_thread_closes(self) -> None:
        config = {"host": "127.0.0.1", "port": 0, "api_keys": ["k" * 24]}

        class Announced(BaseServer):  # type: ignore[misc]
            def start(self) -> None:
                super().start()
                begun.set()

        for asked in (False, True):
            with self.subTest(asked=asked):
                before, begun = set(threading.enumerate()), threading.Event()
                found = Announced(config, home=self.home, api=Scripted())
                raised: list[BaseException] = []

                def listen(found: Any = found, raised: list[BaseException] = raised) -> None:
                    try:
                        found.listen()
                    except BaseException as error:
                        raised.append(error)

                listening = threading.Thread(target=listen)
                listening.start()
                begun.wait()
                if asked:
                    Api(found.url, "k" * 24).run({"messages": [{"role": "user", "content": "x"}]})
                found.close()
                listening.join()
                self.assertEqual(raised, [])
                self.assertEqual(set(threading.enumerate()) - before, set())

    def test_103_importing_is_cheap(self) -> None:
        code = (
            "import sys, server; assert 'asyncio' not in sys.modules, 'asyncio';"
            " from server import tool; assert 'server.app' not in sys.modules, 'app'"
        )
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
        self.assertIn("BaseAgent", dir(server))

    def test_116_tools_of_a_program(self) -> None:
        """`registerClasses`: objects, classes and functions; the policy still asks."""

        @tool(read_only=True)  # type: ignore[untyped-decorator]
        def add(a: int, b: int) -> int:
            """Add two numbers."""
            return a + b

        agent = self.agent(api=Scripted(), tools=[WriteFileTool, add])
        found = {each["name"]: each for each in agent._app.toolbox.info()}
        self.assertEqual(found["WriteFileTool"]["policy"], "ask")
        self.assertEqual(found["WriteFileTool"]["description"], "Writes a file.")
        self.assertEqual(found["add"]["policy"], "run")
        self.assertEqual(found["add"]["parameters"]["required"], ["a", "b"])
        config = {"config": {"yaa": {"unattended": True}}}
        session = agent.run({"messages": [{"role": "user", "content": "hello.txt"}], **config})
        self.assertIn("nobody can be asked", json.dumps(session))
        for wrong in (5, object, "text"):
            with self.subTest(wrong), self.assertRaises(server.ToolError):
                BaseAgent(home=self.home, tools=[wrong])

    def test_004_agent_call_and_session_manager(self) -> None:
        """Seed 004's AutoMemoryExample, line by line, in two processes' worth of objects."""
        store = self.folder / ".agentscope" / "examples" / "sessions"

        class Memory:
            """A component beside the agent."""

            def __init__(self) -> None:
                self.events: list[str] = []

            def save_state(self) -> Json:
                return {"compressionEvents": self.events}

            def load_state(self, state: Json) -> None:
                self.events = state["compressionEvents"]

        def opened() -> tuple[BaseAgent, Memory, SessionManager]:
            agent, memory = self.agent(api=Scripted()), Memory()
            manager = (
                SessionManager.for_session_id("session000005")
                .with_session(JsonSession(store))
                .add_component(agent)
                .add_component(memory)
            )
            if manager.session_exists():
                manager.load_if_exists()
            return agent, memory, manager

        agent, memory, manager = opened()
        self.assertFalse(manager.load_if_exists())
        self.assertEqual(agent.call("今天天气怎么样?")["content"], "You said 今天天气怎么样?")
        memory.events.append("summary")
        manager.save_session()
        agent, memory, manager = opened()
        self.assertEqual(memory.events, ["summary"])
        self.assertEqual(agent.call("适合出门吗?")["content"], "You said 适合出门吗?")
        self.assertEqual(len(agent.session["messages"]), 4)
        manager.save_session()
        saved = json.loads((store / "session000005.json").read_text())
        self.assertEqual([m["role"] for m in saved["messages"]], ["user", "assistant"] * 2)
        self.assertEqual(saved["ext"]["components"]["memory"], {"compressionEvents": ["summary"]})


@turns.tests(3)
class OwnersCode(Case):
    MODEL = (ROOT / "docs" / "examples" / "echo_model.py").read_text()
    SOURCE = (ROOT / "docs" / "examples" / "tool_source.py").read_text()

    def asked(self, yaa: Yaa, text: str, **provider: str) -> Json:
        document: Json = {"messages": [{"role": "user", "content": text}]}
        if provider:
            document["config"] = {"llm_api": {"provider": provider}}
        return Api(yaa.url, yaa.key).run(document)

    def test_83_a_model_adapter_in_the_home_folder(self) -> None:
        """Seed 000, 11.1: a class of one's own, chat and streamChat; a broken one stops nothing."""
        self.file("models/echo.py", self.MODEL)
        self.file("models/broken.py", "def (:\n")
        self.file("models/others.py", self.MODEL).chmod(0o666)
        with Yaa(home=self.home) as yaa:
            api = Api(yaa.url, yaa.key)
            models = {each["name"]: each for each in api.request("GET", "/info")[1]["models"]}
            self.assertEqual(models["echo"]["origin"], "adapter")
            self.assertTrue(models["echo"]["default"])
            self.assertNotIn("broken", models)
            self.assertNotIn("others", models)
            whole = self.asked(yaa, "héllo")["messages"][-1]
            self.assertEqual(whole["content"], "héllo, said you")
            self.assertEqual(whole["meta"]["model"], "echo-1")
            assert yaa.child is not None
            self.assertIn("models/broken.py: SyntaxError in line 1", yaa.child.output)
            self.assertIn("models/others.py: it can be written by others", yaa.child.output)
            refused = {"name": "echo", "api_url": "http://127.0.0.1:1/v1", "api_key": "k" * 20}
            body = {"messages": [], "config": {"llm_api": {"provider": refused}}}
            status, told = api.request("POST", "/session", body)
            self.assertEqual((status, told["code"]), (422, "provider_not_allowed"))

    def test_83_the_default_may_be_an_adapter(self) -> None:
        self.file("models/echo.py", self.MODEL)
        with Yaa({"server": {"default_provider": "echo"}}, home=self.home) as yaa:
            self.assertEqual(self.asked(yaa, "x")["messages"][-1]["meta"]["provider"], "echo")

    def test_84_a_source_of_tools_is_asked_again(self) -> None:
        """Seed 000, 11.2: the tools are in a database; a row that is added is a tool."""
        self.file("tools/registry.py", self.SOURCE.replace("REFRESH_S = 30", "REFRESH_S = 0"))
        self.file("tools/broken.py", "def tools():\n    return 1 / 0\n")
        self.file("models/echo.py", self.MODEL)
        with Yaa(home=self.home) as yaa:
            api = Api(yaa.url, yaa.key)

            def names() -> set[str]:
                return {each["name"] for each in api.request("GET", "/info")[1]["tools"]}

            self.assertFalse({"greet", "part"} & names())
            assert yaa.child is not None
            self.assertIn("tools/broken.py: tools() failed: ZeroDivisionError", yaa.child.output)
            database = self.home / "tools.sqlite"
            self.register(database, "greet", "Hello, {name}!")
            while "greet" not in names():  # what it says now counts from the next run on
                self.asked(yaa, "x")
            self.register(database, "part", "Bye, {name}.")
            while "part" not in names():
                self.asked(yaa, "x")
            session = self.asked(yaa, 'call greet {"name": "Ann"}')
            self.assertEqual(session["messages"][-1]["content"], "Hello, Ann!, said you")

    def register(self, database: Path, name: str, text: str) -> None:
        """As the program would that owns the registry."""
        code = (
            "import sqlite3, sys; db = sqlite3.connect(sys.argv[1]);"
            " db.execute('create table if not exists tools (name, description, text)');"
            " db.execute('insert into tools values (?, ?, ?)', sys.argv[2:]); db.commit()"
        )
        subprocess.run([sys.executable, "-c", code, str(database), name, name, text], check=True)

    def test_84_a_file_without_a_source_is_never_run_by_the_server(self) -> None:
        self.file(
            "tools/plain.py",
            "import os\nfrom yaa import tool\nBY = os.getpid()\n"
            "@tool(read_only=True)\ndef tools() -> int:\n    'Its process.'\n    return BY\n",
        )
        with Yaa(home=self.home) as yaa:
            found = Api(yaa.url, yaa.key).request("GET", "/info")[1]["tools"]
            (mine,) = [each for each in found if each["name"] == "tools"]
            self.assertEqual(mine["origin"], "plain.py")
        with BaseAgent(home=self.home) as agent:
            self.assertIsInstance(agent._app.toolbox._tools["tools"].tool, ChildTool)


@turns.tests(3)
class Stores(Case):
    """Conversations that are killed."""

    STUCK = (
        "import os\nfrom yaa import BaseAPI\nclass Stuck(BaseAPI):\n"
        "    def stream(self, data):\n"
        "        yield 'first words\\n'\n"
        "        if os.path.exists(FIFO):\n"
        "            open(FIFO).read()\n"
        "        yield 'and the last'\n"
    )

    def killed(self, *arguments: str, say: str) -> None:
        """Say something, and kill the conversation in the middle of the answer."""
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        self.file("models/stuck.py", f"FIFO = {str(fifo)!r}\n{self.STUCK}")
        command = [sys.executable, "-m", "server", "--home", str(self.home), "chat", *arguments]
        child = Child(command, keep_input=True)
        try:
            assert child.process.stdin is not None
            child.process.stdin.write(say + "\n")
            child.process.stdin.flush()
            child.wait_for("first words", 60)
        finally:
            child.kill()
        fifo.unlink()

    def chat(self, *arguments: str, give: str = "") -> str:
        command = [sys.executable, "-m", "server", "--home", str(self.home), "chat", *arguments]
        done = forks.run(command, os.environ, give, timeout=seconds(60))
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout

    def test_148_chat_saves_after_every_event_and_resumes_after_a_kill(self) -> None:
        file = self.folder / "session.json"
        file.write_text(json.dumps({"id": "s", "messages": []}))
        self.killed(str(file), say="你好")
        half = read_session(str(file))
        self.assertEqual(half["messages"][0]["content"], "你好")
        self.assertEqual(half["messages"][1]["content"], "first words\n")
        self.assertEqual(half["status"], "in_progress")
        self.assertEqual(json.loads(file.read_text())["messages"][0]["content"], "你好")
        self.assertIn("going on", self.chat(str(file)))
        whole = json.loads(file.read_text())
        self.assertEqual(whole["status"], "completed")
        self.assertIn("and the last", whole["messages"][-1]["content"])
        self.assertEqual(sum(m["role"] == "user" for m in whole["messages"]), 1)
        self.assertEqual([path.name for path in self.folder.glob(".*")], [])

    def test_148_each_turn_is_in_the_file(self) -> None:
        self.file("models/echo.py", OwnersCode.MODEL)
        file = self.folder / "new.json"
        self.chat(str(file), give="one\n")
        self.assertEqual(len(json.loads(file.read_text())["messages"]), 2)
        self.chat(str(file), give="two\n")
        self.assertEqual(len(json.loads(file.read_text())["messages"]), 4)

    def test_150_a_store_of_sessions(self) -> None:
        """The six operations, from the command line and from a program."""
        self.file("models/echo.py", OwnersCode.MODEL)
        store = self.folder / "store"
        self.chat("--store", str(store), "会话/1", give="one\n")
        self.chat("--store", str(store), "session000005", give="two\n")
        found = JsonSession(store)
        self.assertEqual(set(found.list_sessions()), {"会话/1", "session000005"})
        self.assertTrue(found.session_exists("会话/1"))
        self.assertEqual(found.get_session_info("会话/1")["messages"], 2)
        said = self.chat(
            *("--store", str(store), "third"),
            give="/sessions\n/open 会话/1\nmore\n/delete session000005\n/delete 会话/1\n/open no\n",
        )
        self.assertIn("会话/1  2 messages", said)
        self.assertIn("this is the session that is open", said)
        self.assertIn("there is no session no", said)
        self.assertFalse(found.session_exists("session000005"))
        session = found.load_session_state("会话/1")
        self.assertEqual(session["messages"][-1]["content"], "more, said you")
        found.save_session_state("会话/1", {**session, "title": "t"})
        self.assertEqual(found.get_session_info("会话/1")["title"], "t")
        self.assertTrue(found.delete_session("会话/1"))
        self.assertEqual(list(store.glob(".*")), [])

    def test_150_run_keeps_a_session_of_a_store(self) -> None:
        self.file("models/echo.py", OwnersCode.MODEL)
        store = self.folder / "store"
        for number in (2, 4):
            command = [
                "--store",
                str(store),
                "s",
                "--say",
                "hi",
                "--text",
                "--home",
                str(self.home),
            ]
            start = [sys.executable, "-m", "server", "run", *command]
            done = forks.run(start, os.environ, timeout=seconds(60))
            self.assertEqual((done.returncode, done.stdout), (0, "hi, said you\n"), done.stderr)
            self.assertEqual(len(JsonSession(store).load_session_state("s")["messages"]), number)


# Seed 004, 4.3.6 and 4.4.5: what the model gave, and what the tool did.
USES: Json = {
    "role": "assistant",
    "content": [
        {"type": "text", "text": "我来帮你创建文件"},
        {
            "type": "tool_use",
            "name": "WriteFileTool",
            "input": {"filePath": "hello.txt", "content": "Hello World"},
            "id": "call_123",
        },
    ],
}
RESULT: Json = {
    "role": "TOOL",
    "name": "WriteFileTool",
    "content": {
        "toolName": "WriteFileTool",
        "toolCallId": "call_123",
        "content": "文件hello.txt已成功创建,内容已写入",
        "isError": False,
    },
}
# The same as Anthropic's API has it.
ANTHROPIC: list[Json] = [
    {"role": "user", "content": "帮我创建一个hello.txt文件,内容是Hello World"},
    USES,
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "call_123",
                "content": [{"type": "text", "text": "文件hello.txt已成功创建,内容已写入"}],
            },
            {"type": "text", "text": "再读取一下"},
        ],
    },
]


@turns.tests(3)
class Blocks(Case):
    def test_151_blocks_of_the_document_become_messages(self) -> None:
        user = {"role": "USER", "content": "帮我创建一个hello.txt文件"}
        api = Scripted()
        agent = self.agent(api=api)
        events: list[Json] = []
        given = [user, USES, RESULT]
        session = agent.run({"id": "s", "messages": given}, events.append)
        self.assertEqual(session["status"], "completed")
        roles = [message["role"] for message in session["messages"]]
        self.assertEqual(roles, ["user", "assistant", "tool", "assistant"])
        (call,) = session["messages"][1]["tool_calls"]
        self.assertEqual(call["id"], "call_123")
        self.assertEqual(json.loads(call["function"]["arguments"]), USES["content"][1]["input"])
        self.assertEqual(session["calls"]["call_123"]["state"], "done")
        sent = api.asked[0]["messages"]
        self.assertEqual([message["role"] for message in sent[-3:]], ["user", "assistant", "tool"])
        self.assertNotIn("tool_use", json.dumps(sent))
        # A client that folds the events has the same session.
        mine: Json = {"id": "s", "messages": json.loads(json.dumps(given))}
        folder = server.later("session.fold").Folder(mine)
        for event in events:
            folder.apply(event)
        folder.flush()
        self.assertEqual(mine, session)
        # And out again.
        back = to_blocks(session["messages"])
        self.assertEqual(back[1]["content"], USES["content"])
        expected = {"type": "tool_result", **RESULT["content"]}
        self.assertEqual(back[2]["content"], [expected])
        self.assertEqual(from_blocks(back)[1]["tool_calls"], session["messages"][1]["tool_calls"])

    def test_151_blocks_of_anthropic_both_ways_over_http(self) -> None:
        with BaseServer({"port": 0}, home=self.home, api=Scripted()) as found:
            api = Api(found.url, found.api_keys[0])
            session = api.run({"messages": ANTHROPIC})
            roles = [message["role"] for message in session["messages"]]
            self.assertEqual(roles, ["user", "assistant", "tool", "user", "assistant"])
            self.assertEqual(session["messages"][3]["content"], "再读取一下")
            self.assertEqual(
                to_blocks(session["messages"][:4], "anthropic"),
                [
                    {
                        "role": "user",
                        "content": [{"type": "text", "text": ANTHROPIC[0]["content"]}],
                    },
                    USES,
                    {
                        "role": "user",
                        "content": [
                            {
                                "type": "tool_result",
                                "tool_use_id": "call_123",
                                "content": "文件hello.txt已成功创建,内容已写入",
                            },
                            {"type": "text", "text": "再读取一下"},
                        ],
                    },
                ],
            )
            delta = {"messages": ANTHROPIC, "config": {"yaa": {"reply": "delta"}}}
            self.assertEqual(len(api.run(delta)["messages"]), 1)
            wrong = [*ANTHROPIC, {"role": "user", "content": [{"type": "tool_result"}]}]
            status, told = api.request("POST", "/session", {"messages": wrong})
            self.assertEqual(
                (status, told["errors"][0]["pointer"]), (422, "/messages/3/tool_call_id")
            )

    def test_151_an_open_tool_use_is_a_call_that_is_asked_about(self) -> None:
        writer = WriteFileTool()
        agent = self.agent(api=Scripted(), tools=[writer])
        session = agent.run({"messages": [{"role": "user", "content": "x"}, USES]})
        self.assertEqual(session["interrupts"][0]["call_id"], "call_123")
        self.assertEqual(writer.written, {})


if __name__ == "__main__":
    unittest.main()
