"""Measure the next request, and compute how large it may be.

The anchor is the size that a provider reported for the last request, or the result of a later
compaction. Only what came since is estimated, with a ratio learned from earlier reports: the error
falls from 4-45 % to 1-6 % at the 95th percentile, and the cost of measuring does not grow with the
session. All state is in the session, so every server computes the same. Pure.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from itertools import accumulate
from typing import Any, NamedTuple

from ..json_types import Calibration, Json, Message, Session, Usage
from ..lib.strict_json import LARGEST_COUNT
from ..lib.strict_json import text_of as json_of
from ..session import media
from ..session.reminders import with_reminders
from .pictures import shown_media
from .view import apply_op, changes_of, ops_of, pairing_errors, stopped_answer, text_of, view

# -- tokens ---------------------------------------------------------------------------------------
# Estimate the number of tokens of a text, without a tokenizer.
#
# Runs of characters are classified, and the cost of a class depends on the vocabulary: Hindi is
# 0.28 tokens a character for GPT-4o and 0.9 for Qwen. So each current family of vocabularies has
# its measured costs, chosen by the model's name; a model of an unknown family has their mean. Over
# ten languages and five kinds of code the mean error is 5-6 %; that of a quarter of the characters
# is a third (docs/design/context.md). Reports of providers correct the rest (context/budget.py).
# Pure.

# Runs, first match wins. The look-aheads are bounded: without that, 40 kB of "aAaA" takes 14 s.
_RUN = re.compile(
    r"(?P<blob>(?=[A-Za-z+/=_-]{0,40}[0-9])(?=[0-9+/=_-]{0,40}[A-Za-z])[A-Za-z0-9+/=_-]{20,})"
    r"|(?P<word>[A-Z\u00c0-\u00de]?[a-z\u00df-\u024f\u1e00-\u1eff]+|[A-Z\u00c0-\u00de]+)"
    r"|(?P<number>[0-9]+)"
    r"|(?P<line>[ \t]*[\r\n]\s*)"
    r"|(?P<indent>[ \t]{2,})"
    r"|(?P<space>[ \t])"
    r"|(?P<han>[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]+)"
    r"|(?P<kana>[\u3040-\u30ff\u31f0-\u31ff\uff66-\uff9f]+)"
    r"|(?P<hangul>[\uac00-\ud7af\u1100-\u11ff]+)"
    r"|(?P<cyrillic>[\u0370-\u052f]+)"  # and Greek
    r"|(?P<arabic>[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe]+)"  # and Hebrew
    r"|(?P<indic>[\u0900-\u0dff]+)"
    r"|(?P<thai>[\u0e00-\u0fff\u1780-\u17ff]+)"  # and its neighbours
    r"|(?P<mark>[!-/:-@\[-`{-~]+)"
    r"|(?P<wide>[\u3000-\u303f\uff00-\uff65\u2010-\u2027\u2030-\u205e]+)"
    r"|(?P<other>.)",
    re.DOTALL,
)


class Costs(NamedTuple):
    """Tokens of each class of characters, in one family of vocabularies.

    letter           each letter beyond the seventh of a word, and each accented letter
    number, digit    a number, and each of its digits
    line             a line break
    mark             a run of ASCII marks
    wide … thai      one character: of CJK or typographic punctuation, or of a script
    pixels, most     pixels of a picture that are one token, and the tokens of the largest picture
    """

    letter: float
    number: float
    digit: float
    line: float
    mark: float
    wide: float
    han: float
    kana: float
    hangul: float
    cyrillic: float
    arabic: float
    indic: float
    thai: float
    pixels: int = 750
    most: int = 1_600


# One row a family: o200k_base, cl100k_base, Qwen 3 and 3.6, DeepSeek V3, Llama 3.1 and Gemma 3, as
# measured on one half of tests/vectors/tokens.json. The last row is their mean, the old cl100k_base
# left out. Pictures are as the vendors document them; those of any other model are as Claude's.
FAMILIES = {
    "o200k": Costs(
        0.18, 0.64, 0.45, 1.11, 0.75, 0.55, 0.84, 0.88, 0.67, 0.22, 0.29, 0.28, 0.42, 1_028, 1_105
    ),
    "cl100k": Costs(
        0.39, 0.67, 0.48, 0.87, 0.75, 0.59, 1.26, 1.10, 1.17, 0.44, 0.76, 1.11, 0.97, 1_028, 1_105
    ),
    "qwen": Costs(
        0.38, 0.81, 0.81, 0.81, 0.76, 0.68, 0.62, 0.70, 0.73, 0.28, 0.36, 1.06, 0.57, 784, 1_280
    ),
    "qwen35": Costs(
        0.19, 0.77, 0.76, 1.49, 0.86, 0.69, 0.56, 0.52, 0.53, 0.20, 0.27, 0.40, 0.26, 1_024, 2_560
    ),
    "deepseek": Costs(0.31, 0.66, 0.48, 0.67, 0.92, 0.73, 0.55, 0.73, 0.75, 0.24, 0.36, 0.59, 0.38),
    "llama": Costs(0.39, 0.67, 0.50, 0.70, 0.78, 0.54, 0.85, 0.67, 0.69, 0.26, 0.38, 0.55, 0.47),
    "gemma": Costs(
        0.17, 0.73, 0.73, 1.43, 1.04, 0.60, 0.69, 0.47, 0.61, 0.20, 0.32, 0.21, 0.35, 2_286, 1_290
    ),
    "": Costs(0.27, 0.71, 0.62, 1.03, 0.85, 0.63, 0.68, 0.66, 0.66, 0.23, 0.33, 0.52, 0.41),
}
_NAMED = re.compile(  # the first family whose name is in a model's name
    r"(?P<o200k>gpt-4o|gpt-4\.[1-9]|gpt-[5-9]|gpt-oss|chatgpt|\bo[1-9]\b)"
    r"|(?P<cl100k>gpt-4|gpt-3|embedding)"
    r"|(?P<qwen35>qwen-?3\.[5-9]|qwen-?[4-9])"
    r"|(?P<qwen>qwen|qwq|qvq)"
    r"|(?P<deepseek>deepseek)"
    r"|(?P<llama>llama-?[34])"
    r"|(?P<gemma>gemma|gemini)"
)
ANY = FAMILIES[""]
Estimate = Callable[[str], int]  # the tokens of a text

# The same for all families. A word is about one token, and its letters beyond the seventh cost
# more; both cost more in a text with many accents, since that is not English.
_WORD, _LONG = 0.92, 7
_FOREIGN_WORD, _FOREIGN_LETTER = 0.1, 0.8
_ACCENTS = 10  # with an accented letter in so many words or fewer, a text is wholly foreign
_RUN_OF_SCRIPT = 0.33  # a run of letters of another script, in addition to its characters
_BLOB, _INDENT, _MARK, _OTHER = 0.54, 1.1, 0.1, 0.53  # a character; a run; a character each

PLACES, WINDOW = 100, 160  # samples of many texts, and the bytes of each
WHOLE = 2 * PLACES * WINDOW  # bytes of many texts that are measured whole
FEW_PLACES = 16  # samples that tell a size within FACTOR
FACTOR = 1.5
LEAST_WINDOWS = 5  # for a rate of its own
_GOLDEN = 0.618034
SAMPLED = 8_000  # characters; of a longer text only samples are measured
SAMPLE = 1_000
MESSAGE = 4  # tokens around each message: role and separators
CALL = 8  # around each tool call
MEDIA = 1_000  # a picture of unknown size, or another part
LEAST_PICTURE = 85  # tokens of the smallest picture
DOCUMENT = 25  # bytes of a PDF that are one token, about: a page is 2,000 tokens
SOUND = 500  # bytes of compressed sound


def costs_of(model: str) -> Costs:
    """Return the costs for a model name, without the publisher (`owner/`)."""
    found = _NAMED.search(model.lower().rpartition("/")[2])
    return FAMILIES[(found and found.lastgroup) or ""]


def estimate(text: str, costs: Costs = ANY) -> int:
    """Return the tokens of a text. A long one is sampled at four places, for 2 ms at most."""
    if len(text) <= SAMPLED:
        return round(_cost(text, costs))
    starts = range(0, len(text) - SAMPLE + 1, (len(text) - SAMPLE) // 3)
    sampled = sum(_cost(text[start : start + SAMPLE], costs) for start in starts)
    return round(sampled / (len(starts) * SAMPLE) * len(text))


def _cost(text: str, costs: Costs) -> float:
    classes, plain = _classes(costs), text.isascii()
    total = 0.0
    words = beyond = accented = 0
    for match in _RUN.finditer(text):
        kind = match.lastgroup
        start, end = match.span()
        if kind == "word":
            words += 1
            if end - start > _LONG:
                beyond += end - start - _LONG
            if not (plain or match[0].isascii()):
                accented += sum(character > "\x7f" for character in match[0])
        else:
            run, each = classes[kind]
            total += run + each * (end - start)
    foreign = min(accented * _ACCENTS / words, 1.0) if words else 0.0
    letters = accented + beyond * (1 + _FOREIGN_LETTER * foreign)
    return total + words * (_WORD + _FOREIGN_WORD * foreign) + letters * costs.letter


@lru_cache(maxsize=len(FAMILIES))
def _classes(costs: Costs) -> dict[str | None, tuple[float, float]]:
    """Map classes to (tokens for a run, tokens for each of its characters)."""
    return {
        "blob": (0, _BLOB),
        "number": (costs.number, costs.digit),
        "line": (costs.line, 0),
        "indent": (_INDENT, 0),
        "space": (0, 0),
        "han": (0, costs.han),
        "kana": (0, costs.kana),
        "hangul": (_RUN_OF_SCRIPT, costs.hangul),
        "cyrillic": (_RUN_OF_SCRIPT, costs.cyrillic),
        "arabic": (_RUN_OF_SCRIPT, costs.arabic),
        "indic": (_RUN_OF_SCRIPT, costs.indic),
        "thai": (0, costs.thai),
        "mark": (costs.mark, _MARK),
        "wide": (0, costs.wide),
        "other": (0, _OTHER),
    }


def estimator(texts: Sequence[str], costs: Costs = ANY) -> Estimate:
    """Return how to estimate each of these texts, in some 5 ms however many and long they are.

    Of WHOLE bytes or less, each is measured. Of more, windows at PLACES places are, and a text has
    as many tokens as its bytes of UTF-8 tell: tokens a byte differ less between languages than
    tokens a character. Texts of scripts of one, two and three bytes have rates of their own. The
    error of the sum is about 3 % beside that of `estimate`.
    """
    ends = list(accumulate(map(_bytes, texts)))
    if not ends or ends[-1] <= WHOLE:
        return partial(estimate, costs=costs)
    found: dict[int, list[float]] = defaultdict(list)
    for script, rate in _samples(texts, ends, PLACES, costs):
        found[script].append(rate)
    every = sum(map(sum, found.values())) / PLACES
    rates = {
        script: sum(few) / len(few) for script, few in found.items() if len(few) >= LEAST_WINDOWS
    }

    def scale(text: str) -> int:
        """Return the tokens of a text, by its bytes."""
        size = _bytes(text)
        return round(size * rates.get(round(size / (len(text) or 1)), every))

    return scale


def _samples(
    texts: Sequence[str], ends: Sequence[int], places: int, costs: Costs
) -> Iterator[tuple[int, float]]:
    """Yield (bytes of a character, tokens of a byte) at these many places of texts.

    `ends`: of the texts, in bytes from the beginning of the first.
    """
    for index, before, own in _places(ends, places):
        text = texts[index]
        width = max(WINDOW * len(text) // own, 1)  # characters
        window = _window(text, before, own, width)
        yield round(own / len(text)), _cost(window, costs) / _bytes(window)


def _places(ends: Sequence[int], places: int) -> Iterator[tuple[int, int, int]]:
    """Yield (index, how far in it, its size) at these many places of things with these ends."""
    for number in range(places):
        # Evenly spread, but without a period that could be that of the things.
        mark = int((number + number * _GOLDEN % 1) * ends[-1] / places)
        index = bisect_right(ends, mark)
        first = ends[index - 1] if index else 0
        yield index, mark - first, ends[index] - first


def _window(text: str, before: int, own: int, width: int) -> str:
    """Return so many characters of a text of size `own`, with `before` of that before them."""
    start = min(before * len(text) // own, max(len(text) - width, 0))
    return text[start : start + width]


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def of_message(message: Message, costs: Costs = ANY) -> int:
    """Return the tokens of one message of a view: its content and its calls."""
    fixed, texts = _texts_of(message, costs)
    return fixed + sum(estimate(text, costs) for text in texts)


def of_messages(messages: Iterable[Message], costs: Costs = ANY) -> list[int]:
    """Return the tokens of each message of a view; see `estimator`."""
    found = [_texts_of(message, costs) for message in messages]
    each = estimator([text for _, texts in found for text in texts], costs)
    return [fixed + sum(map(each, texts)) for fixed, texts in found]


def roughly(messages: Sequence[Message], costs: Costs = ANY) -> float:
    """Return the tokens of the messages of a view within FACTOR, by a look at a few of them.

    The larger a message, the more likely it is one of these.
    """
    ends = list(accumulate(map(_characters, messages)))
    if not ends or ends[-1] <= 2 * FEW_PLACES * WINDOW:
        return sum(of_message(message, costs) for message in messages)
    rate = 0.0  # tokens of a character, summed
    for index, before, own in _places(ends, FEW_PLACES):
        fixed, texts = _texts_of(messages[index], costs)
        text = "\n".join(texts)
        window = _window(text, before, own, WINDOW)
        said = _cost(window, costs) * len(text) / len(window) if window else 0
        rate += (fixed + said) / own
    return ends[-1] * rate / FEW_PLACES


def media_tokens(message: Message, costs: Costs = ANY) -> int:
    """Return the tokens of the pictures and files of a message."""
    parts = media.parts_of(message.get("content"))
    found = sum(_of_picture(media.size_of_part(part), costs) for part in parts)
    for item in media.of_message(message):
        size = len(item["data"]) * 3 // 4
        if item["media_type"] in media.PICTURES:
            found += _of_picture((item.get("width"), item.get("height")), costs)
        elif item["media_type"] not in media.PLAYED:
            per_token = DOCUMENT if item["media_type"] == media.PDF else SOUND
            found += max(size // per_token, MEDIA)
    return found


def _of_picture(size: tuple[Any, Any] | None, costs: Costs) -> int:
    width, height = size or (None, None)
    if type(width) is not int or type(height) is not int or min(width, height) < 1:
        return MEDIA
    return min(max(width * height // costs.pixels, LEAST_PICTURE), costs.most)


def _texts_of(message: Message, costs: Costs = ANY) -> tuple[int, list[str]]:
    """Return the tokens of a message that are no text's, and its texts."""
    content, calls = message.get("content"), message.get("tool_calls")
    if isinstance(content, str) and not calls and "result" not in message:  # nearly all
        return MESSAGE, [content]
    fixed, texts = MESSAGE + media_tokens(message, costs), []
    if isinstance(content, str):
        texts.append(content)
    else:
        for part in content or ():
            if isinstance(part, dict) and isinstance(text := part.get("text"), str):
                texts.append(text)
    for call in calls or ():
        function = call["function"]
        arguments = function["arguments"]
        fixed += CALL
        texts += function["name"], arguments if isinstance(arguments, str) else str(arguments)
    return fixed, texts


# -- budget ---------------------------------------------------------------------------------------


UNREPORTED = 1.15  # ratio without any report: a safety margin
LEAST_NEW = 50  # estimated tokens below which a report does not change the ratio
MOST_OF_CHARACTER = 1.7  # tokens of one character, at most: a digit by itself
MUCH = 8  # times the high mark: a text of so many characters is rarely smaller than half of it
KEPT = 1 << 16  # longest text, in characters, that the cache of estimates keeps
RATIO = (0.5, 2.5)  # range of a ratio; a value outside is a mistake in the report


@dataclass
class Request:
    """The next request to a model, of one state of the session, for measuring and for sending."""

    session: Session
    system: str = ""
    tools: list[Json] = field(default_factory=list)

    @cached_property
    def view(self) -> list[Message]:
        """Return the messages of the session that the model sees, made once."""
        return view(self.session)

    def messages(self, note: str = "") -> list[Message]:
        """Return the messages to send: the system prompt, the view, and notes to the model."""
        seen = shown_media(self.view)
        messages: list[Message] = [{"role": "system", "content": self.system}, *seen]
        if errors := pairing_errors(messages):  # a bug in view()
            raise AssertionError(f"the view is not well paired: {errors}")
        return with_reminders(self.session, messages, note)


@dataclass(frozen=True)
class Budget:
    """Limits of a request, in tokens.

    high    from this size on, the view is made smaller
    low     size at which a compaction ends
    bound   a larger request is never sent; None: no limit
    ingest  the largest tool result that enters the view whole
    window  the model's, None if unknown
    """

    high: int
    low: int
    bound: int | None
    ingest: int
    window: int | None = None


EXACT = Budget(0, 0, None, 0)  # makes `measure_request` count even a small request


def budget_of(session: Session, model: str, facts: Mapping[str, Any]) -> Budget:
    """Return the budget of a session with one model.

    `facts`: of the model (`max_context`, `max_tokens`). The smallest known window counts, including
    one learned from a refusal. With `config.context.enabled: false`, only the window is a bound.
    """
    wanted = session["config"]["context"]
    known = (
        facts.get("max_context"),
        session["config"]["yaa"].get("max_context"),
        session.get("context", {}).get("windows", {}).get(model),
    )
    window = min((int(each) for each in known if each), default=None)
    bound = min(filter(None, (window, wanted["enabled"] and wanted["budget"])), default=None)
    high = int(wanted["budget"] * wanted["trigger_ratio"])
    if window is not None:
        answer = min(facts.get("max_tokens") or 0, window // 4)
        high = min(high, int(window * wanted["trigger_ratio"]) - answer)
    high = max(high, 1)
    ingest = wanted["ingest_tokens"] or max(high // 10, 500)
    return Budget(high, int(high * wanted["target_ratio"]), bound, ingest, window)


@dataclass(frozen=True)
class Measure:
    """Size of the next request, in tokens.

    `known` tokens are reported, `guessed` ones estimated by the model's `costs`, before the
    `ratio`.
    """

    known: int
    guessed: int
    ratio: float
    costs: Costs = ANY

    @property
    def total(self) -> int:
        """Return the estimate of all tokens."""
        return self.known + round(self.guessed * self.ratio)


def measure_request(
    request: Request, model: str, budget: Budget, *, anchored: bool = True
) -> Measure:
    """Return the size of a request.

    Without an anchor everything is estimated, unless the request is certainly smaller than
    `budget.high`, or by a rough estimate much smaller: its measure is then 0.
    """
    session = request.session
    known, since = anchor(session) if anchored else (0, 0)
    ratio, costs = ratio_of(session, model), costs_of(model)
    if not since:
        messages, system, tools = request.view, request.system, request.tools
        fixed = _cached_estimate(system, costs) + of_tools(tools, costs)
        most = MOST_OF_CHARACTER * sum(map(_characters, messages)) + fixed
        small = most * ratio < budget.high
        if not small and most * ratio < budget.high * MUCH:
            small = (fixed + FACTOR * roughly(messages, costs)) * ratio < budget.high
        if small:
            return Measure(0, 0, ratio, costs)
        return Measure(0, fixed + sum(of_messages(messages, costs)), ratio, costs)
    changes = changes_of(ops_of(session))
    new = []
    for place in range(since, len(session["messages"])):
        message: Message | None = session["messages"][place]
        if message and message.get("open"):
            message = stopped_answer(session["messages"], place)
        if message and message["role"] != "error":
            op = changes.get(message.get("id", ""))
            new.append(apply_op(message, op, place) if op else message)
    return Measure(known, sum(of_messages(new, costs)), ratio, costs)


def refused_size(request: Request, model: str) -> Measure:
    """Return the size of a refused request: the larger of the anchored and the full estimate.

    The anchor may be too small: a message was edited since the report, or the prompt has changed.
    """
    measures = [measure_request(request, model, EXACT, anchored=each) for each in (True, False)]
    return max(measures, key=lambda measure: measure.total)


def estimate_request(
    messages: list[Message], tools: list[Json], costs: Costs, most: float
) -> float:
    """Return the estimated tokens of a request, by the model's `costs` and without reports.

    If they are certainly no more than `most`, a rough number that is no more either.
    """
    fixed = of_tools(tools, costs)
    if (rough := fixed + FACTOR * roughly(messages, costs)) <= most:
        return rough
    return fixed + sum(of_messages(messages, costs))


def of_tools(tools: list[Json], costs: Costs = ANY) -> int:
    """Return the estimated tokens of the declarations of tools."""
    return _cached_estimate(json_of(tools), costs) if tools else 0


def _characters(message: Message) -> int:
    calls, content = message.get("tool_calls") or (), message.get("content")
    if isinstance(content, str) and not calls and "result" not in message:  # nearly all
        return len(content) + 20
    arguments = sum(len(str(call["function"]["arguments"])) + 50 for call in calls)
    text = len(content) if isinstance(content, str) else len(text_of(content))
    return text + arguments + media_tokens(message) + 20


def _cached_estimate(text: str, costs: Costs) -> int:
    """Return the estimated tokens of a prompt or of tools, cached unless it is long.

    Prompts and tools are the same for many requests. A text longer than KEPT is specific to a
    session and may be as large as a request can be.
    """
    return remembered(text, costs) if len(text) <= KEPT else estimate(text, costs)


remembered = lru_cache(maxsize=64)(estimate)


def anchor(session: Session) -> tuple[int, int]:
    """Return (tokens, messages that they cover) of the last report or compaction.

    The tokens are those of the request and its answer. (0, 0) without a report or a compaction.
    """
    records = session.get("context", {}).get("events")
    at, after = (records[-1]["at"], records[-1]["after"]) if records else (0, 0)
    for place in range(len(session["messages"]) - 1, -1, -1):
        if place < at:
            return after, at
        usage = reported_usage(session["messages"][place])
        if usage:
            answer = usage.get("completion_tokens", 0) - usage.get("reasoning_tokens", 0)
            return usage["prompt_tokens"] + max(answer, 0), place + 1
    return 0, 0


def reported_usage(message: Message) -> Usage | None:
    """Return the usage that a provider reported for this message, None if it did not."""
    if message["role"] != "assistant" or message.get("open"):
        return None
    usage: Usage = (message.get("meta") or {}).get("usage") or {}
    return usage if usage.get("prompt_tokens") and not usage.get("estimated") else None


def ratio_of(session: Session, model: str) -> float:
    """Return the factor from estimated to real tokens of a model in this session."""
    return _bound_ratio(calibration(session, model).get("ratio", UNREPORTED))


def calibration(session: Session, model: str) -> Mapping[str, Any]:
    """Return the `{ratio, n}` of a model in this session; {} before its first report."""
    return session.get("context", {}).get("calib", {}).get(model, {})


def updated_calibration(
    known: Mapping[str, Any], before: Measure, prompt_tokens: int
) -> Calibration | None:
    """Return the calibration `{ratio, n}` after a report; None if it stays as it is.

    `known`: the calibration so far. `before`: the measure of the request. `prompt_tokens`: as
    reported for it. The ratio is the mean of the first reports, then of about the last seven.
    """
    if before.guessed < LEAST_NEW:
        return None
    seen = _bound_ratio((prompt_tokens - before.known) / before.guessed)
    count = known.get("n", 0)
    weight = max(0.15, 1 / (count + 1))
    mean = (1 - weight) * _bound_ratio(known["ratio"]) + weight * seen if count else seen
    return {"ratio": round(mean, 4), "n": min(count + 1, LARGEST_COUNT)}


def _bound_ratio(ratio: float) -> float:
    return min(max(float(ratio), RATIO[0]), RATIO[1])
