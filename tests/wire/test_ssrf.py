"""Addresses that strangers may name, and those they may not."""

from __future__ import annotations

import unittest

from server.wire.ssrf import is_public, resolve, resolve_public

PUBLIC = ["1.1.1.1", "8.8.8.8", "2606:4700::1111", "2002:0808:0808::1", "64:ff9b::808:808"]
PUBLIC += ["::ffff:8.8.8.8"]
LOCAL = [
    *("127.0.0.1", "127.255.255.254", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255"),
    *("192.168.1.1", "169.254.169.254", "100.64.0.1", "192.0.0.8", "192.0.2.1", "198.18.0.1"),
    *("224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255"),
    *("::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1", "ff02::1", "2001:db8::1"),
    *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::10.0.0.1"),
    *("2002:7f00:0001::1", "2002:0a00:0001::1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe"),
    *("64:ff9b:1::a00:1", "fec0::1"),
    *("localhost", "", "1.1.1", "01.1.1.1", "1.1.1.1.", "example.com"),
]


class Addresses(unittest.TestCase):
    def test_public(self) -> None:
        for address in PUBLIC:
            with self.subTest(address):
                self.assertTrue(is_public(address))

    def test_local(self) -> None:
        for address in LOCAL:
            with self.subTest(address):
                self.assertFalse(is_public(address))


class Names(unittest.IsolatedAsyncioTestCase):
    async def test_names_of_this_machine(self) -> None:
        self.assertTrue(await resolve("localhost", 80))
        for host in ("localhost", "127.1", "0x7f.1", "2130706433", "0"):
            with self.subTest(host):
                self.assertEqual(await resolve_public(host, 80), [])

    async def test_an_address_is_itself(self) -> None:
        self.assertEqual(await resolve_public("1.1.1.1", 443), ["1.1.1.1"])

    async def test_no_such_name(self) -> None:
        with self.assertRaises(OSError):
            await resolve_public("no-such-host.invalid", 80)


if __name__ == "__main__":
    unittest.main()
