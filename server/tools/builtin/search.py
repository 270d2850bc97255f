"""The tool `search_files`: text search in the files of the workspace.

Regular expressions are checked by schema/patterns.py: those that could hang are refused, and lines
that would cost too much are skipped. Files that are large, binary or unreadable are skipped too;
the result says how many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from ...schema.patterns import MAX_STEPS, Pattern, PatternError
from ..tool import Context, ToolError, tool
from ..workspace import files_below, inside, prefix_of
from .files import lines_of, matches, read_text, shortened

MAX_FILE = 5 * 1024 * 1024
MAX_FILES = 20_000
MAX_LINE = 400  # characters shown of one line
MAX_MATCHES = 500

Finds = Callable[[str], bool]


@dataclass
class Count:
    """Numbers of files searched, and of files and lines skipped."""

    searched: int = 0
    passed_over: int = 0


@tool(read_only=True, parallel_safe=True)
def search_files(
    ctx: Context,
    query: Annotated[str, "What to look for, line by line", {"minLength": 1, "maxLength": 1000}],
    path: Annotated[str, "Folder or file in the session's folder"] = ".",
    glob: Annotated[str, "Only files such as *.py or src/*.js"] = "*",
    regex: Annotated[bool, "The query is a regular expression (ECMAScript)"] = False,
    ignore_case: Annotated[bool, "Take upper and lower case for the same; text only"] = False,
    context: Annotated[int, "Lines to show around a match", {"minimum": 0, "maximum": 10}] = 0,
    max_matches: Annotated[int, "When to stop", {"minimum": 1, "maximum": MAX_MATCHES}] = 100,
) -> dict[str, Any]:
    """Find lines in text files below a folder, by text or regular expression.

    A match reads `file:line: text`, a line around it `file-line- text`. Hidden files, node_modules
    and __pycache__ are left out unless `path` leads there.
    """
    root = inside(path)
    finds = finder(query, regex, ignore_case)
    count, shown, found = Count(), list[str](), 0
    for name, text in texts(root, path, glob, count):
        lines = lines_of(text)
        hits = [number for number, line in enumerate(lines) if found_in(finds, line, count)]
        left = max_matches - found
        shown += around(name, lines, hits[:left], context)
        found += min(len(hits), left)
        if len(hits) > left or found == max_matches:
            break
    result: dict[str, Any] = {
        "matches": found,
        "lines": "\n".join(shown),
        "files_searched": count.searched,
        "complete": found < max_matches and count.searched < MAX_FILES,
    }
    return result | ({"passed_over": count.passed_over} if count.passed_over else {})


def finder(query: str, regex: bool, ignore_case: bool) -> Finds:
    """Return a function that tells whether a line matches.

    Raises ToolError for an invalid pattern.
    """
    if not regex:
        wanted = query.casefold() if ignore_case else query
        return lambda line: wanted in (line.casefold() if ignore_case else line)
    if ignore_case:
        raise ToolError("ignore_case is for text; in a regular expression write [Aa]")
    try:
        pattern = Pattern(query)
    except PatternError as error:
        raise ToolError(
            f"{query[:100]!r} is no regular expression that works here: {error}"
        ) from None

    def finds(line: str) -> bool:
        """Return whether a line matches. Raises TooCostly."""
        if pattern.price(len(line)) > MAX_STEPS:
            raise TooCostly
        return pattern.search(line)

    return finds


class TooCostly(Exception):
    """Raised for a line that is too long for the pattern."""


def found_in(finds: Finds, line: str, count: Count) -> bool:
    """Return whether a line matches; a line that costs too much is counted as skipped."""
    try:
        return finds(line)
    except TooCostly:
        count.passed_over += 1
        return False


def texts(root: Path, path: str, glob: str, count: Count) -> Iterator[tuple[str, str]]:
    """Yield (name, content) of every text file below `root` that fits `glob`, in order.

    Raises ToolError if `root` does not exist.
    """
    if root.is_file():
        count.searched += 1
        yield path, read_text(root, path)[0]
        return
    if not root.is_dir():
        raise ToolError(f"there is no {path}")
    prefix = prefix_of(root, path)
    for below in files_below(root):
        if not matches(below, glob):
            continue
        if count.searched == MAX_FILES:
            return
        try:
            if (root / below).stat().st_size > MAX_FILE:
                raise ToolError("too large")
            text, _ = read_text(root / below, below)
        except (ToolError, OSError):
            count.passed_over += 1
        else:
            count.searched += 1
            yield prefix + below, text


def around(name: str, lines: list[str], hits: list[int], context: int) -> Iterator[str]:
    """Yield matches with `context` lines around them, as grep prints them: `--` marks gaps."""
    last = -1
    wanted = set(hits)
    near = {n for hit in hits for n in range(hit - context, hit + context + 1)}
    for number in sorted(near):
        if 0 <= number < len(lines):
            if context and last >= 0 and number > last + 1:
                yield "--"
            mark = ":" if number in wanted else "-"
            yield f"{name}{mark}{number + 1}{mark} {shortened(lines[number], MAX_LINE)}"
            last = number
