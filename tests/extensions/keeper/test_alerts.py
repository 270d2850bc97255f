"""A phone allows what stopped at night: a real server, a receiver of notices, a link."""

from __future__ import annotations

import http.client
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from ...tooling import patience
from ...tooling.child import Yaa
from .test_runs import Case


class Inbox(BaseHTTPRequestHandler):
    """Takes notices as ntfy does. `notices`: what came; `status`: what it answers."""

    notices: list[Any]
    status = 200

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(self.status)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")
        self.notices.append(body)

    def log_message(self, *_: object) -> None:
        pass


class Notified(Case):
    """A person whose notices come to `inbox`."""

    def setUp(self) -> None:
        super().setUp()
        self.model.calls = 2
        self.inbox: Any = type("Own", (Inbox,), {"notices": []})
        receiver = ThreadingHTTPServer(("127.0.0.1", 0), self.inbox)
        receiver.daemon_threads = True
        threading.Thread(target=receiver.serve_forever, daemon=True).start()
        self.addCleanup(receiver.server_close)
        self.addCleanup(receiver.shutdown)
        url = f"http://127.0.0.1:{receiver.server_port}/topic"
        way = {"kind": "ntfy", "url": url}
        address = "https://yaa.example/"
        self.config["keeper"]["notices"] = {"address": address, "ways": {"phone": way}}

    def notice(self, number: int) -> Any:
        self.until(lambda: len(self.inbox.notices) >= number)
        return self.inbox.notices[number - 1]

    def press(self, yaa: Yaa, link: str, method: str = "GET", form: str = "") -> tuple[int, str]:
        """Open a link as a browser without a key does; press a button of its page."""
        parts, server = urlsplit(link), urlsplit(yaa.url)
        address = self.config["keeper"]["notices"]["address"]
        self.assertEqual(parts.netloc, urlsplit(address).netloc)
        connection = http.client.HTTPConnection(server.netloc, timeout=patience.seconds(60))
        self.addCleanup(connection.close)
        headers = {"Content-Type": "application/x-www-form-urlencoded"} if form else {}
        connection.request(method, f"{parts.path}?{parts.query}", form or None, headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()


class Phone(Notified):
    def test_what_stopped_is_allowed_by_a_link_after_a_restart(self) -> None:
        with self.server() as yaa:
            self.keep(yaa, "night", title="Secret plan")
            self.ask(yaa, "POST", "night/run")
            first = self.notice(1)
            self.assertEqual((first["topic"], first["message"]), ("topic", "Tool: mark"))
            self.assertNotIn("Secret plan", json.dumps(first))
            self.assertNotIn("mark0", json.dumps(first))
            self.rest(yaa, "night")
        with self.server() as yaa:
            for _ in range(3):
                status, page = self.press(yaa, first["click"])
                self.assertEqual(status, 200)
                self.assertIn("mark0", page)
                self.assertIn("Secret plan", page)
            self.assertEqual(self.executions("night"), [])
            status, page = self.press(yaa, first["click"], "POST", "decision=allow")
            self.assertEqual(status, 200, page)
            second = self.notice(2)
            self.assertEqual(self.executions("night"), [1])
            self.assertEqual(self.press(yaa, first["click"], "POST", "decision=allow")[0], 410)
            self.assertEqual(self.press(yaa, second["click"], "POST", "decision=deny")[0], 200)
            self.assertEqual(self.notice(3)["title"], "A session has ended")
            session = self.rest(yaa, "night")
        self.assertEqual(self.executions("night"), [1])
        self.assertEqual(session["status"], "completed")
        states = [each["state"] for each in session["calls"].values()]
        self.assertEqual(states, ["done", "denied"])

    def test_one_that_was_given_up_is_told(self) -> None:
        self.model.fails = 1_000
        with self.server() as yaa:
            self.keep(yaa, "lost")
            self.ask(yaa, "POST", "lost/run")
            self.assertEqual(self.notice(1)["title"], "A session could not go on")

    def test_a_call_that_was_answered_elsewhere_is_not_shown(self) -> None:
        with self.server() as yaa:
            self.keep(yaa, "a")
            self.ask(yaa, "POST", "a/run")
            link = self.notice(1)["click"]
            session = self.rest(yaa, "a")
            revision = self.open(yaa, "GET", "a").headers["ETag"]
            answer = {"status": "resolved", "payload": {"approved": False}}
            session["interrupts"][0]["answer"] = answer
            self.ask(yaa, "PUT", "a", session, If_Match=revision)
            for method, form in (("GET", ""), ("POST", "decision=allow")):
                status, page = self.press(yaa, link, method, form)
                self.assertEqual(status, 410)
                self.assertNotIn("mark0", page)

    def test_a_notice_that_a_kill_has_cut_is_sent_at_the_next_start_once(self) -> None:
        for answered in (False, True):
            name = f"s{int(answered)}"
            self.inbox.status, told = 503, len(self.inbox.notices)
            with self.server() as yaa:
                self.keep(yaa, name)
                self.ask(yaa, "POST", f"{name}/run")
                self.notice(told + 1)  # refused, and tried again in half a minute
                yaa.kill()
            self.inbox.status = 200
            file = self.home / "keeper" / "@home" / f"{name}.json"
            session = json.loads(file.read_text())
            if answered:
                no = {"status": "resolved", "payload": {"approved": False}}
                session["interrupts"][0]["answer"] = no
                file.write_text(json.dumps(session))
            for _ in range(2):
                with self.server():
                    self.until(lambda: not [*(self.home / "keeper" / ".ended").iterdir()])
                    if not answered:
                        self.notice(told + 2)
            self.assertEqual(len(self.inbox.notices), told + (1 if answered else 2))

    def test_a_way_that_cannot_be_used_is_a_problem(self) -> None:
        self.config["keeper"]["notices"]["ways"]["post"] = {"kind": "mail", "url": "mail.example"}
        with self.server() as yaa:
            assert yaa.child is not None
            wrong = r"problem  server\.keeper\.notices\.ways\.post is not used: the url of a mail"
            yaa.child.wait_for(wrong, patience.seconds(60))

    def test_who_stops_a_session_is_not_told(self) -> None:
        self.hold(0)
        with self.server() as yaa:
            self.keep(yaa, "a")
            self.ask(yaa, "POST", "a/run")
            self.until_reached(0)
            self.ask(yaa, "POST", "a/stop")
            self.model.holds[0].set()
            self.rest(yaa, "a")
            self.keep(yaa, "b")
            self.model.holds.clear()
            self.ask(yaa, "POST", "b/run")
            self.notice(1)
            self.assertEqual(len(self.inbox.notices), 1)


del Case
