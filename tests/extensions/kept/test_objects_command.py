"""What files are kept for each key, as the command says it."""

from __future__ import annotations

import json
import os
import unittest

from server.session.workspace_stand import stand_of

from ...cli import test_overlay


class Objects(test_overlay.Case):
    def test_what_is_kept_and_cleaned(self) -> None:
        self.assertEqual(self.yaa("objects").returncode, 0)
        found = self.yaa("run", "--folder", "project", "--say", test_overlay.shell("echo 1 > new"))
        session = json.loads(found.stdout)
        (self.base / "old.json").write_text(found.stdout)
        say = ("--say", test_overlay.shell("rm new; echo 2 > other"))
        self.yaa("run", "-", "--folder", "project", *say, said=found.stdout)
        objects = self.base / "home" / "objects"
        stored = sorted(path for path in objects.glob("*/*/*"))
        for path in stored:  # older than what may be in the making
            os.utime(path, (0, 0))
        said = self.yaa("objects").stdout
        self.assertRegex(said, rf"the owner +{len(stored)} objects +0\.0 MB   [1-9]\d* not needed")
        self.yaa("objects", "--clean", "--keep", str(self.base / "old.json"))
        self.assertEqual(sorted(objects.glob("*/*/*")), stored)
        self.assertRegex(self.yaa("objects", "--clean").stdout, r"[1-9]\d* removed")
        left = {path.parent.name + path.name for path in objects.glob("*/*/*")}
        self.assertNotIn(stand_of(session), left)
        self.assertTrue(left)
        self.assertIn(" 0 not needed", self.yaa("objects").stdout)


if __name__ == "__main__":
    unittest.main()
