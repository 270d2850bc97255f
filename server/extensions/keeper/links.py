"""Make links that show one call and allow or deny it: each answers once, within a day.

A link holds a random token. What is stored is a file named by the token's digest: whose session it
is about, which call, and the fingerprint of its arguments. A token is looked up by its digest, so
the time of an answer tells nothing of it.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from ...errors import Problem
from ...json_types import Answer
from ...lib.runtime import private_files
from .rate import Rate

LIFETIME_S = 86_400.0
USED = "This link was used already, or is older than a day"
_IN_USE = ".used"
WRONG_EVERY_S, WRONG_BURST = 1.0, 30


class LinkTarget(NamedTuple):
    """What a link is about. `fingerprint`: of the call's tool and arguments."""

    owner: str
    session: str
    call: str
    fingerprint: str


class Links:
    """The links of one home folder. `clock`: Unix seconds."""

    limit = 5_000  # that nobody has used

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self._folder, self._clock = folder, clock
        self._wrong = Rate(WRONG_EVERY_S, WRONG_BURST, clock)

    def make(self, target: LinkTarget) -> str:
        """Return the token of a new link. Raises OSError, and Problem if there are too many."""
        if private_files.remove_old(self._folder, LIFETIME_S, self._clock()) >= self.limit:
            raise Problem("rate_limited", f"There are {self.limit} links that nobody has used")
        token = secrets.token_urlsafe(24)
        content = {**target._asdict(), "expires": self._clock() + LIFETIME_S}
        private_files.write(self._file(token), json.dumps(content).encode())
        return token

    def look(self, token: str) -> tuple[LinkTarget, float]:
        """Return what a link is about and until when, and leave it. Raises Problem, and OSError."""
        with suppress(FileNotFoundError, ValueError, TypeError, KeyError):
            content = json.loads(self._file(token).read_bytes())
            expires = content.pop("expires")
            if 0 < expires - self._clock() <= LIFETIME_S:
                return LinkTarget(**content), expires
        if wait_s := self._wrong.take("wrong"):
            headers = {"Retry-After": str(int(wait_s) + 1)}
            raise Problem("rate_limited", "Too many links that are not good", headers=headers)
        raise Problem("link_expired", USED)

    @contextmanager
    def use(self, token: str) -> Iterator[LinkTarget]:
        """Use a link up; it is good again only if what is done with it fails.

        Of several who use it at once, one does. Raises Problem, and OSError.
        """
        (target, _), file = self.look(token), self._file(token)
        taken = file.with_suffix(_IN_USE)
        try:
            file.rename(taken)
        except FileNotFoundError:
            raise Problem("link_expired", USED) from None
        try:
            yield target
        except BaseException:
            taken.rename(file)
            raise
        taken.unlink()

    def _file(self, token: str) -> Path:
        return self._folder / hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def question_of(target: LinkTarget) -> dict[str, str]:
    """Return what the question of a link has to be, as answers.find_question takes it."""
    about = {"reason": "tool_call", "call_id": target.call}
    return {**about, "fingerprint": target.fingerprint}


def answer_of(*, allow: bool) -> Answer:
    """Return the answer that a link gives to the question of its call."""
    payload = {"approved": True} if allow else {"approved": False, "reason": "denied by a link"}
    return {"status": "resolved", "payload": payload}
