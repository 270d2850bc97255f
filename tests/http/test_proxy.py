"""Which proxy the environment asks for."""

from __future__ import annotations

import unittest

from server.lib.http.client import Proxy, proxy_for


class Proxies(unittest.TestCase):
    def test_which(self) -> None:
        both = {"http_proxy": "http://p:3128", "HTTPS_PROXY": "s:8443"}
        cases: list[tuple[str, str, int, dict[str, str], tuple[str, str, int] | None]] = [
            ("http", "a.example", 80, {}, None),
            ("http", "a.example", 80, both, ("http", "p", 3128)),
            ("https", "a.example", 443, both, ("http", "s", 8443)),
            ("https", "a.example", 443, {"all_proxy": "http://x"}, ("http", "x", 80)),
            ("https", "a.example", 443, {"https_proxy": "https://x"}, ("https", "x", 443)),
            ("http", "a.example", 80, {"http_proxy": ""}, None),
            ("http", "a.example", 80, {"http_proxy": "x", "HTTP_PROXY": "y"}, ("http", "x", 80)),
        ]
        for host in ("localhost", "127.0.0.1", "127.9.9.9", "::1", "x.localhost"):
            cases.append(("http", host, 80, both, None))
        for scheme, host, port, env, wanted in cases:
            with self.subTest(host, env=env):
                found = proxy_for(scheme, host, port, env)
                self.assertEqual(found and (found.scheme, found.host, found.port), wanted)

    def test_exceptions(self) -> None:
        cases = [
            ("*", "a.example", 80, True),
            ("a.example", "a.example", 80, True),
            ("A.Example", "a.example", 80, True),
            ("example", "a.example", 80, True),
            (".example", "a.example", 80, True),
            ("*.example", "a.example", 80, True),
            ("ample", "a.example", 80, False),
            ("b.example, a.example", "a.example", 80, True),
            ("a.example:80", "a.example", 80, True),
            ("a.example:81", "a.example", 80, False),
            ("10.0.0.0/8", "10.1.2.3", 80, True),
            ("10.0.0.0/8", "11.1.2.3", 80, False),
            ("fd00::/8", "fd00::1", 80, True),
            ("nonsense/99", "a.example", 80, False),
            ("", "a.example", 80, False),
            (".", "a.example", 80, False),
        ]
        for exceptions, host, port, direct in cases:
            env = {"http_proxy": "http://p", "NO_PROXY": exceptions}
            with self.subTest(exceptions, host=host):
                self.assertEqual(proxy_for("http", host, port, env) is None, direct)

    def test_credentials(self) -> None:
        found = proxy_for("http", "a.example", 80, {"http_proxy": "http://me:p%40ss@p:1"})
        self.assertEqual(found, Proxy("http", "p", 1, "Basic bWU6cEBzcw=="))
        self.assertNotIn("bWU6cEBzcw", repr(found))

    def test_not_http(self) -> None:
        for url in ("socks5://me:secret@p:1", "ftp://p", "http://"):
            with self.subTest(url), self.assertRaises(ValueError) as caught:
                proxy_for("http", "a.example", 80, {"http_proxy": url})
            self.assertNotIn("secret", str(caught.exception))

    def test_a_password_that_is_not_written_as_it_must_be(self) -> None:
        """Python quotes in its errors what it took for the port, or all there is."""
        for url in (
            "http://me:secret#x@p:1",
            "http://me:secret/x@p:1",
            "http://me:secret?x@p:1",
            "http://me:1#secret@p:1",
            "http://me:secret\u2100@p:1",
            "http://[secret",
            "me:secret#x@p:1",
        ):
            with self.subTest(url), self.assertRaises(ValueError) as caught:
                proxy_for("http", "a.example", 80, {"http_proxy": url})
            self.assertNotIn("secret", str(caught.exception))
            self.assertIn("the proxy for http is no address", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
