"""The parts of an answer that some prompts have a model mark: <THINK>, <ASK>, <ANSWER> and others.

In the walk: `tags` asks here what a tag means in tool mode text. The rule of the file: a mark
counts where a line begins and not in a fenced block, so that an answer may speak of such tags.
"""

from __future__ import annotations

THOUGHT, ANSWER, QUESTION = "thought", "answer", "question"
# An <OBSERVE> of the model's own is a result that it imagines: it is shown as a thought.
MARKS = {
    "think": THOUGHT,
    "observe": THOUGHT,
    "answer": ANSWER,
    "done": ANSWER,
    "ask": QUESTION,
}
ASK_USER = "ask_user"  # the tool that a question is a call of
LONGEST = max(map(len, MARKS)) + 3
_FENCES = ("```", "~~~")
_ENOUGH = 200  # characters of a line that tell what it begins with


class Lines:
    """Where in a text we are, told piece by piece."""

    def __init__(self) -> None:
        self._line = ""  # how the line begins
        self._fenced = False

    @property
    def free(self) -> bool:
        """Whether a line begins here, outside of any fenced block."""
        return not self._fenced and not self._line.strip()

    def go(self, text: str) -> None:
        first, *more = text.split("\n")
        self._begin(self._line + first)
        for line in more:
            if self._line.lstrip().startswith(_FENCES):
                self._fenced = not self._fenced
            self._begin(line)

    def restart(self) -> None:
        """What follows is as good as the beginning of a line: a call or a mark has ended."""
        self._line = ""

    def _begin(self, line: str) -> None:
        self._line = line[:_ENOUGH]
