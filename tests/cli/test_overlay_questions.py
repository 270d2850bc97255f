"""What `here` asks before something goes that no tree has, with a real workspace."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any, cast

from server.cli.overlay import OverlayChanges
from server.cli.terminal import Terminal
from server.json_types import Session
from server.workspace.operations import Operations
from server.workspace.scan import Limits

from ..workspace.made import Case, read, write


class Answers:
    """A terminal at which a person gives these answers; `said` has questions and lines."""

    def __init__(self, *answers: str) -> None:
        self._answers: Iterator[str] = iter(answers)
        self.said: list[str] = []

    def ask(self, question: str) -> str:
        self.said.append(question)
        return next(self._answers)

    def line(self, text: str, _style: str = "") -> None:
        self.said.append(text)


class Here(Case):
    def setUp(self) -> None:
        super().setUp()
        self.run_ = self.operations(Limits(file_bytes=50), overlay=True)
        self.loop = self.enterContext(asyncio.Runner())
        write(self.folder, {"big": "x" * 100, "gone": "x" * 100, "a": "1"})
        self.run_.perform("refresh", {"session": "s"})
        acted = {"role": "tool", "tool_call_id": "c", "content": ""}
        self.session = cast(Session, {"id": "s", "messages": [acted], "workspace": {}})

    def changes(self, *answers: str) -> tuple[OverlayChanges, Answers]:
        class Opened:
            def __init__(self, operations: Operations) -> None:
                self.operations = operations

            async def request(self, name: str, **arguments: Any) -> Any:
                return self.operations.perform(name, arguments)

        terminal = Answers(*answers)
        opened = Opened(self.run_)
        shown = cast(Terminal, terminal)
        return OverlayChanges(lambda _: opened, self.loop, shown, asks=True), terminal

    def test_what_the_folder_alone_has_goes_after_a_question(self) -> None:
        write(self.files, {"big": "small"})
        (self.files / "gone").unlink()
        for answers in (("n", "n"), ("y", "y")):
            changes, terminal = self.changes(*answers)
            changes.show(self.session)
            listed = [line for line in terminal.said if "what the folder has is recorded" in line]
            self.assertEqual(len(listed), 2, terminal.said)
            there = read(self.folder)
            changes.apply(self.session, "big gone")
            if answers[0] == "n":
                self.assertEqual(read(self.folder), there)
        self.assertEqual(read(self.folder), read(self.files))

    def test_what_a_run_could_not_bring_back_is_asked_for_once(self) -> None:
        first = self.run_.perform("record", {"session": "s"})["after"]
        write(self.files, {"a": "x" * 100})
        restored = self.run_.perform("restore", {"session": "s", "tree": first})
        self.session["workspace"] = {"restored": {**restored, "goal": first}}
        for answer, text in (("n", "x" * 100), ("y", "1")):
            changes, terminal = self.changes(answer)
            changes.offer(self.session)
            changes.offer(self.session)
            self.assertEqual(len([line for line in terminal.said if "not brought back" in line]), 1)
            self.assertEqual((self.files / "a").read_text(), text)


if __name__ == "__main__":
    import unittest

    unittest.main()
