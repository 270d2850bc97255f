r"""ECMA-262 patterns (section 22.2): parse to a tree, and write in the syntax of Python's `re`.

Used by `patterns` and `formats`. `re.compile(pattern)` would be wrong: `\d` and `\w` are ASCII in
ECMA-262 and Unicode in Python, `$` matches before a final newline, `\p{L}`, `\cA` and `[^]` do not
exist in Python, and `(?i)` and `(?P<…>` must be refused. Sets of characters are written as escaped
code points, so that nothing depends on Python's character classes.
"""

from __future__ import annotations

import math
import re
import sys
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import NoReturn

Ranges = tuple[tuple[int, int], ...]  # inclusive, sorted, disjoint ranges of code points

MAX_LENGTH = 2_000  # characters of a pattern; the longest useful ones (URLs, e-mail) stay below
MAX_NESTING = 50  # groups within groups
BLOCK = 4_096  # code points; most blocks are of one category
MAX_COUNT = 2**31  # of a counted repetition
# The time `re` needs to compile a pattern, in µs of CPython: by its characters, the ranges of its
# sets, and the table that `re` builds for a set beyond Latin-1. `\p{L}` alone costs 12,500.
MAX_COST = 150_000
CHARACTER, RANGE, FEW, TABLE = 15, 10, 300, 6_000


class PatternError(ValueError):
    """The text is not a pattern, or an unsupported one; the message says where and why.

    `cost` is the cost spent until then, in the unit of MAX_COST.
    """

    def __init__(self, message: str, cost: int = 0) -> None:
        super().__init__(message)
        self.cost = cost


# ------------------------------------------------------------------------------------ characters


def union(sets: Iterable[Ranges]) -> Ranges:
    """Return the union of sets, with adjacent ranges merged."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(span for ranges in sets for span in ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return tuple(merged)


def complement(ranges: Ranges) -> Ranges:
    """Return the code points that are not in the set."""
    edges = [-1, *(edge for span in ranges for edge in span), sys.maxunicode + 1]
    gaps = zip(edges[::2], edges[1::2], strict=True)
    return tuple((end + 1, start - 1) for end, start in gaps if end + 1 < start)


def overlap(one: Ranges, other: Ranges) -> bool:
    """Return whether two sets have a common code point."""
    i = j = 0
    while i < len(one) and j < len(other):
        if one[i][1] < other[j][0]:
            i += 1
        elif other[j][1] < one[i][0]:
            j += 1
        else:
            return True
    return False


def _only(text: str) -> Ranges:
    return union(((ord(char), ord(char)),) for char in text)


ANY: Ranges = ((0, sys.maxunicode),)
_NEWLINES = _only("\n\r\u2028\u2029")
_DIGITS: Ranges = ((0x30, 0x39),)
_WORD = union([_DIGITS, ((0x41, 0x5A), (0x61, 0x7A)), _only("_")])
# WhiteSpace and LineTerminator: sections 12.2 and 12.3
_SPACE = union(
    [_only("\t\v\f \u00a0\u1680\u202f\u205f\u3000\ufeff"), _NEWLINES, ((0x2000, 0x200A),)]
)
_CLASSES = {"d": _DIGITS, "w": _WORD, "s": _SPACE}
_CONTROLS = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13, "0": 0}

# Long names of general categories; the others are supported by their two letters only.
_CATEGORIES = {
    "Letter": "L", "Uppercase_Letter": "Lu", "Lowercase_Letter": "Ll", "Mark": "M", "Number": "N",
    "Decimal_Number": "Nd", "digit": "Nd", "Punctuation": "P", "punct": "P", "Symbol": "S",
    "Separator": "Z", "Space_Separator": "Zs", "Control": "Cc", "cntrl": "Cc", "Other": "C",
}  # fmt: skip


@lru_cache(maxsize=100)
def _property(expression: str) -> Ranges:
    r"""Return the set of `\p{expression}`: a general category, Any or ASCII; () if it is unknown.

    Scripts are not supported: the standard library has no tables of them.
    """
    name = expression.removeprefix("General_Category=").removeprefix("gc=")
    if name in ("Any", "ASCII"):
        return ANY if name == "Any" else ((0, 0x7F),)
    short = _CATEGORIES.get(name, name)
    known = _by_category()
    return union(known[code] for code in known if short and code.startswith(short))


@lru_cache(maxsize=1)
def _by_category() -> dict[str, Ranges]:
    """Return the set of each general category. Takes about 70 ms, once, at the first use."""
    spans: dict[str, list[tuple[int, int]]] = {}
    start, current = 0, unicodedata.category("\0")
    for block in range(0, sys.maxunicode + 1, BLOCK):
        found = list(map(unicodedata.category, map(chr, range(block, block + BLOCK))))
        if found.count(current) == BLOCK:
            continue
        for code, category in enumerate(found, block):
            if category != current:
                spans.setdefault(current, []).append((start, code - 1))
                start, current = code, category
    spans.setdefault(current, []).append((start, sys.maxunicode))
    return {category: tuple(found) for category, found in spans.items()}


# --------------------------------------------------------------------------------- the grammar


@dataclass(frozen=True, slots=True)
class Part:
    """A node of the tree. Greedy and lazy are not told apart: they match in the same texts."""

    kind: str  # set, seq, alt, repeat, group, look, edge or back
    parts: tuple[Part, ...] = ()
    ranges: Ranges = ()  # of a set
    low: int = 0  # of a repeat
    high: int | None = None
    mark: str = ""  # of a group its name, of a look = ! <= or <!, of an edge ^ $ b or B


def parse(source: str) -> Part:
    """Return the tree of a pattern. Raises PatternError."""
    return parse_and_cost(source)[0]


def parse_and_cost(source: str, max_cost: int = MAX_COST) -> tuple[Part, int]:
    r"""Return (the tree of a pattern, its compile cost in the unit of MAX_COST).

    The grammar is that of Unicode mode (the `u` flag, as JSON Schema 2020-12 section 6.4 advises),
    with harmless exceptions that real schemas need: `\-` and other escaped punctuation, a lone `}`
    or `]`, and a `{` that begins no quantifier are literals. Raises PatternError if the text is not
    ECMA-262 or costs more than `max_cost`.
    """
    if len(source) > MAX_LENGTH:
        raise PatternError(f"a pattern may have {MAX_LENGTH} characters, got {len(source)}")
    reader = _Reader(source, max_cost)
    tree = reader.alternatives(0)
    if reader.at < len(source):
        reader.fail("unmatched )")
    return tree, reader.cost


class _Reader:
    """Recursive descent parser with one character of look-ahead."""

    def __init__(self, source: str, max_cost: int) -> None:
        self.source = source
        self.at = 0
        self.max_cost = max_cost
        self.cost = CHARACTER * len(source)

    def fail(self, reason: str) -> NoReturn:
        """Raise PatternError with the current position."""
        where = f"at character {self.at + 1}"
        raise PatternError(f"not a valid pattern: {reason} {where}", CHARACTER * self.at)

    def take(self, expression: str) -> re.Match[str] | None:
        """Match `expression` at the current position and advance; None if it does not match."""
        match = re.compile(expression, re.DOTALL).match(self.source, self.at)
        self.at = match.end() if match else self.at
        return match

    def next(self) -> str:
        """Return the next character and advance. Raises PatternError at the end."""
        match = self.take(".")
        return match[0] if match else self.fail("unexpected end")

    def alternatives(self, depth: int) -> Part:
        """Parse alternatives separated by `|`."""
        if depth > MAX_NESTING:
            self.fail(f"more than {MAX_NESTING} nested groups")
        branches = [self.sequence(depth)]
        while self.take(r"\|"):
            branches.append(self.sequence(depth))
        return branches[0] if len(branches) == 1 else Part("alt", tuple(branches))

    def sequence(self, depth: int) -> Part:
        """Parse terms up to `|`, `)` or the end."""
        parts: list[Part] = []
        while self.at < len(self.source) and self.source[self.at] not in "|)":
            parts.append(self.quantifier(self.atom(depth)))
        return Part("seq", tuple(parts))

    def quantifier(self, atom: Part) -> Part:
        """Parse an optional quantifier behind `atom`."""
        match = self.take(r"(?:[*+?]|\{([0-9]{1,10})(,?)([0-9]{0,10})\})\??")
        if not match:
            return atom
        if atom.kind in ("edge", "look"):
            self.fail("nothing to repeat")
        bounds: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        if match[1]:
            high = int(match[3]) if match[3] else None if match[2] else int(match[1])
            bounds["{"] = int(match[1]), high
        least, most = bounds[match[0][0]]
        if least > MAX_COUNT or (most is not None and not least <= most <= MAX_COUNT):
            self.fail("the bounds of a quantifier are out of order or too large")
        if self.take(r"[*+?]|\{[0-9]+,?[0-9]*\}"):
            self.fail("a quantifier after a quantifier")
        return Part("repeat", (atom,), low=least, high=most)

    def charge(self, cost: int) -> None:
        """Add to the cost. Raises PatternError beyond `max_cost`."""
        self.cost += cost
        if self.cost > self.max_cost:
            said = f"not supported: it costs more than {self.max_cost} to compile"
            raise PatternError(said, CHARACTER * self.at)

    def set(self, ranges: Ranges) -> Part:
        """Return a set part and charge its cost."""
        self.charge(_set_cost(ranges))
        return Part("set", ranges=ranges)

    def atom(self, depth: int) -> Part:
        """Parse one term without its quantifier."""
        self.charge(depth)  # each part is visited again for each group around it
        match char := self.next():
            case "^" | "$":
                return Part("edge", mark=char)
            case ".":
                return self.set(complement(_NEWLINES))
            case "(":
                return self.group(depth)
            case "[":
                return self.set(self.char_class())
            case "\\":
                return self.escape()
            case "*" | "+" | "?":
                self.fail("nothing to repeat")
        return self.set(_only(char))

    def group(self, depth: int) -> Part:
        """Parse a group whose `(` was read."""
        kind = self.take(r"\?(?::|=|!|<=|<!|<(?P<name>[A-Za-z_]\w*)>)")
        if not kind and self.take(r"\?"):
            self.fail("unknown kind of group")
        body = self.alternatives(depth + 1)
        if not self.take(r"\)"):
            self.fail("a group is not closed")
        if not kind or kind["name"]:
            return Part("group", (body,), mark=kind["name"] if kind else "")
        return Part("seq", (body,)) if kind[0] == "?:" else Part("look", (body,), mark=kind[0][1:])

    def escape(self) -> Part:
        """Parse an escape outside of a class, whose backslash was read."""
        if edge := self.take("[bB]"):
            return Part("edge", mark=edge[0])
        if group := self.take(r"k<(\w+)>|([1-9][0-9]{0,2})"):
            return Part("back", mark=group[1] or group[2])
        return self.set(self.char_escape())

    def char_class(self) -> Ranges:
        """Parse a character class whose `[` was read."""
        negated = self.take(r"\^")
        sets: list[Ranges] = []
        while not self.take("]"):
            low = self.class_atom()
            if len(low) == 1 and low[0][0] == low[0][1] and self.take(r"-(?!\])"):
                high = self.class_atom()
                if len(high) != 1 or high[0][0] != high[0][1] or high[0][0] < low[0][0]:
                    self.fail("a range that is out of order or not between characters")
                low = ((low[0][0], high[0][0]),)
            self.charge(RANGE * len(low))
            sets.append(low)
        return complement(union(sets)) if negated else union(sets)

    def class_atom(self) -> Ranges:
        """Parse one character or escape in a class."""
        char = self.next()
        if char != "\\":
            return _only(char)
        return _only("\b") if self.take("b") else self.char_escape()

    def char_escape(self) -> Ranges:
        """Parse a character escape whose backslash was read, and return its set."""
        char = self.next()
        if char.lower() in _CLASSES:
            return _CLASSES[char] if char in _CLASSES else complement(_CLASSES[char.lower()])
        if char in "pP":
            name = self.take(r"\{([^}]*)\}")
            found = _property(name[1]) if name else ()
            if not found:
                self.fail(f"a Unicode property that is not supported after \\{char}")
            return found if char == "p" else complement(found)
        code = self.code_point(char)
        return ((code, code),)

    def code_point(self, char: str) -> int:
        """Parse the rest of an escape that begins with `char`, and return its code point."""
        if char in _CONTROLS and not (char == "0" and self.take("[0-9]")):
            return _CONTROLS[char]
        if char == "c" and (letter := self.take("[A-Za-z]")):
            return ord(letter[0]) % 32
        if char == "u" and (pair := self.take(r"([dD][89abAB]\w\w)\\u([dD][c-fC-F]\w\w)")):
            high, low = int(pair[1], 16), int(pair[2], 16)
            return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00)
        digits = {"x": "(?P<code>[0-9a-fA-F]{2})"}
        digits["u"] = (
            r"(?P<code>[0-9a-fA-F]{4})|\{(?P<long>0*(?:10|[0-9a-fA-F])?[0-9a-fA-F]{1,4})\}"
        )
        if char in digits and (match := self.take(digits[char])):
            return int(match["code"] or match["long"], 16)
        if char.isalnum() or not char.isascii():
            self.fail(f"the escape \\{char}")
        return ord(char)


# ------------------------------------------------------------------------- in Python's spelling


def _shorter(ranges: Ranges) -> tuple[Ranges, bool]:
    """Return (the set or its complement, whether it is the complement).

    `re` needs 5 ms for a set that extends over all planes, and no time to negate a small one.
    """
    if ranges and ranges[-1][1] == sys.maxunicode:
        return complement(ranges), True
    return ranges, False


def _set_cost(ranges: Ranges) -> int:
    ranges = _shorter(ranges)[0]
    far = sum(high - max(low, 0xFF) for low, high in ranges if high > 0xFF)
    return RANGE * len(ranges) + (TABLE if far > 0xFF else FEW if far else 0)


_EDGES = {"^": r"\A", "$": r"\Z", "b": r"(?a:\b)", "B": r"(?a:\B)"}


def write(part: Part) -> str:
    """Return the pattern of a tree in the syntax of `re`."""
    inner = [write(sub) for sub in part.parts]
    match part.kind:
        case "set":  # every code point is escaped, so none has a special meaning
            ranges, negated = _shorter(part.ranges)
            spans = "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges)
            if not spans:
                return "(?s:.)" if negated else "(?!)"
            return f"[{'^' * negated}{spans}]"
        case "seq":
            return "".join(inner)
        case "alt":
            return f"(?:{'|'.join(inner)})"
        case "repeat":
            return f"(?:{inner[0]}){{{part.low},{'' if part.high is None else part.high}}}"
        case "group":
            return f"(?P<{part.mark}>{inner[0]})" if part.mark else f"({inner[0]})"
        case "look":
            return f"(?{part.mark}{inner[0]})"
        case "edge":
            return _EDGES[part.mark]
    # A group that did not participate matches the empty text (ECMA-262 22.2.2.7.3).
    same = f"\\{part.mark}" if part.mark.isdigit() else f"(?P={part.mark})"
    return f"(?({part.mark}){same})"


# -- patterns -------------------------------------------------------------------------------------
# Patterns from untrusted schemas, searched with a bounded cost.
#
# Used for `pattern`, `patternProperties` and by tools/builtin/files.py; `regex` parses them. `re`
# can't be interrupted, so the cost of a search is charged before it runs. A pattern with a
# repetition that has exponentially many ways over a text, such as `^(a+)+$`, which takes minutes
# for 30 letters, is refused when the schema is compiled.

__all__ = ["MAX_COST", "Pattern", "PatternError"]

STEP = 512  # units of `_work` that cost as much as one step of a run, about 1 µs
MAX_STEPS = 500_000  # for one search; a pattern that needs more for SHORT characters is refused
SHORT = 32
MAX_STATES = 500  # of all repetitions, counted ones in them written out
MAX_EFFORT = 250_000  # to search for ambiguity, about 50 ms
PER_COST = 5  # of these in one unit of cost
COUNTLESS = 10.0**18
END: Ranges = ((-1, -1),)  # the end of the text, as a code point


class Pattern:
    """A compiled pattern; `cost` is the compile cost. Raises PatternError."""

    def __init__(self, source: str, max_cost: int = MAX_COST) -> None:
        tree, self.cost = parse_and_cost(source, max_cost)
        tree = _shorten_tail(tree)
        self.cost += _Loops(tree).effort // PER_COST
        self._price = lru_cache(100)(partial(_price, tree))
        if self.price(SHORT) > MAX_STEPS:
            said = "not supported: even a short text could take too long"
            raise PatternError(said, self.cost)
        try:
            self._expression = re.compile(write(tree))
        except (re.error, RecursionError, OverflowError) as error:
            raise PatternError(f"not supported: {error}", self.cost) from None

    def price(self, length: int) -> int:
        """Return an upper bound of the steps of a search in a text of `length` characters.

        Lengths are rounded up, so that few prices are computed.
        """
        return self._price(length | 7 if length < 64 else (1 << length.bit_length()) - 1)

    def search(self, text: str) -> bool:
        """Return whether `text` contains a match. Charge `price(len(text))` steps before."""
        return self._expression.search(text) is not None


def _shorten_tail(tree: Part) -> Part:
    """Return the tree with a repetition at its end cut to its minimum.

    Whether a text contains a match does not change.
    """
    if tree.kind != "seq" or not tree.parts or tree.parts[-1].kind != "repeat":
        return tree
    last = replace(tree.parts[-1], high=tree.parts[-1].low)
    return replace(tree, parts=(*tree.parts[:-1], last))


# ------------------------------------------------------------------ how long a search can take

Ends = tuple[set[int], set[int], bool]  # states it starts with, ends with, whether it may be empty


class _Loops:
    """The repetitions of a pattern as an automaton.

    Raises PatternError if an unbounded repetition has exponentially many ways over a text.

    This is their position automaton (Glushkov 1961): each set of characters is a state. All states
    of a repetition reach each other. So it is enough to look for two different ways that leave one
    state, read the same text, and meet in one state (Weber and Seidl 1991). If there are none, each
    place in a text is reached in one way, and all take at most n * states steps.
    """

    def __init__(self, tree: Part) -> None:
        self.sets: list[Ranges] = []
        self.follow: list[set[int]] = []
        self.effort = 0
        self.find(tree)
        todo = [(state, state) for state in range(len(self.sets))]
        seen = set(todo)
        while todo:
            one, other = todo.pop()
            if one != other and self.follow[one] & self.follow[other]:
                self.refuse()
            self.spend(len(self.follow[one]) * len(self.follow[other]))
            pairs = {(min(a, b), max(a, b)) for a in self.follow[one] for b in self.follow[other]}
            for a, b in pairs - seen:
                self.spend(len(self.sets[a]) + len(self.sets[b]))
                if a != b and overlap(self.sets[a], self.sets[b]):
                    seen.add((a, b))
                    todo.append((a, b))

    def find(self, part: Part) -> None:
        """Add each outermost unbounded repetition of the tree."""
        if part.kind == "repeat" and part.high is None:
            self.add(part)
        else:
            for sub in part.parts:
                self.find(sub)

    def spend(self, effort: int) -> None:
        """Charge `effort`. Raises PatternError beyond MAX_EFFORT."""
        self.effort += effort
        if self.effort > MAX_EFFORT:
            self.fail("its repetitions are too large")

    def refuse(self) -> NoReturn:
        """Raise PatternError for an ambiguous repetition."""
        self.fail("a repetition with many ways over a text, like (a+)+")

    def fail(self, why: str) -> NoReturn:
        """Raise PatternError with the cost so far."""
        raise PatternError(f"not supported: {why}", self.effort // PER_COST)

    def add(self, part: Part) -> Ends:
        """Add the states of a part; return first states, last states, whether it may be empty."""
        match part.kind:
            case "set":
                if len(self.sets) == MAX_STATES:
                    self.spend(MAX_EFFORT + 1)
                self.sets.append(part.ranges)
                self.follow.append(set())
                return {len(self.sets) - 1}, {len(self.sets) - 1}, False
            case "alt":
                branches = [self.add(branch) for branch in part.parts]
                if sum(empty for _, _, empty in branches) > 1:
                    self.refuse()
                firsts, lasts, empties = zip(*branches, strict=True)
                return set().union(*firsts), set().union(*lasts), any(empties)
            case "repeat":
                return self.repeat(part)
            case "back":
                self.fail("a reference within a repetition")
            case "look":  # a condition can only reduce the ways
                return set(), set(), True
        first, last, empty = set[int](), set[int](), True
        for sub in part.parts:
            more_first, more_last, more_empty = self.add(sub)
            self.link(last, more_first)
            first |= more_first if empty else set()
            last = last | more_last if more_empty else more_last
            empty = empty and more_empty
        return first, last, empty

    def repeat(self, part: Part) -> Ends:
        """Add the states of a repetition. A counted one is written out."""
        first, last, ends = set[int](), set[int](), set[int]()
        for number in range(max(part.low, 1) if part.high is None else part.high):
            again, after, empty = self.add(part.parts[0])
            if empty:
                self.refuse()
            self.link(last, again)
            first, last = first or again, after
            ends = ends | last if number >= part.low else last
        if part.high is None:
            self.link(last, again)
        return first, ends, part.low == 0

    def link(self, last: set[int], first: set[int]) -> None:
        """Add transitions from each state of `last` to each of `first`.

        Raises PatternError if one exists already: that is an ambiguity.
        """
        self.spend(len(last) * len(first) // 8)  # a union of sets is faster than single additions
        for state in last:
            if self.follow[state] & first:
                self.refuse()
            self.follow[state] |= first


def _price(tree: Part, length: int) -> int:
    """Return the steps of a search: it begins at every place, unless the pattern is anchored."""
    starts = 1 if _is_anchored(tree) else length + 1
    return int(min(starts * _work(tree, length + 1, ())[1], COUNTLESS)) // STEP


def _is_anchored(part: Part) -> bool:
    if part.kind == "alt":
        return all(map(_is_anchored, part.parts))
    return part.mark == "^" or (
        part.kind in ("seq", "group") and any(map(_is_anchored, part.parts[:1]))
    )


def _work(part: Part, n: int, after: Ranges) -> tuple[float, float]:
    """Return upper bounds (ways to match from one place, cost of trying all).

    `after` is the set of characters that may come next. If the repeated characters are not among
    them, only one end has to be continued from, which makes ordinary patterns cheap.
    """
    match part.kind:
        case "back":
            return 1, n
        case "look":  # never re-entered by backtracking
            return 1, sum(_work(sub, n, ANY)[1] for sub in part.parts)
        case "alt":
            each = [_work(branch, n, after) for branch in part.parts]
            leads = [_leads(branch, union([END, after])) for branch in part.parts]
            ways = [ways for ways, _ in each]
            apart = sum(map(_count, leads)) == _count(union(leads))
            return max(ways) if apart else sum(ways), sum(cost for _, cost in each)
        case "repeat":
            return _work_of_repeat(part, part.parts[0], n, after)
    nexts = [after]
    for sub in reversed(part.parts):
        nexts.append(_leads(sub, nexts[-1]))
    total, effort = 1.0, 1.0
    for sub, following in zip(part.parts, nexts[-2::-1], strict=True):
        more, cost = _work(sub, n, following)
        effort += total * cost
        total = min(total * more, COUNTLESS)
    return total, effort


def _work_of_repeat(part: Part, body: Part, n: int, after: Ranges) -> tuple[float, float]:
    empty = overlap(_leads(body, END), END)
    one_end = not empty and not overlap(_characters(body), after)
    if part.high is None:  # see _Loops
        return 1 if one_end else n, n * _size(body, n)
    again = _leads(body, ()) if part.high > 1 else ()
    ways, cost = _work(body, n, union([again, after]))
    ways = COUNTLESS if part.high * math.log2(ways) > 60 else ways**part.high
    ends = 1 if one_end else part.high - part.low + 1
    return ways * ends, part.high * cost * ways + 1


def _leads(part: Part, after: Ranges) -> Ranges:
    """Return the characters that a match of `part` and its continuation can begin with."""
    match part.kind:
        case "set":
            return part.ranges
        case "edge":
            return after
        case "look" | "back":
            return union([ANY, after])
        case "alt":
            return union(_leads(branch, after) for branch in part.parts)
        case "repeat":
            inner = _leads(part.parts[0], after)
            return inner if part.low else union([inner, after])
    for sub in reversed(part.parts):
        after = _leads(sub, after)
    return after


def _count(ranges: Ranges) -> int:
    return sum(high - low + 1 for low, high in ranges)


def _characters(part: Part) -> Ranges:
    if part.kind == "back":
        return ANY
    return union([part.ranges, *map(_characters, part.parts)])


def _size(part: Part, n: int) -> float:
    """Return the cost of one round of a repetition, counted repetitions in it written out."""
    if part.kind == "look":
        return _work(part, n, ANY)[1]
    times = max(part.low, part.high or 1)
    return 1 + times * sum(_size(sub, n) for sub in part.parts)
