"""Has a walk (a .mjs file of this folder) done in a browser, and does what it asks for meanwhile.

One browser of each kind serves all walks of this process, each in a context of its own (host.mjs);
for the walks that watch requests there is another one of each, which tells of them.
A test is a `Both`: its `check` is called once for each browser. The walks of a `OneEngine` show
what engines have in common: in Firefox they are part of `python3 -m tests soak`. Import this
module, and not the classes, or unittest takes them for tests of yours. Of the walks in Firefox the
suite does one half, another one with each commit.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import signal
import subprocess
import unittest
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..tooling import patience, tools, turns
from ..tooling.soak import LATE, SECOND_ENGINE, SLOW
from .costs import COSTS

FOLDER = tools.ROOT / "tests" / "browser"
SHOTS = tools.CACHE / "screenshots"
LIMIT_S = 240.0  # of a walk: 50 on an idle machine
PAGE_S = 40.0  # for a page to do one thing
END_S = 10.0  # for a browser to close
OWN = ("flags", "prefs", "insecure", "forbidden", "alone")  # of a browser that serves one walk

# What a walk has that hears of each request: telling of them is dear.
WATCHES = re.compile(r'"(request|response)"|waitForRe[qs]|RequestInterception|CacheEnabled')

TIMES = "typableMs"  # what a walk names that asks when a person could begin to type

PAGE = tools.ROOT / "client" / "index.html"
# Walks with the service worker, which takes all files as it is installed: 2 s of CPU each time.
WITH_WORKER = frozenset(
    ("bad-line", "bad-line-walk", "history", "installed-page", "main-flow", "page", "sign-in")
)
# Walks about what Chromium itself adds to pages: an installed page, its offers and questions, files
# that are kept, tabs that are closed, what it keeps pages from, and what a page takes in it.
WHOLE = WITH_WORKER | {
    *("data-loss", "drafts", "import-export", "injection", "preview-leaks", "private-network"),
    *("film", "saved-page", "saved-session", "screenshots", "tab-stories", "voice", "widget"),
}
PICTURES = "TESTS_PICTURES"  # set: a picture is taken of each place that a walk names

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
    """A walk in two browsers: of storage, files, frames, keys, media, workers, locks or streams."""

    maxDiff = None
    one_engine = False

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
        if SECOND_ENGINE not in os.environ:
            if self.one_engine:
                self.skipTest("Firefox walks it in `python3 -m tests soak`")
            if not turns.plays(self.__module__, 2, COSTS):
                self.skipTest(turns.ELSEWHEN)
        self.check("firefox")


class OneEngine(Both):
    """A walk that the suite does in Chromium alone."""

    one_engine = True


def failed(complaint: Complaint) -> bool:
    """Whether it is a browser's own word on a request that failed."""
    return any(words in complaint["text"] for words in REQUEST_FAILED)


def program_for(name: str, browser: str, is_alone: bool) -> tools.Tool:
    """Choose what a walk is done in: without a whole browser around it a page takes less."""
    in_shell = browser == "chromium" and not is_alone and name not in WHOLE
    return tools.shell() if in_shell else tools.browser(browser)


def walk(
    script: str, browser: str, job: Mapping[str, Any], asks: Mapping[str, Callable[..., Any]]
) -> Walked:
    """Runs tests/browser/<script> to its end. `asks` are the things it may ask for by name."""
    file = FOLDER / script
    is_alone = any(job.get(key) for key in OWN)
    program = program_for(file.stem, browser, is_alone).path
    assert program is not None
    SHOTS.mkdir(parents=True, exist_ok=True)
    for old in SHOTS.glob(f"{job['label']}-*.png"):
        old.unlink()
    slow = int(os.environ.get(SLOW, "1"))
    whole: dict[str, Any] = {"late": os.environ.get(LATE), "slow": slow, "limit_s": LIMIT_S}
    whole |= {"browser": browser, "executable": str(program), "shots": str(SHOTS), **job}
    whole |= {"script": script, "patience_ms": round(patience.seconds(PAGE_S) * slow * 1000)}
    whole["limit_s"] *= slow
    text = file.read_text() if file.exists() else ""
    requests = bool(WATCHES.search(text))
    whole |= {"requests": requests, "shoots": PICTURES in os.environ}
    whole |= {"worker": file.stem in WITH_WORKER, "times": TIMES in text}
    if is_alone:
        host = Host()
        try:
            return host.walk({**whole, "alone": True}, asks)
        finally:
            host.close()
    kind = (str(program), requests)
    host = _hosts.pop(kind) if kind in _hosts else Host()
    try:
        walked = host.walk(whole, asks)
    except BaseException:
        host.close()
        raise
    if walked.error:  # the next walk shall not suffer from what this one left
        host.close()
    else:
        _hosts[kind] = host
    return walked


class Host:
    """The process of a browser: a job goes in, and what its walk says comes out."""

    def __init__(self) -> None:
        node = tools.program_node().path
        assert node is not None
        self._process = subprocess.Popen(
            [str(node), str(FOLDER / "host.mjs")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def walk(self, job: Mapping[str, Any], asks: Mapping[str, Callable[..., Any]]) -> Walked:
        # Terminated, it takes its browser along, which is in a process group of its own.
        with patience.Watch(job["limit_s"], self._process.terminate):
            return self._follow(job, asks)

    def close(self) -> None:
        """It closes its browser when nobody can give it a job any more."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(patience.seconds(END_S))
        except subprocess.TimeoutExpired:
            self._process.terminate()
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()
        self._process.stdout.close()

    def _follow(self, job: Mapping[str, Any], asks: Mapping[str, Callable[..., Any]]) -> Walked:
        walked = Walked()
        other: list[str] = []
        assert self._process.stdout is not None
        self._say(job)
        for line in self._process.stdout:
            message = _message(line)
            if message is None:
                other.append(line.rstrip())
            elif "step" in message:
                walked.steps[message["step"]] = message
            elif "ask" in message:
                answer = asks[message["ask"]](*message["given"])
                self._say({"ok": True, "answer": answer})
            elif "done" in message:
                walked.complaints, walked.error = message["complaints"], message["error"]
                return walked
        walked.error = "the walk did not end: " + "\n".join(other[-30:])
        return walked

    def _say(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()


_hosts: dict[tuple[str, bool], Host] = {}  # by its program, and whether requests are heard


@atexit.register
def _close() -> None:
    while _hosts:
        _hosts.popitem()[1].close()


def _message(line: str) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
