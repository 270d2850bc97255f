"""The links that open the page: printed at start, and by the command `link`.

A link carries a code that is good once and for minutes (api/sign_in_codes.py). `link` finds the
servers that run with a home folder by their records in `serving/`: each process holds a lock on its
own, so the record of one that has ended is told from others in whatever way it ended.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shlex
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from ..api.sign_in_codes import SignInCodes
from ..config import home_folder
from ..lib.runtime.command import COMMAND

FOLDER = "serving"


class Address(NamedTuple):
    """Where a server listens. `host`: as configured."""

    scheme: str
    host: str
    port: int

    def here(self, code: str = "") -> str:
        """Return the link for this machine. Browsers never send the fragment to a server."""
        host = "127.0.0.1" if self.host in ("", "0.0.0.0", "::") else self.host
        return self._link(host, code)

    def elsewhere(self, code: str = "") -> str:
        """Return the link for other devices; "" where there is none."""
        own = _own_address() if self.host in ("", "0.0.0.0", "::") else ""
        return self._link(own, code) if own else ""

    def _link(self, host: str, code: str) -> str:
        host = f"[{host}]" if ":" in host else host
        return f"{self.scheme}://{host}:{self.port}/" + (f"#code={code}" if code else "")


def command_for(home: Path, name: str = "") -> str:
    """Return a command line for a terminal, which names the home folder if it is not the usual."""
    usual = {home_folder(None, {}), home_folder(None, os.environ)} == {home}
    return " ".join(
        filter(None, (COMMAND, name, "" if usual else f"--home {shlex.quote(str(home))}"))
    )


def links(address: Address, make: Callable[[], str] | None, home: Path) -> list[str]:
    """Return lines with the links to open.

    `make` makes a code; None for links without one. Each link has its own.
    """
    lines = []
    if address.elsewhere():
        lines += ["From another device:", address.elsewhere(make() if make else "")]
    lines += ["Open this link in a browser:", address.here(make() if make else "")]
    last = f"It can be used once, within 10 minutes. Another one: {command_for(home, 'link')}"
    return [*lines, last] if make else lines


def sign_in(home: Path, *, has_key: bool, shown: bool, required: bool) -> list[str]:
    """Return lines about the key, none if keys are configured.

    `has_key`: the server has made a key. `shown`: codes for it are in the links. `required`: a key
    is needed.
    """
    if not required:
        return [
            "No key is needed: every user and program of this machine can use the server.",
            "Web pages cannot, but its own and those of server.cors_origins.",
        ]
    if not has_key or shown:
        return []
    command = command_for(home, "link")
    return [f"For a link that signs a browser in: {command} (or --print-link at the start)."]


@contextmanager
def record(home: Path, address: Address) -> Iterator[None]:
    """Record where this process listens, for as long as it or a worker of it lives.

    If that cannot be written, `link` does not find this server.
    """
    descriptor = -1
    with suppress(OSError):
        find_running(home)  # removes old records
        (home / FOLDER).mkdir(mode=0o700, exist_ok=True)
        file = home / FOLDER / secrets.token_hex(6)
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        with suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.write(descriptor, json.dumps(address._asdict()).encode())
    try:
        yield
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def find_running(home: Path) -> list[Address]:
    """Return where servers with this home folder listen, and remove records of ended ones."""
    found = []
    with suppress(FileNotFoundError):
        for file in sorted((home / FOLDER).iterdir()):
            with suppress(OSError, ValueError, TypeError), file.open("rb") as source:
                try:
                    fcntl.flock(source, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except OSError:  # held, or a file system without locks
                    found.append(Address(**json.load(source)))
                else:
                    file.unlink()
    return sorted(set(found))


def code_maker(home: Path, made: str) -> Callable[[], str] | None:
    """Return what makes a code for the key that the server made; None if `made` is empty."""

    def make() -> str:
        """Return a code, "" if none can be written."""
        with suppress(OSError):  # a full disk does not keep a server from starting
            return SignInCodes(home).make(made)
        return ""

    return make if made else None


def link_lines(home: Path, made: str, *, required: bool) -> list[str]:
    """Return what the command `link` prints; [] if no server runs with this home folder.

    `made`: the key that the server made, "" if keys are configured. Raises OSError.
    """
    make = partial(SignInCodes(home).make, made) if made else None
    lines = [line for address in find_running(home) for line in links(address, make, home)]
    if lines and required and not made:
        lines.append("Sign in with one of the keys of server.api_keys.")
    return list(dict.fromkeys(lines))


def _own_address() -> str:
    """Return this machine's address on its network, or "".

    Connecting a datagram socket sends nothing; the system only selects the local address for it
    (192.0.2.1 is reserved for documentation: RFC 5737).
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return ""
        return str(probe.getsockname()[0])
