"""Which connections are kept when more come than there may be."""

from __future__ import annotations

import unittest

from server.lib.http.connection import SPARE, ConnectionLimit, network_of


class One:
    """A connection."""

    def __init__(self, network: str = "") -> None:
        self.network, self.sending = network, False
        self.closed = self.refused = self.aborted = 0

    def is_sending(self) -> bool:
        return self.sending

    def give_way(self) -> None:
        self.closed += 1

    def turn_away(self) -> None:
        self.refused += 1

    def abort(self) -> None:
        self.aborted += 1


class Bounds(unittest.TestCase):
    def setUp(self) -> None:
        self.said: list[str] = []

    def places(self, most: int, most_each: int = 0) -> ConnectionLimit:
        return ConnectionLimit(most, most_each, self.said.append)

    def entered(self, places: ConnectionLimit, *networks: str) -> list[One]:
        """Connections that each got a place."""
        ones = [One(network) for network in networks]
        self.assertEqual([places.take(one) for one in ones], [""] * len(ones))
        return ones

    def test_the_longest_idle_goes_first(self) -> None:
        places = self.places(4)
        ones = self.entered(places, *[""] * 4)
        for one in (ones[1], ones[0], ones[2]):  # the last one has never sent a head
            places.begin(one)
        for one in (ones[2], ones[1]):
            places.end(one)
        order = []
        for _ in range(3):
            new = One()
            self.assertEqual(places.take(new), "")
            places.begin(new)
            order += [ones.index(one) for one in ones if one.closed]
            ones = [one if not one.closed else One() for one in ones]
        self.assertEqual(order, [3, 2, 1])
        self.assertEqual(ones[0].closed, 0, "it is in a request")
        self.assertIn("All 4 connections are taken", places.take(One()))

    def test_what_still_sends_an_answer_is_not_idle(self) -> None:
        places = self.places(2)
        slow, idle = self.entered(places, "", "")
        slow.sending = True
        self.entered(places, "")
        self.assertEqual((slow.closed, idle.closed), (0, 1))

    def test_without_a_place_the_oldest_is_turned_away_first(self) -> None:
        places = self.places(1)
        (busy,) = self.entered(places, "")
        places.begin(busy)
        late = [One() for _ in range(SPARE + 3)]
        for one in late:
            self.assertTrue(places.take(one))
        self.assertEqual([one.refused for one in late], [1] * 3 + [0] * SPARE)
        places.begin(late[3])  # its head is here, and asks for what is spared
        places.end(late[3])
        places.leave(late[4])
        for _ in range(2):
            places.take(One())
        self.assertEqual([one.refused for one in late], [1] * 3 + [0] * SPARE)
        self.assertEqual(busy.closed, 0)
        places.leave(busy)
        self.entered(places, "")

    def test_the_longest_refused_is_known(self) -> None:
        places = self.places(1)
        (busy,) = self.entered(places, "")
        places.begin(busy)
        late = [One() for _ in range(4)]
        for one in late:
            self.assertTrue(places.take(one))
        for one in late[:3]:
            places.begin(one)
        for one in (late[1], late[2], late[0]):
            places.end(one)
        places.leave(late[2])
        found = [places.longest_refused() for _ in range(3)]
        self.assertEqual(found, [late[1], late[0], None])  # the last one waits for its head

    def test_one_address_takes_no_more_than_its_share(self) -> None:
        places = self.places(6, 2)
        a1, a2, b1, *_ = self.entered(places, "a", "a", "b", "", "")
        places.begin(a1)
        self.entered(places, "a")  # in the place of a2, although there is room
        self.assertEqual((a1.closed, a2.closed, b1.closed), (0, 1, 0))
        a3 = One("a")
        self.entered(places, "b")
        places.begin(b1)
        places.leave(a1)
        self.assertEqual(places.take(a3), "")
        for one in (a3,):
            places.begin(one)
        self.assertEqual(places.take(a4 := One("a")), "")
        places.begin(a4)
        self.assertIn("All 2 connections of one address are taken", places.take(One("a")))

    def test_leaving_twice_frees_one_place(self) -> None:
        places = self.places(2, 2)
        one, _ = self.entered(places, "a", "a")
        for _ in range(3):
            places.leave(one)
        places.leave(One("a"))
        (third,) = self.entered(places, "a")
        places.begin(third)
        self.assertEqual(third.closed, 0)

    def test_each_bound_is_said_once_until_half_have_gone(self) -> None:
        places = self.places(4, 2)
        a, b, c, d = self.entered(places, "a", "a", "", "")
        self.entered(places, "a", "a", "", "")
        self.assertEqual(len(self.said), 2, self.said)
        self.assertIn("max_connections_per_address are taken by a", self.said[0])
        self.assertIn("all 4 connections of server.limits.max_connections ", self.said[1])
        self.assertEqual([one.closed for one in (a, b, c, d)], [1] * 4)
        places = self.places(2)
        ones = self.entered(places, "", "", "")
        for one in ones:
            places.leave(one)
        self.entered(places, "", "", "")
        self.assertEqual(len(self.said), 4)


class Networks(unittest.TestCase):
    def test_table(self) -> None:
        for peer, network in (
            ("192.0.2.7", "192.0.2.7"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
            ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
            ("fe80::1%eth0", "fe80::/64"),
            ("127.0.0.1", ""),
            ("127.9.9.9", ""),
            ("::1", ""),
            ("", ""),
            ("a name", ""),
        ):
            with self.subTest(peer):
                self.assertEqual(network_of(peer), network)


if __name__ == "__main__":
    unittest.main()
