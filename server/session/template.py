"""Fill in the placeholders of a template: `{name}`. Pure.

Templates come with sessions, so what one costs grows no faster than it is long.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import islice

MOST_FILLED = 1_000  # placeholders of one template
MOST_REPEATED = 8

_PLACEHOLDER = re.compile(r"(?<!\{)\{([a-z_]+)\}(?!\})")


def fill(template: str, facts: Mapping[str, str]) -> str:
    """Replace the placeholders of a template, in one pass: values are not templates.

    `{{x}}` is not a placeholder: tool calls refer to earlier results that way. Placeholders stay as
    they are after the first MOST_FILLED, and where the values together would become MOST_REPEATED
    times as long as they are.
    """
    if "{" not in template:  # most sections have none
        return template
    room = MOST_REPEATED * sum(map(len, facts.values()))

    def value(match: re.Match[str]) -> str:
        """Return the value of one placeholder, or itself."""
        nonlocal room
        text = facts.get(match[1])
        if text is None or len(text) > room:
            return match[0]
        room -= len(text)
        return text

    return _PLACEHOLDER.sub(value, template, count=MOST_FILLED)


def placeholders_in(template: str) -> set[str]:
    """Return the names of the placeholders that are filled in."""
    return {match[1] for match in islice(_PLACEHOLDER.finditer(template), MOST_FILLED)}
