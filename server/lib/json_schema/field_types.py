"""Kinds of values: one table from which documents are checked and a JSON Schema is made.

For documents whose shape the server defines and checks often: sessions and the configuration. A
kind tests a value by a function, which takes a third of the time that `validate` needs, and names
its misfits in words. `validate` is for schemas that others write.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, Required, get_args, get_origin, get_type_hints, is_typeddict

from ..strict_json import LARGEST_COUNT, pointer

Test = Callable[[Any], bool]
ListTest = Callable[[list[Any]], bool]
Place = tuple[str | int, ...]
NOTHING: Any = object()
MAX_SHOWN = 40  # characters of a value that a message repeats
FEW = 32  # values below which it costs more to test them together
PIECE = 256  # values that are tested together; other threads run between two pieces
MANY = 64  # members; objects with more are tested one by one, as no other thread runs meanwhile


class Misfit(NamedTuple):
    """A part of a document that does not fit.

    place   keys and indices from the root
    wanted  what is expected, in words; the whole message if there is no `value`
    value   what is there; None if nothing is
    within  for an unknown key: the kind of the object that has it
    """

    place: Place
    wanted: str
    value: Any = NOTHING
    within: Kind | None = None

    def error(self) -> dict[str, str]:
        """Return it as an error of a response: {"pointer", "detail"}."""
        detail = self.wanted
        if self.value is not NOTHING:
            detail = f"expected {self.wanted}, got {show_value(self.value)}"
        return {"pointer": pointer(*self.place), "detail": detail}


class Misfits(list[Misfit]):
    """The misfits found so far; the search ends when there are `most`."""

    def __init__(self, most: float) -> None:
        super().__init__()
        self.most = most


More = Callable[[Any, Place, Misfits], None]


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of value.

    fits      test of the value itself; its members are tested by their own kinds
    holds     test of the value and all inside, without a report: nearly all values fit
    words     what is expected, for messages
    schema    keywords of its JSON Schema, those about members apart
    form      keywords for people and forms, which refuse nothing: title, description, …
    fields    name -> kind of an object's members
    required  names of members that must be there
    each      kind of an array's items, or of an object's members without a field
    closed    whether members without a field are misfits
    most      how many members or items there may be, 0 for any number
    more      further check: (value, place, misfits to append to)
    all_hold  `holds` for all values of a list, in half of the time; None: one after another
    """

    fits: Test
    words: str
    holds: Test
    schema: dict[str, Any] = field(default_factory=dict)
    form: dict[str, Any] = field(default_factory=dict)
    fields: Mapping[str, Kind] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    each: Kind | None = None
    closed: bool = False
    more: More | None = None
    most: int = 0
    all_hold: ListTest | None = None


# -- check ----------------------------------------------------------------------------------------


def misfits(value: Any, kind: Kind, most: float = math.inf) -> Misfits:
    """Return the parts of a value that do not fit its kind, in document order.

    The search ends with the member or item in which the last of `most` was found.
    """
    found = Misfits(most)
    if not kind.holds(value):
        collect(value, kind, (), found)
    return found


def collect(value: Any, kind: Kind, place: Place, found: Misfits) -> None:
    """Append the misfits of a value at `place` to `found`."""
    if kind.most and isinstance(value, dict | list) and len(value) > kind.most:
        said = f"expected at most {kind.most:,} entries, got {len(value):,}"
        found.append(Misfit(place, said))
        return
    if not kind.fits(value):
        found.append(Misfit(place, kind.words, value))
        return
    if isinstance(value, dict):
        fields, each = kind.fields, kind.each
        for name, item in value.items():
            known = fields.get(name, each)
            if known is None:
                if kind.closed:
                    found.append(Misfit((*place, name), "no such key", item, kind))
            elif not known.holds(item):
                collect(item, known, (*place, name), found)
            if len(found) >= found.most:
                return
        for name in kind.required:
            if name not in value:
                found.append(Misfit((*place, name), fields[name].words, None))
    elif isinstance(value, list) and kind.each is not None:
        for index, item in enumerate(value):
            if not kind.each.holds(item):
                collect(item, kind.each, (*place, index), found)
            if len(found) >= found.most:
                return
    if kind.more is not None:
        kind.more(value, place, found)


def show_value(value: Any) -> str:
    """Return a value as shown in an error: short scalars as they are, else kind or beginning."""
    if isinstance(value, str):
        return f'"{value[:MAX_SHOWN]}…"' if len(value) > MAX_SHOWN else f'"{value}"'
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    return "null or nothing" if value is None else str(value)[:MAX_SHOWN]


# -- schema ---------------------------------------------------------------------------------------


def json_schema(kind: Kind, *, form: bool = False) -> dict[str, Any]:
    """Return a new JSON Schema of a kind, which accepts at least what the kind does.

    With `form` it is the one that forms are made from: it has all keywords of `Kind.form`, and
    nothing inside what is read only.
    """
    about = ("title", "description")
    made = {key: value for key, value in kind.form.items() if form or key in about} | kind.schema
    if form and kind.form.get("readOnly"):
        return made
    if kind.fields:
        fields = kind.fields.items()
        made["properties"] = {name: json_schema(inner, form=form) for name, inner in fields}
    if kind.required:
        made["required"] = list(kind.required)
    if kind.closed:
        made["additionalProperties"] = False
    if kind.each is not None:
        key = "items" if "array" in kind.schema["type"] else "additionalProperties"
        made.setdefault(key, json_schema(kind.each, form=form))
    if kind.most and not form:
        sizes = {"array": "maxItems", "object": "maxProperties"}
        made |= {sizes[name]: kind.most for name in sizes if name in kind.schema.get("type", sizes)}
    return made


# -- kinds ----------------------------------------------------------------------------------------


def leaf(fits: Test, words: str, schema: dict[str, Any] | None = None) -> Kind:
    """Return a kind whose members, if it has any, are not looked at."""
    return Kind(fits, words, fits, schema or {})


def _typed(name: str, none: bool) -> dict[str, Any]:
    return {"type": [name, "null"] if none else name}


def _optional(fits: Test, none: bool) -> Test:
    return (lambda value: value is None or fits(value)) if none else fits


def text(words: str = "a string", least: int = 0, most: int = 0, *, none: bool = False) -> Kind:
    """Return strings of `least` to `most` characters, 0 for any number."""
    schema = _typed("string", none)
    if least or most:
        schema |= {"minLength": least} | ({"maxLength": most} if most else {})
        most = most or sys.maxsize
        kind = leaf(
            lambda value: isinstance(value, str) and least <= len(value) <= most, words, schema
        )

        def lengths_fit(values: list[str]) -> bool:
            """Return whether all of these strings are of a length that fits."""
            sizes = set(map(len, values))
            return least <= min(sizes) and max(sizes) <= most

        return with_list_test(kind, str, lengths_fit)
    kinds = (str, type(None)) if none else str
    kind = leaf(lambda value: isinstance(value, kinds), words, schema)
    return with_list_test(kind, str, lambda values: True)


def number(
    words: str,
    least: float = 0,
    most: float = LARGEST_COUNT,
    *,
    whole: bool = False,
    none: bool = False,
) -> Kind:
    """Return numbers from `least` to `most`, which are in it; whole ones only, if wanted."""
    kinds = (int,) if whole else (int, float)  # bool is a subclass of int

    def fits(value: Any) -> bool:
        """Return whether it is such a number."""
        return type(value) in kinds and bool(least <= value <= most)

    schema = _typed("integer" if whole else "number", none) | {"minimum": least}
    schema |= {} if most == math.inf else {"maximum": most}
    kind = leaf(_optional(fits, none), words, schema)
    return with_list_test(kind, int, lambda values: least <= min(values) and max(values) <= most)


def text_like(form: str, words: str) -> Kind:
    """Return the strings that match a regular expression as a whole."""
    whole = re.compile(form)
    schema = {"type": "string", "pattern": f"^(?:{form})$"}
    return leaf(
        lambda value: isinstance(value, str) and bool(whole.fullmatch(value)), words, schema
    )


def one_of(*names: str, aliases: Iterable[str] = (), none: bool = False) -> Kind:
    """Return the strings of a list. `aliases` are accepted too, and not named in messages."""
    every = frozenset((*names, *aliases))

    def fits(value: Any) -> bool:
        """Return whether it is one of the strings."""
        return isinstance(value, str) and value in every

    schema = _typed("string", none) | {"enum": [*names, *aliases, *([None] if none else ())]}
    kind = leaf(_optional(fits, none), f"one of {', '.join(names)}", schema)
    return with_list_test(kind, str, every.issuperset)


def object_of(
    fields: Mapping[str, Kind] | None = None,
    required: tuple[str, ...] = (),
    *,
    each: Kind | None = None,
    words: str = "an object",
    none: bool = False,
    closed: bool = False,
    more: More | None = None,
) -> Kind:
    """Return objects with these members. A closed one has no others."""
    kinds = (dict, type(None)) if none else dict
    inside = {name: kind.holds for name, kind in (fields or {}).items()}
    others = NEVER if closed else each.holds if each else None

    def holds(value: Any) -> bool:
        """Return whether it is such an object with all its members."""
        if not isinstance(value, dict):
            return none and value is None
        for name, item in value.items():
            test = inside.get(name, others)
            if test is not None and not test(item):
                return False
        for name in required:
            if name not in value:
                return False
        return more is None or _holds_too(more, value)

    schema = _typed("object", none)
    fits: Test = lambda value: isinstance(value, kinds)  # noqa: E731
    kind = Kind(fits, words, holds, schema, {}, fields or {}, required, each, closed, more)
    if closed or each or more:
        return kind
    return with_list_test(kind, dict, partial(_members_hold, kind))


def list_of(each: Kind | None = None, words: str = "an array", *, none: bool = False) -> Kind:
    """Return arrays whose items are of one kind, None for any."""
    kinds = (list, type(None)) if none else list

    def holds(value: Any) -> bool:
        """Return whether it is such an array with all its items."""
        if not isinstance(value, list):
            return none and value is None
        if each is not None and len(value) == 1:  # as the calls of most messages
            return each.holds(value[0])
        return each is None or _all_hold(each, value)

    fits: Test = lambda value: isinstance(value, kinds)  # noqa: E731
    return Kind(fits, words, holds, _typed("array", none), each=each)


def either(*kinds: Kind) -> Kind:
    """Return values of any of these kinds, of which at most one fits a value itself."""

    def look_inside(value: Any, place: Place, found: Misfits) -> None:
        """Append the misfits inside, by the kind that fits."""
        collect(value, next(kind for kind in kinds if kind.fits(value)), place, found)

    words = " or ".join(kind.words for kind in kinds)
    return Kind(
        lambda value: any(kind.fits(value) for kind in kinds),
        words,
        lambda value: any(kind.holds(value) for kind in kinds),
        {"anyOf": [json_schema(kind) for kind in kinds]},
        more=look_inside,
    )


def as_one(kind: Kind, words: str) -> Kind:
    """Return the same kind, whose misfits are reported at the value itself, with other words."""
    return replace(kind, fits=kind.holds, words=words)


def with_limit(kind: Kind, most: int) -> Kind:
    """Return the same kind with so many members or items at most."""

    def holds(value: Any) -> bool:
        """Return whether it is such a value, and not too large."""
        small = not isinstance(value, (dict, list)) or len(value) <= most
        return small and kind.holds(value)

    return replace(kind, holds=holds, most=most, all_hold=None)


def with_list_test(kind: Kind, exact: type, test: ListTest) -> Kind:
    """Return the kind with a test for lists whose values are all exactly of one type."""

    def all_hold(values: list[Any]) -> bool:
        """Return whether the kind holds for all values."""
        same = set(map(type, values)) == {exact}
        return test(values) if same else all(map(kind.holds, values))

    return replace(kind, all_hold=all_hold)


def with_title(kind: Kind, title: str, description: str, **more: Any) -> Kind:
    """Return the kind with texts for people, and further keywords for forms."""
    return replace(kind, form={"title": title, "description": description, **more})


def _all_hold(kind: Kind, values: list[Any]) -> bool:
    """Return whether the kind holds for all values, of many tested piece by piece."""
    if len(values) < FEW or (test := kind.all_hold) is None:
        return all(map(kind.holds, values))
    pieces = (values[at : at + PIECE] for at in range(0, len(values), PIECE))
    return all(map(test, pieces))


def _members_hold(kind: Kind, objects: list[dict[str, Any]]) -> bool:
    """Return whether the kind holds for all objects, tested member by member."""
    if max(map(len, objects)) > MANY:
        return all(map(kind.holds, objects))
    names = set[str]().union(*objects)
    for name in names & kind.fields.keys():
        values = [each[name] for each in objects if name in each]
        if name in kind.required and len(values) < len(objects):
            return False
        if not _all_hold(kind.fields[name], values):
            return False
    return names.issuperset(kind.required)


def _holds_too(more: More, value: Any) -> bool:
    found = Misfits(1)
    more(value, (), found)
    return not found


NEVER: Test = lambda value: False  # noqa: E731
ANY = leaf(lambda value: True, "any value")
TEXT = text()
FLAG = leaf(lambda value: isinstance(value, bool), "true or false", {"type": "boolean"})
OBJECT = object_of()
TEXT_OR_NONE = text("a string or null", none=True)
TEXTS = as_one(list_of(TEXT), "an array of strings")
BELOW = "0 or more and below 2^53"
COUNT = number(f"a whole number, {BELOW}", whole=True)
COUNT_OR_NONE = number(f"a whole number, {BELOW}, or null for none", whole=True, none=True)
NUMBER = number(f"a number, {BELOW}")
NUMBER_OR_NONE = number(f"a number, {BELOW}, or null for none", none=True)
NUMBERS = as_one(object_of(each=NUMBER), f"an object of numbers, {BELOW}")

# The kinds of the types that stand in a TypedDict; see `typed_object`.
TYPES: Mapping[Any, Kind] = {
    Any: ANY,
    str: TEXT,
    bool: FLAG,
    int: COUNT,
    float: NUMBER,
    str | None: TEXT_OR_NONE,
    float | None: NUMBER_OR_NONE,
    list[str]: TEXTS,
    dict[str, Any]: OBJECT,
    dict[str, float]: NUMBERS,
}


def typed_object(
    form: Any, known: dict[Any, Kind], needed: tuple[str, ...] = (), /, **own: Kind
) -> Kind:
    """Return the kind of a TypedDict, which is added to the kinds that are `known`.

    needed  members that its objects must have besides its `Required` ones
    own     kinds of members that are not those of their types
    """
    hints = get_type_hints(form, include_extras=True)
    fields = {name: own.get(name) or _of_type(hint, known) for name, hint in hints.items()}
    required = [each for each in hints if form.__total__ or get_origin(hints[each]) is Required]
    known[form] = object_of(fields, (*required, *needed))
    return known[form]


def _of_type(hint: Any, known: dict[Any, Kind]) -> Kind:
    """Return the kind of a type's values: a known one, or lists and objects of such."""
    if get_origin(hint) is Required:
        (hint,) = get_args(hint)
    if (kind := known.get(hint)) is not None:
        return kind
    if is_typeddict(hint):
        return typed_object(hint, known)
    inner = _of_type(get_args(hint)[-1], known)
    return list_of(inner) if get_origin(hint) is list else object_of(each=inner)
