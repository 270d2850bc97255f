"""The commands `run`, a filter over session documents, and `chat`, a REPL; both without a network.

Both use `agent.prepare` and its events, as `api` does. A session that is printed or saved can
always be run again, also after an interrupted run.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import re
import secrets
import sys
from collections.abc import Callable, Mapping
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any, TextIO

from ..api.sessions import Agent, Run
from ..errors import Problem
from ..json_types import Answer, Event, Interrupt, Json, Message, Session
from ..runtime.command import COMMAND
from ..runtime.start_folder import resolve
from ..session.content_blocks import to_blocks
from ..session.events import alias
from ..session.outcome import ended_by, finish_text
from ..session.sanitize import sanitize
from ..session.workspace_stand import tree_for_message
from ..skills.hidden_characters import written_out
from ..strict_json import JSONError, browser_safe, dumps, loads
from . import session_files
from .mcp_prompts import McpPrompts
from .overlay import OverlayChanges

COMPLETED, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 3
EXITS = {"completed": COMPLETED, "failed": FAILED}

HELP = """\
Write, and press Enter to send; a \\ at the end of a line goes on to the next one.
  /help        this text
  /clear       begin a new session
  /save FILE   write the session as JSON; `run` and `chat` take it back
  /sessions    list those of the store (chat --store FOLDER)
  /open ID     go on with another one of the store
  /delete ID   delete one of the store
  /changes     what differs from the folder (chat --folder NAME, or here)
  /apply PATH  put it there; all without a path
  /discard PATH  take it back; all without a path
  /prompts     list those of MCP servers; /SERVER:PROMPT shows one, and sends it
  /exit        leave (or Ctrl-D)
Ctrl-C stops the run, not the program."""


def read_session(file: str) -> Session:
    """Return the session in `file`, or from standard input for `-`.

    Includes the events in the journal of a killed `chat`. Raises Problem that names the place.
    """
    if file != "-":
        try:
            return session_files.read(resolve(Path(file)))
        except OSError as error:
            raise Problem("bad_request", f"{file}: {error.strerror}") from None
    try:
        data = sys.stdin.buffer.read()
    except OSError as error:
        raise Problem("bad_request", f"standard input: {error.strerror}") from None
    return session_files.parse_session(data, "standard input")


# The effect of each kind of item that is removed from a session of unknown origin.
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


def sanitize_foreign(
    session: Mapping[str, Any], defaults: Mapping[str, Any]
) -> tuple[Session, list[str]]:
    """Return a session of unknown origin without the parts that grant rights, and lines to print.

    The lines list the removed parts; none if nothing was removed. `defaults`: the `session` section
    of the configuration.
    """
    document: Any = session
    found: Any
    found, removed = sanitize(document, defaults)
    if not removed:
        return found, []
    lines = ["left out, since the session may be somebody else's (--trust keeps it):"]
    lines += [_removed_line(item) for item in removed[:MOST_TOLD]]
    if len(removed) > MOST_TOLD:
        lines.append(f"  and {len(removed) - MOST_TOLD} more")
    return found, lines


def _removed_line(item: Json) -> str:
    value = json.dumps(item["value"], ensure_ascii=False) if "value" in item else ""
    short = value if len(value) <= LONGEST_TOLD else value[:LONGEST_TOLD] + "…"
    text = f"  {item['path']} {WANTED.get(item['kind'], 'is not known here')}"
    return visible(browser_safe(f"{text}: {short}" if short else text))


def to_run(file: str | None, text: str | None) -> Session:
    """Return the session for `run`, with a user message of `text` appended, if given.

    The session is read from `file` or standard input. With a text and no file it is a new one.
    Raises Problem.
    """
    if text is None:
        return read_session(file or "-")
    return with_message(read_session(file) if file else {}, text)


def with_message(session: Session, text: str | None) -> Session:
    """Append a user message of `text`, unless it is None, and return the session."""
    if text is not None and isinstance(messages := session.setdefault("messages", []), list):
        # Bytes of an argument that are not UTF-8 become surrogates, which JSON cannot hold.
        messages.append({"role": "user", "content": browser_safe(text)})
    return session


def with_folder(session: Session, name: str | None) -> Session:
    """Return the session with the folder that its tools work in, with none for None."""
    known = session.get("workspace")
    about: Any = {**known} if isinstance(known, dict) else {}
    about.pop("folder", None)
    if name is not None:
        about["folder"] = name
    elif known is None:
        return session
    return {**session, "workspace": about}


def asking_every_call(session: Session) -> Session:
    """Return the session so that it asks before every call."""
    config: Any = session.get("config", {})
    about = config.get("yaa", {}) if isinstance(config, dict) else None
    if not isinstance(about, dict):
        return session  # it is refused as it is
    config = {**config, "yaa": {**about, "ask": "every_call"}}
    return {**session, "config": config}


def explain(problem: Problem) -> str:
    """Return the text of a problem for a terminal: its detail and a line for each error."""
    places = [f"  {error['pointer'] or '/'}: {error['detail']}" for error in problem.errors]
    return visible("\n".join([problem.detail, *places]))


async def run_once(
    agent: Agent,
    document: Session,
    out: TextIO,
    form: str = "session",
    kept: session_files.LockedSession | None = None,
    blocks: str | None = None,
) -> int:
    """Run a session, write the result to `out` and return the exit code.

    `form`: "session" writes the updated session, "events" each event as a line of JSON, "text" the
    answer. `kept`: file in which the session is saved after every event. `blocks`: shape of content
    blocks for the messages of the written session. When cancelled, the session so far is still
    written. Raises Problem if the session cannot be run.
    """
    run = agent.prepare(document)
    try:
        async with aclosing(run.events()) as events:
            number = 0
            async for event in events:
                number += 1
                if kept is not None:
                    kept.save_event(event, run.session)
                if form == "events":
                    frame = {"id": f"{run.id}/{number}", "event": alias(event), "data": event}
                    out.write(dumps(frame) + "\n")
                    out.flush()
    finally:
        if kept is not None:
            kept.save(run.session)
            if kept.failed:
                print(f"yaa: {kept.file}: {kept.failed}", file=sys.stderr)
        if form == "session":
            write_session(run.session, out, blocks)
    if form == "text":
        write_answer(run.session, out)
    return EXITS.get(run.session.get("status", ""), INTERRUPTED)


# Messages for incomplete answers.
SHORT = {
    "length": "the answer reached its limit of tokens and ends here",
    "filter": "the provider's filter ended the answer here",
    "broken": "the provider broke off here",
}


def write_session(session: Session, out: TextIO, blocks: str | None = None) -> None:
    """Write a session as indented JSON; `blocks`: see run_once."""
    document: Json = {**session}
    if blocks and isinstance(session.get("messages"), list):
        document["messages"] = to_blocks(session["messages"], blocks)
    out.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")
    out.flush()


def write_answer(session: Session, out: TextIO) -> None:
    """Write the result of a run as text.

    It is the structured output, else the last answer, else the text given to `finish`. Errors, open
    interrupts and the reason for an incomplete answer go to standard error.
    """
    nothing: dict[str, Any] = {}
    last = next((m for m in reversed(session["messages"]) if m["role"] != "tool"), nothing)
    if "output" in session:
        out.write(json.dumps(session["output"], ensure_ascii=False, indent=2) + "\n")
    elif last.get("role") == "assistant":
        text = last.get("content") or finish_text(session["messages"], said=False)
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
    """A conversation on a terminal.

    `loop` runs one coroutine at a time; no work is pending between runs, so reading a line may
    block. `kept`: file in which the session is saved after every event. `folder`: the store of that
    file. `admitted`: returns the parts of a stored session that may be run. `changes`: of the
    overlay that the session works on, if it does. `prompts`: of MCP servers.
    """

    def __init__(
        self,
        agent: Agent,
        loop: asyncio.Runner,
        terminal: Terminal,
        session: Session,
        kept: session_files.LockedSession | None = None,
        folder: session_files.JsonSession | None = None,
        admitted: Callable[[Session], Session] = lambda session: session,
        changes: OverlayChanges | None = None,
        prompts: McpPrompts | None = None,
    ) -> None:
        self._agent = agent
        self._loop = loop
        self._terminal = terminal
        self.session = session
        self._run: Run | None = None
        self._kept, self._folder, self._admitted = kept, folder, admitted
        self._changes, self._prompts = changes, prompts
        self._told = ""  # the last reported reason why the file cannot be written

    def talk(self) -> int:
        """Read lines and answer them until the user leaves. Return the exit code."""
        try:
            return self._talk()
        finally:
            if self._kept is not None:
                self._kept.close()

    def _talk(self) -> int:
        if self._open():
            self._converse()
        elif self.session.get("status") == "in_progress" and self.session.get("messages"):
            self._terminal.line("going on where it was ended", "dim")
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
                self._begin()
            case "/save" if rest.strip():
                self._save(rest.strip())
            case "/save":
                self._terminal.line("/save FILE", "red")
            case "/changes" | "/apply" | "/discard":
                try:
                    self._change_command(name, rest)
                except Problem as problem:
                    self._terminal.line(explain(problem), "red")
            case "/sessions" | "/open" | "/delete" if self._folder is not None:
                try:
                    self._store_command(self._folder, name, rest.strip())
                except Problem as problem:
                    self._terminal.line(explain(problem), "red")
            case _ if self._prompts is not None and (name == "/prompts" or ":" in name):
                self._prompt_command(self._prompts, name, rest.strip())
            case "/sessions" | "/open" | "/delete":
                self._terminal.line(f"{name} is for a store: chat --store FOLDER", "red")
            case _:
                self._terminal.line(f"{name} is not known; /help lists what is", "red")

    def _prompt_command(self, prompts: McpPrompts, name: str, rest: str) -> None:
        """List the prompts, or send one."""
        try:
            if name == "/prompts":
                prompts.show()
            elif text := prompts.text(name[1:], rest):
                self._say(text)
        except Problem as problem:
            self._terminal.line(explain(problem), "red")

    def _change_command(self, name: str, rest: str) -> None:
        """Perform /changes, /apply or /discard. Raises Problem."""
        if self._changes is None:
            raise Problem("bad_request", f"{name} is for an overlay: chat --folder NAME, or here")
        match name:
            case "/changes":
                self._changes.show(self.session)
            case "/apply":
                self._changes.apply(self.session, rest)
            case _:
                self._changes.discard(self.session, rest)
                self._store()

    def _begin(self) -> None:
        """Begin a new session: saved under a new id if there is a store, else not saved."""
        if self._kept is not None:
            self._kept.close()
            self._kept = None
        folder = self.session.get("workspace", {}).get("folder")
        self.session = {"messages": [], "config": self.session.get("config", {})}
        if folder is not None:
            self.session["workspace"] = {"folder": folder}
        self._terminal.line("a new session", "dim")
        if self._folder is not None:
            self.session["id"] = session_id = f"ses_{secrets.token_hex(12)}"
            self._keep(self._folder, session_id)

    def _keep(self, folder: session_files.JsonSession, session_id: str) -> None:
        self._kept = folder.open_locked(session_id)
        self._terminal.line(f"it is saved as {visible(session_id)}", "dim")

    def _store_command(self, folder: session_files.JsonSession, name: str, session_id: str) -> None:
        """Perform /sessions, /open or /delete in the store. Raises Problem."""
        if name == "/sessions":
            for each in folder.list_sessions():
                self._terminal.line(self._session_list(folder, each))
        elif not session_id:
            self._terminal.line(f"{name} ID", "red")
        elif not folder.session_exists(session_id):
            self._terminal.line(f"there is no session {visible(session_id)}; /sessions", "red")
        elif self._kept is not None and self._kept.file == folder.file(session_id):
            self._terminal.line("this is the session that is open", "red")
        elif name == "/delete":
            folder.delete_session(session_id)
            self._terminal.line("deleted", "dim")
        else:
            kept = folder.open_locked(session_id)
            try:
                session = kept.load()
            except Problem:
                kept.close()
                raise
            if self._kept is not None:
                self._kept.close()
            self._kept, self.session = kept, self._admitted(session)
            self._terminal.line(f"{len(self.session.get('messages') or ())} messages", "dim")
            if self._open():
                self._converse()

    def _session_list(self, folder: session_files.JsonSession, session_id: str) -> str:
        try:
            about = folder.get_session_info(session_id)
        except Problem as problem:
            return visible(f"  {session_id}  {problem.detail}")
        return visible(f"  {session_id}  {about['messages']} messages  {about['title']}")

    def _save(self, name: str) -> None:
        """Write the session to a file; print an error and continue if that fails."""
        try:
            file = session_files.file_of(name)
            session_files.write_whole(file, session_files.as_text(self.session))
        except OSError as error:
            self._terminal.line(f"{name}: {error.strerror}", "red")
        else:
            self._terminal.line(f"saved to {file}", "dim")

    def _store(self) -> None:
        """Save the session in its file, if it has one; print each error once."""
        if self._kept is not None:
            self._kept.save(self.session)
            self._tell_failure(self._kept)

    def _tell_failure(self, kept: session_files.LockedSession) -> None:
        if kept.failed and kept.failed != self._told:
            self._terminal.line(f"not saved: {kept.file}: {kept.failed}", "red")
        self._told = kept.failed

    def _say(self, text: str) -> None:
        messages = self.session.setdefault("messages", [])
        message: Message = {"id": f"msg_{secrets.token_hex(12)}", "role": "user", "content": text}
        if (tree := tree_for_message(self.session)) is not None:
            message["tree"] = tree
        messages.append(message)
        self._store()
        if not self._converse():
            messages.remove(message)
            self._store()

    def _converse(self) -> bool:
        """Run, ask for answers to interrupts, and run again until there is nothing to answer.

        Return False if the session itself was refused. A refused answer is removed and asked for
        again; in the session it would make every later run fail.
        """
        answered: list[Interrupt] = []
        while True:
            try:
                self._loop.run(self._run_once())
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
                    self._store()
            try:
                answered = [interrupt for interrupt in self._open() if self._ask(interrupt)]
            except (EOFError, KeyboardInterrupt):
                self._terminal.line("\nleft open; your next message takes its place", "dim")
                return True
            if not answered:
                if self._changes is not None:
                    self._changes.offer(self.session)
                return True

    async def _run_once(self) -> None:
        self._run = self._agent.prepare(self.session)
        printer = Printer(self._terminal)
        try:
            async with aclosing(self._run.events()) as events:
                async for event in events:
                    if self._kept is not None:
                        self._kept.save_event(event, self._run.session)
                        self._tell_failure(self._kept)
                    printer.show(event)
        finally:
            printer.end()
        last = self._run.session["messages"][-1]
        if why := SHORT.get(ended_by(last)):
            self._terminal.line(f"({why})", "red")

    def _open(self) -> list[Interrupt]:
        interrupts = self.session.get("interrupts") or []
        return [interrupt for interrupt in interrupts if "answer" not in interrupt]

    def _ask(self, interrupt: Interrupt) -> bool:
        given = ask_answer(self._terminal, interrupt)
        if given is not None:
            interrupt["answer"] = given
        return given is not None


# -- render ---------------------------------------------------------------------------------------
# Print the events of a run on a terminal, and ask for answers to interrupts.
#
# Used by `console`. Control characters in the text of models and tools are escaped before they are
# printed.

STYLES = {"dim": "2", "bold": "1", "red": "31", "green": "32", "cyan": "36"}
SHOWN_LINES, SHOWN_CHARS = 12, 1200  # of a tool result; the session holds all of it

YES = ("y", "yes")
NO = ("n", "no")


class Terminal:
    """Input and output of a terminal. Colours are used only if the output is a terminal."""

    def __init__(
        self,
        source: TextIO | None = None,
        out: TextIO | None = None,
        env: Mapping[str, str] = os.environ,
    ) -> None:
        self._in = source or sys.stdin
        self._out = out or sys.stdout
        plain = env.get("NO_COLOR") or env.get("TERM") == "dumb"  # set by shells in editors
        self._colour = self._out.isatty() and not plain
        if self._in is sys.stdin and self._in.isatty():
            # The import gives input() history and arrow keys, and changes how the terminal is read.
            # Some platforms have no readline.
            with suppress(ImportError):
                importlib.import_module("readline")

    def write(self, text: str, style: str = "") -> None:
        """Write text at once; `style` is a key of STYLES."""
        if text and style and self._colour:
            text = f"\x1b[{STYLES[style]}m{text}\x1b[0m"
        self._out.write(text)
        self._out.flush()

    def line(self, text: str = "", style: str = "") -> None:
        """Write a line."""
        self.write(text, style)
        self.write("\n")

    def ask(self, prompt: str) -> str:
        """Return one line of input, without its end. Raises EOFError at the end of the input."""
        if self._in is sys.stdin and self._out is sys.stdout:
            return input(prompt)
        self.write(prompt)
        line = self._in.readline()
        if not line:
            raise EOFError
        return line.rstrip("\n")


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
                self._line(written_out(f"→ {name} {shorten(''.join(pieces))}"), "cyan")
            case {"type": "ACTIVITY_SNAPSHOT", "content": {"chunks": chunks}}:
                self._continue("output", "".join(chunks), "dim")
            case {"type": "ACTIVITY_DELTA", "patch": patch}:
                self._continue("output", "".join(step["value"] for step in patch), "dim")
            case {"type": "TOOL_CALL_RESULT", "content": content, "metadata": {"yaa": extra}}:
                style = "red" if extra.get("is_error") else "dim"
                self._line(f"← {extra['name']}: {shorten(content)}", style)
            case {"type": "RUN_ERROR", "message": message}:
                self._line(message, "red")
            case {"type": "RUN_FINISHED" | "TEXT_MESSAGE_END" | "REASONING_END"}:
                self.end()

    def end(self) -> None:
        """Finish the current line."""
        if self._part:
            self._terminal.line()
            self._part = ""

    def _continue(self, part: str, text: str, style: str = "") -> None:
        if self._part != part:
            self.end()
            self._part = part
        self._terminal.write(visible(text), style)

    def _line(self, text: str, style: str) -> None:
        self.end()
        self._terminal.line(visible(text), style)


def shorten(text: str) -> str:
    """Return the beginning of `text`, and its length if it is cut."""
    lines = text.strip().splitlines()
    shown = "\n  ".join(lines[:SHOWN_LINES])[:SHOWN_CHARS]
    if len(lines) > SHOWN_LINES or len(shown) == SHOWN_CHARS:
        shown += f"\n  … {len(text)} characters in all"
    return shown


def ask_answer(terminal: Terminal, interrupt: Interrupt) -> Answer | None:
    """Ask for the answer to an interrupt. Return `{status, payload}`; None leaves it open."""
    if interrupt["reason"] == "input_required":
        _quote_question(terminal, interrupt)
    else:
        terminal.line(written_out(interrupt.get("message", "")), "bold")
    payload: Any = None
    match interrupt["reason"]:
        case "tool_call":
            payload = _approval(terminal, interrupt)
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
            command = f"{COMMAND} mcp login {interrupt.get('server', 'NAME')}"
            terminal.line(f"  in another terminal: {written_out(command)}", "dim")
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


def _approval(terminal: Terminal, interrupt: Interrupt) -> Json:
    args = interrupt.get("args", {})
    text = json.dumps(args, ensure_ascii=False, indent=2)
    terminal.line(written_out(f"  {interrupt.get('tool', '')} {text}"), "cyan")
    if interrupt.get("ask") == "every_call":
        terminal.line("  this session asks before every call; its rules wait", "dim")
    while True:
        once = interrupt.get("always") is True
        more = "" if once else "[a]lways in this session, "
        reply = terminal.ask(f"[y]es, [n]o, {more}[e]dit: ").strip().lower()
        if reply in YES:
            return {"approved": True}
        if reply in ("a", "always") and not once:
            return {"approved": True, "remember": "session"}
        if reply in NO:
            reason = terminal.ask("Why not? (for the model; may be empty): ").strip()
            return {"approved": False} | ({"reason": reason} if reason else {})
        if reply in ("e", "edit"):
            return {"approved": True, "edited_args": _ask_edited_args(terminal)}


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
