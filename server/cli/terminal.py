"""A run on a terminal: print its events, and ask for answers to its interrupts.

Control characters in the text of models and tools are escaped before they are printed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Mapping
from typing import Any, TextIO

from ..json_types import Answer, Event, Interrupt, Json
from ..lib.hidden_characters import written_out
from ..lib.strict_json import JSONError, loads
from ..session.events import WAIT
from .call_lines import call_line, result_lines
from .edit_preview import SHOWN, Read, edit_lines
from .line_input import LineInput
from .markdown_lines import MarkdownLines

STYLES = {"dim": "2", "bold": "1", "italic": "3", "red": "31", "green": "32", "cyan": "36"}
SHOWN_LINES = 12  # of a list of files

YES = ("y", "yes", "ok", "okay", "sure", "好", "好的", "是", "可以", "行")
NO = ("n", "no", "不", "不行", "否")


class Terminal:
    """Input and output of a terminal. Colours are used only if the output is a terminal.

    `is_plain`: nothing but text is written.
    """

    def __init__(
        self,
        source: TextIO | None = None,
        out: TextIO | None = None,
        env: Mapping[str, str] = os.environ,
    ) -> None:
        self._out = out or sys.stdout
        dumb = env.get("TERM") == "dumb"  # set by shells in editors
        self.is_plain = not self._out.isatty() or dumb or bool(env.get("NO_COLOR"))
        self._input = LineInput(source or sys.stdin, self._out, marks=not dumb)

    def write(self, text: str, style: str = "") -> None:
        """Write text at once; `style` is a key of STYLES."""
        if text and style and not self.is_plain:
            text = f"\x1b[{STYLES[style]}m{text}\x1b[0m"
        self._out.write(text)
        self._out.flush()

    def line(self, text: str = "", style: str = "") -> None:
        """Write a line."""
        self.write(text, style)
        self.write("\n")

    def width(self) -> int:
        """Return the columns of the terminal now."""
        return shutil.get_terminal_size().columns

    def ask(self, prompt: str) -> str:
        """Return the line that answers a question; keys typed before it was shown are dropped.

        Raises EOFError at the end of the input.
        """
        if self._input.discard():
            self.line("(what was typed before this question is not taken as its answer)", "dim")
        return self._input.read(prompt)

    def read_message(self, prompt: str) -> str:
        """Return a message; a paste of several lines is one. Raises EOFError."""
        return self._input.read_message(prompt)

    def close(self) -> None:
        """Leave the terminal as it was."""
        self._input.close()


def visible(text: str) -> str:
    """Escape control characters and direction marks in a text that is only read.

    Joiners stay, which many scripts need. What a person decides by is `written_out`.
    """
    return _UNSAFE.sub(_escape, text)


def on_one_line(text: str) -> str:
    """Write out what cannot be seen, and line feeds, so that a name does not look like several."""
    return written_out(text).replace("\n", "\\n")


class Printer:
    """A printer of a run's events. Reasoning is dim, tool calls and results are shortened."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._part = ""  # kind of the unfinished line: text, think, output or ""
        self._calls: dict[str, tuple[str, list[str]]] = {}
        self._live: set[str] = set()  # calls whose output was shown
        self._markdown: MarkdownLines | None = None  # of the unfinished text

    def show(self, event: Event) -> None:
        """Print one event."""
        match event:
            case {"type": "TEXT_MESSAGE_CONTENT", "delta": delta}:
                self._continue("text", delta)
            case {"type": "REASONING_MESSAGE_CONTENT", "delta": delta}:
                self._continue("think", delta, "dim")
            case {"type": "TOOL_CALL_START", "toolCallId": call_id, "toolCallName": name}:
                self._calls[call_id] = (name, [])
            case {"type": "TOOL_CALL_ARGS", "toolCallId": call_id, "delta": delta}:
                self._calls[call_id][1].append(delta)
            case {"type": "TOOL_CALL_END", "toolCallId": call_id}:
                name, pieces = self._calls.pop(call_id)
                text = call_line(name, "".join(pieces)).replace("\n", "\n  ")
                self._line(written_out(f"→ {text}"), "cyan")
            case {"type": "ACTIVITY_SNAPSHOT", "content": {"call_id": call_id, "chunks": chunks}}:
                self._live.add(call_id)
                self._continue("output", "".join(chunks), "dim")
            case {"type": "ACTIVITY_DELTA", "patch": patch}:
                self._continue("output", "".join(step["value"] for step in patch), "dim")
            case {"type": "TOOL_CALL_RESULT", "content": content, "metadata": {"yaa": extra}}:
                head, is_live = f"← {extra['name']}: ", event["toolCallId"] in self._live
                for text, style in result_lines(content, is_live=is_live):
                    self._line(head + text, "red" if extra.get("is_error") else style)
                    head = "  "
            case {"type": "CUSTOM", "name": name, "value": wait} if name == WAIT:
                self._line(wait_line(wait), "dim")
            case {"type": "RUN_ERROR", "message": message}:
                self._line(message, "red")
            case {"type": "RUN_FINISHED" | "TEXT_MESSAGE_END" | "REASONING_END"}:
                self.end()

    def end(self) -> None:
        """Finish the current line."""
        if self._markdown is not None:
            self._markdown.end()
            self._markdown = None
        elif self._part:
            self._terminal.line()
        self._part = ""

    def _continue(self, part: str, text: str, style: str = "") -> None:
        if self._part != part:
            self.end()
            self._part = part
            if part == "text" and not self._terminal.is_plain:
                self._markdown = MarkdownLines(self._terminal.write, self._terminal.width())
        if self._markdown is not None:
            self._markdown.feed(visible(text))
        else:
            self._terminal.write(visible(text), style)

    def _line(self, text: str, style: str) -> None:
        self.end()
        self._terminal.line(visible(text), style)


def wait_line(wait: Json) -> str:
    """Return what a run waits for, of a `run.wait` event."""
    attempt = f"try {wait.get('attempt')} of {wait.get('of')}"
    left = f"{wait['left_s']:.0f} s" if "left_s" in wait else ""
    match wait["awaits"]:
        case "retry":
            return f"{wait['cause']}; {attempt} in {left}"
        case "model":
            return f"the model has said nothing for {wait['waited_s']:.0f} s ({attempt})"
        case "interval":
            return f"the next call of the model is in {left}, as llm_api.interval says"
        case _:
            return f"waiting for its turn: others are at work{left and f', {left} at most'}"


def ask_answer(terminal: Terminal, interrupt: Interrupt, read: Read | None = None) -> Answer | None:
    """Ask for the answer to an interrupt. Return `{status, payload}`; None leaves it open.

    `read`: returns files of the session, to show what a call would change.
    """
    if interrupt["reason"] == "input_required":
        _quote_question(terminal, interrupt)
    else:
        terminal.line(written_out(interrupt.get("message", "")), "bold")
    payload: Any = None
    match interrupt["reason"]:
        case "tool_call":
            payload = _approval(terminal, interrupt, read)
        case "input_required":
            for suggestion in interrupt.get("suggestions", ()):
                terminal.line(f"  · {written_out(str(suggestion))}", "dim")
            payload = ask_for(terminal, interrupt.get("response_schema", {}))
        case "client_tool":
            terminal.line("  this tool runs in a browser page; there is none here", "dim")
            payload = {"content": "There is no browser page in this console.", "is_error": True}
        case "indeterminate":
            payload = _indeterminate(terminal)
        case "limit":
            payload = {"continue": True} if _yes(terminal, "Go on?") else None
        case "model_error":
            payload = {"retry": True} if _yes(terminal, "Try again?") else None
        case "mcp_sign_in":
            payload = {"action": "retry"} if _yes(terminal, "Go on?") else None
        case "workspace_restore":
            payload = _restore(terminal, interrupt)
        case "workspace_missing":
            ask = "Go on with the files that are there?"
            payload = {"action": "go_on"} if _yes(terminal, ask) else None
    return None if payload is None else {"status": "resolved", "payload": payload}


def _quote_question(terminal: Terminal, interrupt: Interrupt) -> None:
    """Say who asks, and quote what they say: it could pass for words of this program."""
    tool, server = str(interrupt.get("tool", "")), interrupt.get("server")
    if server:
        own = tool.removeprefix(f"mcp__{server}__")
        asker = f"The server {server} asks (tool {own}), and gets your answer:"
    elif tool == "ask_user":
        asker = "The model asks:"
    else:
        asker = f"The tool {tool} asks, and gets your answer:"
    terminal.line(on_one_line(asker), "bold")
    text = written_out(str(interrupt.get("message", "")))
    terminal.line("\n".join(f"  │ {line}" for line in text.split("\n")))
    if _SECRET.search(f"{text} {json.dumps(interrupt.get('response_schema', {}))}"):
        terminal.line("  Tell no key, password or token of yours here.", "red")


def _field_name(key: str, part: dict[str, Any]) -> str:
    """Return a field's own name, with what the question calls it."""
    words = part.get("description") or part.get("title") or key
    return key if words == key else f"{key} ({words})"


def ask_for(
    terminal: Terminal, schema: dict[str, Any], name: str = "answer", *, optional: bool = False
) -> Any:
    """Ask for a value of this schema and return it; None for an `optional` one left empty.

    An invalid line is asked for again.
    """
    if isinstance(schema.get("properties"), dict):
        needed = schema.get("required") or ()
        values = {
            key: ask_for(terminal, part, _field_name(key, part), optional=key not in needed)
            for key, part in schema["properties"].items()
        }
        return {k: value for k, value in values.items() if value is not None or k in needed}
    may = ", may be empty" if optional else ""
    while True:
        text = terminal.ask(f"{written_out(name)}{_hint(schema)}{may}: ").strip()
        if optional and not text:
            return None
        try:
            return _read(text, schema)
        except ValueError as error:
            terminal.line(f"  {error}", "red")


def _restore(terminal: Terminal, interrupt: Interrupt) -> Json | None:
    """Ask what to do with a folder that is not as the session says; None to leave it open."""
    files = interrupt.get("differences", [])
    for each in files[:SHOWN_LINES]:
        terminal.line(on_one_line(f"  {each.get('path')} ({each.get('change')})"), "dim")
    if (more := interrupt.get("count", 0) - len(files[:SHOWN_LINES])) > 0:
        terminal.line(f"  … and {more} more", "dim")
    reply = terminal.ask("[r]estore, [k]eep the folder as it is: ").strip().lower()
    action = {"r": "restore", "k": "keep"}.get(reply[:1])
    return {"action": action} if action else None


def _show_call(terminal: Terminal, tool: str, args: Json, read: Read | None) -> None:
    """Print all of a call: its change of a file with line numbers, else its arguments."""
    terminal.line(on_one_line(f"  {tool}"), "cyan")
    lines = edit_lines(tool, args, read) if read is not None else None
    for text, style in lines or ():
        terminal.line(on_one_line(f"  {text}"), style)
    for key, value in args.items():
        if lines is not None and key in SHOWN[tool] | {"path"}:
            continue
        if isinstance(value, str) and "\n" in value:  # marked: a line of it is no other argument
            text = "".join(f"\n  │ {line}" for line in written_out(value).split("\n"))
            terminal.line(f"    {on_one_line(key)}:{text}", "cyan")
        else:
            text = json.dumps(value, ensure_ascii=False)
            terminal.line(on_one_line(f"    {key}: {text}"), "cyan")


def _approval(terminal: Terminal, interrupt: Interrupt, read: Read | None) -> Json:
    _show_call(terminal, str(interrupt.get("tool", "")), interrupt.get("args", {}), read)
    if interrupt.get("ask") == "every_call":
        terminal.line("  this session asks before every call; its rules wait", "dim")
    if mode := interrupt.get("permission"):
        terminal.line(f"  /permission {mode} lets such calls run here", "dim")
    once = interrupt.get("always") is True
    while True:
        more = "" if once else "[a]lways in this session, "
        text = terminal.ask(f"[y]es, [n]o or why not, {more}[e]dit: ").strip()
        match text.lower():
            case reply if reply in YES:
                return {"approved": True}
            case "a" | "always" if not once:
                return {"approved": True, "remember": "session"}
            case reply if reply in NO:
                reason = terminal.ask("Why not? (for the model; may be empty): ").strip()
                return {"approved": False} | ({"reason": reason} if reason else {})
            case "e" | "edit":
                return {"approved": True, "edited_args": _ask_edited_args(terminal)}
            case _ if len(text) > 1:  # what is said instead is the reason, as in the page
                return {"approved": False, "reason": text}


def _ask_edited_args(terminal: Terminal) -> dict[str, Any]:
    while True:
        try:
            value = loads(terminal.ask("new arguments, as JSON: "))
        except JSONError as error:
            terminal.line(f"  {error}", "red")
            continue
        if isinstance(value, dict):
            return value
        terminal.line("  wanted an object: {…}", "red")


def _indeterminate(terminal: Terminal) -> Json:
    while True:
        reply = terminal.ask("[r]etry, [s]kip, or [t]ell its result: ").strip().lower()
        if reply in ("r", "retry"):
            return {"action": "retry"}
        if reply in ("s", "skip"):
            return {"action": "skip"}
        if reply in ("t", "tell"):
            return {"action": "result", "content": terminal.ask("result: ")}


def _yes(terminal: Terminal, question: str) -> bool:
    while (reply := terminal.ask(f"{question} [y]es, [n]o: ").strip().lower()) not in YES:
        if reply in NO:
            return False
    return True


def _hint(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return written_out(f" ({', '.join(str(value) for value in schema['enum'])})")
    kind = schema.get("type")
    return "" if kind in (None, "string") else f" ({'yes or no' if kind == 'boolean' else kind})"


def _read(text: str, schema: dict[str, Any]) -> Any:
    """Parse a line as a value of the schema. Raises ValueError that names what is allowed."""
    if "enum" in schema:
        for value in schema["enum"]:
            if text == str(value):
                return value
        raise ValueError("choose one of these")
    match schema.get("type", "string"):
        case "boolean":
            if text.lower() not in (*YES, *NO):
                raise ValueError("yes or no?")
            return text.lower() in YES
        case "string":
            return text
    return loads(text)


def _escape(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()


# What no tool has to be told, as in client/js/ui/question-cards.js.
_SECRET = re.compile(
    r"\bkeys?\b|api.?key|passw|passphrase|passcode|token|secret|credential|\bpin\b|otp\b|log ?in"
    "|sign[ -]?in|session|密码|密钥|口令|令牌|凭据|登录|验证码",
    re.IGNORECASE,
)

# C0 except tab and line feed, DEL, C1, line separators and direction controls ("Trojan Source",
# CVE-2021-42574). Joiners are kept for emoji.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
