"""`chat` and `here` on a real terminal: what a paste sends, and what keys typed ahead answer."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
import unittest

from ..bench.peers import START_S
from ..tooling import patience, tools
from .test_overlay import Case, shell

PROMPT = "\n> "
MODES = re.compile(r"\x1b\[\?2004[hl]|\r")
MARKED = "\x1b[200~{}\x1b[201~"


class OnATerminal(Case):
    """A conversation of which only the keys and what is shown are known."""

    def start(self, *arguments: str, cwd: str = "", width: int = 80, **env: str) -> None:
        self.keys, theirs = pty.openpty()
        self.addCleanup(os.close, self.keys)
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
        known = {"PYTHONPATH": str(tools.ROOT), "TERM": "xterm", "PYTHONIOENCODING": "utf-8"}
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "server", *arguments, "--home", str(self.home)],
            cwd=self.base / cwd if cwd else self.base,
            env={**os.environ, **known, **env},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.process, self.shown = process, ""

    def type(self, text: str) -> None:
        os.write(self.keys, text.encode())

    def until(self, pattern: str) -> str:
        """Read on until the pattern is shown, and return what was."""
        deadline, said, shown = time.monotonic() + patience.seconds(START_S), b"", ""
        while not re.search(pattern, shown):
            self.assertLess(time.monotonic(), deadline, shown)
            if not select.select([self.keys], [], [], 1)[0]:
                continue
            try:
                said += os.read(self.keys, 65536)
            except OSError:
                self.fail(f"it has ended: {shown}")
            shown = MODES.sub("", said.decode(errors="replace"))
        self.shown += shown
        return shown

    def kept(self, name: str) -> list[dict[str, str]]:
        messages: list[dict[str, str]] = json.loads((self.base / name).read_text())["messages"]
        return messages


class Pastes(OnATerminal):
    def test_a_paste_is_one_message(self) -> None:
        """Marked or not, with readline or without: several lines are one message."""
        text = "bench tokens=2 delay_us=0\ry\rthanks 你"
        for term, pasted in (("xterm", (MARKED.format(text), text)), ("dumb", (text,))):
            self.start("chat", f"{term}.json", TERM=term)
            self.until(PROMPT)
            for keys in pasted:
                self.type(f"{keys}\r")
                self.until(r"@\d+@ *\n(.*\n)*> ")
            self.type("/exit\r")
            self.process.wait(patience.seconds(START_S))
            messages = self.kept(f"{term}.json")
            said = [each["content"] for each in messages if each["role"] == "user"]
            self.assertEqual(said, [text.replace("\r", "\n")] * len(pasted))

    def test_keys_typed_ahead_answer_no_approval(self) -> None:
        settings = json.loads((self.home / "config.json").read_text())
        del settings["session"]
        (self.home / "config.json").write_text(json.dumps(settings))
        delay_us = round(patience.seconds(0.4) * 1e6)  # in which keys are typed ahead
        order = shell("echo ran").replace("=3 delay_us=0", f"=2 delay_us={delay_us} turns=2")
        self.start("chat", "talk.json", "--permission", "by_rules")
        self.until(PROMPT)
        kinds = ("y\r", MARKED.format("please list\ry\rthanks"), "\x1b[200~y\r", "y")
        for ahead in kinds:
            self.type(f"{order}\r")
            self.until(r"\[y\]es")
            self.type("y\r")
            self.until(r"@\d+@")  # it speaks; then it asks again
            self.type(ahead)
            self.until(r"not taken as its answer(.*\n)*.*\[y\]es")
            self.type("n\r")
            self.until("Why not")
            self.type("enough\r")
            self.until(PROMPT)
        self.type("/exit\r")
        self.process.wait(patience.seconds(START_S))
        results = [each["content"] for each in self.kept("talk.json") if each["role"] == "tool"]
        self.assertEqual(["enough" in each for each in results], [False, True] * len(kinds))


if __name__ == "__main__":
    unittest.main()
