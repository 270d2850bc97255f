"""What a server compressed unasked, undone: some gateways do, whatever they are asked for.

In the walk: `client` asks for answers as they are, and reads others through an `Inflater`. The rule
of the file: a few kilobytes can hold gigabytes, so what comes out comes in pieces, up to a limit.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

PIECE = 64 * 1024  # bytes
_GZIP = 16 + zlib.MAX_WBITS  # zlib's way of saying it


class Inflater:
    """One body; `limit` is the most that may come out of it, in bytes."""

    def __init__(self, coding: str, limit: int) -> None:
        self._coding, self._left = coding, limit
        self._decoder: zlib._Decompress | None = None

    @property
    def broken_off(self) -> bool:
        """Whether it has begun and not ended."""
        return self._decoder is not None and not self._decoder.eof

    def feed(self, data: bytes) -> Iterator[bytes]:
        """What these bytes hold. Raises ValueError where it cannot be read or is too much."""
        decoder = self._decoder = self._decoder or self._begun(data)
        piece = bytes(PIECE)
        while len(piece) == PIECE and not decoder.eof:
            try:
                piece = decoder.decompress(data, PIECE)
            except zlib.error:
                raise ValueError(f"sent what is not {self._coding:.20}") from None
            data = decoder.unconsumed_tail
            self._left -= len(piece)
            if self._left < 0:
                raise ValueError("sent too much, compressed")
            if piece:
                yield piece

    def _begun(self, data: bytes) -> zlib._Decompress:
        if self._coding in ("gzip", "x-gzip"):
            return zlib.decompressobj(_GZIP)
        if self._coding != "deflate":
            raise ValueError(f"compressed its answer ({self._coding:.20})")
        # With a header (RFC 9110 section 8.4.1.2) or, as some have it, without.
        has_header = data[0] & 15 == zlib.DEFLATED
        return zlib.decompressobj(zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS)
