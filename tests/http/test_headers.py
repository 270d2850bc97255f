"""Heads as they are written, and which Host may be served. Parsing is tested through http11."""

from __future__ import annotations

import unittest
from email.utils import formatdate

from server.lib.http.listener import http_date
from server.lib.http.parser import (
    add_field,
    host_allowed,
    serialize_request,
    serialize_response,
)


class Heads(unittest.TestCase):
    def test_requests_share_the_names_of_their_fields(self) -> None:
        both: list[dict[str, str]] = [{}, {}]
        for fields in both:
            add_field(fields, b"X-Some-Name: 1")
        one, two = (next(iter(fields)) for fields in both)
        self.assertIs(one, two)

    def test_written(self) -> None:
        self.assertEqual(
            serialize_response(200, {"Content-Length": "0", "X": "é\t"}),
            b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: \xe9\t\r\n\r\n",
        )
        self.assertEqual(
            serialize_request("POST", "/v1?x", {"Host": "a"}),
            b"POST /v1?x HTTP/1.1\r\nHost: a\r\n\r\n",
        )
        self.assertEqual(serialize_response(599, {}), b"HTTP/1.1 599 \r\n\r\n")
        empty = serialize_response(200, {"X": "", "Y": "y"})
        self.assertEqual(empty, b"HTTP/1.1 200 OK\r\nX: \r\nY: y\r\n\r\n")

    def test_dates_are_those_of_the_standard(self) -> None:
        for when in (0, 784111777, 951782399, 951782400, 1795269600, *range(0, 2**31, 39_916_801)):
            with self.subTest(when):
                self.assertEqual(http_date(when), formatdate(when, usegmt=True))

    def test_unsafe_is_refused_and_the_value_is_not_told(self) -> None:
        for name, value in (
            ("X", "secret\r\nSet-Cookie: x"),
            ("X", "secret\n"),
            ("X", "secret\r"),
            ("X", "secret\0"),
            ("X", "secret\x7f"),
            ("X", "secret€"),
            ("X: y\r\nZ", "secret"),
            ("X ", "secret"),
            ("", "secret"),
            ("É", "secret"),
        ):
            with self.subTest(name=name, value=value):
                for more in ({}, {"Good": "good"}):  # which are looked at together
                    with self.assertRaises(ValueError) as caught:
                        serialize_response(200, {**more, name: value})
                    self.assertNotIn("secret", str(caught.exception))

    def test_unsafe_request_line(self) -> None:
        for method, target in (
            ("GET", "/ HTTP/1.1\r\nX: y"),
            ("GET", "/é"),
            ("GET", ""),
            ("G T", "/"),
        ):
            with self.subTest(method=method, target=target), self.assertRaises(ValueError):
                serialize_request(method, target, {})


class Hosts(unittest.TestCase):
    def test_loopback_bind_serves_loopback_names_and_configured_ones(self) -> None:
        for host in (
            "localhost", "LOCALHOST:1", "a.localhost", "localhost.", "127.0.0.1:12345", "127.9.9.9",
            "[::1]", "[::1]:80", "[::ffff:127.0.0.1]", "yaa.lan", "Yaa.LAN:12345",
        ):  # fmt: skip
            with self.subTest(host=host):
                self.assertTrue(host_allowed(host, loopback=True, names=["Yaa.lan"]))
        for host in (
            "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "0.0.0.0", "127.1",
            "192.168.1.2", "[::2]", "xlocalhost", "2130706433",
        ):  # fmt: skip
            with self.subTest(host=host):
                self.assertFalse(host_allowed(host, loopback=True, names=["yaa.lan"]))

    def test_open_bind(self) -> None:
        for host, names, allowed in (
            ("any.example", [], True),
            ("192.168.1.2", [], True),
            ("any.example", ["yaa.lan"], False),
            ("yaa.lan", ["yaa.lan"], True),
            ("192.168.1.2:1", ["yaa.lan"], True),
            ("[fe80::1]", ["yaa.lan"], True),
            ("localhost", ["yaa.lan"], True),
        ):
            with self.subTest(host=host, names=names):
                self.assertEqual(host_allowed(host, loopback=False, names=names), allowed)


if __name__ == "__main__":
    unittest.main()
