"""What a command line means that names no command or option: a question, or a mistake."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Collection, Iterable


def options_of(parser: argparse.ArgumentParser) -> dict[str, bool]:
    """Return the options of a parser, and whether each takes a value."""
    return {name: action.nargs != 0 for name, action in parser._option_string_actions.items()}


def with_command(
    arguments: list[str],
    commands: Collection[str],
    options: dict[str, bool],
    *,
    at_terminal: bool,
) -> tuple[list[str], str]:
    """Return the arguments with a command that is known, and what is wrong with them.

    `options`: those before a command, by `options_of`. `serve` is no command and `help` is --help;
    a question is said in `chat` at a terminal, else answered by `run`.
    """
    place = 0
    while place < len(arguments) and arguments[place].startswith("-"):
        name, given, _ = arguments[place].partition("=")
        matches = [each for each in options if each == name or each.startswith(name)]
        if not matches:
            return arguments, unknown_option([name], options)
        place += 2 if options[matches[0]] and not given else 1
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


def unknown_option(rest: list[str], options: Iterable[str]) -> str:
    """Return what is wrong with arguments that nothing takes; `options`: those that there are."""
    name = next((each for each in rest if each.startswith("--")), "").partition("=")[0]
    if not name:
        return f"unrecognized arguments: {' '.join(rest)}"
    near = difflib.get_close_matches(name, options, 1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"there is no option {name}{hint} (--help lists them)"


def is_question(word: str) -> bool:
    """Return whether an argument is a question: several words, or no name of a command."""
    return any(map(str.isspace, word)) or word.endswith("?") or not word.isascii()
