"""The demo model: a fixed script instead of a model, to show every feature without a provider.

The registry returns it where no provider is configured or found. It decides from the messages
alone, so the same session always gets the same answer, on any server. Every text says that no AI
is at work.

Any message of the user starts the tour, unless its first word is a command:
calc 2+3*4 · time · shell ls · write [path] · ask [question] · two tools · think · slow ·
stream N (N deltas of one character) · fail
The examples that the page offers for a first message are understood too.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any

from ..json_types import Event, Json, Message, MessageMeta
from ..session.events import (
    run_error,
    text_delta,
    text_end,
    text_start,
    think_delta,
    think_end,
    think_start,
    tool_args,
    tool_end,
    tool_start,
)
from ..session.media import plain_text
from ..strict_json import JSONError, dumps, loads
from . import BaseAPI, Options, decoder
from .retry import Sleep

PACE_S = 0.012  # between two deltas: about 80 tokens a second
SLOW = 25
MOST_DELTAS = 1_000_000
BREATH = 64  # deltas after which even an unpaced stream yields to the event loop
MAX_QUOTE = 600

_WORDS = re.compile(r"\s*(?:[\u2e80-\u9fff\uff00-\uffef]|[^\s\u2e80-\u9fff\uff00-\uffef]+)\s?|\s+")
_TITLE = re.compile(r"write a title\b", re.IGNORECASE)
_CHINESE = re.compile(r"[\u3400-\u9fff]")

DemoCall = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class DemoAnswer:
    """The demo model's next answer. `deltas` > 0 sends `text` by characters instead of words."""

    text: str = ""
    thought: str = ""
    calls: tuple[DemoCall, ...] = ()
    deltas: int = 0
    pace: int = 1
    failure: str = ""


class DemoAPI(BaseAPI):
    """The demo model. `pace`: seconds between deltas (tests: 0)."""

    def __init__(self, pace: float = PACE_S, *, sleep: Sleep = asyncio.sleep) -> None:
        self._pace, self._sleep = pace, sleep

    async def stream(
        self, messages: list[Message], tools: list[Json], options: Options
    ) -> AsyncGenerator[Event, None]:
        """Yield the events of the next answer. See BaseAPI."""
        began = options.now_ms()
        offered = [] if options.tool_choice == "none" else tools
        answer = decide(messages, offered, options.language)
        if answer.failure:
            yield run_error(answer.failure, "upstream_error", retryable=True, attempts=1)
            return
        for number, event in enumerate(_events(answer, options)):
            yield event
            if self._pace > 0:
                await self._sleep(self._pace * answer.pace)
            elif number % BREATH == 0:
                await self._sleep(0)
        sent = sum(len(plain_text(message.get("content"))) for message in messages)
        meta: MessageMeta = {
            "model": "demo",
            "provider": "demo",
            "usage": decoder.read_usage(None, sent, len(answer.text) + len(answer.thought)),
            "finish_reason": "tool_calls" if answer.calls else "stop",
            "ms": max(options.now_ms() - began, 0),
            "first_ms": 0,
        }
        yield text_end(options.message_id, meta, options.now_ms())


def decide(messages: list[Message], tools: list[Json], language: str = "") -> DemoAnswer:
    """Return the next answer, a pure function of the messages."""
    asked = max((i for i, m in enumerate(messages) if m.get("role") == "user"), default=-1)
    said = plain_text(messages[asked].get("content")).strip() if asked >= 0 else ""
    results = [message for message in messages[asked + 1 :] if message.get("role") == "tool"]
    chinese = bool(_CHINESE.search(said)) or language.lower().startswith("zh")
    texts = CHINESE if chinese else ENGLISH
    if not tools and _TITLE.match(said):  # config.yaa.auto_title
        return DemoAnswer(texts["title"])
    script = _Script(texts, tools, results)
    for example, answer in _EXAMPLES:
        if example.search(said):
            return answer(script)
    word, _, rest = said.partition(" ")
    command = _COMMANDS.get(word.lower())
    return command(script, rest.strip()) if command else script.tour()


class _Script:
    """The texts of one language, the offered tools and the results since the last user message."""

    def __init__(self, texts: dict[str, str], tools: list[Json], results: list[Message]) -> None:
        self._texts, self._results = texts, results
        self._tools = {tool["function"]["name"]: tool["function"] for tool in tools}

    # -- the tour ---------------------------------------------------------------------------------

    def tour(self) -> DemoAnswer:
        """Return the next step of the tour: read, approval, question, summary.

        A step is done when the results include one of its tool.
        """
        if not self._tools and not self._results:
            return DemoAnswer(self._texts["welcome"] + self._closing(), self._texts["thought"])
        if not self._tools:
            return DemoAnswer(self._closing())
        steps = [
            ("welcome", self._pick(("datetime", {}), ("calculator", {"expression": "6*7"}))),
            ("ask_approval", self._pick(("shell", {"command": _GREETING}), self._note(""))),
            ("ask_question", self._pick(("ask_user", {"question": self._texts["question"]}))),
        ]
        text = ""
        done = [message.get("name") for message in self._results]
        for name, (tool, call) in steps:
            if call is None:
                text += self._texts["missing"].format(tool=tool)
            elif tool not in done:
                text = self._texts[name].format(quote=self._quote(self._results[-1:])) + text
                return DemoAnswer(text, self._texts["thought"] if not done else "", (call,))
        return DemoAnswer(text + self._closing())

    def _closing(self) -> str:
        return self._texts["closing"].format(quote=self._quote(self._results))

    # -- the examples of the page -----------------------------------------------------------------

    def list_files(self) -> DemoAnswer:
        """Ask to list the files of the workspace."""
        return self._use(("shell", {"command": "ls -la"}))

    def ask_first(self) -> DemoAnswer:
        """Ask a question, then answer with a short plan."""
        if not self._results and "ask_user" in self._tools:
            return self._use(("ask_user", {"question": self._texts["plan_question"]}))
        quote = self._quote(self._results) if self._results else ""
        return DemoAnswer(self._label("plan").format(quote=quote))

    def code(self) -> DemoAnswer:
        """Answer with a function and its test."""
        return DemoAnswer(self._label("code"))

    # -- commands ---------------------------------------------------------------------------------

    def calc(self, rest: str) -> DemoAnswer:
        """Call the calculator."""
        return self._use(("calculator", {"expression": rest or "6*7"}))

    def time(self, rest: str) -> DemoAnswer:
        """Call the datetime tool."""
        return self._use(("datetime", {}))

    def shell(self, rest: str) -> DemoAnswer:
        """Run a shell command."""
        return self._use(("shell", {"command": rest or _GREETING}))

    def write(self, rest: str) -> DemoAnswer:
        """Write a note to the given path."""
        return self._use(self._note(rest if " " not in rest else ""))

    def ask(self, rest: str) -> DemoAnswer:
        """Ask the user a question."""
        return self._use(("ask_user", {"question": rest or self._texts["question"]}))

    def two(self, rest: str) -> DemoAnswer:
        """Call two tools in one answer."""
        if not rest.startswith("tool"):
            return self.tour()
        return self._use(("calculator", {"expression": "6*7"}), ("datetime", {}))

    def think(self, rest: str) -> DemoAnswer:
        """Answer with reasoning before the text."""
        return DemoAnswer(self._label("thought_done"), self._texts["thinking"])

    def slow(self, rest: str) -> DemoAnswer:
        """Answer slowly, so that there is time to interrupt."""
        return DemoAnswer(self._label("slow"), pace=SLOW)

    def stream(self, rest: str) -> DemoAnswer:
        """Stream N deltas of one character, 100 by default, at most MOST_DELTAS."""
        number = int(rest) if rest.isascii() and rest.isdecimal() and len(rest) < 10 else 100
        number = min(number, MOST_DELTAS)
        return DemoAnswer("".join(islice(cycle(self._texts["stream"]), number)), deltas=number)

    def fail(self, rest: str) -> DemoAnswer:
        """Fail with a retryable error."""
        return DemoAnswer(failure=self._texts["failure"])

    # -- parts ------------------------------------------------------------------------------------

    def _use(self, *calls: DemoCall) -> DemoAnswer:
        """Call tools, or show their results where there are any."""
        if self._results:
            text = self._label("results").format(quote=self._quote(self._results))
            return DemoAnswer(text)
        missing = [name for name, _ in calls if name not in self._tools]
        text = "".join(self._texts["missing"].format(tool=name) for name in missing)
        found = tuple(self._fit(*call) for call in calls if call[0] in self._tools)
        names = ", ".join(name for name, _ in found)
        text += self._texts["calling"].format(tool=names) if found else ""
        return DemoAnswer(self._texts["label"] + text, calls=found)

    def _pick(self, *choices: DemoCall) -> tuple[str, DemoCall | None]:
        """Return the first of these tools that is offered or was used, else (first name, None)."""
        used = {message.get("name") for message in self._results}
        for name, arguments in choices:
            if name in self._tools or name in used:
                return name, self._fit(name, arguments)
        return choices[0][0], None

    def _note(self, path: str) -> DemoCall:
        return ("write_file", {"path": path or "demo.txt", "content": self._texts["note"]})

    def _fit(self, name: str, arguments: dict[str, Any]) -> DemoCall:
        """Return the call, its arguments renamed to the parameters of the tool's schema."""
        schema = self._tools.get(name, {}).get("parameters") or {}
        properties = schema.get("properties") or {}
        fitted = {}
        for key, value in arguments.items():
            names = (key, *_SYNONYMS.get(key, ()))
            fitted[next((each for each in names if each in properties), key)] = value
        return name, fitted

    def _label(self, name: str) -> str:
        return self._texts["label"] + self._texts[name]

    def _quote(self, results: list[Message]) -> str:
        lines = []
        for message in results:
            said = _gist(plain_text(message.get("content"))).strip() or self._texts["empty"]
            said = said if len(said) <= MAX_QUOTE else said[:MAX_QUOTE] + " …"
            said = said.replace("\n", "\n> ")
            lines.append(f"> **{message.get('name') or 'tool'}**: {said}")
        return "\n>\n".join(lines) or f"> {self._texts['empty']}"


def _gist(result: str) -> str:
    """Return the part of a tool's result to quote."""
    try:
        found = loads(result)
    except JSONError:
        return result
    for key in ("output", "datetime") if isinstance(found, dict) else ():
        if key in found:
            return str(found[key])
    return result


_GREETING = "echo Hello from the demo model"
_SYNONYMS = {
    "question": ("message", "prompt", "text"),
    "expression": ("expr", "formula", "input"),
    "command": ("cmd", "script"),
    "path": ("file", "filename", "file_path"),
    "content": ("text", "contents"),
}
_COMMANDS = {
    "calc": _Script.calc,
    "time": _Script.time,
    "shell": _Script.shell,
    "write": _Script.write,
    "ask": _Script.ask,
    "two": _Script.two,
    "think": _Script.think,
    "slow": _Script.slow,
    "stream": _Script.stream,
    "fail": _Script.fail,
}
_EXAMPLES = (
    (re.compile(r"^(?:List the files\b|列出工作区)", re.IGNORECASE), _Script.list_files),
    (
        re.compile(r"^(?:Ask me a question before\b|开始之前先问我)", re.IGNORECASE),
        _Script.ask_first,
    ),
    (
        re.compile(r"^(?:Write a Python function\b|写一个.{0,20}Python)", re.IGNORECASE),
        _Script.code,
    ),
)


def _events(answer: DemoAnswer, options: Options) -> Iterator[Event]:
    """Yield the events of an answer, all but TEXT_MESSAGE_END."""
    message, reasoning = options.message_id, options.reasoning_id
    if answer.thought:
        yield from think_start(reasoning, message, "reasoning_content", options.now_ms())
        for piece in _WORDS.findall(answer.thought):
            yield think_delta(reasoning, piece)
        yield from think_end(reasoning)
    yield text_start(message, options.now_ms())
    for piece in list(answer.text) if answer.deltas else _WORDS.findall(answer.text):
        yield text_delta(message, piece)
    for name, arguments in answer.calls:
        call = options.new_id("call")
        yield tool_start(call, name, message)
        for piece in re.findall(r"(?s).{1,12}", dumps(arguments)):
            yield tool_args(call, piece)
        yield tool_end(call)


# -- demo texts -----------------------------------------------------------------------------------
# Texts of the demo model, in English and Chinese. Each says that no AI is at work.
#
# Used by `demo` only. Braces are `str.format` fields.

ENGLISH = {
    "label": "*(demo, no AI)* ",
    "thought": "This is a demo: no AI is thinking here. A real model's reasoning would stream in"
    " this place. I will show the tools one after the other.",
    "welcome": """\
# Welcome to yaa

I am the **built-in demo model**: a fixed script, **no AI**. It works offline and without a key, \
and shows you what happens around a real model:

1. text that streams in as *Markdown*, with reasoning before it,
2. a tool that only reads and runs at once,
3. a tool that changes something and **waits for your approval**,
4. a question to you,
5. and a summary of it all.

```python
print("code blocks look like this")
```

Everything you see is in one JSON document that belongs to you. First, a tool that only reads:
""",
    "ask_approval": "That ran at once, because it only reads. Its result was:\n\n{quote}\n\nThe"
    " next tool could change something, so it **waits for you**: approve it, edit it or deny it.\n",
    "ask_question": "The tool answered:\n\n{quote}\n\nNow a question. A run that waits for your"
    " answer can be continued on another server too.\n",
    "question": "Which part of yaa would you like to see first?",
    "closing": """\
## That was the tour

What the tools answered:

{quote}

All of it came from a script: **no AI was used**. To talk to a real model, press the sign of the \
demo under the message field, or add a provider to `config.json`: either is used at once. Or start \
Ollama, LM Studio or llama.cpp on this machine, or set an API key such as `OPENAI_API_KEY`, and \
start the server again.

More to try here: `calc 2+3*4`, `time`, `shell ls`, `write`, `ask`, `two tools`, `think`, \
`stream 200`, `slow`, `fail`.
""",
    "missing": "The tool `{tool}` is not offered here, so I skip that step.\n",
    "calling": "Calling `{tool}`, as you asked.\n",
    "results": "The result:\n\n{quote}\n",
    "thinking": "First I look at the words. Then I look at them again. There is no AI here, so that"
    " is all the thinking there will be.",
    "thought_done": "I have thought, in the way a script can.\n",
    "slow": "These words arrive slowly, so that there is time to press stop, to close the page, or"
    " to watch a session being continued elsewhere. One, two, three, four, five, six, seven,"
    " eight, nine, ten.\n",
    "stream": "A demo stream without any AI.\nIt goes on and on, character by character.\n\n",
    "failure": "the demo model failed, as you asked it to",
    "note": "A note from the demo model.\nNo AI wrote it.\n",
    "title": "A look around with the demo model",
    "plan_question": "What is the plan for: a weekend, a small program, or a meal?",
    "plan": """\
No AI thought about this; a model would make the plan fit your answer:

{quote}

1. Write down what must be there in the end.
2. Do the smallest part that works, and look at it.
3. Add the rest, one part at a time.
""",
    "code": '''\
No AI wrote this, it is part of the script:

```python
import csv


def read_rows(path):
    """Return the rows of a CSV file as dictionaries."""
    with open(path, newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


def test_read_rows(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("name,age\\nAda,36\\n", encoding="utf-8")
    assert read_rows(path) == [{"name": "Ada", "age": "36"}]
```
''',
    "empty": "(nothing)",
}

CHINESE = {
    "label": "*(演示，非 AI)* ",
    "thought": "这是演示：这里没有 AI 在思考。真实模型的推理过程会在这里流式显示。"
    "我会依次演示各种工具。",
    "welcome": """\
# 欢迎使用 yaa

我是**内置演示模型**：一段固定脚本，**没有 AI**。不需要网络和密钥，向你展示真实模型周围发生的一切：

1. 以 *Markdown* 流式输出的文字，以及之前的思考过程；
2. 只读工具，立即执行；
3. 会改变内容的工具，**等待你批准**；
4. 向你提出的问题；
5. 最后的总结。

```python
print("代码块是这样的")
```

你看到的一切都保存在一份属于你的 JSON 文档里。首先，一个只读工具：
""",
    "ask_approval": "它只读取数据，所以立即执行了。结果是：\n\n{quote}\n\n下一个工具可能改变内容，"
    "因此**等待你的决定**：批准、修改或拒绝。\n",
    "ask_question": "工具的回答：\n\n{quote}\n\n现在有一个问题。"
    "等待回答的会话也可以在另一台服务器上继续。\n",
    "question": "你想先看 yaa 的哪一部分？",
    "closing": """\
## 演示结束

工具的回答：

{quote}

这一切都来自脚本：**没有使用 AI**。要使用真实模型，请点击输入框下方的演示标记，\
或者在 `config.json` 中添加模型服务：两者都会立即生效。也可以在本机启动 Ollama、LM Studio \
或 llama.cpp，或者设置 `DASHSCOPE_API_KEY` 之类的密钥，然后重启服务器。

还可以试试：`calc 2+3*4`、`time`、`shell ls`、`write`、`ask`、`two tools`、`think`、`stream 200`、\
`slow`、`fail`。
""",
    "missing": "这里没有提供工具 `{tool}`，跳过这一步。\n",
    "calling": "按你的要求调用 `{tool}`。\n",
    "results": "结果：\n\n{quote}\n",
    "thinking": "先看一遍这些字，再看一遍。这里没有 AI，所以思考到此为止。",
    "thought_done": "想好了，以脚本能做到的方式。\n",
    "slow": "这些字来得很慢，好让你有时间按下停止、关闭页面，或者看会话在别处继续。"
    "一、二、三、四、五、六、七、八、九、十。\n",
    "stream": "没有 AI 的演示文字。\n一个字一个字地出现。\n\n",
    "failure": "演示模型按你的要求失败了",
    "note": "演示模型的便条。\n不是 AI 写的。\n",
    "title": "演示模型带你看看",
    "plan_question": "要做什么的计划：周末、小程序，还是一顿饭？",
    "plan": """\
这里没有 AI 在思考；真实模型会按你的回答来定计划：

{quote}

1. 写下最后必须有的东西。
2. 先做能用的最小部分，看一看。
3. 其余部分一次加一个。
""",
    "code": '''\
这段代码来自脚本，不是 AI 写的：

```python
import csv


def read_rows(path):
    """以字典列表返回 CSV 文件的各行。"""
    with open(path, newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


def test_read_rows(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("name,age\\nAda,36\\n", encoding="utf-8")
    assert read_rows(path) == [{"name": "Ada", "age": "36"}]
```
''',
    "empty": "（空）",
}
