"""The relay passes bytes both ways, and cuts when it is told to."""

from __future__ import annotations

import contextlib
import socket
import unittest
from urllib.parse import urlsplit

from . import patience
from .relay import Relay

PATIENCE_S = 10


def reach(relay: Relay) -> socket.socket:
    place = urlsplit(relay.url)
    return socket.create_connection(
        (place.hostname or "", place.port or 0), patience.seconds(PATIENCE_S)
    )


class RelayTest(unittest.TestCase):
    def setUp(self) -> None:
        self.server = socket.create_server(("127.0.0.1", 0))
        self.server.settimeout(patience.seconds(PATIENCE_S))
        self.addCleanup(self.server.close)
        self.relay = self.enterContext(Relay("127.0.0.1", self.server.getsockname()[1]))

    def meet(self) -> tuple[socket.socket, socket.socket]:
        near = self.enterContext(reach(self.relay))
        far = self.enterContext(self.server.accept()[0])
        far.settimeout(patience.seconds(PATIENCE_S))
        return near, far

    def test_passes_both_ways_and_the_end(self) -> None:
        near, far = self.meet()
        near.sendall(b"question")
        near.shutdown(socket.SHUT_WR)
        self.assertEqual(far.makefile("rb").read(), b"question")
        far.sendall(b"answer" * 100_000)
        far.close()
        self.assertEqual(len(near.makefile("rb").read()), 600_000)

    def test_a_cut_breaks_both_sides(self) -> None:
        near, far = self.meet()
        near.sendall(b"half")
        self.assertEqual(far.recv(4), b"half")
        self.assertEqual(self.relay.cut(), 1)
        for side in (near, far):
            with contextlib.suppress(ConnectionResetError):
                self.assertEqual(side.recv(1), b"")

    def test_refuses_while_it_is_told_to(self) -> None:
        self.relay.refuse(True)
        with reach(self.relay) as near, contextlib.suppress(ConnectionResetError):
            self.assertEqual(near.recv(1), b"")
        self.relay.refuse(False)
        near, far = self.meet()
        far.sendall(b"again")
        self.assertEqual(near.recv(5), b"again")


if __name__ == "__main__":
    unittest.main()
