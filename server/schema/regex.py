r"""The grammar of ECMA-262 patterns: text in, tree out.

Used by `patterns` and `automaton`. Rule of the file: Unicode mode (the `u` flag, as JSON Schema
2020-12 section 6.4 advises) except where real schemas disagree harmlessly: `\-` and other escaped
punctuation, a lone `}` or `]`, and a `{` that opens no quantifier mean themselves. Escaped letters
without a meaning are errors, as are Python's and PCRE's extensions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from .charsets import CLASSES, LAST, NEWLINES, Ranges, complement, unicode_property, union

MAX_NESTING = 50  # groups within groups
MAX_REPEAT = 2**31  # what CPython's `re` can count to is larger; nobody needs it


class PatternError(ValueError):
    """The text is not a pattern, or one that can't be supported; says where and why."""


@dataclass(frozen=True, slots=True)
class Char:
    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Seq:
    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Alt:
    branches: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """Greedy or lazy makes no difference to whether something matches, so it is not kept."""

    body: Tree
    low: int
    high: int | None


@dataclass(frozen=True, slots=True)
class Group:
    body: Tree


@dataclass(frozen=True, slots=True)
class Look:
    kind: str  # =, !, <= or <!
    body: Tree


@dataclass(frozen=True, slots=True)
class Edge:
    kind: str  # ^, $, b or B


@dataclass(frozen=True, slots=True)
class Back:
    number: int


Tree = Char | Seq | Alt | Repeat | Group | Look | Edge | Back

_CONTROLS = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13, "0": 0}


def parse(source: str) -> Tree:
    """Raises PatternError for anything that is not an ECMA-262 pattern."""
    reader = _Reader(source)
    tree = reader.alternatives(0)
    if reader.at < len(source):
        reader.fail("unmatched )")
    return reader.resolved(tree)


class _Reader:
    """Recursive descent with one character of look-ahead."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0
        self.groups = 0
        self.names: dict[str, int] = {}
        self.references: list[tuple[int, int | str]] = []  # (placeholder, what it refers to)

    def fail(self, reason: str) -> NoReturn:
        raise PatternError(f"not a valid pattern: {reason} at character {self.at + 1}")

    def peek(self, text: str) -> bool:
        return self.source.startswith(text, self.at)

    def take(self, text: str) -> bool:
        if self.peek(text):
            self.at += len(text)
            return True
        return False

    def next(self) -> str:
        if self.at >= len(self.source):
            self.fail("unexpected end")
        self.at += 1
        return self.source[self.at - 1]

    # -------------------------------------------------------------------------- structure

    def alternatives(self, depth: int) -> Tree:
        if depth > MAX_NESTING:
            self.fail(f"more than {MAX_NESTING} nested groups")
        branches = [self.sequence(depth)]
        while self.take("|"):
            branches.append(self.sequence(depth))
        return branches[0] if len(branches) == 1 else Alt(tuple(branches))

    def sequence(self, depth: int) -> Tree:
        parts: list[Tree] = []
        while self.at < len(self.source) and self.source[self.at] not in "|)":
            parts.append(self.quantified(self.atom(depth)))
        return parts[0] if len(parts) == 1 else Seq(tuple(parts))

    def atom(self, depth: int) -> Tree:
        match char := self.next():
            case "^" | "$":
                return Edge(char)
            case ".":
                return Char(complement(NEWLINES))
            case "(":
                return self.group(depth)
            case "[":
                return Char(self.char_class())
            case "\\":
                return self.escape()
            case "*" | "+" | "?":
                self.fail("nothing to repeat")
        return Char(((ord(char), ord(char)),))

    def group(self, depth: int) -> Tree:
        capture = not self.peek("?")
        kind = ""
        if not capture:
            for kind in ("?:", "?=", "?!", "?<=", "?<!", "?<"):
                if self.take(kind):
                    break
            else:
                self.fail("unknown kind of group")
        if capture or kind == "?<":
            self.groups += 1
            if kind == "?<":
                self.name(self.groups)
        body = self.alternatives(depth + 1)
        if not self.take(")"):
            self.fail("a group is not closed")
        if capture or kind == "?<":
            return Group(body)
        if kind != "?:":
            return Look(kind[1:], body)
        return Seq((body,)) if isinstance(body, Edge | Look) else body  # (?:^)* may be repeated

    def name(self, number: int) -> None:
        name = self.until(">")
        if not name.replace("$", "_").isidentifier() or name in self.names:
            self.fail("a bad or repeated group name")
        self.names[name] = number

    def until(self, mark: str) -> str:
        end = self.source.find(mark, self.at)
        if end < 0:
            self.fail(f"{mark} is missing")
        text, self.at = self.source[self.at : end], end + 1
        return text

    def quantified(self, atom: Tree) -> Tree:
        bounds = self.quantifier()
        if bounds is None:
            return atom
        if isinstance(atom, Edge | Look):
            self.fail("nothing to repeat")
        self.take("?")
        if self.at < len(self.source) and (self.source[self.at] in "*+?" or self.quantifier()):
            self.fail("a quantifier after a quantifier")
        return Repeat(atom, *bounds)

    def quantifier(self) -> tuple[int, int | None] | None:
        for mark, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self.take(mark):
                return bounds
        end = self.source.find("}", self.at)
        if not self.peek("{") or end < 0:
            return None
        low, comma, high = self.source[self.at + 1 : end].partition(",")
        if not _is_count(low) or not (high == "" or _is_count(high)):
            return None
        least = int(low)
        most = int(high) if high else None if comma else least
        if (most is not None and most < least) or max(least, most or 0) > MAX_REPEAT:
            self.fail("the bounds of a quantifier are out of order or too large")
        self.at = end + 1
        return least, most

    # ------------------------------------------------------------------ characters and classes

    def escape(self) -> Tree:
        char = self.next()
        if char in "bB":
            return Edge(char)
        if char == "k":
            if not self.take("<"):
                self.fail(r"\k without a name")
            return self.reference(self.until(">"))
        if char in "123456789":
            digits = char
            while self.at < len(self.source) and self.source[self.at] in "0123456789":
                digits += self.next()
            return self.reference(int(digits[:9]))
        return Char(self.character_set(char))

    def reference(self, target: int | str) -> Tree:
        self.references.append((self.at, target))
        return Back(-len(self.references))

    def resolved(self, tree: Tree) -> Tree:
        """Put the numbers of groups in, now that all of them are known."""
        numbers = []
        for at, target in self.references:
            number = self.names.get(target, 0) if isinstance(target, str) else target
            if not 0 < number <= self.groups:
                self.at = at
                self.fail("a reference to no group")
            numbers.append(number)
        return _renumber(tree, numbers) if numbers else tree

    def character_set(self, char: str) -> Ranges:
        """What an escape stands for, `char` being the one after the backslash."""
        if char in CLASSES:
            return CLASSES[char]
        if char in "pP":
            found = unicode_property(self.until("}")) if self.take("{") else None
            if found is None:
                self.fail(f"a Unicode property that is not supported after \\{char}")
            return found if char == "p" else complement(found)
        code = self.code_point(char)
        return ((code, code),)

    def code_point(self, char: str) -> int:
        if char in _CONTROLS:
            if char == "0" and self.at < len(self.source) and self.source[self.at].isdigit():
                self.fail("an octal escape")
            return _CONTROLS[char]
        if char == "c":
            letter = self.next()
            if not (letter.isascii() and letter.isalpha()):
                self.fail(r"\c without a letter")
            return ord(letter) % 32
        if char == "x":
            return self.hexadecimal(2)
        if char == "u":
            return self.unicode_escape()
        if char.isalnum() or not char.isascii():
            self.fail(f"the escape \\{char}")
        return ord(char)

    def unicode_escape(self) -> int:
        if self.take("{"):
            digits = self.until("}")
            if not _is_hexadecimal(digits) or int(digits, 16) > LAST:
                self.fail("a bad code point")
            return int(digits, 16)
        code = self.hexadecimal(4)
        if 0xD800 <= code < 0xDC00 and self.peek("\\u"):
            mark = self.at
            self.at += 2
            low = self.hexadecimal(4) if not self.peek("{") else 0
            if 0xDC00 <= low < 0xE000:
                return 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
            self.at = mark
        return code

    def hexadecimal(self, length: int) -> int:
        digits = self.source[self.at : self.at + length]
        if len(digits) < length or not _is_hexadecimal(digits):
            self.fail(f"{length} hexadecimal digits are missing")
        self.at += length
        return int(digits, 16)

    def char_class(self) -> Ranges:
        negated = self.take("^")
        sets: list[Ranges] = []
        while not self.take("]"):
            low = self.class_atom()
            dash = self.peek("-") and not self.peek("-]")
            if dash and _single(low):
                self.at += 1
                high = self.class_atom()
                if not _single(high) or high[0][0] < low[0][0]:
                    self.fail("a range that is out of order or not between characters")
                low = ((low[0][0], high[0][0]),)
            sets.append(low)
        return complement(union(sets)) if negated else union(sets)

    def class_atom(self) -> Ranges:
        char = self.next()
        if char != "\\":
            return ((ord(char), ord(char)),)
        char = self.next()
        return ((8, 8),) if char == "b" else self.character_set(char)


def _single(ranges: Ranges) -> bool:
    return len(ranges) == 1 and ranges[0][0] == ranges[0][1]


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 10


def _is_hexadecimal(text: str) -> bool:
    return 0 < len(text) <= 8 and all(char in "0123456789abcdefABCDEF" for char in text)


def _renumber(tree: Tree, numbers: list[int]) -> Tree:
    match tree:
        case Back(number):
            return Back(numbers[-number - 1])
        case Seq(parts):
            return Seq(tuple(_renumber(part, numbers) for part in parts))
        case Alt(branches):
            return Alt(tuple(_renumber(branch, numbers) for branch in branches))
        case Repeat(body, low, high):
            return Repeat(_renumber(body, numbers), low, high)
        case Group(body):
            return Group(_renumber(body, numbers))
        case Look(kind, body):
            return Look(kind, _renumber(body, numbers))
    return tree
