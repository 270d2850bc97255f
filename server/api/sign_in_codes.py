"""Make and redeem the codes of links: each is good once, for minutes, and stands for a key.

A link with a key would leave the key in the history of a browser. A code is a file of the home
folder, so each worker and each server of that home knows it, also after a restart. The file's name
is a hash of the code, and its content is the key, encrypted with the code: who reads the folder
finds neither. A code is random and looked up by its hash, so guessing is hopeless at any rate, and
the time of an answer tells nothing of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ..errors import Problem
from ..lib.runtime import private_files
from ..lib.runtime.command import COMMAND

FOLDER = "sign_in"
LIFETIME_S = 600.0
MOST = 200  # unused codes that callers over HTTP may leave
USED = (
    "This link was used already, or is older than 10 minutes. "
    f"For a new one run `{COMMAND} link` where the server runs."
)


class SignInCodes:
    """The codes of one home folder. `clock`: Unix seconds."""

    def __init__(self, home: Path, *, clock: Callable[[], float] = time.time) -> None:
        self._folder = home / FOLDER
        self._clock = clock

    def make(self, key: str, *, most: int | None = None) -> str:
        """Return a new code for a key. Raises OSError, and Problem if there are `most` already."""
        left = self.sweep()
        if most is not None and left >= most:
            text = f"There are {left} links that nobody has used; ask again in ten minutes"
            raise Problem("rate_limited", text, headers={"Retry-After": "600"})
        code = secrets.token_urlsafe(18)
        content = {"expires": self._clock() + LIFETIME_S, "key": _mask(code, key.encode()).hex()}
        private_files.write(self._file(code), json.dumps(content).encode())
        try:
            os.utime(self._file(code), (self._clock(), self._clock()))  # which `sweep` reads
        except OSError:
            self.forget(code)
            raise
        return code

    def forget(self, code: str) -> None:
        """End a code that nobody was told."""
        with suppress(OSError):
            self._file(code).unlink()

    def redeem(self, code: str) -> str:
        """Return the key of a code and end the code. Raises Problem if it is not good, and OSError.

        A code that expires later than any can is of a clock that was wrong.
        """
        file = self._file(code)
        with suppress(FileNotFoundError, ValueError, TypeError, KeyError):
            content = json.loads(file.read_bytes())
            file.unlink()  # of several that have read the file, one removes it
            if 0 < content["expires"] - self._clock() <= LIFETIME_S:
                return _mask(code, bytes.fromhex(content["key"])).decode()
        raise Problem("link_expired", USED)

    def sweep(self) -> int:
        """Remove expired codes; return how many are left."""
        return private_files.remove_old(self._folder, LIFETIME_S, self._clock())

    def _file(self, code: str) -> Path:
        known = hashlib.blake2b(code.encode("utf-8", "replace"), digest_size=20, person=b"name")
        return self._folder / known.hexdigest()


def _mask(code: str, data: bytes) -> bytes:
    """Encrypt or decrypt: a code is random and used for one key, so its hash is a one-time pad."""
    pad = hashlib.shake_256(b"key" + code.encode("utf-8", "replace")).digest(len(data))
    return bytes(a ^ b for a, b in zip(data, pad, strict=True))
