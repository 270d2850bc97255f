"""What a network lets through, and that nothing makes it wider than the configuration."""

from __future__ import annotations

import unittest
from typing import Any

from server.lib.sandbox.network_policy import NETWORKS, NetworkPolicy, entry_problem, narrow, widen

HOSTS = (
    "packages.test",
    "*.example.org",
    "wiki.lan:8080",
    "10.0.0.0/8",
    "192.168.1.7",
    "[fd00::1]:443",
)


class Lets(unittest.TestCase):
    def test_entries(self) -> None:
        reach = NetworkPolicy("proxy", HOSTS)
        for host, port, said in (
            ("packages.test", 443, "public"),
            ("packages.test", 80, "public"),
            ("packages.test", 22, ""),
            ("sub.packages.test", 443, ""),
            ("evilpackages.test", 443, ""),
            ("packages.test.evil.net", 443, ""),
            ("a.example.org", 443, "public"),
            ("a.b.example.org", 443, "public"),
            ("example.org", 443, ""),
            ("badexample.org", 443, ""),
            ("wiki.lan", 8080, "any"),
            ("wiki.lan", 80, ""),
            ("10.1.2.3", 80, "any"),
            ("10.1.2.3", 22, ""),
            ("11.1.2.3", 80, ""),
            ("192.168.1.7", 443, "any"),
            ("192.168.1.8", 443, ""),
            ("fd00::1", 443, "any"),
            ("fd00:0::1", 443, "any"),
            ("fd00::1", 80, ""),
            ("", 443, ""),
        ):
            with self.subTest(host=host, port=port):
                self.assertEqual(reach.addresses_allowed(host, port), said)
        self.assertEqual(NetworkPolicy("proxy", ("*",)).addresses_allowed("any.net", 443), "public")
        self.assertEqual(
            NetworkPolicy("proxy", ("*", "a.b:443")).addresses_allowed("a.b", 443), "any"
        )
        self.assertEqual(
            NetworkPolicy("proxy", ("*",), (8443,)).addresses_allowed("any.net", 443), ""
        )
        self.assertEqual(NetworkPolicy("proxy").addresses_allowed("packages.test", 443), "")

    def test_entries_that_nobody_can_mean(self) -> None:
        for entry in (
            *HOSTS,
            "*",
            "localhost",
            "127.0.0.1:3000",
            "::1",
            "a_b.c",
            "xn--bcher-kva.ch",
        ):
            self.assertEqual(entry_problem(entry), "", entry)
        for entry in (
            *("", "a b", "http://x.org", "x.org/path", "10.0.0/8", "a.org:0", "a.org:99999"),
            *("a.org:x", "*.a.org:443", "*:443", "a.*", "a\0b", "a.org:", "user@a.org", "-a.org"),
        ):
            self.assertTrue(entry_problem(entry), entry)


class Changes(unittest.TestCase):
    def test_a_session_only_narrows(self) -> None:
        for base in NETWORKS:
            for asked in (*NETWORKS, None, "everything", 7):
                found = narrow(NetworkPolicy(base, HOSTS), asked)  # type: ignore[arg-type]
                rank = NETWORKS.index(found.network)
                self.assertLessEqual(rank, NETWORKS.index(base))
                if asked in NETWORKS:
                    self.assertLessEqual(rank, NETWORKS.index(str(asked)))

    def test_an_approval_widens_within_what_may_be_added(self) -> None:
        off, some, full = (
            NetworkPolicy("off", ("a.org",)),
            NetworkPolicy("proxy", ("a.org",)),
            NetworkPolicy("full"),
        )
        add = ("packages.test", "*.example.org", "nas.lan:445", "10.0.0.9")
        cases: list[tuple[NetworkPolicy, dict[str, Any], tuple[str, tuple[str, ...]] | None]] = [
            (off, {}, ("off", ("a.org",))),
            (off, {"hosts": ["packages.test"]}, ("proxy", ("packages.test",))),
            (off, {"network": "proxy", "hosts": ["x.example.org"]}, ("proxy", ("x.example.org",))),
            (off, {"hosts": ["nas.lan:445"]}, ("proxy", ("nas.lan:445",))),
            (off, {"hosts": ["*.example.org"]}, ("proxy", ("*.example.org",))),
            (off, {"hosts": ["a.org"]}, None),
            (off, {"network": "proxy"}, None),
            (off, {"network": "full"}, None),
            (off, {"network": "full", "hosts": ["packages.test"]}, None),
            (off, {"hosts": ["*"]}, None),
            (off, {"hosts": ["*.org"]}, None),
            (off, {"hosts": ["evil.net"]}, None),
            (off, {"hosts": ["packages.test", "evil.net"]}, None),
            (off, {"hosts": ["packages.test:22"]}, None),
            (off, {"hosts": ["nas.lan"]}, None),
            (off, {"hosts": ["nas.lan:80"]}, None),
            (off, {"hosts": ["10.0.0.8"]}, None),
            (off, {"hosts": ["10.0.0.0/8"]}, None),
            (off, {"hosts": ["x.example.org/24"]}, None),
            (off, {"hosts": ["PACKAGES.test\n"]}, None),
            (off, {"hosts": [7]}, None),
            (off, {"hosts": "packages.test"}, None),
            (off, {"hosts": ["packages.test"] * 99}, None),
            (off, {"network": "host"}, None),
            (some, {"hosts": ["packages.test"]}, ("proxy", ("a.org", "packages.test"))),
            (some, {"hosts": ["a.org"]}, ("proxy", ("a.org", "a.org"))),
            (some, {"network": "off"}, ("off", ("a.org",))),
            (some, {"network": "full"}, None),
            (full, {"network": "off"}, ("off", ())),
            (full, {"network": "proxy", "hosts": ["packages.test"]}, ("proxy", ("packages.test",))),
        ]
        for base, asked, wanted in cases:
            with self.subTest(base=base.network, asked=asked):
                found = widen(base, asked, add)
                if wanted is None:
                    self.assertIsInstance(found, str)
                else:
                    assert isinstance(found, NetworkPolicy), found
                    self.assertEqual((found.network, found.hosts), wanted)


if __name__ == "__main__":
    unittest.main()
