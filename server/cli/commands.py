"""The commands besides serving: --check, run, chat, link, pack, tools check.

`__main__` imports this module only for these commands, since it imports the agent at once. Each
command is a function that returns the exit code.
"""

from __future__ import annotations

import argparse
import asyncio
import errno
import io
import json
import os
import secrets
import shlex
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from .. import VERSION, extensions
from ..api.auth import keys_of
from ..app import App, strongest
from ..config import Config, ConfigError, expand_path, make_home
from ..errors import Problem
from ..json_types import Session
from ..lib.json_schema.compile import inline
from ..lib.runtime.event_loop import Loop, run
from ..telemetry import log
from ..tools.base import Tool
from ..tools.toolbox import Toolbox
from . import chat_store, session_files
from .console import (
    BAD_INPUT,
    FAILED,
    INTERRUPTED,
    Chat,
    explain,
    is_file_name,
    read_session,
    run_once,
    sanitize_foreign,
    to_run,
    what_to_run,
    with_folder,
    with_message,
    with_permission,
    write_session,
)
from .environments import perform_clean, perform_install
from .links import command_for, find_running, link_lines
from .overlay import OverlayChanges
from .prompts import Prompts
from .serve import certificate, describe, hears_hangup
from .terminal import Terminal, on_one_line

# Errors of writing to standard output.
NOT_WRITTEN = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def perform(config: Config, env: Mapping[str, str], options: argparse.Namespace) -> int:
    """Perform the command in `options` and return the exit code. Raises ConfigError."""
    try:
        code = _perform(config, env, options)
        sys.stdout.flush()
    except Problem as problem:
        print(f"yaa: {explain(problem)}", file=sys.stderr)
        return BAD_INPUT
    except OSError as error:
        if error.filename or error.errno not in NOT_WRITTEN:
            raise
        # Python flushes standard output at exit; /dev/null prevents a second error
        # (docs.python.org/3/library/signal.html#note-on-sigpipe).
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno != errno.EPIPE:  # the reader has closed the pipe on purpose
            print(f"yaa: standard output: {error.strerror}", file=sys.stderr)
        return FAILED
    return code


def _perform(config: Config, env: Mapping[str, str], options: argparse.Namespace) -> int:
    match options.command:
        case "run":
            return _run(config, env, options)
        case "chat" | "here":
            return _chat(config, env, options)
        case "link":
            return _link(config)
        case "sessions":
            print("\n".join(chat_store.list_all(config.home)) or "no session is kept")
            return 0
        case "tools" if options.action == "install":
            return _install(config, options)
        case "tools":
            return _check_tools(config, env, options)
        case str() as name:
            return extensions.perform(name, config.server["extensions"], config, env, options)
        case _:
            return run(_check(config, env))


async def _check(config: Config, env: Mapping[str, str]) -> int:
    """Perform `--check`: open the agent, print what it found."""
    certificate(config)
    async with App(config, env) as app:
        head = [f"yaa {VERSION}", ""]
        print("\n".join([*head, *describe(app), "", "The configuration can be used."]))
    return 0


def _link(config: Config) -> int:
    """Print fresh links to the servers that run with this home folder."""
    made = keys_of(config.server, config.home)[1] if find_running(config.home) else ""
    lines = link_lines(config.home, made, required=config.server["auth_required"])
    if not lines:
        print(f"yaa: no server runs with the home folder {config.home}", file=sys.stderr)
        print(
            f"Start one: {command_for(config.home)}. Or name another folder with --home.",
            file=sys.stderr,
        )
        return FAILED
    print("\n".join(lines))
    return 0


def _run(config: Config, env: Mapping[str, str], options: argparse.Namespace) -> int:
    """Perform `run`. Diagnostics go only to stderr: stdout is another program's input."""
    log.setup("warning")
    with ExitStack() as held:
        return _run_kept(config, env, options, held)


def _run_kept(
    config: Config, env: Mapping[str, str], options: argparse.Namespace, held: ExitStack
) -> int:
    kept = None
    if options.store is not None:
        if not options.file:
            raise Problem("bad_request", "run --store FOLDER ID: the id of a session is missing")
        kept = held.enter_context(_store(config, options).open_locked(options.file))
        before = kept.load() if kept.exists() else {"id": options.file, "messages": []}
        given = with_message(before, options.say)
    else:
        options.file, options.say, in_words = what_to_run(options.file, options.say)
        options.text = options.text or (in_words and not options.events)
        given = to_run(options.file, options.say)
    document, lines = _admitted(given, config, options)
    if options.again:
        document["again"] = f"again_{secrets.token_hex(12)}"
    if lines:
        print("yaa: " + "\n".join(lines), file=sys.stderr)
    form = "events" if options.events else "text" if options.text else "session"
    if form != "text" and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # JSON is UTF-8 in every locale
    begun = False

    async def main() -> int:
        """Run the session; signals cancel it."""
        nonlocal begun
        # asyncio.run handles SIGINT in this way; shells ignore SIGINT for background jobs.
        task = asyncio.current_task()
        assert task is not None
        for number in (*([signal.SIGHUP] if hears_hangup() else []), signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
        async with App(config, env) as app:
            begun = True
            return await run_once(app.agent, document, sys.stdout, form, kept, options.blocks)

    try:
        return run(main())
    except (KeyboardInterrupt, asyncio.CancelledError):
        if not begun and form == "session":
            write_session(
                given, sys.stdout, options.blocks
            )  # with `> session.json` the session would be lost
        return INTERRUPTED


def _install(config: Config, options: argparse.Namespace) -> int:
    if not options.clean:
        return perform_install(config, options.names, builds=options.build)
    if options.names or options.build:
        raise ConfigError("--clean goes with no name and no other option")
    return perform_clean(config)


def _check_tools(config: Config, env: Mapping[str, str], options: argparse.Namespace) -> int:
    log.setup("error")
    make_home(config.home)
    path = expand_path(options.file, "FILE")
    lines, fine = asyncio.run(check_file(config, path, strongest(env)))
    print("\n".join(lines))
    return 0 if fine else FAILED


def _chat(config: Config, env: Mapping[str, str], options: argparse.Namespace) -> int:
    log.setup("error")
    terminal = Terminal()
    lines: list[str] = []
    words = ""
    if options.file and options.store is None and not is_file_name(options.file):
        words, options.file = options.file, None
    kept, folder = _saved(config, options, lines)
    try:
        session: Session = {"messages": []}
        if kept is not None and kept.exists():
            session = kept.load()
        elif kept is None and options.file:
            session = read_session(options.file)
        elif folder is not None:
            session["id"] = options.session or options.file

        def admit(session: Session) -> Session:
            """Return the parts of a session that may be run, and print the others."""
            found, left_out = _admitted(session, config, options)
            if left_out and kept is not None:
                left_out += _put_aside(kept.file)
            if left_out:
                terminal.line("\n".join(["", *left_out]))
            return found

        with asyncio.Runner(loop_factory=Loop) as runner:
            app = App(config, env)
            runner.run(app.open())
            try:
                changes = _changes(app, runner, terminal, options)
                head = ("/help lists the commands; Ctrl-C stops a run.", *lines)
                for line in (f"yaa {VERSION}", "", *describe(app), "", *head):
                    terminal.line(line, "dim")
                session = admit(session)
                prompts = Prompts(app.toolbox.sources, runner, terminal)
                chat = Chat(
                    *(app.agent, runner, terminal, session, kept, folder, admit),
                    *(changes, prompts, app.toolbox.workspaces.get, app.models.catalog),
                )
                return chat.talk(words)
            finally:
                runner.run(app.close())
    finally:
        terminal.close()
        if kept is not None:
            kept.close()


def _changes(
    app: App, runner: asyncio.Runner, terminal: Terminal, options: argparse.Namespace
) -> OverlayChanges | None:
    """Return the changes of the overlay of `--folder`, None if it is none. Raises Problem."""
    if options.folder is None:
        return None

    open_workspace = partial(app.toolbox.workspaces.get, "", folder_name=options.folder)
    if open_workspace("").mode != "overlay":
        return None
    name = "here" if options.command == "here" else f"chat --folder {shlex.quote(options.folder)}"
    again = command_for(app.config.home, f"{name} {_resume(options)}")
    return OverlayChanges(open_workspace, runner, terminal, again, asks=options.command == "here")


def _store(config: Config, options: argparse.Namespace) -> session_files.JsonSession:
    """Return what `--store` names: a folder, or `@NAME` of an extension. Raises Problem."""
    if not options.store.startswith("@"):
        return session_files.JsonSession(expand_path(options.store, "--store"))
    try:
        store: session_files.JsonSession = extensions.session_store(options.store, config)
    except KeyError:
        text = f"--store {on_one_line(options.store)}: no extension of this server has sessions"
        text += f" of that name; for a folder say ./{on_one_line(options.store)}"
        raise Problem("bad_request", text) from None
    options.trust = True  # only this server and its person write there
    return store


def _resume(options: argparse.Namespace) -> str:
    """Return the arguments that go on with the session of this command."""
    if options.store is not None:
        return shlex.join(["--store", options.store, options.file])
    return shlex.quote(options.file) if options.file and options.session is None else "--continue"


def _admitted(
    session: Session, config: Config, options: argparse.Namespace
) -> tuple[Session, list[str]]:
    """Return the parts of a session that may be run, on the folder of `--folder`, and lines."""
    lines: list[str] = []
    found = session if options.folder is None else with_folder(session, None)
    if not options.trust:
        found, lines = sanitize_foreign(found, config.session)
    if options.permission:
        found = with_permission(found, options.permission)
    return (found if options.folder is None else with_folder(found, options.folder)), lines


def _saved(
    config: Config, options: argparse.Namespace, lines: list[str]
) -> tuple[session_files.LockedSession | None, session_files.JsonSession | None]:
    """Return the file in which the session is saved and its store, each None if there is none.

    Appends a line about it to `lines`. Raises Problem.
    """
    if options.store is not None:
        folder = _store(config, options)
        name = options.file or f"ses_{secrets.token_hex(12)}"
        kept = folder.open_locked(name)
        options.file = name
        lines.append(f"This session is saved as {name}; /sessions lists the others.")
        return kept, folder
    if options.session is not None and options.file:
        raise Problem("bad_request", "--continue goes with no FILE")
    if options.file == "-" or options.temporary:
        return None, None
    if not options.file:
        return _in_home(config, options, lines)
    try:
        kept = session_files.LockedSession(session_files.file_of(options.file))
    except OSError as error:
        lines.append(f"This session is not saved: {options.file}: {error.strerror or error}")
        return None, None
    lines.append(f"This session is saved in {options.file} after every event.")
    return kept, None


def _in_home(
    config: Config, options: argparse.Namespace, lines: list[str]
) -> tuple[session_files.LockedSession | None, session_files.JsonSession | None]:
    """Return what `_saved` does for a session in the home folder. Raises Problem."""
    make_home(config.home)
    place = "chat"
    if options.folder is not None:
        folders = config.server["folders"]
        here = options.command == "here"
        place = folders[options.folder]["path"] if here else f"@{options.folder}"
    store = chat_store.store_for(config.home, place)
    if options.session is not None:
        name = chat_store.last_session(config.home, place, options.session)
    else:
        name = f"ses_{secrets.token_hex(12)}"
        if removed := chat_store.remove_oldest(store):
            lines.append(f"{removed} of the {chat_store.MOST} sessions kept here made room.")
    try:
        kept = store.open_locked(name)
    except Problem as problem:
        if options.session is not None or problem.code == "run_active":
            raise
        lines.append(f"This session is not kept: {problem.detail}")
        return None, None
    options.session, options.trust = name, True  # written by this command alone
    lines.append("This session is kept; /sessions lists the others, --temporary keeps none.")
    return kept, store


def _put_aside(file: Path) -> list[str]:
    """Copy a session file before it is overwritten without the removed parts.

    Return the line to print.
    """
    copy = file.with_name(f"{file.name}~")
    try:
        if not copy.exists():
            session_files.write_whole(copy, file.read_bytes())
    except OSError as error:
        return [f"{copy}: {error.strerror}"]
    return [f"the file as it was is kept as {copy.name}"]


# -- tools check ----------------------------------------------------------------------------------
# The command `tools check FILE`: show the tools of a Python file as models see them.
#
# The file is loaded through a sandboxed child into a toolbox, as at the start of the server.

POLICIES = {"run": "runs without asking", "ask": "asks first", "deny": "is denied by this server"}


async def check_file(config: Config, path: Path, most: str) -> tuple[list[str], bool]:
    """Return lines for a terminal, and whether every tool of the file can be used.

    `most`: the strongest tier of the sandbox to try.
    """
    if not _is_file(path):
        return [f"there is no file {path}"], False
    toolbox = Toolbox(config)
    await toolbox.open(most)
    try:
        return await _check_opened(toolbox, config, path)
    finally:
        await toolbox.close()


async def _check_opened(toolbox: Toolbox, config: Config, path: Path) -> tuple[list[str], bool]:
    others = config.home / "tools"
    for other in sorted(others.glob("*.py")) if others.is_dir() else ():
        if other.name != path.name:  # their tool names are taken; skip an older copy of this file
            await toolbox.load(other)
    found = await toolbox.load(path)
    lines: list[str] = []
    for item in found:
        if isinstance(item, str):
            lines += [f"refused  {item}", ""]
        elif item.missing:
            lines += [f"unavailable  {item.name}: {item.missing}", ""]
        else:
            most = config.server["limits"]["tool"]
            lines += [*describe_tool(item, toolbox.policy(item, None), most), ""]
    if not found:
        how = (
            "put @tool above a function, and @toolkit above a class of such (from yaa import tool)"
        )
        lines = [f"no tool in this file: {how}", ""]
    refused = sum(isinstance(item, str) for item in found)
    missing = sum(not isinstance(item, str) and bool(item.missing) for item in found)
    more = f", {missing} unavailable" if missing else ""
    lines.append(f"{len(found) - refused - missing} to use, {refused} refused{more}")
    return lines, bool(found) and not refused and not missing


def _is_file(path: Path) -> bool:
    """Return whether there is a file; False if it cannot be accessed."""
    try:
        return path.is_file()
    except OSError:
        return False


def describe_tool(tool: Tool, policy: str, most: dict[str, float]) -> Iterator[str]:
    """Yield lines about a tool: description, policy, hints, limits, advice and schemas.

    `most`: the server's limits of tools.
    """
    hints = [name for name, on in tool.hints.items() if on]
    yield tool.name
    yield from (f"  {line}" for line in tool.description.splitlines())
    yield f"  policy   {POLICIES[policy]}"
    yield f"  hints    {', '.join(hints) or 'none'}"
    if tool.keep is not None:
        yield f"  keep     {tool.keep}"
    if tool.toolkit[0]:
        yield f"  toolkit  {': '.join(filter(None, tool.toolkit)).splitlines()[0]}"
    if tool.stateful:
        yield "  process  one for each session, for all its calls"
    limits = {k: v for k, v in tool.required_resources.items() if k != "network"}
    if "network" in tool.required_resources:
        yield f"  network  {tool.required_resources['network']}"
    for name, value in limits.items():
        capped = "" if value <= most.get(name, value) else f", the server allows {most[name]:g}"
        yield f"  limit    {name} {value:g}{capped}"
    yield from (f"  better   {line}" for line in improvements(tool, most))
    for title, schema in (("schema", tool.parameters), ("result", tool.returns)):
        if not schema:  # a tool need not declare its result
            continue
        yield f"  {title}"
        text = json.dumps(inline(schema), indent=2, ensure_ascii=False)
        yield from (f"    {line}" for line in text.splitlines())


def improvements(tool: Tool, most: dict[str, float]) -> Iterator[str]:
    """Yield suggestions for a tool that works but could be described better."""
    if not tool.description:
        yield "a docstring: it is all that tells the model what the tool is for"
    for name, about in tool.parameters.get("properties", {}).items():
        if name in ("ctx", "context") and "type" not in about:
            yield f"{name}: Context (from yaa import Context); without it the model fills it in"
        elif isinstance(about, dict) and not about.get("description"):
            yield f'a description of {name}: Annotated[..., "what it is"]'
    for name in tool.required_resources.keys() - {*most, "network"}:
        yield f"required_resources: there is no limit {name}; there are {', '.join(most)}"
