"""Which web pages may read answers and use the server, with a key and without."""

from __future__ import annotations

import json
import unittest

from server.errors import Problem
from server.lib.http.cors import Origins

from .live import connected, serving

HOST = "127.0.0.1:12345"
OWN = f"http://{HOST}"
MINE = "https://mine.example"
EVIL = "https://evil.example"


class Cors(unittest.TestCase):
    def test_which_origin_may_read(self) -> None:
        for allowed, key_needed, origin, answer in (
            (["*"], True, EVIL, "*"),
            (["*"], True, "", "*"),
            (["*", MINE], True, MINE, "*"),
            ([MINE, "null"], True, MINE, MINE),
            ([MINE, "null"], True, "null", "null"),
            ([MINE], True, EVIL, None),
            ([MINE], True, "", None),
            ([MINE], True, f"{MINE}\r\nX: y", None),
            (["*"], False, EVIL, None),
            (["*"], False, "*", None),
            (["*"], False, "null", None),
            (["*"], False, OWN, None),  # a page of our own reads without permission
            (["*", MINE], False, MINE, MINE),
            (["*", MINE], False, EVIL, None),
            ([], False, "", None),
        ):
            with self.subTest(allowed=allowed, key_needed=key_needed, origin=origin):
                headers = Origins(allowed, key_needed=key_needed).headers({"origin": origin})
                self.assertEqual(headers.get("Access-Control-Allow-Origin"), answer)
                self.assertEqual(headers.get("Vary"), None if answer == "*" else "Origin")
                self.assertEqual("Access-Control-Expose-Headers" in headers, answer is not None)


class WithoutKeys(unittest.TestCase):
    def test_who_may_ask(self) -> None:
        cross, same = {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-origin"}
        for origin, more, may in (
            ("", {}, True),  # curl
            ("", same, True),
            ("", {"sec-fetch-site": "none"}, True),  # the address bar
            ("", cross, False),  # an image, a script, a link of another page
            ("", {"sec-fetch-site": "same-site"}, False),  # of another port
            ("", {"sec-fetch-site": "?"}, False),
            (OWN, {}, True),
            (OWN, same, True),
            (OWN.upper(), {}, True),
            (OWN, {"sec-fetch-site": "same-site"}, False),
            (f"https://{HOST}", {}, True),  # a proxy in front speaks TLS
            (f"https://{HOST}", cross, False),
            ("http://127.0.0.1", {}, False),
            ("http://127.0.0.1:8000", {"sec-fetch-site": "same-site"}, False),
            ("http://localhost:12345", {}, False),
            (EVIL, {}, False),
            (EVIL, cross, False),
            (EVIL, same, False),  # behind a proxy that writes Host anew
            (f"{EVIL}/{HOST}", {}, False),
            ("null", {}, False),
            ("null", cross, False),
            ("null", same, False),
            ("*", {}, False),
            (HOST, {}, False),
            (MINE, cross, True),
            (f"{MINE}, {EVIL}", cross, False),
        ):
            with self.subTest(origin=origin, more=more):
                asked = {"host": HOST, **more} | ({"origin": origin} if origin else {})
                origins = Origins(["*", MINE], key_needed=False)
                if may:
                    origins.check(asked)
                    continue
                with self.assertRaises(Problem) as caught:
                    origins.check(asked)
                problem = caught.exception
                self.assertEqual((problem.status, problem.code), (403, "origin_not_allowed"))
                hint = "require a key" if origin == "null" else "server.cors_origins"
                self.assertIn(hint, problem.detail)
                self.assertLess(len(problem.detail), 400)

    def test_a_request_without_a_host_is_no_own_page(self) -> None:
        for origin in ("http://", "x", OWN):
            with self.subTest(origin), self.assertRaises(Problem):
                Origins(key_needed=False).check({"origin": origin})

    def test_with_a_key_any_page_may_ask(self) -> None:
        for origins in (Origins(), Origins([MINE])):
            for origin in (EVIL, "null", ""):
                origins.check({"origin": origin, "host": HOST, "sec-fetch-site": "cross-site"})


class Refusals(unittest.IsolatedAsyncioTestCase):
    """What is refused before there is a handler follows the same rule."""

    async def test_who_may_read_them(self) -> None:
        broken = b"GET / HTTP/1.1\r\nHost: a\r\nBad Header: x\r\n\r\n"
        foreign = b"GET / HTTP/1.1\r\nHost: other.example\r\nOrigin: %s\r\n\r\n"
        for origins, raw, answer in (
            (Origins(), broken, "*"),
            (Origins(), foreign % b"null", "*"),
            (Origins([MINE]), broken, None),
            (Origins([MINE]), foreign % MINE.encode(), MINE),
            (Origins([MINE]), foreign % EVIL.encode(), None),
            (Origins(key_needed=False), broken, None),
            (Origins(key_needed=False), foreign % EVIL.encode(), None),
        ):
            with self.subTest(raw=raw, answer=answer):
                async with serving(origins=origins) as server, connected(server) as client:
                    response, body = await client.ask(raw)
                    self.assertIn(json.loads(body)["code"], ("bad_request", "host_not_allowed"))
                    self.assertEqual(response.headers.get("access-control-allow-origin"), answer)


if __name__ == "__main__":
    unittest.main()
