"""The server's TLS certificate, reloaded when its files change.

`listener` serves with its context. If a new certificate and key cannot be used, that is logged and
the old ones are kept. Open connections are not affected by a reload.
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
LOOK_S = 5.0  # interval at which the files are checked, with one stat each

_log = logging.getLogger("yaa.tls")


class Certificate:
    """A TLS context with the server's certificate.

    `cert`: PEM file with the server's certificate followed by the chain. `key`: PEM file, None if
    `cert` holds the key too. Raises OSError (or its subclass ssl.SSLError) if they cannot be used.
    """

    def __init__(self, cert: Path, key: Path | None = None) -> None:
        self._cert, self._key = cert, key
        self.context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.context.set_alpn_protocols(["http/1.1"])
        self.context.sslobject_class = _Handshake
        self._seen = self._stamp()
        self._load(self.context)

    async def watch(self) -> None:
        """Reload the files when they change, until cancelled."""
        while True:
            await asyncio.sleep(LOOK_S)
            self.refresh()

    def refresh(self) -> bool:
        """Load the files if they have changed. Return whether a new certificate is in use.

        New handshakes use what the context holds when they begin (SSL_CTX_use_certificate(3)).
        """
        stamp = self._stamp()
        if stamp == self._seen:
            return False
        self._seen = stamp  # before loading, so that an error is logged once
        try:
            self._load(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))  # check first, load both or none
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
    """A TLS handshake that answers plain HTTP with status 400 and a text.

    Browsers use plain HTTP for `name:port` and would otherwise show an empty page. The answer is
    sent once, then the client may close.
    """

    _outgoing: ssl.MemoryBIO
    _told: bool

    @classmethod
    def _create(cls, *args: Any, **more: Any) -> Any:
        made = super()._create(*args, **more)  # type: ignore[misc]
        made._outgoing, made._told = args[1], False
        return made

    def do_handshake(self) -> None:
        """Continue the handshake, or answer plain HTTP. Raises ssl.SSLError."""
        if self._told:  # else asyncio would wait and buffer all further input
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
    """Return a value that changes when the file does; None if it cannot be read."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_ino, stat.st_size


def _passphrase() -> str:
    """Refuse a key with a passphrase; OpenSSL would ask for it on the terminal."""
    raise OSError(0, "the key has a passphrase; remove it with openssl pkey -in KEY -out PLAIN")


def reason(error: OSError) -> str:
    """Return why certificate and key cannot be used, for a message."""
    if not isinstance(error, ssl.SSLError):
        return error.strerror or str(error)
    if error.reason == "KEY_VALUES_MISMATCH":
        return "certificate and key do not belong together"
    if error.library == "SSL" and error.reason:  # such as EE_KEY_TOO_SMALL, CA_MD_TOO_WEAK
        return f"refused by OpenSSL: {error.reason.replace('_', ' ').lower()}"
    return "no certificate and key in PEM"
