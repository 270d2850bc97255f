"""The bad line: each kind of fault, as a client of plain sockets sees it."""

from __future__ import annotations

import http.client
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from .fault_proxy import KINDS, Fault, FaultProxy

BODY = b"x" * 1000
DIES = "dies"


class Line(unittest.TestCase):
    def setUp(self) -> None:
        self.heard = heard = list[str]()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                heard.append(self.rfile.read(length).decode())
                self.send_response(200)
                self.send_header("Content-Length", str(len(BODY)))
                self.end_headers()
                self.wfile.write(BODY)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.line = self.enterContext(FaultProxy("127.0.0.1", server.server_address[1], 100))

    def ask(self, path: str = "/a") -> Any:
        """Return the status and length of an answer, or that the line dies."""
        connection = http.client.HTTPConnection(self.line.url.removeprefix("http://"), timeout=30)
        try:
            connection.request("POST", path, b"mine")
            answer = connection.getresponse()
            return answer.status, len(answer.read())
        except (OSError, http.client.HTTPException):
            return DIES
        finally:
            connection.close()

    def note(self, found: list[Any]) -> None:
        """Ask, and note what came of it."""
        found.append(self.ask())

    def test_each_kind(self) -> None:
        whole = (200, len(BODY))
        rows: list[tuple[Fault, Any, int]] = [
            (Fault("delay", seconds=1), whole, 1),
            (Fault("late", seconds=1), whole, 1),
            (Fault("status", status=503), (503, 59), 0),
            (Fault("busy"), (429, 88), 0),
            (Fault("portal"), (200, 66), 0),
            (Fault("lost", status=504), (504, 59), 1),
            (Fault("lost", status=0), DIES, 1),
            (Fault("head"), DIES, 1),
            (Fault("body", bytes=20), DIES, 1),
            (Fault("throttle", bytes=2000), whole, 1),
        ]
        for fault, answer, count in rows:
            with self.subTest(fault.kind, status=fault.status):
                self.heard.clear()
                self.line.use([fault])
                found = self.ask()
                if isinstance(answer, tuple) and answer[1] < len(BODY):  # a page of somebody else
                    self.assertEqual(found[0], answer[0])
                else:
                    self.assertEqual(found, answer)
                self.assertEqual(self.heard, ["mine"] * count)
        self.assertEqual(KINDS.keys() - {row[0].kind for row in rows}, {"hang", "deaf", "stand"})

    def test_what_hangs_is_broken_when_the_line_is_good_again(self) -> None:
        for kind, count in (("hang", 0), ("deaf", 1), ("stand", 1)):
            with self.subTest(kind):
                self.heard.clear()
                self.line.use([Fault(kind, bytes=20)])
                found: list[Any] = []
                thread = threading.Thread(target=self.note, args=(found,))
                thread.start()
                thread.join(0.3)
                self.assertEqual(found, [], "nobody answers")
                self.line.use([])
                thread.join(30)
                self.assertEqual((found, self.heard), ([DIES], ["mine"] * count))

    def test_who_is_meant(self) -> None:
        self.line.use([Fault("status", "POST /a", status=502, times=1)])
        self.assertEqual([self.ask(path)[0] for path in ("/b", "/a", "/a")], [200, 502, 200])
        self.assertEqual(self.line.log, ["POST /b", "POST /a", "POST /a"])


if __name__ == "__main__":
    unittest.main()
