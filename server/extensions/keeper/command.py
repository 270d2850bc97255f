"""The command `keep`: kept sessions of a server, from a terminal.

It asks a server over HTTP, as the page does: the one that runs with this home folder, or another
one with `--server`. A server is needed, since only that runs sessions.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from ...api.auth import home_key
from ...cli.console import read_session
from ...cli.links import find_running
from ...config import Config, ConfigError, expand_path
from ...lib.hidden_characters import written_out
from ...lib.http.sse import Decoder
from ...lib.strict_json import as_list, as_object, dumps, loads
from ...session.fold import Folder
from ...telemetry import log
from ...tools.foreign_text import clean_line

ASK_S = 60.0  # for an answer; a stream sends something more often
SHOWN = 10  # messages of a log
MAX_KEY_FILE = 4_096  # bytes
DONE = ("TEXT_MESSAGE_END", "TOOL_CALL_RESULT", "RUN_ERROR", "RUN_FINISHED", "CUSTOM")


class Refusal(Exception):
    """What a server has refused; the text is for people."""


class Server:
    """The kept sessions of a server. The methods raise Refusal, OSError and HTTPException."""

    def __init__(self, address: str, key: str) -> None:
        self.address, parts = address, urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(f"--server is {address!r}, wanted an address as https://yaa.example")
        self._connect = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._place, self._root, self._key = parts.netloc, parts.path.rstrip("/"), key

    def open(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> HTTPResponse:
        """Send a request, and return the answer to it."""
        sent = {"Content-Type": "application/json", **(headers or {})}
        sent |= {"Authorization": f"Bearer {self._key}"} if self._key else {}
        data = None if body is None else dumps(body).encode("utf-8", "replace")
        peer = self._connect(self._place, timeout=ASK_S)
        with suppress(BrokenPipeError):  # who refuses may close before all of it is sent
            peer.request(method, f"{self._root}/keeper/sessions{path}", data, sent)
        response = peer.getresponse()
        if response.status >= 400:
            text = response.read(1 << 20)
            try:
                problem = as_object(loads(text))
            except ValueError:
                problem = {}
            raise Refusal(str(problem.get("detail") or f"the server answered {response.status}"))
        return response

    def ask(self, method: str, path: str, body: Any = None, base: str = "") -> Any:
        """Send a request, and return the JSON of the answer. `base`: the revision to change."""
        response = self.open(method, path, body, {"If-Match": base} if base else None)
        return loads(response.read(), max_values=1 << 30)

    def pages(self) -> Iterator[Any]:
        """Yield all that is kept, the last changed first."""
        before = ""
        while True:
            page = self.ask("GET", f"?limit=500&before={quote(before)}")
            yield from page["sessions"]
            if not (before := page["next"]):
                return

    def hold_schedule(self, path: str, *, paused: bool) -> None:
        """Hold the schedule of a session, or let it go on; one without stays as it is."""
        response = self.open("GET", path)
        session = loads(response.read(), max_values=1 << 30)
        schedule = as_object(as_object(as_object(session.get("ext")).get("keeper")).get("schedule"))
        if schedule and bool(schedule.get("paused")) != paused:
            schedule["paused"] = paused
            self.ask("PUT", path, session, response.headers["ETag"])


def perform(config: Config, env: Mapping[str, str], options: Namespace) -> int:
    """Perform `keep list`, `add FILE`, `run ID`, `pause ID` or `log ID`; return the exit code."""
    log.setup("error")
    action: Callable[[Server, Namespace], None] = ACTIONS[options.action]
    if (options.action != "list") != bool(options.name):
        wanted = "no name" if options.action == "list" else "a name behind it"
        raise ConfigError(f"keep {options.action} takes {wanted}")
    server = _server(config, options)
    try:
        action(server, options)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # who reads what is printed has gone
        raise
    except (Refusal, OSError, HTTPException) as error:
        why = getattr(error, "strerror", "") or str(error) or type(error).__name__
        place = "" if isinstance(error, Refusal) else f"{server.address} does not answer: "
        print(f"yaa: {clean_line(f'{place}{why}')}", file=sys.stderr)
        return 1
    return 0


def _server(config: Config, options: Namespace) -> Server:
    """Return the server that is asked, with its key. Raises ConfigError."""
    if options.key_file:
        file = expand_path(options.key_file, "--key-file")
        try:
            key = file.read_bytes()[:MAX_KEY_FILE].decode("latin-1").strip()
        except OSError as error:
            raise ConfigError(f"--key-file {options.key_file}: {error.strerror}") from None
    elif options.server:
        raise ConfigError("--server needs --key-file, a file with a key of that server")
    else:
        entries = config.server["api_keys"]
        key = home_key(config.home) if config.server["home_key"] or not entries else ""
    if options.server:
        return Server(options.server, key)
    running = find_running(config.home)
    if not running:
        text = "no server runs with this home folder: start one, or name another with --server"
        raise ConfigError(text)
    return Server(running[0].here(), key)


def _list(server: Server, options: Namespace) -> None:
    rows = [*server.pages()]
    if options.json:
        print(dumps({"sessions": rows}))
        return
    for row in rows:
        print(f"{_state(row):<10}{_line(row['id']):<28}  {_line(row.get('title', ''))}".rstrip())
    if not rows:
        print("Nothing is kept here.")


def _state(row: Mapping[str, Any]) -> str:
    if "problem" in row:
        return "unusable"
    if row.get("running"):
        return "runs"
    return "asks" if row.get("waiting") else "queued" if row.get("queued") else "rests"


def _add(server: Server, options: Namespace) -> None:
    session: Any = read_session(options.name)
    stem = "" if options.name == "-" else Path(options.name).stem
    session_id = str(session.get("id") or stem)
    if not session_id:
        raise ConfigError("the session has no id: give it one")
    answer = server.ask("PUT", f"/{quote(session_id, safe='')}", {**session, "id": session_id})
    print(dumps(answer) if options.json else f"{_line(session_id)} is kept.")


def _run(server: Server, options: Namespace) -> None:
    path = f"/{quote(options.name, safe='')}"
    server.hold_schedule(path, paused=False)
    answer = server.ask("POST", f"{path}/run")
    text = "runs." if answer["running"] else "rests: nothing is to be done."
    print(dumps(answer) if options.json else f"{_line(options.name)} {text}")


def _pause(server: Server, options: Namespace) -> None:
    path = f"/{quote(options.name, safe='')}"
    answer = server.ask("POST", f"{path}/stop")
    server.hold_schedule(path, paused=True)
    text = "still runs: ask again." if answer["running"] else "rests, until `keep run`."
    print(dumps(answer) if options.json else f"{_line(options.name)} {text}")


def _log(server: Server, options: Namespace) -> None:
    path = f"/{quote(options.name, safe='')}"
    session = server.ask("GET", path)
    shown: dict[str, None] = {}
    messages = [each for each in as_list(session["messages"]) if not each.get("open")]
    for message in messages[:-SHOWN]:
        shown[str(message.get("id"))] = None
    _print_new(session, shown, as_json=options.json)
    if options.follow:
        _follow(server, path, shown, as_json=options.json)


def _follow(server: Server, path: str, shown: dict[str, None], *, as_json: bool) -> None:
    """Print messages as they come, until the server ends the stream."""
    session: Any = {"messages": []}
    folder, decoder = Folder(session), Decoder()
    response = server.open("GET", f"{path}/events")
    while data := response.read1():
        for frame in decoder.feed(data):
            event = loads(frame.data, max_values=1 << 30)
            folder.apply(event)
            if event["type"] in DONE:
                folder.flush()
                _print_new(session, shown, as_json=as_json)


def _print_new(session: Any, shown: dict[str, None], *, as_json: bool) -> None:
    """Print the whole messages of a session that were not shown yet."""
    for message in session["messages"]:
        name = str(message.get("id"))
        if name in shown or message.get("open"):
            continue
        shown[name] = None
        if as_json:
            print(dumps(message), flush=True)
            continue
        content = message.get("content") or ""
        text = content if isinstance(content, str) else dumps(content)
        lines = [written_out(text)] if text else []
        for call in as_list(message.get("tool_calls")):
            about = as_object(call.get("function"))
            lines.append(_line(f"{about.get('name')} {about.get('arguments')}"))
        print(f"{_line(str(message.get('role')))}: " + "\n".join(lines), flush=True)


def _line(text: str) -> str:
    return written_out(clean_line(text))[:200]


ACTIONS = {"list": _list, "add": _add, "run": _run, "pause": _pause, "log": _log}
