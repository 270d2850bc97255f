"""Decode the chunks of a Chat Completions answer into the events of one assistant message.

`stream_reader` passes every parsed chunk. A whole reply (no streaming) is one chunk with `message`
where others have `delta`. Only the possible start of a tag is held back. The test vectors in
tests/vectors/llm_stream.json show the vendors' differences.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from functools import partial
from typing import Any

from ..lib.strict_json import as_object, as_text, objects_in
from ..session.media import kind_of, wave
from .decoder import Delta, StreamDecoder
from .provider import Provider
from .tool_call_assembler import is_structure

# -- think tags -----------------------------------------------------------------------------------
# Split reasoning from content: `<think>…</think>` at the start of an answer.
#
# Used by `chat_decoder` where the preset has the flag. Only the possible start of a tag waits for
# the next delta. A `<think>` after the first visible character is text, since answers do mention
# the tag. A closing tag before it is dropped: it is left over from reasoning that came in a field
# of its own, or from empty reasoning (koma issue 63).

# Most models; some fine-tunings; Gemma and Gemini (moltis issue 1016).
NAMES = ("think", "thinking", "thought")
_TAG = re.compile(rf"<(/?)({'|'.join(NAMES)})>", re.IGNORECASE | re.ASCII)
_TAGS = tuple(f"<{slash}{name}>" for slash in ("", "/") for name in NAMES)


class ThinkTags:
    """Incremental splitter of reasoning tags.

    `implicit`: the answer begins inside reasoning, as the template already wrote the opening tag
    (MiniMax M2, some DeepSeek templates).
    """

    def __init__(self, implicit: bool) -> None:
        self.after = False  # visible text has begun: the rest is text
        self.never_closed = False  # set by `end`: implicit reasoning without a closing tag
        self._implicit = implicit
        self._inside = False
        self._close = "</think>"
        self._held = ""

    def feed(self, text: str) -> list[tuple[bool, str]]:
        """Return (is reasoning, text) pieces; nothing is lost but the tags."""
        out: list[tuple[bool, str]] = []
        text, self._held = self._held + text, ""
        while text:
            if self.after:
                _put(out, False, text)
                break
            text = self._in_thought(text, out) if self._inside else self._before(text, out)
        return out

    def end(self) -> list[tuple[bool, str]]:
        """Return the text held back, at the end of the answer, and set `never_closed`."""
        held, self._held = self._held, ""
        self.never_closed = self._implicit and (self._inside or bool(held))
        return [(self._inside or self._implicit, held)] if held else []

    def _before(self, text: str, out: list[tuple[bool, str]]) -> str:
        blank = len(text) - len(text.lstrip())
        visible = text[blank : blank + len(max(_TAGS, key=len))].lower()
        tag = _TAG.match(text, blank)
        if tag and (not tag[1] or not self._implicit):
            if not tag[1]:
                self._inside, self._close = True, f"</{tag[2].lower()}>"
            _put(out, self._implicit, text[:blank])
            return text[tag.end() :]
        if visible and not tag and any(each.startswith(visible) for each in _TAGS):
            self._held = text[blank:]
            _put(out, self._implicit, text[:blank])
        elif visible and self._implicit:
            self._inside = True
            return text
        else:
            self.after = bool(visible)
            _put(out, self._implicit, text)
        return ""

    def _in_thought(self, text: str, out: list[tuple[bool, str]]) -> str:
        if end := re.search(self._close, text, re.IGNORECASE | re.ASCII):
            _put(out, True, text[: end.start()])
            self._inside = self._implicit = False
            return text[end.end() :]
        keep = _partial(text, self._close)
        self._held = text[len(text) - keep :]
        _put(out, True, text[: len(text) - keep])
        return ""


def _put(out: list[tuple[bool, str]], is_thought: bool, text: str) -> None:
    if text:
        out.append((is_thought, text))


def _partial(text: str, tag: str) -> int:
    """Return how many characters at the end of `text` may be the start of `tag`."""
    tail = text[-len(tag) + 1 :].lower()
    return next((len(tail) - i for i in range(len(tail)) if tag.startswith(tail[i:])), 0)


# -- chat decoder ---------------------------------------------------------------------------------

TAGS = "think_tags"  # reasoning.field of reasoning in <think>…</think>
PARTS = "thinking"  # reasoning.field of reasoning in content parts (Mistral)
DETAILS = "reasoning_details"
FIELDS = ("reasoning_content", "reasoning")
_TEXTS = ("content", *FIELDS)
MADE = ("images", "image")  # members with pictures: OpenRouter and LiteLLM, and its older versions
# Members of a message that are read; pictures and sounds are too large to be sent back.
MEMBERS = {*_TEXTS, DETAILS, "role", "tool_calls", "function_call", "refusal", "annotations"}
MEMBERS |= {*MADE, "audio"}


class Decoder(StreamDecoder):
    """Decoder of Chat Completions. See StreamDecoder for the arguments."""

    def __init__(self, provider: Provider, *arguments: Any, **more: Any) -> None:
        super().__init__(provider, *arguments, **more)
        self._tags = ThinkTags(provider.preset.implicit_think) if _has_tags(provider) else None
        self._thoughts: list[str] = []  # with implicit_think: they may turn out to be the answer
        self._snapshot = ""  # with cumulative: text of reasoning_details so far
        self._choice: Any = None
        self._members: dict[str, Any] = {}  # of the message, that are the provider's own
        self._sound: list[str] = []  # pieces, in base64 each

    def _read(self, chunk: dict[str, Any]) -> None:
        if "base_resp" in chunk:
            self._check(chunk)
        if raw := chunk.get("usage"):
            self._take_usage(raw)
        if cited := chunk.get("search_results") or chunk.get("citations"):  # Perplexity
            self._citations.add_annotations(cited)
        for choice in objects_in(chunk.get("choices")):
            self._read_choice(choice)

    def _read_document(self, document: dict[str, Any]) -> bool:
        # Perplexity's whole answers have a `delta`, too, which is empty.
        whole = [
            {**each, "delta": each["message"]} if isinstance(each.get("message"), dict) else each
            for each in objects_in(document.get("choices"))
        ]
        if document.get("choices"):
            self.feed({**document, "choices": whole})
        return bool(document.get("choices"))

    def only_text(self, chunk: dict[str, Any]) -> Delta | None:
        """See StreamDecoder."""
        choices = chunk.get("choices")
        if not choices or len(choices) != 1:
            return None
        delta = choices[0].get("delta")
        more = chunk.get("usage") or choices[0].get("usage") or choices[0].get("finish_reason")
        if more or not isinstance(delta, dict):
            return None
        news = [key for key, value in delta.items() if value and key != "role"]
        if len(news) != 1 or news[0] not in _TEXTS or not isinstance(delta[news[0]], str):
            return None
        name = news[0]
        take = self._content if name == "content" else partial(self._think, name=name)
        return Delta(name, delta[name], take)

    def _read_choice(self, choice: dict[str, Any]) -> None:
        index = choice.get("index")
        if self._choice is None:
            self._choice = index
        elif index is not None and index != self._choice:
            return  # a second choice, which was not requested
        if wrong := choice.get("error"):  # OpenRouter
            self._check({"error": wrong})
        delta = choice.get("delta")
        if not delta and not self._received and not self._calls.all:
            # MiniMax repeats the whole answer in its last chunk's `message`.
            delta = choice.get("message")
        if isinstance(delta, dict):
            self._read_delta(delta)
        self._take_finish(choice.get("finish_reason"))
        if raw := choice.get("usage"):  # Moonshot
            self._take_usage(raw)

    def _read_delta(self, delta: dict[str, Any]) -> None:
        if len(delta) > 1 or "content" not in delta:
            self._read_reasoning(delta)
        content = delta.get("content")
        if content and isinstance(content, str):
            self._content(content)
        elif isinstance(content, list):
            self._read_parts(content)
        if len(delta) > 1 or content is None:
            self._read_rarer(delta)

    def _read_rarer(self, delta: dict[str, Any]) -> None:
        if annotations := delta.get("annotations"):
            self._citations.add_annotations(annotations)
        if refusal := as_text(delta.get("refusal")):
            self._content(refusal)
        calls = delta.get("tool_calls")
        legacy = delta.get("function_call")
        if not calls and isinstance(legacy, dict) and any(legacy.values()):
            calls = [{**legacy, "index": 0}]  # Snowflake has an empty one beside `tool_calls`
        if isinstance(sound := delta.get("audio"), dict):
            self._content(as_text(sound.get("transcript")))
            self._sound.append(as_text(sound.get("data")))
        self._take_members(delta)
        for fragment in calls if isinstance(calls, list) else ():
            self._open_text()
            self._out += self._calls.feed(fragment)

    # -- reasoning --------------------------------------------------------------------------------

    def _read_reasoning(self, delta: dict[str, Any]) -> None:
        fresh = self._take_details(delta.get(DETAILS))
        for name in FIELDS:
            if isinstance(text := delta.get(name), str) and text:
                return self._think(text, name)
        if fresh:
            self._think(fresh, DETAILS)
        return None

    def _take_details(self, details: Any) -> str:
        """Keep reasoning_details to send back unchanged, and return their readable text."""
        fresh = ""
        for item in map(dict, objects_in(details)):
            for key in ("text", "summary"):
                if isinstance(text := item.get(key), str) and text:
                    item[key] = self._only_new(text)
                    fresh += item[key]
            _join_item(self._details, item)
        return fresh

    def _take_members(self, delta: dict[str, Any]) -> None:
        """Keep the members that are the provider's own, to send them back unchanged.

        Their pieces are joined as those of reasoning_details are. LiteLLM's `thinking_blocks` hold
        the signatures without which Claude refuses the next request.
        """
        for name in MADE:
            if delta.get(name) and not self._take_media("image", delta[name]):
                self._untaken.add(name)
        for name, value in delta.items():
            if name in MEMBERS or not is_structure(value):
                continue
            kept = self._members.setdefault(name, [] if isinstance(value, list) else {})
            if isinstance(value, dict) and isinstance(kept, dict):
                kept |= value
            elif isinstance(value, list) and isinstance(kept, list):
                for item in value:
                    _join_item(kept, dict(item)) if isinstance(item, dict) else kept.append(item)

    def _only_new(self, text: str) -> str:
        """Return the new part of a fragment that may repeat everything before it."""
        if not self._provider.preset.cumulative:
            return text
        before = self._snapshot
        if before and len(text) >= len(before) and text.startswith(before):
            text = text[len(before) :]
        self._snapshot = before + text
        return text

    def _think(self, text: str, name: str) -> None:
        if name == TAGS and self._field not in ("", TAGS):
            return  # the same reasoning a second time: MiniMax M3 sends both
        if self._provider.preset.implicit_think:
            self._thoughts.append(text)
        super()._think(text, name)

    # -- text -------------------------------------------------------------------------------------

    def _read_parts(self, parts: Iterable[Any]) -> None:
        for part in parts:
            if isinstance(part, str):
                self._content(part)
            elif isinstance(part, dict):
                inner = part.get("thinking")
                if inner is not None:
                    for piece in objects_in(
                        inner if isinstance(inner, list) else [{"text": inner}]
                    ):
                        self._think(as_text(piece.get("text")), PARTS)
                elif isinstance(text := part.get("text"), str):
                    self._content(text)
                elif part and not self._take_media("file", part):
                    self._untaken.add(as_text(part.get("type")) or next(iter(part)))

    def _content(self, content: str) -> None:
        if self._tags is None or self._tags.after:
            self._scan(content)
            return
        for is_thought, piece in self._tags.feed(content):
            self._think(piece, TAGS) if is_thought else self._scan(piece)

    def _end_text(self, cut: bool) -> None:
        members = self._calls.limit_sizes(self._members).items()
        self._details += ({"member": name, "value": value} for name, value in members)
        self._end_thought()
        if self._tags is not None:
            for is_thought, piece in self._tags.end():
                self._think(piece, TAGS) if is_thought else self._scan(piece)
            if self._tags.never_closed and not cut and not self._calls.all:
                self._scan("".join(self._thoughts))  # no closing tag: this was the answer
        super()._end_text(cut)

    def _end_media(self) -> None:
        if self._sound and not self._take_media("audio", {"data": self._whole_sound()}):
            self._untaken.add("audio")
        super()._end_media()

    def _whole_sound(self) -> str:
        """Return the sound in base64, bare samples as a WAV file."""
        wanted = {**self._provider.settings, **self._provider.extra_body, **self._options.settings}
        form = wanted.get("audio")
        try:
            sound = b"".join(map(base64.b64decode, self._sound))
        except ValueError:
            return self._sound[0]  # which is said to be no base64
        bare = as_object(form).get("format") == "pcm16" and not kind_of(sound)
        return base64.b64encode(wave(sound) if bare else sound).decode("ascii")


def _join_item(kept: list[Any], item: dict[str, Any]) -> None:
    """Add an item, or the next piece of the last one: the same type and index."""
    last = kept[-1] if kept and isinstance(kept[-1], dict) else {}
    if not last or any(last.get(key) != item.get(key) for key in ("type", "index")):
        kept.append(item)
        return
    for key, value in item.items():
        texts = isinstance(value, str) and isinstance(last.get(key), str)
        grows = texts and key in ("text", "summary", "thinking")
        last[key] = last[key] + value if grows else value or last.get(key)


def _has_tags(provider: Provider) -> bool:
    return provider.preset.think_tags or provider.preset.implicit_think
