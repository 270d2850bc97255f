"""Decompress response bodies (gzip and deflate), with a limit on the output.

`client` requests uncompressed responses, but some gateways compress anyway. A few kilobytes can
expand to gigabytes, so the output comes in pieces and is limited.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

PIECE = 64 * 1024  # bytes
_GZIP = 16 + zlib.MAX_WBITS  # `wbits` that select gzip in zlib


class Inflater:
    """A decompressor of one body. `coding`: its Content-Encoding. `limit`: most bytes of output."""

    def __init__(self, coding: str, limit: int) -> None:
        self._coding, self._left = coding, limit
        self._decoder: zlib._Decompress | None = None

    @property
    def broken_off(self) -> bool:
        """Return whether the compressed data has begun and is not complete."""
        return self._decoder is not None and not self._decoder.eof

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the decompressed bytes of `data`, in pieces of at most PIECE bytes.

        Raises ValueError for invalid data, an unsupported coding, or output beyond the limit.
        """
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
        # With a zlib header (RFC 9110 section 8.4.1.2) or, from some servers, without.
        has_header = data[0] & 15 == zlib.DEFLATED
        return zlib.decompressobj(zlib.MAX_WBITS if has_header else -zlib.MAX_WBITS)
