"""Archives: what they hold, in pieces."""

from __future__ import annotations

import base64
import io
import zipfile

from server.workspace.errors import WorkspaceError

from .made import Case, write


class Archives(Case):
    def test_an_archive_in_pieces(self) -> None:
        write(self.files, {"a": "1", "d/é": "2", "other": "3"})
        (self.files / "d/link").symlink_to("a")
        (self.files / "a").chmod(0o755)
        run = self.operations()
        data, found = b"", run.perform("archive", {"paths": ["a", "d"]})
        while True:
            data += base64.b64decode(found["data"])
            if found["complete"]:
                break
            more = {"archive": found["archive"], "offset": len(data)}
            found = run.perform("archive", more)
        self.assertEqual(len(data), found["bytes"])
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            self.assertEqual(sorted(file.namelist()), ["a", "d/", "d/link", "d/é"])
            self.assertEqual(file.read("d/é"), b"2")
            self.assertEqual(file.getinfo("a").external_attr >> 16 & 0o777, 0o755)
        with self.assertRaises(WorkspaceError):
            run.perform("archive", {"archive": found["archive"]})
        self.assertEqual(list((self.home / "state/pieces").iterdir()), [])
