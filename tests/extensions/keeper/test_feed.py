"""What is kept for those who follow a kept session and come back."""

from __future__ import annotations

import asyncio
import json
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from server.extensions.keeper.driver import Keeper
from server.extensions.keeper.feed import MOST_EVENTS, MOST_PLACES, Feed
from server.extensions.keeper.folder import KeptFolder, Room
from server.extensions.keeper.follow import Follower
from server.extensions.keeper.job import Job, Means
from server.extensions.keeper.kept_file import StoredSession
from server.extensions.keeper.marks import ENDED, Marks
from server.session.events import text_delta


def texts(feed: Feed, number: int) -> list[str] | None:
    entries = feed.after(number)
    return None if entries is None else [each.text for each in entries]


class Window(unittest.TestCase):
    def test_nothing_is_kept_until_somebody_follows(self) -> None:
        feed = Feed()
        feed.push(text_delta("m", "one"), text_delta("m", "two"))
        feed.mark(("digest", 10))
        self.assertEqual((feed.number, feed.number_at(("digest", 10))), (2, 2))
        self.assertIsNone(feed.after(0))
        self.assertEqual(texts(feed, 2), [])
        feed.followed = True
        feed.push(text_delta("m", "three"))
        found = texts(feed, 2)
        assert found
        self.assertIn("three", found[0])
        self.assertIsNone(feed.after(1))
        self.assertEqual([feed.number_of(feed.id_of(each)) for each in (2, 3, 4)], [2, 3, None])
        self.assertIsNone(feed.number_of("other/3"))
        self.assertIsNone(feed.number_of(feed.id_of(3) + "0" * 5000))
        self.assertIsNone(feed.number_of(f"{feed.id_of(3)}x"))

    def test_who_comes_back_from_before_a_change_gets_the_document(self) -> None:
        feed = Feed()
        feed.followed = True
        feed.push(text_delta("m", "one"))
        feed.tell_state("before", running=False)
        told = ["kept/before", feed.id_of(1), feed.id_of(2)]
        self.assertEqual([feed.number_of(each) for each in told], [2, 1, 2])
        feed.change()
        self.assertEqual([feed.number_of(each) for each in told], [None, None, None])
        now = feed.id_of(feed.number)
        feed.push(text_delta("m", "two"))
        number = feed.number_of(now)
        assert number is not None
        self.assertEqual([json.loads(each)["delta"] for each in texts(feed, number) or []], ["two"])

    def test_no_sign_lies_between_a_place_and_what_is_kept(self) -> None:
        """A run waits for its next attempt when the first one comes who follows."""
        feed = Feed()
        feed.mark(("digest", 10))
        feed.tell_state(running=True, attempts=1)
        feed.followed = True
        feed.tell_state()
        number = feed.number_at(("digest", 10))
        assert number is not None
        self.assertEqual(len(texts(feed, number) or []), 1)

    def test_bounds(self) -> None:
        feed = Feed()
        feed.followed = True
        for number in range(MOST_EVENTS + 1):
            feed.push(text_delta("m", str(number)))
            feed.mark(("digest", number))
        self.assertIsNone(feed.after(0))
        self.assertEqual(len(texts(feed, 1) or []), MOST_EVENTS)
        self.assertIsNone(feed.number_at(("digest", MOST_EVENTS - MOST_PLACES)))
        self.assertEqual(feed.number_at(("digest", MOST_EVENTS)), MOST_EVENTS + 1)


class Reader:
    """The answer of one who follows. `has(text)`: wait for that; False: the answer ends without."""

    full, sent_at = False, 0.0

    def __init__(self, keeper: Keeper, folder: KeptFolder) -> None:
        self.text, self._new = "", asyncio.Event()
        follower = Follower(keeper, folder, self.request(), 0)
        self.following = asyncio.create_task(follower.send())
        self.following.add_done_callback(lambda task: self._new.set())

    def write(self, data: bytes) -> None:
        self.text += data.decode()
        self._new.set()

    async def close(self) -> None:
        """Close nothing."""

    async def leave(self) -> None:
        self.following.cancel()
        await asyncio.gather(self.following, return_exceptions=True)

    async def has(self, text: str) -> bool:
        while text not in self.text and not self.following.done():
            self._new.clear()
            await self._new.wait()
        return text in self.text

    def request(self) -> Any:
        key, request = SimpleNamespace(owner=""), SimpleNamespace(headers={})
        return SimpleNamespace(
            key=key, at={"id": "s"}, request=request, stream=lambda headers: self
        )


class Attached(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        home = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.folder = KeptFolder(home, "", Room(9, 1 << 20, 1 << 20))
        said: Any = {"id": "m", "role": "user", "content": "go"}
        self.folder.put("s", {"messages": [said]}, "")
        unused: Any = None
        self.means = Means(unused, self.folder, Marks(home), Marks(home, ENDED), 0, 0.01)
        self.keeper = Keeper(Marks(home), lambda owner: self.means)

    def follow(self, folder: KeptFolder) -> Reader:
        reader = Reader(self.keeper, folder)
        self.addAsyncCleanup(reader.leave)
        return reader

    async def test_a_run_without_events_can_be_followed(self) -> None:
        """Since it has begun, and after another configuration."""
        job = Job("", "s", self.keeper.feed("", "s"), lambda: self.means)
        self.keeper.jobs["", "s"] = job
        self.assertTrue(await job.open())
        self.addCleanup(job.close)
        for place in ("as it began", "as its routes are others"):
            with self.subTest(place):
                reader = self.follow(self.folder)
                self.assertTrue(await reader.has('"running":true'), reader.text)
                job.feed.push(text_delta("m", place))
                self.assertTrue(await reader.has(place), reader.text)
            self.keeper.end_followers()

    async def test_a_feed_that_goes_while_the_session_is_read_is_not_followed(self) -> None:
        keeper = self.keeper

        class Folder(KeptFolder):
            def read(self, session_id: str) -> StoredSession:
                keeper.drop_feeds()
                return super().read(session_id)

        folder = Folder(self.folder.path.parent.parent, "", self.folder.room)
        self.assertTrue(await self.follow(folder).has("yaa.kept"))
        self.assertEqual(keeper.feed("", "s").followers, 1)

    async def test_who_comes_while_the_server_stops_is_sent_away(self) -> None:
        self.keeper.stop()
        self.assertFalse(await self.follow(self.folder).has("yaa.kept"))


if __name__ == "__main__":
    unittest.main()
