"""Rules of `.gitignore` files, as git applies them: byte by byte, without other sources of rules.

A pattern without wildcards is looked up. Any other is split at its slashes, and each part becomes a
regular expression without backtracking over what matched, so a hostile pattern costs no more than
its length times that of the name. Reading and comparing patterns is paid for from a Budget.
"""

from __future__ import annotations

import os
import re
import string
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..lib.sandbox import host_programs

NAME = ".gitignore"
MAX_BYTES = 1 << 20  # of one file; a larger one holds no rules
MAX_LINES = 10_000  # of one file; one with more holds no rules
MAX_LINE = 4096  # bytes; no path that git matches is longer
MAX_STEPS = 3_000_000  # of one scan, of about 0.5 µs; 50,000 files and 50 patterns take 1,000,000
# Steps that reading a pattern with wildcards takes, besides one for each byte of its expressions,
# and each `[` in it.
READING, SET = 100, 50
_SPECIAL = re.compile(rb"[*?\[\\]")
_ALL = frozenset(range(256))
_NEVER = b"(?!)"


def _class(characters: str) -> frozenset[int]:
    return frozenset(characters.encode())


_CLASSES = {
    b"alnum": _class(string.ascii_letters + string.digits),
    b"alpha": _class(string.ascii_letters),
    b"blank": _class(" \t"),
    b"cntrl": frozenset([*range(32), 127]),
    b"digit": _class(string.digits),
    b"graph": frozenset(range(33, 127)),
    b"lower": _class(string.ascii_lowercase),
    b"print": frozenset(range(32, 127)),
    b"punct": _class(string.punctuation),
    b"space": _class(" \t\n\r\v\f"),
    b"upper": _class(string.ascii_uppercase),
    b"xdigit": _class(string.hexdigits),
}


class TooManyError(Exception):
    """The rules of a folder cost more than a scan may spend on them."""


@dataclass
class Budget:
    """What is left of the steps that one scan may spend on rules."""

    left: int = MAX_STEPS

    def take(self, steps: int) -> None:
        """Spend steps. Raises TooManyError if there are not enough."""
        self.left -= steps
        if self.left < 0:
            raise TooManyError


@dataclass(frozen=True)
class Rule:
    """One pattern. `parts` are regular expressions for the steps of a path, None for `**`.

    `anywhere`: it has no slash and matches the name alone. `prefix`: what the path begins with
    before the first step, in a pattern such as `a**/b`: git compares it first, and takes what is
    left for a pattern of its own. `exact`: of a pattern without wildcards, the name, or the path
    with a slash before it; then there are no parts.
    """

    parts: tuple[re.Pattern[bytes] | None, ...]
    negated: bool
    folders_only: bool
    anywhere: bool
    prefix: bytes = b""
    exact: bytes = b""
    size: int = 0  # bytes of the pattern

    def matches(self, steps: Sequence[bytes], is_folder: bool) -> bool:
        """Return whether it matches a path relative to the folder of its file."""
        if self.folders_only and not is_folder:
            return False
        if self.anywhere:
            steps = steps[-1:]
        elif self.prefix:
            path = b"/".join(steps)
            if not path.startswith(self.prefix):
                return False
            steps = path[len(self.prefix) :].split(b"/")
        return _match(self.parts, steps)


class Rules:
    """The rules of one `.gitignore` file."""

    def __init__(self, text: bytes, budget: Budget) -> None:
        """Raises TooManyError."""
        lines = text.removeprefix(b"\xef\xbb\xbf").split(b"\n")
        # The last rule decides. Those without wildcards by what they name: (place, rule).
        self._exact: tuple[dict[bytes, tuple[int, Rule]], dict[bytes, tuple[int, Rule]]] = {}, {}
        self._globs: list[tuple[int, Rule]] = []
        for place, line in enumerate(reversed(lines)):
            rule = parse(line.removesuffix(b"\r"), budget)
            if rule and not rule.exact:
                self._globs.append((place, rule))
            elif rule:
                for table in self._exact[rule.folders_only :]:  # of files and folders, of folders
                    table.setdefault(rule.exact, (place, rule))
        # A rule may be about any name, which its folder decides, or about those of its last part.
        self._any = [rule for _, rule in self._globs if rule.prefix or not rule.parts[-1]]
        last = [rule.parts[-1] for _, rule in self._globs if not rule.prefix]
        texts = b"|".join(b"(?:" + part.pattern + b")" for part in last if part)
        self._names = re.compile(texts or _NEVER, re.DOTALL)
        self._ends = {path.rpartition(b"/")[2] for table in self._exact for path in table}
        self._number, self._size = len(last), len(texts)

    def names_about(
        self, above: Sequence[bytes], names: Sequence[bytes], budget: Budget
    ) -> Iterable[bytes]:
        """Return which names in a folder a rule may be about. Raises TooManyError."""
        for rule in self._any:
            budget.take(1 + (rule.size * sum(map(len, above)) >> 10))
            if rule.prefix or rule.matches([*above, b""], True):
                return names
        budget.take(len(names) * (self._number >> 3) + (self._size * sum(map(len, names)) >> 10))
        return self._ends.intersection(names).union(filter(self._names.fullmatch, names))

    def verdict(self, steps: Sequence[bytes], is_folder: bool, budget: Budget) -> bool | None:
        """Return whether a path is ignored, None if no rule is about it. Raises TooManyError."""
        table, keys = self._exact[is_folder], (steps[-1], b"/" + b"/".join(steps))
        found = min((table[key] for key in keys if key in table), default=None)
        found = self._glob(steps, is_folder, budget, found[0] if found else MAX_LINES) or found
        return None if found is None else not found[1].negated

    def _glob(
        self, steps: Sequence[bytes], is_folder: bool, budget: Budget, end: int
    ) -> tuple[int, Rule] | None:
        """Return the first rule with wildcards before the place `end` that matches."""
        length = sum(map(len, steps))
        for place, rule in self._globs if self.names_about(steps[:-1], steps[-1:], budget) else ():
            if place > end:
                break
            budget.take(1 + (rule.size * length >> 10))
            if rule.matches(steps, is_folder):
                return place, rule
        return None


Stack = tuple[tuple[int, Rules], ...] | None  # None: below a protected name, where no rules hold


def rules_of(text: bytes, budget: Budget) -> Rules | None:
    """Return the rules of a file, None if it has too many. Raises TooManyError."""
    return None if text.count(b"\n") >= MAX_LINES else Rules(text, budget)


def with_rules(stack: Stack, rules: Rules | None, depth: int) -> Stack:
    """Return the rules that hold in a folder at this depth which has rules of its own."""
    return stack if stack is None or rules is None else (*stack, (depth, rules))


def stack_below(stack: Stack, name: str) -> Stack:
    """Return the rules that hold in a folder of this name, without its own."""
    return None if host_programs.is_named(name) else stack


def subjects(stack: Stack, place: Sequence[str], names: Sequence[str], budget: Budget) -> set[str]:
    """Return which names of a folder its rules may be about. Raises TooManyError."""
    found = set[bytes]()
    if stack and names:
        budget.take(len(stack) * len(names))
        texts = os.fsencode("/".join(names)).split(b"/")
        above = [os.fsencode(name) for name in place]
        for depth, rules in stack:
            found.update(rules.names_about(above[depth:], texts, budget))
    return set(map(os.fsdecode, found))


def leaves_out(stack: Stack, place: Sequence[str], is_folder: bool, budget: Budget) -> bool:
    """Return whether rules leave a place out; what other programs run is never left out.

    Raises TooManyError.
    """
    if not stack or host_programs.is_named(place[-1]):
        return False
    above = place[-2].lower() if len(place) > 1 else ""
    if place[-1].lower() in host_programs.PARTS.get(above, ()):
        return False
    return is_ignored(stack, [os.fsencode(name) for name in place], is_folder, budget)


def is_ignored(
    stack: Sequence[tuple[int, Rules]], steps: Sequence[bytes], is_folder: bool, budget: Budget
) -> bool:
    """Return whether rules ignore a path, none of whose folders is ignored. Raises TooManyError.

    `stack`: the rules of the folders on the way, outermost first, with their depth; `steps`: the
    path from the top.
    """
    budget.take(len(stack))
    for depth, rules in reversed(stack):
        if (found := rules.verdict(steps[depth:], is_folder, budget)) is not None:
            return found
    return False


def parse(line: bytes, budget: Budget) -> Rule | None:
    """Return the rule of a line, None if there is none in it. Raises TooManyError."""
    budget.take(1)
    if line.startswith(b"#") or len(line) > MAX_LINE:
        return None
    line = _without_trailing_spaces(line.split(b"\0")[0])
    negated = line.startswith(b"!")
    line = line[negated:]
    folders_only = line.endswith(b"/")
    line = line[: len(line) - folders_only]
    if not line:
        return None
    anywhere = b"/" not in line
    line = line if anywhere else line.removeprefix(b"/")
    if not _SPECIAL.search(line):
        return Rule((), negated, folders_only, anywhere, exact=line if anywhere else b"/" + line)
    budget.take(READING + SET * line.count(b"["))
    prefix = b"" if anywhere else _prefix(line)
    texts = [line] if anywhere else _steps(line[len(prefix) :])
    found = [None if _is_any(text) else _part(text) for text in texts]
    budget.take(sum(len(part) if part else 1 for part in found))
    parts = tuple(re.compile(part, re.DOTALL) if part is not None else None for part in found)
    return Rule(parts, negated, folders_only, anywhere, prefix, size=len(line))


def _prefix(line: bytes) -> bytes:
    found = _SPECIAL.search(line)
    prefix = line[: found.start()] if found else b""
    if not prefix or prefix.endswith(b"/"):
        return b""
    rest = line[len(prefix) :]
    stars = len(rest) - len(rest.lstrip(b"*"))
    return prefix if stars > 1 and rest[stars : stars + 1] in (b"", b"/") else b""


def _is_any(text: bytes) -> bool:
    return len(text) > 1 and not text.strip(b"*")


def _without_trailing_spaces(line: bytes) -> bytes:
    end = at = 0
    while at < len(line):
        if line[at : at + 1] == b"\\":
            at += 1
            end = at + 1
        elif line[at : at + 1] != b" ":
            end = at + 1
        at += 1
    return line[:end]


def _steps(line: bytes) -> list[bytes]:
    """Split a pattern at slashes that are not within brackets."""
    steps = []
    start = at = 0
    while at < len(line):
        here = line[at : at + 1]
        if here == b"\\" and line[at + 1 : at + 2] != b"/":
            at += 1
        elif here == b"[":
            at = _bracket(line, at)[1] - 1
        elif here == b"/":
            steps.append(line[start : at - (line[at - 1 : at] == b"\\" and at > start)])
            start = at + 1
        at += 1
    return [*steps, line[start:]]


def _part(text: bytes) -> bytes:
    """Return a regular expression for one step. Each `*` takes the first place where what follows
    it up to the next one matches, and keeps it; only the last must reach the end."""
    if not _SPECIAL.search(text):
        return re.escape(text)
    pieces = [b""]
    at = 0
    while at < len(text):
        here = text[at : at + 1]
        at += 1
        if here == b"*":
            if pieces[-1] or len(pieces) == 1:
                pieces.append(b"")
        elif here == b"?":
            pieces[-1] += b"."
        elif here == b"[":
            found, at = _bracket(text, at - 1)
            pieces[-1] += found
        elif here == b"\\":
            pieces[-1] += re.escape(text[at : at + 1]) or _NEVER
            at += 1
        else:
            pieces[-1] += re.escape(here)
    if len(pieces) == 1:
        return pieces[0]
    middle = b"".join(b"(?>.*?" + piece + b")" for piece in pieces[1:-1])
    return pieces[0] + middle + b".*" + pieces[-1]


def _bracket(text: bytes, at: int) -> tuple[bytes, int]:
    """Return the expression for the set at `at`, and where it ends. One without end matches nothing
    and takes the rest."""
    never = _NEVER, len(text)
    at += 1
    negated = text[at : at + 1] in (b"!", b"^")
    at += negated
    found: set[int] = set()
    before = -1  # the character before, where a range may begin
    first = True
    while first or text[at : at + 1] != b"]":
        first = False
        if at >= len(text):
            return never
        here = text[at]
        if here == 0x5B and text[at + 1 : at + 2] == b":":
            end = text.find(b"]", at + 2)
            if end < 0:
                return never
            if end > at + 2 and text[end - 1 : end] == b":":
                named = _CLASSES.get(text[at + 2 : end - 1])
                if named is None:
                    return never
                found |= named
                before, at = -1, end + 1
                continue
        if here == 0x2D and before >= 0 and text[at + 1 : at + 2] not in (b"", b"]"):
            at += 1
            at += text[at] == 0x5C
            if at >= len(text):
                return never
            found |= set(range(before, text[at] + 1))
            before = -1
        else:
            at += here == 0x5C
            if at >= len(text):
                return never
            before = text[at]
            found.add(before)
        at += 1
    numbers = _ALL - found if negated else found
    if not numbers:
        return _NEVER, at + 1
    return b"[" + b"".join(_ranges(sorted(numbers))) + b"]", at + 1


def _ranges(numbers: Sequence[int]) -> Iterator[bytes]:
    """Yield the parts of a set of bytes, which is not empty."""
    first = last = numbers[0]
    for number in (*numbers[1:], 256):
        if number != last + 1 or number == 256:
            yield b"\\x%02x-\\x%02x" % (first, last)
            first = number
        last = number


def _match(parts: Sequence[re.Pattern[bytes] | None], steps: Sequence[bytes]) -> bool:
    """Match steps of a path; each `**` takes the first place where what follows it matches."""
    at = position = 0
    again: tuple[int, int] | None = None  # after the last `**`: its part, and the next step
    while True:
        if at == len(parts):
            if position == len(steps):
                return True
        elif parts[at] is None:
            at += 1
            if at == len(parts):  # a last one takes everything below, and not the folder itself
                return position < len(steps)
            again = at, position
            continue
        elif position < len(steps):
            part = parts[at]
            if part and part.fullmatch(steps[position]):
                at += 1
                position += 1
                continue
        if again is None or again[1] >= len(steps):
            return False
        at, position = again[0], again[1] + 1
        again = at, position
