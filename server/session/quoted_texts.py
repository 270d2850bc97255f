"""Keep the JSON of what models are sent, so that what is sent again is written once. Pure."""

from __future__ import annotations

from ..lib.strict_json import quote

ROLES = ("user", "assistant")


class QuotedTexts(dict[str, str]):
    """Map texts to their JSON between two others, which is made for a text not there yet."""

    def __init__(self, before: str = "", after: str = "") -> None:
        super().__init__()
        self._before, self._after = before, after

    def __missing__(self, text: str) -> str:
        """Return the JSON of a new text."""
        found = self[text] = f"{self._before}{quote(text)}{self._after}"
        return found


class SentTexts:
    """What models were sent of one session.

    quoted    text -> its JSON
    messages  role -> text -> the JSON of a message of this role that only says the text
    """

    def __init__(self) -> None:
        self.quoted = QuotedTexts()
        self.messages = {role: QuotedTexts(f'{{"role":"{role}","content":', "}") for role in ROLES}

    @property
    def _all(self) -> list[QuotedTexts]:
        return [self.quoted, *self.messages.values()]

    @property
    def count(self) -> int:
        """Return the number of texts."""
        return sum(map(len, self._all))

    @property
    def size(self) -> int:
        """Return the characters of JSON."""
        # A list: a thread may add a text meanwhile
        return sum(sum(map(len, list(each.values()))) for each in self._all)

    def only(self, texts: set[str]) -> SentTexts:
        """Return what is kept of these texts."""
        found = SentTexts()
        for kept, made in zip(self._all, found._all, strict=True):
            made.update({text: kept[text] for text in texts if text in kept})
        return found
