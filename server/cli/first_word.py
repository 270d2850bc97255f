"""What a command line means whose first word is no command: a question, or a mistake."""

from __future__ import annotations

import difflib
from collections.abc import Collection

# Options before a command that take a value.
VALUED = ("--home", "--config", "--host", "--port", "--workers", "--cert", "--key")


def with_command(
    arguments: list[str], commands: Collection[str], *, at_terminal: bool
) -> tuple[list[str], str]:
    """Return the arguments with a command that is known, and what is wrong with them.

    `serve` is no command and `help` is --help; a question is said in `chat` at a terminal, else
    answered by `run`.
    """
    place = 0
    while place < len(arguments) and arguments[place].startswith("-"):
        place += 2 if arguments[place] in VALUED else 1
    before, rest = arguments[:place], arguments[place:]
    if not rest or rest[0] in commands:
        return arguments, ""
    match rest[0]:
        case "serve":
            return before + rest[1:], ""
        case "help":
            return [*before, *rest[1:2], "--help"], ""
        case word if is_question(word):
            return [*before, "chat" if at_terminal else "run", *rest], ""
        case word:
            near = difflib.get_close_matches(word, [*commands, "serve", "help"], 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            text = (
                f"there is no command {word!r}{hint} (--help lists them; a question goes in quotes)"
            )
            return arguments, text


def is_question(word: str) -> bool:
    """Return whether an argument is a question: several words, or no name of a command."""
    return any(map(str.isspace, word)) or word.endswith("?") or not word.isascii()
