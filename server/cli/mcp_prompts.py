"""Prompts of MCP servers in `chat`: `/server:prompt`, whose text is shown before it is sent."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from .terminal import Terminal, on_one_line

if TYPE_CHECKING:
    from ..api.mcp import Library


class McpPrompts:
    """The prompts of all servers."""

    def __init__(self, library: Library, loop: asyncio.Runner, terminal: Terminal) -> None:
        self._library, self._loop = library, loop
        self._terminal = terminal

    def show(self) -> None:
        """Print every prompt with its arguments."""
        known = self._known()
        for word, (_, prompt) in known.items():
            names = [each["name"] for each in prompt["arguments"]]
            about = prompt.get("title") or prompt.get("description") or ""
            self._line("  ".join(filter(None, (" ".join([f"/{word}", *names]), about))))
        if not known:
            self._line("no MCP server has prompts", "dim")

    def text(self, word: str, rest: str) -> str:
        """Return the text of the prompt `word` if the person wants to send it, "" otherwise.

        `rest`: its first argument; others that it needs are asked for. Raises Problem.
        """
        if (found := self._known().get(word)) is None:
            self._line(f"/{word} is not known; /prompts lists what is", "red")
            return ""
        server, prompt = found
        values: dict[str, str] = {}
        try:
            for number, each in enumerate(prompt["arguments"]):
                given = rest if number == 0 else ""
                if not given and each["required"]:
                    given = self._terminal.ask(f"{on_one_line(each['name'])}: ").strip()
                if given:
                    values[each["name"]] = given
            told = self._loop.run(self._library.prompt(server, prompt["name"], values))
            text = "\n\n".join(message["text"] for message in told["messages"])
            for line in text.splitlines():
                self._line(f"  {line}", "dim")
            agreed = self._terminal.ask("Send this? [Y/n] ").strip().lower() in ("", "y", "yes")
        except (EOFError, KeyboardInterrupt):
            return ""
        return text if agreed else ""

    def _known(self) -> dict[str, tuple[str, Any]]:
        """Return {word: (server, prompt)}; servers that fail are named."""
        found: dict[str, tuple[str, Any]] = {}
        for about in self._loop.run(self._library.lists("prompts")):
            if "problem" in about:
                self._line(f"{about['name']}: {about['problem']}", "red")
            for prompt in about.get("prompts", ()):
                word = "-".join(f"{about['name']}:{prompt['name']}".split())
                found.setdefault(word, (about["name"], prompt))
        return found

    def _line(self, text: str, style: str = "") -> None:
        self._terminal.line(on_one_line(text), style)
