"""Links of a real server under attack: scanners, foreign forms, many at once, what was deleted."""

from __future__ import annotations

import http.client
import threading
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ...tooling import patience
from ...tooling.child import Yaa
from .test_alerts import Notified

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
# What scanners, proxies and previews send, and what some servers take for another method.
HEADERS: tuple[dict[str, str], ...] = (
    {"User-Agent": "Mozilla/5.0 (compatible; SafeLinks)", "Accept": "*/*"},
    {"Purpose": "prefetch", "Sec-Purpose": "prefetch;prerender", "X-Moz": "prefetch"},
    {"X-HTTP-Method-Override": "POST", "X-HTTP-Method": "POST", "X-Method-Override": "POST"},
    {"Range": "bytes=0-10", "If-None-Match": "*", "Cache-Control": "no-cache"},
    {"Cookie": "decision=allow", "Origin": "https://scanner.example", "Sec-Fetch-Mode": "navigate"},
    {"Content-Type": "application/x-www-form-urlencoded", "Expect": "100-continue"},
)


class LinkAttacks(Notified):
    def setUp(self) -> None:
        super().setUp()
        self.model.calls = 1

    def asked(self, yaa: Yaa) -> str:
        """A link to the call of a session that has stopped."""
        self.keep(yaa, "night")
        self.ask(yaa, "POST", "night/run")
        link: str = self.notice(1)["click"]
        self.rest(yaa, "night")
        return link

    def send(self, yaa: Yaa, method: str, target: str, headers: Any, body: bytes = b"") -> int:
        connection = http.client.HTTPConnection(urlsplit(yaa.url).netloc, timeout=self.long_s)
        try:
            connection.request(method, target, body or None, headers)
            answer = connection.getresponse()
            answer.read()
            return answer.status
        finally:
            connection.close()

    @property
    def long_s(self) -> float:
        return patience.seconds(60)

    def stored(self) -> dict[str, bytes]:
        """All that the keeper has on the disk, but its cache."""
        files = [path for path in (self.home / "keeper").rglob("*") if path.is_file()]
        return {str(path): path.read_bytes() for path in files if path.name != ".index"}

    def target(self, link: str) -> str:
        parts = urlsplit(link)
        return f"{parts.path}?{parts.query}"

    def test_whoever_only_looks_changes_nothing(self) -> None:
        with self.server() as yaa:
            link = self.asked(yaa)
            before, target = self.stored(), self.target(link)
            for method in ("GET", "HEAD", "OPTIONS"):
                for headers in HEADERS:
                    for query in ("", "&decision=allow", "&_method=POST&decision=allow"):
                        status = self.send(yaa, method, target + query, headers)
                        self.assertIn(status, (200, 204, 206), (method, headers))
            for headers in HEADERS:  # a body is no form here
                given = {**FORM, **headers, "Content-Length": "14"}
                given.pop("Expect", None)
                self.send(yaa, "GET", target, given, b"decision=allow")
            self.assertEqual(self.stored(), before)
            self.assertEqual(self.executions("night"), [])
            self.assertEqual(self.press(yaa, link, "POST", "decision=allow")[0], 200, "still good")
            self.rest(yaa, "night")
        self.assertEqual(self.executions("night"), [1])

    def test_a_form_of_another_site_is_refused(self) -> None:
        with self.server() as yaa:
            link = self.asked(yaa)
            before, target = self.stored(), self.target(link)
            for site in ("cross-site", "same-site"):
                headers = {**FORM, "Sec-Fetch-Site": site, "Origin": "https://evil.example"}
                status = self.send(yaa, "POST", target, headers, b"decision=allow")
                self.assertEqual(status, 403, site)
            for token in ("", "x", "%00", "../" * 5):  # nor has it one
                query = f"{urlsplit(target).path}?t={token}"
                self.assertEqual(self.send(yaa, "POST", query, FORM, b"decision=allow"), 410)
            self.assertEqual(self.stored(), before)
            headers = {**FORM, "Sec-Fetch-Site": "same-origin", "Origin": "null"}
            status = self.send(yaa, "POST", target, headers, b"decision=deny")
            self.assertEqual(status, 200, "as browsers send the form of the page")

    def test_of_many_at_once_in_two_processes_one_counts(self) -> None:
        with Yaa(self.whole(), home=self.home, arguments=("--workers", "2")) as yaa:
            link, statuses = self.asked(yaa), list[int]()
            start = threading.Barrier(12)

            def press() -> None:
                start.wait(self.long_s)
                status = self.send(yaa, "POST", self.target(link), FORM, b"decision=allow")
                statuses.append(status)

            threads = [threading.Thread(target=press) for _ in range(12)]
            for each in threads:
                each.start()
            for each in threads:
                each.join()
            self.assertEqual(sorted(statuses), [200] + [410] * 11)
            self.rest(yaa, "night")
        self.assertEqual(self.executions("night"), [1])

    def test_the_link_of_a_session_that_was_deleted_or_changed(self) -> None:
        with self.server() as yaa:
            link = self.asked(yaa)
            kept = self.ask(yaa, "GET", "night")
            self.ask(yaa, "DELETE", "night")
            for method, form in (("GET", ""), ("POST", "decision=allow")):
                self.assertEqual(self.press(yaa, link, method, form)[0], 410)
            file = self.home / "keeper" / "@home" / "night.json"
            self.assertFalse(file.exists(), "nothing of it comes back")
            kept["interrupts"][0]["args"]["name"] = "other"
            self.ask(yaa, "PUT", "night", kept)
            for method, form in (("GET", ""), ("POST", "decision=allow")):
                status, page = self.press(yaa, link, method, form)
                self.assertEqual(status, 410)
                self.assertNotIn("other", page)
            self.assertEqual(self.rest(yaa, "night")["status"], "interrupted")
        self.assertEqual(self.executions("night"), [])
        self.assertEqual([*Path(self.home, "keeper").rglob("*-2.json")], [])


del Notified
