"""A public project of thousands of files, worked on in one mode, in turns: edited, tested, broken,
taken back, branched, carried to a second server, and applied in part. The suite leaves out its
translations, most of its tests and what is never read; `soak` has all of it, in all modes.

The model is scripted (tests/chaos/files.py); the project, its tests, the servers and their sandbox
are real. What is compared are all files byte for byte, with modes and links.
"""

from __future__ import annotations

import copy
import http.client
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
import unittest
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, ClassVar

from server.session.workspace_stand import stand_of
from server.settings.real_folders import Folders
from server.workspace.places import Places

from ..chaos.files import RUN_AS, model, tree_of
from ..fakes import answer, user
from ..tooling import tools, turns
from ..tooling.child import Yaa
from ..workspace.made import Files, read

Json = dict[str, Any]
LEAST = 2_000 if turns.whole() else 1_000  # files of the project
LEFT_OUT = ("locale/*", "tests/*", "docs/releases", "contrib/gis")  # but for:
NEEDED = ("locale/*.py", "locale/ar", "locale/en", "locale/fr", "tests/utils_tests", "tests/*.*")
PIECE = 4 << 20
TIMEOUT_S = 300

PLAYED = turns.share(("own", "write", "overlay", "read"), 4)
TESTS = "PYTHONPATH=.:vendor python3 -B tests/runtests.py utils_tests.test_text --parallel=1 2>&1"
FILE = "django/utils/text.py"
# Turn by turn: the commands, and what the last one says. Files, modes, links and folders change.
GOOD = (
    [
        f"sed -i 's/^from gzip/# kept as it was\\nfrom gzip/' {FILE}",
        "ln -s ../README.rst docs/readme; chmod 750 tests/runtests.py; chmod 600 LICENSE",
        f"{TESTS}; stat -c %a LICENSE",
    ],
    "OK",
)
MOVED = (
    [
        "mv extras more; rm -r js_tests; ln -sfn ../INSTALL docs/readme; chmod 644 LICENSE",
        "mkdir -p notes/empty; printf 'caf\\351' > \"notes/$(printf 'n\\nl \\377')\"",
        f"sed -i 's/is None/is  None/' django/db/models/*.py; {TESTS}",
    ],
    "OK",
)
BROKEN = (
    [f"sed -i 's/^def slugify/def slugged/' {FILE}; rm -r docs/ref; {TESTS}"],
    "ImportError",
)
OTHER = (
    [f"echo '# another way' >> {FILE}; ln -s nowhere docs/other; {TESTS}"],
    "OK",
)


def in_turn(mode: str) -> Callable[[Any], Any]:
    """Skip a mode whose turn it is not."""
    return unittest.skipUnless(mode in PLAYED, "another turn, or `python3 -m tests soak` plays it")


class Server:
    """A server with the project as a folder in each mode, or with empty folders."""

    def __init__(self, stack: ExitStack, base: Path, url: str, source: Path | None) -> None:
        folders: Json = {}
        self.base = base
        base.mkdir()
        for mode in {*PLAYED} - {"own"}:
            path = base / mode
            if source is None:
                path.mkdir()
            else:
                shutil.copytree(source, path, symlinks=True)
            if os.geteuid() == 0:
                subprocess.run(["chown", "-hR", f"{RUN_AS}:{RUN_AS}", str(path)], check=True)
            folders[mode] = {"path": str(path), "mode": mode}
        base.chmod(0o711)
        provider = {"api_url": url, "api_key": "k", "model_name": "m"}
        config = {
            "server": {"discover": False, "providers": {"main": provider}, "folders": folders},
            "session": {"config": {"tool": {"shell": {"auto_approve": True}}}},
        }
        home = base / "home"
        self.yaa = stack.enter_context(Yaa(config, home=home))
        self.places = Places(home, Folders(folders))

    def files(self, session: str, folder: str | None) -> Path:
        """Return where the files of a session are."""
        return self.places.find("", session, folder).files

    def ask(self, method: str, path: str, body: bytes | Json | None = None, **more: str) -> Any:
        """Return (status, body) of a request; the body parsed where it is JSON."""
        headers = {"Authorization": f"Bearer {self.yaa.key}", **more}
        if isinstance(body, dict):
            body, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
        with self.line() as line:
            return send(line, method, path, body, headers)

    @contextmanager
    def line(self) -> Iterator[http.client.HTTPConnection]:
        """Open a connection, for one request or many."""
        place = self.yaa.url.removeprefix("http://")
        line = http.client.HTTPConnection(place, timeout=TIMEOUT_S)
        try:
            yield line
        finally:
            line.close()

    def post(self, document: Any) -> Any:
        """Return the document after a run."""
        status, found = self.ask("POST", "/session", document, Accept="application/json")
        if status != 200:
            raise AssertionError(f"{status}: {found}")
        return found


def send(
    line: http.client.HTTPConnection,
    method: str,
    path: str,
    body: bytes | None,
    headers: dict[str, str],
) -> Any:
    """Return (status, body) of a request; the body parsed where it is JSON."""
    line.request(method, path, body, headers)
    given = line.getresponse()
    data = given.read()
    is_json = "json" in (given.getheader("content-type") or "")
    return given.status, json.loads(data) if is_json else data


@tools.needs(tools.project())
class Project(unittest.TestCase):
    one: ClassVar[Server]
    two: ClassVar[Server]
    source: ClassVar[Path]

    @classmethod
    def setUpClass(cls) -> None:
        stack = cls.enterClassContext(ExitStack())
        base = Path(os.path.realpath(stack.enter_context(tempfile.TemporaryDirectory())))
        base.chmod(0o711)
        source = tools.project().path
        assert source is not None
        if not turns.whole():
            source = shutil.copytree(source, base / "source", symlinks=True, ignore=_left_out)
        cls.source = source
        url = stack.enter_context(model())
        cls.one = Server(stack, base / "one", url, source)
        cls.two = Server(stack, base / "two", url, None)
        if not cls.one.ask("GET", "/info")[1]["workspace"]["recorded"]:
            raise unittest.SkipTest("no workspace process can be had here")
        cls.base = base

    base: ClassVar[Path]
    carried: ClassVar[int] = 0  # objects

    # -- steps

    def turn(self, server: Server, document: Any, order: tuple[list[str], str] | None) -> Any:
        """Ask for commands, one call after the other; return the document when they are done."""
        messages = document["messages"]
        rounds = [[command] for command in order[0]] if order else []
        said = user(f"order={json.dumps(rounds)}", f"u{len(messages)}")
        document = {**copy.deepcopy(document), "messages": [*copy.deepcopy(messages), said]}
        document = server.post(document)
        for _ in range(50):
            if document["status"] == "completed":
                break
            for interrupt in document["interrupts"]:
                self.asked.append(interrupt["reason"])
                if interrupt["reason"] == "workspace_missing":
                    self.carry(interrupt["objects"])
            answer(document, "workspace_missing", {"action": "uploaded"})
            answer(document, "workspace_restore", {"action": "restore"})
            document = server.post(document)
        self.assertEqual(document["status"], "completed", document.get("error"))
        if order:
            results = [m["content"] for m in document["messages"] if m["role"] == "tool"]
            self.assertIn(order[1], results[-1])
        return document

    asked: list[str]

    def setUp(self) -> None:
        self.asked = []

    def carry(self, objects: list[Json]) -> None:
        """Bring objects of the first server to the second, as a page does."""
        ours, theirs = (
            {"Authorization": f"Bearer {each.yaa.key}"} for each in (self.one, self.two)
        )
        with self.one.line() as here, self.two.line() as there:
            for row in objects:
                at = f"/objects/{row['sha256']}"
                status, data = send(here, "GET", at, None, ours)
                self.assertEqual(status, 200, data)
                status, told = send(there, "PUT", at, data, theirs)
                self.assertEqual(status, 200, told)
        type(self).carried += len(objects)

    def same(self, found: Files, wanted: Files) -> None:
        names = [p for p in found.keys() | wanted.keys() if found.get(p) != wanted.get(p)]
        self.assertEqual(sorted(names)[:10], [], f"{len(names)} files are others")

    def upload(self, session: str) -> Any:
        """Bring the project into a session's own folder: one archive, in pieces, and unpack it."""
        packed = self.base / "project.tar.gz"
        with tarfile.open(packed, "w:gz", compresslevel=1) as archive:
            archive.add(self.source, arcname=".")
        data = packed.read_bytes()
        at = f"/workspaces/{session}/file?path=project.tar.gz"
        for first in range(0, len(data), PIECE):
            piece = data[first : first + PIECE]
            told = {"Content-Range": f"bytes {first}-{first + len(piece) - 1}/{len(data)}"}
            status, said = self.one.ask("PUT", at, piece, **told)
        self.assertEqual((status, said["bytes"]), (200, len(data)))
        document = {"id": session, "messages": []}
        unpack = ["tar -xzf project.tar.gz --no-same-owner && rm project.tar.gz && ls | wc -l"]
        return self.turn(self.one, document, (unpack, str(len(list(self.source.iterdir())))))

    def story(self, session: str, folder: str | None, document: Any) -> None:
        """Edit, move and break; go back two turns; branch; go on at the second server."""
        here = self.one.files(session, folder)
        states, documents = [], []
        for order in (GOOD, MOVED, BROKEN):
            document = self.turn(self.one, document, order)
            states.append(read(here))
            documents.append(document)
            self.assertEqual(tree_of(here), stand_of(document))
        good, _, broken = states
        self.assertGreaterEqual(sum(row[0] == "f" for row in good.values()), LEAST)
        self.assertEqual(good[b"docs/readme"], ("l", b"../README.rst"))
        self.assertEqual((good[b"LICENSE"][1], good[b"tests/runtests.py"][1]), (0o600, 0o750))
        self.assertNotIn(b"extras", broken)
        # Two turns back, and another way from there.
        back = {**document, "messages": documents[0]["messages"]}
        again = self.turn(self.one, back, None)
        self.same(read(here), good)
        branch = self.turn(self.one, again, OTHER)
        branched = read(here)
        self.assertEqual(branched[b"docs/other"], ("l", b"nowhere"))
        # From branch to branch.
        document = self.turn(self.one, document, None)
        self.same(read(here), broken)
        self.turn(self.one, branch, None)
        self.same(read(here), branched)
        # Elsewhere: with nothing but the document and the objects.
        moved = self.turn(self.two, document, None)
        there = self.two.files(session, folder)
        self.same(read(there), broken)
        self.assertGreaterEqual(self.carried, LEAST)  # by this mode, or by an earlier one
        moved = self.turn(self.two, {**moved, "messages": documents[0]["messages"]}, OTHER)
        self.same(read(there), branched)
        self.assertEqual(tree_of(there), stand_of(moved))
        self.same(read(here), branched)  # the first server's are not touched by that

    # -- modes

    @in_turn("own")
    def test_own_folder(self) -> None:
        document = self.upload("own")
        self.same(_plain(read(self.one.files("own", None))), _plain(read(self.source)))
        self.story("own", None, document)
        self.assertNotIn("workspace_restore", self.asked)

    @in_turn("write")
    def test_write(self) -> None:
        document: Json = {"id": "write", "messages": [], "workspace": {"folder": "write"}}
        self.story("write", "write", document)
        self.assertIn("workspace_restore", self.asked)

    @in_turn("overlay")
    def test_overlay(self) -> None:
        real = self.one.base / "overlay"
        before = read(real)
        document: Json = {"id": "overlay", "messages": [], "workspace": {"folder": "overlay"}}
        self.story("overlay", "overlay", document)
        self.same(read(real), before)
        layer = read(self.one.files("overlay", "overlay"))
        at, query = "/workspaces/overlay", "?folder=overlay"
        status = self.one.ask("GET", f"{at}/status{query}")[1]
        paths = sorted(row["path"] for row in status["files"])
        wanted = ["LICENSE", FILE, "docs/other", "docs/readme", "tests/runtests.py"]
        self.assertEqual(paths, wanted)
        chosen = [FILE, "docs/readme", "LICENSE"]
        done = self.one.ask("POST", f"{at}/apply{query}", {"paths": chosen})[1]
        self.assertEqual((done["applied"], done["left"], done["conflicts"]), (3, [], []))
        applied = {name.encode(): layer[name.encode()] for name in chosen}
        self.same(read(real), before | applied)
        self.same(read(self.one.files("overlay", "overlay")), layer)
        status = self.one.ask("GET", f"{at}/status{query}")[1]
        left = sorted(row["path"] for row in status["files"])
        self.assertEqual(left, ["docs/other", "tests/runtests.py"])
        done = self.one.ask("POST", f"{at}/apply{query}", {})[1]
        self.assertEqual((done["applied"], done["left"], done["conflicts"]), (2, [], []))
        self.same(read(real), layer)

    @in_turn("read")
    def test_read(self) -> None:
        real = self.one.base / "read"
        before = read(real)
        document: Json = {"id": "read", "messages": [], "workspace": {"folder": "read"}}
        document = self.turn(self.one, document, ([TESTS], "OK"))
        for command in (
            f"sed -i 's/^def slugify/def slugged/' {FILE}",
            "rm -r docs",
            "chmod 777 LICENSE",
            "ln -s a b",
            "mkdir c",
            f"echo x >> {FILE}",
        ):
            with self.subTest(command):
                document = self.turn(self.one, document, ([f"{command}; echo ends $?"], "ends"))
                said = [m["content"] for m in document["messages"] if m["role"] == "tool"][-1]
                self.assertNotIn("ends 0", said)
        back = self.turn(self.one, {**document, "messages": document["messages"][:3]}, None)
        self.assertIsNone(stand_of(back))
        self.assertEqual(self.asked, [])
        self.same(read(real), before)


def _left_out(folder: str, names: list[str]) -> list[str]:
    """Return the names in a folder of the project that the suite does without."""
    paths = {name: Path(folder, name) for name in names}
    return [
        name
        for name, path in paths.items()
        if any(path.match(pattern) for pattern in LEFT_OUT)
        and not any(path.match(pattern) for pattern in NEEDED)
    ]


def _plain(files: Files) -> Files:
    """Return files with the modes that any unpacking keeps."""
    return {
        path: row if row[0] == "l" else (row[0], row[1] & 0o700, *row[2:])
        for path, row in files.items()
    }


if __name__ == "__main__":
    unittest.main()
