"""API keys: every way to send one, hashes, names, and the key that is made at first start."""

from __future__ import annotations

import hashlib
import hmac
import stat
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from typing import Any

from server.api.auth import ANYONE, Entry, Key, Keys, home_key, owners
from server.errors import Problem


class Sending(unittest.TestCase):
    keys = Keys(["first", "second"])

    def test_every_way_to_send_a_key(self) -> None:
        for headers in (
            {"authorization": "Bearer first"},
            {"authorization": "bearer first"},
            {"authorization": "BEARER   first  "},
            {"authorization": "YAA-API-KEY first"},
            {"authorization": "yaa-api-key first"},
            {"yaa-api-key": "first"},
            {"authorization": "Basic eDp5", "yaa-api-key": "first"},
            {"authorization": "Bearer of-somebody-else", "yaa-api-key": "first"},
        ):
            with self.subTest(headers=headers):
                self.assertEqual(self.keys.check(headers).name, "key-1")
        self.assertEqual(self.keys.check({"yaa-api-key": "second"}).name, "key-2")

    def test_what_is_refused(self) -> None:
        for headers in (
            {},
            {"authorization": ""},
            {"authorization": "first"},
            {"authorization": "Bearer"},
            {"authorization": "Bearer "},
            {"authorization": "Bearer firs"},
            {"authorization": "Bearer first2"},
            {"authorization": "Bearer FIRST"},
            {"authorization": "Bearer first, Bearer first"},
            {"authorization": "Basic first"},
            {"authorization": "Bearer first", "yaa-api-key": "wrong"},
            {"yaa-api-key": "f\xefrst"},
            {"yaa-api-key": "x" * 30_000},
            {"cookie": "key=first"},
        ):
            with self.subTest(headers=headers), self.assertRaises(Problem) as caught:
                self.keys.check(headers)
            self.assertEqual(caught.exception.status, 401)
            self.assertIn("WWW-Authenticate", caught.exception.headers)

    def test_without_a_key_it_is_said_how_to_send_one(self) -> None:
        for headers in ({}, {"authorization": "first"}, {"authorization": "Bearer "}):
            with self.subTest(headers=headers), self.assertRaises(Problem) as caught:
                self.keys.check(headers)
            self.assertIn("Send a key: Authorization: Bearer", caught.exception.body()["detail"])

    def test_where_a_key_is_in_a_header(self) -> None:
        """What holds one is told to nobody, whatever is around it."""
        for text in ("first", " first ", "Bearer first", "a=first; b", '"second"', "x:f%69rst,y"):
            self.assertTrue(self.keys.is_key(text), text)
        for text in ("", "firstly", "Bearer", "FIRST", "f irst"):
            self.assertFalse(self.keys.is_key(text), text)
        odd = Keys(["k,e=y;with:marks"])
        self.assertTrue(odd.is_key("Bearer k,e=y;with:marks"))

    def test_the_answer_tells_nothing_about_the_key(self) -> None:
        with self.assertRaises(Problem) as caught:
            self.keys.check({"yaa-api-key": "canary-key"})
        self.assertNotIn("canary-key", str(caught.exception.body()))
        self.assertNotIn("first", str(caught.exception.body()))

    def test_no_keys_at_all_lets_nobody_in(self) -> None:
        with self.assertRaises(Problem):
            Keys([]).check({"authorization": "Bearer "})

    def test_not_required(self) -> None:
        self.assertIs(Keys([], required=False).check({}), ANYONE)
        self.assertIs(Keys(["a"], required=False).check({"yaa-api-key": "b"}), ANYONE)


class Entries(unittest.TestCase):
    def test_plain_hashed_and_named(self) -> None:
        digest = hashlib.blake2b(b"hashed").hexdigest()
        keys = Keys(
            [
                "plain",
                f"blake2b:{digest.upper()}",
                {"name": "phone", "key": "third", "owner": True, "limits": {"max_runs": 2}},
                {"name": "", "key": f"blake2b:{hashlib.blake2b(b'fourth').hexdigest()}"},
            ]
        )
        for sent, expected in (
            ("plain", Key("key-1", owner=hashed("plain"))),
            ("hashed", Key("key-2", owner=hashed("hashed"))),
            ("third", Key("phone", owner="phone", is_owner=True)),
            ("fourth", Key("key-4", owner=hashed("fourth"))),
        ):
            with self.subTest(sent=sent):
                found = keys.check({"authorization": f"Bearer {sent}"})
                self.assertEqual(found._replace(id=""), expected)
                self.assertTrue(keys.is_valid(found))
                others = [each for each in ("plain", "hashed", "third") if each != sent]
                self.assertFalse(Keys(others).is_valid(found))
        with self.assertRaises(Problem):
            keys.check({"authorization": f"Bearer blake2b:{digest}"})

    def test_every_key_is_compared_in_constant_time(self) -> None:
        """Whichever of them was sent, or none: the time tells nothing."""
        texts = ["first", "second", "third"]
        keys = Keys(texts)
        for sent in (*texts, "nobody's", "f"):
            compared = 0

            def see(frame: object, event: str, function: Any) -> None:
                nonlocal compared
                compared += event == "c_call" and function is hmac.compare_digest

            sys.setprofile(see)
            try:
                keys.check({"yaa-api-key": sent})
            except Problem:
                self.assertNotIn(sent, texts)
            finally:
                sys.setprofile(None)
            with self.subTest(sent):
                self.assertEqual(compared, len(texts))

    def test_the_key_that_the_server_made(self) -> None:
        """It is the owner's, and reaches what was there before keys were configured."""
        keys = Keys([], "made")
        made = keys.check({"yaa-api-key": "made"})
        self.assertEqual(made._replace(id=""), Key("home", is_owner=True))
        self.assertEqual((ANYONE.owner, ANYONE.is_owner), ("", True))

    def test_whose_a_key_is_does_not_depend_on_the_others(self) -> None:
        ann: list[Entry] = [{"name": "ann", "key": "a1"}, {"name": "ann", "key": "a2"}]
        lists: tuple[list[Entry], ...] = (["x", *ann], [*ann, "y", "x"], [{"key": "x"}])
        lists += (["blake2b:" + hashlib.blake2b(b"x").hexdigest()],)
        for entries in lists:
            with self.subTest(entries):
                self.assertEqual(Keys(entries).check({"yaa-api-key": "x"}).owner, hashed("x"))
        found = {Keys(ann).check({"yaa-api-key": each}).owner for each in ("a1", "a2")}
        self.assertEqual(found, {"ann"})

    def test_who_is_the_servers_owner(self) -> None:
        ann, bob = {"name": "ann", "key": "a"}, {"name": "bob", "key": "b"}
        cases: list[tuple[list[Entry], set[str]]] = [
            ([], {""}),
            (["x"], {"", hashed("x")}),
            ([ann], {"", "ann"}),
            ([ann, {**ann, "key": "a2"}], {"", "ann"}),
            ([ann, bob], {""}),
            (["x", "y"], {""}),
            ([ann, {**bob, "owner": True}], {"", "bob"}),
            ([{**ann, "owner": False}, {**bob, "owner": True}, "x"], {"", "bob"}),
            ([{**ann, "owner": True}, {**ann, "key": "a2"}, bob], {"", "ann"}),
            ([{**ann, "owner": True}, {**bob, "owner": True}, "x"], {"", "ann", "bob"}),
        ]
        for entries, wanted in cases:
            with self.subTest(entries):
                self.assertEqual(owners(entries), wanted)
                keys = Keys(entries)
                for entry in entries:
                    sent = entry if isinstance(entry, str) else entry["key"]
                    found = keys.check({"yaa-api-key": sent})
                    self.assertEqual(found.is_owner, found.owner in wanted)


def hashed(key: str) -> str:
    """Whose a key without a name is."""
    return "key-" + hashlib.sha256(hashlib.blake2b(key.encode()).digest()).hexdigest()[:16]


class HomeKey(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.home = Path(folder.name)

    def test_made_once_for_the_owner_only(self) -> None:
        key = home_key(self.home)
        self.assertGreaterEqual(len(key), 32)
        self.assertEqual(home_key(self.home), key)
        self.assertEqual(stat.S_IMODE((self.home / "key").stat().st_mode), 0o600)
        self.assertEqual([entry.name for entry in self.home.iterdir()], ["key"])

    def test_a_key_file_that_others_may_read_is_closed(self) -> None:
        (self.home / "key").write_text("my-own-key\n")
        (self.home / "key").chmod(0o644)
        self.assertEqual(home_key(self.home), "my-own-key")
        self.assertEqual(stat.S_IMODE((self.home / "key").stat().st_mode), 0o600)

    def test_two_servers_that_start_together_agree(self) -> None:
        found: list[str] = []
        barrier = threading.Barrier(8)

        def start() -> None:
            barrier.wait()
            found.append(home_key(self.home))

        threads = [threading.Thread(target=start) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(found), 8)
        self.assertEqual(len(set(found)), 1)

    def test_a_file_without_a_key(self) -> None:
        for text in ("", "\n", "two words", "ключ"):
            (self.home / "key").write_text(text)
            with self.subTest(text=text), self.assertRaisesRegex(ValueError, "delete it"):
                home_key(self.home)


if __name__ == "__main__":
    unittest.main()
