"""A page in the preview's frame reaches nothing: listeners on this machine, by UDP and by TCP.

The client is served in one browser and from disk in the other, by turns.
"""

from __future__ import annotations

import selectors
import socket
import threading
import unittest
from contextlib import ExitStack

from ..tooling import turns
from ..tooling.child import Yaa
from . import walks

PORTS = 100  # at least as many as preview-leaks.mjs has ways
PLACES = {"chromium": ("served", "from disk"), "firefox": ("from disk", "served")}
BYTES_S = 0.1  # for the first bytes of a connection
# Of a browser of its own: Chromium connects ahead in a context of a person alone.
# Firefox connects ahead with its own settings, which the driver changes; and peers on this machine
# are none to it, in a frame.
PREFS = {
    "network.http.speculative-parallel-limit": 20,
    "network.dns.disablePrefetch": False,
    "media.peerconnection.ice.loopback": True,
}


class Listeners:
    """Ports of the loopback network, each for UDP and TCP, and what came to them."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._sockets: list[socket.socket] = []
        self._lock = threading.Lock()
        self._heard: dict[str, set[str]] = {}
        self._ended = False
        self.ports: list[int] = []
        while len(self.ports) < PORTS:
            tcp = socket.create_server(("127.0.0.1", 0))
            port = tcp.getsockname()[1]
            udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._sockets += [tcp, udp]
            try:
                udp.bind(("127.0.0.1", port))
            except OSError:  # taken by another program
                continue
            self.ports.append(port)
            for sock in (tcp, udp):
                self._selector.register(sock, selectors.EVENT_READ, port)

    def __enter__(self) -> Listeners:
        self._thread = threading.Thread(target=self._listen, name="listeners")
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended = True
        self._thread.join()
        self._selector.close()
        for sock in self._sockets:
            sock.close()

    def heard(self) -> dict[str, list[str]]:
        """What came since this was asked last, by port: a protocol and a number of bytes."""
        with self._lock:
            found = {port: sorted(all_) for port, all_ in self._heard.items()}
            self._heard = {}
        return found

    def _listen(self) -> None:
        while not self._ended:
            for key, _ in self._selector.select(0.2):
                sock = key.fileobj
                assert isinstance(sock, socket.socket)
                if sock.type == socket.SOCK_DGRAM:
                    came = f"udp {len(sock.recv(4096))}"
                else:
                    with sock.accept()[0] as peer:
                        came = f"tcp {self._first(peer)}"
                with self._lock:
                    self._heard.setdefault(str(key.data), set()).add(came)

    @staticmethod
    def _first(peer: socket.socket) -> int:
        peer.settimeout(BYTES_S)
        try:
            return len(peer.recv(4096))
        except OSError:  # none, or a reset
            return 0


class PreviewLeaks(walks.Both):
    def check(self, browser: str) -> None:
        for place in turns.share(PLACES[browser], 2):
            with self.subTest(place), ExitStack() as stack:
                listeners = stack.enter_context(Listeners())
                url = walks.PAGE.as_uri()
                if place == "served":
                    url = stack.enter_context(
                        Yaa({"server": {"discover": False}}, at_once=True)
                    ).link
                label = f"{browser}-leaks-{place.replace(' ', '-')}"
                job = {"url": url, "ports": listeners.ports, "label": label, "prefs": PREFS}
                self.walk("preview-leaks", browser, job, {"heard": listeners.heard}, lambda _: True)


if __name__ == "__main__":
    unittest.main()
