"""What another user may have written is not used."""

from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path

from server.cli.session_files import file_of
from server.config import ConfigError, load
from server.settings.file_trust import (
    distrust_reason,
    folder_distrust_reason,
    follow_links,
    is_shared,
)

OTHER = 12_345
CLOSED = "can be written by others: chmod go-w"


class Case(unittest.TestCase):
    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name) / "home"
        self.folder.mkdir(mode=0o700)
        self.path = self.folder / "config.json"
        self.path.write_text("{}")


class Files(Case):
    def test_modes(self) -> None:
        for folder, file, said in (
            (0o700, 0o600, ""),
            (0o755, 0o644, ""),
            (0o700, 0o602, f"it {CLOSED}"),
            (0o777, 0o600, f"its folder {CLOSED}"),
            (0o1777, 0o600, ""),  # as /tmp: others cannot replace what is ours
            (0o1777, 0o606, f"it {CLOSED}"),
        ):
            with self.subTest(folder=oct(folder), file=oct(file)):
                self.folder.chmod(folder)
                self.path.chmod(file)
                self.assertEqual(distrust_reason(self.path), said)
        self.assertEqual(folder_distrust_reason(self.folder), CLOSED, "a home is not shared")

    def test_a_link_is_as_open_as_where_it_leads(self) -> None:
        other = self.folder.parent / "other"
        other.mkdir()
        other.chmod(0o777)
        for name in ("file", "link"):
            (other / name).unlink(missing_ok=True)
        (other / "file").write_text("{}")
        self.path.unlink()
        self.path.symlink_to(other / "file")
        self.assertEqual(distrust_reason(self.path), f"its folder {CLOSED}")
        (other / "link").symlink_to(self.folder / "mine")
        (self.folder / "mine").write_text("{}")
        self.assertEqual(distrust_reason(other / "link"), f"its folder {CLOSED}")

    @unittest.skipIf(os.geteuid(), "only root can give a link away")
    def test_a_link_of_another_user_is_not_written_through(self) -> None:
        victim = self.folder / "victim"
        victim.write_text("mine")
        place = self.folder.parent / "open"
        place.mkdir()
        (place / "talk.json").symlink_to(victim)
        (place / "inside").symlink_to(self.folder)
        for name in ("talk.json", "inside/new.json"):
            self.assertEqual(follow_links(place / name).parent, self.folder)
        for name in ("talk.json", "inside"):
            os.lchown(place / name, OTHER, OTHER)
        for name in ("talk.json", "inside/new.json"):
            for write in (follow_links, file_of):
                with self.subTest(name, write=write.__name__):
                    with self.assertRaisesRegex(OSError, "is a link of another user"):
                        write(place / name)
        self.assertEqual(victim.read_text(), "mine")

    def test_what_is_no_file(self) -> None:
        self.assertIn("No such file", distrust_reason(self.folder / "none"))
        self.assertEqual(distrust_reason(self.folder), "it is no file")

    def test_groups(self) -> None:
        accounts = (("root", 0, 0), ("me", 1000, 1000), ("you", 1001, 100), ("she", 1002, 1002))
        for group, members, shared in (
            (1000, (), False),  # the user's own
            (1000, ("me", "root"), False),
            (1000, ("you",), True),
            (1000, ("gone",), True),
            (100, (), True),  # the first group of somebody
            (7777, (), False),  # of a container, without a name
        ):
            with self.subTest(group=group, members=members):
                self.assertEqual(is_shared(group, members, accounts, 1000), shared)


class Configuration(Case):
    def refused(self, *, file: Path | None = None) -> str:
        with self.assertRaises(ConfigError) as caught:
            load(self.folder, file, {}, {})
        return str(caught.exception)

    def test_a_home_and_a_file_that_others_may_write(self) -> None:
        load(self.folder, None, {}, {})
        self.path.chmod(0o666)
        self.assertIn(f"{self.path}: it {CLOSED}", self.refused())
        with self.assertRaises(ConfigError):
            load(self.folder, None, {}, {}, given={})
        self.path.unlink()
        for mode in (0o777, 0o1777):
            self.folder.chmod(mode)
            self.assertIn(f"the home folder {self.folder} {CLOSED}", self.refused())
        self.folder.chmod(0o700)
        load(self.folder, None, {}, {})

    @unittest.skipIf(os.geteuid(), "only root can give a file away")
    def test_those_of_another_user(self) -> None:
        os.chown(self.path, OTHER, OTHER)
        self.assertIn(f"{self.path}: it belongs to another user", self.refused())
        other = self.folder.parent / "named.json"
        other.write_text("{}")
        load(self.folder, other, {}, {})
        os.chown(other, OTHER, OTHER)
        self.assertIn("it belongs to another user", self.refused(file=other))
        os.chown(self.folder, OTHER, OTHER)
        self.assertIn(f"home folder {self.folder} belongs to another user", self.refused())


if __name__ == "__main__":
    unittest.main()
