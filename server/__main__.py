"""The command line: `python3 -m server` serves, `run` is a filter over sessions, `chat` talks.

In the walk: the front door. It finds the configuration, says what it found in words that a person
can act on, and hands over to `app` or `console`. The rule of the file: every way to fail at start
ends in one sentence on stderr with the next step, and exit code 2.
"""

from __future__ import annotations

import argparse
import asyncio
import errno
import os
import signal
import socket
import sys
import time
import webbrowser
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from . import VERSION, doctor, log
from .api.auth import Keys, home_key
from .app import App, allow_files, serve, strongest
from .config import Config, ConfigError, home_folder, load, make_home
from .console import (
    BAD_INPUT,
    FAILED,
    INTERRUPTED,
    Chat,
    explain,
    read_session,
    run_once,
    to_run,
    write_session,
)
from .errors import Problem
from .greeting import describe, links
from .metrics import Metrics
from .pack import pack
from .rotation import Rotated, Rotation
from .sandbox.probe import Proof
from .terminal import Terminal
from .tools.check import check_file
from .tools.runner import Runner
from .wire.listener import bind
from .wire.tls import Certificate, reason
from .workers import Worker, Workers

EPILOG = """\
Settings come from config.default.json, then config.json in the home folder (or --config), then
YAA_* variables (YAA_PORT=80, YAA_SERVER__LIMITS__MAX_RUNS=4), then the options above.

`run` exits with 0 when the session is completed, 3 when it waits for an answer (or was stopped),
1 when it failed, and 2 when the session or the configuration cannot be used. `tools check` exits
with 0 when every tool of the file can be used, `doctor` when nothing is missing, else with 1."""


WORKERS_END_S = 15.0  # beyond the grace of their tools, before they are killed


def main(arguments: list[str] | None = None) -> int:
    """Everything `python3 -m server` does. Returns the exit code."""
    options = _options(arguments)
    env = os.environ
    try:
        config = load(
            home_folder(options.home, env),
            _config_file(options.config, env),
            env,
            {
                "server.host": options.host,
                "server.port": options.port,
                "server.workers": options.workers,
                "server.tls.cert": options.cert,
                "server.tls.key": options.key,
            },
        )
        if options.command == "run":
            return _run(config, env, options)
        if options.command == "chat":
            return _chat(config, env, options)
        if options.command == "pack":
            return _pack(Path(options.file))
        if options.command == "doctor":
            return asyncio.run(_doctor(config, env))
        if options.command == "tools":
            return _check_tools(config, options)
        return _serve(config, env, options)
    except ConfigError as error:
        for problem in error.problems:
            print(f"yaa: {problem}", file=sys.stderr)
    except Problem as problem:
        print(f"yaa: {explain(problem)}", file=sys.stderr)
    return BAD_INPUT


def _options(arguments: list[str] | None) -> argparse.Namespace:
    unset = argparse.SUPPRESS  # an option after the command must not undo the one before it
    common = argparse.ArgumentParser(add_help=False, argument_default=unset)
    common.add_argument("--home", metavar="FOLDER", help="where everything is kept (~/.yaa)")
    common.add_argument("--config", metavar="FILE", help="read this instead of its config.json")
    parser = argparse.ArgumentParser(
        prog="yaa" if __package__ == "yaa" else "python3 -m server",
        description="yaa, a self-hosted AI agent. Without a command it serves until it is stopped.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[common],
    )
    parser.add_argument("--host", metavar="ADDRESS", help="listen here (127.0.0.1)")
    parser.add_argument("--port", metavar="N", type=int, help="and here (12345; 0: any free one)")
    parser.add_argument("--workers", metavar="N", type=int, help="processes that serve (1)")
    parser.add_argument("--cert", metavar="FILE", help="serve HTTPS with this certificate (PEM)")
    parser.add_argument("--key", metavar="FILE", help="and its key, if that is not in it")
    parser.add_argument("--check", action="store_true", help="check the configuration and stop")
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    parser.add_argument("--version", action="version", version=f"yaa {VERSION}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    run = commands.add_parser("run", parents=[common], help="run a session: JSON in, JSON out")
    run.add_argument("file", nargs="?", help="a session (default: standard input)")
    run.add_argument(
        "--say", metavar="TEXT", help="a message to add; without a file, to begin with"
    )
    forms = run.add_mutually_exclusive_group()
    forms.add_argument("--events", action="store_true", help="write its events, one JSON a line")
    forms.add_argument("--text", action="store_true", help="write the answer alone, in words")
    tools = commands.add_parser("tools", parents=[common], help="look at your own tools")
    tools.add_argument("action", choices=["check"], help="say what a model will see, or why not")
    tools.add_argument("file", help="a Python file of tools; it need not be in the home folder yet")
    one = commands.add_parser("pack", parents=[common], help="put all of yaa into one file")
    one.add_argument("file", nargs="?", default="yaa.pyz", help="the file to write (yaa.pyz)")
    commands.add_parser("doctor", parents=[common], help="what works here, what is missing")
    chat = commands.add_parser("chat", parents=[common], help="talk on this terminal")
    chat.add_argument("file", nargs="?", help="a session to go on with")
    return parser.parse_args(arguments, argparse.Namespace(home=None, config=None))


def _config_file(option: str | None, env: Mapping[str, str]) -> Path | None:
    named = option or env.get("YAA_CONFIG")
    return Path(named).expanduser() if named else None


def _serve(config: Config, env: Mapping[str, str], options: argparse.Namespace) -> int:
    server = config.server
    log.setup(server["log"]["level"], style=server["log"]["format"], file=_log_file(config))
    if options.check:
        certificate(server["tls"])
        asyncio.run(_check(config, env))
        return 0
    make_home(config.home)
    allow_files(server["limits"])
    entries = server["api_keys"]
    made = "" if entries or not server["auth_required"] else _home_key(config.home)
    if made:
        entries = [{"name": "home", "key": made}]
    keys = Keys(entries, required=server["auth_required"])
    tls = certificate(server["tls"])
    sockets = _bind(server["host"], server["port"])
    scheme = "https" if tls else "http"
    addresses = links(scheme, server["host"], sockets[0].getsockname()[1], made)
    metrics = Metrics(server["workers"])
    listener = Listener(config, env, keys, sockets, addresses, tls, metrics, opens=options.open)
    patience_s = server["limits"]["disconnect_grace_s"] + WORKERS_END_S
    with ExitStack() as held:
        for sock in sockets:
            held.enter_context(sock)
        if server["workers"] == 1:
            return listener.serve(None)
        listener = replace(listener, proof=asyncio.run(_proof(config, env)))
        return Workers(server["workers"], sockets, patience_s).run(listener.serve)


def _log_file(config: Config) -> Rotated | None:
    wanted = config.server["log"]
    if not wanted["file"]:
        return None
    return Rotated(config.home / "logs" / wanted["file"], Rotation.of(wanted))


@dataclass(frozen=True)
class Listener:
    """What one process serves; `links` is what to tell a person to open."""

    config: Config
    env: Mapping[str, str]
    keys: Keys
    sockets: list[socket.socket]
    links: list[str]
    tls: Certificate | None
    metrics: Metrics
    opens: bool
    proof: Proof | None = None  # of the sandbox, from the parent of several workers

    def serve(self, worker: Worker | None) -> int:
        """Until it is told to stop. Of several workers the first one speaks for all."""
        asyncio.run(self._serve(worker))
        return 0

    async def _serve(self, worker: Worker | None) -> None:
        speaks = worker is None or (worker.number == 0 and worker.first)
        began = time.monotonic()
        app = App(
            *(self.config, self.env),
            metrics=self.metrics.row(worker.number if worker else 0),
            proof=self.proof,
        )

        def listening() -> None:  # the page can be opened: what it asks for next waits
            if speaks:
                _tell(f"yaa {VERSION}", "", *self.links, "")
                if self.opens:
                    webbrowser.open(self.links[-1])

        def ready() -> None:
            if speaks:
                spent = time.monotonic() - began
                _tell(*describe(app), f"  ready    after {spent:.1f} s")

        lifeline = None if worker is None else worker.lifeline
        try:
            await serve(
                *(app, self.keys, self.sockets, listening, ready), tls=self.tls, lifeline=lifeline
            )
        finally:
            await app.close()


def _tell(*lines: str) -> None:
    """What is said at start."""
    with suppress(OSError):  # a full disk, or nobody who reads it
        print("\n".join(lines), flush=True)


async def _proof(config: Config, env: Mapping[str, str]) -> Proof:
    """Which sandbox there is, proven once for all workers."""
    runner = Runner(config.home)
    await runner.open(config.server["sandbox"], strongest(env))
    runner.close()
    return runner.sandbox


async def _check(config: Config, env: Mapping[str, str]) -> None:
    async with App(config, env) as app:
        head = [f"yaa {VERSION}", ""]
        print("\n".join([*head, *describe(app), "", "The configuration can be used."]))


def _pack(target: Path) -> int:
    try:
        size = pack(target)
    except OSError as error:
        raise ConfigError(f"{target}: {error.strerror}") from None
    print(f"{target}: {size >> 10} KiB; start it with python3 {target}")
    return 0


async def _doctor(config: Config, env: Mapping[str, str]) -> int:
    log.setup("error")
    certificate(config.server["tls"])
    async with App(config, env) as app:
        findings = doctor.examine(app)
    print("\n".join([f"yaa {VERSION}", "", *doctor.lines(findings)]))
    return FAILED if any(found.mark == doctor.MISSING for found in findings) else 0


def _run(config: Config, env: Mapping[str, str], options: argparse.Namespace) -> int:
    """Diagnostics go to stderr only: stdout is the next program's input."""
    log.setup("warning")
    document = to_run(options.file, options.say)
    form = "events" if options.events else "text" if options.text else "session"
    begun = False

    async def main() -> int:
        nonlocal begun
        # As asyncio.run does for SIGINT, which a shell has ignored where it runs us beside itself.
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        async with App(config, env) as app:
            begun = True
            return await run_once(app.agent, document, sys.stdout, form)

    try:
        return asyncio.run(main())
    except (KeyboardInterrupt, asyncio.CancelledError):
        if not begun and form == "session":
            write_session(document, sys.stdout)  # `> session.json` must not lose what it held
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has left; what Python would still flush at exit must not complain (its docs).
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


def _check_tools(config: Config, options: argparse.Namespace) -> int:
    log.setup("error")
    make_home(config.home)
    lines, fine = asyncio.run(check_file(config, Path(options.file).absolute()))
    print("\n".join(lines))
    return 0 if fine else FAILED


def _chat(config: Config, env: Mapping[str, str], options: argparse.Namespace) -> int:
    log.setup("error")
    session = read_session(options.file) if options.file else {"messages": []}
    terminal = Terminal()
    with asyncio.Runner() as runner:
        app = App(config, env)
        runner.run(app.open())
        try:
            for line in (
                f"yaa {VERSION}",
                "",
                *describe(app),
                "",
                "/help lists the commands; Ctrl-C stops a run.",
            ):
                terminal.line(line, "dim")
            return Chat(app.agent, runner, terminal, session).talk()
        finally:
            runner.run(app.close())


def certificate(tls: Mapping[str, str]) -> Certificate | None:
    """What `server.tls` names. Raises ConfigError."""
    if not tls["cert"]:
        return None
    key = Path(tls["key"]).expanduser() if tls["key"] else None
    try:
        return Certificate(Path(tls["cert"]).expanduser(), key)
    except OSError as error:
        files = " and ".join(filter(None, (tls["cert"], tls["key"])))
        raise ConfigError(f"server.tls: {files}: {reason(error)}") from None


def _home_key(home: Path) -> str:
    try:
        return home_key(home)
    except OSError as error:
        raise ConfigError(f"{error.filename}: {error.strerror}") from None
    except ValueError as error:
        raise ConfigError(str(error)) from None


def _bind(host: str, port: int) -> list[socket.socket]:
    where = f"port {port} on {host or 'every address'}"
    try:
        return bind(host, port)
    except socket.gaierror:
        raise ConfigError(f"{host} is no address of this machine; try --host 127.0.0.1") from None
    except OSError as error:
        match error.errno:
            case errno.EADDRINUSE:
                hint = "is in use: is yaa running already? Another: --port N, or --port 0 for any"
            case errno.EACCES:
                hint = "is reserved for the system; take one above 1023 with --port N"
            case errno.EADDRNOTAVAIL:
                hint = "cannot be had: this machine does not have that address; see --host"
            case _:
                hint = f"cannot be had: {error.strerror}"
        raise ConfigError(f"{where} {hint}") from None


if __name__ == "__main__":
    sys.exit(main())
