"""The commands `run`, a filter over session documents, and `chat`, a REPL; both without a network.

Both use `agent.prepare` and its events, as `api` does. A session that is printed or saved can
always be run again, also after an interrupted run.
"""

from __future__ import annotations

import asyncio
import base64
import difflib
import json
import os
import secrets
import select
import stat
import sys
from collections.abc import Callable, Mapping
from contextlib import aclosing, suppress
from itertools import count
from pathlib import Path
from typing import Any, TextIO

from ..agent.loop import BaseAgent, Run
from ..errors import Problem
from ..json_types import Event, Interrupt, Json, Message, Session
from ..lib.runtime import waits
from ..lib.runtime.start_folder import resolve
from ..lib.strict_json import browser_safe, dumps
from ..session.content_blocks import to_blocks
from ..session.events import alias, run_wait
from ..session.limits import ASK
from ..session.outcome import ended_by, finish_text
from ..session.sanitize import sanitize
from ..session.workspace_error import WorkspaceError
from ..session.workspace_stand import tree_for_message
from . import session_files
from .chat_store import describe
from .overlay import OverlayChanges
from .prompts import Prompts
from .terminal import Printer, Terminal, ask_answer, on_one_line, visible, wait_line

COMPLETED, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 3
PIPE_S = 3.0  # until the first byte of a pipe beside a question
EXITS = {"completed": COMPLETED, "failed": FAILED}

HELP = """\
Write, and press Enter to send; a \\ at the end of a line goes on to the next one.
  /help        this text
  /clear       begin a new session
  /save FILE   write the session as JSON; `run` and `chat` take it back
  /sessions    list those that are kept of this folder
  /open ID     go on with another one of them
  /delete ID   delete one of them
  /model NAME  another model from the next message on; all without a name
  /permission MODE  what runs unasked: by_rules, edits_run, copy_runs, every_call
  /cost        tokens and money of this session
  /undo        take back your last message and what followed
  /diff PATH   how a file differs from the folder; all without a path
  /changes     what differs from the folder (chat --folder NAME, or here)
  /apply PATH  put it there; all without a path
  /discard PATH  take it back; all without a path
  /prompts     list prompts of tool servers; /SERVER:PROMPT shows one, and sends it
  /exit        leave (or Ctrl-D)
Ctrl-C stops the run, not the program."""


Content = str | list[Json] | None  # of a message, None for no message


def is_file_name(text: str) -> bool:
    """Return whether an argument is the name of a file, and not what to say."""
    if text == "-" or text.endswith(session_files.SUFFIX):
        return True
    with suppress(OSError, ValueError, RuntimeError):
        if resolve(Path(text).expanduser()).exists():
            return True
    return "/" in text and not any(map(str.isspace, text))


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
    "ask": "runs changes without asking",
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


def what_to_run(file: str | None, text: str | None) -> tuple[str | None, Content, bool]:
    """Return the file and the message of `run`, and whether words are asked and answered.

    A FILE that is none is the message, with what is piped in as a file of it, and so is standard
    input that does not begin as JSON. Raises Problem.
    """
    if file is not None and (text is not None or is_file_name(file)):
        return file, text, False
    if file is not None:
        piped = piped_text().replace("</file>", "<\\/file>")
        if not piped:
            return None, file, True
        texts = (file, f'<file name="standard input">\n{piped}\n</file>')
        return None, [{"type": "text", "text": each} for each in texts], True
    if text is not None or not hasattr(sys.stdin.buffer, "peek"):
        return None, text, False
    try:
        begin = sys.stdin.buffer.peek(1)[:1]
        while begin and begin.isspace():
            sys.stdin.buffer.read(1)
            begin = sys.stdin.buffer.peek(1)[:1]
        if begin in (b"{", b"["):
            return None, None, False
    except OSError as error:
        raise Problem("bad_request", f"standard input: {error.strerror}") from None
    words = read_words()
    if not words:
        text = "standard input:1:1: nothing was given: wanted a session as JSON, or a question"
        raise Problem("bad_request", text)
    return None, words, True


def read_words() -> str:
    """Return the text of standard input. Raises Problem."""
    try:
        return sys.stdin.buffer.read().decode().strip()
    except UnicodeDecodeError as error:
        raise Problem("bad_request", f"standard input is not UTF-8: {error.reason}") from None
    except OSError as error:
        raise Problem("bad_request", f"standard input: {error.strerror}") from None


def piped_text() -> str:
    """Return the text of a file or pipe at standard input, "" for another one. Raises Problem.

    A pipe in which nothing comes belongs to whoever started this program, and not to the question.
    """
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError):  # closed, or no file
        return ""
    if not (stat.S_ISFIFO(mode) or stat.S_ISREG(mode)):
        return ""
    if not select.select([sys.stdin], [], [], PIPE_S)[0]:
        text = f"nothing came from standard input in {PIPE_S:g} s: the question goes without it"
        print(f"yaa: {text}", file=sys.stderr)
        return ""
    return read_words()


def to_run(file: str | None, text: Content) -> Session:
    """Return the session for `run`, with a user message of `text` appended, if given.

    The session is read from `file` or standard input. With a text and no file it is a new one.
    Raises Problem.
    """
    if text is None:
        return read_session(file or "-")
    return with_message(read_session(file) if file else {}, text)


def with_message(session: Session, text: Content) -> Session:
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


def with_permission(session: Session, mode: str) -> Session:
    """Return the session with this permission mode, one of ASK."""
    config: Any = session.get("config", {})
    about = config.get("yaa", {}) if isinstance(config, dict) else None
    if not isinstance(about, dict):
        return session  # it is refused as it is
    config = {**config, "yaa": {**about, "ask": mode}}
    return {**session, "config": config}


def with_provider(session: Session, provider: Json) -> Session:
    """Return the session with this provider of the server."""
    config: Any = session.get("config", {})
    config = {**config, "llm_api": {**config.get("llm_api", {}), "provider": provider}}
    return {**session, "config": config}


def explain(problem: Problem) -> str:
    """Return the text of a problem for a terminal: its detail and a line for each error."""
    places = [f"  {error['pointer'] or '/'}: {error['detail']}" for error in problem.errors]
    return visible("\n".join([problem.detail, *places]))


async def run_once(
    agent: BaseAgent,
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
    numbers = count(1)

    def write(event: Event) -> None:
        """Write an event as a line of JSON."""
        frame = {"id": f"{run.id}/{next(numbers)}", "event": alias(event), "data": event}
        out.write(dumps(frame) + "\n")
        out.flush()

    def tell(wait: Json) -> None:
        """Write what the run waits for."""
        if form == "events":
            write(run_wait(wait))
        else:
            print(f"yaa: {visible(wait_line(wait))}", file=sys.stderr, flush=True)

    waits.listener.set(tell)
    try:
        async with aclosing(run.events()) as events:
            async for event in events:
                if kept is not None:
                    kept.save_event(event, run.session)
                if form == "events":
                    write(event)
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


def usage_line(usage: Mapping[str, Any]) -> str:
    """Return one line about the tokens and the cost of a session."""
    words = f"{usage.get('calls', 0)} model calls, {usage.get('prompt_tokens', 0):,} tokens in"
    words += (
        f" ({usage.get('cached_tokens', 0):,} cached), {usage.get('completion_tokens', 0):,} out"
    )
    if "cost_micro" in usage and usage.get("cost_unit"):
        words += f", {usage['cost_micro'] / 1e6:.4f} {usage['cost_unit']}"
    return visible(words)


class Chat:
    """A conversation on a terminal.

    `loop` runs one coroutine at a time; no work is pending between runs, so reading a line may
    block. `kept`: file in which the session is saved after every event. `folder`: the store of that
    file. `admitted`: returns the parts of a stored session that may be run. `changes`: of the
    overlay that the session works on, if it does. `prompts`: of tool sources. `open_workspace`:
    opens that of (owner, session, folder). `models`: lists those of the server.
    """

    def __init__(
        self,
        agent: BaseAgent,
        loop: asyncio.Runner,
        terminal: Terminal,
        session: Session,
        kept: session_files.LockedSession | None = None,
        folder: session_files.JsonSession | None = None,
        admitted: Callable[[Session], Session] = lambda session: session,
        changes: OverlayChanges | None = None,
        prompts: Prompts | None = None,
        open_workspace: Callable[[str, str, str | None], Any] | None = None,
        models: Callable[[], list[Json]] = list,
    ) -> None:
        self._agent = agent
        self._loop = loop
        self._terminal = terminal
        self.session = session
        self._run: Run | None = None
        self._kept, self._folder, self._admitted = kept, folder, admitted
        self._changes, self._prompts = changes, prompts
        self._open_workspace, self._models = open_workspace, models
        self._told = ""  # the last reported reason why the file cannot be written

    def talk(self, words: str = "") -> int:
        """Say `words`, read lines and answer them until the user leaves. Return the exit code."""
        try:
            return self._talk(words)
        finally:
            if self._kept is not None:
                self._kept.close()

    def _talk(self, words: str) -> int:
        self._tell_pending()
        if self._open():
            self._converse()
        elif self.session.get("status") == "in_progress" and self.session.get("messages"):
            self._terminal.line("going on where it was ended", "dim")
            self._converse()
        if words:
            self._terminal.line(f"> {visible(words)}", "dim")
            self._say(words)
        warned = False
        while True:
            try:
                text = self._read()
            except EOFError:
                self._terminal.line()
                self._tell_pending()
                return COMPLETED
            except KeyboardInterrupt:
                self._terminal.line("\n(/exit or Ctrl-D leaves)", "dim")
                continue
            if text.startswith("/") and "\n" not in text:
                if text.split()[0] in ("/exit", "/quit"):
                    if not self._tell_pending() or self._kept is not None or warned:
                        return COMPLETED
                    warned = True
                    continue
                self._command(text)
            elif text:
                self._say(text)

    def _read(self) -> str:
        lines = [self._terminal.read_message("> ")]
        while lines[-1].endswith("\\"):
            lines[-1] = lines[-1][:-1]
            lines.append(self._terminal.read_message("… "))
        return "\n".join(lines).strip()

    def _tell_pending(self) -> bool:
        """Say which changes of the session are not applied; return whether there are any."""
        if self._changes is None:
            return False
        return self._changes.tell_pending(self.session, is_kept=self._kept is not None)

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
            case "/cost":
                self._terminal.line(usage_line(self.session.get("usage") or {}))
            case "/undo":
                self._undo()
            case "/model":
                self._model_command(rest.strip())
            case "/permission":
                self._permission_command(rest.strip())
            case "/changes" | "/diff" | "/apply" | "/discard":
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
                self._terminal.line(
                    f"{name} is for sessions that are kept: without FILE and --temporary", "red"
                )
            case _:
                self._terminal.line(f"{name} is not known; /help lists what is", "red")

    def _model_command(self, name: str) -> None:
        """Set the model of the session by its name or its provider's, or list all."""
        catalog = self._models()
        own: Any = self.session.get("config", {}).get("llm_api", {}).get("provider", {})
        if name:
            matches = [each for each in catalog if name in (each["name"], *each["models"])]
            if not matches:
                names = [model for each in catalog for model in (each["name"], *each["models"])]
                near = difflib.get_close_matches(name, names, 1)
                hint = f"; did you mean {near[0]}?" if near else "; /model lists what is"
                self._terminal.line(visible(f"there is no model {name}{hint}"), "red")
                return
            own = {"name": matches[0]["name"]}
            if name in matches[0]["models"]:
                own["model_name"] = name
            self.session = with_provider(self.session, own)
        else:
            for each in catalog:
                mark = ", the default" if each.get("default") else ""
                self._terminal.line(visible(f"  {each['name']}: {', '.join(each['models'])}{mark}"))
        now = " ".join(filter(None, (own.get("model_name"), own.get("name")))) or "the default"
        self._terminal.line(visible(f"this session: {now}"), "dim")

    def _permission_command(self, mode: str) -> None:
        """Set the permission mode of the session, or say which it has."""
        if mode in ASK:
            self.session = with_permission(self.session, mode)
        elif mode:
            self._terminal.line(f"/permission is one of {', '.join(ASK)}", "red")
            return
        now = self.session.get("config", {}).get("yaa", {}).get("ask", "by_rules")
        self._terminal.line(f"this session: {now}", "dim")

    def _undo(self) -> None:
        """Take back the last message and all that followed; the next run restores the files."""
        messages = self.session.get("messages") or []
        places = [n for n, each in enumerate(messages) if each.get("role") == "user"]
        if not places:
            self._terminal.line("there is no message of yours", "red")
            return
        text = str(messages[places[-1]].get("content") or "")
        self.session["messages"] = messages[: places[-1]]
        for key in ("interrupts", "status", "plan", "output"):
            self.session.pop(key, None)  # type: ignore[misc]
        self._store()
        self._terminal.line(on_one_line(f"taken back: {text[:60]}"), "dim")

    def _prompt_command(self, prompts: Prompts, name: str, rest: str) -> None:
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
            case "/diff":
                self._changes.show_diff(self.session, rest)
            case "/apply":
                self._changes.apply(self.session, rest)
            case _:
                self._changes.discard(self.session, rest)
                self._store()

    def _begin(self) -> None:
        """Begin a new session: saved under a new id if there is a store, else not saved."""
        self._tell_pending()
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
                self._terminal.line(describe(folder, each))
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
            self._tell_pending()
            if self._kept is not None:
                self._kept.close()
            self._kept, self.session = kept, self._admitted(session)
            self._terminal.line(f"{len(self.session.get('messages') or ())} messages", "dim")
            self._tell_pending()
            if self._open():
                self._converse()

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
        waits.listener.set(lambda wait: printer.show(run_wait(wait)))
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

    def _read_file(self, path: str) -> str | None:
        """Return the text of a file of the session, None if there is none. Raises ValueError."""
        if self._open_workspace is None:
            raise ValueError
        folder = self.session.get("workspace", {}).get("folder")
        workspace = self._open_workspace("", self.session["id"], folder)
        try:
            found = self._loop.run(workspace.request("read", path=path))
        except WorkspaceError as error:
            if error.code == "not_found":
                return None
            raise ValueError(error.detail) from None
        data = base64.b64decode(found["data"])
        if len(data) < found["bytes"]:
            raise ValueError("it is too long to be compared")
        return data.decode()

    def _ask(self, interrupt: Interrupt) -> bool:
        given = ask_answer(self._terminal, interrupt, self._read_file)
        if given is not None:
            interrupt["answer"] = given
        return given is not None
