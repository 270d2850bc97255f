"""The demo model: a fixed script instead of a model, to show every feature without a provider.

It answers where no provider is configured or found. It decides from the messages
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
from functools import cache
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from ...json_types import Event, Json, Message, MessageMeta
from ...lib.strict_json import JSONError, dumps, loads
from ...models import BaseAPI, Options, decoder
from ...models.retry import Sleep
from ...session import events
from ...session.media import plain_text

SLOW_S = 0.3  # of the order `slow`
MOST_DELTAS = 1_000_000
BREATH = 64  # deltas after which even a stream without pauses yields to the event loop
MAX_QUOTE = 600

_WORDS = re.compile(r"\s*(?:[\u2e80-\u9fff\uff00-\uffef]|[^\s\u2e80-\u9fff\uff00-\uffef]+)\s?|\s+")
_TITLE = re.compile(r"write a title\b", re.IGNORECASE)
_CHINESE = re.compile(r"[\u3400-\u9fff]")

DemoCall = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class DemoAnswer:
    """The demo model's next answer. `deltas` > 0 sends `text` by characters instead of words;
    `pause_s` > 0 replaces the model's own pause between two deltas."""

    text: str = ""
    thought: str = ""
    calls: tuple[DemoCall, ...] = ()
    deltas: int = 0
    pause_s: float = 0
    failure: str = ""


class DemoAPI(BaseAPI):
    """The demo model. `pause_s`: seconds between two deltas."""

    def __init__(self, pause_s: float, *, sleep: Sleep = asyncio.sleep) -> None:
        self._pause_s, self._sleep = pause_s, sleep

    async def stream(
        self, messages: list[Message], tools: list[Json], options: Options
    ) -> AsyncGenerator[Event, None]:
        """Yield the events of the next answer. See BaseAPI."""
        began = options.now_ms()
        offered = [] if options.tool_choice == "none" else tools
        answer = decide(messages, offered, options.language)
        pause_s = answer.pause_s or self._pause_s
        if answer.failure:
            yield events.run_error(answer.failure, "upstream_error", retryable=True, attempts=1)
            return
        for number, event in enumerate(_events(answer, options)):
            yield event
            if pause_s or number % BREATH == 0:
                await self._sleep(pause_s)
        sent = sum(len(plain_text(message.get("content"))) for message in messages)
        meta: MessageMeta = {
            "model": "demo",
            "provider": "demo",
            "usage": decoder.read_usage(None, sent, len(answer.text) + len(answer.thought)),
            "finish_reason": "tool_calls" if answer.calls else "stop",
            "ms": max(options.now_ms() - began, 0),
            "first_ms": 0,
        }
        yield events.text_end(options.message_id, meta, options.now_ms())


@cache
def _texts(language: str) -> dict[str, str]:
    """Return the texts of demo.json, each a string or a list of lines; braces are fields."""
    written: dict[str, Any] = loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
    return {
        name: text if isinstance(text, str) else "\n".join(text)
        for name, text in written[language].items()
    }


def decide(messages: list[Message], tools: list[Json], language: str = "") -> DemoAnswer:
    """Return the next answer, a pure function of the messages."""
    asked = max((i for i, m in enumerate(messages) if m.get("role") == "user"), default=-1)
    said = plain_text(messages[asked].get("content")).strip() if asked >= 0 else ""
    results = [message for message in messages[asked + 1 :] if message.get("role") == "tool"]
    chinese = bool(_CHINESE.search(said)) or language.lower().startswith("zh")
    texts = _texts("zh" if chinese else "en")
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
        """Ask to list the files of the folder."""
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
        return DemoAnswer(self._label("slow"), pause_s=SLOW_S)

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
    (re.compile(r"^(?:List the files\b|列出(?:工作区|文件夹))", re.IGNORECASE), _Script.list_files),
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
        yield from events.think_start(reasoning, message, "reasoning_content", options.now_ms())
        for piece in _WORDS.findall(answer.thought):
            yield events.think_delta(reasoning, piece)
        yield from events.think_end(reasoning)
    yield events.text_start(message, options.now_ms())
    for piece in list(answer.text) if answer.deltas else _WORDS.findall(answer.text):
        yield events.text_delta(message, piece)
    for name, arguments in answer.calls:
        call = options.new_id("call")
        yield events.tool_start(call, name, message)
        for piece in re.findall(r"(?s).{1,12}", dumps(arguments)):
            yield events.tool_args(call, piece)
        yield events.tool_end(call)
