"""Tags that some prompts make a model put around parts of its answer: <THINK>, <ASK>, <ANSWER>, ….

Used by `xml` in tool mode text. A mark counts at the beginning of a line and outside of fenced
blocks, so that an answer may mention such tags.
"""

from __future__ import annotations

THOUGHT, ANSWER, QUESTION = "thought", "answer", "question"
# An <OBSERVE> by the model is an invented tool result, so it is shown as reasoning.
MARKS = {
    "think": THOUGHT,
    "observe": THOUGHT,
    "answer": ANSWER,
    "done": ANSWER,
    "ask": QUESTION,
}
ASK_USER = "ask_user"  # a question becomes a call of this tool
LONGEST = max(map(len, MARKS)) + 3
_FENCES = ("```", "~~~")
_ENOUGH = 200  # characters of a line that are kept, to see how it begins


class Lines:
    """Position in a streamed text: at the beginning of a line or not, in a fenced block or not."""

    def __init__(self) -> None:
        self._line = ""  # how the line begins
        self._fenced = False

    @property
    def free(self) -> bool:
        """Return whether only white space precedes on this line, outside of any fenced block."""
        return not self._fenced and not self._line.strip()

    def go(self, text: str) -> None:
        """Move past `text`."""
        first, *more = text.split("\n")
        self._begin(self._line + first)
        for line in more:
            if self._line.lstrip().startswith(_FENCES):
                self._fenced = not self._fenced
            self._begin(line)

    def restart(self) -> None:
        """Treat what follows as the beginning of a line, after a call or a mark."""
        self._line = ""

    def _begin(self, line: str) -> None:
        self._line = line[:_ENOUGH]
