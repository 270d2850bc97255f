"""Starts a walk (a .mjs file of this folder) in a browser, and does what it asks for meanwhile.

A test is a `Both`: its `check` is called once for each browser. Import this module, and not the
class, or unittest takes it for a test of yours.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import unittest
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..tooling import tools

SHOTS = tools.CACHE / "screenshots"
LIMIT_S = 240.0  # of a walk: 50 on an idle machine

PAGE = tools.ROOT / "client" / "index.html"
NEEDED = (tools.package("puppeteer-core"), tools.package("axe-core"))
# What browsers themselves say of a request that failed.
REQUEST_FAILED = ("Failed to load resource", "NetworkError", "Cross-Origin Request Blocked")

Complaint = dict[str, str]  # the step, and the text


@dataclass
class Walked:
    """What came of a walk: its steps in order, what the page complained of, what stopped it."""

    steps: dict[str, dict[str, Any]] = field(default_factory=dict)
    complaints: list[Complaint] = field(default_factory=list)
    error: str = ""


class Both(unittest.TestCase):
    """A walk in two browsers."""

    maxDiff = None

    def check(self, browser: str) -> None:
        raise NotImplementedError

    def walk(
        self,
        name: str,
        browser: str,
        job: Mapping[str, Any],
        asks: Mapping[str, Callable[..., Any]] | None = None,
        expected: Callable[[Complaint], bool] = lambda complaint: False,
    ) -> Walked:
        """Has <name>.mjs walked to its end; the console says nothing but what is expected."""
        walked = walk(f"{name}.mjs", browser, {"label": f"{browser}-{name}", **job}, asks or {})
        self.assertEqual(walked.error, "", walked.complaints[:5])
        loud = [one for one in walked.complaints if not expected(one)]
        self.assertEqual(loud, [], "the console is quiet")
        return walked

    @tools.needs(*NEEDED, tools.browser("chromium"))
    def test_chromium(self) -> None:
        self.check("chromium")

    @tools.needs(*NEEDED, tools.browser("firefox"))
    def test_firefox(self) -> None:
        self.check("firefox")


def failed(complaint: Complaint) -> bool:
    """Whether it is a browser's own word on a request that failed."""
    return any(words in complaint["text"] for words in REQUEST_FAILED)


def walk(
    script: str, browser: str, job: Mapping[str, Any], asks: Mapping[str, Callable[..., Any]]
) -> Walked:
    """Runs tests/browser/<script> to its end. `asks` are the things it may ask for by name."""
    node, program = tools.program_node().path, tools.browser(browser).path
    assert node is not None
    assert program is not None
    SHOTS.mkdir(parents=True, exist_ok=True)
    for old in SHOTS.glob(f"{job['label']}-*.png"):
        old.unlink()
    whole = {"browser": browser, "executable": str(program), "shots": str(SHOTS), **job}
    process = subprocess.Popen(
        [str(node), str(tools.ROOT / "tests" / "browser" / script), json.dumps(whole)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    # Terminated, the driver takes its browser along, which is in a process group of its own.
    late = threading.Timer(LIMIT_S, process.terminate)
    late.start()
    try:
        return _follow(process, asks)
    finally:
        late.cancel()
        _end(process)


def _follow(process: subprocess.Popen[str], asks: Mapping[str, Callable[..., Any]]) -> Walked:
    walked = Walked()
    other: list[str] = []
    ended = False
    assert process.stdin is not None
    assert process.stdout is not None
    for line in process.stdout:
        message = _message(line)
        if message is None:
            other.append(line.rstrip())
        elif "step" in message:
            walked.steps[message["step"]] = message
        elif "ask" in message:
            answer = asks[message["ask"]](*message["given"])
            process.stdin.write(json.dumps({"ok": True, "answer": answer}) + "\n")
            process.stdin.flush()
        elif "done" in message:
            walked.complaints, walked.error = message["complaints"], message["error"]
            ended = True
    if not ended:
        walked.error = "the walk did not end: " + "\n".join(other[-30:])
    return walked


def _message(line: str) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _end(process: subprocess.Popen[str]) -> None:
    """The driver has closed its browser by now, or never will."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe:
            pipe.close()
