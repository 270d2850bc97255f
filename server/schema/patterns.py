r"""ECMA-262 patterns, searched by Python's `re`, and only where that surely ends soon.

Where it sits: `pattern`, `patternProperties` and the format `regex` come here. Three steps: `parse`
reads the text into a tree or says why not; `_write` spells the tree for `re`, because `\d`, `\s`,
`$`, `\p{L}` and `[^]` mean other things there; `_refuse_explosion` and `_work` bound the time.
Rule of the file: `re` can't be interrupted, so a search is paid for before it is made, and a
pattern whose repetitions can be gone through in exponentially many ways is no pattern for us.
"""

from __future__ import annotations

import math
import re
import sys
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import combinations
from typing import NoReturn

Ranges = tuple[tuple[int, int], ...]  # inclusive, sorted, disjoint ranges of code points

MAX_LENGTH = 2_000  # characters of a pattern; the longest useful ones (URLs, e-mail) stay below
MAX_NESTING = 50  # groups within groups
MAX_STATES = 500  # of one repetition, counted repetitions in it written out
MAX_EFFORT = 1_000_000  # to look for ambiguity, about 0.2 s
MAX_COUNT = 2**31  # of a counted repetition
STEP = 512  # units of `_work` that cost as much as one step of a run, about 1 µs
MAX_STEPS = 500_000  # for one search; a pattern that needs more for SHORT characters is refused
SHORT = 32
COUNTLESS = 10.0**18


class PatternError(ValueError):
    """The text is not a pattern, or one that can't be supported; says where and why."""


class Pattern:
    """A pattern ready to search. Raises PatternError."""

    def __init__(self, source: str) -> None:
        tree = _shortened(parse(source))
        _refuse_explosion(tree)
        self.price = lru_cache(1_000)(partial(_price, tree))
        if self.price(SHORT) > MAX_STEPS:
            raise PatternError("not supported: even a short text could take too long")
        try:
            self._expression = re.compile(_write(tree))
        except (re.error, RecursionError, OverflowError) as error:
            raise PatternError(f"not supported: {error}") from None

    def search(self, text: str) -> bool:
        """Whether it occurs. Costs at most `price(len(text))` steps: ask before."""
        return self._expression.search(text) is not None


# ------------------------------------------------------------------------------------ characters


def _union(sets: Iterable[Ranges]) -> Ranges:
    merged: list[tuple[int, int]] = []
    for low, high in sorted(span for ranges in sets for span in ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return tuple(merged)


def _complement(ranges: Ranges) -> Ranges:
    edges = [-1, *(edge for span in ranges for edge in span), sys.maxunicode + 1]
    gaps = zip(edges[::2], edges[1::2], strict=True)
    return tuple((end + 1, start - 1) for end, start in gaps if end + 1 < start)


def _overlap(one: Ranges, other: Ranges) -> bool:
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
    return _union(((ord(char), ord(char)),) for char in text)


ANY: Ranges = ((0, sys.maxunicode),)
_NEWLINES = _only("\n\r\u2028\u2029")
_DIGITS: Ranges = ((0x30, 0x39),)
_WORD = _union([_DIGITS, ((0x41, 0x5A), (0x61, 0x7A)), _only("_")])
# WhiteSpace and LineTerminator: sections 12.2 and 12.3
_SPACE = _union(
    [_only("\t\v\f \u00a0\u1680\u202f\u205f\u3000\ufeff"), _NEWLINES, ((0x2000, 0x200A),)]
)
_CLASSES = {"d": _DIGITS, "w": _WORD, "s": _SPACE}
_CONTROLS = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13, "0": 0}

# The general categories by their long names; those not listed go by their two letters only.
_CATEGORIES = {
    "Letter": "L", "Uppercase_Letter": "Lu", "Lowercase_Letter": "Ll", "Mark": "M", "Number": "N",
    "Decimal_Number": "Nd", "digit": "Nd", "Punctuation": "P", "punct": "P", "Symbol": "S",
    "Separator": "Z", "Space_Separator": "Zs", "Control": "Cc", "cntrl": "Cc", "Other": "C",
}  # fmt: skip


@lru_cache(maxsize=100)
def _property(expression: str) -> Ranges:
    r"""What `\p{expression}` matches: a general category, Any or ASCII; () if it isn't known.

    Scripts need tables that the standard library doesn't have. About 0.15 s, once for each.
    """
    name = expression.removeprefix("General_Category=").removeprefix("gc=")
    if name in ("Any", "ASCII"):
        return ANY if name == "Any" else ((0, 0x7F),)
    short = _CATEGORIES.get(name, name)
    if not re.fullmatch("[A-Z][a-z]?", short):
        return ()
    codes = range(sys.maxunicode + 1)
    return _union(((c, c),) for c in codes if unicodedata.category(chr(c)).startswith(short))


# --------------------------------------------------------------------------------- the grammar


@dataclass(frozen=True, slots=True)
class Part:
    """A node of the tree. Greedy or lazy makes no difference to whether something matches."""

    kind: str  # set, seq, alt, repeat, group, look, edge or back
    parts: tuple[Part, ...] = ()
    ranges: Ranges = ()  # of a set
    low: int = 0  # of a repeat
    high: int | None = None
    mark: str = ""  # of a group its name, of a look = ! <= or <!, of an edge ^ $ b or B


def parse(source: str) -> Part:
    r"""Raises PatternError for what isn't ECMA-262.

    Unicode mode (the `u` flag, as JSON Schema 2020-12 section 6.4 advises) except where
    real schemas disagree harmlessly: `\-` and other escaped punctuation, a lone `}` or `]`, and a `{` that
    opens no quantifier mean themselves.
    """
    if len(source) > MAX_LENGTH:
        raise PatternError(f"a pattern may have {MAX_LENGTH} characters, got {len(source)}")
    reader = _Reader(source)
    tree = reader.alternatives(0)
    if reader.at < len(source):
        reader.fail("unmatched )")
    return tree


def _shortened(tree: Part) -> Part:
    """Whether a text holds `a+` is asked, not how much of it: a repetition at the end may stop."""
    if tree.kind != "seq" or not tree.parts or tree.parts[-1].kind != "repeat":
        return tree
    last = replace(tree.parts[-1], high=tree.parts[-1].low)
    return replace(tree, parts=(*tree.parts[:-1], last))


class _Reader:
    """Recursive descent with one character of look-ahead."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0

    def fail(self, reason: str) -> NoReturn:
        raise PatternError(f"not a valid pattern: {reason} at character {self.at + 1}")

    def take(self, expression: str) -> re.Match[str] | None:
        """Go past what matches here, if something does."""
        match = re.compile(expression, re.DOTALL).match(self.source, self.at)
        self.at = match.end() if match else self.at
        return match

    def next(self) -> str:
        match = self.take(".")
        return match[0] if match else self.fail("unexpected end")

    def alternatives(self, depth: int) -> Part:
        if depth > MAX_NESTING:
            self.fail(f"more than {MAX_NESTING} nested groups")
        branches = [self.sequence(depth)]
        while self.take(r"\|"):
            branches.append(self.sequence(depth))
        return branches[0] if len(branches) == 1 else Part("alt", tuple(branches))

    def sequence(self, depth: int) -> Part:
        parts: list[Part] = []
        while self.at < len(self.source) and self.source[self.at] not in "|)":
            parts.append(self.quantified(self.atom(depth)))
        return Part("seq", tuple(parts))

    def quantified(self, atom: Part) -> Part:
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

    def atom(self, depth: int) -> Part:
        match char := self.next():
            case "^" | "$":
                return Part("edge", mark=char)
            case ".":
                return Part("set", ranges=_complement(_NEWLINES))
            case "(":
                return self.group(depth)
            case "[":
                return Part("set", ranges=self.char_class())
            case "\\":
                return self.escape()
            case "*" | "+" | "?":
                self.fail("nothing to repeat")
        return Part("set", ranges=_only(char))

    def group(self, depth: int) -> Part:
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
        if edge := self.take("[bB]"):
            return Part("edge", mark=edge[0])
        if group := self.take(r"k<(\w+)>|([1-9][0-9]{0,2})"):
            return Part("back", mark=group[1] or group[2])
        return Part("set", ranges=self.escaped())

    def char_class(self) -> Ranges:
        negated = self.take(r"\^")
        sets: list[Ranges] = []
        while not self.take("]"):
            low = self.class_atom()
            if len(low) == 1 and low[0][0] == low[0][1] and self.take(r"-(?!\])"):
                high = self.class_atom()
                if len(high) != 1 or high[0][0] != high[0][1] or high[0][0] < low[0][0]:
                    self.fail("a range that is out of order or not between characters")
                low = ((low[0][0], high[0][0]),)
            sets.append(low)
        return _complement(_union(sets)) if negated else _union(sets)

    def class_atom(self) -> Ranges:
        char = self.next()
        if char != "\\":
            return _only(char)
        return _only("\b") if self.take("b") else self.escaped()

    def escaped(self) -> Ranges:
        """The characters that an escape stands for, the backslash being behind us."""
        char = self.next()
        if char.lower() in _CLASSES:
            return _CLASSES[char] if char in _CLASSES else _complement(_CLASSES[char.lower()])
        if char in "pP":
            name = self.take(r"\{([^}]*)\}")
            found = _property(name[1]) if name else ()
            if not found:
                self.fail(f"a Unicode property that is not supported after \\{char}")
            return found if char == "p" else _complement(found)
        code = self.code_point(char)
        return ((code, code),)

    def code_point(self, char: str) -> int:
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

_EDGES = {"^": r"\A", "$": r"\Z", "b": r"(?a:\b)", "B": r"(?a:\B)"}


def _write(part: Part) -> str:
    inner = [_write(sub) for sub in part.parts]
    match part.kind:
        case "set":  # every code point escaped: no special meaning can slip in
            spans = "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in part.ranges)
            return f"[{spans}]" if spans else "(?!)"
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
    # A group that took no part matches the empty text (22.2.2.7.3).
    same = f"\\{part.mark}" if part.mark.isdigit() else f"(?P={part.mark})"
    return f"(?({part.mark}){same})"


# ------------------------------------------------------------------ how long a search can take

Ends = tuple[set[int], set[int], bool]  # states it starts with, ends with, whether it may be empty


def _refuse_explosion(part: Part) -> None:
    """Raises PatternError if an unbounded repetition has exponentially many ways over a text."""
    if part.kind == "repeat" and part.high is None:
        _Loop(part)
    for sub in part.parts:
        _refuse_explosion(sub)


class _Loop:
    """The position automaton of a repetition (Glushkov 1961): each set of characters is a state.

    All its states reach each other. So it is enough to look for two different ways that leave one
    state, read the same text, and meet in one state (Weber and Seidl 1991). If there are none,
    each place in a text is reached in one way, and the whole takes at most n * states steps.
    """

    def __init__(self, repeat: Part) -> None:
        self.sets: list[Ranges] = []
        self.follow: list[set[int]] = []
        self.add(repeat)
        self.effort = 0
        todo = [(state, state) for state in range(len(self.sets))]
        seen = set(todo)
        while todo:
            one, other = todo.pop()
            if one != other and self.follow[one] & self.follow[other]:
                self.refuse()
            pairs = {(min(a, b), max(a, b)) for a in self.follow[one] for b in self.follow[other]}
            for pair in pairs - seen:
                if self.alike(*pair):
                    seen.add(pair)
                    todo.append(pair)

    def alike(self, one: int, other: int) -> bool:
        self.effort += len(self.sets[one]) + len(self.sets[other])
        if self.effort > MAX_EFFORT:
            raise PatternError("not supported: a repetition that is too large")
        return one != other and _overlap(self.sets[one], self.sets[other])

    def refuse(self) -> NoReturn:
        raise PatternError("not supported: a repetition with many ways over a text, like (a+)+")

    def add(self, part: Part) -> Ends:
        match part.kind:
            case "set":
                if len(self.sets) == MAX_STATES:
                    raise PatternError("not supported: a repetition that is too large")
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
                raise PatternError("not supported: a reference within a repetition")
            case "look":  # a condition: there are only fewer ways
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
        """A counted repetition is written out."""
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
        for state in last:
            if self.follow[state] & first:
                self.refuse()
            self.follow[state] |= first


def _price(tree: Part, length: int) -> int:
    """The steps that a search costs at most. It begins at every place, unless it's anchored."""
    starts = 1 if _anchored(tree) else length + 1
    return int(min(starts * _work(tree, length + 1, ())[1], COUNTLESS)) // STEP


def _anchored(part: Part) -> bool:
    if part.kind == "alt":
        return all(map(_anchored, part.parts))
    return part.mark == "^" or (
        part.kind in ("seq", "group") and any(map(_anchored, part.parts[:1]))
    )


def _work(part: Part, n: int, after: Ranges) -> tuple[float, float]:
    """(in how many ways it can match from one place, what trying them all costs), both at most.

    `after` are the characters that may come next. Where the repeated ones are not among them, only
    one end is worth going on from, which is what makes ordinary patterns cheap.
    """
    match part.kind:
        case "back":
            return 1, n
        case "look":  # never entered again once it was passed
            return 1, sum(_work(sub, n, ANY)[1] for sub in part.parts)
        case "alt":
            each = [_work(branch, n, after) for branch in part.parts]
            leads = [_leads(branch, after) for branch in part.parts]
            ways = [ways for ways, _ in each]
            apart = not any(_overlap(a, b) for a, b in combinations(leads, 2))
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
    one_end = not _overlap(_characters(body), after)
    if part.high is None:  # see _Loop
        return 1 if one_end else n, n * _size(body, n)
    ways, cost = _work(body, n, _union([_leads(body, ()), after]))
    rounds = part.high if _optional(body) else min(part.high, n)
    ways = COUNTLESS if rounds * math.log2(ways) > 60 else ways**rounds
    ends = 1 if one_end else max(rounds - part.low, 0) + 1
    return ways * ends, rounds * cost * ways + 1


def _leads(part: Part, after: Ranges) -> Ranges:
    """The characters that a match of `part` and what comes after it can begin with."""
    match part.kind:
        case "set":
            return part.ranges
        case "edge":
            return after
        case "look" | "back":
            return ANY
        case "alt":
            return _union(_leads(branch, after) for branch in part.parts)
        case "repeat":
            inner = _leads(part.parts[0], after)
            return inner if part.low else _union([inner, after])
    for sub in reversed(part.parts):
        after = _leads(sub, after)
    return after


def _characters(part: Part) -> Ranges:
    if part.kind == "back":
        return ANY
    return _union([part.ranges, *map(_characters, part.parts)])


def _optional(part: Part) -> bool:
    if part.kind == "alt":
        return any(map(_optional, part.parts))
    return part.kind not in ("set",) and (
        (part.kind == "repeat" and part.low == 0) or all(map(_optional, part.parts))
    )


def _size(part: Part, n: int) -> float:
    """What one round of a repetition costs, counted repetitions in it written out."""
    if part.kind == "look":
        return _work(part, n, ANY)[1]
    times = max(part.low, part.high or 1)
    return 1 + times * sum(_size(sub, n) for sub in part.parts)
