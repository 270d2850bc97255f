"""From the argument text of a model to the arguments with which a tool runs.

The toolbox judges a call by the result, and a person sees it for approval. Steps, in this order:
parse the text, fill in templates, repair by the schema.
"""

from __future__ import annotations

import datetime as dt
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, islice, takewhile
from types import MappingProxyType
from typing import Any

from ..json_types import Json, Message, Session, ToolCall
from ..lib.json_schema.convert import error_text, parse
from ..lib.json_schema.portable import original_names
from ..lib.json_schema.repair import repair
from ..lib.json_schema.report import Mismatch
from ..lib.json_schema.validate import Validator
from ..lib.strict_json import JSONError, depth_exceeds, dumps, loads, pointer
from .argument_forms import in_one_form
from .result import MAX_NESTED

# -- argument templates ---------------------------------------------------------------------------
# Templates in a call's arguments: `{{tool.field+Nd}}` stands for a value of an earlier result.
#
# The toolbox fills them in first, so that the policy judges, people approve and the tool gets the
# same arguments. A template is a whole string; `x {{a.b}}` and `{{ a.b }}` are plain text. A
# template without a value is an error that names what is missing; it never reaches the tool. Pure.

Place = tuple[str | int, ...]

MAX_NAMED = 12  # fields or problems that one error lists
MAX_TEMPLATES = 32  # in the arguments of one call
MAX_PATH = 200  # characters
LOOK_BACK = 10  # latest results of one tool that are searched for a field
MISSING: Any = object()

_TEMPLATE = re.compile(r"\{\{([A-Za-z0-9_-]+)\.([^\s{}]+?)(?:([+-]\d{1,6})d)?\}\}")
_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ].+)?")


class UnfilledTemplate(Exception):
    """Raised for templates without a value; the message names them all, for the model."""


class Pending(Exception):
    """Raised if a template names a tool whose call has no result yet.

    The call is an earlier one of the same message.
    """


class ToolResults:
    """The results of a session by tool. The session must not change while this is used."""

    def __init__(self, session: Session) -> None:
        self._messages = session["messages"]

    def before(self, call_id: str) -> EarlierResults:
        """Return the results that the templates of a call may refer to.

        Results of later calls do not count, even if they are there already: a call's arguments must
        not change while it waits for an approval.
        """
        start = self._calls.get(call_id, len(self._messages))
        calls = self._messages[start].get("tool_calls") or () if call_id in self._calls else ()
        ahead = list(takewhile(lambda call: call["id"] != call_id, calls))
        beside = [place for call in ahead if (place := self._first.get(call["id"])) is not None]
        waiting = {c["function"]["name"] for c in ahead if c["id"] not in self._first}
        return EarlierResults(
            self, start, sorted(place for place in beside if place > start), waiting
        )

    def of(self, tool: str, start: int, beside: list[int]) -> Iterator[Any]:
        """Yield up to LOOK_BACK results of a tool, latest first.

        They are those before message index `start`, and those at the indexes `beside`.
        """
        own = self._by_tool.get(tool, [])
        later = [place for place in beside if self._tool_of(place) == tool]
        first = own[max(0, bisect_left(own, start) - LOOK_BACK) : bisect_left(own, start)]
        for place in [*first, *later][: -LOOK_BACK - 1 : -1]:
            if place not in self._read:
                self._read[place] = _result(self._messages[place])
            yield self._read[place]

    def tools(self, start: int, beside: list[int]) -> list[str]:
        """Return the names of tools with a result before `start` or at `beside`."""
        found = [name for name, places in self._by_tool.items() if name and places[0] < start]
        return list(dict.fromkeys([*found, *filter(None, map(self._tool_of, beside))]))

    def _tool_of(self, place: int) -> str | None:
        """Return the name of the tool whose result is at an index; None if the call failed."""
        message = self._messages[place]
        return None if message.get("is_error") else message.get("name") or ""

    @cached_property
    def _calls(self) -> dict[str, int]:
        """Return call id → index of its message."""
        messages = enumerate(self._messages)
        return {c["id"]: place for place, m in messages for c in m.get("tool_calls") or ()}

    @cached_property
    def _first(self) -> dict[str, int]:
        """Return call id → index of its first result."""
        found: dict[str, int] = {}
        for place, message in enumerate(self._messages):
            if message["role"] == "tool":
                found.setdefault(message["tool_call_id"], place)
        return found

    @cached_property
    def _by_tool(self) -> dict[str, list[int]]:
        """Return tool → indexes of its results, in order."""
        found: dict[str, list[int]] = {}
        for place, message in enumerate(self._messages):
            if message["role"] == "tool" and (name := self._tool_of(place)) is not None:
                found.setdefault(name, []).append(place)
        return found

    @cached_property
    def _read(self) -> dict[int, Any]:
        return {}


@dataclass(frozen=True)
class EarlierResults:
    """The results that one call may refer to.

    `start`: index of its message. `beside`: indexes of results of calls before it in that message.
    `waiting`: tools of such calls without a result so far.
    """

    results: ToolResults
    start: int
    beside: list[int]
    waiting: set[str]

    def value(self, tool: str, path: str, days: int) -> Any:
        """Return the field of the latest result of `tool` that has it, moved by `days`.

        Raises UnfilledTemplate.
        """
        if len(path) > MAX_PATH:
            raise UnfilledTemplate(f"a path has at most {MAX_PATH} characters")
        own = self.results.of(tool, self.start, self.beside)
        if (latest := next(own, MISSING)) is MISSING:
            names = self.results.tools(self.start, self.beside)[:MAX_NAMED]
            has = f"; there are results of {', '.join(names)}" if names else ""
            raise UnfilledTemplate(f"{tool} has given no result yet{has}")
        for result in chain((latest,), own):
            if (value := field(result, path)) is not MISSING:
                return shift_date(value, days) if days else value
        names = list(islice(latest, MAX_NAMED)) if isinstance(latest, dict) else []
        has = f"; the latest has {', '.join(names)}" if names else ""
        raise UnfilledTemplate(f"no result of {tool} has the field {path[:100]}{has}")


def fill_templates(
    session: Session, call: ToolCall, args: Json, results: ToolResults | None = None
) -> tuple[Json, list[str]]:
    """Return (arguments with all templates replaced, one note for each). `args` is not changed.

    `results`: those of the session, if they were read before. Raises UnfilledTemplate or Pending.
    """
    if not (count := _templates(args)):
        return args, []
    if count > MAX_TEMPLATES:
        raise UnfilledTemplate(f"a call takes at most {MAX_TEMPLATES} values of earlier results")
    earlier = (results or ToolResults(session)).before(call["id"])
    notes: list[str] = []
    problems: list[str] = []

    def fill_value(value: Any, at: Place) -> Any:
        """Return a value with its templates replaced. `at`: its place in the arguments."""
        if isinstance(value, dict):
            return {key: fill_value(item, (*at, key)) for key, item in value.items()}
        if isinstance(value, list):
            return [fill_value(item, (*at, index)) for index, item in enumerate(value)]
        if not isinstance(value, str) or not (match := _TEMPLATE.fullmatch(value)):
            return value
        if match[1] in earlier.waiting:
            raise Pending(f"{match[1]} has given no result yet")
        try:
            found = earlier.value(match[1], match[2], int(match[3] or 0))
        except UnfilledTemplate as error:
            problems.append(f"{pointer(*at)}: {value[:200]} has no value: {error}")
            return value
        notes.append(f"{pointer(*at)}: {value[:200]} became {dumps(found)[:200]}")
        return found

    changed = {key: fill_value(value, (key,)) for key, value in args.items()}
    if problems:
        text = "\n".join(problems[:MAX_NAMED])
        raise UnfilledTemplate(
            f"{text}\nFor the braces themselves put a space inside them: {{{{ a.b }}}}."
        )
    return changed, notes


def field(result: Any, path: str) -> Any:
    """Return the value at a path such as `city.days.0.date`, or MISSING."""
    for name in path.split("."):
        if isinstance(result, dict) and name in result:
            result = result[name]
        elif isinstance(result, list) and name.isdecimal() and len(name) < 10:
            if int(name) >= len(result):
                return MISSING
            result = result[int(name)]
        else:
            return MISSING
    return result


def shift_date(value: Any, days: int) -> str:
    """Return an ISO date or time moved by `days` calendar days.

    Raises UnfilledTemplate for other values.
    """
    if isinstance(value, str) and _DATE.fullmatch(value):
        try:
            dt.datetime.fromisoformat(value)
            moved = dt.date.fromisoformat(value[:10]) + dt.timedelta(days)
        except ValueError:
            pass
        except OverflowError:
            raise UnfilledTemplate(f"{days:+}d leads out of the calendar") from None
        else:
            return moved.isoformat() + value[10:]
    raise UnfilledTemplate(
        f"{days:+}d needs a date such as 2026-02-28, and it is {dumps(value)[:100]}"
    )


def _result(message: Message) -> Any:
    """Return a tool's result: from its envelope, or from its text, parsed if it is JSON."""
    envelope = message.get("result")
    result = message.get("content")
    if isinstance(envelope, dict):
        result = envelope.get("result", result)
    if isinstance(result, str):
        try:
            return loads(result)
        except JSONError:
            return result
    return result


def _templates(value: Any) -> int:
    """Return how many templates a value contains."""
    if isinstance(value, str):
        return value.startswith("{{") and _TEMPLATE.fullmatch(value) is not None
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return sum(map(_templates, inner))


# -- arguments ------------------------------------------------------------------------------------

NO_FORMATS: Mapping[str, str] = MappingProxyType({})
Fill = Callable[[Json], tuple[Json, list[str]]]


def fit_arguments(
    raw: Any, validator: Validator, fill: Fill, formats: Mapping[str, str] = NO_FORMATS
) -> tuple[Json, str, list[str]]:
    """Return (arguments to run with, error text or "", notes on changes).

    `raw`: argument text or a dict. Parameters that were declared under a portable name get their
    own name back. `formats`: arguments that are brought to one form (argument_forms.py).
    """
    changes: list[str] = []
    if isinstance(raw, str):
        parsed = parse(raw)
        if parsed.errors:
            return {}, parsed.error, []
        raw, changes = parsed.arguments, [str(item) for item in parsed.repairs]
    try:
        raw, filled = fill(_under_original_names(raw, validator))
    except UnfilledTemplate as error:
        return {}, str(error), []
    if depth_exceeds(raw, MAX_NESTED):
        return {}, f"the arguments are nested deeper than {MAX_NESTED} levels", []
    mended = repair(raw, validator)
    if mended.errors:
        return {}, error_text(mended.errors), []
    args, refusal = in_one_form(mended.value, formats) if formats else (mended.value, "")
    return args, refusal, changes + filled + [str(item) for item in mended.repairs]


def misfits(args: Json, validator: Validator, fill: Fill) -> list[Mismatch]:
    """Return the errors in arguments that a person edited.

    Empty if templates refer to results that are missing so far; these are checked when the call
    runs.
    """
    try:
        filled, _ = fill(_under_original_names(args, validator))
    except (Pending, UnfilledTemplate):
        return []
    if depth_exceeds(filled, MAX_NESTED):
        return [Mismatch("", "depth", f"nested deeper than {MAX_NESTED} levels")]
    return repair(filled, validator).errors


def _under_original_names(args: Json, validator: Validator) -> Json:
    """Return the arguments under the tool's own parameter names."""
    names = original_names(validator.schema)
    return {names.get(name, name): value for name, value in args.items()} if names else args
