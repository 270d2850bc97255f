"""The server's certificate: loaded once, looked at again when its files change.

In the walk: `listener` serves with its context. The rule of the file: a pair that cannot be
used is logged and changes nothing; open connections notice nothing of a new one.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from pathlib import Path
from typing import Any

SAID = b"This server speaks HTTPS: begin its address with https://\n"
TO_PLAIN_HTTP = (
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n"
    b"Connection: close\r\n\r\n%b" % (len(SAID), SAID)
)
LOOK_S = 5.0  # between two looks at the files: two calls of stat

_log = logging.getLogger("yaa.tls")


class Certificate:
    """`cert`: PEM, the server's own first and then the chain. `key`: PEM, None where `cert` holds
    it too. Raises OSError (ssl.SSLError is one) when the pair cannot be used."""

    def __init__(self, cert: Path, key: Path | None = None) -> None:
        self._cert, self._key = cert, key
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.context.set_alpn_protocols(["http/1.1"])
        self.context.sslobject_class = _Handshake
        self._seen = self._stamp()
        self._load(self.context)

    async def watch(self) -> None:
        """Take what is new, until it is cancelled."""
        while True:
            await asyncio.sleep(LOOK_S)
            self.refresh()

    def refresh(self) -> bool:
        """Whether there is a new pair, which is used from now on: handshakes begin with what the
        context holds then (SSL_CTX_use_certificate(3))."""
        stamp = self._stamp()
        if stamp == self._seen:
            return False
        self._seen = stamp  # said once, not every five seconds
        try:
            self._load(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))  # half a pair must not come in
            self._load(self.context)
        except OSError as error:
            _log.warning("%s: %s; the old certificate is kept", self._cert, reason(error))
            return False
        _log.info("a new certificate from %s", self._cert)
        return True

    def _load(self, context: ssl.SSLContext) -> None:
        context.load_cert_chain(self._cert, self._key, password=_passphrase)

    def _stamp(self) -> tuple[tuple[int, int, int] | None, ...]:
        return tuple(_stamp(path) for path in (self._cert, self._key) if path is not None)


class _Handshake(ssl.SSLObject):
    """Tells whoever speaks plain HTTP what this is, once, and lets them close: browsers that are
    given a name and a port begin so, and would show an empty page."""

    _outgoing: ssl.MemoryBIO
    _told: bool

    @classmethod
    def _create(cls, *args: Any, **more: Any) -> Any:
        made = super()._create(*args, **more)  # type: ignore[misc]
        made._outgoing, made._told = args[1], False
        return made

    def do_handshake(self) -> None:
        if self._told:  # more of it would be kept, and asyncio takes OpenSSL's word for a pause
            raise ssl.SSLError(0, "plain HTTP")
        try:
            super().do_handshake()
        except ssl.SSLError as error:
            if error.reason != "HTTP_REQUEST":
                raise
            self._outgoing.write(TO_PLAIN_HTTP)
            self._told = True
            raise ssl.SSLWantReadError from None


def _stamp(path: Path) -> tuple[int, int, int] | None:
    """What is different once a file is; None where there is none that can be looked at."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_ino, stat.st_size


def _passphrase() -> str:
    """OpenSSL would ask for it on the terminal."""
    raise OSError(0, "the key has a passphrase; remove it with openssl pkey -in KEY -out PLAIN")


def reason(error: OSError) -> str:
    """Why a pair cannot be used, in words that help."""
    if not isinstance(error, ssl.SSLError):
        return error.strerror or str(error)
    if error.reason == "KEY_VALUES_MISMATCH":
        return "certificate and key do not belong together"
    if error.library == "SSL" and error.reason:  # such as EE_KEY_TOO_SMALL, CA_MD_TOO_WEAK
        return f"refused by OpenSSL: {error.reason.replace('_', ' ').lower()}"
    return "no certificate and key in PEM"
