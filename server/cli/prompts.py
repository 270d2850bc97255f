"""Prompts that other servers offer, in `chat`: `/server:prompt`, shown before it is sent."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from ..tools.tool_source import ToolSource
from .terminal import Terminal, on_one_line

Prompt = tuple[ToolSource, str, Any]  # (where it is from, the name of its server, what that lists)


class Prompts:
    """The prompts of all servers."""

    def __init__(
        self, sources: Sequence[ToolSource], loop: asyncio.Runner, terminal: Terminal
    ) -> None:
        self._sources, self._loop, self._terminal = sources, loop, terminal

    def show(self) -> None:
        """Print every prompt with its arguments."""
        known = self._known()
        for word, (_, _, prompt) in known.items():
            names = [each["name"] for each in prompt["arguments"]]
            about = prompt.get("title") or prompt.get("description") or ""
            self._line("  ".join(filter(None, (" ".join([f"/{word}", *names]), about))))
        if not known:
            self._line("no tool server has prompts", "dim")

    def text(self, word: str, rest: str) -> str:
        """Return the text of the prompt `word` if the person wants to send it, "" otherwise.

        `rest`: its first argument; others that it needs are asked for. Raises Problem.
        """
        if (known := self._known().get(word)) is None:
            self._line(f"/{word} is not known; /prompts lists what is", "red")
            return ""
        source, server, prompt = known
        values: dict[str, str] = {}
        try:
            for number, each in enumerate(prompt["arguments"]):
                value = rest if number == 0 else ""
                if not value and each["required"]:
                    value = self._terminal.ask(f"{on_one_line(each['name'])}: ").strip()
                if value:
                    values[each["name"]] = value
            answer = self._loop.run(source.prompt(server, prompt["name"], values))
            text = "\n\n".join(message["text"] for message in answer["messages"])
            for line in text.splitlines():
                self._line(f"  {line}", "dim")
            agreed = self._terminal.ask("Send this? [Y/n] ").strip().lower() in ("", "y", "yes")
        except (EOFError, KeyboardInterrupt):
            return ""
        return text if agreed else ""

    def _known(self) -> dict[str, Prompt]:
        """Return the prompts by the word that sends each; servers that fail are named."""
        prompts: dict[str, Prompt] = {}
        listed = [
            (each, about) for each in self._sources for about in self._loop.run(each.prompts())
        ]
        for source, about in listed:
            if "problem" in about:
                self._line(f"{about['name']}: {about['problem']}", "red")
            for prompt in about.get("prompts", ()):
                word = "-".join(f"{about['name']}:{prompt['name']}".split())
                prompts.setdefault(word, (source, about["name"], prompt))
        return prompts

    def _line(self, text: str, style: str = "") -> None:
        self._terminal.line(on_one_line(text), style)
