"""The agent without a network: `run`, a Unix filter over sessions, and `chat`, a small REPL.

In the walk: beside `api`, on the same `agent.prepare` and the same events. The rule of the file: a
session is a document here too; whatever happens, the one that is printed or kept can be run again.
"""

from __future__ import annotations

import asyncio
import errno
import json
import secrets
import sys
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any, TextIO

from . import handwritten
from .api.runs import Agent, Run
from .errors import Problem
from .fronts.outcome import finished
from .jsontext import JSONError, browser_safe, dumps, loads
from .session.ending import ended_by
from .session.events import alias
from .session.foreign import Item, sanitize
from .terminal import Printer, Terminal, answer, visible

COMPLETED, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 3
EXITS = {"completed": COMPLETED, "failed": FAILED}

HELP = """\
Write, and press Enter to send; a \\ at the end of a line goes on to the next one.
  /help        this text
  /clear       begin a new session
  /save FILE   write the session as JSON; `run` and `chat` take it back
  /exit        leave (or Ctrl-D)
Ctrl-C stops the run, not the program."""


def read_session(file: str) -> dict[str, Any]:
    """The session in `file`, `-` being standard input. Raises Problem that names the place."""
    name = "standard input" if file == "-" else file
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        document = loads(data)
    except OSError as error:
        raise Problem("bad_request", f"{name}: {error.strerror}") from None
    except JSONError as error:
        place, message = handwritten.wrong(data, error)
        raise Problem("bad_json", f"{name}{place}: {message}") from None
    if not isinstance(document, dict):
        raise Problem("session_invalid", f"{name}: a session is one JSON object")
    return document


# What a session from elsewhere wanted, by the kind of what was taken out of it.
WANTED = {
    "grant": "runs a tool without asking",
    "tool": "changes the settings of a tool",
    "agent": "chooses the agent",
    "agent_policy": "lets its agent run a tool without asking",
    "instructions": "tells the model something that is not in the conversation",
    "limit": "raises a limit",
    "provider": "chooses the model provider",
    "model_settings": "sets what else is sent to the model",
    "tool_choice": "makes the model call a tool",
    "unattended": "runs without anybody to ask",
    "tools": "offers tools of a page",
    "answer": "gives an answer in your place",
    "call": "counts a call as allowed",
}
MOST_TOLD = 20  # lines
LONGEST_TOLD = 100  # characters of a value


def as_foreign(
    document: dict[str, Any], defaults: dict[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Return a session that may be somebody else's without what could permit something, and the
    lines that tell what was left out; none if nothing was. `defaults`: the configuration's session
    half."""
    session, removed = sanitize(document, defaults)
    if not removed:
        return session, []
    lines = ["left out, since the session may be somebody else's (--trust keeps it):"]
    lines += [_told(item) for item in removed[:MOST_TOLD]]
    if len(removed) > MOST_TOLD:
        lines.append(f"  and {len(removed) - MOST_TOLD} more")
    return session, lines


def _told(item: Item) -> str:
    value = json.dumps(item["value"], ensure_ascii=False) if "value" in item else ""
    short = value if len(value) <= LONGEST_TOLD else value[:LONGEST_TOLD] + "…"
    text = f"  {item['path']} {WANTED.get(item['kind'], 'is not known here')}"
    return visible(browser_safe(f"{text}: {short}" if short else text))


def to_run(file: str | None, text: str | None) -> dict[str, Any]:
    """What `run` runs: the session in `file`, or else on standard input, and behind it a message of
    `text`. A text alone begins a session. Raises Problem."""
    if text is None:
        return read_session(file or "-")
    document = read_session(file) if file else {}
    if isinstance(messages := document.setdefault("messages", []), list):
        # Bytes of an argument that are no UTF-8 come as surrogates, which no JSON can hold.
        messages.append({"role": "user", "content": browser_safe(text)})
    return document


def explain(problem: Problem) -> str:
    """A problem for people: what it is, and every place."""
    places = [f"  {error['pointer'] or '/'}: {error['detail']}" for error in problem.errors]
    return "\n".join([problem.detail, *places])


async def run_once(
    agent: Agent, document: dict[str, Any], out: TextIO, form: str = "session"
) -> int:
    """Run a session and write to `out` the updated one, its "events", one a line, or its "text".

    Returns the exit code. Cancelled, it still writes the session as far as it came.
    Raises Problem when the session cannot be run.
    """
    run = agent.prepare(document)
    try:
        async with aclosing(run.events()) as events:
            number = 0
            async for event in events:
                number += 1
                if form == "events":
                    frame = {"id": f"{run.id}/{number}", "event": alias(event), "data": event}
                    out.write(dumps(frame) + "\n")
                    out.flush()
    finally:
        if form == "session":
            write_session(run.session, out)
    if form == "text":
        write_answer(run.session, out)
    return EXITS.get(run.session.get("status", ""), INTERRUPTED)


# Why an answer is not whole, which its words alone do not tell.
SHORT = {
    "length": "the answer reached its limit of tokens and ends here",
    "filter": "the provider's filter ended the answer here",
    "broken": "the provider broke off here",
}


def write_session(session: dict[str, Any], out: TextIO) -> None:
    """As JSON that people can read and edit."""
    out.write(json.dumps(session, ensure_ascii=False, indent=2) + "\n")
    out.flush()


def write_answer(session: dict[str, Any], out: TextIO) -> None:
    """What the run came to, for a person or a script: the structured output, or else the words that
    were said last, or given to `finish` without any. What it waits for, or failed with, goes to
    standard error, and that the answer is not whole."""
    nothing: dict[str, Any] = {}
    last = next((m for m in reversed(session["messages"]) if m["role"] != "tool"), nothing)
    if "output" in session:
        out.write(json.dumps(session["output"], ensure_ascii=False, indent=2) + "\n")
    elif last.get("role") == "assistant":
        text = last.get("content") or finished(session["messages"], said=False)
        out.write(visible(text).rstrip("\n") + "\n" if text else "")
    out.flush()
    if "output" not in session and (why := SHORT.get(ended_by(last))):
        print(f"yaa: {why}", file=sys.stderr)
    if last.get("role") == "error":
        print(f"yaa: {visible(last['content'])}", file=sys.stderr)
    for interrupt in session.get("interrupts", ()):
        if interrupt["reason"] != "model_error":
            text = visible(str(interrupt.get("message", "")))
            print(f"yaa: it waits for you: {text}", file=sys.stderr)


class Chat:
    """A conversation on a terminal. `loop` runs one coroutine at a time: between runs nothing
    goes on, so reading a line may block."""

    def __init__(
        self, agent: Agent, loop: asyncio.Runner, terminal: Terminal, session: dict[str, Any]
    ) -> None:
        self._agent = agent
        self._loop = loop
        self._terminal = terminal
        self.session = session
        self._run: Run | None = None

    def talk(self) -> int:
        """Read and answer until the person leaves. Returns the exit code."""
        if self._open():
            self._converse()
        while True:
            try:
                text = self._read()
            except EOFError:
                self._terminal.line()
                return COMPLETED
            except KeyboardInterrupt:
                self._terminal.line("\n(/exit or Ctrl-D leaves)", "dim")
                continue
            if text.startswith("/"):
                if text.split()[0] in ("/exit", "/quit"):
                    return COMPLETED
                self._command(text)
            elif text:
                self._say(text)

    def _read(self) -> str:
        lines = [self._terminal.ask("> ")]
        while lines[-1].endswith("\\"):
            lines[-1] = lines[-1][:-1]
            lines.append(self._terminal.ask("… "))
        return "\n".join(lines).strip()

    def _command(self, text: str) -> None:
        name, _, rest = text.partition(" ")
        match name:
            case "/help":
                self._terminal.line(HELP)
            case "/clear":
                self.session = {"messages": [], "config": self.session.get("config", {})}
                self._terminal.line("a new session", "dim")
            case "/save" if rest.strip():
                self._save(rest.strip())
            case "/save":
                self._terminal.line("/save FILE", "red")
            case _:
                self._terminal.line(f"{name} is not known; /help lists what is", "red")

    def _save(self, name: str) -> None:
        """Whatever is wrong with the name, the conversation goes on."""
        try:
            file = Path(name).expanduser().resolve()  # a link stays one
            if file.exists() and not file.is_file():  # of a device nothing would be left
                raise OSError(errno.EINVAL, "is no file")
            draft = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
            try:
                text = json.dumps(self.session, ensure_ascii=False, indent=2) + "\n"
                draft.write_text(text, encoding="utf-8")
                draft.replace(file)
            except OSError:
                with suppress(OSError):
                    draft.unlink()
                raise
        except (OSError, RuntimeError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            self._terminal.line(f"{name}: {why}", "red")
        else:
            self._terminal.line(f"saved to {file}", "dim")

    def _say(self, text: str) -> None:
        messages = self.session.setdefault("messages", [])
        message = {"id": f"msg_{secrets.token_hex(12)}", "role": "user", "content": text}
        messages.append(message)
        if not self._converse():
            messages.remove(message)

    def _converse(self) -> bool:
        """Run, ask what the run waits for, run again; until nothing more is asked or answered.

        False when the session was refused as it is. An answer that is refused is asked for again:
        in the session it would stand in the way of all that follows.
        """
        answered: list[dict[str, Any]] = []
        while True:
            try:
                self._loop.run(self._once())
            except Problem as problem:
                self._terminal.line(explain(problem), "red")
                if not answered:
                    return False
                for interrupt in answered:
                    del interrupt["answer"]
            except KeyboardInterrupt:
                self._terminal.line("stopped", "dim")
                return True
            finally:
                if self._run is not None:
                    self.session, self._run = self._run.session, None
            try:
                answered = [interrupt for interrupt in self._open() if self._ask(interrupt)]
            except (EOFError, KeyboardInterrupt):
                self._terminal.line("\nleft open; your next message takes its place", "dim")
                return True
            if not answered:
                return True

    async def _once(self) -> None:
        self._run = self._agent.prepare(self.session)
        printer = Printer(self._terminal)
        try:
            async with aclosing(self._run.events()) as events:
                async for event in events:
                    printer.show(event)
        finally:
            printer.end()
        last = self._run.session["messages"][-1]
        if why := SHORT.get(ended_by(last)):
            self._terminal.line(f"({why})", "red")

    def _open(self) -> list[dict[str, Any]]:
        interrupts: list[dict[str, Any]] = self.session.get("interrupts") or []
        return [interrupt for interrupt in interrupts if "answer" not in interrupt]

    def _ask(self, interrupt: dict[str, Any]) -> bool:
        given = answer(self._terminal, interrupt)
        if given is not None:
            interrupt["answer"] = given
        return given is not None
