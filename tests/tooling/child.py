"""Servers in child processes: started, waited for by what they print, ended by their pid.

And `Yaa`, the server under test as its users start it: `python3 -m server`.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from server.extensions import present

from . import forks, patience, tools


def _without_keys(env: Mapping[str, str]) -> dict[str, str]:
    """Leave out the keys of whoever runs the tests: with one a server would ask its vendor."""
    return {name: value for name, value in env.items() if not name.endswith("_API_KEY")}


class Child:
    """A process in a group of its own, whose output is read as it comes."""

    def __init__(
        self,
        command: list[str],
        *,
        keep_input: bool = False,
        env: dict[str, str] | None = None,
        cwd: Path = tools.ROOT,
    ) -> None:
        self._command = command
        self._said: list[str] = []
        self._more = threading.Condition()
        self._ended = False
        variables = {**_without_keys(os.environ), "PYTHONUNBUFFERED": "1", **(env or {})}
        self.process: subprocess.Popen[str] | forks.Fork
        if forks.can_fork(command, variables, cwd):
            self.process = forks.Fork(
                command,
                variables,
                keep_input=keep_input,
                joined=True,
                new_session=True,
                text=True,
            )
        else:
            self.process = subprocess.Popen(
                command,
                cwd=cwd,
                env=variables,
                stdin=subprocess.PIPE if keep_input else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                start_new_session=True,
            )
        self._reader = threading.Thread(target=self._read, name="child-output")
        self._reader.start()

    @property
    def output(self) -> str:
        with self._more:
            return "\n".join(self._said)

    def wait_for(self, pattern: str, seconds: float) -> re.Match[str]:
        """The first line that matches. Raises RuntimeError, with all that was said, if the child
        ends or the time, of an idle machine, is up before there is one."""
        found: list[re.Match[str]] = []

        def matched() -> bool:
            found.extend(match for line in self._said if (match := re.search(pattern, line)))
            return bool(found) or self._ended

        with self._more:
            in_time = self._more.wait_for(matched, seconds)
        if not in_time:
            more_s = patience.seconds(seconds) - seconds
            with self._more:
                self._more.wait_for(matched, more_s)
        if not found:
            said = self.output
            self.kill()
            raise RuntimeError(f"no line like {pattern} from {self._command}:\n{said}")
        return found[0]

    def kill(self) -> None:
        """SIGKILL to the whole group, at once: as a power cut would do it."""
        self._end(signal.SIGKILL)

    def stop(self, seconds: float = 10) -> int:
        """SIGTERM to the process, SIGKILL to what is left after `seconds`; the exit code."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(seconds)
            except subprocess.TimeoutExpired:
                pass
        self._end(signal.SIGKILL)
        return self.process.wait()

    def _end(self, number: signal.Signals) -> None:
        try:
            os.killpg(self.process.pid, number)
        except ProcessLookupError:
            pass  # the group is gone already
        self.process.wait()
        self._reader.join()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                pipe.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            with self._more:
                self._said.append(line.rstrip("\n"))
                self._more.notify_all()
        with self._more:
            self._ended = True
            self._more.notify_all()


class Yaa:
    """The server as a process: `with Yaa(config) as yaa:`.

    config   a configuration file's content, laid over the defaults
    home     its home folder; a fresh one that is removed at the end, if none is given
    command  how it is started, in folder `cwd` and with `env`, if not from this checkout
    patient  whether to wait until it is ready, and not only for its link
    at_once  whether the demo model answers without pauses: a page is drawn for each piece
    file     its configuration file
    url      http://127.0.0.1:PORT, without a slash at the end
    key      the API key that it made
    link     an address that signs a browser in, as often as a walk needs it: what the server prints
             is good once
    """

    def __init__(
        self,
        config: dict[str, Any] | None = None,
        *,
        home: Path | None = None,
        arguments: tuple[str, ...] = (),
        command: list[str] | None = None,
        cwd: Path = tools.ROOT,
        env: dict[str, str] | None = None,
        patient: bool = True,
        at_once: bool = False,
    ) -> None:
        asks = command or home or env or (config or {}).get("server", {}).get("providers")
        if not asks and "demo" not in present():
            raise unittest.SkipTest("its model is the demo, which is not there")
        self._env, self._patient = env, patient
        if at_once and "demo" in present():
            self._env = {**(env or {}), "YAA_SERVER__DEMO__PAUSE_S": "0"}
        self._folder = tempfile.TemporaryDirectory(prefix="yaa-test-")
        self.home = home or Path(self._folder.name) / "home"
        self.file = Path(self._folder.name) / "config.json"
        self.file.write_text(json.dumps(config or {}))
        self._command = [*(command or [sys.executable, "-m", "server"]), "--home", str(self.home)]
        self._command += ["--port", "0", "--config", str(self.file), "--print-link", *arguments]
        self._cwd = cwd
        self.child: Child | None = None
        self.url = self.key = self.link = ""

    def __enter__(self) -> Yaa:
        try:
            self.child = Child(self._command, cwd=self._cwd, env=self._env)
            found = self.child.wait_for(r"(https?://[^/\s]+)/#code=(\S+)", 60)
            if self._patient:
                self.until_ready()
        except BaseException:
            self._folder.cleanup()
            raise
        self.url, self.key = found[1], (self.home / "key").read_text().strip()
        self.link = f"{self.url}/#key={self.key}"
        return self

    def __exit__(self, *_: Any) -> None:
        if self.child:
            self.child.stop()
        self._folder.cleanup()

    def until_ready(self) -> None:
        """Its sandbox is proven and its tools are loaded; requests would wait for that too."""
        assert self.child is not None
        self.child.wait_for(r"^  ready ", 60)

    def kill(self) -> None:
        """Ends it as a power cut would: nothing is flushed, nobody is told."""
        assert self.child is not None
        self.child.kill()
