"""Accept the connections of listening sockets, also while the system has no room for them.

Not by `loop.create_server`: when accepting fails, asyncio logs each try, and if the socket cannot
be registered again after its pause, that server never accepts another connection.
"""

from __future__ import annotations

import asyncio
import logging
import os
import select
import socket
import ssl
from collections.abc import Callable

BACKLOG = 1024  # a burst beyond it would wait a second for TCP's retry
PAUSE_S = 0.5  # before accepting again, if the system had no room for a connection
LAST_WORDS = 0.5  # s for clients to read the rest of their answers when a connection ends

_log = logging.getLogger("yaa.listener")


class Acceptor:
    """Begins each connection of its sockets with a protocol that `make` returns.

    `handshake_s`: seconds for a TLS handshake.
    """

    def __init__(self, make: Callable[[], asyncio.Protocol], handshake_s: float) -> None:
        self._make, self._handshake_s = make, handshake_s
        self._loop = asyncio.get_running_loop()
        self._sockets: dict[socket.socket, ssl.SSLContext | None] = {}
        self._waits = False  # new connections wait, since the system has no room for them
        self._beginning: set[asyncio.Task[None]] = set()

    def add(self, sock: socket.socket, tls: ssl.SSLContext | None) -> None:
        """Listen on a bound socket, which several processes may share."""
        sock.setblocking(False)
        sock.listen(BACKLOG)
        self._sockets[sock] = tls
        self._watch(sock)

    def _watch(self, sock: socket.socket) -> None:
        if sock in self._sockets:
            try:
                self._loop.add_reader(sock, self._accept, sock)
            except (OSError, MemoryError):
                self._loop.call_later(PAUSE_S, self._watch, sock)

    def _accept(self, sock: socket.socket) -> None:
        """Accept one connection; if there is no room for it, it waits in the backlog.

        One in each turn of the loop: a burst of new connections must not keep the others waiting.
        """
        try:
            descriptor, _ = sock._accept()  # type: ignore[attr-defined]
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return  # another worker was first, or the client has gone
        except (OSError, MemoryError) as error:
            self._loop.call_later(PAUSE_S, self._watch, sock)
            self._loop.remove_reader(sock)
            if not self._waits:
                self._waits = True
                _log.warning("new connections wait: %s", getattr(error, "strerror", "no memory"))
            return
        self._waits = False
        try:
            accepted = socket.socket(sock.family, sock.type, sock.proto, descriptor)
        except MemoryError:  # `socket.accept` would leave it open for ever
            os.close(descriptor)
            raise
        try:
            task = self._loop.create_task(self._begin(accepted, self._sockets[sock]))
        except MemoryError:
            accepted.close()
            raise
        self._beginning.add(task)
        task.add_done_callback(self._beginning.discard)

    async def _begin(self, accepted: socket.socket, tls: ssl.SSLContext | None) -> None:
        try:
            await self._loop.connect_accepted_socket(
                self._make,
                accepted,
                ssl=tls,
                ssl_handshake_timeout=self._handshake_s if tls else None,
                ssl_shutdown_timeout=LAST_WORDS if tls else None,
            )
        except (OSError, MemoryError) as error:  # mostly a TLS handshake that is not completed
            accepted.close()
            _log.debug("a connection did not begin: %r", error)

    async def accept_waiting(self) -> None:
        """Accept the connections in the backlog.

        Closing the socket would reset them, and a proxy does not repeat a POST that it has begun to
        send.
        """
        poll = select.poll()
        for sock in self._sockets:
            poll.register(sock, select.POLLIN)
        accepted = 0
        while poll.poll(0) and accepted < BACKLOG:
            accepted += 1
            await asyncio.sleep(0)
        await asyncio.sleep(0)  # each connection begins in a task of its own

    def close(self) -> None:
        """Accept no more, and close the sockets."""
        for sock in self._sockets:
            self._loop.remove_reader(sock)
            sock.close()
        self._sockets.clear()
