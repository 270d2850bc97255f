"""A module that keeps more than a suite should look through again and again."""

from ..suite import MOST_KEPT

KEPT = [[number] for number in range(MOST_KEPT + 1)]
