"""The scripted model of test_kill.py as a process that can be killed: `… --port N`. It speaks so
slowly that it can be caught in the middle of a word."""

from __future__ import annotations

import argparse
import socket
import time
from http.server import ThreadingHTTPServer
from typing import Any

from .test_kill import Model

PIECE, PAUSE_S = 160, 0.002


class Server(ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients leave in the middle; that is what they are for."""


class Slow(Model):
    def setup(self) -> None:
        super().setup()
        self.wfile: Any = Dripping(self.connection)


class Dripping:
    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.closed = False

    def write(self, data: bytes) -> int:
        for at in range(0, len(data), PIECE):
            self._connection.sendall(data[at : at + PIECE])
            time.sleep(PAUSE_S)
        return len(data)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    with Server(("127.0.0.1", parser.parse_args().port), Slow) as server:
        print("READY", flush=True)
        server.serve_forever()
