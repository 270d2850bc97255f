"""Split reasoning from content: `<think>…</think>` at the start of an answer.

Used by `chat_decoder` where the preset has the flag. Only the possible start of a tag waits for
the next delta. A `<think>` after the first visible character is text, since answers do mention the
tag. A closing tag before it is dropped: it is left over from reasoning that came in a field of its
own, or from empty reasoning (koma issue 63).
"""

from __future__ import annotations

import re

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
