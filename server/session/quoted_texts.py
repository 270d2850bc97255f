"""Keep the JSON of long texts, so that a text that is sent again is written once. Pure."""

from __future__ import annotations

from ..strict_json import quote


class QuotedTexts(dict[str, str]):
    """Map texts to their JSON, which is made for a text that is not there yet."""

    def __missing__(self, text: str) -> str:
        """Return the JSON of a new text."""
        found = self[text] = quote(text)
        return found

    @property
    def size(self) -> int:
        """Return the characters of JSON."""
        return sum(map(len, list(self.values())))  # a list: a thread may add one meanwhile

    def only(self, texts: set[str]) -> QuotedTexts:
        """Return what is kept of these texts."""
        return QuotedTexts({text: self[text] for text in texts if text in self})
