"""The command line: parse options, load the configuration, serve or perform a command.

Every failure at start ends with one sentence on stderr that names the next step, and with exit code
2, or 1 if a later start may succeed. Modules that opening the port does not need are imported later
(cli/serve.py).
"""

from __future__ import annotations

import argparse
import asyncio
import errno
import io
import os
import signal
import socket
import sys
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

if not __package__:  # `python3 server`: as a folder, which cannot find its own modules
    sys.exit("yaa: start it with python3 -m server, in the folder that holds server/")

from . import VERSION, extensions, later
from .api.auth import Keys, keys_of
from .cli import links
from .cli.live_config import Source
from .cli.serve import (
    BAD_CONFIGURATION,
    BoundServer,
    Workers,
    allow_files,
    certificate,
    is_desk,
)
from .cli.unknown_command import options_of, unknown_option, with_command
from .config import (
    Config,
    ConfigError,
    Unavailable,
    config_file,
    expand_path,
    home_folder,
    load,
    make_home,
)
from .lib.http.listener import bind
from .lib.http.parser import is_loopback
from .lib.runtime import start_folder
from .lib.runtime.command import COMMAND
from .lib.runtime.file_stamps import stamp_of
from .session.limits import ASK as MODES_OF_ASKING
from .telemetry import log
from .telemetry.log import RotatingFile, Rotation

EPILOG = """\
Settings come from config.default.json, then config.json in the home folder (or --config), then
YAA_* variables (YAA_PORT=80, YAA_SERVER__LIMITS__MAX_RUNS=4), then the options above.

`run` exits with 0 when the session is completed, 3 when it waits for an answer (or was stopped),
1 when it failed, and 2 when the session or the configuration cannot be used. `tools check` exits
with 0 when every tool of the file can be used, `tools install` when all packages are installed,
`skills` when every skill can be used, `link` when a server runs with this home folder, else with 1.
A server exits with 2 when its configuration cannot be used, with 1 when its address cannot now."""


OPEN = "open the page in a browser (the default at a terminal with a display)"
SESSION_OR_WORDS = "a session, or what to say (default: standard input, either)"
STORE = "keep sessions in this folder; FILE is the id of one then"
BLOCKS = "write the messages with content blocks of this shape"
FOLDER = "work on this folder of server.folders"
HERE = "here"  # the name of the current folder
MODE = "how its files are used: a copy that is applied when you agree, themselves, or only read"
FILE_OR_WORDS = "a file (a name that exists, or *.json) to keep the session in, or what to say"
CONTINUE = "go on with the last session that was kept for this folder, or this one"
TEMPORARY = "keep nothing of the session"
ABOUT_HERE = """\
Talk with a model about the current folder. It reads and changes a copy of it; after a run you are
asked which changes are put into the folder. The session and its copy are kept (--continue)."""
BUILD = "also packages without a wheel; that runs their code as you, outside of any sandbox"
TRUST = "the session is my own: keep its approvals, settings and agent"
ASK = "ask before every call, whatever is allowed: --permission every_call"
PERMISSION = "what runs unasked: by_rules; in a copy edits_run or copy_runs"
PROGRAM = Path(__file__).resolve().parent.parent  # a checkout of yaa is no project of the person
NOT_NOW = 1  # starting again may help; after BAD_CONFIGURATION it does not (docs/deploy)
PASSING = (errno.EADDRINUSE, errno.EADDRNOTAVAIL, socket.EAI_AGAIN)  # temporary errors of `bind`
INTERRUPTED = 128 + signal.SIGINT  # the exit code that shells use
WORKERS_END_S = 15.0  # beyond disconnect_grace_s, before workers are killed


def main(arguments: list[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    _prepare_streams()
    start_folder.leave()
    options = _options(arguments)
    # Values from Windows env files and cluster secrets may end in line breaks; no setting does.
    env = {name: value.rstrip("\r\n") for name, value in os.environ.items()}
    try:
        folder = _offered_folder(options)
        source = _source(options, env, folder)
        config = source.read(None)
        if not options.command:
            wanted = config.server["log"]
            log.setup(
                wanted["level"],
                style=wanted["format"],
                file=_log_file(config),
                delay_s=log.DELAY_S,
            )
        if options.command or options.check:
            code: int = later("cli.commands").perform(config, env, options)
            return code
        opens = is_desk(env) if options.open is None else options.open
        offered = folder.name if config.server["folders"].get(folder.name) == _copy(folder) else ""
        return _serve(
            config, env, source, opens=opens, prints_link=options.print_link, folder=offered
        )
    except ConfigError as error:
        for problem in error.problems:
            print(f"yaa: {problem}", file=sys.stderr)
        return NOT_NOW if isinstance(error, Unavailable) else BAD_CONFIGURATION
    except KeyboardInterrupt:  # before anything has begun
        return INTERRUPTED


def _terminal_folder(options: argparse.Namespace) -> Path:
    """Return the folder that a person at a terminal starts the server in, / for none."""
    if not options.command and sys.stdin.isatty() and sys.stdout.isatty():
        with suppress(OSError, RuntimeError, ConfigError):
            return expand_path(".", "--home").resolve()
    return Path("/")


def _offered_folder(options: argparse.Namespace) -> Path:
    """Return the folder that the page may offer, / for none.

    That is the one that a person at a terminal is in, not the home folder of the person or yaa's.
    """
    folder = _terminal_folder(options)
    with suppress(OSError, RuntimeError):
        if not Path.home().resolve().is_relative_to(folder) and folder != PROGRAM:
            return folder
    return Path("/")


def _copy(folder: Path) -> dict[str, str]:
    return {"path": str(folder), "mode": "overlay"}


def _source(options: argparse.Namespace, env: Mapping[str, str], folder: Path) -> Source:
    """Return where the configuration comes from; `folder`: see _offered_folder. Raises ConfigError.

    The folder is added for the owner alone: without other keys, at an address of this machine. So
    is the one that the server is started in, to look for other folders there.
    """
    home, named = home_folder(options.home, env), _config_file(options.config, env)
    start = _terminal_folder(options)
    flags = {
        "server.host": options.host,
        "server.port": options.port,
        "server.workers": options.workers,
        "server.tls.cert": options.cert and str(expand_path(options.cert, "--cert")),
        "server.tls.key": options.key and str(expand_path(options.key, "--key")),
        "server.folders": _current_folder(options),
        "server.extensions": [] if options.bare else None,
    }
    path = config_file(home, named)

    def read(given: dict[str, Any] | None = None) -> Config:
        """Load the configuration; `given` is used in place of the file's content."""
        config = load(home, named, env, flags, given=given)
        server = config.server
        if server["api_keys"] or not is_loopback(server["host"]):
            return config
        roots, copy = {}, {}
        if start.name and not server["folder_roots"]:
            roots = {"server.folder_roots": [str(start)]}
        if folder.name and folder.name not in server["folders"]:
            copy = {"server.folders": {folder.name: _copy(folder)}}
        for more in (roots | copy, roots):
            with suppress(ConfigError):  # it cannot be one: yaa's home lies in it, or another
                return load(home, named, env, flags | more, given=given)
        return config

    return Source(path, read, stamp_of(path))


def _prepare_streams() -> None:
    """Make the standard streams safe to use.

    Closed streams are reopened on /dev/null, and characters that the terminal cannot encode are
    escaped, so that neither ends a command with a traceback.
    """
    for name, mode, errors in (
        ("stdin", "r", "replace"),
        ("stdout", "w", "backslashreplace"),
        ("stderr", "w", "backslashreplace"),
    ):
        stream = getattr(sys, name)
        if stream is None:  # its descriptor is free, and a connection must not get it
            null = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(null, True)  # the same for programs that the server starts
            setattr(sys, name, open(null, mode, errors=errors, closefd=False))
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=errors)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    unset = argparse.SUPPRESS  # an option after the command must not undo the one before it
    common = argparse.ArgumentParser(add_help=False, argument_default=unset)
    common.add_argument("--home", metavar="FOLDER", help="where everything is kept (~/.yaa)")
    common.add_argument("--config", metavar="FILE", help="read this instead of its config.json")
    parser = argparse.ArgumentParser(
        prog=COMMAND,
        description="yaa, a self-hosted AI agent. Without a command it serves until it is stopped.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[common],
    )
    parser.add_argument("--host", metavar="ADDRESS", help="address to listen on (127.0.0.1)")
    parser.add_argument("--port", metavar="N", type=int, help="its port (12345; 0: a free one)")
    parser.add_argument("--workers", metavar="N", type=int, help="processes that serve (1)")
    parser.add_argument("--cert", metavar="FILE", help="serve HTTPS with this certificate (PEM)")
    parser.add_argument("--key", metavar="FILE", help="its key, if not in that file")
    parser.add_argument("--bare", action="store_true", help="without extensions")
    parser.add_argument("--check", action="store_true", help="check the configuration and stop")
    parser.add_argument("--open", action=argparse.BooleanOptionalAction, default=None, help=OPEN)
    parser.add_argument(
        "--print-link", action="store_true", help="print a link that signs in, also to a log"
    )
    parser.add_argument("--version", action="version", version=f"yaa {VERSION}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    run = commands.add_parser("run", parents=[common], help="run a session: JSON in, JSON out")
    run.add_argument("file", metavar="FILE|WORDS", nargs="?", help=SESSION_OR_WORDS)
    run.add_argument("--say", metavar="TEXT", help="a message to append, or to begin with")
    run.add_argument("--trust", action="store_true", help=TRUST)
    _add_permission(run)
    run.add_argument("--again", action="store_true", help="another answer, if one is recorded")
    run.add_argument("--store", metavar="FOLDER", help=STORE)
    run.add_argument("--folder", metavar="NAME", help=FOLDER)
    run.add_argument("--blocks", choices=["agentscope", "anthropic"], help=BLOCKS)
    forms = run.add_mutually_exclusive_group()
    forms.add_argument("--events", action="store_true", help="write its events, one JSON a line")
    forms.add_argument("--text", action="store_true", help="write the answer, not the session")
    _add_owner_parts(commands, common)
    commands.add_parser("link", parents=[common], help="print a link that signs a browser in")
    _add_conversations(commands, common)
    at_terminal = all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))
    typed = sys.argv[1:] if arguments is None else arguments
    known = options_of(parser)
    typed, problem = with_command(typed, commands.choices, known, at_terminal=at_terminal)
    if problem:
        parser.error(problem)
    options, rest = parser.parse_known_args(typed, argparse.Namespace(home=None, config=None))
    if rest:
        of_command = commands.choices.get(options.command)
        parser.error(unknown_option(rest, options_of(of_command) if of_command else known))
    return options


def _add_permission(parser: argparse.ArgumentParser) -> None:
    """Add the options that set `config.yaa.ask` of the session."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--permission", choices=MODES_OF_ASKING, help=PERMISSION)
    which.add_argument(
        "--ask-every-call", action="store_const", const="every_call", dest="permission", help=ASK
    )


def _add_conversations(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], common: argparse.ArgumentParser
) -> None:
    """Add the commands `chat`, `here` and `sessions`."""
    chat = commands.add_parser("chat", parents=[common], help="talk on this terminal")
    about = "talk about the current folder"
    here = commands.add_parser("here", parents=[common], help=about, description=ABOUT_HERE)
    for each in (chat, here):
        each.add_argument("file", metavar="FILE|WORDS", nargs="?", help=FILE_OR_WORDS)
        _add_keeping(each)
        each.add_argument("--store", metavar="FOLDER", help=STORE)
        each.add_argument("--trust", action="store_true", help=TRUST)
        _add_permission(each)
    chat.add_argument("--folder", metavar="NAME", help=FOLDER)
    here.add_argument("--mode", choices=["overlay", "write", "read"], default="overlay", help=MODE)
    about = "list the sessions of chat and here that are kept"
    commands.add_parser("sessions", parents=[common], help=about)


def _add_keeping(parser: argparse.ArgumentParser) -> None:
    """Add the options for the session that is kept in the home folder."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--continue", metavar="ID", nargs="?", const="", dest="session", help=CONTINUE
    )
    which.add_argument("--temporary", action="store_true", help=TEMPORARY)


def _add_owner_parts(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], common: argparse.ArgumentParser
) -> None:
    """Add the command `tools`, and those of extensions."""
    tools = commands.add_parser("tools", parents=[common], help="your own tools: check, install")
    actions = tools.add_subparsers(dest="action", metavar="ACTION", required=True)
    one = actions.add_parser("check", parents=[common], help="say what a model will see of a file")
    one.add_argument("file", help="a Python file of tools; it need not be in the home folder yet")
    one = actions.add_parser("install", parents=[common], help="install the packages they name")
    one.add_argument("names", metavar="NAME", nargs="*", help="a file, or a tool (default: all)")
    one.add_argument("--build", action="store_true", help=BUILD)
    one.add_argument("--clean", action="store_true", help="remove environments that nothing names")
    for _, each in extensions.commands().values():
        each.arguments(commands.add_parser(each.name, parents=[common], help=each.about))


def _current_folder(options: argparse.Namespace) -> dict[str, dict[str, str]] | None:
    """Return the only folder of the command `here`, None for other commands."""
    if options.command != "here":
        return None
    options.folder = HERE
    return {HERE: {"path": str(expand_path(".", "here")), "mode": options.mode}}


def _config_file(option: str | None, env: Mapping[str, str]) -> Path | None:
    named = option or env.get("YAA_CONFIG")
    return expand_path(named, "--config") if named else None


def _serve(
    config: Config,
    env: Mapping[str, str],
    source: Source,
    *,
    opens: bool,
    prints_link: bool,
    folder: str = "",
) -> int:
    """Serve until stopped and return the exit code.

    `source`: of `config`. `prints_link`: print a link that signs in even if the output is not a
    terminal. `folder`: of server.folders, which the page offers.
    """
    server = config.server
    for text in config.remarks:
        log.get("config").warning(text)
    make_home(config.home)
    allow_files(server["limits"])
    keys, made = _keys(config)
    tls = certificate(config)
    sockets = _bind(server["host"], server["port"])
    scheme = "https" if tls else "http"
    address = links.Address(scheme, server["host"], sockets[0].getsockname()[1])
    shown = prints_link or sys.stdout.isatty()
    make = links.code_maker(config.home, made)
    lines = [
        *links.links(address, make if shown else None, config.home),
        *links.sign_in(
            config.home, has_key=bool(made), shown=shown, required=server["auth_required"]
        ),
    ]
    page = address.here(make() if make else "") if opens else ""
    if folder:
        own = address.here()
        query = f"{own}?folder={quote(folder)}"
        page = page.replace(own, query)
        lines = [line.replace(own, query) if line.startswith(own) else line for line in lines]
    process = extensions.share(server["extensions"], server["workers"])
    door = BoundServer(config, env, source, keys, sockets, lines, page, tls, process)
    patience_s = server["limits"]["disconnect_grace_s"] + WORKERS_END_S
    with ExitStack() as held:
        for sock in sockets:
            held.enter_context(sock)
        held.enter_context(links.record(config.home, address))
        if server["workers"] == 1:
            return door.serve(None)
        app = later("app")  # imported before the fork, so that workers share the memory
        extensions.load_each("parts", extensions.select(server["extensions"]))
        door = door._replace(proof=asyncio.run(app.prove_sandbox(config, env)))
        return Workers(server["workers"], sockets, patience_s).run(door.serve)


def _log_file(config: Config) -> RotatingFile | None:
    wanted = config.server["log"]
    if not wanted["file"]:
        return None
    return RotatingFile(config.home / "logs" / wanted["file"], Rotation.of(wanted))


def _keys(config: Config) -> tuple[Keys, str]:
    try:
        return keys_of(config.server, config.home)
    except OSError as error:
        place = error.filename or config.home / "key"  # a full disk names no file
        raise ConfigError(f"{place}: {error.strerror}") from None
    except ValueError as error:
        raise ConfigError(str(error)) from None


def _bind(host: str, port: int) -> list[socket.socket]:
    where = f"port {port} on {host or 'every address'}"
    try:
        return bind(host, port)
    except OSError as error:
        match error.errno:
            case _ if isinstance(error, socket.gaierror):
                where, hint = host, "is no address of this machine; try --host 127.0.0.1"
            case errno.EADDRINUSE:
                hint = "is in use: is yaa running already? Another: --port N, or --port 0 for any"
            case errno.EACCES:
                hint = "is reserved for the system; take one above 1023 with --port N"
            case errno.EADDRNOTAVAIL:
                hint = "cannot be had: this machine does not have that address; see --host"
            case _:
                hint = f"cannot be had: {error.strerror}"
        kind = Unavailable if error.errno in PASSING else ConfigError
        raise kind(f"{where} {hint}") from None


if __name__ == "__main__":
    sys.exit(main())
